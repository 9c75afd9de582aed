"""Kernels on actions are tinygp's, used as they are; here is what the paper adds to them.

The dueling kernel k^D on pairs, the Gram matrix with its checks, and the conversion of a kernel
with another variance to the unit kernel that the theory assumes (k(x, x) <= 1).

All of tinygp's kernels measure distance by the sum of absolute differences (`L1Distance`) unless
told otherwise, but for `ExpSquared`. With more than one feature the usual Matern and rational
quadratic kernels need `distance=tinygp.kernels.L2Distance()`; `ExpSineSquared` belongs on a single
feature (`tinygp.transforms.Subspace`). A length scale per feature: `tinygp.transforms.Linear`.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import tinygp
from jaxtyping import Array, Float

from duelist._checks import (
    as_floats,
    as_positive,
    as_square,
    check_count,
    check_instance,
    is_concrete,
)


class DuelingKernel(tinygp.kernels.Kernel):
    """k^D on pairs of actions, the kernel of h(x, x') = f(x) - f(x').

    k^D((x1, x1'), (x2, x2')) = k(x1, x2) + k(x1', x2') - k(x1, x2') - k(x1', x2).
    By Proposition rkhs_equival h has the norm of f, if f has no constant part that k^D cannot see.
    Inputs are tuples (x, x') of actions; with arrays of shape [n, d] the call gives [n, m].
    """

    kernel: tinygp.kernels.Kernel

    def __check_init__(self) -> None:
        check_instance("kernel", self.kernel, tinygp.kernels.Kernel)

    def evaluate(self, X1: Any, X2: Any) -> Array:
        """k^D of two pairs, a scalar."""
        (x1, y1), (x2, y2) = X1, X2
        k = self.kernel.evaluate
        return k(x1, x2) + k(y1, y2) - k(x1, y2) - k(y1, x2)


class OnFeatures(tinygp.kernels.Kernel):
    """A kernel that sees some of the features only."""

    columns: tuple[int, ...] = eqx.field(static=True)
    kernel: tinygp.kernels.Kernel

    def evaluate(self, X1: Any, X2: Any) -> Array:
        """The kernel of two actions, a scalar."""
        seen = (jnp.stack([x[column] for column in self.columns]) for x in (X1, X2))
        return self.kernel.evaluate(*seen)


class Overlap(tinygp.kernels.Kernel):
    """The share of features in which two actions agree exactly; for categories."""

    def evaluate(self, X1: Any, X2: Any) -> Array:
        """The share, a scalar."""
        return jnp.mean((X1 == X2).astype(X1.dtype))


class Hamming(tinygp.kernels.Kernel):
    """exp(-share / scale) with the share of features in which two actions differ; for categories.

    A product of a factor exp(-1/(d scale)) for each of the d features that differs, hence positive
    definite.
    """

    scale: Array | float = 1.0

    def evaluate(self, X1: Any, X2: Any) -> Array:
        """The kernel of two actions, a scalar."""
        return jnp.exp(-jnp.mean((X1 != X2).astype(X1.dtype)) / self.scale)


class PerContext(tinygp.kernels.Kernel):
    """k_x(x, x') (1 - b + b k_z(z, z')) on actions x followed by their contexts z.

    The utility is a sum of a part shared by all contexts, of variance 1 - b, and one of its own for
    every context, alike in contexts that are alike. With b = 1 it is the product kernel (Krause and
    Ong 2011). A function of z alone is not in it: it cancels in a duel under one context.

    Attributes:
        actions: k_x.
        contexts: k_z, with k_z(z, z) = 1.
        share: b, from 0 to 1.
        size: how many of the features, the last ones, are the context's.
    """

    actions: tinygp.kernels.Kernel
    contexts: tinygp.kernels.Kernel
    share: Array | float = 1.0
    size: int = eqx.field(static=True, default=1)

    def __check_init__(self) -> None:
        check_instance("actions", self.actions, tinygp.kernels.Kernel)
        check_instance("contexts", self.contexts, tinygp.kernels.Kernel)
        check_count("size", self.size)

    def evaluate(self, X1: Any, X2: Any) -> Array:
        """The kernel of two actions in their contexts, a scalar."""
        alike = self.contexts.evaluate(X1[-self.size :], X2[-self.size :])
        of_actions = self.actions.evaluate(X1[: -self.size], X2[: -self.size])
        return of_actions * (1 - self.share + self.share * alike)


def gram(kernel: tinygp.kernels.Kernel, points: Float[Array, "n d"]) -> Float[Array, "n n"]:
    """K with K_ij = k(x_i, x_j), symmetric to the last bit.

    Raises:
        TypeError: `kernel` is not a tinygp kernel.
        ValueError: the kernel gave another shape, or NaN or infinity.
    """
    check_instance("kernel", kernel, tinygp.kernels.Kernel)
    values = as_floats("kernel", kernel(points, points), 2, points.dtype)
    if values.shape != (points.shape[0],) * 2:
        raise ValueError(
            f"kernel: expected a matrix of shape {(points.shape[0],) * 2}, got {values.shape}"
        )
    return (values + values.T) / 2


def factor(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """F with F F' = matrix, for a symmetric matrix that may be singular (by eigenvalues).

    Rounding makes zero eigenvalues of either sign; those below zero are set to zero.

    Raises:
        ValueError: an eigenvalue lies below zero by more than rounding explains: the matrix is
            no covariance, so its kernel is not positive semi-definite. Or it is not square.
    """
    matrix = as_square("matrix", matrix)
    values, vectors = jnp.linalg.eigh(matrix)
    if is_concrete(values):
        slack = matrix.shape[0] * 4 * float(jnp.finfo(matrix.dtype).eps) * float(values[-1])
        if float(values[0]) < -slack:
            raise ValueError(
                "kernel: expected a positive semi-definite matrix, got one with eigenvalue "
                f"{float(values[0]):.3g}"
            )
    return vectors * jnp.sqrt(jnp.maximum(values, 0))[None, :]


class UnitProblem(NamedTuple):
    """The same problem in terms of the unit kernel k: coefficients to use beside k."""

    lam: Float[Array, ""]
    bound: Float[Array, ""]


def to_unit(variance: Any, lam: Any, bound: Any) -> UnitProblem:
    """lambda and B for k that mean the same as `lam` and `bound` do for the kernel variance * k.

    ||f||_{vk} = ||f||_k / sqrt(v), so ||f||_{vk} <= B is ||f||_k <= B sqrt(v), and the penalty
    lambda/2 ||f||_{vk}^2 is (lambda/v)/2 ||f||_k^2. The theory wants k(x, x) <= 1; a kernel of a
    larger variance must be converted, or its confidence sequence states a wrong probability.

    Raises:
        ValueError: an argument is not a finite number greater than zero.
    """
    variance = as_positive("variance", variance)
    lam, bound = as_positive("lam", lam), as_positive("bound", bound)
    return UnitProblem(lam=lam / variance, bound=bound * jnp.sqrt(variance))


def largest_difference(matrix: Float[Array, "n n"]) -> Float[Array, ""]:
    """max over i, j of ||k(x_i, .) - k(x_j, .)||_k; times B it bounds every |f(x) - f(x')|."""
    diagonal = jnp.diagonal(matrix)
    squares = jnp.add(diagonal[:, None], diagonal[None, :]) - 2 * matrix
    return jnp.sqrt(jnp.maximum(jnp.max(squares), 0))


def largest_value(matrix: Float[Array, "n n"]) -> Float[Array, ""]:
    """max over i of ||k(x_i, .)||_k = sqrt(k(x_i, x_i)); times B it bounds every |f(x)|."""
    return jnp.sqrt(jnp.max(jnp.diagonal(matrix)))
