"""Domains whose actions are judged in a context: the utility is f(x, z)."""

import abc
from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from duelist._checks import as_floats, check_instance
from duelist.domains._base import (
    AbstractBag,
    AbstractDomain,
    Action,
    PairScore,
    Plausible,
    Score,
)

Tree = TypeVar("Tree")


class AbstractContextual(AbstractDomain):
    """A domain in one of many contexts, which changes from query to query.

    The context is made of arrays, so that nothing is compiled again when it changes.
    """

    @property
    @abc.abstractmethod
    def context_size(self) -> int:
        """How many of the features, the last ones, are those of the context."""

    @abc.abstractmethod
    def as_context(self, name: str, value: Any) -> Any:
        """`value` as a context.

        Raises:
            TypeError, ValueError: it is none; the message names the argument `name`.
        """

    @abc.abstractmethod
    def stacked(self, contexts: Sequence[Any]) -> Any:
        """Many contexts with a leading axis; `as_context` has the errors."""

    @abc.abstractmethod
    def given(self, context: Any) -> "AbstractContextual":
        """The same domain in this context; `as_context` has the errors."""

    @property
    def distinct(self) -> None:
        """None: there is no end to contexts."""
        return None


class ContextualDomain(AbstractContextual):
    """The actions of another domain, under a context of e numbers.

    Actions and searches are those of `base`; the features of an action are its own, followed by
    the context.

    Args:
        base: where the actions live.
        contexts: typical contexts, shape [q, e], the first of which is the context to begin with.
            Kernels take from them how far contexts are apart; others may come.

    Raises:
        TypeError: `base` is no domain, or one with contexts of its own.
        ValueError: `contexts` is empty, not of two axes, or not finite.
    """

    base: AbstractDomain
    contexts: Float[Array, "q e"]
    context: Float[Array, " e"]

    def __init__(self, base: AbstractDomain, contexts: Any) -> None:
        check_instance("base", base, AbstractDomain)
        if isinstance(base, AbstractContextual):
            raise TypeError(
                f"base: expected a domain without contexts of its own, got {type(base).__name__}"
            )
        self.base = base
        self.contexts = as_floats("contexts", contexts, 2, base.probes().dtype)
        if self.contexts.size == 0:
            raise ValueError(
                f"contexts: expected at least one context, got shape {self.contexts.shape}"
            )
        self.context = self.contexts[0]

    # ---- contexts ----------------------------------------------------------------------------

    @property
    def context_size(self) -> int:
        """e."""
        return self.context.shape[-1]

    def as_context(self, name: str, value: Any) -> Float[Array, " e"]:
        """`value` as a vector of e numbers."""
        context = as_floats(name, value, 1, self.context.dtype)
        if context.shape[0] != self.context_size:
            raise ValueError(
                f"{name}: expected a vector of {self.context_size} numbers, "
                f"got shape {context.shape}"
            )
        return context

    def stacked(self, contexts: Sequence[Any]) -> Float[Array, "k e"]:
        """One context per row."""
        return jnp.stack([self.as_context(f"contexts[{k}]", z) for k, z in enumerate(contexts)])

    def given(self, context: Any) -> "ContextualDomain":
        """The same actions in this context."""
        # Beliefs that are stacked have a context with a leading axis.
        new = jnp.broadcast_to(self.as_context("context", context), self.context.shape)
        return eqx.tree_at(lambda domain: domain.context, self, new)

    # ---- features ----------------------------------------------------------------------------

    @property
    def size(self) -> int | None:
        """The number of actions in one context; None if they cannot be counted."""
        return self.base.size

    def features(self, action: Action) -> Float[Array, "*shape p"]:
        """Those of the action, then those of the context."""
        return _followed_by(self.base.features(action), self.context)

    def categorical(self) -> Bool[Array, " p"]:
        """Those of the base; contexts are numbers."""
        return jnp.concatenate([self.base.categorical(), jnp.zeros(self.context_size, bool)])

    def rivals(self) -> Float[Array, "q p"]:
        """What the base probes, in this context."""
        return _followed_by(self.base.rivals(), self.context)

    def probes(self) -> Float[Array, "q p"]:
        """What the base probes, and all typical contexts, paired in turn."""
        actions = self.base.probes()
        numbers = jnp.arange(max(actions.shape[0], self.contexts.shape[0]))
        first = actions[numbers % actions.shape[0]]
        return jnp.concatenate([first, self.contexts[numbers % self.contexts.shape[0]]], axis=1)

    def near(self, points: Float[Array, "m p"], utility: Float[Array, " m"]) -> "ContextualDomain":
        """The base told of the actions compared so far, in whichever context they were."""
        base = self.base.near(points[:, : points.shape[1] - self.context_size], utility)
        return eqx.tree_at(lambda domain: domain.base, self, base)

    # ---- what the base does ------------------------------------------------------------------

    def as_action(self, name: str, value: Any) -> Action:
        """`value` as an action of the base."""
        return self.base.as_action(name, value)

    def argmax(self, score: Score, key: PRNGKeyArray, within: Any = None) -> Action:
        """As the base searches."""
        return self.base.argmax(score, key, within)

    def argmax_pair(
        self, score: PairScore, key: PRNGKeyArray, within: Any = None
    ) -> tuple[Action, Action]:
        """As the base searches."""
        return self.base.argmax_pair(score, key, within)

    def maxmin(
        self, score: PairScore, key: PRNGKeyArray, within: Any = None, *, distinct: bool = False
    ) -> tuple[Action, Action]:
        """As the base plays."""
        return self.base.maxmin(score, key, within, distinct=distinct)

    def plausible(self, ucb: PairScore, level: float, utility: Score) -> Plausible:
        """M_t of this context."""
        return self.base.plausible(ucb, level, utility)

    def sample(self, key: PRNGKeyArray, within: Any = None) -> Action:
        """As the base draws."""
        return self.base.sample(key, within)

    def contains(self, action: Action) -> Bool[Array, ""]:
        """Whether the base holds the action; in one context it is as good as in any other."""
        return self.base.contains(action)

    def bag(self) -> AbstractBag:
        """That of the base: actions, without the contexts they were chosen in."""
        return self.base.bag()


def in_context(tree: Tree, context: Any) -> Tree:
    """`tree`, a policy or what it knows, with every domain that has contexts in this one.

    Raises:
        TypeError, ValueError: `context` is none of such a domain.
    """

    def has_contexts(node: Any) -> bool:
        return isinstance(node, AbstractContextual)

    return jax.tree.map(
        lambda node: node.given(context) if has_contexts(node) else node,
        tree,
        is_leaf=has_contexts,
    )


def _followed_by(
    features: Float[Array, "*shape d"], context: Float[Array, " e"]
) -> Float[Array, "*shape p"]:
    last = jnp.broadcast_to(context, (*features.shape[:-1], context.shape[0]))
    return jnp.concatenate([features, last], axis=-1)
