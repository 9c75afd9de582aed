"""The MAP fit f_t: Newton's method on the distinct actions, started from the last fit.

Minimises sum_t -log-likelihood + (lambda/2) ||f||_k^2 (eq. logistic_loss, eq. preference_loss). By
the representer theorem f = K w, and ||f||_k^2 = w' K w (Proposition representer prints
||alpha||_2^2; see docs/errata.md). The gradient vanishes where w + g(f)/lambda = 0, g = D'(p - y).
"""

import abc
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from duelist._checks import as_positive
from duelist.belief._answers import AbstractAnswers
from duelist.belief._covariance import posterior_covariance
from duelist.links import AbstractLink

_QUICK_STEPS = 8
_CONTRACTION = 0.5
_MAX_STEPS = 100
_MAX_HALVINGS = 30


class FitStatus(eqx.Enumeration):
    """How a fit ended."""

    converged = "the remaining Newton step is below the tolerance"
    stagnated = "no step can be found that lowers the objective: rounding limits this fit"
    max_steps = "the largest number of Newton steps was reached before the tolerance"


class Fit(eqx.Module):
    """The fitted utility and how well it solves the problem.

    Attributes:
        w: coefficients, f = K w.
        f: the utility of every action; for duels up to a constant that cannot be known.
        residual: w + D'(p - y)/lambda, the gradient over lambda; zero at the optimum.
        error: largest entry of the remaining Newton step, the estimated error of f.
        steps: Newton steps taken since the answer before.
        status: a `FitStatus`.
    """

    w: Float[Array, " n"]
    f: Float[Array, " n"]
    residual: Float[Array, " n"]
    error: Float[Array, ""]
    steps: Int[Array, ""]
    status: FitStatus

    @property
    def converged(self) -> Bool[Array, ""]:
        """Whether the tolerance was met."""
        return self.status == FitStatus.converged


class AbstractMetric(eqx.Module):
    """What a Newton step is computed with: the second derivative of the loss at some f."""

    @abc.abstractmethod
    def newton(
        self, gram: Float[Array, "n n"], lam: Float[Array, ""], residual: Float[Array, " n"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The Newton step in f, -C residual, and in w, K^-1 times the first."""


MetricT = TypeVar("MetricT", bound=AbstractMetric)
MetricT_co = TypeVar("MetricT_co", bound=AbstractMetric, covariant=True)


class Metric(AbstractMetric):
    """C = (K^-1 + H/lambda)^-1 and the Hessian H in it."""

    covariance: Float[Array, "n n"]
    hessian: Float[Array, "n n"]

    def newton(
        self, gram: Float[Array, "n n"], lam: Float[Array, ""], residual: Float[Array, " n"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """By C; K^-1 C r = r - H C r / lambda."""
        del gram
        step = -(self.covariance @ residual)
        return step, -residual - self.hessian @ step / lam


@runtime_checkable
class FitProblem(Protocol[MetricT_co]):
    """The objective, and how the metric at a point is made."""

    @property
    def answers(self) -> AbstractAnswers: ...
    @property
    def link(self) -> AbstractLink: ...
    @property
    def gram(self) -> Float[Array, "n n"]: ...
    @property
    def lam(self) -> Float[Array, ""]: ...
    def metric(self, f: Float[Array, " n"]) -> MetricT_co:
        """The metric at f, from scratch; NaN where rounding leaves none."""
        ...


class Problem(NamedTuple):
    """The objective: answers, link, Gram matrix K = F F' and lambda."""

    answers: AbstractAnswers
    link: AbstractLink
    gram: Float[Array, "n n"]
    factor: Float[Array, "n n"]
    lam: Float[Array, ""]

    def metric(self, f: Float[Array, " n"]) -> Metric:
        """The Laplace posterior at f, from scratch: C = (K^-1 + D'WD/lambda)^-1."""
        hessian = self.answers.hessian(self.link, f)
        return Metric(posterior_covariance(self.factor, hessian / self.lam), hessian)


def objective(problem: FitProblem[Any], w: Float[Array, " n"]) -> Float[Array, ""]:
    """The loss of eq. preference_loss at f = K w, penalty included."""
    f = problem.gram @ w
    return problem.answers.loss(problem.link, f) + problem.lam / 2 * (w @ f)


def renewed(
    problem: FitProblem[MetricT], f: Float[Array, " n"], metric: MetricT
) -> tuple[MetricT, Bool[Array, ""]]:
    """`metric` at f and True, or as it was and False where rounding makes it NaN at f."""
    new = problem.metric(f)
    finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(part)) for part in jax.tree.leaves(new)]))
    return jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, metric), finite


class _Point(NamedTuple):
    """A point w with the Newton step there: `step` in f, `direction` = K^-1 step in w."""

    w: Float[Array, " n"]
    f: Float[Array, " n"]
    residual: Float[Array, " n"]
    step: Float[Array, " n"]
    direction: Float[Array, " n"]
    size: Float[Array, ""]


