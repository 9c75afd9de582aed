"""The Stackelberg game over very many actions, solved by bounds without a table of all pairs."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from duelist.domains._base import ALL, PairScore


class Game(NamedTuple):
    """A solved game.

    Attributes:
        leader, follower: the equilibrium.
        value: the score of the two.
        looked: for how many leaders the best of all followers was sought.
    """

    leader: Int[Array, ""]
    follower: Int[Array, ""]
    value: Float[Array, ""]
    looked: Int[Array, ""]


class _Progress(NamedTuple):
    """What is known of every leader's value, and the best leader whose value is known."""

    upper: Float[Array, " n"]
    known: Bool[Array, " n"]
    best: Game


def solve(
    score: PairScore,
    key: PRNGKeyArray,
    allowed: Bool[Array, " n"],
    tolerance: Float[Array, ""],
    batch: int,
    *,
    distinct: bool,
) -> Game:
    """max over x of min over x' of score(x, x'), both `allowed`.

    For any set S of followers U(x) = min over S of score(x, .) bounds the value of the leader x
    from above. True values, a row each, are sought for the leaders of the highest U, a batch at a
    time; the followers found join S; once no U exceeds the best value by more than `tolerance`, no
    leader left can beat it. It begins with the best responses to a few random leaders.
    """
    noise_key, begin_key = jr.split(key)
    noise = tolerance * jr.uniform(noise_key, allowed.shape, tolerance.dtype)

    def look(progress: _Progress, priority: Float[Array, " n"]) -> _Progress:
        leaders = jax.lax.top_k(jnp.where(allowed, priority, -jnp.inf), batch)[1]
        values, followers = _responses(score, leaders, allowed, noise, distinct=distinct)
        values = jnp.where(allowed[leaders], values, -jnp.inf)
        columns = score(ALL, followers[:, None])
        if distinct:
            columns = jnp.where(_is_self(followers, allowed), jnp.inf, columns)
        upper = jnp.minimum(progress.upper, jnp.min(columns, axis=0))
        first = jnp.argmax(values + noise[leaders])
        looked = progress.best.looked + batch
        found = Game(leaders[first], followers[first], values[first], looked)
        better = found.value > progress.best.value
        best = jax.tree.map(lambda a, b: jnp.where(better, a, b), found, progress.best)
        known = progress.known.at[leaders].set(True)
        return _Progress(upper, known, best._replace(looked=looked))

    def open_leaders(progress: _Progress) -> Float[Array, " n"]:
        return jnp.where(progress.known | ~allowed, -jnp.inf, progress.upper)

    def can_be_beaten(progress: _Progress) -> Bool[Array, ""]:
        return jnp.max(open_leaders(progress)) > progress.best.value + tolerance

    zero = jnp.zeros((), jnp.int32)
    nobody = Game(zero, zero, jnp.full((), -jnp.inf, tolerance.dtype), zero)
    unknown = jnp.full(allowed.shape, jnp.inf, tolerance.dtype)
    begin = _Progress(unknown, ~allowed, nobody)
    begin = look(begin, jr.uniform(begin_key, allowed.shape, tolerance.dtype))
    return jax.lax.while_loop(can_be_beaten, lambda p: look(p, open_leaders(p) + noise), begin).best


def _responses(
    score: PairScore,
    leaders: Int[Array, " q"],
    allowed: Bool[Array, " n"],
    noise: Float[Array, " n"],
    *,
    distinct: bool,
) -> tuple[Float[Array, " q"], Int[Array, " q"]]:
    """The least score of each leader against all followers, and a follower that reaches it."""
    rows = jnp.where(allowed[None, :], score(leaders[:, None], ALL), jnp.inf)
    if distinct:
        rows = jnp.where(_is_self(leaders, allowed) & (jnp.sum(allowed) > 1), jnp.inf, rows)
    followers = jnp.argmin(rows + noise[None, :], axis=1).astype(jnp.int32)
    return jnp.min(rows, axis=1), followers


def _is_self(actions: Int[Array, " q"], allowed: Bool[Array, " n"]) -> Bool[Array, "q n"]:
    return actions[:, None] == jnp.arange(allowed.shape[0], dtype=jnp.int32)[None, :]
