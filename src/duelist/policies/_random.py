"""Uniformly random queries, the yardstick of all others."""

import jax.random as jr
from jaxtyping import PRNGKeyArray

from duelist.belief import AbstractBelief
from duelist.domains import AbstractDomain
from duelist.policies._base import AbstractBeliefPolicy, Query


class RandomDuel(AbstractBeliefPolicy):
    """Two actions drawn uniformly and independently; the belief only serves to recommend."""

    domain: AbstractDomain
    belief: AbstractBelief

    def ask(self, state: AbstractBelief, key: PRNGKeyArray) -> Query:
        """Two random actions."""
        del state
        first_key, second_key = jr.split(key)
        return self.domain.sample(first_key), self.domain.sample(second_key)


class RandomRating(AbstractBeliefPolicy):
    """One action drawn uniformly, for direct feedback."""

    domain: AbstractDomain
    belief: AbstractBelief

    def ask(self, state: AbstractBelief, key: PRNGKeyArray) -> Query:
        """A random action."""
        del state
        return (self.domain.sample(key),)
