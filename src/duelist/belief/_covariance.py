"""The posterior covariance of the utility on a finite domain, kept by rank-one updates.

With K = F F' the Gram matrix, D the signed sums asked so far and W their weights divided by the
scale of the noise, C = (K^-1 + D'WD)^-1 = F (I + F' D'WD F)^-1 F'. Weights 1/(lambda kappa) give
sigma_t of eq. def_sigma; weights s'(h)/lambda give the Laplace posterior on the same scale.
"""

from typing import Any

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from duelist.belief._answers import over_pairs, signed_row
from duelist.domains import Action


def posterior_covariance(
    factor: Float[Array, "n n"], precision: Float[Array, "n n"]
) -> Float[Array, "n n"]:
    """C from scratch, O(n^3): `precision` is D'WD. The system solved has eigenvalues >= 1.

    NaN if the largest of them exceeds 1/eps, so that rounding hides the smallest: in float32 that
    takes about 1e7 answers on one query per unit of lambda.
    """
    half = half_covariance(factor, precision)
    return half.T @ half


def half_covariance(
    factor: Float[Array, "n n"], precision: Float[Array, "n n"]
) -> Float[Array, "n n"]:
    """R^-1 F' with R R' = I + F' D'WD F, so that C = half' half; half' z samples from N(0, C)."""
    return solve_triangular(_root(factor, precision), factor.T, lower=True)


def half_log_determinant(
    factor: Float[Array, "n n"], precision: Float[Array, "n n"]
) -> Float[Array, ""]:
    """1/2 log det(I + F' D'WD F), O(n^3); `precision` is D'WD."""
    return jnp.sum(jnp.log(jnp.diagonal(_root(factor, precision))))


def _root(factor: Float[Array, "n n"], precision: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The lower triangular R with R R' = I + F' D'WD F."""
    eye = jnp.eye(factor.shape[0], dtype=factor.dtype)
    return jnp.linalg.cholesky(eye + factor.T @ precision @ factor)


def rank_one(
    covariance: Float[Array, "n n"], query: tuple[Action, ...], noise: Float[Array, ""]
) -> Float[Array, "n n"]:
    """C after one more observation whose weight is 1/noise: C - c c' / (noise + d'c), c = C d.

    d'c is a variance; what rounding leaves of it below zero is set to zero.
    """
    row = signed_row(query, covariance.shape[0], covariance.dtype)
    column = covariance @ row
    share = 1 / (noise + jnp.maximum(row @ column, 0))
    return covariance - column[:, None] * column[None, :] * share


def variance(covariance: Float[Array, "n n"], x: Action, x2: Any) -> Float[Array, "..."]:
    """Var(f(x) - f(x2)), exactly zero where x = x2; Var(f(x)) where x2 is None (x_null).

    What rounding leaves below zero is set to zero.
    """
    diagonal = jnp.diagonal(covariance)
    if x2 is None:
        return jnp.maximum(diagonal[x], 0)
    first, second = over_pairs(diagonal, x, x2)
    return jnp.maximum(first + second - 2 * covariance[x, x2], 0)
