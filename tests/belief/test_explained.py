"""What answers explain of the prior covariance, by the formulas with a row per answer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duelist.belief._broadcast import inner
from duelist.belief._explained import explained_by, rank_one_more

C = 8


def problem(seed, count=12, used=5, *, singular=False):
    """K with zeros beyond `used`, rows of duels and ratings, weights."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(used, 2 if singular else used))
    gram = np.zeros((C, C))
    gram[:used, :used] = root @ root.T
    rows = np.zeros((count, C))
    for row in rows:
        row[rng.integers(used)] += 1
        row[rng.integers(used)] -= rng.integers(2)
    return gram, rows, rng.uniform(0.1, 3, size=count)


def dense(gram, rows, weights):
    """D'(D K D' + W^-1)^-1 D."""
    return rows.T @ np.linalg.solve(rows @ gram @ rows.T + np.diag(1 / weights), rows)


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_from_scratch_and_by_rank_one(x64, seed, singular):
    gram, rows, weights = problem(seed, singular=singular)
    expected = dense(gram, rows, weights)
    atol = {"float32": 2e-5, "float64": 1e-12}[x64.name]
    table = jnp.asarray(gram, x64)
    scratch = explained_by(jnp.asarray(rows.T @ (weights[:, None] * rows), x64), table)
    np.testing.assert_allclose(scratch, expected, rtol=0, atol=atol)
    explained = jnp.zeros_like(table)
    for t, (row, weight) in enumerate(zip(rows, weights, strict=True)):
        d = jnp.asarray(row, x64)
        more, variance = rank_one_more(explained, d, table @ d, jnp.asarray(1 / weight, x64))
        explained = explained + more[:, None] * more[None, :]
        before = row @ (gram - gram @ dense(gram, rows[:t], weights[:t]) @ gram) @ row
        assert float(variance) == pytest.approx(before, abs=10 * atol)
    np.testing.assert_allclose(explained, expected, rtol=0, atol=atol)
    assert not np.any(np.asarray(explained)[5:])


shapes = st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.booleans()), max_size=3)


@given(axes=shapes, ranks=st.tuples(st.integers(0, 3), st.integers(0, 3)), seed=st.integers(0, 99))
def test_inner_broadcasts_as_numpy_does(axes, ranks, seed):
    rng = np.random.default_rng(seed)
    full = [tuple(size if keep[k] else 1 for size, *keep in axes) for k in (0, 1)]
    a, b = (
        rng.normal(size=(*shape[len(shape) - min(rank, len(shape)) :], 4)).astype(np.float32)
        for shape, rank in zip(full, ranks, strict=True)
    )
    found = inner(jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_allclose(found, np.sum(a * b, axis=-1), rtol=0, atol=1e-5)


def test_inner_of_a_table_makes_nothing_larger_than_the_table():
    a, b = jnp.ones((30, 1, 50)), jnp.ones((1, 40, 50))
    jaxpr = jax.make_jaxpr(inner)(a, b)
    largest = max(v.aval.size for eqn in jaxpr.eqns for v in eqn.outvars)
    assert largest <= max(30 * 40, 40 * 50)
