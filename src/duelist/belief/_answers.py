"""What was answered so far on a finite domain, as counts: all that the likelihood depends on.

An observation is a signed sum of actions and a binary answer: e_i - e_j for a duel, e_i for direct
feedback. With D the matrix of these signed sums, a row per observation, everything the fit needs
is a sum over distinct rows, so its cost depends on the number of actions and never on the history.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from duelist._checks import as_floats, is_concrete
from duelist.domains import Action
from duelist.links import AbstractLink


class AbstractAnswers(eqx.Module):
    """Counts of answers, and the sums over observations that the fit and the widths need."""

    @abc.abstractmethod
    def add(self, query: tuple[Action, ...], answer: Float[Array, ""]) -> "AbstractAnswers":
        """The counts after one more answer: 1 for yes, 0 for no, between them for partly yes."""

    @abc.abstractmethod
    def loss(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, ""]:
        """sum_t -log-likelihood of the answers (eq. logistic_loss, eq. preference_loss)."""

    @abc.abstractmethod
    def gradient(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, " n"]:
        """The derivative of `loss` by f; D'(p - y) for the logistic link."""

    @abc.abstractmethod
    def hessian(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, "n n"]:
        """The second derivative D'WD of `loss` by f, a weighted graph Laplacian for duels."""

    @abc.abstractmethod
    def square(self) -> Float[Array, "n n"]:
        """D'D, the Laplacian of the unweighted counts."""

    @abc.abstractmethod
    def expected(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, " n"]:
        """D'(s(Df) - 1/2): what answers to the same queries would add up to on average under f."""

    @abc.abstractmethod
    def expected_slope(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, "n n"]:
        """The derivative D'SD of `expected` by f, with the slopes s'(Df) on the diagonal of S."""


class Duels(AbstractAnswers):
    """Preference feedback: `wins[i, j]` counts how often i was preferred to j.

    A duel of an action with itself carries no information and is not counted.
    """

    wins: Float[Array, "n n"]

    def add(self, query: tuple[Action, ...], answer: Float[Array, ""]) -> "Duels":
        """Count the duel of the two actions in `query`."""
        first, second = (indicator(x, self.wins.shape[0], self.wins.dtype) for x in query)
        counted = 1 - first @ second
        won = (counted * answer) * first[:, None] * second[None, :]
        lost = (counted * (1 - answer)) * second[:, None] * first[None, :]
        return Duels(self.wins + won + lost)

    def loss(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, ""]:
        """sum_ij wins_ij * -log s(f_i - f_j)."""
        return jnp.sum(self.wins * link.loss(_differences(f)))

    def gradient(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, " n"]:
        """What all duels of an action together pull it by."""
        return link.pulls(f, self.wins)

    def hessian(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, "n n"]:
        """The Laplacian with the curvature of every duel as its weight."""
        weights = self.wins * link.curvature(_differences(f))
        return _laplacian(weights + weights.T)

    def square(self) -> Float[Array, "n n"]:
        """The Laplacian with how often i and j met as the weight."""
        return _laplacian(self.wins + self.wins.T)

    def expected(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, " n"]:
        """Over the opponents of an action, wins to be expected less half of the duels."""
        excess = link.probability(_differences(f)) - 0.5
        return jnp.sum((self.wins + self.wins.T) * excess, axis=1)

    def expected_slope(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, "n n"]:
        """The Laplacian with the slope of every duel as its weight."""
        return _laplacian((self.wins + self.wins.T) * link.slope(_differences(f)))


class Ratings(AbstractAnswers):
    """Direct feedback: `yes[i]` and `no[i]` count the answers of either kind on action i.

    This is the duel against x_null with f(x_null) = 0 of the paper's warm-up section.
    """

    yes: Float[Array, " n"]
    no: Float[Array, " n"]

    def add(self, query: tuple[Action, ...], answer: Float[Array, ""]) -> "Ratings":
        """Count the answer on the one action in `query`."""
        (i,) = query
        return Ratings(self.yes.at[i].add(answer), self.no.at[i].add(1 - answer))

    def loss(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, ""]:
        """sum_i yes_i * -log s(f_i) + no_i * -log s(-f_i)."""
        return jnp.sum(self.yes * link.loss(f) + self.no * link.loss(-f))

    def gradient(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, " n"]:
        """The pull of the answers on each action."""
        return link.pull(f, self.yes, self.no)

    def hessian(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, "n n"]:
        """A diagonal matrix: the rows of D are unit vectors."""
        return jnp.diag(self.yes * link.curvature(f) + self.no * link.curvature(-f))

    def square(self) -> Float[Array, "n n"]:
        """The number of answers on each action, as a diagonal matrix."""
        return jnp.diag(self.yes + self.no)

    def expected(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, " n"]:
        """Answers "yes" to be expected on each action, less half of its answers."""
        return (self.yes + self.no) * (link.probability(f) - 0.5)

    def expected_slope(self, link: AbstractLink, f: Float[Array, " n"]) -> Float[Array, "n n"]:
        """The slope of every answer, as a diagonal matrix."""
        return jnp.diag((self.yes + self.no) * link.slope(f))


def as_answer(answer: Any, dtype: Any) -> Float[Array, ""]:
    """`answer` as a scalar from 0 to 1; False and True count as 0 and 1."""
    logical = isinstance(answer, bool) or getattr(answer, "dtype", None) == jnp.bool_
    scalar = as_floats("answer", jnp.asarray(answer, dtype) if logical else answer, 0, dtype)
    if is_concrete(scalar) and not bool((scalar >= 0) & (scalar <= 1)):
        raise ValueError(f"answer: expected a number from 0 to 1, got {float(scalar)!r}")
    return scalar


def indicator(x: Action, n: int, dtype: Any) -> Float[Array, " n"]:
    """e_x, one at the action x and zero elsewhere."""
    return (jnp.arange(n, dtype=jnp.int32) == x).astype(dtype)


def signed_row(query: tuple[Action, ...], n: int, dtype: Any) -> Float[Array, " n"]:
    """The row d of D that `query` makes: e_i, or e_i - e_j, zero for x against itself.

    Sums and products with it take the place of indexing by traced numbers, which XLA would repeat
    for every entry of the tables that use the result.
    """
    rows = [indicator(x, n, dtype) for x in query]
    return rows[0] if len(rows) == 1 else rows[0] - rows[1]


def over_pairs(
    values: Float[Array, " n"], x: Action, x2: Action
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """values[x] and values[x2], shaped to give a table [n, n] where both are ALL."""
    first, second = values[x], values[x2]
    if isinstance(x, slice) and isinstance(x2, slice):
        return first[:, None], second[None, :]
    return first, second


def _differences(f: Float[Array, " n"]) -> Float[Array, "n n"]:
    return f[:, None] - f[None, :]


def _laplacian(weights: Float[Array, "n n"]) -> Float[Array, "n n"]:
    return jnp.diag(jnp.sum(weights, axis=1)) - weights
