"""MaxInP: the plausible pair that is known least."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from duelist.belief import AbstractUtilityBelief
from duelist.domains import AbstractDomain, BoundedPairScore
from duelist.policies._base import AbstractBeliefPolicy, Query, guided
from duelist.policies._plausible import plausible


class MaxInP(AbstractBeliefPolicy):
    """Algorithm max_info_kernelized (Saha 2021): the pair in M_t that maximises sigma_t^D."""

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def ask(self, state: AbstractUtilityBelief, key: PRNGKeyArray) -> Query:
        """The most informative pair."""
        domain = guided(self.domain, state)
        width = BoundedPairScore(
            state.width, lambda x: jnp.zeros_like(state.utility(x)), state.width
        )
        return domain.argmax_pair(width, key, plausible(domain, state).members)
