"""A finite domain: n actions with features, searched exhaustively."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from duelist._checks import as_floats, as_index, as_nonnegative
from duelist.domains._base import (
    ALL,
    AbstractBag,
    AbstractDomain,
    Action,
    PairScore,
    Plausible,
    Score,
)


def as_points(points: Any) -> Float[Array, "n d"]:
    """`points` as the features of at least one action."""
    points = as_floats("points", points, 2)
    if points.shape[0] == 0:
        raise ValueError("points: expected at least one action, got an empty domain")
    return points


def tolerance_of(given: Any, dtype: Any) -> Float[Array, ""]:
    """The tolerance `given`, or eps^(2/3)."""
    default = float(jnp.finfo(dtype).eps) ** (2 / 3)
    return as_nonnegative("tolerance", default if given is None else given, dtype)


class AbstractFiniteDomain(AbstractDomain):
    """n actions, numbered from 0, each with d features that a kernel can compare."""

    points: eqx.AbstractVar[Float[Array, "n d"]]
    tolerance: eqx.AbstractVar[Float[Array, ""]]

    @property
    def size(self) -> int:
        """n, the number of actions."""
        return self.points.shape[0]

    def as_action(self, name: str, value: Any) -> Action:
        """`value` as an action number."""
        return as_index(name, value, self.size)

    def features(self, action: Action) -> Float[Array, "*shape d"]:
        """Rows of `points`."""
        return self.points[action]

    def probes(self) -> Float[Array, "q d"]:
        """All points."""
        return self.points

    def contains(self, action: Action) -> Bool[Array, ""]:
        """Whether `action` is one of 0, ..., n - 1."""
        action = jnp.asarray(action)
        return (action >= 0) & (action < self.size)

    def bag(self) -> "FiniteBag":
        """An empty multiset: a count of zero for every action."""
        return FiniteBag(jnp.zeros(self.size, jnp.int32))

    def _best(
        self, values: Float[Array, " n"], key: PRNGKeyArray, within: Bool[Array, " n"] | None = None
    ) -> Int[Array, ""]:
        """Where the highest value is, among the members of `within`."""
        values = values if within is None else jnp.where(within, values, -jnp.inf)
        tied = values >= jnp.max(values) - self.tolerance
        # Where every member is at -inf the others tie with them.
        return pick(tied if within is None else tied & within, key)


class FiniteDomain(AbstractFiniteDomain):
    """n actions, numbered from 0, each with d features that a kernel can compare.

    Searches evaluate a score on all actions or all pairs at once. Among values within `tolerance`
    of the best one the choice is uniform, so that the numbering of the actions never decides.

    Args:
        points: features, shape [n, d], n >= 1; their dtype is the dtype of all that follows.
        tolerance: values closer than this count as ties (default: eps^(2/3) of the dtype, 4e-11 in
            float64 and 2e-5 in float32, above the rounding of scores of order one).

    Raises:
        ValueError: `points` is empty, not of two axes, or not finite; `tolerance` is negative.
    """

    points: Float[Array, "n d"]
    tolerance: Float[Array, ""]

    def __init__(self, points: Any, tolerance: Any = None) -> None:
        self.points = as_points(points)
        self.tolerance = tolerance_of(tolerance, self.points.dtype)

    def argmax(
        self, score: Score, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None
    ) -> Action:
        """The action of the highest score."""
        return self._best(score(ALL), key, within)

    def argmax_pair(
        self, score: PairScore, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None
    ) -> tuple[Action, Action]:
        """The pair of the highest score; uniform among tied pairs."""
        table = score(ALL, ALL)
        both = True if within is None else within[:, None] & within[None, :]
        table = jnp.where(both, table, -jnp.inf)
        tied = both & (table >= jnp.max(table) - self.tolerance)
        first_key, second_key = jr.split(key)
        # A row in proportion to its ties, then one of them: uniform with n draws instead of n^2.
        first = jr.categorical(first_key, jnp.log(jnp.sum(tied, axis=1).astype(table.dtype)))
        return as_number(first), pick(tied[first], second_key)

    def maxmin(
        self,
        score: PairScore,
        key: PRNGKeyArray,
        within: Bool[Array, " n"] | None = None,
        *,
        distinct: bool = False,
    ) -> tuple[Action, Action]:
        """Leader (row) and follower (column) of the game, by its whole table."""
        table = score(ALL, ALL)
        if within is not None:
            table = jnp.where(within[None, :], table, jnp.inf)
        if distinct:
            others = self.size if within is None else jnp.sum(within)
            table = jnp.where(jnp.eye(self.size, dtype=bool) & (others > 1), jnp.inf, table)
        leader_key, follower_key = jr.split(key)
        leader = self._best(jnp.min(table, axis=1), leader_key, within)
        return leader, self._best(-table[leader], follower_key, within)

    def plausible(self, ucb: PairScore, level: float, utility: Score) -> Plausible:
        """M_t as a mask of shape [n]; `tolerance` keeps an action that ties with the level.

        Every action ties with itself, and with those that are identical to it, up to rounding.
        """
        members = jnp.all(ucb(ALL, ALL) >= level - self.tolerance, axis=1)
        empty = ~jnp.any(members)
        alone = jnp.arange(self.size) == jnp.argmax(utility(ALL))
        return Plausible(members=jnp.where(empty, alone, members), fell_back=empty)

    def sample(self, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None) -> Action:
        """An action drawn uniformly from the domain or from `within`."""
        if within is None:
            return jr.randint(key, (), 0, self.size, dtype=jnp.int32)
        return pick(within, key)


class FiniteBag(AbstractBag):
    """A multiset of the actions of a finite domain, as counts."""

    counts: Int[Array, " n"]

    def add(self, action: Action) -> "FiniteBag":
        """Count the action once more."""
        return FiniteBag(self.counts.at[action].add(1))

    def draw(self, key: PRNGKeyArray) -> Action:
        """An action in proportion to its count; the first one if the bag is empty."""
        return as_number(jr.categorical(key, jnp.log(self.counts.astype(jnp.float32))))


def pick(candidates: Bool[Array, " n"], key: PRNGKeyArray) -> Int[Array, ""]:
    """One of the candidates, uniformly at random."""
    draws = jr.uniform(key, candidates.shape, jnp.float32)
    return as_number(jnp.argmax(jnp.where(candidates, draws, -1.0)))


def as_number(number: Int[Array, ""]) -> Int[Array, ""]:
    """The number of an action, in the dtype of all of them."""
    return number.astype(jnp.int32)