def fit(
    problem: FitProblem[MetricT],
    metric: MetricT,
    start: Float[Array, " n"],
    residual: Float[Array, " n"],
    tolerance: Float[Array, ""],
) -> tuple[Fit, MetricT]:
    """Minimise from w = `start`, where the `residual` is known.

    First quick steps with the `metric` at hand, as long as they contract; then, if needed, exact
    Newton steps with backtracking. `tolerance` is the largest error of f to accept.

    Returns:
        The fit, and the metric, which is a new one if exact steps were taken. Nothing is raised:
        the status tells.
    """
    begin = _newton_step(problem, metric, start, problem.gram @ start, residual)
    point, steps = _quick(problem, metric, begin, tolerance)
    point, metric, steps, stuck = _exact(problem, metric, point, steps, tolerance)
    status = FitStatus.where(
        point.size <= tolerance,
        FitStatus.converged,
        FitStatus.where(stuck, FitStatus.stagnated, FitStatus.max_steps),
    )
    return Fit(point.w, point.f, point.residual, point.size, steps, status), metric


def _evaluate(problem: FitProblem[MetricT], metric: MetricT, w: Float[Array, " n"]) -> _Point:
    f = problem.gram @ w
    residual = w + problem.answers.gradient(problem.link, f) / problem.lam
    return _newton_step(problem, metric, w, f, residual)


def _newton_step(
    problem: FitProblem[MetricT],
    metric: MetricT,
    w: Float[Array, " n"],
    f: Float[Array, " n"],
    residual: Float[Array, " n"],
) -> _Point:
    step, direction = metric.newton(problem.gram, problem.lam, residual)
    return _Point(w, f, residual, step, direction, jnp.max(jnp.abs(step)))


def _quick(
    problem: FitProblem[MetricT],
    metric: MetricT,
    start: _Point,
    tolerance: Float[Array, ""],
) -> tuple[_Point, Int[Array, ""]]:
    """Steps with the metric at hand, extrapolated from the last two (Anderson 1965, depth one)."""

    def unfinished(carry: tuple[_Point, _Point, Array, Array]) -> Array:
        point, _, steps, contracts = carry
        return contracts & (point.size > tolerance) & (steps < _QUICK_STEPS)

    def improve(
        carry: tuple[_Point, _Point, Array, Array],
    ) -> tuple[_Point, _Point, Array, Array]:
        point, before, steps, _ = carry
        bend = point.step - before.step
        square = bend @ bend
        theta = jnp.where(square > 0, (point.step @ bend) / jnp.where(square > 0, square, 1), 0)
        plain, plain_before = point.w + point.direction, before.w + before.direction
        w = plain - theta * (plain - plain_before)
        new = _evaluate(problem, metric, w)
        contracts = new.size < _CONTRACTION * point.size
        kept = jax.tree.map(lambda a, b: jnp.where(contracts, a, b), new, point)
        return kept, point, steps + 1, contracts

    begin = (start, start, jnp.zeros((), jnp.int32), jnp.array(True))
    point, _, steps, _ = jax.lax.while_loop(unfinished, improve, begin)
    return point, steps


def _exact(
    problem: FitProblem[MetricT],
    metric: MetricT,
    point: _Point,
    steps: Int[Array, ""],
    tolerance: Float[Array, ""],
) -> tuple[_Point, MetricT, Int[Array, ""], Bool[Array, ""]]:
    def unfinished(carry: tuple[_Point, MetricT, Array, Array]) -> Array:
        point, _, steps, stuck = carry
        return ~stuck & (point.size > tolerance) & (steps < _MAX_STEPS)

    def improve(
        carry: tuple[_Point, MetricT, Array, Array],
    ) -> tuple[_Point, MetricT, Array, Array]:
        point, metric, steps, _ = carry
        metric, fresh = renewed(problem, point.f, metric)
        point = _evaluate(problem, metric, point.w)
        w, stuck = _backtrack(problem, point, point.direction)
        return _evaluate(problem, metric, w), metric, steps + 1, stuck | ~fresh

    begin = (point, metric, steps, jnp.array(False))
    return jax.lax.while_loop(unfinished, improve, begin)


def _backtrack(
    problem: FitProblem[MetricT], point: _Point, direction: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Bool[Array, ""]]:
    """Halve the step until the objective falls; stay, and say so, if it never does."""
    old = objective(problem, point.w)

    def too_long(carry: tuple[Array, Array]) -> Array:
        scale, halvings = carry
        falls = objective(problem, point.w + scale * direction) < old
        return ~falls & (halvings < _MAX_HALVINGS)

    def halve(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        scale, halvings = carry
        return scale / 2, halvings + 1

    begin = (jnp.ones((), old.dtype), jnp.zeros((), jnp.int32))
    scale, halvings = jax.lax.while_loop(too_long, halve, begin)
    stuck = halvings >= _MAX_HALVINGS
    return jnp.where(stuck, point.w, point.w + scale * direction), stuck


def tolerance_in(given: Any, dtype: Any) -> Float[Array, ""]:
    """The tolerance `given`, or the default: 1e-7 in float64, 2e-5 in float32."""
    default = 1e-7 if dtype == jnp.float64 else 2e-5
    return as_positive("tolerance", default if given is None else given, dtype)


def nothing_to_fit(zeros: Float[Array, " n"]) -> Fit:
    """The fit to no answers."""
    zero = jnp.zeros((), zeros.dtype)
    return Fit(zeros, zeros, zeros, zero, jnp.zeros((), jnp.int32), FitStatus.converged)
