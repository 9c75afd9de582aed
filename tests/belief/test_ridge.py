"""GP-UCB's belief against the textbook formulas of Gaussian process regression."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp

from duelist.belief import FixedBeta, TheoremBeta, ridge_prior
from duelist.domains import ALL, FiniteDomain

N = 12
SCALE = 0.3
NOISE = 0.25


def points():
    return np.random.default_rng(3).uniform(size=(N, 2))


def make_prior(dtype, **options):
    domain = FiniteDomain(jnp.asarray(points(), dtype))
    return ridge_prior(domain, tinygp.kernels.ExpSquared(jnp.asarray(SCALE, dtype)), **options)


def history(seed, count):
    """Answers between 0 and 1, a few of them strictly between, unevenly over the actions."""
    rng = np.random.default_rng(seed)
    actions = rng.choice(N, size=count, p=np.arange(1, N + 1) / (N * (N + 1) / 2))
    return actions, rng.choice([0.0, 0.25, 1.0], size=count, p=[0.4, 0.1, 0.5])


def regression(oracles, actions, answers, noise=NOISE, mean=0.0):
    """Posterior mean and deviation from the t x t kernel matrix, a row per answer."""
    gram = oracles.rbf(SCALE)(points(), points())
    matrix = gram[np.ix_(actions, actions)] + noise * np.eye(len(actions))
    cross = gram[:, actions]
    estimate = mean + cross @ np.linalg.solve(matrix, answers - mean)
    variance = np.diag(gram - cross @ np.linalg.solve(matrix, cross.T))
    return estimate, np.sqrt(variance)


@eqx.filter_jit
def tell_all(belief, actions, answers):
    def step(belief, told):
        return belief.tell((told[0],), told[1]), None

    return jax.lax.scan(step, belief, (actions, answers))[0]


def told(dtype, actions, answers, **options):
    belief = make_prior(dtype, **options)
    return tell_all(belief, jnp.asarray(actions, jnp.int32), jnp.asarray(answers, dtype))


@pytest.mark.parametrize("options", [{}, {"noise": 0.05, "mean": 0.5}])
def test_agrees_with_gaussian_process_regression(x64, oracles, options):
    actions, answers = history(0, 60)
    belief = told(x64, actions, answers, **options)
    estimate, deviation = regression(oracles, actions, answers, **options)
    tolerance = 1e-10 if x64 == np.float64 else 5e-6
    np.testing.assert_allclose(belief.preference(ALL), estimate, atol=tolerance)
    np.testing.assert_allclose(belief.utility(ALL), estimate, atol=tolerance)
    np.testing.assert_allclose(belief.width(ALL), deviation, atol=tolerance)
    assert belief.preference(ALL).dtype == belief.width(ALL).dtype == x64
    assert int(belief.count) == 60


def test_does_not_drift(x64, oracles):
    """After 2000 answers. Refreshes happen at 16, 32, ..., then ever more seldom."""
    actions, answers = history(1, 2000)
    belief = told(x64, actions, answers)
    estimate, deviation = regression(oracles, actions, answers)
    tolerance = 1e-11 if x64 == np.float64 else 1e-5
    np.testing.assert_allclose(belief.preference(ALL), estimate, atol=tolerance)
    np.testing.assert_allclose(belief.width(ALL), deviation, atol=tolerance)


def test_an_error_in_the_covariance_is_not_handed_down(oracles):
    """A spoilt C spoils only widths, and those only until the refresh at the 16th answer."""
    with jax.enable_x64(True):
        actions, answers = history(2, 15)
        belief = told(np.dtype("float64"), actions, answers)
        spoilt = eqx.tree_at(lambda b: b.covariance, belief, belief.covariance * (1 + 1e-4))
        more, replies = history(3, 5)
        after = tell_all(spoilt, jnp.asarray(more, jnp.int32), jnp.asarray(replies))
        every = (np.append(actions, more), np.append(answers, replies))
        estimate, deviation = regression(oracles, *every)
        assert np.max(np.abs(spoilt.width(ALL) - belief.width(ALL))) > 1e-6
        np.testing.assert_allclose(after.preference(ALL), estimate, atol=1e-10)
        np.testing.assert_allclose(after.width(ALL), deviation, atol=1e-12)


def test_before_any_answer(x64):
    belief = make_prior(x64, mean=0.3, beta=FixedBeta(2.0))
    np.testing.assert_allclose(belief.preference(ALL), 0.3, rtol=1e-6)
    np.testing.assert_allclose(belief.width(ALL), 1.0, rtol=1e-6)
    np.testing.assert_allclose(belief.ucb(4), 2.3, rtol=1e-6)
    np.testing.assert_allclose(belief.lcb(4), -1.7, rtol=1e-6)


def test_bounds_are_the_estimate_and_beta_widths(x64):
    actions, answers = history(4, 30)
    belief = told(x64, actions, answers, beta=FixedBeta(1.5))
    mean, width = np.asarray(belief.preference(ALL)), np.asarray(belief.width(ALL))
    np.testing.assert_allclose(belief.ucb(ALL), mean + 1.5 * width, rtol=1e-6)
    np.testing.assert_allclose(belief.lcb(ALL), mean - 1.5 * width, rtol=1e-6)
    np.testing.assert_allclose(belief.ucb(3), belief.ucb(ALL)[3])


def test_runs_under_vmap_over_histories_and_noises():
    dtype = np.dtype("float32")
    actions, answers = zip(*(history(seed, 20) for seed in (5, 6)), strict=True)
    columns = jnp.asarray(np.stack(actions), jnp.int32), jnp.asarray(np.stack(answers), dtype)
    noises = jnp.asarray([0.1, 0.4], dtype)
    beliefs = eqx.filter_vmap(lambda noise: make_prior(dtype, noise=noise))(noises)
    together = eqx.filter_vmap(tell_all)(beliefs, *columns)
    for k in range(2):
        alone = told(dtype, actions[k], answers[k], noise=float(noises[k]))
        np.testing.assert_allclose(together.values[k], alone.values, atol=2e-6)


@pytest.mark.parametrize(
    ("error", "options", "message"),
    [
        (ValueError, {"noise": 0.0}, "noise: expected a number greater than 0, got 0.0"),
        (ValueError, {"noise": float("nan")}, "noise: expected finite"),
        (TypeError, {"noise": "much"}, "noise: expected numbers, got str"),
        (ValueError, {"mean": float("inf")}, "mean: expected finite"),
        (ValueError, {"mean": [0.0]}, "mean: expected an array with 0 axes"),
    ],
)
def test_refuses_bad_hyper_parameters(error, options, message):
    with pytest.raises(error, match=message):
        make_prior(np.dtype("float32"), **options)


@pytest.mark.usefixtures("unchecked")
def test_refuses_what_is_no_domain_kernel_or_fixed_beta():
    domain = FiniteDomain(points())
    kernel = tinygp.kernels.ExpSquared(1.0)
    with pytest.raises(TypeError, match="domain: expected FiniteDomain, got ndarray"):
        ridge_prior(points(), kernel)
    with pytest.raises(TypeError, match="kernel: expected Kernel, got str"):
        ridge_prior(domain, "rbf")
    with pytest.raises(TypeError, match="beta: expected FixedBeta, got TheoremBeta"):
        ridge_prior(domain, kernel, beta=TheoremBeta())


@pytest.mark.parametrize(
    ("error", "query", "answer", "message"),
    [
        (ValueError, (0, 1), 1, "query: expected a tuple of 1 action"),
        (ValueError, (N,), 1, f"query: expected action numbers from 0 to {N - 1}, got {N}"),
        (TypeError, (0.5,), 1, "query: expected action numbers, which are integers"),
        (ValueError, (0,), 1.5, "answer: expected a number from 0 to 1, got 1.5"),
        (TypeError, (0,), "yes", "answer: expected numbers, got str"),
    ],
)
def test_refuses_a_bad_query_or_answer(error, query, answer, message):
    with pytest.raises(error, match=message):
        make_prior(np.dtype("float32")).tell(query, answer)


@pytest.mark.parametrize("method", ["preference", "width", "lcb", "ucb"])
def test_refuses_a_second_action(method):
    belief = make_prior(np.dtype("float32"))
    with pytest.raises(ValueError, match="x2: expected None"):
        getattr(belief, method)(0, 1)
