"""Doubler: references drawn from what was chosen in the last epoch, epochs of doubling length."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Int, PRNGKeyArray

from duelist._checks import check_instance
from duelist.belief import AbstractUtilityBelief
from duelist.domains import AbstractBag, AbstractDomain, Action
from duelist.policies._base import AbstractPolicy, Answer, Query, check_lasting, guided
from duelist.policies._plausible import plausible


class DoublerState(NamedTuple):
    """The belief, the multiset L, the one being collected, and where the epoch stands.

    Attributes:
        belief: what was learnt.
        references: L.
        chosen: the actions chosen as x_t in this epoch.
        step: the answers told in this epoch.
        length: the answers of this epoch, 2^t.
    """

    belief: AbstractUtilityBelief
    references: AbstractBag
    chosen: AbstractBag
    step: Int[Array, ""]
    length: Int[Array, ""]


class Doubler(AbstractPolicy):
    """Algorithm Doubler (Ailon et al. 2014) on the paper's confidence sets.

    In epoch t, of 2^t duels, x'_t is uniform on the multiset L and x_t = argmax_{M_t} UCB(x, x'_t).
    Then L becomes the x_t of the epoch, as Ailon et al. have it. (The paper's listing refills it
    with the x'_t, which would leave it as it began; see docs/errata.md.)
    """

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def __check_init__(self) -> None:
        check_instance("belief", self.belief, AbstractUtilityBelief)
        check_lasting(self.domain)

    def init(self, key: PRNGKeyArray) -> DoublerState:
        """L holds any one action."""
        empty = self.domain.bag()
        begin = empty.add(self.domain.sample(key))
        return DoublerState(
            self.belief, begin, empty, jnp.zeros((), jnp.int32), jnp.array(2, jnp.int32)
        )

    def ask(self, state: DoublerState, key: PRNGKeyArray) -> Query:
        """Challenger and reference."""
        reference_key, challenger_key = jr.split(key)
        reference = state.references.draw(reference_key)
        domain = guided(self.domain, state.belief)
        challenger = domain.argmax(
            lambda x: state.belief.ucb(x, reference),
            challenger_key,
            plausible(domain, state.belief).members,
        )
        return challenger, reference

    def tell(self, state: DoublerState, query: Query, answer: Answer) -> DoublerState:
        """Collect the challenger; at the end of an epoch the collection becomes L."""
        return self._collected(state, state.belief.tell(query, answer), query)

    def expect(self, state: DoublerState, query: Query) -> DoublerState:
        """Collect the challenger, as after the answer."""
        return self._collected(state, state.belief.expecting(query), query)

    def _collected(
        self, state: DoublerState, belief: AbstractUtilityBelief, query: Query
    ) -> DoublerState:
        chosen, step = state.chosen.add(query[0]), state.step + 1
        ends = step >= state.length
        begin = (chosen, self.domain.bag(), jnp.zeros_like(step), 2 * state.length)
        go_on = (state.references, chosen, step, state.length)
        return DoublerState(belief, *jax.tree.map(partial(jnp.where, ends), begin, go_on))

    def recommend(self, state: DoublerState, key: PRNGKeyArray) -> Action:
        """The action of the highest estimated utility."""
        return guided(self.domain, state.belief).argmax(state.belief.utility, key)
