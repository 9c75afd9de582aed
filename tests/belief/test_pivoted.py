"""Pivoted Cholesky features against the dense factorisation in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import tinygp

from duelist.belief import _pivoted, pivoted_features

KERNEL = tinygp.kernels.ExpSquared(0.6)


def uniform(n, d=3, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, d))


def gram_of(points):
    squares = ((points[:, None] - points[None]) ** 2).sum(-1)
    return np.exp(-squares / 2 / 0.6**2)


def dense(matrix, rank):
    """Outer products taken off the matrix, the largest diagonal entry first."""
    rest, rows, pivots = matrix.copy(), [], []
    for _ in range(rank):
        pivot = int(np.argmax(np.diagonal(rest)))
        rows.append(rest[pivot] / np.sqrt(rest[pivot, pivot]))
        rest = rest - np.outer(rows[-1], rows[-1])
        pivots.append(pivot)
    return np.array(rows).T, np.array(pivots), rest


def test_it_is_the_dense_factorisation(x64):
    """In double precision to rounding, in single as far as it goes."""
    points = uniform(40).astype(x64)
    found = pivoted_features(KERNEL, points, rank=12)
    features, pivots, rest = dense(gram_of(points.astype(float)), 12)
    error = 1e-10 if x64 == jnp.float64 else 1e-4
    np.testing.assert_array_equal(found.pivots, pivots)
    np.testing.assert_allclose(found.features, features, atol=error)
    np.testing.assert_allclose(found.residual, np.diagonal(rest).max(), atol=error)
    assert found.features.dtype == x64
    assert int(found.used) == 12


def test_the_pivots_are_those_of_lapack():
    """?pstrf factorises the same matrix with the same complete pivoting."""
    with jax.enable_x64(True):
        points = uniform(30, seed=3)
        found = pivoted_features(KERNEL, points, rank=10)
    _, order, _, _ = scipy.linalg.lapack.dpstrf(gram_of(points), lower=1)
    np.testing.assert_array_equal(found.pivots, order[:10] - 1)


def test_no_entry_is_wrong_by_more_than_the_residual(x64):
    """Which is that of the worst variance, for the rest is positive semi-definite."""
    points = uniform(60, seed=1).astype(x64)
    found = pivoted_features(KERNEL, points, rank=60, residual=0.01)
    rest = gram_of(points.astype(float)) - np.asarray(found.features @ found.features.T, float)
    assert np.abs(rest).max() <= 0.01 + 1e-5
    np.testing.assert_allclose(found.residual, np.diagonal(rest).max(), atol=1e-5)
    used = int(found.used)
    assert 1 < used < 60
    assert not np.any(found.features[:, used:])
    np.testing.assert_array_equal(found.pivots[used:], -1)
    fewer = pivoted_features(KERNEL, points, rank=used - 1)
    assert float(fewer.residual) > 0.01


def test_identical_actions_need_one_column():
    found = pivoted_features(KERNEL, np.full((5, 2), 0.3), rank=4)
    assert int(found.used) == 1
    assert float(found.residual) == 0
    np.testing.assert_array_equal(found.features, [[1, 0, 0, 0]] * 5)


def test_there_are_no_more_columns_than_actions():
    assert pivoted_features(KERNEL, uniform(3), rank=10).features.shape == (3, 3)


def test_another_residual_or_length_scale_compiles_nothing(monkeypatch):
    traces = []
    original = _pivoted.against
    monkeypatch.setattr(_pivoted, "against", lambda *a: (traces.append(1), original(*a))[1])
    for scale, residual in ((0.5, 0.5), (0.7, 0.6)):
        pivoted_features(tinygp.kernels.ExpSquared(scale), uniform(17), rank=9, residual=residual)
    assert len(traces) == 1


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"kernel": 1.0}, TypeError, "kernel: expected Kernel"),
        ({"points": [1.0, 2.0]}, ValueError, "points"),
        ({"points": [[np.nan]]}, ValueError, "points"),
        ({"rank": 0}, ValueError, "rank"),
        ({"rank": 2.0}, TypeError, "rank"),
        ({"residual": -1.0}, ValueError, "residual"),
        ({"residual": 1e-6}, ValueError, "residual: expected at least .* which 2 column"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_arguments(changes, error, message):
    arguments = {"kernel": KERNEL, "points": uniform(20), "rank": 2, "residual": None} | changes
    with pytest.raises(error, match=message):
        pivoted_features(arguments.pop("kernel"), arguments.pop("points"), **arguments)
