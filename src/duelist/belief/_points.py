"""The belief on the points compared so far: for domains too large, or endless, for a table."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import tinygp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from duelist._checks import check_count, is_concrete
from duelist.belief._answers import AbstractAnswers, Duels, as_answer, signed_row
from duelist.belief._beta import AbstractBeta
from duelist.belief._bounds import (
    AbstractFittedBelief,
    Space,
    WidthRule,
    next_refresh,
)
from duelist.belief._broadcast import against, aligned, between, inner, own, same
from duelist.belief._constants import (
    Constants,
)
from duelist.belief._explained import PointMetric, PointProblem, explained_by, rank_one_more
from duelist.belief._fit import Fit, fit, objective, renewed
from duelist.belief._gain import gain_of
from duelist.belief._path import Path, path
from duelist.domains import AbstractDomain, Action
from duelist.links import AbstractLink


class PointBelief(AbstractFittedBelief):
    """The belief about a utility known through the m distinct points compared so far.

    Made by `point_prior`, moved on by `tell` in O(c^2) for c places, the next power of two above m.
    Outside `jit` the places double when they run out, and everything compiles once more for the new
    number. Inside `jit` shapes are fixed: `reserve` the places before (`simulate` does); an answer
    that finds none left raises.

    Predictions take actions of any leading shape: `lcb(x, x2)` with shapes [a, 1, ...] and
    [1, b, ...] is a table [a, b], by matrix products.

    Attributes:
        domain: gives the features of actions.
        kernel: k; its parameters may be tracers.
        points: features of the points compared, [c, d]; zero from row `number` on.
        number: m.
        gram: K over the points, zero beyond.
        answers: counts of the answers by point.
        explained: M with the weight 1/(lambda kappa) for every answer.
        metric: M with the Laplace weights.
    """

    domain: AbstractDomain
    kernel: tinygp.kernels.Kernel
    link: AbstractLink
    constants: Constants
    beta_rule: AbstractBeta
    tolerance: Float[Array, ""]
    points: Float[Array, "c d"]
    number: Int[Array, ""]
    gram: Float[Array, "c c"]
    answers: AbstractAnswers
    fit: Fit
    explained: Float[Array, "c c"]
    metric: PointMetric
    gain: Float[Array, ""]
    count: Int[Array, ""]
    next_refresh: Int[Array, ""]
    width_rule: WidthRule = eqx.field(static=True)
    space: Space = eqx.field(static=True)

    # ---- places ------------------------------------------------------------------------------

    @property
    def capacity(self) -> int:
        """c, the number of places for points."""
        return self.points.shape[-2]

    def with_room(self, answers: int = 1) -> "PointBelief":
        """The same belief with places for the points of `answers` more; as it is inside `jit`."""
        if not is_concrete(self.number):
            return self
        needed = int(jnp.max(self.number)) + self._arity * answers
        return self.reserve(needed if self.domain.size is None else min(needed, self.domain.size))

    def reserve(self, places: int) -> "PointBelief":
        """The same belief with at least `places` places, a power of two.

        A leading axis of stacked beliefs is kept.
        """
        more = power_of_two(places) - self.capacity
        if more <= 0:
            return self
        fields = (self.gram, self.explained, self.metric, self.answers, self.fit)
        stacked = self.number.ndim
        grown = jax.tree.map(lambda x: _grown(x, stacked, more), fields)
        points = jnp.pad(self.points, [(0, 0)] * stacked + [(0, more), (0, 0)])

        return eqx.tree_at(
            lambda b: (b.points, b.gram, b.explained, b.metric, b.answers, b.fit),
            self,
            (points, *grown),
        )

    # ---- learning ----------------------------------------------------------------------------

    def tell(self, query: tuple[Action, ...], answer: Any) -> "PointBelief":
        """Count the answer, add its points if they are new, update by rank one, refit; O(c^2)."""
        actions = self.as_query(query)
        return _told(self.with_room(), actions, as_answer(answer, self.gram.dtype))

    def as_query(self, query: tuple[Action, ...]) -> tuple[Action, ...]:
        """`query` as actions of the domain, as many as an answer is about."""
        if len(query) != self._arity:
            raise ValueError(f"query: expected a tuple of {self._arity} action(s), got {query!r}")
        return tuple(self.domain.as_action("query", x) for x in query)

    @property
    def _arity(self) -> int:
        return 2 if isinstance(self.answers, Duels) else 1

    def added(self, features: Float[Array, " d"], wanted: Bool[Array, ""]) -> "PointBelief":
        """The belief with this point among `points`, if it is `wanted` and not yet there."""
        slot, known = self.place(features)
        fresh = wanted & ~known
        number = eqx.error_if(
            self.number + fresh.astype(jnp.int32),
            fresh & (slot >= self.capacity),
            "no place is left for another point; reserve more before jit (PointBelief.reserve)",
        )
        numbers = jnp.arange(self.capacity, dtype=jnp.int32)
        here = (numbers == slot) & fresh
        points = jnp.where(here[:, None], features[None, :], self.points)
        column = jnp.where(numbers < number, against(self.kernel, features, points), 0)
        rows = jnp.where(here[:, None], column[None, :], self.gram)
        table = jnp.where(here[None, :], column[:, None], rows)
        return dataclasses.replace(self, points=points, number=number, gram=table)

    def place(self, features: Float[Array, " d"]) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """The row of a point in `points` and True, or the first free row and False."""
        used = jnp.arange(self.capacity, dtype=jnp.int32) < self.number
        matches = same(self.points, features) & used
        known = jnp.any(matches)
        found = jnp.argmax(matches).astype(jnp.int32)
        return jnp.where(known, found, self.number), known

    def problem(self, answers: AbstractAnswers | None = None) -> PointProblem:
        """The objective that the fit minimises."""
        answers = self.answers if answers is None else answers
        return PointProblem(answers, self.link, self.gram, self.constants.lam)

    def compared(self) -> tuple[Float[Array, "c d"], Float[Array, " c"]]:
        """`points`, and f_t there."""
        used = jnp.arange(self.capacity, dtype=jnp.int32) < self.number
        return self.points, jnp.where(used, self.fit.f, -jnp.inf)

    # ---- predictions -------------------------------------------------------------------------

    def utility(self, x: Action) -> Float[Array, "..."]:
        """f_t(x) = k(x, P) w, for duels up to a constant."""
        return against(self.kernel, self.domain.features(x), self.points) @ self.fit.w

    def utilities(self, x: Action, x2: Action) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """f_t(x) and f_t(x2), shaped so that arithmetic on them gives a table if both are ALL."""
        if isinstance(x, slice) and isinstance(x2, slice):
            return self.utility(x)[:, None], self.utility(x2)[None, :]
        return self.utility(x), self.utility(x2)

    def preference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """s(h_t(x, x2)), the estimated probability that x is preferred to x2."""
        return self.link.probability(self.difference(x, x2))

    def prior_variance(self, x: Action) -> Float[Array, "..."]:
        """k(x, x)."""
        return own(self.kernel, self.domain.features(x))

    def variance(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^2 with the weight 1/(lambda kappa) for every answer (eq. def_sigma)."""
        return self._variance(self.explained, x, x2)

    def laplace_variance(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^2 with the weights s'(h)/lambda of the Laplace posterior."""
        return self._variance(self.metric.explained, x, x2)

    def sample(self, key: PRNGKeyArray, support: int = 256) -> Callable[[Action], Array]:
        """One utility function drawn from the Laplace posterior at the estimate.

        The values at the points compared and at a support are drawn jointly and exactly; elsewhere
        the function is the posterior mean given those values, so that it varies too little far
        from all of them. The support is a finite domain if it has at most `support` actions (the
        whole draw is exact then), else so many random actions. O((c + support)^3).
        """
        drawn = self.path(key, support)
        return lambda x: drawn(self.kernel, self.domain.features(x))

    def path(self, key: PRNGKeyArray, support: int) -> Path:
        """What `sample` draws, as coefficients of kernel values."""
        support_key, noise_key = jr.split(key)
        others = _support(self.domain, support_key, check_count("support", support, 0))
        used = jnp.arange(self.capacity, dtype=jnp.int32) < self.number
        return path(
            self.kernel,
            noise_key,
            self.points,
            support=others,
            w=self.fit.w,
            explained=self.metric.explained,
            used=used,
            lam=self.constants.lam,
        )

    def objective(self) -> Float[Array, ""]:
        """The value of the regularised loss at the fit (eq. preference_loss)."""
        return objective(self.problem(), self.fit.w)

    def log_evidence(self) -> Float[Array, ""]:
        """By the determinant of I + K D'WD / lambda over the points."""
        problem = self.problem()
        system = jnp.eye(self.capacity, dtype=self.gram.dtype)
        system = system + self.gram @ problem.precision(self.fit.f)
        return -objective(problem, self.fit.w) - jnp.linalg.slogdet(system)[1] / 2

    def _variance(
        self, explained: Float[Array, "c c"], x: Action, x2: Action
    ) -> Float[Array, "..."]:
        """Var(f(x) - f(x2)), exactly zero where the features are the same; Var(f(x)) alone."""
        if x2 is None:
            features = self.domain.features(x)
            return jnp.maximum(self._half(explained, features)[0], 0)
        a, b = self._features(x, x2)
        var_a, known_a, _ = self._half(explained, a)
        var_b, _, values_b = self._half(explained, b)
        covariance = between(self.kernel, a, b) - inner(known_a, values_b)
        return jnp.where(same(a, b), 0, jnp.maximum(var_a + var_b - 2 * covariance, 0))

    def _half(
        self, explained: Float[Array, "c c"], features: Float[Array, "... d"]
    ) -> tuple[Float[Array, "..."], Float[Array, "... c"], Float[Array, "... c"]]:
        """Var(f(x)), k(x, P) M and k(x, P)."""
        values = against(self.kernel, features, self.points)
        known = values @ explained
        return own(self.kernel, features) - jnp.sum(known * values, axis=-1), known, values

    def _features(self, x: Action, x2: Action) -> tuple[Array, Array]:
        """Features of both, with as many axes; for two slices those of a table."""
        a, b = self.domain.features(x), self.domain.features(x2)
        if isinstance(x, slice) and isinstance(x2, slice):
            return a[:, None, :], b[None, :, :]
        return aligned(a, b)


@eqx.filter_jit
def _told(belief: PointBelief, query: tuple[Action, ...], answer: Float[Array, ""]) -> PointBelief:
    """`tell` for a belief that has room."""
    features = [belief.domain.features(x) for x in query]
    informs = jnp.array(True) if len(query) == 1 else ~same(features[0], features[1])
    for point in features:
        belief = belief.added(point, informs)
    slots = tuple(belief.place(point)[0] for point in features)
    lam, noise, count = belief.constants.lam, belief.constants.noise, belief.count + 1
    row = signed_row(slots, belief.capacity, belief.gram.dtype)
    column = belief.gram @ row
    h = column @ belief.fit.w
    weight = answer * belief.link.curvature(h) + (1 - answer) * belief.link.curvature(-h)
    explained, variance = rank_one_more(belief.explained, row, column, noise)
    laplace, _ = rank_one_more(belief.metric.explained, row, column, lam / weight)
    residual = belief.fit.residual + belief.link.pull(h, answer, 1 - answer) / lam * row
    problem = belief.problem(belief.answers.add(slots, answer))
    fitted, metric = fit(problem, PointMetric(laplace), belief.fit.w, residual, belief.tolerance)

    def scratch() -> tuple[Float[Array, "c c"], PointMetric]:
        new = explained_by(problem.answers.square() / noise, problem.gram)
        kept = jnp.where(jnp.all(jnp.isfinite(new)), new, explained)
        return kept, renewed(problem, fitted.f, metric)[0]

    due = count >= belief.next_refresh
    explained, metric = jax.lax.cond(due, scratch, lambda: (explained, metric))
    return dataclasses.replace(
        belief,
        answers=problem.answers,
        fit=fitted,
        explained=explained,
        metric=metric,
        gain=belief.gain + gain_of(variance, noise),
        count=count,
        next_refresh=jnp.where(due, next_refresh(count), belief.next_refresh),
    )


def _support(domain: AbstractDomain, key: PRNGKeyArray, support: int) -> Float[Array, "s d"]:
    if domain.size is not None and domain.size <= support:
        return domain.probes()
    return domain.features(jax.vmap(domain.sample)(jr.split(key, support)))


def power_of_two(number: int) -> int:
    """The least power of two of at least `number`."""
    return 1 << max(number - 1, 0).bit_length()


def _grown(x: Any, stacked: int, more: int) -> Any:
    """`x` with `more` zeros at the end of every axis but the first `stacked`."""
    padding = [(0, 0)] * stacked + [(0, more)] * (x.ndim - stacked)
    return jnp.pad(x, padding) if padding else x
