"""Where searches look first: how even the points are, and the selection of starts."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from scipy.stats import qmc

from duelist.domains._continuous_pool import around, low_discrepancy, shifted, spaced, top

TOLERANCE = jnp.float32(1e-4)


@pytest.mark.parametrize("d", [1, 2, 6, 20])
def test_the_set_is_more_even_than_random_points(d):
    found = qmc.discrepancy(low_discrepancy(256, d))
    rng = np.random.default_rng(0)
    assert found < min(qmc.discrepancy(rng.uniform(size=(256, d))) for _ in range(20))


def test_in_one_dimension_it_is_the_golden_ratio():
    golden = (1 + 5**0.5) / 2
    np.testing.assert_allclose(
        low_discrepancy(50, 1)[:, 0], (0.5 + np.arange(1, 51) / golden) % 1, atol=1e-12
    )


def test_a_shifted_set_is_as_even_and_its_points_are_uniform():
    base = jnp.asarray(low_discrepancy(64, 3), jnp.float32)
    sets = np.asarray(jax.jit(jax.vmap(lambda key: shifted(base, key)))(jr.split(jr.key(0), 400)))
    assert np.all((sets >= 0) & (sets < 1))
    for axis in range(3):
        assert scipy.stats.kstest(sets[:, 7, axis], "uniform").pvalue > 1e-3
    random = qmc.discrepancy(np.random.default_rng(0).uniform(size=(64, 3)))
    assert max(qmc.discrepancy(points) for points in sets[:20]) < random


@pytest.mark.parametrize("d", [2, 12])
def test_perturbations_stay_in_the_cube_and_come_at_all_distances(d):
    incumbents = jr.uniform(jr.key(1), (64, d))
    found = np.asarray(jax.jit(around)(incumbents, jr.key(0))).reshape(16, -1, d)
    assert np.all((found >= 0) & (found <= 1))
    moves = found - np.asarray(incumbents)[:16, None]
    far = np.max(np.abs(moves), axis=(0, 2))
    assert far[0] > 0.1
    assert far[-1] < 0.05
    share = np.mean(moves[np.any(moves != 0, axis=2)] != 0)
    assert share == pytest.approx(min(1, 4 / d), abs=0.12)


def test_top_takes_the_highest():
    values = jnp.asarray(np.random.default_rng(0).normal(size=50), jnp.float32)
    found = np.asarray(top(values, 7, jr.key(0), TOLERANCE))
    np.testing.assert_array_equal(found, np.argsort(-np.asarray(values))[:7])


def test_top_draws_among_ties():
    values = jnp.asarray([0.0, 1.0, 1.0 - 5e-5, -1.0, 1.0], jnp.float32)
    draws = jax.jit(jax.vmap(lambda key: top(values, 2, key, TOLERANCE)))(jr.split(jr.key(0), 600))
    counts = np.bincount(np.asarray(draws).ravel(), minlength=5)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert scipy.stats.chisquare(counts[[1, 2, 4]]).pvalue > 1e-3


def by_loop(values, points, k):
    """The greedy choice of `spaced` for values without ties."""
    chosen, free = [], np.isfinite(values)
    far = free.copy()
    for _ in range(k):
        candidates = far if far.any() else free
        number = int(np.argmax(np.where(candidates, values, -np.inf)))
        chosen.append(number)
        free[number] = False
        squares = np.sum((points - points[number]) ** 2, axis=1)
        far &= squares > 0.1**2 * points.shape[1]
    return chosen


@pytest.mark.parametrize("n", [60, 9])
def test_spaced_starts(n):
    rng = np.random.default_rng(n)
    points, values = rng.uniform(size=(n, 2)), rng.normal(size=n)
    values[3] = -np.inf
    found = spaced(
        *(jnp.asarray(a, jnp.float32) for a in (values, points)), 8, jr.key(0), TOLERANCE
    )
    assert np.asarray(found).tolist() == by_loop(values, points, 8)
