"""MultiSBM: the last challenger becomes the reference."""

from typing import NamedTuple

from jaxtyping import PRNGKeyArray

from duelist._checks import check_instance
from duelist.belief import AbstractUtilityBelief
from duelist.domains import AbstractDomain, Action
from duelist.policies._base import AbstractPolicy, Answer, Query, check_lasting, guided
from duelist.policies._plausible import plausible


class MultiSBMState(NamedTuple):
    """The belief, and x'_{t-1}."""

    belief: AbstractUtilityBelief
    last: Action


class MultiSBM(AbstractPolicy):
    """Algorithm MultiSBM (Ailon et al. 2014): x_t = x'_{t-1}, x'_t = argmax_{M_t} UCB(x, x_t).

    The acquisition of POP-BO (Xu et al. 2024) is the same; only its confidence set differs. The
    first reference is drawn uniformly.
    """

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def __check_init__(self) -> None:
        check_instance("belief", self.belief, AbstractUtilityBelief)
        check_lasting(self.domain)

    def init(self, key: PRNGKeyArray) -> MultiSBMState:
        """No answers, and a random reference."""
        return MultiSBMState(self.belief, self.domain.sample(key))

    def ask(self, state: MultiSBMState, key: PRNGKeyArray) -> Query:
        """The reference and its challenger."""
        belief, reference = state
        domain = guided(self.domain, belief)
        members = plausible(domain, belief).members
        return reference, domain.argmax(lambda x: belief.ucb(x, reference), key, members)

    def tell(self, state: MultiSBMState, query: Query, answer: Answer) -> MultiSBMState:
        """The second action of the query is the next reference."""
        return MultiSBMState(state.belief.tell(query, answer), query[1])

    def expect(self, state: MultiSBMState, query: Query) -> MultiSBMState:
        """As after the answer, the second action is the next reference."""
        return MultiSBMState(state.belief.expecting(query), query[1])

    def recommend(self, state: MultiSBMState, key: PRNGKeyArray) -> Action:
        """The action of the highest estimated utility."""
        return guided(self.domain, state.belief).argmax(state.belief.utility, key)
