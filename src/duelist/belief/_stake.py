"""What is at stake where bounds rule an action out that was hardly ever asked about."""

import math

import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from duelist.links import AbstractLink


def expected_improvement(
    mean: Float[Array, "..."], deviation: Float[Array, "..."]
) -> Float[Array, "..."]:
    """E[max(h, 0)] for h normal: mean Phi(z) + deviation phi(z), z = mean / deviation."""
    known = deviation <= 0
    scale = jnp.where(known, 1, deviation)
    z = mean / scale
    return jnp.where(known, jnp.maximum(mean, 0), mean * norm.cdf(z) + scale * norm.pdf(z))


def resolved_share(
    link: AbstractLink, h: Float[Array, "..."], deviation: Float[Array, "..."]
) -> Float[Array, "..."]:
    """The share of the variance of a difference that one answer on it can be expected to remove.

    v/(1 + v) with v = deviation^2 E[I(h)], I the Fisher information of an answer. Its mean over the
    posterior is taken as I(h/c)/c with c^2 = 1 + 2 pi s'(0)^2 deviation^2, which is that of a bell
    curve as high and as wide as s' (MacKay 1992). Up to four units from an even duel the share is
    within 6 % for the logistic link, and within 30 % for the probit link.
    """
    peak = link.slope(jnp.zeros_like(h))
    c = jnp.sqrt(1 + 2 * math.pi * (peak * deviation) ** 2)
    v = deviation**2 * link.fisher(h / c) / c
    return v / (1 + v)


def expected_gain(
    link: AbstractLink, h: Float[Array, "..."], deviation: Float[Array, "..."]
) -> Float[Array, "..."]:
    """What an answer on a difference may gain: E[max(h, 0)] times the share that it resolves."""
    return expected_improvement(h, deviation) * resolved_share(link, h, deviation)
