"""Kernel values and inner products over the leading axes of actions, by matrix products."""

import abc
import string

import jax
import jax.numpy as jnp
import tinygp
from jaxtyping import Array, Float


def inner(a: Float[Array, "..."], b: Float[Array, "..."]) -> Float[Array, "..."]:
    """sum_m a[..., m] b[..., m] with broadcasting, as a matrix product over singleton axes.

    With shapes [a, 1, m] and [1, b, m] that is one product of matrices, where multiplying entry by
    entry and summing would pass through a * b * m numbers.
    """
    a, b = aligned(a, b)
    shape = jnp.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    axes = string.ascii_lowercase[: len(shape)]
    of_a, of_b, of_all = (_long_axes(axes, s) for s in (a.shape, b.shape, shape))
    product = jnp.einsum(
        f"{of_a}Z,{of_b}Z->{of_all}",
        jnp.reshape(a, _long_sizes(a)),
        jnp.reshape(b, _long_sizes(b)),
        precision=jax.lax.Precision.HIGHEST,
    )
    return jnp.reshape(product, shape)


def aligned(
    a: Float[Array, "..."], b: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Both with the same number of axes, by axes of length one in front."""
    rank = max(a.ndim, b.ndim)
    return jnp.expand_dims(a, range(rank - a.ndim)), jnp.expand_dims(b, range(rank - b.ndim))


def same(a: Float[Array, "... d"], b: Float[Array, "... d"]) -> Array:
    """Whether two actions have the same features."""
    a, b = aligned(a, b)
    return jnp.all(a == b, axis=-1)


class BroadcastingKernel(tinygp.kernels.Kernel):
    """A kernel that computes many values at once faster than one by one."""

    @abc.abstractmethod
    def broadcast(self, a: Float[Array, "... d"], b: Float[Array, "... d"]) -> Float[Array, "..."]:
        """k(a, b) where leading axes broadcast; the same as `evaluate` up to rounding."""


def between(
    kernel: tinygp.kernels.Kernel, a: Float[Array, "... d"], b: Float[Array, "... d"]
) -> Float[Array, "..."]:
    """k(a, b) with broadcasting."""
    if isinstance(kernel, BroadcastingKernel):
        return kernel.broadcast(a, b)
    return jnp.vectorize(kernel.evaluate, signature="(d),(d)->()")(a, b)


def against(
    kernel: tinygp.kernels.Kernel, a: Float[Array, "... d"], points: Float[Array, "c d"]
) -> Float[Array, "... c"]:
    """k(a, p) for every row p of `points`, on a last axis of its own."""
    rows = jnp.reshape(a, (-1, a.shape[-1]))
    if isinstance(kernel, BroadcastingKernel):
        values = kernel.broadcast(rows[:, None, :], points[None, :, :])
    else:
        values = kernel(rows, points)
    return jnp.reshape(values, (*a.shape[:-1], points.shape[0]))


def own(kernel: tinygp.kernels.Kernel, a: Float[Array, "... d"]) -> Float[Array, "..."]:
    """k(a, a)."""
    return jnp.vectorize(kernel.evaluate_diag, signature="(d)->()")(a)


def _long_axes(axes: str, shape: tuple[int, ...]) -> str:
    return "".join(axis for axis, size in zip(axes, shape, strict=False) if size != 1)


def _long_sizes(a: Float[Array, "..."]) -> tuple[int, ...]:
    return (*(size for size in a.shape[:-1] if size != 1), a.shape[-1])
