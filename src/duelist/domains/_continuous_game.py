"""The Stackelberg game max_x min_x' score(x, x') on a continuous domain.

The best responses to some leaders are found by descent, and the better half of the leaders climbs
against all of them. For any list of rivals the minimum over it bounds a leader's value from above,
so the list grows by the responses to where the leaders came, for some rounds. The gradient of the
leader's value is that of the score at the best response (Danskin 1967); where several rivals are
nearly as good, their gradients are mixed (a soft minimum), for else the leader would zigzag along
the kink between them.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from duelist.domains._continuous_ascent import Value
from duelist.domains._continuous_pool import spaced, top

Pair: TypeAlias = Callable[
    [Float[Array, "*batch d"], Float[Array, "*batch d"]], Float[Array, "*batch"]
]
"""A score of two points of the unit cube that broadcasts leading axes."""

Polish: TypeAlias = Callable[
    [Value, Float[Array, "starts d"]], tuple[Float[Array, "starts d"], Float[Array, " starts"]]
]
"""Local maximisation from every start."""

_RIVALS = 32
_ROUNDS = 3
_SOFTNESS = 0.03
_HARDENING = 0.3
_REPLIES = 4


class Game(NamedTuple):
    """What is played.

    Attributes:
        pair: the score, which the leader wants high and the follower low.
        allowed: which points may be played.
        polish: local maximisation.
        starts: how many leaders to polish.
        tolerance: values closer than this count as ties.
    """

    pair: Pair
    allowed: Callable[[Float[Array, "*batch d"]], Bool[Array, "*batch"]]
    polish: Polish
    starts: int
    tolerance: Float[Array, ""]


class Played(NamedTuple):
    """Leaders, their best responses, and the scores of these pairs, the values of the leaders."""

    leaders: Float[Array, "n d"]
    followers: Float[Array, "n d"]
    values: Float[Array, " n"]


def solve(game: Game, pool: Float[Array, "n d"], key: PRNGKeyArray) -> Played:
    """The best leaders found from every start, none worse than where it started.

    Args:
        game: the game.
        pool: points of the coarse stage.
        key: breaks ties.
    """
    allowed = game.allowed(pool)
    table = jnp.where(allowed[None, :], game.pair(pool[:, None, :], pool[None, :, :]), jnp.inf)
    floor = jnp.where(allowed, jnp.min(table, axis=1), -jnp.inf)
    start_key, rival_key, reply_key = jr.split(key, 3)
    leaders = pool[spaced(floor, pool, game.starts, start_key, game.tolerance)]
    strong = pool[jnp.argmin(table[top(floor, _RIVALS, rival_key, game.tolerance)], axis=1)]
    first = _answered(game, leaders, jnp.concatenate([pool, strong]), reply_key)
    best = _better_half(first)
    rivals = jnp.concatenate([strong, first.followers, *[best.followers] * _ROUNDS])
    scale = _spread(table, allowed)

    def play(carry: tuple[Array, Played], number: Array) -> tuple[tuple[Array, Played], None]:
        rivals, best = carry
        softness = scale * _SOFTNESS * _HARDENING ** number.astype(scale.dtype)
        leaders = _raised(game, best.leaders, rivals, softness)
        key = jr.fold_in(reply_key, number)
        now = _answered(game, leaders, jnp.concatenate([pool, rivals]), key)
        better = now.values > best.values
        best = Played(*(_where(better, a, b) for a, b in zip(now, best, strict=True)))
        place = _RIVALS + game.starts + number * leaders.shape[0]
        rivals = jax.lax.dynamic_update_slice_in_dim(rivals, now.followers, place, axis=0)
        return (rivals, best), None

    return jax.lax.scan(play, (rivals, best), jnp.arange(_ROUNDS))[0][1]


def _better_half(played: Played) -> Played:
    """The better half of the leaders: a climb costs as much as a response."""
    kept = jnp.argsort(-played.values)[: -(-played.values.shape[0] // 2)]
    return Played(*(part[kept] for part in played))


def _where(better: Bool[Array, " n"], new: Array, old: Array) -> Array:
    return jnp.where(better.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def _spread(table: Float[Array, "n n"], allowed: Bool[Array, " n"]) -> Float[Array, ""]:
    """The standard deviation of the scores between points allowed, the unit of softness."""
    weights = (allowed[:, None] & allowed[None, :]).astype(table.dtype)
    finite = jnp.where(allowed[None, :], table, 0)
    total = jnp.maximum(jnp.sum(weights), 1)
    mean = jnp.sum(weights * finite) / total
    return jnp.sqrt(jnp.sum(weights * (finite - mean) ** 2) / total)


def _answered(
    game: Game, leaders: Float[Array, "n d"], seen: Float[Array, "m d"], key: PRNGKeyArray
) -> Played:
    """The best response to every leader: by descent from points in unlike places, or itself."""
    scores = game.pair(leaders[:, None, :], seen[None, :, :])
    scores = jnp.where(game.allowed(seen)[None, :], scores, jnp.inf)

    def starts(row: Array, key: PRNGKeyArray) -> Array:
        return seen[spaced(-row, seen, _REPLIES, key, game.tolerance)]

    begin = jax.vmap(starts)(scores, jr.split(key, leaders.shape[0])).reshape(-1, leaders.shape[1])
    against = jnp.repeat(leaders, _REPLIES, axis=0)

    def gain(z: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        return jnp.where(game.allowed(z), -game.pair(against, z), -jnp.inf)

    found, values = game.polish(gain, begin)
    values = values.reshape(-1, _REPLIES)
    lowest = jnp.argmax(values, axis=1)[:, None]
    followers = jnp.take_along_axis(found.reshape(*values.shape, -1), lowest[:, :, None], axis=1)[
        :, 0
    ]
    replies = -jnp.take_along_axis(values, lowest, axis=1)[:, 0]
    alone = game.pair(leaders, leaders)
    values = jnp.where(game.allowed(leaders), jnp.minimum(alone, replies), -jnp.inf)
    return Played(leaders, jnp.where((alone <= replies)[:, None], leaders, followers), values)


def _raised(
    game: Game,
    leaders: Float[Array, "n d"],
    rivals: Float[Array, "m d"],
    softness: Float[Array, ""],
) -> Float[Array, "n d"]:
    """Leaders moved uphill against all rivals at once."""
    temperature = jnp.maximum(softness, game.tolerance)

    def value(z: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        against = rivals.reshape(*(1,) * (z.ndim - 1), *rivals.shape)
        scores = game.pair(z[..., None, :], against)
        lowest = jnp.min(scores, axis=-1)
        excess = (scores - lowest[..., None]) / temperature
        soft = lowest - temperature * jnp.log(jnp.sum(jnp.exp(-excess), axis=-1))
        return jnp.where(game.allowed(z), soft, -jnp.inf)

    return game.polish(value, leaders)[0]
