"""Ind-UCB's belief: every action on its own, by the mean of its answers."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from duelist._checks import as_fraction, as_positive, check_instance
from duelist.belief._answers import as_answer
from duelist.belief._direct import AbstractDirectBelief, only_action
from duelist.domains import Action, FiniteDomain


class IndependentBelief(AbstractDirectBelief):
    """Means and counts: UCB(delta) of Lattimore and Szepesvari (2020), Algorithm 3.

    The index of an action asked T times is its mean + sqrt(2 s^2 log(1/delta) / T), where answers
    are s-subgaussian; infinite while T = 0, so that every action is asked once before any is asked
    again (the order is random: infinities tie). Made by `independent_prior`, moved on by `tell`.

    Attributes:
        delta: the probability with which one bound may fail at one time.
        scale: s.
        asked: T, the answers to each action.
        yes: the sum of them.
    """

    delta: Float[Array, ""]
    scale: Float[Array, ""]
    asked: Float[Array, " n"]
    yes: Float[Array, " n"]

    def tell(self, query: tuple[Action, ...], answer: Any) -> "IndependentBelief":
        """Count the answer."""
        x = only_action(query, self.size)
        answer = as_answer(answer, self.yes.dtype)
        asked, yes = self.asked.at[x].add(1), self.yes.at[x].add(answer)
        return IndependentBelief(self.delta, self.scale, asked, yes)

    def expecting(self, query: tuple[Action, ...]) -> "IndependentBelief":
        """Count the mean of the answers to the action, 1/2 where there are none, once more."""
        return self.tell(query, self.probabilities[only_action(query, self.size)])

    @property
    def size(self) -> int:
        """n, the number of actions."""
        return self.asked.shape[0]

    @property
    def probabilities(self) -> Float[Array, " n"]:
        """The mean of the answers to each action, 1/2 where there are none."""
        known = self.asked > 0
        return jnp.where(known, self.yes / jnp.where(known, self.asked, 1), 0.5)

    @property
    def widths(self) -> Float[Array, " n"]:
        """s / sqrt(T), the scale of the mean's error; infinite where T = 0."""
        return self.scale / jnp.sqrt(self.asked)

    @property
    def beta(self) -> Float[Array, ""]:
        """sqrt(2 log(1/delta))."""
        return jnp.sqrt(-2 * jnp.log(self.delta))


def independent_prior(
    domain: FiniteDomain, *, delta: Any = 0.1, scale: Any = 1.0
) -> IndependentBelief:
    """The belief of Ind-UCB before any answer.

    Args:
        domain: the actions; only their number matters.
        delta: the probability with which one bound may fail at one time; 0.1 in the paper.
        scale: s with s-subgaussian answers. 1 as the algorithm is printed, for general rewards;
            1/2 is enough for answers from 0 to 1 (Hoeffding's lemma) and explores less.

    Raises:
        TypeError, ValueError: an argument is of the wrong kind or out of range; the message names
            it. The same for an answer or a query passed to `tell`.
    """
    check_instance("domain", domain, FiniteDomain)
    dtype = domain.points.dtype
    zeros = jnp.zeros(domain.size, dtype)
    return IndependentBelief(
        as_fraction("delta", delta, dtype), as_positive("scale", scale, dtype), zeros, zeros
    )
