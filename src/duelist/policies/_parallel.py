"""Several judges at once: which queries to hand out while others wait for their answers."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Key, PRNGKeyArray

from duelist._checks import check_count, check_instance
from duelist.policies._base import AbstractPolicy, Query, State


def ask_many(
    policy: AbstractPolicy, state: State, key: PRNGKeyArray, n: int, pending: Sequence[Query] = ()
) -> list[Query]:
    """`n` queries to hand out at once, each asked as if those before it were on their way.

    That is batches by hallucinated answers (Desautels, Krause and Burdick 2014): a query that waits
    for its answer narrows the bounds that the next ones are chosen by, and moves no estimate.

    `state` is what the answers made of it, and remains so: pending queries enter a copy, anew
    every time. Their answers may be told in any order, or never. Nothing is compiled again for
    another `n` or another number of pending queries.

    Args:
        policy: what asks.
        state: the state after all answers told so far.
        key: the randomness.
        n: how many judges are free.
        pending: queries handed out before whose answers are still expected; leave out those that
            are given up.

    Raises:
        TypeError, ValueError: an argument is of the wrong kind or out of range; the message names
            it.
    """
    check_instance("policy", policy, AbstractPolicy)
    keys = jr.split(key, check_count("n", n))
    for query in pending:
        state = policy.expect(state, _as_query(policy, query))
    queries = [_ask(policy, state, keys[0])]
    for each in keys[1:]:
        state = policy.expect(state, queries[-1])
        queries.append(_ask(policy, state, each))
    return queries


def batch(policy: AbstractPolicy, state: State, keys: Key[Array, " n"]) -> Array:
    """The queries of `ask_many` with a key for each, stacked: [n, 1 or 2, ...]; under `jit`."""
    first = jnp.stack(policy.ask(state, keys[0]))

    def more(carry: tuple[State, Array], key: Array) -> tuple[tuple[State, Array], Array]:
        state, before = carry
        state = policy.expect(state, tuple(before))
        query = jnp.stack(policy.ask(state, key))
        return (state, query), query

    if keys.shape[0] == 1:
        return first[None]
    _, rest = jax.lax.scan(more, (state, first), keys[1:])
    return jnp.concatenate([first[None], rest])


@eqx.filter_jit
def _ask(policy: AbstractPolicy, state: State, key: PRNGKeyArray) -> Query:
    return policy.ask(state, key)


def _as_query(policy: AbstractPolicy, query: Query) -> Query:
    check_instance("pending", query, tuple)
    return tuple(policy.domain.as_action("pending", x) for x in query)
