"""Predictions that follow from an estimate, two variances and beta, whatever they are kept in."""

import abc
from typing import Literal, TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from duelist.belief._base import AbstractUtilityBelief
from duelist.belief._beta import AbstractBeta
from duelist.belief._constants import Constants
from duelist.belief._fit import Fit
from duelist.belief._gain import gain_of
from duelist.domains import Action
from duelist.links import AbstractLink

WidthRule: TypeAlias = Literal["worst-case", "laplace"]
Space: TypeAlias = Literal["probability", "utility"]
FeedbackKind: TypeAlias = Literal["duels", "ratings"]


class AbstractFittedBelief(AbstractUtilityBelief):
    """A belief centred on the MAP fit, with sigma_t of the paper or its curvature-weighted twin.

    Attributes:
        constants: lambda, B, kappa and L.
        beta_rule: the rule for beta_t.
        fit: the MAP estimate and its status.
        gain: the realised information gain gamma_t of the queries asked.
        count: the answers told, duels of an action with itself included.
        width_rule: which of the two variances `width` takes.
        space: whether `lcb` and `ucb` bound probabilities or utility differences.
    """

    link: eqx.AbstractVar[AbstractLink]
    constants: eqx.AbstractVar[Constants]
    beta_rule: eqx.AbstractVar[AbstractBeta]
    fit: eqx.AbstractVar[Fit]
    gain: eqx.AbstractVar[Float[Array, ""]]
    count: eqx.AbstractVar[Int[Array, ""]]
    next_refresh: eqx.AbstractVar[Int[Array, ""]]
    width_rule: eqx.AbstractVar[WidthRule]
    space: eqx.AbstractVar[Space]

    @abc.abstractmethod
    def tell(self, query: tuple[Action, ...], answer: Float[Array, ""]) -> "AbstractFittedBelief":
        """The belief after one more answer."""

    @abc.abstractmethod
    def expecting(self, query: tuple[Action, ...]) -> "AbstractFittedBelief":
        """What to ask by while `query` is with a judge: both variances shrink."""

    @abc.abstractmethod
    def with_room(self, answers: int = 1) -> "AbstractFittedBelief":
        """The same belief with room for so many more answers: `tell` keeps its shapes for them."""

    @abc.abstractmethod
    def as_query(self, query: tuple[Action, ...]) -> tuple[Action, ...]:
        """`query` as actions of the domain; TypeError or ValueError if it is none for `tell`."""

    @abc.abstractmethod
    def log_evidence(self) -> Float[Array, ""]:
        """log of the probability of the answers under f ~ GP(0, k/lambda), by Laplace's method.

        -loss(f_t) - lambda/2 ||f_t||^2 - 1/2 log det(I + K D'WD / lambda) with the weights W at the
        fit; O(n^3). Beliefs of the same answers can be compared by it.
        """

    @abc.abstractmethod
    def prior_variance(self, x: Action) -> Float[Array, "..."]:
        """k(x, x), the variance before any answer, on the scale of `variance`."""

    @abc.abstractmethod
    def variance(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^2 with the weight 1/(lambda kappa) for every answer (eq. def_sigma)."""

    @abc.abstractmethod
    def laplace_variance(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^2 with the weights s'(h)/lambda of the Laplace posterior."""

    def difference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """h_t(x, x2) = f_t(x) - f_t(x2); f_t(x) against x_null, where f is 0."""
        if x2 is None:
            return self.utility(x)
        first, second = self.utilities(x, x2)
        return first - second

    def width(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^D(x, x2) (eq. def_sigma), or with `laplace` its curvature-weighted twin."""
        laplace = self.width_rule == "laplace"
        return safe_root(self.laplace_variance(x, x2) if laplace else self.variance(x, x2))

    def deviation(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The standard deviation of f(x) - f(x2) under the Laplace posterior, in utility."""
        return safe_root(self.laplace_variance(x, x2) / self.constants.lam)

    def information(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """log(1 + sigma_t^2 / (lambda kappa)), twice the gain of asking (x, x2)."""
        return 2 * gain_of(self.variance(x, x2), self.constants.noise)

    @property
    def beta(self) -> Float[Array, ""]:
        """beta_t as the paper has it, for probabilities, or beta_t / L in utility space."""
        return self.beta_rule(self) if self.space == "probability" else self.utility_beta

    @property
    def utility_beta(self) -> Float[Array, ""]:
        """beta_t / L, the coefficient on the utility scale (Theorem ids_regret)."""
        return self.beta_rule(self) / self.constants.lipschitz

    @property
    def level(self) -> float:
        """The value of a bound at x = x2: 1/2 in probability, 0 in utility."""
        return 0.5 if self.space == "probability" else 0.0

    def lcb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """s(h_t) - beta_t sigma_t, or h_t - (beta_t / L) sigma_t in utility space."""
        return self._estimate(x, x2) - self.beta * self.width(x, x2)

    def ucb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """s(h_t) + beta_t sigma_t, or h_t + (beta_t / L) sigma_t in utility space."""
        return self._estimate(x, x2) + self.beta * self.width(x, x2)

    def norm(self) -> Float[Array, ""]:
        """||f_t||_k of the fit."""
        return jnp.sqrt(jnp.maximum(self.fit.w @ self.fit.f, 0))

    def _estimate(self, x: Action, x2: Action) -> Float[Array, "..."]:
        return self.preference(x, x2) if self.space == "probability" else self.difference(x, x2)


def safe_root(variance: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The square root of what is not negative, with the gradient 0 instead of infinity at 0."""
    positive = variance > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, variance, 1)), 0)


_FIRST_REFRESH = 16
_REFRESH_GROWTH = 8


def next_refresh(count: Int[Array, ""]) -> Int[Array, ""]:
    """The count of answers at which to compute from scratch again, if it was done at `count`.

    The pace grows with the count, so that it is done O(log t) times.
    """
    return count + jnp.maximum(count // _REFRESH_GROWTH, _FIRST_REFRESH)
