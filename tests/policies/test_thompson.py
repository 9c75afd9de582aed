"""Double Thompson sampling against draws from the Laplace posterior made with NumPy."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from tests.policies import cases

from duelist.belief import prior
from duelist.policies import DoubleThompson

pytestmark = pytest.mark.usefixtures("x64_mode")

DRAWS = 6000


@pytest.fixture(scope="module")
def belief(x64_mode):
    """Four actions with counts of duels and a centre that no fit made, and lambda = 0.5."""
    made = prior(cases.domain_of(4), cases.KERNEL, lam=0.5)
    wins = np.array([[0, 3, 1, 2], [1, 0, 2, 0], [0, 4, 0, 5], [1, 0, 2, 0]], float)
    answers = dataclasses.replace(made.answers, wins=jnp.asarray(wins))
    f = jnp.asarray([0.6, -0.2, 0.4, 0.1])
    return dataclasses.replace(made, answers=answers, fit=dataclasses.replace(made.fit, f=f))


def laplace(belief) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance (K^-1 lambda + sum over duels of s'(h) d d')^-1, duel by duel."""
    f, wins = np.asarray(belief.fit.f), np.asarray(belief.answers.wins)
    precision = 0.5 * np.linalg.inv(np.asarray(belief.gram))
    for i in range(4):
        for j in range(4):
            d = np.zeros(4)
            d[i] += 1
            d[j] -= 1
            slope = cases.s(f[i] - f[j]) * cases.s(f[j] - f[i])
            precision += wins[i, j] * slope * np.outer(d, d)
    return f, np.linalg.inv(precision)


def test_both_actions_are_best_under_independent_draws(belief):
    """The table of pairs against one from 6000 + 6000 draws of NumPy, by a chi-square test."""
    mean, covariance = laplace(belief)
    rng = np.random.default_rng(0)
    best = [rng.multivariate_normal(mean, covariance, DRAWS).argmax(axis=1) for _ in range(2)]
    expected = cells(np.stack(best, axis=1))
    policy = DoubleThompson(cases.domain_of(4), belief)
    asked = cells(cases.asks_often(policy, belief, DRAWS))
    assert (expected > 50).sum() >= 6
    assert same_distribution(asked, expected) > 1e-3


def test_the_comparison_would_notice_another_width(belief):
    """Deviations a tenth too large shift the table by more than chance does."""
    mean, covariance = laplace(belief)
    rng = np.random.default_rng(1)
    wide = [rng.multivariate_normal(mean, 1.3 * covariance, DRAWS).argmax(axis=1) for _ in range(2)]
    policy = DoubleThompson(cases.domain_of(4), belief)
    asked = cells(cases.asks_often(policy, belief, DRAWS))
    assert same_distribution(asked, cells(np.stack(wide, axis=1))) < 1e-3


def test_one_draw_has_the_moments_of_the_posterior(belief):
    import jax
    import jax.random as jr

    from duelist.domains import ALL

    mean, covariance = laplace(belief)
    draws = np.asarray(jax.vmap(lambda key: belief.sample(key)(ALL))(jr.split(jr.key(3), 20000)))
    error = 4 / np.sqrt(20000)
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - mean), error * deviation)
    bound = error * np.sqrt(covariance**2 + np.outer(deviation**2, deviation**2))
    np.testing.assert_array_less(np.abs(np.cov(draws.T) - covariance), bound)


def cells(pairs) -> np.ndarray:
    """How often each of the sixteen pairs came."""
    return np.bincount(pairs[:, 0] * 4 + pairs[:, 1], minlength=16)


def same_distribution(one, other) -> float:
    """The p-value of equal distributions; cells that are rare in both are put together."""
    rare = one + other < 20
    rows = [np.append(x[~rare], x[rare].sum()) for x in (one, other)]
    kept = np.sum(rows, axis=0) > 0
    return scipy.stats.chi2_contingency(np.array(rows)[:, kept]).pvalue
