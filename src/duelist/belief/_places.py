"""Places for the points compared: found, filled, and padded to a power of two."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import tinygp
from jaxtyping import Array, Bool, Float, Int

from duelist.belief._broadcast import against, same


class Places(NamedTuple):
    """Features of the points, how many there are, and their Gram matrix; zero beyond."""

    points: Float[Array, "c d"]
    number: Int[Array, ""]
    gram: Float[Array, "c c"]


def place(
    points: Float[Array, "c d"], number: Int[Array, ""], features: Float[Array, " d"]
) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """The row of a point and True, or the first free row and False."""
    used = jnp.arange(points.shape[0], dtype=jnp.int32) < number
    matches = same(points, features) & used
    known = jnp.any(matches)
    return jnp.where(known, jnp.argmax(matches).astype(jnp.int32), number), known


def with_point(
    kernel: tinygp.kernels.Kernel,
    places: Places,
    features: Float[Array, " d"],
    wanted: Bool[Array, ""],
) -> Places:
    """The places with one more point, if it is `wanted` and not yet there; O(c^2).

    Raises:
        EquinoxRuntimeError: all places are taken.
    """
    capacity = places.points.shape[0]
    slot, known = place(places.points, places.number, features)
    fresh = wanted & ~known
    number = eqx.error_if(
        places.number + fresh.astype(jnp.int32),
        fresh & (slot >= capacity),
        "no place is left for another point; reserve more before jit (PointBelief.reserve)",
    )
    numbers = jnp.arange(capacity, dtype=jnp.int32)
    here = (numbers == slot) & fresh
    points = jnp.where(here[:, None], features[None, :], places.points)
    column = jnp.where(numbers < number, against(kernel, features, points), 0)
    rows = jnp.where(here[:, None], column[None, :], places.gram)
    return Places(points, number, jnp.where(here[None, :], column[:, None], rows))


def power_of_two(number: int) -> int:
    """The least power of two of at least `number`."""
    return 1 << max(number - 1, 0).bit_length()


def grown(x: Any, stacked: int, more: int) -> Any:
    """`x` with `more` zeros at the end of every axis but the first `stacked`."""
    padding = [(0, 0)] * stacked + [(0, more)] * (x.ndim - stacked)
    return jnp.pad(x, padding) if padding else x
