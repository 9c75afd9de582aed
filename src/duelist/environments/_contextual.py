"""A simulated judge whose utility depends on a context."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, PRNGKeyArray

from duelist._checks import check_instance
from duelist.domains import AbstractContextual, Action
from duelist.environments._base import AbstractEnvironment
from duelist.links import AbstractLink, Logistic

Features = Float[Array, "*shape p"]


class ContextualEnvironment(AbstractEnvironment):
    """A judge of utility f(x, z) in one of k contexts, which `drawn` changes at random.

    The best action, against which regret is counted, is that of the present context. It is found
    by the domain's own search when the judge is made: exactly if the actions are finite.

    Args:
        domain: the actions.
        function: f, of features as the domain gives them (a context follows its action).
        contexts: the contexts that are drawn, uniformly; at least one.
        link: s; logistic by default.

    Raises:
        TypeError: `domain` or `link` is of another kind.
        ValueError: there is no context, or one is not of the domain's kind.
    """

    domain: AbstractContextual
    function: Callable[[Features], Float[Array, "*shape"]]
    contexts: Any
    highest: Float[Array, " k"]
    number: Int[Array, ""]
    link: AbstractLink

    def __init__(
        self,
        domain: AbstractContextual,
        function: Callable[[Features], Float[Array, "*shape"]],
        contexts: Sequence[Any],
        link: AbstractLink | None = None,
    ) -> None:
        check_instance("domain", domain, AbstractContextual)
        if len(contexts) == 0:
            raise ValueError("contexts: expected at least one, got none")
        self.function = function
        self.contexts = domain.stacked(contexts)
        self.number = jnp.zeros((), jnp.int32)
        self.domain = domain.given(self.context)
        self.link = Logistic() if link is None else link
        check_instance("link", self.link, AbstractLink)
        self.highest = _highest(self.domain, function, self.contexts)

    @property
    def context(self) -> Any:
        """The present context."""
        return jax.tree.map(lambda x: x[self.number], self.contexts)

    def drawn(self, key: PRNGKeyArray) -> "ContextualEnvironment":
        """The same judge in a random context."""
        count = self.highest.shape[0]
        number = jr.randint(key, (), 0, count, dtype=jnp.int32)
        moved = eqx.tree_at(lambda judge: judge.number, self, number)
        return eqx.tree_at(lambda judge: judge.domain, moved, self.domain.given(moved.context))

    def utility(self, x: Action) -> Float[Array, "..."]:
        """f(x, z)."""
        return self.function(self.domain.features(x))

    def best(self) -> Float[Array, ""]:
        """max over x of f(x, z), for the present z."""
        return self.highest[self.number]


@eqx.filter_jit
def _highest(
    domain: AbstractContextual, function: Callable[[Features], Array], contexts: Any
) -> Float[Array, " k"]:
    """The best utility in every context."""

    def highest(context: Any) -> Float[Array, ""]:
        here = domain.given(context)

        def utility(x: Action) -> Float[Array, "..."]:
            return function(here.features(x))

        return utility(here.argmax(utility, jr.key(0)))

    return jax.lax.map(highest, contexts)
