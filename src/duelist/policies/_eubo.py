"""EUBO: the pair whose better option is expected to be best."""

import math

from jaxtyping import Array, Float, PRNGKeyArray

from duelist.belief import AbstractUtilityBelief, expected_improvement
from duelist.domains import AbstractDomain, Action, BoundedPairScore
from duelist.policies._base import AbstractBeliefPolicy, Query, guided


class EUBO(AbstractBeliefPolicy):
    """argmax E[max(f(x), f(x'))] under the Laplace posterior (Lin et al. 2022; BoTorch's choice).

    With m = f_t(x) - f_t(x'), s the posterior deviation of f(x) - f(x') and z = m/s, the
    expectation is f_t(x') + m Phi(z) + s phi(z); where s = 0 it is max(f_t(x), f_t(x')).
    """

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def ask(self, state: AbstractUtilityBelief, key: PRNGKeyArray) -> Query:
        """The pair of the highest expected utility of the better option."""

        def expected_best(x: Action, x2: Action) -> Float[Array, "..."]:
            first, second = state.utilities(x, x2)
            return second + expected_improvement(first - second, state.deviation(x, x2))

        def spread(x: Action, x2: Action) -> Float[Array, "..."]:
            return state.deviation(x, x2) / math.sqrt(2 * math.pi)

        # E max(f, f') <= max(m, m') + s / sqrt(2 pi), with equality where m = m'.
        score = BoundedPairScore(expected_best, state.utility, spread)
        return guided(self.domain, state).argmax_pair(score, key)
