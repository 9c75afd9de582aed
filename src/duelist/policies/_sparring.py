"""Sparring: two bandits with direct feedback play against each other."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, PRNGKeyArray

from duelist._checks import check_instance
from duelist.belief import AbstractFittedBelief
from duelist.domains import AbstractDomain, Action
from duelist.policies._base import AbstractPolicy, Answer, Query, guided


class SparringState(NamedTuple):
    """What each of the two players knows from its own wins and losses."""

    first: AbstractFittedBelief
    second: AbstractFittedBelief


class Sparring(AbstractPolicy):
    """Sparring (Ailon et al. 2014) of two LGP-UCB players.

    Each player takes the action of its highest upper confidence bound and is told whether it won,
    as direct feedback. A duel of an action with itself is decided by chance and teaches neither.

    Args:
        domain: where the actions live.
        belief: the belief of either player before any answer, for direct feedback ("ratings").
    """

    domain: AbstractDomain
    belief: AbstractFittedBelief

    def __check_init__(self) -> None:
        check_instance("belief", self.belief, AbstractFittedBelief)

    def init(self, key: PRNGKeyArray) -> SparringState:
        """Two players who know nothing."""
        del key
        return SparringState(self.belief, self.belief)

    def ask(self, state: SparringState, key: PRNGKeyArray) -> Query:
        """The choice of each player."""
        first_key, second_key = jr.split(key)
        return (
            guided(self.domain, state.first).argmax(state.first.ucb, first_key),
            guided(self.domain, state.second).argmax(state.second.ucb, second_key),
        )

    def tell(self, state: SparringState, query: Query, answer: Answer) -> SparringState:
        """Each player is told of its own success."""
        x, x2 = query
        won = jnp.asarray(answer).astype(state.first.utility(x).dtype)
        same = jnp.all(jnp.asarray(x) == jnp.asarray(x2))
        return SparringState(
            first=_unless(same, state.first, state.first.tell((x,), won)),
            second=_unless(same, state.second, state.second.tell((x2,), 1 - won)),
        )

    def expect(self, state: SparringState, query: Query) -> SparringState:
        """Each player expects to be told of its own action."""
        x, x2 = query
        same = jnp.all(jnp.asarray(x) == jnp.asarray(x2))
        return SparringState(
            first=_unless(same, state.first, state.first.expecting((x,))),
            second=_unless(same, state.second, state.second.expecting((x2,))),
        )

    def recommend(self, state: SparringState, key: PRNGKeyArray) -> Action:
        """The action that the two players together think most of."""
        domain = guided(self.domain, state.first)
        return domain.argmax(lambda x: state.first.utility(x) + state.second.utility(x), key)


def _unless(
    same: Bool[Array, ""], old: AbstractFittedBelief, new: AbstractFittedBelief
) -> AbstractFittedBelief:
    """The old belief if `same`, with the new counters: nothing was fitted, one more was told."""

    def choose(a: Any, b: Any) -> Any:
        return jnp.where(same, a, b) if eqx.is_array(a) else a

    kept = jax.tree.map(choose, old.with_room(), new)
    fitted = dataclasses.replace(kept.fit, steps=jnp.where(same, 0, new.fit.steps))
    return dataclasses.replace(kept, fit=fitted, count=new.count, next_refresh=new.next_refresh)
