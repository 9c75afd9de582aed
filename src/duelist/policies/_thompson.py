"""Double Thompson sampling from the Laplace posterior."""

import jax.random as jr
from jaxtyping import PRNGKeyArray

from duelist.belief import AbstractUtilityBelief
from duelist.domains import AbstractDomain
from duelist.policies._base import AbstractBeliefPolicy, Query, guided


class DoubleThompson(AbstractBeliefPolicy):
    """The best actions under two independent draws of the utility (after Wu and Liu 2016).

    The draws come from the Laplace posterior, the Bayesian reading of the penalised fit, and cost
    O(n^3). Once the posterior has settled both draws agree and the duel costs no regret.
    """

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def ask(self, state: AbstractUtilityBelief, key: PRNGKeyArray) -> Query:
        """One action per draw."""
        keys = jr.split(key, 4)
        first, second = state.sample(keys[0]), state.sample(keys[1])
        domain = guided(self.domain, state)
        return (
            domain.argmax(first, keys[2]),
            domain.argmax(second, keys[3]),
        )
