"""What the beliefs of the paper's comparison of confidence sets share: direct feedback only."""

import abc
from typing import Any

from jaxtyping import Array, Float, Int

from duelist._checks import as_index
from duelist.belief._base import AbstractBelief
from duelist.domains import Action


class AbstractDirectBelief(AbstractBelief):
    """A belief about the probability of yes for single actions of a finite domain.

    Bounds are the estimated probability -+ beta times the width. There is no second action: it is
    a ValueError to pass one.
    """

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """n, the number of actions."""

    @property
    @abc.abstractmethod
    def probabilities(self) -> Float[Array, " n"]:
        """The estimated probability of yes for every action."""

    @property
    @abc.abstractmethod
    def widths(self) -> Float[Array, " n"]:
        """The width of every action."""

    @property
    @abc.abstractmethod
    def beta(self) -> Float[Array, ""]:
        """How many widths the bounds lie away from the estimate."""

    def utility(self, x: Action) -> Float[Array, "..."]:
        """The estimated probability in the place of a utility; it orders the actions alike."""
        return self.probabilities[x]

    def preference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The estimated probability of yes, an estimate of s(f(x))."""
        _check_alone(x2)
        return self.probabilities[x]

    def width(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The width of x."""
        _check_alone(x2)
        return self.widths[x]

    def lcb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The estimate - beta width."""
        return self.preference(x, x2) - self.beta * self.width(x, x2)

    def ucb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The estimate + beta width."""
        return self.preference(x, x2) + self.beta * self.width(x, x2)


def only_action(query: tuple[Action, ...], size: int) -> Int[Array, ""]:
    """x of the query (x,), an action number below `size`.

    Raises:
        TypeError, ValueError: the query is not of that form.
    """
    if len(query) != 1:
        raise ValueError(f"query: expected a tuple of 1 action(s), got {query!r}")
    return as_index("query", query[0], size)


def _check_alone(x2: Any) -> None:
    if x2 is not None:
        raise ValueError(f"x2: expected None, for this belief takes direct feedback, got {x2!r}")
