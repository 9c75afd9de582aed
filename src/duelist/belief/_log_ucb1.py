"""Log-UCB1's belief: a linear utility under logistic answers (Faury et al. 2020).

f(x) = theta'x with ||theta|| <= S and ||x|| <= 1. The estimate theta_t minimises the logistic loss
+ (lambda/2) ||theta||^2; it is projected to
theta^P = argmin over ||theta|| <= S of ||g(theta) - g(theta_t)|| in the norm of H(theta)^-1, where
g(theta) = sum_s s(theta'x_s) x_s + lambda theta and H its derivative. Since H(theta*) and
H(theta^P) are at most (1 + 2S) times the mean slope between the two, and V/kappa at most that
slope, Lemma 1 of Faury et al. gives
|s(theta^P'x) - s(theta*'x)| <= 2 L sqrt(kappa (1 + 2S)) gamma_t(delta) ||x||_{V^-1},
gamma_t(delta) = sqrt(lambda) (S + 1/2)
                 + (2/sqrt(lambda)) log((2^d/delta) (1 + L t/(d lambda))^(d/2)).
"""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from duelist._checks import as_fraction, as_positive, check_instance, is_concrete
from duelist.belief._answers import AbstractAnswers, Ratings, as_answer
from duelist.belief._constants import Constants
from duelist.belief._covariance import posterior_covariance
from duelist.belief._direct import AbstractDirectBelief, only_action
from duelist.belief._fit import Fit, FitStatus, Problem, fit
from duelist.belief._projection import Projection, backtrack, in_ball
from duelist.domains import Action, FiniteDomain
from duelist.links import AbstractLink, Logistic

_MAX_STEPS = 100


class LinearRatings(AbstractAnswers):
    """Direct feedback as a function of theta [d], where the utilities are features @ theta.

    The sums over the n actions are those of `Ratings`, so an answer costs O(n d^2), whatever t is.
    """

    features: Float[Array, "n d"]
    ratings: Ratings

    def add(self, query: tuple[Action, ...], answer: Float[Array, ""]) -> "LinearRatings":
        """Count the answer on the one action in `query`."""
        return LinearRatings(self.features, self.ratings.add(query, answer))

    def loss(self, link: AbstractLink, f: Float[Array, " d"]) -> Float[Array, ""]:
        """The loss at theta = f."""
        return self.ratings.loss(link, self.features @ f)

    def gradient(self, link: AbstractLink, f: Float[Array, " d"]) -> Float[Array, " d"]:
        """The derivative of `loss` by theta."""
        return self.features.T @ self.ratings.gradient(link, self.features @ f)

    def hessian(self, link: AbstractLink, f: Float[Array, " d"]) -> Float[Array, "d d"]:
        """The second derivative of `loss` by theta."""
        return self._square(self.ratings.hessian(link, self.features @ f))

    def square(self) -> Float[Array, "d d"]:
        """sum_s x_s x_s'."""
        return self._square(self.ratings.square())

    def expected(self, link: AbstractLink, f: Float[Array, " d"]) -> Float[Array, " d"]:
        """sum_s (s(theta'x_s) - 1/2) x_s, which is g(theta) - lambda theta up to a constant."""
        return self.features.T @ self.ratings.expected(link, self.features @ f)

    def expected_slope(self, link: AbstractLink, f: Float[Array, " d"]) -> Float[Array, "d d"]:
        """sum_s s'(theta'x_s) x_s x_s', which is H(theta) - lambda I."""
        return self._square(self.ratings.expected_slope(link, self.features @ f))

    def _square(self, weights: Float[Array, "n n"]) -> Float[Array, "d d"]:
        return (self.features.T * jnp.diagonal(weights)[None, :]) @ self.features


