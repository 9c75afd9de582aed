"""The oracles, a compiled way to tell many answers, and a grid of a hundred actions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.belief import oracles as _oracles


@eqx.filter_jit
def _tell_all(belief, columns, answers, count):
    def step(k, belief):
        return belief.tell(tuple(column[k] for column in columns), answers[k])

    return jax.lax.fori_loop(0, count, step, belief)


def _padded(values, dtype):
    """`values` in an array of 512, 1024, ... entries, so that one program tells any number."""
    values = np.asarray(values)
    size = max(512, 1 << (len(values) - 1).bit_length())
    return jnp.zeros(size, dtype).at[: len(values)].set(values.astype(dtype))


@pytest.fixture(scope="session")
def oracles():
    """The module of oracles."""
    return _oracles


@pytest.fixture(scope="session")
def tell_all():
    """A function: the belief after a list of queries and answers, told in one compiled loop."""

    def tell_all(belief, queries, answers):
        columns = tuple(_padded(column, jnp.int32) for column in zip(*queries, strict=True))
        answers = _padded(answers, belief.gram.dtype)
        return _tell_all(belief, columns, answers, jnp.asarray(len(queries), jnp.int32))

    return tell_all


@pytest.fixture(scope="session")
def grid():
    """A hundred actions: the 10 x 10 grid over the unit square, as NumPy's float64."""
    axis = np.linspace(0, 1, 10)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


@pytest.fixture
def double():
    """Double precision alone, for what does not depend on the precision; the dtype."""
    with jax.enable_x64(True):
        yield np.dtype(np.float64)
