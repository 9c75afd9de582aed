"""The belief on a finite domain: tables over all actions, updated in O(n^2) per answer."""

import dataclasses
from collections.abc import Callable
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import tinygp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from duelist._checks import (
    as_index,
    check_choice,
    check_instance,
)
from duelist.belief._answers import (
    AbstractAnswers,
    Duels,
    Ratings,
    as_answer,
    over_pairs,
    signed_row,
)
from duelist.belief._beta import AbstractBeta, FixedBeta
from duelist.belief._bounds import (
    AbstractFittedBelief,
    FeedbackKind,
    Space,
    WidthRule,
    next_refresh,
)
from duelist.belief._constants import Constants, RangeRule, constants
from duelist.belief._covariance import (
    half_covariance,
    half_log_determinant,
    posterior_covariance,
    rank_one,
    variance,
)
from duelist.belief._fit import (
    Fit,
    FitStatus,
    Metric,
    Problem,
    fit,
    nothing_to_fit,
    objective,
    renewed,
    tolerance_in,
)
from duelist.belief._gain import gain_of
from duelist.belief._projection import Projection, project
from duelist.domains import AbstractContextual, Action, FiniteDomain
from duelist.kernels import factor, gram
from duelist.links import AbstractLink, Logistic


class TableBelief(AbstractFittedBelief):
    """The belief about the utility of n actions; made by `prior`, moved on by `tell`.

    Two covariances are kept: `covariance` with the weight 1/(lambda kappa) for every answer
    (eq. def_sigma), and the Laplace posterior, whose weights are s'(h) at the estimate.

    Attributes:
        answers: counts of the answers.
        projection: the estimate pulled into ||f||_k <= B and its status; None if not asked for.
    """

    gram: Float[Array, "n n"]
    factor: Float[Array, "n n"]
    link: AbstractLink
    constants: Constants
    beta_rule: AbstractBeta
    tolerance: Float[Array, ""]
    answers: AbstractAnswers
    fit: Fit
    projection: Projection | None
    covariance: Float[Array, "n n"]
    metric: Metric
    gain: Float[Array, ""]
    count: Int[Array, ""]
    next_refresh: Int[Array, ""]
    width_rule: WidthRule = eqx.field(static=True)
    space: Space = eqx.field(static=True)

    # ---- learning ----------------------------------------------------------------------------

    def tell(self, query: tuple[Action, ...], answer: Any) -> "TableBelief":
        """Count the answer, update both covariances by rank one, refit; O(n^2)."""
        query = self.as_query(query)
        answer = as_answer(answer, self.gram.dtype)
        count = self.count + 1
        answers = self.answers.add(query, answer)
        gain = self.gain + gain_of(variance(self.covariance, *_pair(query)), self.constants.noise)
        covariance = rank_one(self.covariance, query, self.constants.noise)
        problem = self._problem(answers)
        metric, residual = self.after(query, answer)
        fitted, metric = fit(problem, metric, self.fit.w, residual, self.tolerance)
        covariance, metric, following = self._refreshed(problem, fitted, covariance, metric, count)
        return dataclasses.replace(
            self,
            answers=answers,
            fit=fitted,
            projection=self._projected(problem, fitted),
            covariance=covariance,
            metric=metric,
            gain=gain,
            count=count,
            next_refresh=following,
        )

    def expecting(self, query: tuple[Action, ...]) -> "TableBelief":
        """Both covariances updated by rank one, the answer counted as s(h_t); O(n^2)."""
        return _expecting(self, self.as_query(query))

    def with_room(self, answers: int = 1) -> "TableBelief":
        """The same: there is always room, for all actions have their place."""
        del answers
        return self

    def _problem(self, answers: AbstractAnswers) -> Problem:
        return Problem(answers, self.link, self.gram, self.factor, self.constants.lam)

    def after(
        self, query: tuple[Action, ...], answer: Float[Array, ""]
    ) -> tuple[Metric, Float[Array, " n"]]:
        """The metric and the residual that a new answer makes, at the estimate before it."""
        row = signed_row(query, self.gram.shape[0], self.gram.dtype)
        h = row @ self.fit.f
        weight = answer * self.link.curvature(h) + (1 - answer) * self.link.curvature(-h)
        covariance = rank_one(self.metric.covariance, query, self.constants.lam / weight)
        hessian = self.metric.hessian + weight * row[:, None] * row[None, :]
        pull = self.link.pull(h, answer, 1 - answer) / self.constants.lam
        return Metric(covariance, hessian), self.fit.residual + pull * row

    def _refreshed(
        self,
        problem: Problem,
        fitted: Fit,
        covariance: Float[Array, "n n"],
        metric: Metric,
        count: Int[Array, ""],
    ) -> tuple[Float[Array, "n n"], Metric, Int[Array, ""]]:
        """Both covariances from scratch now and then, O(n^3), at a pace that costs O(log t) times.

        It wipes out the drift of rank-one updates and brings the Laplace weights up to date. Where
        rounding leaves no answer (see `posterior_covariance`) the rank-one updates stand.
        """
        due = count >= self.next_refresh

        def scratch() -> tuple[Float[Array, "n n"], Metric]:
            precision = problem.answers.square() / self.constants.noise
            new = posterior_covariance(self.factor, precision)
            kept = jnp.where(jnp.all(jnp.isfinite(new)), new, covariance)
            return kept, renewed(problem, fitted.f, metric)[0]

        covariance, metric = jax.lax.cond(due, scratch, lambda: (covariance, metric))
        return covariance, metric, jnp.where(due, next_refresh(count), self.next_refresh)

    def _projected(self, problem: Problem, fitted: Fit) -> Projection | None:
        if self.projection is None:
            return None
        bound, noise = self.constants.bound, self.constants.noise
        return project(problem, fitted, bound, noise, self.tolerance)

    # ---- predictions -------------------------------------------------------------------------

    @property
    def centre(self) -> Float[Array, " n"]:
        """The estimate that predictions and bounds are centred on: projected, or as fitted."""
        return self.fit.f if self.projection is None else self.projection.f

    def utility(self, x: Action) -> Float[Array, "..."]:
        """f_t(x), for duels up to a constant."""
        return self.centre[x]

    def utilities(self, x: Action, x2: Action) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """f_t(x) and f_t(x2), shaped so that arithmetic on them gives a table if both are ALL."""
        return over_pairs(self.centre, x, x2)

    def preference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """s(h_t(x, x2)), the estimated probability that x is preferred to x2."""
        if isinstance(x, slice) and isinstance(x2, slice):
            return self.link.probabilities(self.centre)[x, x2]
        return self.link.probability(self.difference(x, x2))

    def variance(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^2 with the weight 1/(lambda kappa) for every answer (eq. def_sigma)."""
        return variance(self.covariance, x, x2)

    def prior_variance(self, x: Action) -> Float[Array, "..."]:
        """k(x, x)."""
        return jnp.diagonal(self.gram)[x]

    def laplace_variance(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^2 with the weights s'(h)/lambda of the Laplace posterior."""
        return variance(self.metric.covariance, x, x2)

    def sample(self, key: PRNGKeyArray) -> Callable[[Action], Float[Array, "..."]]:
        """One utility function drawn from the Laplace posterior at the estimate; O(n^3)."""
        problem = self._problem(self.answers)
        hessian = self.answers.hessian(self.link, self.fit.f)
        half = half_covariance(self.factor, hessian / problem.lam)
        noise = jr.normal(key, self.fit.f.shape, self.gram.dtype)
        values = self.fit.f + half.T @ noise / jnp.sqrt(problem.lam)
        return lambda x: values[x]

    def log_evidence(self) -> Float[Array, ""]:
        """By the determinant of I + F' D'WD F / lambda, which is the same."""
        problem = self._problem(self.answers)
        hessian = self.answers.hessian(self.link, self.fit.f)
        return -self.objective() - half_log_determinant(self.factor, hessian / problem.lam)

    def objective(self) -> Float[Array, ""]:
        """The value of the regularised loss at the fit (eq. preference_loss)."""
        return objective(self._problem(self.answers), self.fit.w)

    def as_query(self, query: tuple[Action, ...]) -> tuple[Int[Array, ""], ...]:
        """`query` as numbers of actions, as many as an answer is about."""
        expected = 2 if isinstance(self.answers, Duels) else 1
        if len(query) != expected:
            raise ValueError(f"query: expected a tuple of {expected} action(s), got {query!r}")
        return tuple(as_index("query", x, self.gram.shape[-1]) for x in query)


@eqx.filter_jit
def _expecting(belief: TableBelief, query: tuple[Action, ...]) -> TableBelief:
    row = signed_row(query, belief.gram.shape[0], belief.gram.dtype)
    answer = belief.link.probability(row @ belief.fit.f)
    return dataclasses.replace(
        belief,
        answers=belief.answers.add(query, answer),
        covariance=rank_one(belief.covariance, query, belief.constants.noise),
        metric=belief.after(query, answer)[0],
    )


def prior(
    domain: FiniteDomain,
    kernel: tinygp.kernels.Kernel,
    feedback: FeedbackKind = "duels",
    *,
    link: AbstractLink | None = None,
    lam: Any = 1.0,
    bound: Any = 1.0,
    beta: AbstractBeta | None = None,
    width: WidthRule = "worst-case",
    space: Space = "probability",
    range_rule: RangeRule = "general",
    projected: bool = False,
    tolerance: Any = None,
) -> TableBelief:
    """The belief before any answer.

    Args:
        domain: the actions.
        kernel: a tinygp kernel on their features; the theory wants k(x, x) <= 1 (`to_unit`).
        feedback: "duels" for queries (x, x'), "ratings" for direct feedback on (x,).
        link: s, logistic by default.
        lam: lambda, the weight of the penalty.
        bound: B with ||f||_k <= B, from which kappa and L follow.
        beta: the rule for beta_t; `FixedBeta(1.0)` by default, as in the paper's experiments.
        width: "worst-case" for sigma_t of the paper, "laplace" for curvature-weighted widths.
            Laplace weights are those of the time of each answer, renewed at growing intervals.
        space: whether lcb and ucb bound probabilities or utility differences.
        range_rule: which bound on |h| kappa is taken from, see `constants`.
        projected: whether to project the estimate onto ||f||_k <= B (eq. def_thetap), as the proofs
            do and the experiments do not; O(n^3) per answer when the estimate lies outside.
        tolerance: the error of f to fit to (default: 1e-7 in float64, 2e-5 in float32).

    Raises:
        TypeError, ValueError: an argument is of the wrong kind or out of range; the message names
            it. The same for an answer or a query passed to `tell`.
    """
    if isinstance(domain, AbstractContextual):
        raise TypeError(
            f"domain: expected FiniteDomain, got {type(domain).__name__}; with contexts take "
            "point_prior or adaptive_prior"
        )
    check_instance("domain", domain, FiniteDomain)
    check_choice("feedback", feedback, get_args(FeedbackKind))
    check_choice("width", width, get_args(WidthRule))
    check_choice("space", space, get_args(Space))
    link = Logistic() if link is None else link
    beta = FixedBeta() if beta is None else beta
    check_instance("link", link, AbstractLink)
    check_instance("beta", beta, AbstractBeta)
    matrix = gram(kernel, domain.points)
    dtype = matrix.dtype
    n = matrix.shape[0]
    zeros = jnp.zeros(n, dtype)
    duels = feedback == "duels"
    none = jnp.zeros((n, n), dtype)
    answers = Duels(none) if duels else Ratings(zeros, zeros)
    return TableBelief(
        gram=matrix,
        factor=factor(matrix),
        link=link,
        constants=constants(link, matrix, lam, bound, duels=duels, rule=range_rule),
        beta_rule=beta,
        tolerance=tolerance_in(tolerance, dtype),
        answers=answers,
        fit=nothing_to_fit(zeros),
        projection=_nothing_to_project(zeros) if projected else None,
        covariance=matrix,
        metric=Metric(matrix, none),
        gain=jnp.zeros((), dtype),
        count=jnp.zeros((), jnp.int32),
        next_refresh=next_refresh(jnp.zeros((), jnp.int32)),
        width_rule=width,
        space=space,
    )


def _nothing_to_project(zeros: Float[Array, " n"]) -> Projection:
    zero = jnp.zeros((), zeros.dtype)
    return Projection(zeros, zero, zero, jnp.zeros((), jnp.int32), FitStatus.converged)


def _pair(query: tuple[Action, ...]) -> tuple[Action, Action]:
    return (query[0], None) if len(query) == 1 else (query[0], query[1])
