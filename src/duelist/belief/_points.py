"""The belief on the points compared so far: for domains too large, or endless, for a table."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

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
from duelist.belief._items import AbstractItems, Step, items_of
from duelist.belief._path import Path, path, support_of
from duelist.belief._places import Places, grown, place, power_of_two, with_point
from duelist.domains import AbstractDomain, Action, Catalogue
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
        items: utility and variances of every action of a catalogue, kept so that no search computes
            them; None otherwise.
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
    items: AbstractItems | None
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
        most = self.domain.distinct
        needed = needed if most is None else min(needed, most)
        items = None if self.items is None else self.items.reserve(needed)
        return dataclasses.replace(self.reserve(needed), items=items)

    def reserve(self, places: int) -> "PointBelief":
        """The same belief with at least `places` places, a power of two.

        A leading axis of stacked beliefs is kept.
        """
        more = power_of_two(places) - self.capacity
        if more <= 0:
            return self
        fields = (self.gram, self.explained, self.metric, self.answers, self.fit)
        stacked = self.number.ndim
        padded = jax.tree.map(lambda x: grown(x, stacked, more), fields)
        points = jnp.pad(self.points, [(0, 0)] * stacked + [(0, more), (0, 0)])

        return eqx.tree_at(
            lambda b: (b.points, b.gram, b.explained, b.metric, b.answers, b.fit),
            self,
            (points, *padded),
        )

    def on(self, domain: AbstractDomain) -> "PointBelief":
        """The same knowledge about another domain with the same features; not inside `jit`."""
        items = None
        if isinstance(domain, Catalogue):
            used = self.points[: int(self.number)]
            items = items_of(
                self.kernel,
                domain.points,
                used,
                w=self.fit.w,
                worst=self.explained,
                laplace=self.metric.explained,
            )
        return dataclasses.replace(self, domain=domain, items=items)

    # ---- learning ----------------------------------------------------------------------------

    def tell(self, query: tuple[Action, ...], answer: Any) -> "PointBelief":
        """Count the answer, add its points if they are new, update by rank one, refit; O(c^2)."""
        actions = self.as_query(query)
        before = self.with_room()
        without = dataclasses.replace(before, items=None)
        after, step, places = _told(without, actions, as_answer(answer, self.gram.dtype))
        return after.with_items(before, actions, places, step)

    def expecting(self, query: tuple[Action, ...]) -> "PointBelief":
        """Both M updated by rank one, the answer counted as s(h_t); O(c^2).

        The points of the query take places like those of an answer.
        """
        actions = self.as_query(query)
        before = self.with_room()
        after, step, places = _expecting(dataclasses.replace(before, items=None), actions)
        return after.with_items(before, actions, places, step)

    def with_items(
        self,
        before: "PointBelief",
        actions: tuple[Action, ...],
        places: tuple[Int[Array, ""], ...],
        step: Step,
    ) -> "PointBelief":
        """This belief with the `items` of the one before, moved on by `step`."""
        if before.items is None:
            return self
        features = [self.domain.features(x) for x in actions]
        rows = before.items.with_rows(self.kernel, before.domain.probes(), features, places)
        items = rows.told(step, self.fit.w, self.metric.explained)
        # A compiled function returns copies; that of a large domain need not live on.
        return dataclasses.replace(self, items=items, domain=before.domain)

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
        places = with_point(
            self.kernel, Places(self.points, self.number, self.gram), features, wanted
        )
        return dataclasses.replace(
            self, points=places.points, number=places.number, gram=places.gram
        )

    def problem(self) -> PointProblem:
        """The objective that the fit minimises."""
        return PointProblem(self.answers, self.link, self.gram, self.constants.lam)

    def compared(self) -> tuple[Float[Array, "c d"], Float[Array, " c"]]:
        """`points`, and f_t there."""
        used = jnp.arange(self.capacity, dtype=jnp.int32) < self.number
        return self.points, jnp.where(used, self.fit.f, -jnp.inf)

    # ---- predictions -------------------------------------------------------------------------

    def utility(self, x: Action) -> Float[Array, "..."]:
        """f_t(x) = k(x, P) w, for duels up to a constant."""
        if self.items is not None:
            return self.items.utility[x]
        return against(self.kernel, self.domain.features(x), self.points) @ self.fit.w

    def utilities(self, x: Action, x2: Action) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """f_t(x) and f_t(x2), shaped so that arithmetic on them gives a table if both are ALL."""
        if isinstance(x, slice) and isinstance(x2, slice):
            return self.utility(x)[:, None], self.utility(x2)[None, :]
        return aligned(self.utility(x), self.utility(x2))

    def preference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """s(h_t(x, x2)), the estimated probability that x is preferred to x2."""
        return self.link.probability(self.difference(x, x2))

    def prior_variance(self, x: Action) -> Float[Array, "..."]:
        """k(x, x)."""
        return own(self.kernel, self.domain.features(x))

    def variance(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^2 with the weight 1/(lambda kappa) for every answer (eq. def_sigma)."""
        known = None if self.items is None else self.items.variance
        return self._variance(self.explained, known, x, x2)

    def laplace_variance(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """sigma_t^2 with the weights s'(h)/lambda of the Laplace posterior."""
        known = None if self.items is None else self.items.laplace
        return self._variance(self.metric.explained, known, x, x2)

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
        others = support_of(self.domain, support_key, check_count("support", support, 0))
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
        self,
        explained: Float[Array, "c c"],
        known: Float[Array, " n"] | None,
        x: Action,
        x2: Action,
    ) -> Float[Array, "..."]:
        """Var(f(x) - f(x2)), exactly zero where the features are the same; Var(f(x)) alone.

        `known` are the variances of all actions, if they are kept.
        """
        if x2 is None:
            return jnp.maximum(self._alone(explained, known, x), 0)
        a, b = self._features(x, x2)
        table = isinstance(x, slice) and isinstance(x2, slice)
        first, second = self._alone(explained, known, x), self._alone(explained, known, x2)
        first, second = (first[:, None], second[None, :]) if table else aligned(first, second)
        covariance = between(self.kernel, a, b) - self._explained_between(explained, x, x2)
        return jnp.where(same(a, b), 0, jnp.maximum(first + second - 2 * covariance, 0))

    def _alone(
        self, explained: Float[Array, "c c"], known: Float[Array, " n"] | None, x: Action
    ) -> Float[Array, "..."]:
        """Var(f(x)) = k(x, x) - k(x, P) M k(P, x)."""
        if known is not None:
            return known[x]
        features = self.domain.features(x)
        values = against(self.kernel, features, self.points)
        return own(self.kernel, features) - jnp.sum((values @ explained) * values, axis=-1)

    def _explained_between(
        self, explained: Float[Array, "c c"], x: Action, x2: Action
    ) -> Float[Array, "..."]:
        """k(x, P) M k(P, x2), with M applied to the side of fewer actions."""
        a, b = self._features(x, x2)
        if isinstance(x, slice) == isinstance(x2, slice) or self.items is None:
            one, other = (against(self.kernel, z, self.points) for z in (a, b))
            if a.size <= b.size:
                return inner(one @ explained, other)
            return (
                inner(one @ explained, other) if a.size <= b.size else inner(one, other @ explained)
            )
        few = against(self.kernel, b if isinstance(x, slice) else a, self.points) @ explained
        return self.items.products(few)

    def _features(self, x: Action, x2: Action) -> tuple[Array, Array]:
        """Features of both, with as many axes; for two slices those of a table."""
        a, b = self.domain.features(x), self.domain.features(x2)
        if isinstance(x, slice) and isinstance(x2, slice):
            return a[:, None, :], b[None, :, :]
        return aligned(a, b)


