"""How far rounding may carry the bounds of the prequential set inwards, to move them out by it.

First-order bounds. Where one bounds a sum of m rounded terms, eps sqrt(m) takes the place of the
worst case (m/2) eps, which no sum of so many comes near (Higham and Mary 2019).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from duelist.belief._answers import AbstractAnswers
from duelist.belief._fit import Problem


class Rounding(NamedTuple):
    """What to add.

    Attributes:
        excess: to rho.
        utility: to f of an action.
        variance: to the variance of f of an action.
        share: as a share of the covariance.
    """

    excess: Float[Array, ""]
    utility: Float[Array, ""]
    variance: Float[Array, ""]
    share: Float[Array, ""]


def of_sums(answers: AbstractAnswers, loss: Float[Array, ""]) -> Float[Array, ""]:
    """The error of two sums over all answers that are about as large as `loss`."""
    square = answers.square()
    terms = square.shape[0] + jnp.trace(square)
    return 2 * _unit(square) * jnp.sqrt(terms) * loss


def of_ellipsoid(
    problem: Problem, w: Float[Array, " n"], precision: Float[Array, "n n"], bound: Float[Array, ""]
) -> Rounding:
    """The errors of f = K w, of what follows for rho, and of C for `precision` = D'cD.

    An error e of f enters rho as g'e and as (f - f_0)'D'cD e; C differs from its true value as F F'
    does from K, and by a share of the trace that its Cholesky factor has to resolve.
    """
    _, _, gram, factor, lam = problem
    unit = _unit(gram) * gram.shape[0] ** 0.5
    utility = unit * jnp.max(jnp.abs(gram) @ jnp.abs(w))
    furthest = 2 * bound * jnp.sqrt(jnp.max(jnp.diagonal(gram)))
    slope = 2 * lam * jnp.sum(jnp.abs(w)) + 2 * furthest * jnp.trace(precision)
    share = unit * (gram.shape[0] + jnp.sum(precision * gram) / lam)
    return Rounding(utility * slope, utility, unit * jnp.max(jnp.sum(factor**2, axis=0)), share)


def of_gram(gram: Float[Array, "n n"]) -> Float[Array, ""]:
    """The error of a kernel's value."""
    return 8 * _unit(gram) * jnp.max(jnp.diagonal(gram))


def _unit(values: Array) -> float:
    return float(jnp.finfo(values.dtype).eps)
