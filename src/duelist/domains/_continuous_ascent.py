"""Local maximisation in the unit cube from many starts at once: projected BFGS.

Written here because the library's dependencies have no method with bounds: what Optimistix and
JAXopt offer are further packages. The variables that a bound holds back are left out of the step
(two-metric projection, Bertsekas 1982), the rest take a quasi-Newton step, and the projection of
the step onto the cube is tried at several lengths at once: on a batch that costs little more than
one trial, and no start waits for the line search of another.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Value: TypeAlias = Callable[[Float[Array, "*batch d"]], Float[Array, "*batch"]]
"""A function on the unit cube that takes leading axes; the last of them is that of the starts."""

_LENGTHS = (3.0, 1.0, 0.3, 0.1, 0.01)
_FIRST_RADIUS = 0.1
_SHRINKAGE = 0.05
_STALLS = 2


class _Ascent(NamedTuple):
    """Where every start is, what it saw there, and the inverse Hessian of minus the value.

    Attributes:
        z: the point, and `value` its value.
        seen: the point of the last gradient, and `gradient` that gradient.
        metric: the inverse Hessian as far as it is known; where `fresh`, not at all.
        radius: the length of the next step where nothing is known.
        stalls: steps in a row that gained nothing.
        taken: steps.
    """

    z: Float[Array, "starts d"]
    value: Float[Array, " starts"]
    seen: Float[Array, "starts d"]
    gradient: Float[Array, "starts d"]
    metric: Float[Array, "starts d d"]
    fresh: Bool[Array, " starts"]
    radius: Float[Array, " starts"]
    stalls: Int[Array, " starts"]
    taken: Int[Array, ""]


def ascend(
    value: Value,
    start: Float[Array, "starts d"],
    free: Bool[Array, " d"],
    *,
    steps: int,
    tolerance: Float[Array, ""],
) -> tuple[Float[Array, "starts d"], Float[Array, " starts"]]:
    """Maximise `value` from every start; what is returned is never worse than the start.

    Args:
        value: the function; -inf where a point is not allowed. Where it has no finite gradient a
            start stays as it is.
        start: points of the cube.
        free: the coordinates that may move.
        steps: the largest number of steps, at least 1.
        tolerance: a step that gains less counts as stalled; a start ends after two in a row.

    Returns:
        The points, inside the cube to the last bit, and their values.
    """

    def unfinished(now: _Ascent) -> Bool[Array, ""]:
        return (now.taken < steps) & jnp.any(now.stalls < _STALLS)

    def step(now: _Ascent) -> _Ascent:
        here, slope = _seen(value, now.z, free)
        metric, learnt = _updated(now, slope)
        now = now._replace(
            value=here, metric=metric, fresh=now.fresh & ~learnt, seen=now.z, gradient=slope
        )
        z, best = _search(value, now.z, _direction(now), here)
        improved = best > here
        return now._replace(
            z=jnp.where(improved[:, None], z, now.z),
            value=jnp.where(improved, best, here),
            fresh=now.fresh | ~improved,
            radius=jnp.where(improved, now.radius, _SHRINKAGE * now.radius),
            stalls=jnp.where(best > here + tolerance, 0, now.stalls + 1),
            taken=now.taken + 1,
        )

    starts, d = start.shape
    begin = _Ascent(
        z=start,
        value=jnp.full(starts, -jnp.inf, start.dtype),
        seen=start,
        gradient=jnp.zeros_like(start),
        metric=jnp.broadcast_to(jnp.eye(d, dtype=start.dtype), (starts, d, d)),
        fresh=jnp.ones(starts, bool),
        radius=jnp.full(starts, _FIRST_RADIUS, start.dtype),
        stalls=jnp.zeros(starts, jnp.int32),
        taken=jnp.zeros((), jnp.int32),
    )
    end = jax.lax.while_loop(unfinished, step, begin)
    return end.z, end.value


def _seen(
    value: Value, z: Float[Array, "starts d"], free: Bool[Array, " d"]
) -> tuple[Float[Array, " starts"], Float[Array, "starts d"]]:
    """Values, and gradients along the free coordinates; zero where they are not finite."""

    def total(z: Float[Array, "starts d"]) -> tuple[Array, Array]:
        values = value(z)
        return jnp.sum(values), values

    slope, values = jax.grad(total, has_aux=True)(z)
    finite = jnp.all(jnp.isfinite(slope), axis=1, keepdims=True)
    return values, jnp.where(finite & free[None, :], slope, 0)


def _unbound(z: Float[Array, "starts d"], gradient: Float[Array, "starts d"]) -> Array:
    """The coordinates that no bound keeps from following the gradient."""
    return ~(((z <= 0) & (gradient < 0)) | ((z >= 1) & (gradient > 0)))


def _direction(now: _Ascent) -> Float[Array, "starts d"]:
    """The quasi-Newton step, or the gradient scaled to the radius where nothing is known yet."""
    unbound = _unbound(now.z, now.gradient)
    slope = jnp.where(unbound, now.gradient, 0)
    newton = jnp.where(unbound, jnp.einsum("sij,sj->si", now.metric, slope), 0)
    uphill = jnp.sum(newton * slope, axis=1) > 0
    length = jnp.max(jnp.abs(slope), axis=1)
    steepest = slope * (now.radius / jnp.where(length > 0, length, 1))[:, None]
    return jnp.where((uphill & ~now.fresh)[:, None], newton, steepest)


def _search(
    value: Value,
    z: Float[Array, "starts d"],
    direction: Float[Array, "starts d"],
    old: Float[Array, " starts"],
) -> tuple[Float[Array, "starts d"], Float[Array, " starts"]]:
    """The best of the projected steps of all lengths, and its value; -inf in the place of NaN."""
    lengths = jnp.asarray(_LENGTHS, z.dtype)[:, None, None]
    trials = jnp.clip(z[None] + lengths * direction[None], 0, 1)
    values = value(trials)
    values = jnp.where(values > old[None, :], values, -jnp.inf)
    chosen = jnp.argmax(values, axis=0)
    return (
        jnp.take_along_axis(trials, chosen[None, :, None], axis=0)[0],
        jnp.take_along_axis(values, chosen[None, :], axis=0)[0],
    )


def _updated(
    now: _Ascent, gradient: Float[Array, "starts d"]
) -> tuple[Float[Array, "starts d d"], Bool[Array, " starts"]]:
    """The BFGS update of the inverse Hessian, and where the last step had curvature to teach it."""
    both = _unbound(now.seen, now.gradient) & _unbound(now.z, gradient)
    s = jnp.where(both, now.z - now.seen, 0)
    y = jnp.where(both, now.gradient - gradient, 0)
    product, square = jnp.sum(s * y, axis=1), jnp.sum(y * y, axis=1)
    learnt = product > 1e-6 * jnp.sqrt(jnp.sum(s * s, axis=1) * square)
    safe = jnp.where(learnt, product, 1)
    eye = jnp.eye(s.shape[1], dtype=s.dtype)[None]
    scaled = (safe / jnp.where(learnt, square, 1))[:, None, None] * eye
    before = jnp.where(now.fresh[:, None, None], scaled, now.metric)
    left = eye - s[:, :, None] * y[:, None, :] / safe[:, None, None]
    after = left @ before @ jnp.swapaxes(left, 1, 2)
    after = after + s[:, :, None] * s[:, None, :] / safe[:, None, None]
    return jnp.where(learnt[:, None, None], after, now.metric), learnt
