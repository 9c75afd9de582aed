"""Information gain gamma_t = 1/2 log det(I + (lambda kappa)^-1 K_t), realised and maximal."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from duelist._checks import as_positive, as_square, check_count
from duelist.belief._covariance import rank_one, variance
from duelist.domains import ALL, Action


def gain_of(
    variance_before: Float[Array, "*shape"], noise: Float[Array, ""]
) -> Float[Array, "*shape"]:
    """What one observation adds to gamma: 1/2 log(1 + sigma^2 / (lambda kappa)).

    `variance_before` is sigma^2 of the query before it is observed.
    """
    return jnp.log1p(variance_before / noise) / 2


def maximum_gain(
    gram: Float[Array, "n n"], noise: Float[Array, ""] | float, horizon: int, *, duels: bool
) -> Float[Array, " t"]:
    """An upper bound on gamma_t = max over sequences of queries, for t = 0, ..., horizon.

    The greedy sequence reaches at least 1 - 1/e of the maximum (the gain is submodular and
    monotone; Nemhauser, Wolsey and Fisher 1978, used by Krause, Singh and Guestrin 2008), so its
    gain divided by 1 - 1/e bounds the maximum from above. O(horizon n^2).

    Raises:
        TypeError, ValueError: an argument is of the wrong kind, shape or range, and named.
    """
    gram = as_square("gram", gram)
    noise = as_positive("noise", noise, gram.dtype)
    check_count("horizon", horizon)

    def observe(
        covariance: Float[Array, "n n"], _: None
    ) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
        variances = variance(covariance, ALL, ALL if duels else None)
        widest = jnp.unravel_index(jnp.argmax(variances), variances.shape)
        query: tuple[Action, ...] = tuple(x.astype(jnp.int32) for x in widest)
        return rank_one(covariance, query, noise), gain_of(jnp.max(variances), noise)

    _, gains = jax.lax.scan(observe, gram, None, length=horizon)
    total = jnp.cumsum(gains) / (1 - jnp.exp(-1.0)).astype(gram.dtype)
    return jnp.concatenate([jnp.zeros(1, gram.dtype), total])
