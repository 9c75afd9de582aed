"""What every belief can do: take an answer, and predict with bounds."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from duelist.domains import Action


class AbstractBelief(eqx.Module):
    """What is known about the utility after the answers so far.

    A query is a tuple of actions: (x, x') for a duel, (x,) for direct feedback. Predictions take
    the same actions in the same order; with one action the other is x_null, whose utility is 0.
    In the place of an action `ALL` gives the values for every action: `belief.lcb(ALL, ALL)` is
    the table over all pairs, [n, n], `belief.ucb(ALL, x)` a column of it.
    """

    @abc.abstractmethod
    def tell(self, query: tuple[Action, ...], answer: Any) -> "AbstractBelief":
        """The belief after one more answer: 1 for yes, 0 for no, between them for partly yes."""

    @abc.abstractmethod
    def expecting(self, query: tuple[Action, ...]) -> "AbstractBelief":
        """What to ask by while `query` is with a judge: as if the answer were what is expected.

        A pending query is told to a copy of the belief, with its own forecast for an answer. Such
        an answer pulls the estimate nowhere, so estimate, evidence, gain and count stay as they
        are, and only widths shrink: these depend on what was asked, not on what was answered
        (GP-BUCB; Desautels, Krause and Burdick 2014).

        The copy is for asking only. Nothing that is said of the bounds, no probability either, is
        said of those of the copy; the belief itself learns by `tell`, when and if an answer comes.
        """

    @abc.abstractmethod
    def utility(self, x: Action) -> Float[Array, "..."]:
        """The estimated utility."""

    @abc.abstractmethod
    def preference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The estimated probability of the answer yes."""

    @abc.abstractmethod
    def width(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t, in units of the prior's standard deviation; zero where x = x2."""

    @abc.abstractmethod
    def lcb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The lower confidence bound."""

    @abc.abstractmethod
    def ucb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The upper confidence bound."""

    def compared(self) -> tuple[Float[Array, "m p"], Float[Array, " m"]] | None:
        """Features of the points compared so far and their utility; None if none are kept.

        The utility of rows that hold no point is -inf.
        """
        return None


class AbstractUtilityBelief(AbstractBelief):
    """A belief about a utility f behind the answers, which the dueling policies choose by."""

    @abc.abstractmethod
    def tell(self, query: tuple[Action, ...], answer: Any) -> "AbstractUtilityBelief":
        """The belief after one more answer."""

    @abc.abstractmethod
    def expecting(self, query: tuple[Action, ...]) -> "AbstractUtilityBelief":
        """What to ask by while `query` is with a judge."""

    @property
    @abc.abstractmethod
    def level(self) -> float:
        """The value of a bound at x = x2: 1/2 for probabilities, 0 for utilities."""

    @property
    @abc.abstractmethod
    def utility_beta(self) -> Float[Array, ""]:
        """beta_t / L, the coefficient of the width on the utility scale (Theorem ids_regret)."""

    @abc.abstractmethod
    def utilities(self, x: Action, x2: Action) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """f_t(x) and f_t(x2), shaped so that arithmetic on them gives a table if both are ALL."""

    @abc.abstractmethod
    def difference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """h_t(x, x2) = f_t(x) - f_t(x2)."""

    @abc.abstractmethod
    def deviation(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The posterior standard deviation of f(x) - f(x2), in utility."""

    @property
    def doubts(self) -> bool:
        """Whether the bounds may be wrong; `stake` then says where it pays to look again."""
        return False

    def stake(self, x: Action, leader: Action) -> Float[Array, "..."]:
        """What asking (leader, x) is worth in case `ucb` is wrong; 0 where it leaves x open."""
        return jnp.zeros_like(self.ucb(x, leader))

    @abc.abstractmethod
    def information(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """log(1 + sigma_t^2 / (lambda kappa)), twice the information gained by asking (x, x2)."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray) -> Callable[[Action], Float[Array, "..."]]:
        """A utility function drawn from the posterior."""
