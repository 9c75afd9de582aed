"""Links: how a difference of utilities becomes a probability of preference.

P(x beats x') = s(f(x) - f(x')) with a differentiable increasing s and s(a) + s(-a) = 1
(eq. def_pref of the paper and its footnote). Everything else is derived from s: the loss of an
answer, its derivatives, and the constants kappa and L of the confidence sequences.
"""

import abc
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_GRID = 1025
"""Points of [0, radius] on which `kappa` and `lipschitz` look for the extreme slope."""


class AbstractLink(eqx.Module):
    """A function s from a difference of utilities to the probability of the answer "yes"."""

    @abc.abstractmethod
    def probability(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s(h): the probability that the first of two actions with difference h is preferred."""

    @abc.abstractmethod
    def slope(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s'(h), the derivative of the probability."""

    @abc.abstractmethod
    def loss(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """-log s(h): the loss of an answer "yes"; of an answer "no" it is `loss(-h)`."""

    @abc.abstractmethod
    def pull(
        self, h: Float[Array, "..."], yes: Float[Array, "..."], no: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """The derivative by h of yes * loss(h) + no * loss(-h), for counts of both answers."""

    @abc.abstractmethod
    def curvature(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """-d^2 log s(h) / dh^2, the weight of an answer in the Hessian; never negative."""

    def divergence(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """KL(s(h) || 1/2), what an answer tells apart h from 0 by; cancels where h is near 0."""
        yes, no = self.probability(h), self.probability(-h)
        return math.log(2) - yes * self.loss(h) - no * self.loss(-h)

    def fisher(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s'(h)^2 / (s(h) s(-h)), the Fisher information of one answer."""
        return self.slope(h) ** 2 / (self.probability(h) * self.probability(-h))

    def probabilities(self, f: Float[Array, " n"]) -> Float[Array, "n n"]:
        """s(f_i - f_j) for all pairs."""
        return self.probability(f[:, None] - f[None, :])

    def pulls(self, f: Float[Array, " n"], wins: Float[Array, "n n"]) -> Float[Array, " n"]:
        """The derivative by f of sum_ij wins_ij loss(f_i - f_j)."""
        h = f[:, None] - f[None, :]
        table = self.pull(h, wins, jnp.zeros_like(wins))
        # Products with ones, for XLA's sums over the rows of a table take several times as long.
        ones = jnp.ones_like(f)
        return table @ ones - ones @ table

    def kappa(self, radius: Float[Array, ""]) -> Float[Array, ""]:
        """kappa = sup of 1/s'(a) over |a| <= radius (below eq. def_sigma).

        s' is even, so half the range is searched, on a grid that holds both 0 and the radius:
        exact where s' falls away from 0, as it does for the logistic and the probit link.
        """
        return jnp.max(1 / self.slope(jnp.linspace(0, 1, _GRID, dtype=radius.dtype) * radius))

    def lipschitz(self, radius: Float[Array, ""]) -> Float[Array, ""]:
        """L = sup of s'(a) over |a| <= radius (Theorem func_CI), searched like `kappa`."""
        return jnp.max(self.slope(jnp.linspace(0, 1, _GRID, dtype=radius.dtype) * radius))


class Logistic(AbstractLink):
    """s(a) = 1 / (1 + exp(-a)), the Bradley-Terry model; L = 1/4."""

    def probability(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s(h)."""
        return jax.nn.sigmoid(h)

    def slope(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s'(h) = s(h) s(-h)."""
        return jax.nn.sigmoid(h) * jax.nn.sigmoid(-h)

    def loss(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """log(1 + exp(-h))."""
        return jax.nn.softplus(-h)

    def pull(
        self, h: Float[Array, "..."], yes: Float[Array, "..."], no: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """(yes + no) s(h) - yes, the expected less the observed number of "yes"."""
        return (yes + no) * jax.nn.sigmoid(h) - yes

    def curvature(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s(h) s(-h), the same as the slope."""
        return self.slope(h)

    def divergence(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """log 2 - log(1 + e) - |h| s(-|h|) with e = exp(-|h|), for widths of all pairs need it."""
        size = jnp.abs(h)
        e = jnp.exp(-size)
        return math.log(2) - jnp.log(1 + e) - size * (e / (1 + e))

    def fisher(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s(h) s(-h), with the one exponential that `divergence` has too."""
        e = jnp.exp(-jnp.abs(h))
        return e / (1 + e) ** 2

    def probabilities(self, f: Float[Array, " n"]) -> Float[Array, "n n"]:
        """s(f_i - f_j) = e_i / (e_i + e_j) with e = exp(f): n exponentials instead of n^2."""

        def factored(e: Float[Array, " n"]) -> Float[Array, "n n"]:
            return e[:, None] / (e[:, None] + e[None, :])

        return _with_exponentials(f, factored, lambda: super(Logistic, self).probabilities(f))

    def pulls(self, f: Float[Array, " n"], wins: Float[Array, "n n"]) -> Float[Array, " n"]:
        """sum_j wins_ji s(f_i - f_j) - wins_ij s(f_j - f_i), with n exponentials like above."""

        def factored(e: Float[Array, " n"]) -> Float[Array, " n"]:
            shares = wins / (e[:, None] + e[None, :])
            return e * (jnp.ones_like(e) @ shares) - shares @ e

        return _with_exponentials(f, factored, lambda: super(Logistic, self).pulls(f, wins))


def _with_exponentials(
    f: Float[Array, " n"],
    factored: Callable[[Float[Array, " n"]], Array],
    direct: Callable[[], Array],
) -> Array:
    """`factored` of exp(f) up to a constant factor, or `direct` where that leaves the range."""
    top, bottom = jnp.max(f), jnp.min(f)
    fits = (top - bottom) / 2 < 0.9 * math.log(float(jnp.finfo(f.dtype).max))
    return jax.lax.cond(fits, lambda: factored(jnp.exp(f - (top + bottom) / 2)), direct)


class Probit(AbstractLink):
    """s(a) = Phi(a), the standard normal distribution function (Thurstone's model)."""

    def probability(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """Phi(h)."""
        return jax.scipy.special.ndtr(h)

    def slope(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """phi(h), the standard normal density."""
        return jnp.exp(jax.scipy.stats.norm.logpdf(h))

    def loss(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """-log Phi(h), accurate in both tails."""
        return -jax.scipy.special.log_ndtr(h)

    def pull(
        self, h: Float[Array, "..."], yes: Float[Array, "..."], no: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """no r(-h) - yes r(h) with r the inverse Mills ratio."""
        return no * _mills(-h) - yes * _mills(h)

    def curvature(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """r(h) (h + r(h)) with r the inverse Mills ratio; far below zero its asymptotic series.

        There h + r(h) would cancel. The series 1 - 1/h^2 + 6/h^4 - 50/h^6 takes over where its
        error, about 518/h^8, falls below that of the cancellation, eps h^2.
        """
        ratio = _mills(h)
        far = -((518 / float(jnp.finfo(h.dtype).eps)) ** 0.1)
        inverse = 1 / jnp.square(jnp.minimum(h, far))
        series = 1 - inverse * (1 - inverse * (6 - 50 * inverse))
        return jnp.where(h < far, series, ratio * (h + ratio))


class CustomLink(AbstractLink):
    """A link of the user's own: any smooth s written in JAX; its derivatives are taken from it.

    Args:
        function: s, applied entry by entry; increasing, with s(a) + s(-a) = 1 and log s concave
            (else the fit would have several optima).

    Raises:
        ValueError: s fails one of these on a grid over [-8, 8]; the message says which.
    """

    function: Callable[[Array], Array] = eqx.field(static=True)

    def __check_init__(self) -> None:
        grid = jnp.linspace(-8.0, 8.0, 321)
        value = np.asarray(self.function(grid))
        tolerance = 100 * float(jnp.finfo(grid.dtype).eps)
        if value.shape != grid.shape:
            raise ValueError(f"function: expected shape {grid.shape} back, got {value.shape}")
        if not (np.all(np.isfinite(value)) and np.all(value > 0) and np.all(value < 1)):
            raise ValueError("function: expected values between 0 and 1")
        if np.max(np.abs(value + value[::-1] - 1)) > tolerance:
            raise ValueError("function: expected s(a) + s(-a) = 1 for every a")
        if not np.all(np.diff(value) >= 0) or not np.all(np.asarray(self.slope(grid)) > 0):
            raise ValueError("function: expected s to increase everywhere")
        if not np.all(np.asarray(self.curvature(grid)) >= -tolerance):
            raise ValueError("function: expected log s to be concave, so that the fit is unique")

    def probability(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s(h)."""
        return self.function(h)

    def slope(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """s'(h) by forward differentiation."""
        return _derivative(self.function)(h)

    def loss(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """-log s(h)."""
        return -jnp.log(self.function(h))

    def pull(
        self, h: Float[Array, "..."], yes: Float[Array, "..."], no: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """By forward differentiation of the loss."""
        score = _derivative(self.loss)
        return yes * score(h) - no * score(-h)

    def curvature(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        """d^2 loss / dh^2."""
        return _derivative(_derivative(self.loss))(h)


def _derivative(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The entrywise derivative of an entrywise function."""
    return lambda h: jax.jvp(function, (h,), (jnp.ones_like(h),))[1]


def _mills(h: Float[Array, "..."]) -> Float[Array, "..."]:
    """phi(h) / Phi(h) = sqrt(2/pi) / erfcx(-h / sqrt(2)), accurate in both tails.

    JAX's erfcx is zero in a window where erfc underflows (h near -13.2 in float32, near -37.6 in
    float64), so that below it the asymptotic series of Phi takes over: -h over
    1 - 1/h^2 + 3/h^4 - 15/h^6 + ..., whose first omitted term is below eps/8 there.
    """
    far = -0.95 * math.sqrt(-2 * math.log(float(jnp.finfo(h.dtype).tiny)))
    outer = jnp.minimum(h, far)
    inverse = 1 / jnp.square(outer)
    series = jnp.ones_like(h)
    for odd in (11, 9, 7, 5, 3, 1):
        series = 1 - odd * inverse * series
    near = math.sqrt(2 / math.pi) / jax.scipy.special.erfcx(-jnp.maximum(h, far) / math.sqrt(2))
    return jnp.where(h < far, -outer / series, near)
