"""Boxes in R^d."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from duelist._checks import as_floats, as_nonnegative, check_count, is_concrete
from duelist.domains._base import Action
from duelist.domains._continuous import STEPS, AbstractContinuous
from duelist.domains._continuous_ascent import Value, ascend
from duelist.domains._continuous_pool import INCUMBENTS, low_discrepancy


class Box(AbstractContinuous):
    """The points x of R^d with lower <= x <= upper, d up to about 20.

    An action is a vector [d] in the user's own units. Its features, which the kernel compares, are
    its coordinates in the unit cube: (x - lower)/(upper - lower), or the same of the logarithms.

    Args:
        lower: the lower corner, shape [d].
        upper: the upper corner.
        log: which coordinates are on a logarithmic scale; one answer for all or one for each.
        candidates: how many points of a low-discrepancy set the coarse stage of a search takes.
        starts: how many of the best points are polished.
        tolerance: values closer than this count as ties (default as for `FiniteDomain`).
        dtype: of all that follows, JAX's default float if not given.

    Raises:
        TypeError: an argument is not numeric, or a count no integer.
        ValueError: the corners differ in shape, are not finite or not lower < upper in some
            coordinate; a logarithmic coordinate does not begin above zero; counts are too small.
    """

    lower: Float[Array, " d"]
    upper: Float[Array, " d"]
    log: Bool[Array, " d"]
    incumbents: Float[Array, "m d"]
    base: Float[Array, "n d"]
    tolerance: Float[Array, ""]
    starts: int = eqx.field(static=True)

    def __init__(
        self,
        lower: Any,
        upper: Any,
        *,
        log: Any = False,
        candidates: int = 512,
        starts: int = 8,
        tolerance: Any = None,
        dtype: Any = None,
    ) -> None:
        self.lower = as_floats("lower", lower, 1, dtype)
        self.upper = as_floats("upper", upper, 1, self.lower.dtype)
        _check_corners(self.lower, self.upper)
        self.log = _as_flags(log, self.lower.shape[0])
        if bool(jnp.any(self.log & (self.lower <= 0))):
            raise ValueError(
                f"lower: expected numbers greater than 0 on a logarithmic scale, got {lower!r}"
            )
        check_count("candidates", candidates, at_least=16)
        self.starts = check_count("starts", starts, at_least=2)
        self.tolerance = as_tolerance(tolerance, self.lower.dtype)
        points = low_discrepancy(candidates + INCUMBENTS, self.lower.shape[0])
        self.incumbents = jnp.asarray(points[:INCUMBENTS], self.lower.dtype)
        self.base = jnp.asarray(points[INCUMBENTS:], self.lower.dtype)

    def action(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The vectors in the user's units, inside the bounds to the last bit."""
        low, high = _row(self._scaled(self.lower), z), _row(self._scaled(self.upper), z)
        x = low * (1 - z) + high * z
        x = jnp.where(_row(self.log, z), jnp.exp(x), x)
        # Logarithms do not give back the ends of a range to the last bit.
        x = jnp.where(z <= 0, _row(self.lower, z), jnp.where(z >= 1, _row(self.upper, z), x))
        return jnp.clip(x, _row(self.lower, z), _row(self.upper, z))

    def features(self, action: Action) -> Float[Array, "*batch d"]:
        """The coordinates in the unit cube."""
        x = jnp.asarray(action, self.lower.dtype)
        log = _row(self.log, x)
        x = jnp.where(log, jnp.log(jnp.where(log, x, 1)), x)
        low, high = _row(self._scaled(self.lower), x), _row(self._scaled(self.upper), x)
        return (x - low) / (high - low)

    def locate(self, features: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The features themselves, without what rounding leaves outside the cube."""
        return jnp.clip(features, 0, 1)

    def snapped(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The points themselves."""
        return z

    @property
    def constrained(self) -> bool:
        """A box holds the whole cube."""
        return False

    def admitted(self, z: Float[Array, "*batch d"]) -> Bool[Array, "*batch"]:
        """Every point of the cube."""
        return jnp.ones(z.shape[:-1], bool)

    def as_action(self, name: str, value: Any) -> Action:
        """`value` as a vector within the bounds."""
        x = as_floats(name, value, 1, self.lower.dtype)
        if x.shape != self.lower.shape:
            raise ValueError(
                f"{name}: expected a vector of {self.dim} numbers, got shape {x.shape}"
            )
        if is_concrete(x) and not bool(self.contains(x)):
            raise ValueError(
                f"{name}: expected a vector between {self.lower} and {self.upper}, got {x}"
            )
        return x

    def probes(self) -> Float[Array, "q d"]:
        """The centre, the two outermost corners, and the incumbents."""
        corners = jnp.asarray([[0.5], [0.0], [1.0]], self.lower.dtype)
        return jnp.concatenate([jnp.broadcast_to(corners, (3, self.dim)), self.incumbents])

    def contains(self, action: Action) -> Bool[Array, ""]:
        """Whether the vector lies within the bounds."""
        x = jnp.asarray(action, self.lower.dtype)
        if x.shape != self.lower.shape:
            return jnp.array(False)
        return jnp.all((x >= self.lower) & (x <= self.upper))

    def polish(
        self, value: Value, start: Float[Array, "starts p"], steps: int = STEPS
    ) -> tuple[Float[Array, "starts p"], Float[Array, " starts"]]:
        """Projected BFGS on all coordinates."""
        free = jnp.ones(start.shape[1], bool)
        return ascend(value, start, free, steps=steps, tolerance=self.tolerance)

    def _scaled(self, corner: Float[Array, " d"]) -> Float[Array, " d"]:
        return jnp.where(self.log, jnp.log(jnp.where(self.log, corner, 1)), corner)


def as_tolerance(tolerance: Any, dtype: Any) -> Float[Array, ""]:
    """The tolerance of ties: as given, or eps^(2/3) of the dtype."""
    default = float(jnp.finfo(dtype).eps) ** (2 / 3)
    return as_nonnegative("tolerance", default if tolerance is None else tolerance, dtype)


def _check_corners(lower: Float[Array, " d"], upper: Float[Array, " d2"]) -> None:
    if lower.shape != upper.shape or lower.size == 0:
        raise ValueError(
            "lower, upper: expected two vectors of the same length, at least one, got shapes "
            f"{lower.shape} and {upper.shape}"
        )
    if not bool(jnp.all(lower < upper)):
        raise ValueError(f"lower, upper: expected lower < upper, got {lower} and {upper}")


def _as_flags(log: Any, d: int) -> Bool[Array, " d"]:
    flags = np.asarray(log)
    if flags.dtype != bool or flags.shape not in {(), (d,)}:
        raise ValueError(f"log: expected a boolean or {d} of them, got {log!r}")
    return jnp.asarray(np.broadcast_to(flags, (d,)))


def _row(values: Array, like: Array) -> Array:
    """`values` with as many axes as `like`."""
    return values.reshape(*(1,) * (like.ndim - 1), -1)
