"""Names become the objects they stand for, with the numbers that were given."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp

from duelist import belief as beliefs
from duelist import policies
from duelist.domains import FiniteDomain
from duelist.experiments import _schema
from duelist.experiments._names import ALGORITHMS, feedback_of
from duelist.experiments._registry import build_belief, build_kernel, build_policy
from duelist.links import Logistic, Probit

POINTS = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0], [0.5, 2.0]])
KINDS = {
    "maxminlcb": policies.MaxMinLCB,
    "doubler": policies.Doubler,
    "multisbm": policies.MultiSBM,
    "maxinp": policies.MaxInP,
    "rucb": policies.RUCB,
    "ids": policies.IDS,
    "maxminucb": policies.MaxMinUCB,
    "sparring": policies.Sparring,
    "thompson": policies.DoubleThompson,
    "eubo": policies.EUBO,
    "random": policies.RandomDuel,
    "random-rating": policies.RandomRating,
    **dict.fromkeys(("lgp-ucb", "gp-ucb", "ind-ucb", "log-ucb1"), policies.UCB),
}


@pytest.fixture(scope="module", autouse=True)
def double():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def domain(double):
    return FiniteDomain(POINTS)


def settings_of(name):
    return _schema.BELIEFS[name](**({"bound": 1.0} if name == "guaranteed" else {}))


def test_every_name_has_a_policy():
    assert set(KINDS) == set(ALGORITHMS)


@pytest.mark.parametrize(
    ("algorithm", "belief"), [(a, belief) for a, kinds in ALGORITHMS.items() for belief in kinds]
)
def test_every_algorithm_runs_on_every_belief_it_is_listed_with(domain, algorithm, belief):
    policy = build_policy(algorithm, settings_of(belief), domain)
    assert type(policy) is KINDS[algorithm]
    (key,) = jax.random.split(jax.random.key(0), 1)
    state = jax.eval_shape(policy.init, key)
    query = jax.eval_shape(policy.ask, state, key)
    assert len(query) == (1 if feedback_of(algorithm) == "ratings" else 2)


@pytest.mark.parametrize("restrict", [True, False])
def test_restriction_is_that_of_maxminlcb(domain, restrict):
    policy = build_policy("maxminlcb", _schema.MapBelief(), domain, restrict)
    assert policy.restrict is restrict


# |x - x'| between the first two points is 5 by Pythagoras.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rbf", np.exp(-0.5 * 2.5**2)),
        ("exponential", np.exp(-2.5)),
        ("matern32", (1 + np.sqrt(3) * 2.5) * np.exp(-np.sqrt(3) * 2.5)),
        ("matern52", (1 + np.sqrt(5) * 2.5 + 5 * 2.5**2 / 3) * np.exp(-np.sqrt(5) * 2.5)),
    ],
)
def test_kernels_are_isotropic_with_their_scale_and_variance(name, expected):
    kernel = build_kernel(_schema.Kernel(kernel=name, length_scale=2.0, variance=0.25))
    table = np.asarray(kernel(jnp.asarray(POINTS), jnp.asarray(POINTS)))
    np.testing.assert_allclose(table[0, 1], 0.25 * expected, rtol=1e-12)
    np.testing.assert_allclose(np.diag(table), 0.25)
    assert isinstance(kernel, tinygp.kernels.Kernel)


def test_an_adaptive_belief_has_the_numbers_of_its_settings(domain):
    kernels = [{"length_scale": 0.3, "variance": 2.0}, {"length_scale": 1.0, "variance": 5.0}]
    settings = _schema.AdaptiveBelief(kernels=kernels, beta=0.7, caution=3.0, link="probit")
    belief = build_belief(settings, domain, "duels")
    np.testing.assert_allclose(np.asarray(belief.members.gram)[:, 0, 0], [2.0, 5.0])
    np.testing.assert_allclose(np.asarray(belief.members.gram)[0, 0, 1], 2 * effect(0.3))
    assert float(belief.utility_beta) == pytest.approx(0.7 * np.sqrt(np.log(2)))
    assert float(belief.caution) == 3
    assert isinstance(belief.link, Probit)


def effect(scale):
    """Half main effects, half interaction, of the first two points in units of the ranges."""
    squares = ((POINTS[0] - POINTS[1]) / np.ptp(POINTS, axis=0) / scale) ** 2 / 2
    return np.mean(np.exp(-squares)) / 2 + np.exp(-squares.sum()) / 2


def test_a_map_belief_has_the_numbers_of_its_settings(domain):
    settings = _schema.MapBelief(
        length_scale=2.0, variance=0.5, lam=0.3, bound=1.5, beta=0.7, link="probit"
    )
    belief = build_belief(settings, domain, "duels")
    squared = ((POINTS[:, None] - POINTS[None]) ** 2).sum(-1)
    np.testing.assert_allclose(belief.gram, 0.5 * np.exp(-squared / 8), rtol=1e-12)
    assert (float(belief.constants.lam), float(belief.constants.bound)) == (0.3, 1.5)
    assert isinstance(belief.link, Probit)
    assert float(belief.beta) == 0.7
    assert (belief.width_rule, belief.space) == ("worst-case", "probability")
    assert belief.projection is None


def test_its_choices_are_passed_on(domain):
    settings = _schema.MapBelief(
        width="laplace", space="utility", range_rule="nonnegative", projected=True, tolerance=1e-3
    )
    belief = build_belief(settings, domain, "duels")
    assert (belief.width_rule, belief.space) == ("laplace", "utility")
    assert belief.projection is not None
    assert float(belief.tolerance) == 1e-3
    # kappa = 1/s'(sqrt(2) B) = 2 + 2 cosh(sqrt(2)) for the logistic function.
    np.testing.assert_allclose(belief.constants.kappa, 2 + 2 * np.cosh(np.sqrt(2)), rtol=1e-6)
    assert isinstance(belief.link, Logistic)


@pytest.mark.parametrize("gain", [0.0, 0.7])
def test_beta_follows_the_theorem_if_asked(domain, gain):
    """4 L B + 2 L sqrt((2 kappa/lambda)(gamma_t + log(1/delta)))."""
    settings = _schema.MapBelief(confidence="theorem", delta=0.05, lam=0.5, bound=0.8)
    belief = replace(build_belief(settings, domain, "duels"), gain=jnp.asarray(gain))
    kappa = 2 + 2 * np.cosh(2 * 0.8)
    expected = 0.8 + 0.5 * np.sqrt(2 * kappa / 0.5 * (gain + np.log(20)))
    np.testing.assert_allclose(belief.beta, expected, rtol=1e-6)


def test_beta_takes_the_largest_gain_if_asked(domain):
    settings = _schema.MapBelief(confidence="theorem-maximum", delta=0.05, lam=0.5, bound=0.8)
    before = build_belief(settings, domain, "duels")
    after = replace(before, count=jnp.asarray(3, before.count.dtype))
    # Of the bound on the maximum; the realised gain, which is 0 here, does not matter.
    gains = beliefs.maximum_gain(before.gram, before.constants.noise, 3, duels=True)
    kappa = 2 + 2 * np.cosh(2 * 0.8)
    expected = 0.8 + 0.5 * np.sqrt(2 * kappa / 0.5 * (gains[3] + np.log(20)))
    np.testing.assert_allclose(after.beta, expected, rtol=1e-6)
    assert before.beta < after.beta


def test_the_other_beliefs_have_their_numbers(domain):
    ridge = build_belief(_schema.RidgeBelief(noise=0.3, mean=0.2, beta=2.0), domain, "ratings")
    assert isinstance(ridge, beliefs.RidgeBelief)
    assert (float(ridge.noise), float(ridge.mean), float(ridge.beta_rule.value)) == (0.3, 0.2, 2.0)
    independent = build_belief(_schema.IndependentBelief(delta=0.2, scale=0.5), domain, "ratings")
    assert isinstance(independent, beliefs.IndependentBelief)
    assert (float(independent.delta), float(independent.scale)) == (0.2, 0.5)
    linear = build_belief(_schema.LogUCB1Belief(lam=0.3, delta=0.2), domain, "ratings")
    assert isinstance(linear, beliefs.LogUCB1Belief)
