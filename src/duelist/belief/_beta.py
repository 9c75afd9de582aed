"""beta_t: how many widths a bound lies away from the estimate."""

import abc
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from duelist._checks import as_floats, as_fraction, as_nonnegative
from duelist.belief._constants import Constants


@runtime_checkable
class Evidence(Protocol):
    """What a beta may depend on: constants, realised information gain, number of answers."""

    @property
    def constants(self) -> Constants: ...
    @property
    def gain(self) -> Float[Array, ""]: ...
    @property
    def count(self) -> Int[Array, ""]: ...


class AbstractBeta(eqx.Module):
    """A rule for beta_t in probability space; on the utility scale it is divided by L."""

    @abc.abstractmethod
    def __call__(self, evidence: Evidence) -> Float[Array, ""]:
        """beta_t after the answers in `evidence`."""


class FixedBeta(AbstractBeta):
    """The same beta at every step; 1 in the paper's experiments. No probability is attached."""

    value: Float[Array, ""]

    def __init__(self, value: Any = 1.0) -> None:
        self.value = as_nonnegative("value", value)

    def __call__(self, evidence: Evidence) -> Float[Array, ""]:
        """The value, in the dtype of the belief."""
        return self.value.astype(evidence.gain.dtype)


class GrowingBeta(AbstractBeta):
    """beta_t = L c sqrt(log(2 + t)): on the utility scale c sqrt(log(2 + t)) standard deviations.

    It grows as the bounds of Theorem func_CI do, without their constants, so that narrow bounds
    lead to the good actions early and no wrong conclusion is for ever. No probability is attached.
    """

    scale: Float[Array, ""]

    def __init__(self, scale: Any = 0.5) -> None:
        self.scale = as_nonnegative("scale", scale)

    def __call__(self, evidence: Evidence) -> Float[Array, ""]:
        """L c sqrt(log(2 + t)), in the dtype of the belief."""
        dtype = evidence.gain.dtype
        growth = jnp.sqrt(jnp.log(2 + evidence.count.astype(dtype)))
        return evidence.constants.lipschitz * self.scale.astype(dtype) * growth


class TheoremBeta(AbstractBeta):
    """beta_t(delta) = 4 L B + 2 L sqrt((2 kappa / lambda) (gamma_t + log(1/delta))), eq. def_beta.

    With probability 1 - delta the bounds hold for all t and all actions at once (Theorem func_CI,
    Corollary dueling_CI), if ||f||_k <= B, k(x, x) <= 1 and the link is logistic: the proof uses
    the gradient of the logistic loss.

    Args:
        delta: the probability of failure to allow.
        gains: gamma_t for t = 0, 1, ..., as `maximum_gain` computes it. Without it the realised
            gain of the queries asked is used, which is smaller and all that the proof needs.
    """

    delta: Float[Array, ""]
    gains: Float[Array, " t"] | None

    def __init__(self, delta: Any = 0.1, gains: Any = None) -> None:
        self.delta = as_fraction("delta", delta)
        self.gains = None if gains is None else as_floats("gains", gains, 1)
        if self.gains is not None and self.gains.shape[0] < 2:
            raise ValueError("gains: expected gamma_0 and gamma_1 at least, got fewer")

    def __call__(self, evidence: Evidence) -> Float[Array, ""]:
        """Eq. def_beta with the constants of the belief."""
        lam, bound, _, kappa, lipschitz = evidence.constants
        gain = evidence.gain if self.gains is None else _look_up(self.gains, evidence.count)
        confidence = gain.astype(lam.dtype) - jnp.log(self.delta).astype(lam.dtype)
        return 4 * lipschitz * bound + 2 * lipschitz * jnp.sqrt(2 * kappa / lam * confidence)


def _look_up(gains: Float[Array, " t"], count: Int[Array, ""]) -> Float[Array, ""]:
    """gamma_count; past the end of the table by its last increment.

    That stays an upper bound: each observation adds at most as much as the one before it did.
    """
    last = gains.shape[0] - 1
    beyond = jnp.maximum(count - last, 0).astype(gains.dtype)
    return gains[jnp.minimum(count, last)] + beyond * (gains[last] - gains[last - 1])
