"""The posterior on the points compared: what the answers explain of the prior covariance.

With D the signed sums asked so far over the distinct points P, K their Gram matrix and W the
weights of the answers divided by the scale of the noise, the posterior covariance of two actions is
k(x, x') - k(x, P) M k(P, x') with M = D'(D K D' + W^-1)^-1 D = (I + B K)^-1 B, B = D'WD. Rows of
points that no answer mentions are zero in M, so that points can be added and padded freely.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from duelist.belief._answers import AbstractAnswers
from duelist.belief._covariance import posterior_covariance
from duelist.belief._fit import AbstractMetric
from duelist.links import AbstractLink


def explained_by(precision: Float[Array, "c c"], gram: Float[Array, "c c"]) -> Float[Array, "c c"]:
    """M from scratch, O(c^3), for B = `precision`.

    With B = G G' it is G (I + G'KG)^-1 G': symmetric, and the system has eigenvalues >= 1. It is
    the formula of `posterior_covariance` with the two matrices in each other's place.
    """
    values, vectors = jnp.linalg.eigh(precision)
    root = vectors * jnp.sqrt(jnp.maximum(values, 0))[None, :]
    return posterior_covariance(root, gram)


def rank_one_more(
    explained: Float[Array, "c c"],
    row: Float[Array, " c"],
    column: Float[Array, " c"],
    noise: Float[Array, ""],
) -> tuple[Float[Array, " c"], Float[Array, ""]]:
    """u with M + u u' the M after one more observation `row`, and sigma^2 of it before.

    With column = K d and v = d - M K d the covariance with the query is C d = K v on the points,
    and C loses (K v)(K v)' / (noise + d'K v), where `noise` is the observation's variance. Hence M
    gains v v' / (noise + d'K v).
    """
    rest = row - explained @ column
    variance = jnp.maximum(column @ rest, 0)
    return rest / jnp.sqrt(noise + variance), variance


class PointMetric(AbstractMetric):
    """M with the Laplace weights, W = s'(h)/lambda."""

    explained: Float[Array, "c c"]

    def newton(
        self, gram: Float[Array, "c c"], lam: Float[Array, ""], residual: Float[Array, " c"]
    ) -> tuple[Float[Array, " c"], Float[Array, " c"]]:
        """In w it is -(I + H K / lambda)^-1 r = -(r - M K r), in f K times that."""
        del lam
        direction = self.explained @ (gram @ residual) - residual
        return gram @ direction, direction


class PointProblem(NamedTuple):
    """The objective on the points: answers, link, Gram matrix and lambda."""

    answers: AbstractAnswers
    link: AbstractLink
    gram: Float[Array, "c c"]
    lam: Float[Array, ""]

    def metric(self, f: Float[Array, " c"]) -> PointMetric:
        """M with the weights at f, from scratch."""
        return PointMetric(explained_by(self.precision(f), self.gram))

    def precision(self, f: Float[Array, " c"]) -> Float[Array, "c c"]:
        """D'WD with the Laplace weights at f."""
        return self.answers.hessian(self.link, f) / self.lam
