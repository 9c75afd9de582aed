"""The utilities that a sublevel set of the log-loss allows, as bounds on all their differences.

Let S = {f : ||f||_k <= B, NLL(f) <= R}, with NLL(f) the summed loss of the answers. With any w,
f_0 = K w, L = NLL + (lambda/2) ||.||^2 and r = w + grad NLL(f_0)/lambda, for f in S and v = f - f_0

    R + lambda B^2/2 >= L(f) >= L(f_0) + lambda r'v + 1/2 v'(D'cD + lambda K^-1) v,

where c holds, for every answer, a curvature that bounds its loss below on the range of h(x, x')
over S (`least_curvature`). With C = (K^-1 + D'cD/lambda)^-1 and rho = R + lambda B^2/2 - L(f_0)
this is an ellipsoid around f_0 - C r, in which for every signed sum d of actions

    |d'(f - f_0 + C r)| <= sqrt(2 rho/lambda + r'C r) sqrt(d'C d).

It holds at every f_0, converged or not, and for every lambda; the intersection over several comes
close to the best one for every pair. The ranges are the bounds themselves: first those of the ball,
B ||k(x, .) - k(x', .)||, then what was found after the answers before. What rounding may have taken
away is added (`_rounding`). The proofs are in docs/guarantees.md.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from duelist.belief._answers import AbstractAnswers, Duels, Ratings
from duelist.belief._covariance import posterior_covariance, variance
from duelist.belief._fit import Problem, objective
from duelist.belief._rounding import of_ellipsoid, of_gram
from duelist.domains import ALL
from duelist.links import AbstractLink, Logistic, Probit

UNIMODAL_LINKS = (Logistic, Probit)
"""Links whose curvature rises up to a point and falls from there on, as proofs need it."""


class Region(eqx.Module):
    """What is known of f; in the tables the last place stands for x_null, where f is 0.

    Attributes:
        upper: upper[i, j] bounds f_i - f_j from above, so that -upper[j, i] bounds it from below.
        centre: the centre of the ellipsoid.
        covariance: C, its shape.
        excess: rho + lambda/2 r'C r, how much larger than at the centre the loss of a member may
            be. Below zero there is no member: an assumption fails, or what has probability delta
            happened. Zero before any answer.
        radius: the coefficient of sqrt(d'C d).
    """

    upper: Float[Array, "m m"]
    centre: Float[Array, " n"]
    covariance: Float[Array, "n n"]
    excess: Float[Array, ""]
    radius: Float[Array, ""]

    @property
    def empty(self) -> Bool[Array, ""]:
        """Whether the bounds contradict each other, so that no utility meets them all."""
        return (self.excess < 0) | jnp.any(self.upper + self.upper.T < 0)


def ball(gram: Float[Array, "n n"], bound: Float[Array, ""]) -> Region:
    """{f : ||f||_k <= B} alone, where |f(x) - f(x')| <= B ||k(x, .) - k(x', .)||."""
    zeros = jnp.zeros(gram.shape[0], gram.dtype)
    upper = bound * deviations(gram, of_gram(gram))
    return Region(upper, zeros, gram, jnp.zeros((), gram.dtype), bound)


def shrink(
    region: Region,
    problem: Problem,
    w: Float[Array, " n"],
    allowed: Float[Array, ""],
    bound: Float[Array, ""],
) -> Region:
    """The `region` intersected with the ellipsoid around {||f||_k <= B, NLL(f) <= R}, O(n^3).

    Args:
        region: where f is known to lie.
        problem: the answers, the kernel, and a lambda, which may be any.
        w: coefficients of f_0, which may be any; the ellipsoid is small if it is the fit.
        allowed: R.
        bound: B.

    Returns:
        The smaller region; the same one where rounding leaves no covariance.
    """
    answers, link, gram, factor, lam = problem
    f = gram @ w
    residual = w + answers.gradient(link, f) / lam
    weights = precision(problem, f, region.upper)
    rounding = of_ellipsoid(problem, w, weights, bound)
    covariance = posterior_covariance(factor, weights / lam) * (1 + rounding.share)
    shift = covariance @ residual
    excess = allowed + lam * bound**2 / 2 - objective(problem, w)
    excess = excess + lam / 2 * jnp.maximum(residual @ shift, 0) + rounding.excess
    radius = jnp.sqrt(2 * jnp.maximum(excess, 0) / lam)
    centre = f - shift
    upper = differences(centre) + radius * deviations(covariance, rounding.variance)
    upper = upper + 2 * rounding.utility * (1 - jnp.eye(upper.shape[0], dtype=upper.dtype))
    found = Region(jnp.minimum(region.upper, upper), centre, covariance, excess, radius)
    finite = jnp.all(jnp.isfinite(covariance))
    return jax.tree.map(lambda new, old: jnp.where(finite, new, old), found, region)


def precision(
    problem: Problem, f: Float[Array, " n"], upper: Float[Array, "m m"]
) -> Float[Array, "n n"]:
    """D'cD with the least curvature of every answer while its h(x, x') keeps within `upper`."""
    least = least_curvature(problem.link, differences(f), -upper.T, upper)
    one_way = won(problem.answers) * least
    weights = one_way + one_way.T
    return (jnp.diag(jnp.sum(weights, axis=1)) - weights)[:-1, :-1]


def least_curvature(
    link: AbstractLink,
    h: Float[Array, "*shape"],
    low: Float[Array, "*shape"],
    high: Float[Array, "*shape"],
) -> Float[Array, "*shape"]:
    """The largest c with loss(a) >= loss(h) + loss'(h) (a - h) + c/2 (a - h)^2 on [low, high].

    For a link of `UNIMODAL_LINKS` that is the ratio at one of the ends (docs/guarantees.md).
    """
    return jnp.minimum(_curvature_to(link, h, low), _curvature_to(link, h, high))


def _curvature_to(
    link: AbstractLink, h: Float[Array, "*shape"], end: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """2 (loss(end) - loss(h) - loss'(h) u) / u^2 with u = end - h, not rounded up.

    Near u = 0 the difference cancels. The ratio is a mean of the curvature between h and the end,
    which is nowhere below the smaller of its values there.
    """
    u = end - h
    loss, there = link.loss(h), link.loss(end)
    # loss'(h) from the answer "no" at -h: s(-h) keeps the digits that 1 - s(h) loses.
    pull = -link.pull(-h, jnp.zeros_like(h), jnp.ones_like(h)) * u
    rounding = float(jnp.finfo(h.dtype).eps) * (16 * (loss + there + jnp.abs(pull)) + 4)
    square = jnp.where(u == 0, 1, u**2)
    ratio = jnp.where(u == 0, 0, 2 * (there - loss - pull - rounding) / square)
    return jnp.maximum(ratio, jnp.minimum(link.curvature(h), link.curvature(end)))


def won(answers: AbstractAnswers) -> Float[Array, "m m"]:
    """How often i was preferred to j; a rating is a duel with x_null, in the last place."""
    if isinstance(answers, Duels):
        return jnp.pad(answers.wins, (0, 1))
    if not isinstance(answers, Ratings):
        raise TypeError(f"answers: expected Duels or Ratings, got {type(answers).__name__}")
    yes, no = jnp.append(answers.yes, 0), jnp.append(answers.no, 0)
    empty = jnp.zeros((yes.shape[0],) * 2, yes.dtype)
    return empty.at[:, -1].set(yes).at[-1, :].set(no)


def differences(f: Float[Array, " n"]) -> Float[Array, "m m"]:
    """f_i - f_j, x_null included."""
    f = jnp.append(f, 0)
    return f[:, None] - f[None, :]


def deviations(covariance: Float[Array, "n n"], rounding: Float[Array, ""]) -> Float[Array, "m m"]:
    """The standard deviation of f_i - f_j under a covariance, x_null included.

    `rounding` is added to the variance of both actions.
    """
    padded = jnp.pad(covariance, (0, 1))
    apart = 1 - jnp.eye(padded.shape[0], dtype=padded.dtype)
    return jnp.sqrt(variance(padded, ALL, ALL) + 2 * rounding * apart)
