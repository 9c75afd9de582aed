"""M_t over very many actions: most are ruled out by a few rivals, the rest tested when needed."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from duelist.domains._base import ALL, PairScore


class Members(NamedTuple):
    """A subset of the actions by its membership test.

    Attributes:
        candidates: all that may belong to it, [n].
        test: which of some actions do, exactly, at the cost of a row of scores each.
        leader: the action that stands in where none does.
    """

    candidates: Bool[Array, " n"]
    test: Callable[[Int[Array, " q"]], Bool[Array, " q"]]
    leader: Int[Array, ""]

    def best(
        self, priority: Float[Array, " n"], batch: int
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """The member of the highest priority and True; `leader` and False if there is no member.

        Candidates are tested in decreasing order of priority.
        """

        def searching(carry: tuple[Array, Array, Array]) -> Array:
            waiting, _, found = carry
            return ~found & jnp.any(waiting)

        def look(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            waiting, _, _ = carry
            actions = jax.lax.top_k(jnp.where(waiting, priority, -jnp.inf), batch)[1]
            passes = self.test(actions) & waiting[actions]
            found = actions[jnp.argmax(passes)]
            return waiting.at[actions].set(False), found, jnp.any(passes)

        begin = (self.candidates, self.leader, jnp.array(False))
        _, action, found = jax.lax.while_loop(searching, look, begin)
        return jnp.where(found, action, self.leader), found


def members(
    ucb: PairScore,
    level: Float[Array, ""],
    leader: Int[Array, ""],
    first: Int[Array, " q"],
    rounds: int,
) -> Members:
    """M_t = {x : ucb(x, x') >= level for all x'}, narrowed down by strong rivals.

    The rivals are those against which the actions `first`, and then some candidates left, do worst.
    """

    def test(actions: Int[Array, " q"]) -> Bool[Array, " q"]:
        return jnp.min(ucb(actions[:, None], ALL), axis=1) >= level

    def narrow(
        _: Array, carry: tuple[Bool[Array, " n"], Int[Array, " q"]]
    ) -> tuple[Bool[Array, " n"], Int[Array, " q"]]:
        candidates, actions = carry
        rivals = jnp.argmin(ucb(actions[:, None], ALL), axis=1).astype(jnp.int32)
        worst = jnp.min(ucb(ALL, rivals[:, None]), axis=0)
        candidates = candidates & (worst >= level)
        close = jax.lax.top_k(jnp.where(candidates, -worst, -jnp.inf), actions.shape[0])[1]
        return candidates, close

    every = jnp.ones(ucb(ALL, leader).shape, bool)
    candidates, _ = jax.lax.fori_loop(0, rounds, narrow, (every, first))
    return Members(candidates, test, leader)