class _Asked(NamedTuple):
    """A query in terms of the points: its places, its row d of D, K d, and h_t."""

    places: tuple[Int[Array, ""], ...]
    row: Float[Array, " c"]
    column: Float[Array, " c"]
    h: Float[Array, ""]


def _asked(belief: PointBelief, query: tuple[Action, ...]) -> tuple[PointBelief, _Asked]:
    """The belief with places for the points of the query, and the query."""
    features = [belief.domain.features(x) for x in query]
    informs = jnp.array(True) if len(query) == 1 else ~same(features[0], features[1])
    for point in features:
        belief = belief.added(point, informs)
    slots = tuple(place(belief.points, belief.number, point)[0] for point in features)
    row = signed_row(slots, belief.capacity, belief.gram.dtype)
    column = belief.gram @ row
    return belief, _Asked(slots, row, column, column @ belief.fit.w)


def _counted(
    belief: PointBelief, asked: _Asked, answer: Float[Array, ""]
) -> tuple[PointBelief, Step, Float[Array, ""]]:
    """The belief with one more answer in its counts and both M, how M changed, and sigma^2."""
    slots, row, column, h = asked
    lam, noise = belief.constants.lam, belief.constants.noise
    weight = answer * belief.link.curvature(h) + (1 - answer) * belief.link.curvature(-h)
    worst, variance = rank_one_more(belief.explained, row, column, noise)
    curved, _ = rank_one_more(belief.metric.explained, row, column, lam / weight)
    counted = dataclasses.replace(
        belief,
        answers=belief.answers.add(slots, answer),
        explained=belief.explained + worst[:, None] * worst[None, :],
        metric=PointMetric(belief.metric.explained + curved[:, None] * curved[None, :]),
    )
    return counted, Step(worst, curved, jnp.array(False)), variance


