"""What every simulated judge can do."""

import abc

import equinox as eqx
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from duelist.domains import Action
from duelist.links import AbstractLink


class AbstractEnvironment(eqx.Module):
    """A judge who answers by a utility f that the policy does not see (eq. def_pref)."""

    link: eqx.AbstractVar[AbstractLink]

    @abc.abstractmethod
    def utility(self, x: Action) -> Float[Array, "..."]:
        """f(x)."""

    @abc.abstractmethod
    def best(self) -> Float[Array, ""]:
        """f(x*), the highest utility of the domain."""

    def answer(self, query: tuple[Action, ...], key: PRNGKeyArray) -> Bool[Array, ""]:
        """A random answer: is x preferred in the duel (x, x'), or liked when asked alone?

        Yes with probability s(f(x) - f(x')), or s(f(x)) for direct feedback.
        """
        h = self.utility(query[0])
        h = h - self.utility(query[1]) if len(query) == 2 else h
        return jr.uniform(key, dtype=h.dtype) < self.link.probability(h)
