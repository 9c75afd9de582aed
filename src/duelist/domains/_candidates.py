"""Candidates: a finite domain whose actions differ from context to context."""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from duelist._checks import as_floats, as_index, check_count, is_concrete
from duelist.domains._base import Action, PairScore, Plausible, Score
from duelist.domains._contextual import AbstractContextual
from duelist.domains._finite import AbstractFiniteDomain, FiniteDomain, tolerance_of


class Rows(NamedTuple):
    """The candidates of one context, padded to a power of two with copies of the first.

    Attributes:
        points: their features.
        present: which rows are candidates.
    """

    points: Float[Array, "n d"]
    present: Bool[Array, " n"]


class Candidates(AbstractFiniteDomain, AbstractContextual):
    """n actions with d features that belong to the present context only, as a prompt's responses.

    A context is its candidates' features, [n, d], with another n every time. They are numbered from
    0 in that order and padded to the next power of two, so that there are few shapes to compile
    for; what pads is never chosen. What is learnt in one context carries over by the features.

    Args:
        examples: candidates of typical contexts, one array [n, d] for each. The largest is the
            context to begin with; kernels take the range of the features from all of them.
        context_size: how many of the features, the last ones, are those of the context and the
            same for all of its candidates, as the embedding of the prompt.
        tolerance: values closer than this count as ties (default as for `FiniteDomain`).

    Raises:
        TypeError: an argument is of another kind.
        ValueError: there is no example, one is empty or not finite, or they differ in d; every
            feature is the context's.
    """

    points: Float[Array, "n d"]
    present: Bool[Array, " n"]
    examples: Float[Array, "q d"]
    tolerance: Float[Array, ""]
    shared: int = eqx.field(static=True)

    def __init__(
        self, examples: Sequence[Any], context_size: int = 0, tolerance: Any = None
    ) -> None:
        if not examples:
            raise ValueError("examples: expected the candidates of at least one context, got none")
        rows = [_as_rows(f"examples[{k}]", rows, None) for k, rows in enumerate(examples)]
        rows = [_as_rows(f"examples[{k}]", r, rows[0]) for k, r in enumerate(rows)]
        largest = max(range(len(rows)), key=lambda k: rows[k].shape[0])
        self.examples = jnp.concatenate(rows)
        self.shared = check_count("context_size", context_size, at_least=0)
        if self.shared >= self.examples.shape[1]:
            raise ValueError(
                f"context_size: expected less than the {self.examples.shape[1]} features, "
                f"got {context_size}"
            )
        self.points, self.present = padded(rows[largest])
        self.tolerance = tolerance_of(tolerance, self.points.dtype)

    # ---- contexts ----------------------------------------------------------------------------

    @property
    def context_size(self) -> int:
        """How many of the features are those of the context."""
        return self.shared

    def as_context(self, name: str, value: Any) -> Rows:
        """`value`, features [n, d] or `Rows` of them, padded."""
        if isinstance(value, Rows):
            return Rows(_as_rows(name, value.points, self.points), value.present)
        return padded(_as_rows(name, value, self.points))

    def stacked(self, contexts: Sequence[Any]) -> Rows:
        """The candidates of many contexts, padded to the largest of them."""
        rows = [self.as_context(f"contexts[{k}]", z) for k, z in enumerate(contexts)]
        most = max(each.present.shape[0] for each in rows)
        rows = [_grown(each, most) for each in rows]
        return Rows(jnp.stack([r.points for r in rows]), jnp.stack([r.present for r in rows]))

    def given(self, context: Any) -> "Candidates":
        """The candidates of this context."""
        points, present = self.as_context("context", context)
        # Beliefs that are stacked have candidates with a leading axis.
        stack = self.points.shape[:-2]
        return eqx.tree_at(
            lambda domain: (domain.points, domain.present),
            self,
            (
                jnp.broadcast_to(points, (*stack, *points.shape)),
                jnp.broadcast_to(present, (*stack, *present.shape)),
            ),
        )

    # ---- actions -----------------------------------------------------------------------------

    def as_action(self, name: str, value: Any) -> Action:
        """`value` as the number of a candidate."""
        concrete = is_concrete(self.present)
        return as_index(name, value, int(jnp.sum(self.present)) if concrete else self.size)

    def contains(self, action: Action) -> Bool[Array, ""]:
        """Whether `action` is the number of a candidate."""
        action = jnp.asarray(action)
        return (action >= 0) & (action < jnp.sum(self.present))

    def probes(self) -> Float[Array, "q d"]:
        """All examples."""
        return self.examples

    def rivals(self) -> Float[Array, "n d"]:
        """The candidates; inside `jit`, where shapes are fixed, with what pads them."""
        return self.points[self.present] if is_concrete(self.present) else self.points

    def bag(self) -> NoReturn:
        """There is none.

        Raises:
            TypeError: always; the candidates of one context are no actions of another.
        """
        raise TypeError("domain: expected the same actions in every context, got Candidates")

    # ---- searches ----------------------------------------------------------------------------

    def argmax(
        self, score: Score, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None
    ) -> Action:
        """The candidate of the highest score."""
        return self._table.argmax(score, key, self._among(within))

    def argmax_pair(
        self, score: PairScore, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None
    ) -> tuple[Action, Action]:
        """The pair of the highest score."""
        return self._table.argmax_pair(score, key, self._among(within))

    def maxmin(
        self,
        score: PairScore,
        key: PRNGKeyArray,
        within: Bool[Array, " n"] | None = None,
        *,
        distinct: bool = False,
    ) -> tuple[Action, Action]:
        """Leader and follower of the game, by its whole table."""
        return self._table.maxmin(score, key, self._among(within), distinct=distinct)

    def plausible(self, ucb: PairScore, level: float, utility: Score) -> Plausible:
        """M_t as a mask of shape [n]: what pads neither belongs to it nor rules anything out."""

        def among(x: Action, x2: Action) -> Float[Array, "..."]:
            table = jnp.where(self.present[None, :], ucb(x, x2), jnp.inf)
            return jnp.where(self.present[:, None], table, -jnp.inf)

        def height(x: Action) -> Float[Array, "..."]:
            return jnp.where(self.present, utility(x), -jnp.inf)

        return self._table.plausible(among, level, height)

    def sample(self, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None) -> Action:
        """A candidate drawn uniformly from all or from `within`."""
        return self._table.sample(key, self._among(within))

    @property
    def _table(self) -> FiniteDomain:
        """The rows as a finite domain, what pads included."""
        return FiniteDomain(self.points, self.tolerance)

    def _among(self, within: Bool[Array, " n"] | None) -> Bool[Array, " n"]:
        return self.present if within is None else self.present & within


def padded(points: Float[Array, "n d"]) -> Rows:
    """The rows, and copies of the first up to the next power of two."""
    everyone = Rows(points, jnp.ones(points.shape[0], bool))
    return _grown(everyone, 1 << (points.shape[0] - 1).bit_length())


def _grown(rows: Rows, n: int) -> Rows:
    more = n - rows.present.shape[0]
    copies = jnp.broadcast_to(rows.points[:1], (more, rows.points.shape[1]))
    return Rows(
        jnp.concatenate([rows.points, copies]),
        jnp.concatenate([rows.present, jnp.zeros(more, bool)]),
    )


def _as_rows(name: str, value: Any, like: Float[Array, "*stack m d"] | None) -> Array:
    """`value` as the features of at least one candidate, as many of them as `like` has."""
    rows = as_floats(name, value, 2, None if like is None else like.dtype)
    if rows.size == 0:
        raise ValueError(f"{name}: expected at least one candidate, got shape {rows.shape}")
    if like is not None and rows.shape[1] != like.shape[-1]:
        raise ValueError(
            f"{name}: expected {like.shape[-1]} features of each candidate, got {rows.shape[1]}"
        )
    return rows
