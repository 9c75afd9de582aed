"""EUBO against Monte-Carlo and SciPy: the pair whose better option is expected to be best."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from tests.policies import cases

from duelist.policies import EUBO
from duelist.policies._eubo import expected_improvement

pytestmark = pytest.mark.usefixtures("x64_mode")


def expected_best(f, covariance, x, y) -> float:
    """E max(f(x), f(y)) under N(f, C) by its definition: f(y) + the integral of P(h > t)."""
    deviation = cases.sigma(covariance)[x, y]
    if x == y:
        return f[x]
    mean = f[x] - f[y]
    tail = scipy.stats.norm(mean, deviation).sf
    above = scipy.integrate.quad(tail, 0, max(mean, 0) + 12 * deviation, epsabs=1e-12)[0]
    return f[y] + above


def test_asks_the_pair_of_the_highest_expectation(many):
    """lambda = 1, so the Laplace covariance is what the posterior was made with.

    Where one action is best beyond doubt its rivals tie in rounding: values decide, not names.
    """
    domain, posteriors = many
    chosen = cases.unordered(cases.asks(EUBO(domain, posteriors.beliefs), posteriors.beliefs))
    pairs, clear = list(itertools.combinations_with_replacement(range(cases.N), 2)), 0
    for k in range(25):
        f, covariance = posteriors.f[k], posteriors.laplace[k]
        values = np.array([expected_best(f, covariance, *pair) for pair in pairs])
        assert values[pairs.index(chosen[k])] > values.max() - 1e-9
        clear += np.sort(values)[-2] < values.max() - 1e-6
    assert clear >= 15


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (1.3, 0.4), (-0.7, 0.9), (-4.0, 1.0)])
def test_expected_improvement_is_the_mean_of_the_positive_part(mean, deviation):
    """Against 10^6 draws, within five standard errors."""
    draws = np.maximum(np.random.default_rng(0).normal(mean, deviation, 10**6), 0)
    value = float(expected_improvement(jnp.asarray(mean), jnp.asarray(deviation)))
    assert abs(value - draws.mean()) < 5 * draws.std() / 1000


@pytest.mark.parametrize("mean", [-2.0, 0.0, 2.0])
def test_without_deviation_it_is_the_positive_part(mean):
    assert float(expected_improvement(jnp.asarray(mean), jnp.asarray(0.0))) == max(mean, 0)


def test_the_posterior_is_in_utility(x64_mode):
    """With lambda = 4 the deviation is half of what the covariance on the scale of k says."""
    from duelist.belief import prior

    state = prior(cases.domain_of(), cases.KERNEL, lam=4.0)
    widths = cases.sigma(np.asarray(state.gram))
    np.testing.assert_allclose(state.deviation(0, 1), widths[0, 1] / 2, rtol=1e-12)
