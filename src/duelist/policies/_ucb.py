"""Upper-confidence-bound maximisation for direct feedback: LGP-UCB and its rivals."""

from jaxtyping import PRNGKeyArray

from duelist.belief import AbstractBelief
from duelist.domains import AbstractDomain
from duelist.policies._base import AbstractBeliefPolicy, Query, guided


class UCB(AbstractBeliefPolicy):
    """x_t = argmax UCB_t(x) (Algorithm kernel_log_nonparam); the belief makes the algorithm.

    With `prior(domain, kernel, "ratings")` it is LGP-UCB, with `ridge_prior` GP-UCB, with
    `independent_prior` Ind-UCB and with `log_ucb1_prior` Log-UCB1: the paper's comparison of
    confidence sets under one acquisition rule.
    """

    domain: AbstractDomain
    belief: AbstractBelief

    def ask(self, state: AbstractBelief, key: PRNGKeyArray) -> Query:
        """The most optimistic action."""
        return (guided(self.domain, state).argmax(state.ucb, key),)
