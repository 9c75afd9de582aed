"""What the tests of policies share: one compiled `tell`, and posteriors computed once."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from tests.policies import cases

from duelist.belief import LogUCB1Belief, RidgeBelief, TableBelief
from duelist.domains import FiniteDomain


@pytest.fixture(scope="module", autouse=True)
def compiled_tell() -> Iterator[None]:
    """`tell` of the beliefs under `jit`, so that all policies share one program per shape.

    For these files only: other tests of the process want the errors of a plain `tell`.
    """
    with pytest.MonkeyPatch.context() as patch:
        for kind in (TableBelief, RidgeBelief, LogUCB1Belief):
            patch.setattr(kind, "tell", _compiled(kind.tell))
        yield


def _compiled(plain):
    compiled = eqx.filter_jit(plain)

    def tell(self, query, answer):
        # As arrays their values are no part of the compiled program.
        query = tuple(jnp.asarray(x, jnp.int32) for x in query)
        return compiled(self, query, jnp.asarray(answer).astype(self.covariance.dtype))

    return tell


@pytest.fixture(scope="module")
def x64_mode() -> Iterator[None]:
    """Double precision for a whole module."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def many() -> tuple[FiniteDomain, cases.Posteriors]:
    """A domain of eight actions and sixty posteriors of duels over it, in double precision."""
    with jax.enable_x64(True):
        domain = cases.domain_of()
        return domain, cases.posteriors(domain, 60, seed=1)
