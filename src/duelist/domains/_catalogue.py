"""A catalogue: very many actions, searched by bounds and never by a table of all pairs."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from duelist._checks import check_count
from duelist.domains._base import ALL, Action, BoundedPairScore, PairScore, Plausible, Score
from duelist.domains._catalogue_game import Game, solve
from duelist.domains._catalogue_members import Members, members
from duelist.domains._catalogue_pairs import PairSearch, best_pair
from duelist.domains._finite import AbstractFiniteDomain, as_number, as_points, tolerance_of

_NARROWING = 2


class Catalogue(AbstractFiniteDomain):
    """n actions, numbered from 0, up to a million: memory and time grow with n, not with n^2.

    Scores are evaluated for a batch of actions against all others, [batch, n]. Values within
    `tolerance` count as ties. What is searched:

    - `maxmin` exactly, see `game`, which also says how many leaders were looked at;
    - `argmax_pair` for scores that come with a bound (`BoundedPairScore`), see `pair`, which also
      says how far from the best the pair can be if `rounds` batches did not suffice;
    - M_t by a test: strong rivals rule out most, the rest is tested as it comes up.

    Args:
        points: features, shape [n, d], n >= 1; their dtype is the dtype of all that follows. If
            they are sharded over devices along n, all else follows them.
        tolerance: values closer than this count as ties (default as for `FiniteDomain`).
        batch: how many actions are looked at together.
        rounds: how many batches `argmax_pair` looks at.

    Raises:
        TypeError, ValueError: `points` is empty, not of two axes, or not finite; `tolerance` is
            negative; a count is no integer above zero.
    """

    points: Float[Array, "n d"]
    tolerance: Float[Array, ""]
    batch: int = eqx.field(static=True)
    rounds: int = eqx.field(static=True)

    def __init__(
        self, points: Any, tolerance: Any = None, *, batch: int = 16, rounds: int = 64
    ) -> None:
        self.points = as_points(points)
        self.tolerance = tolerance_of(tolerance, self.points.dtype)
        self.batch = min(check_count("batch", batch), self.size)
        self.rounds = check_count("rounds", rounds)

    def argmax(self, score: Score, key: PRNGKeyArray, within: Members | None = None) -> Action:
        """The action of the highest score."""
        values = score(ALL)
        if within is None:
            return self._best(values, key)
        noise = self.tolerance * jr.uniform(key, values.shape, values.dtype)
        return within.best(values + noise, self.batch)[0]

    def argmax_pair(
        self, score: PairScore, key: PRNGKeyArray, within: Members | None = None
    ) -> tuple[Action, Action]:
        """The pair of the highest score, or near it: see `pair`."""
        found = self.pair(score, key, within)
        return found.first, found.second

    def pair(
        self, score: PairScore, key: PRNGKeyArray, within: Members | None = None
    ) -> PairSearch:
        """The best pair, and how much better another can be.

        Raises:
            TypeError: the score comes without a bound.
        """
        if not isinstance(score, BoundedPairScore):
            raise TypeError(
                f"score: expected a BoundedPairScore to search {self.size} actions for the best "
                f"pair, got {type(score).__name__}"
            )
        everyone = Members(jnp.ones(self.size, bool), _always, jnp.zeros((), jnp.int32))
        # With height 0 everywhere any anchor will do; else the highest action is a good one.
        anchor = as_number(jnp.argmax(score.height(ALL)))
        within = everyone._replace(leader=anchor) if within is None else within
        return best_pair(score, key, within, self.tolerance, batch=self.batch, rounds=self.rounds)

    def maxmin(
        self,
        score: PairScore,
        key: PRNGKeyArray,
        within: Bool[Array, " n"] | Members | None = None,
        *,
        distinct: bool = False,
    ) -> tuple[Action, Action]:
        """Leader and follower of the game: see `game`."""
        found = self.game(score, key, within, distinct=distinct)
        return found.leader, found.follower

    def game(
        self,
        score: PairScore,
        key: PRNGKeyArray,
        within: Bool[Array, " n"] | Members | None = None,
        *,
        distinct: bool = False,
    ) -> Game:
        """The game over all actions or those of a mask, exactly, and what it took.

        Raises:
            TypeError: `within` is a test instead of a mask.
        """
        if isinstance(within, Members):
            raise TypeError(
                "within: expected None or a mask on a catalogue, got the membership test of M_t; "
                "in utility space the game over M_t is the game over all actions"
            )
        allowed = jnp.ones(self.size, bool) if within is None else within
        return solve(score, key, allowed, self.tolerance, self.batch, distinct=distinct)

    def plausible(self, ucb: PairScore, level: float, utility: Score) -> Plausible:
        """M_t as `Members`; `tolerance` keeps an action that ties with the level."""
        values = utility(ALL)
        leader = as_number(jnp.argmax(values))
        first = jax.lax.top_k(-values, self.batch)[1].at[0].set(leader)
        lowest = jnp.asarray(level, values.dtype) - self.tolerance
        found = members(ucb, lowest, leader, first, _NARROWING)
        _, some = found.best(values, self.batch)
        return Plausible(members=found, fell_back=~some)

    def sample(self, key: PRNGKeyArray, within: Members | None = None) -> Action:
        """An action drawn uniformly, from `within` by rejection."""
        if within is None:
            return jr.randint(key, (), 0, self.size, dtype=jnp.int32)
        return within.best(jr.uniform(key, (self.size,)), self.batch)[0]


def _always(actions: Int[Array, " q"]) -> Bool[Array, " q"]:
    return jnp.ones(actions.shape, bool)
