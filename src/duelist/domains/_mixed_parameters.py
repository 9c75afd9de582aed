"""The parameters of a mixed domain: what values each may take, and its coordinate in an action."""

import abc
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["continuous", "numeric", "category", "fixed"]
"""`numeric`: levels with an order and distances; `category`: levels that are equal or not."""


@dataclass(frozen=True)
class AbstractParameter(abc.ABC):
    """One named parameter. Its coordinate in an action is a number."""

    @property
    @abc.abstractmethod
    def kind(self) -> Kind:
        """What its values are like."""

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest coordinate."""

    @property
    @abc.abstractmethod
    def on_log_scale(self) -> bool:
        """Whether ratios matter instead of differences."""

    @property
    def levels(self) -> int:
        """The number of values; 0 if they are continuous."""
        low, high = self.bounds
        return 0 if self.kind == "continuous" else round(high - low) + 1

    @abc.abstractmethod
    def encode(self, name: str, value: Any) -> float:
        """The coordinate of a value.

        Raises:
            TypeError, ValueError: it is not one that the parameter may take; the message says which
                it may, and calls it `name`.
        """

    @abc.abstractmethod
    def decode(self, coordinate: float) -> Any:
        """The value of a coordinate."""


@dataclass(frozen=True)
class Real(AbstractParameter):
    """A number from `low` to `high`, both included; `log` if ratios matter, as of a rate."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    @property
    def kind(self) -> Kind:
        """Continuous."""
        return "continuous"

    @property
    def bounds(self) -> tuple[float, float]:
        """Both ends."""
        return float(self.low), float(self.high)

    @property
    def on_log_scale(self) -> bool:
        """As given."""
        return self.log

    def encode(self, name: str, value: Any) -> float:
        """The number itself."""
        return _within(name, _number(name, value), self.low, self.high)

    def decode(self, coordinate: float) -> float:
        """The number, without what the precision of an action takes it over the ends."""
        return min(max(float(coordinate), float(self.low)), float(self.high))


@dataclass(frozen=True)
class Integer(AbstractParameter):
    """An integer from `low` to `high`, both included; `log` if ratios matter, as of a size."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)
        if not all(type(end) is int for end in (self.low, self.high)):
            raise TypeError(f"low, high: expected integers, got {self.low!r} and {self.high!r}")

    @property
    def kind(self) -> Kind:
        """Levels with distances."""
        return "numeric"

    @property
    def bounds(self) -> tuple[float, float]:
        """Both ends."""
        return float(self.low), float(self.high)

    @property
    def on_log_scale(self) -> bool:
        """As given."""
        return self.log

    def encode(self, name: str, value: Any) -> float:
        """The number itself."""
        number = _within(name, _number(name, value), *self.bounds)
        if number != round(number):
            raise ValueError(f"{name}: expected an integer, got {value!r}")
        return number

    def decode(self, coordinate: float) -> int:
        """The integer."""
        return round(float(coordinate))


@dataclass(frozen=True, init=False)
class AbstractChoices(AbstractParameter):
    """One of some choices; the coordinate is its position among them."""

    choices: tuple[Hashable, ...]

    def __init__(self, choices: Iterable[Hashable]) -> None:
        object.__setattr__(self, "choices", _distinct(choices))

    @property
    def bounds(self) -> tuple[float, float]:
        """The first and the last position."""
        return 0.0, len(self.choices) - 1.0

    @property
    def on_log_scale(self) -> bool:
        """Positions have no ratios."""
        return False

    def encode(self, name: str, value: Any) -> float:
        """The position among the choices."""
        return _position(name, value, self.choices)

    def decode(self, coordinate: float) -> Any:
        """The choice."""
        return self.choices[round(float(coordinate))]


class Categorical(AbstractChoices):
    """One of some choices that have nothing to do with each other."""

    @property
    def kind(self) -> Kind:
        """Equal or not."""
        return "category"


class Ordinal(AbstractChoices):
    """One of some choices in order; neighbours are alike, steps are of equal size."""

    @property
    def kind(self) -> Kind:
        """Levels with distances."""
        return "numeric"


def boolean() -> Categorical:
    """False or True."""
    return Categorical((False, True))


@dataclass(frozen=True)
class Fixed(AbstractParameter):
    """Always the same value; it has no coordinate."""

    value: Hashable

    @property
    def kind(self) -> Kind:
        """Fixed."""
        return "fixed"

    @property
    def bounds(self) -> tuple[float, float]:
        """One position."""
        return 0.0, 0.0

    @property
    def on_log_scale(self) -> bool:
        """There is but one position."""
        return False

    def encode(self, name: str, value: Any) -> float:
        """Zero, if it is the value."""
        return _position(name, value, (self.value,))

    def decode(self, coordinate: float) -> Any:
        """The value."""
        del coordinate
        return self.value


def _check_range(low: Any, high: Any, log: bool) -> None:
    for name, end in (("low", low), ("high", high)):
        _number(name, end)
    if not low < high:
        raise ValueError(
            f"low, high: expected low < high, got {low!r} and {high!r}; a value that does not vary "
            "is Fixed"
        )
    if log and low <= 0:
        raise ValueError(f"low: expected a number greater than 0 on a log scale, got {low!r}")


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name}: expected a finite number, got {value!r}")
    return float(value)


def _within(name: str, number: float, low: float, high: float) -> float:
    if not low <= number <= high:
        raise ValueError(f"{name}: expected a number from {low:g} to {high:g}, got {number:g}")
    return number


def _distinct(choices: Iterable[Hashable]) -> tuple[Hashable, ...]:
    given = tuple(choices)
    if len(given) < 2:
        raise ValueError(f"choices: expected at least two, got {given!r}")
    twice = [choice for number, choice in enumerate(given) if choice in given[:number]]
    if twice:
        raise ValueError(f"choices: expected distinct ones, got {twice[0]!r} more than once")
    return given


def _position(name: str, value: Any, choices: tuple[Hashable, ...]) -> float:
    for position, choice in enumerate(choices):
        if type(value) is type(choice) and value == choice:
            return float(position)
    raise ValueError(f"{name}: expected one of {choices}, got {value!r}")
