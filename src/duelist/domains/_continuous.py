"""Searches of a continuous domain: a coarse stage over a pool of points, then local ascent.

All of them work in the unit cube, on whose points the domain says which action they are.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from duelist.domains._base import AbstractDomain, Action, PairScore, Plausible, Score
from duelist.domains._continuous_ascent import Value
from duelist.domains._continuous_bag import Bag
from duelist.domains._continuous_game import Game, Pair, solve
from duelist.domains._continuous_pool import around, draw, pick, shifted, spaced, top

STEPS = 12
"""The largest number of steps of a local maximisation."""

_CHALLENGERS = 64

Allowed = Callable[[Float[Array, "*batch d"]], Bool[Array, "*batch"]]
"""Which points of the cube a search may return."""


class AbstractContinuous(AbstractDomain):
    """A domain whose actions are points of the unit cube, as far as its searches are concerned.

    A search looks at `incumbents`, points around them and a randomly shifted low-discrepancy set,
    takes the best of these as starts, and polishes them. It is a heuristic: what it returns is
    never worse than the best point it looked at first.

    Attributes:
        incumbents: points of the cube where searches begin, the most promising first.
        base: the low-discrepancy set.
        tolerance: values closer than this count as ties.
        starts: how many points are polished.
    """

    incumbents: eqx.AbstractVar[Float[Array, "m d"]]
    base: eqx.AbstractVar[Float[Array, "n d"]]
    tolerance: eqx.AbstractVar[Float[Array, ""]]
    starts: eqx.AbstractVar[int]

    # ---- what a domain of this kind defines --------------------------------------------------

    @abc.abstractmethod
    def action(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The actions at points of the cube."""

    @abc.abstractmethod
    def locate(self, features: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The points of the cube at which the actions with these features are."""

    @abc.abstractmethod
    def features(self, action: Action) -> Float[Array, "*batch d"]:
        """What the kernel compares, of one action or of many."""

    @abc.abstractmethod
    def snapped(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The nearest points of the cube that stand for an action exactly."""

    @property
    @abc.abstractmethod
    def constrained(self) -> bool:
        """Whether there are points that do not belong to the domain."""

    @abc.abstractmethod
    def admitted(self, z: Float[Array, "*batch d"]) -> Bool[Array, "*batch"]:
        """Which points belong to the domain."""

    @abc.abstractmethod
    def polish(
        self, value: Value, start: Float[Array, "starts p"], steps: int = STEPS
    ) -> tuple[Float[Array, "starts p"], Float[Array, " starts"]]:
        """Local maximisation from every start, and the values reached.

        A start is a point of the cube (p = d) or a pair of them, one after the other (p = 2d).
        """

    # ---- searches ----------------------------------------------------------------------------

    def near(
        self, points: Float[Array, "m p"], utility: Float[Array, " m"]
    ) -> "AbstractContinuous":
        """The same domain with the points of the highest utility as incumbents."""
        best = jnp.argsort(-utility)[: self.incumbents.shape[0]]
        known = jnp.isfinite(utility[best])[:, None]
        old = self.incumbents[: best.size]
        found = jnp.where(known, self.locate(points[best]).astype(old.dtype), old)
        incumbents = jnp.concatenate([found, self.incumbents[best.size :]])
        return eqx.tree_at(lambda domain: domain.incumbents, self, incumbents)

    def argmax(self, score: Score, key: PRNGKeyArray, within: "Region | None" = None) -> Action:
        """The best of the polished starts."""
        pool_key, start_key, pick_key = jr.split(key, 3)
        value = _restricted(lambda z: score(self.action(z)), self._allowed(within))
        pool = self._pool(pool_key)
        chosen = spaced(value(pool), pool, self.starts, start_key, self.tolerance)
        found = _joined(self.polish(value, pool[chosen])[0], within)
        values = _verified(value(found), within, found)
        return self._played(found[pick(values, pick_key, self.tolerance)], within)

    def argmax_pair(
        self, score: PairScore, key: PRNGKeyArray, within: "Region | None" = None
    ) -> tuple[Action, Action]:
        """The best of the polished pairs; both points move at once."""
        pool_key, start_key, pick_key = jr.split(key, 3)
        pair, allowed = self._pair(score), self._allowed(within)
        pool = self._pool(pool_key)
        table = pair(pool[:, None, :], pool[None, :, :])
        ok = allowed(pool)
        table = jnp.where(ok[:, None] & ok[None, :], table, -jnp.inf)
        highest = jnp.max(table, axis=1)
        chosen = spaced(highest, pool, self.starts, start_key, self.tolerance)
        partners = pool[jnp.argmax(table[chosen], axis=1)]
        both = _of_both(pair, allowed)
        found, _ = self.polish(both, jnp.concatenate([pool[chosen], partners], axis=1))
        first, second = (_joined(z, within) for z in jnp.split(found, 2, axis=1))
        values = both(jnp.concatenate([first, second], axis=1))
        values = _verified(values, within, first, second)
        number = pick(values, pick_key, self.tolerance)
        return self._played(first[number], within), self._played(second[number], within)

    def maxmin(
        self,
        score: PairScore,
        key: PRNGKeyArray,
        within: "Region | None" = None,
        *,
        distinct: bool = False,
    ) -> tuple[Action, Action]:
        """Leader and follower of the game.

        Raises:
            ValueError: `distinct` is asked for. Where actions lie as close as one likes, a follower
                that must differ from the leader, but by nothing, has no best response.
        """
        if distinct:
            raise ValueError(
                "distinct: expected False, got True; on a continuous domain there is no nearest "
                "other action"
            )
        pool_key, solve_key, pick_key = jr.split(key, 3)
        game = Game(
            self._pair(score), self._allowed(within), self.polish, self.starts, self.tolerance
        )
        pool = _joined(self._pool(pool_key), within)
        leaders, followers, values = solve(game, pool, solve_key)
        values = _verified(values, within, leaders, followers)
        if within is not None:
            # Should nothing of all this be a member: the leader of the region, against itself.
            leaders, followers = _joined(leaders, within), _joined(followers, within)
            last = jnp.where(jnp.any(jnp.isfinite(values)), -jnp.inf, 0).astype(values.dtype)
            values = jnp.concatenate([values, last[None]])
        number = pick(values, pick_key, self.tolerance)
        return self._played(leaders[number], within), self._played(followers[number], within)

    def plausible(self, ucb: PairScore, level: float, utility: Score) -> Plausible:
        """M_t as a `Region`, which tells of any action whether it belongs to it."""
        keys = jr.split(jr.key(0), 4)
        pool = self._pool(keys[0])
        value = _restricted(lambda z: utility(self.action(z)), self.admitted)
        values = value(pool)
        chosen = spaced(values, pool, self.starts, keys[1], self.tolerance)
        found, heights = self.polish(value, pool[chosen])
        leader = found[pick(heights, keys[2], self.tolerance)]
        strongest = pool[top(values, _CHALLENGERS, keys[3], self.tolerance)]
        region = Region(
            domain=self,
            pair=self._pair(ucb),
            level=jnp.asarray(level, pool.dtype) - self.tolerance,
            challengers=jnp.concatenate([leader[None], strongest]),
            leader=leader,
            fell_back=jnp.array(False),
        )
        empty = ~region.verify(leader[None])[0]
        return Plausible(eqx.tree_at(lambda r: r.fell_back, region, empty), empty)

    def sample(self, key: PRNGKeyArray, within: "Region | None" = None) -> Action:
        """An action drawn uniformly at random.

        It is one of many uniform draws, chosen among those that belong to the domain and to
        `within`. If none does, it is one of the points around the incumbents or, at last, the
        first incumbent (the leader of `within`).
        """
        if within is None and not self.constrained:
            return self.action(self.snapped(jr.uniform(key, (self.dim,), self.base.dtype)))
        uniform_key, near_key, far_draw, near_draw = jr.split(key, 4)
        allowed = self._allowed(within)
        far = self.snapped(jr.uniform(uniform_key, self.base.shape, self.base.dtype))
        centres = self.incumbents
        if within is not None:
            centres = jnp.concatenate([within.leader[None], centres])
        near = jnp.concatenate([self.snapped(around(centres, near_key)), centres])
        # An incumbent need not be allowed, but the first of the centres is.
        close = allowed(near).at[-centres.shape[0]].set(True)
        hits = allowed(far)
        found = jnp.where(jnp.any(hits), far[draw(hits, far_draw)], near[draw(close, near_draw)])
        return self._played(found, within)

    def bag(self) -> Bag:
        """An empty multiset, which keeps the last 1024 actions."""
        return Bag.of(self.dim, self.base.dtype)

    @property
    def dim(self) -> int:
        """d, the number of coordinates."""
        return self.base.shape[1]

    # ---- helpers -----------------------------------------------------------------------------

    def _pool(self, key: PRNGKeyArray) -> Float[Array, "n d"]:
        """Points for the coarse stage."""
        near_key, shift_key = jr.split(key)
        near = [self.incumbents, around(self.incumbents, near_key)]
        return self.snapped(jnp.concatenate([*near, shifted(self.base, shift_key)]))

    def _pair(self, score: PairScore) -> Pair:
        """The score as a function of points of the cube, given arrays with as many axes."""

        def pair(z: Float[Array, "..."], z2: Float[Array, "..."]) -> Float[Array, "..."]:
            axes = max(z.ndim, z2.ndim)
            first, second = (jnp.expand_dims(x, range(axes - x.ndim)) for x in (z, z2))
            return score(self.action(first), self.action(second))

        return pair

    def _allowed(self, within: "Region | None") -> Allowed:
        if within is None:
            return self.admitted
        return lambda z: self.admitted(z) & within.likely(z)

    def _played(self, z: Float[Array, " d"], within: "Region | None") -> Action:
        """The action at z, or the leader of a region that holds nothing else."""
        if within is not None:
            z = jnp.where(within.fell_back, within.leader, z)
        return self.action(z)


class Region(eqx.Module):
    """The set M_t on a continuous domain: the actions x with ucb(x, x') >= level for every x'.

    Attributes:
        domain: where the actions live.
        pair: the upper confidence bound, as a function of points of the cube.
        level: the level less the tolerance.
        challengers: actions of high utility, which rule out most of what is to be ruled out.
        leader: the action of the highest utility.
        fell_back: True if not even the leader passed the test and stands in alone.
    """

    domain: AbstractContinuous
    pair: Pair
    level: Float[Array, ""]
    challengers: Float[Array, "m d"]
    leader: Float[Array, " d"]
    fell_back: Bool[Array, ""]

    def __call__(self, action: Float[Array, "*batch d"]) -> Bool[Array, "*batch"]:
        """Whether actions belong to the set: the strongest challenger of each is searched for."""
        z = self.domain.locate(self.domain.features(action))
        flat = z.reshape(-1, z.shape[-1])
        inside = jax.vmap(self.domain.contains)(action.reshape(flat.shape))
        passed = inside & self.verify(flat)
        alone = jnp.all(flat == self.leader[None], axis=-1)
        return jnp.where(self.fell_back, alone, passed).reshape(z.shape[:-1])

    def likely(self, z: Float[Array, "*batch d"]) -> Bool[Array, "*batch"]:
        """Whether none of the challengers rules a point out."""
        rivals = self.challengers.reshape(*(1,) * (z.ndim - 1), *self.challengers.shape)
        return jnp.all(self.pair(z[..., None, :], rivals) >= self.level, axis=-1)

    def verify(self, z: Float[Array, "n d"]) -> Bool[Array, " n"]:
        """Whether nobody rules a point out, as far as descent from the challengers can tell."""
        bounds = self.pair(z[:, None, :], self.challengers[None])
        start = self.challengers[jnp.argmin(bounds, axis=1)]

        def harm(x: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
            return jnp.where(self.domain.admitted(x), -self.pair(z, x), -jnp.inf)

        _, worst = self.domain.polish(harm, start)
        return (jnp.min(bounds, axis=1) >= self.level) & (-worst >= self.level)


def _restricted(value: Value, allowed: Allowed) -> Value:
    return lambda z: jnp.where(allowed(z), value(z), -jnp.inf)


def _of_both(pair: Pair, allowed: Allowed) -> Value:
    """The score of a pair of points, one after the other on the last axis."""

    def value(z: Float[Array, "*batch p"]) -> Float[Array, "*batch"]:
        first, second = jnp.split(z, 2, axis=-1)
        return jnp.where(allowed(first) & allowed(second), pair(first, second), -jnp.inf)

    return value


def _joined(points: Float[Array, "n d"], within: Region | None) -> Float[Array, "m d"]:
    """Points, followed by the leader of the region, which always belongs to it."""
    return points if within is None else jnp.concatenate([points, within.leader[None]])


def _verified(
    values: Float[Array, " n"], within: Region | None, *points: Float[Array, "n d"]
) -> Float[Array, " n"]:
    """Values, -inf where a point does not belong to the region after all."""
    if within is None:
        return values
    members = within.verify(jnp.concatenate(points)).reshape(len(points), -1)
    return jnp.where(jnp.all(members, axis=0), values, -jnp.inf)
