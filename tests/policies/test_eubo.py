"""EUBO against Monte-Carlo and SciPy: the pair whose better option is expected to be best."""

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from tests.policies import cases

from duelist.policies import EUBO

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


def test_the_posterior_is_in_utility(x64_mode):
    """With lambda = 4 the deviation is half of what the covariance on the scale of k says."""
    from duelist.belief import prior

    state = prior(cases.domain_of(), cases.KERNEL, lam=4.0)
    widths = cases.sigma(np.asarray(state.gram))
    np.testing.assert_allclose(state.deviation(0, 1), widths[0, 1] / 2, rtol=1e-12)
