"""Projected BFGS against SciPy's L-BFGS-B, and what must hold of it anywhere."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from duelist.domains._continuous_ascent import ascend

D, STARTS = 4, 6


def quadratic(seed, dtype):
    """-(z - c)'A(z - c) with an ill-conditioned A, its maximum often outside the cube."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(D, D)) * np.array([1, 3, 0.3, 1])
    centre = rng.uniform(-0.5, 1.5, size=D)
    return (root @ root.T + 0.1 * np.eye(D)).astype(dtype), centre.astype(dtype)


@eqx.filter_jit
def climb(matrix, centre, start, steps, tolerance):
    def value(z):
        away = z - jnp.broadcast_to(centre, z.shape)
        return -jnp.einsum("...i,ij,...j->...", away, matrix, away)

    return ascend(value, start, jnp.ones(D, bool), steps=steps, tolerance=tolerance)


@pytest.mark.parametrize("seed", range(5))
def test_quadratics_with_bounds(x64, seed):
    matrix, centre = quadratic(seed, x64)
    start = np.random.default_rng(seed + 100).uniform(size=(STARTS, D)).astype(x64)

    def loss(z):
        away = z - centre.astype(float)
        return away @ matrix @ away, 2 * matrix.astype(float) @ away

    best = scipy.optimize.minimize(
        loss, start[0].astype(float), jac=True, method="L-BFGS-B", bounds=[(0, 1)] * D,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    small = 1e-12 if x64 == np.float64 else 1e-7
    found, values = climb(*map(jnp.asarray, (matrix, centre, start)), 60, jnp.asarray(small, x64))
    tolerance = 1e-8 if x64 == np.float64 else 1e-4
    np.testing.assert_allclose(values, -best.fun, atol=tolerance * (1 + best.fun))
    assert np.all((found >= 0) & (found <= 1))
    np.testing.assert_array_equal(found[:, best.x <= 1e-9], 0)
    np.testing.assert_array_equal(found[:, best.x >= 1 - 1e-9], 1)


def everywhere(value, start, free=(True, True), steps=40):
    run = jax.jit(partial(ascend, value, steps=steps, tolerance=jnp.float32(1e-7)))
    return run(jnp.asarray(start, jnp.float32), jnp.asarray(free))


def test_a_curved_valley():
    """Rosenbrock's, on [-2, 2]^2, from four corners of the valley's far end."""

    def value(z):
        x, y = 4 * z[..., 0] - 2, 4 * z[..., 1] - 2
        return -100 * (y - x**2) ** 2 - (1 - x) ** 2

    start = [[0.05, 0.9], [0.1, 0.2], [0.4, 0.6], [0.95, 0.1]]
    found, values = everywhere(value, start, steps=150)
    np.testing.assert_allclose(4 * np.asarray(found) - 2, 1, atol=0.02)
    assert np.all(np.asarray(values) > -1e-4)


def test_fixed_coordinates_stay():
    found, _ = everywhere(lambda z: -jnp.sum((z - 0.7) ** 2, axis=-1), [[0.2, 0.4]], (True, False))
    assert float(found[0, 1]) == np.float32(0.4)
    assert float(found[0, 0]) == pytest.approx(0.7, abs=1e-4)


def test_forbidden_points_are_never_returned():
    """Uphill lies a wall; the start behind it, where all is forbidden, stays."""

    def value(z):
        return jnp.where(z[..., 0] < 0.5, z[..., 0] + 0 * z[..., 1], -jnp.inf)

    found, values = everywhere(value, [[0.1, 0.3], [0.9, 0.3]])
    assert 0.45 < float(found[0, 0]) < 0.5
    np.testing.assert_allclose(found[1], [0.9, 0.3])
    assert float(values[1]) == -np.inf


def test_never_worse_than_the_start_on_noise():
    """A function without any order: what is returned is what was best."""

    def value(z):
        return jnp.sin(1e4 * z[..., 0]) * jnp.cos(3e4 * z[..., 1])

    start = np.random.default_rng(0).uniform(size=(20, 2))
    _, values = everywhere(value, start)
    assert np.all(np.asarray(values) >= np.asarray(value(jnp.asarray(start, jnp.float32))) - 1e-6)


def test_where_there_is_no_gradient_a_start_stays():
    def value(z):
        return -jnp.sqrt(jnp.sum((z - 0.5) ** 2, axis=-1))

    found, _ = everywhere(value, [[0.5, 0.5], [0.1, 0.2]])
    np.testing.assert_array_equal(found[0], 0.5)
    np.testing.assert_allclose(found[1], 0.5, atol=2e-3)
