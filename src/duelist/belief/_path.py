"""Utility functions drawn from the posterior, as expansions in kernel values."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import tinygp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from duelist.belief._broadcast import against
from duelist.domains import AbstractDomain

_BLOCK = 8192


class Path(eqx.Module):
    """f(x) = k(x, anchors) coefficients."""

    anchors: Float[Array, "z d"]
    coefficients: Float[Array, " z"]

    def __call__(
        self, kernel: tinygp.kernels.Kernel, features: Float[Array, "*shape d"]
    ) -> Float[Array, "*shape"]:
        """The values at `features`, a block of actions after the other if there are many."""

        def values(x: Float[Array, "*shape d"]) -> Float[Array, "*shape"]:
            return against(kernel, x, self.anchors) @ self.coefficients

        if features.size // features.shape[-1] <= _BLOCK:
            return values(features)
        rows = jnp.reshape(features, (-1, features.shape[-1]))
        return jnp.reshape(jax.lax.map(values, rows, batch_size=_BLOCK), features.shape[:-1])


def path(
    kernel: tinygp.kernels.Kernel,
    key: PRNGKeyArray,
    points: Float[Array, "c d"],
    *,
    support: Float[Array, "s d"],
    w: Float[Array, " c"],
    explained: Float[Array, "c c"],
    used: Bool[Array, " c"],
    lam: Float[Array, ""],
) -> Path:
    """A draw from the posterior, exact on points and support, their interpolation elsewhere.

    On both together, Z, the posterior is f(Z) ~ N(k(Z, P) w, C) with
    C = (k(Z, Z) - k(Z, P) M k(P, Z)) / lambda = U S U'. The function with the values
    m(Z) + U S^(1/2) e, e standard normal, is m(x) + c(x, Z) a with a = U S^(-1/2) e, where c(x, Z)
    is the posterior covariance. Directions of variance below rounding are left out.
    """
    anchors = jnp.concatenate([points, support])
    kept = jnp.concatenate([used, jnp.ones(support.shape[0], bool)])
    values = jnp.where(kept[:, None], against(kernel, anchors, points), 0)
    prior = jnp.where(kept[:, None] & kept[None, :], kernel(anchors, anchors), 0)
    variances, vectors = jnp.linalg.eigh((prior - values @ explained @ values.T) / lam)
    floor = variances.shape[0] * jnp.finfo(variances.dtype).eps * variances[-1]
    known = variances <= floor
    scale = jnp.where(known, 0, 1 / jnp.sqrt(jnp.where(known, 1, variances)))
    noise = jr.normal(key, variances.shape, variances.dtype)
    a = jnp.where(kept, vectors @ (scale * noise), 0) / lam
    of_points = w - explained @ (values.T @ a)
    return Path(anchors, a.at[: points.shape[0]].add(of_points))


def support_of(domain: AbstractDomain, key: PRNGKeyArray, support: int) -> Float[Array, "s d"]:
    """Features of all actions if there are at most `support`, else of so many random ones."""
    if domain.size is not None and domain.size <= support:
        return domain.rivals()
    return domain.features(jax.vmap(domain.sample)(jr.split(key, support)))