@eqx.filter_jit
def _expecting(
    belief: PointBelief, query: tuple[Action, ...]
) -> tuple[PointBelief, Step, tuple[Int[Array, ""], ...]]:
    """`expecting` for a belief that has room, how it changed M, and the places of the points."""
    belief, asked = _asked(belief, query)
    belief, step, _ = _counted(belief, asked, belief.link.probability(asked.h))
    fitted = dataclasses.replace(belief.fit, f=belief.gram @ belief.fit.w)
    return dataclasses.replace(belief, fit=fitted), step, asked.places


@eqx.filter_jit
def _told(
    belief: PointBelief, query: tuple[Action, ...], answer: Float[Array, ""]
) -> tuple[PointBelief, Step, tuple[Int[Array, ""], ...]]:
    """`tell` for a belief that has room, how it changed M, and the places of the points."""
    belief, asked = _asked(belief, query)
    belief, step, variance = _counted(belief, asked, answer)
    lam, noise, count = belief.constants.lam, belief.constants.noise, belief.count + 1
    pull = belief.link.pull(asked.h, answer, 1 - answer) / lam
    residual = belief.fit.residual + pull * asked.row
    problem, laplace = belief.problem(), belief.metric
    fitted, metric = fit(problem, laplace, belief.fit.w, residual, belief.tolerance)

    def scratch() -> tuple[Float[Array, "c c"], PointMetric]:
        new = explained_by(problem.answers.square() / noise, problem.gram)
        kept = jnp.where(jnp.all(jnp.isfinite(new)), new, belief.explained)
        return kept, renewed(problem, fitted.f, metric)[0]

    due = count >= belief.next_refresh
    explained, metric = jax.lax.cond(due, scratch, lambda: (belief.explained, metric))
    told = dataclasses.replace(
        belief,
        fit=fitted,
        explained=explained,
        metric=metric,
        gain=belief.gain + gain_of(variance, noise),
        count=count,
        next_refresh=jnp.where(due, next_refresh(count), belief.next_refresh),
    )
    changed = jnp.any(metric.explained != laplace.explained)
    return told, step._replace(renewed=changed), asked.places
