"""RUCB: a random plausible reference, and its most promising challenger."""

import jax.random as jr
from jaxtyping import PRNGKeyArray

from duelist.belief import AbstractUtilityBelief
from duelist.domains import AbstractDomain
from duelist.policies._base import AbstractBeliefPolicy, Query, guided
from duelist.policies._plausible import plausible


class RUCB(AbstractBeliefPolicy):
    """Algorithm RUCB (Zoghi et al. 2014): x'_t uniform on M_t, x_t = argmax_{M_t} UCB(x, x'_t)."""

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def ask(self, state: AbstractUtilityBelief, key: PRNGKeyArray) -> Query:
        """Challenger and reference."""
        reference_key, challenger_key = jr.split(key)
        domain = guided(self.domain, state)
        members = plausible(domain, state).members
        reference = domain.sample(reference_key, members)
        challenger = domain.argmax(lambda x: state.ucb(x, reference), challenger_key, members)
        return challenger, reference