class LogUCB1Belief(AbstractDirectBelief):
    """The estimate of theta and the bonus of Log-UCB1; made by `log_ucb1_prior`.

    Attributes:
        constants: lambda, S, kappa and L for the scaled features.
        delta: the probability of failure.
        answers: counts, and the features divided by the length of the longest.
        fit: the estimate theta_t, in `f` as in `w`, and its status.
        projection: theta^P and its status.
        covariance: lambda kappa V^-1, where V = sum_s x_s x_s' + lambda kappa I.
        count: t, the answers told.
    """

    constants: Constants
    delta: Float[Array, ""]
    tolerance: Float[Array, ""]
    answers: LinearRatings
    fit: Fit
    projection: Projection
    covariance: Float[Array, "d d"]
    count: Int[Array, ""]

    def tell(self, query: tuple[Action, ...], answer: Any) -> "LogUCB1Belief":
        """Count the answer, fit and project; O(n d^2 + d^3) per Newton step."""
        x = only_action(query, self.size)
        answers = self.answers.add((x,), as_answer(answer, self.covariance.dtype))
        problem = _problem(answers, self.constants.lam)
        fitted = _fitted(problem, self.fit.w, self.tolerance)
        precision = answers.square() / self.constants.noise
        return dataclasses.replace(
            self,
            answers=answers,
            fit=fitted,
            projection=project_theta(problem, fitted, self.constants.bound, self.tolerance),
            covariance=posterior_covariance(problem.factor, precision),
            count=self.count + 1,
        )

    def expecting(self, query: tuple[Action, ...]) -> "LogUCB1Belief":
        """Count s(theta_t'x) as the answer and update the covariance; O(d^3)."""
        x = only_action(query, self.size)
        answer = Logistic().probability(self.answers.features[x] @ self.fit.f)
        answers = self.answers.add((x,), answer)
        root = jnp.eye(self.covariance.shape[0], dtype=self.covariance.dtype)
        precision = answers.square() / self.constants.noise
        return dataclasses.replace(
            self, answers=answers, covariance=posterior_covariance(root, precision)
        )

    @property
    def size(self) -> int:
        """n, the number of actions."""
        return self.answers.features.shape[0]

    @property
    def probabilities(self) -> Float[Array, " n"]:
        """s(theta^P'x)."""
        return Logistic().probability(self.answers.features @ self.projection.f)

    @property
    def widths(self) -> Float[Array, " n"]:
        """sqrt(lambda kappa) ||x||_{V^-1} = sigma_t of eq. def_sigma for the linear kernel."""
        features = self.answers.features
        squares = jnp.sum((features @ self.covariance) * features, axis=1)
        return jnp.sqrt(jnp.maximum(squares, 0))

    @property
    def gamma(self) -> Float[Array, ""]:
        """gamma_t(delta), the radius of the confidence set of Lemma 1 of Faury et al."""
        lam, bound, _, _, lipschitz = self.constants
        d = self.covariance.shape[0]
        growth = jnp.log1p(lipschitz * self.count.astype(lam.dtype) / (d * lam)) * d / 2
        volume = d * math.log(2) - jnp.log(self.delta) + growth
        return jnp.sqrt(lam) * (bound + 0.5) + 2 / jnp.sqrt(lam) * volume

    @property
    def beta(self) -> Float[Array, ""]:
        """2 L sqrt((1 + 2S)/lambda) gamma_t(delta), the bonus per width."""
        lam, bound, _, _, lipschitz = self.constants
        return 2 * lipschitz * jnp.sqrt((1 + 2 * bound) / lam) * self.gamma


