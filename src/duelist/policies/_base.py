"""What every policy can do, and what most of them share."""

import abc
from typing import Any, TypeAlias

import equinox as eqx
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from duelist._checks import check_instance
from duelist.belief import AbstractBelief
from duelist.domains import AbstractDomain, Action, Candidates

State: TypeAlias = Any
"""What a policy knows: a belief, and whatever else its pseudo-code keeps."""

Query: TypeAlias = tuple[Action, ...]
"""What is asked: a pair (x, x') for a duel, (x,) for direct feedback."""

Answer: TypeAlias = Bool[Array, ""] | Float[Array, ""] | bool | int | float
"""1 if x was preferred (or liked), 0 if not; a number between them counts for both."""


class AbstractPolicy(eqx.Module):
    """Which query to ask next: `init`, then `ask` and `tell` in turn, `recommend` at any time.

    With several judges `ask_many` asks; queries that wait for their answer enter by `expect`.
    """

    domain: eqx.AbstractVar[AbstractDomain]

    def __check_init__(self) -> None:
        check_instance("domain", self.domain, AbstractDomain)

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray) -> State:
        """The state before any answer."""

    @abc.abstractmethod
    def ask(self, state: State, key: PRNGKeyArray) -> Query:
        """The query to ask next."""

    @abc.abstractmethod
    def tell(self, state: State, query: Query, answer: Answer) -> State:
        """The state after the answer to `query`, which need not be one that was asked for."""

    @abc.abstractmethod
    def expect(self, state: State, query: Query) -> State:
        """The state to ask by while `query` is with a judge; see `AbstractBelief.expecting`.

        What `tell` does besides learning from the answer, it does too. The state that answers are
        told to is another one: see `ask_many`.
        """

    @abc.abstractmethod
    def recommend(self, state: State, key: PRNGKeyArray) -> Action:
        """The action to use if asking ended now."""


class AbstractBeliefPolicy(AbstractPolicy):
    """A policy whose state is its belief; a new one has only to define `ask`.

    Attributes:
        domain: where the actions live.
        belief: the belief before any answer, as `duelist.belief.prior` makes it.
    """

    domain: eqx.AbstractVar[AbstractDomain]
    belief: eqx.AbstractVar[Any]

    def __check_init__(self) -> None:
        check_instance("belief", self.belief, AbstractBelief)

    def init(self, key: PRNGKeyArray) -> AbstractBelief:
        """The belief before any answer."""
        del key
        return self.belief

    def tell(self, state: AbstractBelief, query: Query, answer: Answer) -> AbstractBelief:
        """The belief after the answer."""
        return state.tell(query, answer)

    def expect(self, state: AbstractBelief, query: Query) -> AbstractBelief:
        """The belief that expects the query."""
        return state.expecting(query)

    def recommend(self, state: AbstractBelief, key: PRNGKeyArray) -> Action:
        """The action of the highest estimated utility."""
        return guided(self.domain, state).argmax(state.utility, key)


def check_lasting(domain: AbstractDomain) -> None:
    """Raise a TypeError if the actions of one context are no actions of another.

    For policies that ask again what they asked before.
    """
    if isinstance(domain, Candidates):
        raise TypeError(
            "domain: expected the same actions in every context, for the policy remembers some, "
            "got Candidates"
        )


def guided(domain: AbstractDomain, belief: AbstractBelief) -> AbstractDomain:
    """`domain`, told which points were compared so far, if the belief keeps them."""
    compared = belief.compared()
    return domain if compared is None else domain.near(*compared)
