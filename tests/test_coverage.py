"""Coverage of bounds on cases solved by hand; the study of their validity is elsewhere."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp

from duelist.belief import Constants, FixedBeta, TheoremBeta, prior
from duelist.coverage import check, coverage, regret_bound
from duelist.environments import TableEnvironment, random_environment
from duelist.policies import MaxMinLCB, RandomDuel, RandomRating
from tests.policies import cases

KERNEL = tinygp.kernels.ExpSquared(0.4)


@pytest.mark.parametrize("space", ["probability", "utility"])
def test_the_factor_is_the_worst_miss_in_half_widths(x64_mode, space):
    domain = cases.domain_of(4)
    posteriors = cases.posteriors(domain, 1, 3, space=space)
    belief = cases.pick(posteriors.beliefs, 0)
    truth = np.array([0.3, -0.4, 0.9, 0.0])
    made = check(belief, TableEnvironment(domain, truth), duels=True)
    s, scale = (cases.s, 1) if space == "probability" else (lambda h: h, 4)
    width = scale * posteriors.beta[0] * cases.sigma(posteriors.covariance[0])
    f, factors = posteriors.f[0], []
    for x in range(4):
        for y in range(4):
            miss = abs(s(truth[x] - truth[y]) - s(f[x] - f[y]))
            factors.append(miss / width[x, y] if x != y else 0.0)
    assert float(made.factor) == pytest.approx(max(factors), rel=1e-9)
    assert float(made.half_width) == pytest.approx(np.mean(width), rel=1e-9)


def test_a_certain_bound_that_is_wrong_fails(x64_mode):
    """beta = 0 makes every bound certain: infinite unless exactly right."""
    domain = cases.domain_of(3)
    belief = prior(domain, KERNEL, beta=FixedBeta(0.0))
    right = check(belief, TableEnvironment(domain, [1.0, 1.0, 1.0]), duels=True)
    wrong = check(belief, TableEnvironment(domain, [1.0, 1.0, 1.1]), duels=True)
    assert (float(right.factor), float(wrong.factor)) == (0.0, math.inf)


@pytest.mark.parametrize(("feedback", "kind"), [("duels", RandomDuel), ("ratings", RandomRating)])
def test_runs_hold_with_the_theorem_and_fail_without_any_width(feedback, kind):
    domain = cases.domain_of(4)
    judges = eqx.filter_vmap(lambda key: random_environment(domain, KERNEL, 1.0, key))(
        jr.split(jr.key(0), 6)
    )
    betas = {"theorem": TheoremBeta(0.1), "thin": FixedBeta(0.01)}
    made = {
        name: coverage(
            kind(domain, prior(domain, KERNEL, feedback, beta=beta)),
            judges,
            horizon=5,
            seeds=range(6),
        )
        for name, beta in betas.items()
    }
    for result in made.values():
        assert result.factor.shape == result.half_width.shape == (6, 5)
    assert bool(jnp.all(made["theorem"].held()))
    assert not bool(jnp.any(made["thin"].held()))
    assert float(made["thin"].half_width.max()) < float(made["theorem"].half_width.min())
    falling = np.diff(np.asarray(made["thin"].half_width), axis=1)
    assert np.all(falling <= 1e-6)


def test_the_regret_bound_by_hand(x64):
    """lambda = 1/2, kappa = 4, so (8 + 8)/sqrt(log 3) * 3 * sqrt(100 * 2)."""
    one = jnp.ones((), x64)
    constants = Constants(one / 2, one, one, 4 * one, one / 4)
    made = regret_bound(constants, 3 * one, 2 * one, jnp.int32(100))
    assert float(made) == pytest.approx(16 / math.sqrt(math.log(3)) * 3 * math.sqrt(200), rel=1e-5)
    assert made.dtype == x64


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("error", "options", "message"),
    [
        (TypeError, {"policy": 3}, "policy: expected AbstractBeliefPolicy, got int"),
        (TypeError, {"environments": 3}, "environments: expected AbstractEnvironment, got int"),
        (ValueError, {"horizon": 0}, "horizon: expected at least 1, got 0"),
        (ValueError, {"seeds": []}, "seeds: expected at least one seed, got none"),
    ],
)
def test_refuses_bad_arguments(error, options, message):
    domain = cases.domain_of(3)
    judges = jax.vmap(lambda f: TableEnvironment(domain, f))(jnp.zeros((1, 3)))
    given = {"policy": MaxMinLCB(domain, prior(domain, KERNEL)), "environments": judges}
    given |= {"horizon": 2, "seeds": [0]} | options
    with pytest.raises(error, match=message):
        coverage(given.pop("policy"), given.pop("environments"), **given)


@pytest.fixture
def x64_mode():
    """Double precision."""
    with jax.enable_x64(True):
        yield
