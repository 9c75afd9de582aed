"""Policies in contexts: what is asked, told and recommended under one of many."""

from typing import Any

import equinox as eqx
from jaxtyping import PRNGKeyArray

from duelist._checks import check_instance
from duelist.domains import AbstractContextual, Action, in_context
from duelist.policies._base import AbstractPolicy, Answer, Query, State


class Contextual(eqx.Module):
    """Any policy, with the context said at every call (Krause and Ong 2011; Saha 2021).

    For the time of a call the policy and its belief live on the domain given that context; the rest
    is the policy's own. `ask` and `recommend` are compiled, once for each number of places for
    candidates and for the points compared, not for each context.

    Args:
        policy: a policy on a domain with contexts, `ContextualDomain` or `Candidates`.

    Raises:
        TypeError: it is none, or its domain has no contexts.
    """

    policy: AbstractPolicy

    def __check_init__(self) -> None:
        check_instance("policy", self.policy, AbstractPolicy)
        if not isinstance(self.policy.domain, AbstractContextual):
            raise TypeError(
                "policy: expected one on a domain with contexts, got one on "
                f"{type(self.policy.domain).__name__}"
            )

    def init(self, key: PRNGKeyArray) -> State:
        """The state before any answer."""
        return self.policy.init(key)

    def ask(self, state: State, key: PRNGKeyArray, context: Any) -> Query:
        """The query to ask next, about actions in this context."""
        policy, state = in_context((self.policy, state), context)
        return _ask(policy, state, key)

    def tell(self, state: State, query: Query, answer: Answer, context: Any) -> State:
        """The state after the answer to `query`, which was asked in this context."""
        policy, state = in_context((self.policy, state), context)
        return policy.tell(state, query, answer)

    def recommend(self, state: State, key: PRNGKeyArray, context: Any) -> Action:
        """The action to use in this context."""
        policy, state = in_context((self.policy, state), context)
        return _recommend(policy, state, key)


@eqx.filter_jit
def _ask(policy: AbstractPolicy, state: State, key: PRNGKeyArray) -> Query:
    return policy.ask(state, key)


@eqx.filter_jit
def _recommend(policy: AbstractPolicy, state: State, key: PRNGKeyArray) -> Action:
    return policy.recommend(state, key)
