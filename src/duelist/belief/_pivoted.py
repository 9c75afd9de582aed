"""Features whose inner products are a kernel up to a stated residual: pivoted Cholesky."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import tinygp
from jaxtyping import Array, Float, Int

from duelist._checks import as_floats, as_nonnegative, check_count, check_instance
from duelist.belief._broadcast import against, own


class PivotedFeatures(NamedTuple):
    """phi with k(x, x') ~ phi(x)'phi(x').

    The rest k - phi phi' is positive semi-definite, so that no entry of it exceeds `residual`.

    Attributes:
        features: phi of every action, [n, r]; columns from `used` on are zero.
        residual: max over x of k(x, x) - |phi(x)|^2, computed from the features.
        pivots: the actions whose kernel rows the features span, -1 from `used` on.
        used: how many columns it took.
    """

    features: Float[Array, "n r"]
    residual: Float[Array, ""]
    pivots: Int[Array, " r"]
    used: Int[Array, ""]


def pivoted_features(
    kernel: tinygp.kernels.Kernel, points: Any, *, rank: int, residual: Any = None
) -> PivotedFeatures:
    """Pivoted Cholesky of the Gram matrix (Harbrecht, Peters and Schneider 2012), never formed.

    Each step takes the action whose variance is explained least. O(n r) memory, O(n r^2) time.

    Args:
        kernel: a tinygp kernel.
        points: the features it compares, [n, d].
        rank: r, the largest number of columns, and their number in what is returned.
        residual: stop when no more than this is left of any variance. By default all columns are
            used, as far as rounding lets them.

    Raises:
        TypeError: `kernel` is no tinygp kernel, `points` are not numeric or `rank` no integer.
        ValueError: `points` are no finite matrix, `rank` is below 1 or `residual` below 0; or
            `rank` columns leave more than `residual`.
    """
    check_instance("kernel", kernel, tinygp.kernels.Kernel)
    points = as_floats("points", points, 2)
    rank = min(check_count("rank", rank), points.shape[0])
    aim = as_nonnegative("residual", 0.0 if residual is None else residual, points.dtype)
    kernel = jax.tree.map(
        lambda x: jnp.asarray(x, points.dtype) if isinstance(x, float) else x, kernel
    )
    found = _factored(kernel, points, aim, rank)
    if residual is not None and float(found.residual) > float(aim):
        raise ValueError(
            f"residual: expected at least {float(found.residual):.3g}, which {rank} column(s) "
            f"leave, got {residual!r}; a larger rank leaves less"
        )
    return found


@eqx.filter_jit
def _factored(
    kernel: tinygp.kernels.Kernel, points: Float[Array, "n d"], aim: Float[Array, ""], rank: int
) -> PivotedFeatures:
    """The features, kept as rows [r, n] meanwhile: a step writes one of them."""
    prior = own(kernel, points)
    floor = jnp.maximum(aim, 8 * jnp.finfo(prior.dtype).eps * jnp.max(prior))

    def unfinished(carry: tuple[Array, Array, Array, Array]) -> Array:
        _, left, _, used = carry
        return (used < rank) & (jnp.max(left) > floor)

    def add(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        rows, left, pivots, used = carry
        pivot = jnp.argmax(left).astype(jnp.int32)
        column = against(kernel, points, points[pivot][None, :])[:, 0]
        column = column - jnp.matmul(rows[:, pivot], rows, precision=jax.lax.Precision.HIGHEST)
        row = column / jnp.sqrt(left[pivot])
        # An action that was a pivot is known, whatever rounding says.
        left = jnp.maximum(left - row**2, 0).at[pivot].set(0)
        return rows.at[used].set(row), left, pivots.at[used].set(pivot), used + 1

    n = points.shape[0]
    begin = (
        jnp.zeros((rank, n), prior.dtype),
        prior,
        jnp.full(rank, -1, jnp.int32),
        jnp.zeros((), jnp.int32),
    )
    rows, _, pivots, used = jax.lax.while_loop(unfinished, add, begin)
    rest = jnp.max(prior - jnp.sum(rows**2, axis=0))
    return PivotedFeatures(rows.T, jnp.maximum(rest, 0), pivots, used)
