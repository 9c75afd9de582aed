"""The best pair of very many actions, by a bound on the score of every action with any other."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from duelist.domains._base import ALL, BoundedPairScore
from duelist.domains._catalogue_members import Members


class PairSearch(NamedTuple):
    """The best pair found, and how far from the best of all it can be.

    Attributes:
        first, second: the pair.
        value: its score.
        gap: at most so much more has any other pair; 0 if the search is exact up to ties.
        looked: for how many actions the best of all partners was sought.
    """

    first: Int[Array, ""]
    second: Int[Array, ""]
    value: Float[Array, ""]
    gap: Float[Array, ""]
    looked: Int[Array, ""]


class _Progress(NamedTuple):
    """Who may still be in the best pair, whose partners are known, and the best pair so far."""

    candidates: Bool[Array, " n"]
    known: Bool[Array, " n"]
    best: PairSearch
    rounds: Int[Array, ""]


def best_pair(
    score: BoundedPairScore,
    key: PRNGKeyArray,
    within: Members,
    tolerance: Float[Array, ""],
    *,
    batch: int,
    rounds: int,
) -> PairSearch:
    """The pair of members of the highest score.

    With an anchor z, score(x, x') <= max(h(x), h(x')) + d(x, z) + d(z, x'), so each x has a bound
    on its score with any partner. The actions of the highest bounds are paired with all others, a
    batch at a time, until no bound exceeds the best score, or for `rounds` batches; partners that
    turn out to be no members are struck off, and the same actions looked at once more.
    """
    noise = tolerance * jr.uniform(key, within.candidates.shape, tolerance.dtype)
    height, reach = score.height(ALL), score.distance(ALL, within.leader)

    def bounds(candidates: Bool[Array, " n"]) -> Float[Array, " n"]:
        """max(h(x) + max d, max (h + d)) + d(x, z), the maxima over candidates."""
        far = jnp.max(jnp.where(candidates, reach, -jnp.inf))
        high = jnp.max(jnp.where(candidates, height + reach, -jnp.inf))
        return jnp.where(candidates, jnp.maximum(height + far, high) + reach, -jnp.inf)

    def open_bounds(progress: _Progress) -> Float[Array, " n"]:
        return jnp.where(progress.known, -jnp.inf, bounds(progress.candidates))

    def unfinished(progress: _Progress) -> Bool[Array, ""]:
        beatable = jnp.max(open_bounds(progress)) > progress.best.value + tolerance
        return beatable & (progress.rounds < rounds)

    def look(progress: _Progress) -> _Progress:
        actions = jax.lax.top_k(open_bounds(progress) + noise, batch)[1]
        belong = within.test(actions) & progress.candidates[actions]
        candidates = progress.candidates.at[actions].set(belong)
        table = jnp.where(candidates[None, :], score(actions[:, None], ALL), -jnp.inf)
        partners = jnp.argmax(table + noise[None, :], axis=1).astype(jnp.int32)
        admitted = within.test(partners) & candidates[partners]
        values = jnp.where(belong & admitted, jnp.max(table, axis=1), -jnp.inf)
        first = jnp.argmax(values + noise[actions])
        better = values[first] > progress.best.value
        best = progress.best
        return _Progress(
            candidates=candidates.at[partners].set(admitted),
            known=progress.known.at[actions].set(admitted | ~belong),
            best=best._replace(
                first=jnp.where(better, actions[first], best.first),
                second=jnp.where(better, partners[first], best.second),
                value=jnp.maximum(values[first], best.value),
                looked=best.looked + batch,
            ),
            rounds=progress.rounds + 1,
        )

    zero = jnp.zeros((), jnp.int32)
    alone = score(within.leader, within.leader)
    nothing = PairSearch(within.leader, within.leader, alone, jnp.zeros_like(alone), zero)
    begin = _Progress(within.candidates, ~within.candidates, nothing, zero)
    end = jax.lax.while_loop(unfinished, look, begin)
    gap = jnp.maximum(jnp.max(open_bounds(end)) - end.best.value, 0)
    return end.best._replace(gap=jnp.where(gap <= tolerance, 0, gap))