def log_ucb1_prior(
    domain: FiniteDomain,
    *,
    lam: Any = 1.0,
    bound: Any = 1.0,
    delta: Any = 0.1,
    tolerance: Any = None,
) -> LogUCB1Belief:
    """The belief of Log-UCB1 before any answer.

    The theory wants ||x|| <= 1. Features are therefore divided by the length X of the longest, and
    theta, lambda and S converted (X theta, lambda/X^2, X S): the model and the fit stay the same.

    Args:
        domain: the actions; f is linear in their features, with no constant unless they have one.
        lam: lambda, the weight of the penalty.
        bound: S with ||theta|| <= S.
        delta: the probability with which any of the bounds may ever fail; 0.1 in the paper.
        tolerance: the error of theta to fit to (default: 1e-7 in float64, 2e-5 in float32).

    Raises:
        TypeError, ValueError: an argument is of the wrong kind or out of range, or all features
            are zero; the message names it. The same for an answer or a query passed to `tell`.
    """
    check_instance("domain", domain, FiniteDomain)
    points, dtype = domain.points, domain.points.dtype
    longest = jnp.max(jnp.linalg.norm(points, axis=1), initial=0)
    if is_concrete(longest) and not bool(longest > 0):
        raise ValueError("domain: expected features that are not all zero")
    lam = as_positive("lam", lam, dtype) / longest**2
    bound = as_positive("bound", bound, dtype) * longest
    link, zeros = Logistic(), jnp.zeros(points.shape[1], dtype)
    counts, zero = jnp.zeros(domain.size, dtype), jnp.zeros((), dtype)
    default = 1e-7 if dtype == jnp.float64 else 2e-5
    return LogUCB1Belief(
        constants=Constants(lam, bound, bound, link.kappa(bound), link.lipschitz(bound)),
        delta=as_fraction("delta", delta, dtype),
        tolerance=as_positive("tolerance", default if tolerance is None else tolerance, dtype),
        answers=LinearRatings(points / longest, Ratings(counts, counts)),
        fit=Fit(zeros, zeros, zeros, zero, jnp.zeros((), jnp.int32), FitStatus.converged),
        projection=Projection(zeros, zero, zero, jnp.zeros((), jnp.int32), FitStatus.converged),
        covariance=jnp.eye(points.shape[1], dtype=dtype),
        count=jnp.zeros((), jnp.int32),
    )


def _problem(answers: LinearRatings, lam: Float[Array, ""]) -> Problem:
    """The fit of theta as one with d "actions" and the unit matrix as their kernel."""
    eye = jnp.eye(answers.features.shape[1], dtype=answers.features.dtype)
    return Problem(answers, Logistic(), eye, eye, lam)


def _fitted(problem: Problem, start: Float[Array, " d"], tolerance: Float[Array, ""]) -> Fit:
    residual = start + problem.answers.gradient(problem.link, start) / problem.lam
    return fit(problem, problem.metric(start), start, residual, tolerance)[0]


def project_theta(
    problem: Problem, fitted: Fit, bound: Float[Array, ""], tolerance: Float[Array, ""]
) -> Projection:
    """theta^P; the fit itself, at no cost, if ||theta_t|| <= S.

    The derivative of g is H, so half the squared norm has the Gauss-Newton Hessian H H^-1 H = H.
    Its quadratic model with the exact gradient is minimised in the ball and the step shortened
    until the objective falls. It need not be convex: what is found is a stationary point.
    """
    answers, link, _, _, lam = problem
    norm = jnp.linalg.norm(fitted.w)
    outside = norm > bound
    target = answers.expected(link, fitted.w) + lam * fitted.w

    def root(theta: Float[Array, " d"]) -> Float[Array, "d d"]:
        eye = jnp.eye(theta.shape[0], dtype=theta.dtype)
        return jnp.linalg.cholesky(answers.expected_slope(link, theta) + lam * eye)

    def objective(theta: Float[Array, " d"]) -> Float[Array, ""]:
        rest = answers.expected(link, theta) + lam * theta - target
        return jnp.sum(solve_triangular(root(theta), rest, lower=True) ** 2) / 2

    def unfinished(carry: tuple[Array, Array, Array, Array]) -> Bool[Array, ""]:
        _, error, steps, stuck = carry
        return ~stuck & (error > tolerance) & (steps < _MAX_STEPS)

    def improve(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        theta, _, steps, _ = carry
        gradient, lower = jax.grad(objective)(theta), root(theta)
        pull = lower.T @ theta - solve_triangular(lower, gradient, lower=True)
        step = in_ball(lower.T, pull, bound) - theta
        scale, stuck = backtrack(objective, theta, step, gradient @ step)
        return theta + scale * step, jnp.max(jnp.abs(step)), steps + 1, stuck

    begin = (
        fitted.w * jnp.where(outside, bound / jnp.where(outside, norm, 1), 1),
        jnp.where(outside, jnp.inf, 0).astype(norm.dtype),
        jnp.zeros((), jnp.int32),
        jnp.array(False),
    )
    theta, error, steps, stuck = jax.lax.while_loop(unfinished, improve, begin)
    status = FitStatus.where(
        error <= tolerance,
        FitStatus.converged,
        FitStatus.where(stuck, FitStatus.stagnated, FitStatus.max_steps),
    )
    return Projection(theta, jnp.linalg.norm(theta), error, steps, status)
