"""Where searches of a box look first: a low-discrepancy set, incumbents, and points around them."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

INCUMBENTS = 64
_CENTRES, _PER_CENTRE = 16, 8
_FARTHEST, _NEAREST = 0.2, 0.004
_MOVED = 4.0
_APART = 0.1


def low_discrepancy(n: int, d: int) -> np.ndarray:
    """n points of [0, 1)^d: multiples, modulo one, of powers of the root of x^(d+1) = x + 1.

    The Kronecker sequence of Roberts (2018), the generalised golden ratio; for d = 1 that of the
    golden ratio itself. With a random shift modulo one every point is uniform.
    """
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (d + 1))
    steps = root ** -np.arange(1, d + 1, dtype=np.float64)
    return (0.5 + np.outer(np.arange(1, n + 1), steps)) % 1


def shifted(base: Float[Array, "n d"], key: PRNGKeyArray) -> Float[Array, "n d"]:
    """`base` moved by one random vector modulo one (Cranley and Patterson 1976)."""
    moved = base + jr.uniform(key, (1, base.shape[1]), base.dtype)
    return moved - jnp.floor(moved)


def around(incumbents: Float[Array, "m d"], key: PRNGKeyArray) -> Float[Array, "n d"]:
    """Perturbations of the first incumbents at distances from far to near, kept in the cube.

    About four coordinates of a point move at a time: in many dimensions moving all of them at once
    hardly ever helps.
    """
    d = incumbents.shape[1]
    step_key, choice_key = jr.split(key)
    centres = incumbents[:_CENTRES, None, :]
    shape = (centres.shape[0], _PER_CENTRE, d)
    scales = np.geomspace(_FARTHEST, _NEAREST, _PER_CENTRE)
    moves = jr.uniform(choice_key, shape, incumbents.dtype) < _MOVED / d
    steps = jr.normal(step_key, shape, incumbents.dtype)
    steps = steps * jnp.asarray(scales, incumbents.dtype)[None, :, None]
    return jnp.clip(centres + jnp.where(moves, steps, 0), 0, 1).reshape(-1, d)


def top(
    values: Float[Array, " n"], k: int, key: PRNGKeyArray, tolerance: Float[Array, ""]
) -> Int[Array, " k"]:
    """Where the k highest values are; values within `tolerance` of the highest in random order."""
    order = jr.permutation(key, values.shape[0])
    shuffled = values[order]
    highest = jnp.max(shuffled)
    lifted = jnp.where(shuffled >= highest - tolerance, highest, shuffled)
    return order[jnp.argsort(-lifted)[:k]]


def spaced(
    values: Float[Array, " n"],
    points: Float[Array, "n d"],
    k: int,
    key: PRNGKeyArray,
    tolerance: Float[Array, ""],
) -> Int[Array, " k"]:
    """The best point, the best of those far from it, and so on: starts in unlike places.

    Where no point is far from all that were taken, the best of those not taken is next. Values
    within `tolerance` of the highest are tied at random.
    """
    d = points.shape[1]

    def take(carry: tuple[Array, Array], key: PRNGKeyArray) -> tuple[tuple[Array, Array], Array]:
        far, free = carry
        candidates = jnp.where(jnp.any(far), far, free)
        number = pick(jnp.where(candidates, values, -jnp.inf), key, tolerance)
        squares = jnp.sum((points - points[number][None]) ** 2, axis=1)
        free = free.at[number].set(False)
        return (far & (squares > _APART**2 * d), free), number

    allowed = jnp.isfinite(values)
    return jax.lax.scan(take, (allowed, allowed), jr.split(key, k))[1]


def pick(
    values: Float[Array, " n"], key: PRNGKeyArray, tolerance: Float[Array, ""]
) -> Int[Array, ""]:
    """Where the highest value is; uniform among those within `tolerance` of it."""
    tied = values >= jnp.max(values) - tolerance
    return draw(tied, key)


def draw(candidates: Bool[Array, " n"], key: PRNGKeyArray) -> Int[Array, ""]:
    """The number of a candidate, uniformly at random; 0 if there is none."""
    draws = jr.uniform(key, candidates.shape, jnp.float32)
    return jnp.argmax(jnp.where(candidates, draws, -1.0)).astype(jnp.int32)
