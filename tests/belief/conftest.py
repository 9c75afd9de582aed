"""The oracles, a compiled way to tell many answers, and a grid of a hundred actions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from tests.belief import oracles as _oracles


@eqx.filter_jit
def _tell_all(belief, columns, answers):
    def step(belief, told):
        query, answer = told
        return belief.tell(query, answer), None

    return jax.lax.scan(step, belief, (columns, answers))


@pytest.fixture(scope="session")
def oracles():
    """The module of oracles."""
    return _oracles


@pytest.fixture(scope="session")
def tell_all():
    """A function: the belief after a list of queries and answers, told in one compiled scan."""

    def tell_all(belief, queries, answers):
        columns = tuple(jnp.asarray(column, jnp.int32) for column in zip(*queries, strict=True))
        belief, _ = _tell_all(belief, columns, jnp.asarray(answers, belief.gram.dtype))
        return belief

    return tell_all


@pytest.fixture(scope="session")
def grid():
    """A hundred actions: the 10 x 10 grid over the unit square, as NumPy's float64."""
    axis = np.linspace(0, 1, 10)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


@pytest.fixture
def unchecked():
    """Without the type checker that the tests put around every function, as users run it."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
