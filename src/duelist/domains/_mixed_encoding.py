"""Between values by name, action vectors, features and points of the unit cube."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from duelist.domains._mixed_parameters import AbstractChoices, AbstractParameter

Values: TypeAlias = Mapping[str, Any]
"""A value for every parameter, by name."""

Constraint: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""Whether values are allowed, for many at once: arrays of numbers, and `Chosen` for choices."""


class Chosen:
    """The choices of many actions, to be compared with one choice: `values["colour"] == "red"`."""

    def __init__(self, parameter: AbstractChoices, positions: Float[Array, "..."]) -> None:
        self._parameter, self.position = parameter, positions

    def __eq__(self, other: object) -> Any:
        return self.position == self._parameter.encode("constraint", other)

    def __ne__(self, other: object) -> Any:
        return self.position != self._parameter.encode("constraint", other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Encoding(eqx.Module):
    """The coordinates of a mixed domain; an action has one for every parameter that varies.

    A coordinate of an action is a number in the user's units or the position of a choice. Features
    are the numbers scaled to the unit cube (by logarithms if so asked), and positions as they are
    for categories, which are equal or not. A point z of the cube stands for the level
    floor(levels z) where there are levels.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    parameters: tuple[AbstractParameter, ...] = eqx.field(static=True)
    low: Float[Array, " d"]
    high: Float[Array, " d"]
    log: Bool[Array, " d"]
    levels: Float[Array, " d"]
    category: Bool[Array, " d"]

    def __init__(self, parameters: Mapping[str, AbstractParameter], dtype: Any) -> None:
        self.names, self.parameters = tuple(parameters), tuple(parameters.values())
        varying = self.varying
        bounds = np.array([p.bounds for p in varying], float).reshape(-1, 2)
        self.low, self.high = (jnp.asarray(end, dtype) for end in bounds.T)
        self.log = jnp.asarray([p.on_log_scale for p in varying], bool)
        self.levels = jnp.asarray([p.levels for p in varying], dtype)
        self.category = jnp.asarray([p.kind == "category" for p in varying], bool)

    @property
    def varying(self) -> tuple[AbstractParameter, ...]:
        """The parameters that have a coordinate."""
        return tuple(p for p in self.parameters if p.kind != "fixed")

    def encode(self, values: Values) -> Float[Array, " d"]:
        """The action with these values; parameters that are fixed may be left out.

        Raises:
            TypeError, ValueError: a name is unknown or missing, or a value not allowed.
        """
        unknown = [name for name in values if name not in self.names]
        if unknown:
            raise ValueError(f"values: unknown {unknown[0]!r}; the parameters are {self.names}")
        coordinates = []
        for name, parameter in zip(self.names, self.parameters, strict=True):
            if name not in values and parameter.kind != "fixed":
                raise ValueError(f"values: expected a value for {name!r}, got none")
            if name in values:
                coordinate = parameter.encode(name, values[name])
                coordinates += [] if parameter.kind == "fixed" else [coordinate]
        return jnp.asarray(coordinates, self.low.dtype)

    def decode(self, action: Float[Array, " d"]) -> dict[str, Any]:
        """The values of an action, of all parameters in their order."""
        numbers = iter(np.asarray(action, float).tolist())
        return {
            name: p.decode(0.0 if p.kind == "fixed" else next(numbers))
            for name, p in zip(self.names, self.parameters, strict=True)
        }

    def view(self, action: Float[Array, "*batch d"]) -> dict[str, Any]:
        """The values of many actions, as a constraint sees them."""
        seen: dict[str, Any] = {}
        column = 0
        for name, p in zip(self.names, self.parameters, strict=True):
            if p.kind == "fixed":
                seen[name] = p.decode(0.0)
                continue
            coordinate = action[..., column]
            seen[name] = Chosen(p, coordinate) if isinstance(p, AbstractChoices) else coordinate
            column += 1
        return seen

    # ---- arrays ------------------------------------------------------------------------------

    def action(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The actions at points of the cube, within the bounds to the last bit."""
        low, high = self._row(self.low, z), self._row(self.high, z)
        a, b = self._row(self._scaled(self.low), z), self._row(self._scaled(self.high), z)
        x = a * (1 - z) + b * z
        x = jnp.where(self._row(self.log, z), jnp.exp(x), x)
        x = jnp.where(z <= 0, low, jnp.where(z >= 1, high, x))
        x = jnp.where(self._row(self.levels, z) > 0, low + self._level(z), x)
        return jnp.clip(x, low, high)

    def features(self, action: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """What the kernel compares."""
        log = self._row(self.log, action)
        x = jnp.where(log, jnp.log(jnp.where(log, action, 1)), action)
        low = self._row(self._scaled(self.low), x)
        high = self._row(self._scaled(self.high), x)
        return jnp.where(self._row(self.category, x), action, (x - low) / (high - low))

    def locate(self, features: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The points of the cube at which actions with these features are."""
        low = self._row(self._scaled(self.low), features)
        high = self._row(self._scaled(self.high), features)
        x = low + features * (high - low)
        x = jnp.where(self._row(self.log, features), jnp.exp(x), x)
        x = jnp.where(self._row(self.category, features), features, x)
        level = jnp.round(x - self._row(self.low, features))
        return self._centred(jnp.clip(features, 0, 1), level)

    def snapped(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The centres of the levels that points stand for."""
        return self._centred(z, self._level(z))

    def _level(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        levels = self._row(self.levels, z)
        return jnp.clip(jnp.floor(z * levels), 0, jnp.maximum(levels - 1, 0))

    def _centred(
        self, z: Float[Array, "*batch d"], level: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        levels = self._row(self.levels, z)
        return jnp.where(levels > 0, (level + 0.5) / jnp.maximum(levels, 1), z)

    def _scaled(self, end: Float[Array, " d"]) -> Float[Array, " d"]:
        return jnp.where(self.log, jnp.log(jnp.where(self.log, end, 1)), end)

    def _row(self, values: Array, like: Array) -> Array:
        return values.reshape(*(1,) * (like.ndim - 1), -1)
