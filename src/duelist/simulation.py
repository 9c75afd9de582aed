"""Simulation: a policy asks, an environment answers, regret is counted, in one compiled program.

It serves every seed, every hyper-parameter and every horizon of the same bucket (horizons are
rounded up to a power of two for the storage, not for the work). Runs are vmapped on accelerators.
A CPU takes them one after the other: the tables of a single run stay in its cache, and none waits
for the slowest fit of all.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from duelist._checks import check_count, check_instance, check_seeds
from duelist.belief import AbstractFittedBelief, Fit
from duelist.domains import in_context
from duelist.environments import AbstractEnvironment, ContextualEnvironment
from duelist.policies import AbstractPolicy, Query, State
from duelist.policies._parallel import batch


class Regret(NamedTuple):
    """Regret of each step; sums over steps are the cumulative regrets.

    With gap(x) = s(f(x*) - f(x)) - 1/2, zero for the best action:

    Attributes:
        dueling: the mean gap of the actions asked (eq. dueling_regret); the gap itself for direct
            feedback. A duel of an action with itself counts like any other.
        weak: the smallest gap of the actions asked.
        strong: the largest.
        simple: the gap of the recommendation after the answer.
        logistic: s(f(x*)) - s(f(x)), averaged over the actions asked.
    """

    dueling: Float[Array, "..."]
    weak: Float[Array, "..."]
    strong: Float[Array, "..."]
    simple: Float[Array, "..."]
    logistic: Float[Array, "..."]


class Trace(NamedTuple):
    """What happened, with leading axes for sweeps and seeds and then one entry per step.

    Attributes:
        queries: the actions asked, [..., horizon, 2] or [..., horizon, 1] if they are numbers, and
            with another axis of coordinates if they are vectors.
        answers: [..., horizon].
        recommended: the recommendation after each answer.
        regret: see `Regret`.
        newton_steps: Newton steps of the fits after each answer.
        converged: whether all of them met their tolerance.
    """

    queries: Int[Array, "..."] | Float[Array, "..."]
    answers: Bool[Array, "..."]
    recommended: Int[Array, "..."] | Float[Array, "..."]
    regret: Regret
    newton_steps: Int[Array, "..."]
    converged: Bool[Array, "..."]


def simulate(
    policy: AbstractPolicy,
    environment: AbstractEnvironment,
    *,
    horizon: int,
    seeds: Sequence[int] | int = 1,
    judges: int = 1,
) -> Trace:
    """Run `policy` against `environment` once per seed, for `horizon` answers.

    With several judges the queries are asked in rounds of so many (`ask_many`) before the answers
    to all of them are told, one after the other. The t-th entry of the trace is about answer t.
    Contexts change from round to round.

    Args:
        policy: what asks.
        environment: who answers.
        horizon: T, the number of queries.
        seeds: the seeds themselves, or how many to take from 0; a run depends on its own seed
            only, and a shorter run is the beginning of a longer one.
        judges: how many queries are asked at once.

    Returns:
        A `Trace` with leading axis [seeds].
    """
    return _checked(policy, environment, horizon, seeds, _Axes(), judges=judges)


def sweep(
    policies: AbstractPolicy,
    environment: AbstractEnvironment,
    *,
    horizon: int,
    seeds: Sequence[int] | int = 1,
) -> Trace:
    """`simulate` for many hyper-parameters at once.

    Args:
        policies: a policy whose arrays have a leading axis, as `equinox.filter_vmap` of a function
            from hyper-parameters to a policy returns it.
        environment: who answers.
        horizon: T, the number of queries.
        seeds: as in `simulate`; every setting sees the same seeds.

    Returns:
        A `Trace` with leading axes [settings, seeds].
    """
    return _checked(policies, environment, horizon, seeds, _Axes(policy=True))


def simulate_each(
    policy: AbstractPolicy,
    environments: AbstractEnvironment,
    *,
    horizon: int,
    seeds: Sequence[int],
) -> Trace:
    """`simulate` with an environment of its own for every seed (a leading axis on its arrays).

    Returns:
        A `Trace` with leading axis [seeds].
    """
    return _checked(policy, environments, horizon, seeds, _Axes(environment=True))


class _Axes(NamedTuple):
    """Which of the two carries a leading axis; hashable, so that it can be static."""

    policy: bool = False
    environment: bool = False


def _checked(
    policy: AbstractPolicy,
    environment: AbstractEnvironment,
    horizon: int,
    seeds: Sequence[int] | int,
    axes: _Axes,
    *,
    judges: int = 1,
) -> Trace:
    check_instance("policy", policy, AbstractPolicy)
    check_instance("environment", environment, AbstractEnvironment)
    check_count("horizon", horizon)
    keys = jax.vmap(jr.key)(jnp.asarray(check_seeds(seeds), jnp.uint32))
    _check_leading("policies", policy if axes.policy else None, None)
    _check_leading("environments", environment if axes.environment else None, keys.shape[0])
    rounds = -(-horizon // check_count("judges", judges))
    shape = (1 << (rounds - 1).bit_length(), judges)
    policy = _with_room(policy, shape[0] * judges)
    steps = jnp.asarray(rounds, jnp.int32)
    trace = _compiled(policy, environment, keys, rounds=steps, shape=shape, axes=axes)
    time_axis = 2 if axes.policy else 1
    return jax.tree.map(lambda x: jax.lax.slice_in_dim(x, 0, horizon, axis=time_axis), trace)


def _with_room(policy: AbstractPolicy, answers: int) -> AbstractPolicy:
    """`policy` with room in its beliefs for all points of a run: inside `jit` they cannot grow."""

    def is_belief(node: Any) -> bool:
        return isinstance(node, AbstractFittedBelief)

    return jax.tree.map(
        lambda node: node.with_room(answers) if is_belief(node) else node, policy, is_leaf=is_belief
    )


def _check_leading(name: str, module: eqx.Module | None, size: int | None) -> None:
    """Raise a ValueError unless all arrays have a leading axis of one size (`size` if given)."""
    shapes = [x.shape for x in jax.tree.leaves(eqx.filter(module, eqx.is_array))]
    sizes = {shape[0] if shape else None for shape in shapes} | ({size} if size else set())
    if shapes and (len(sizes) > 1 or None in sizes):
        wanted = f"of length {size}, one for each seed" if size else "of the same length"
        raise ValueError(f"{name}: expected arrays with a leading axis {wanted}, got {shapes}")


@eqx.filter_jit
def _compiled(
    policy: AbstractPolicy,
    environment: AbstractEnvironment,
    keys: Key[Array, " seeds"],
    *,
    rounds: Int[Array, ""],
    shape: tuple[int, int],
    axes: _Axes,
) -> Trace:
    arrays, rest = eqx.partition(environment, lambda x: axes.environment and eqx.is_array(x))

    def over_seeds(policy: AbstractPolicy) -> Trace:
        def single(item: tuple[AbstractEnvironment, Array]) -> Trace:
            own, key = item
            return run(policy, eqx.combine(own, rest), rounds, key, shape)

        return _each(single, (arrays, keys))

    if not axes.policy:
        return over_seeds(policy)
    settings, shared = eqx.partition(policy, eqx.is_array)
    return _each(lambda setting: over_seeds(eqx.combine(setting, shared)), settings)


def _each(function: Callable[[Any], Trace], items: Any) -> Trace:
    """`function` of every item of the leading axis; which way is a matter of the platform."""
    # Not `jax.lax.platform_dependent`, which would trace the program once for either way.
    one_by_one = jax.default_backend() == "cpu"
    return jax.lax.map(function, items) if one_by_one else jax.vmap(function)(items)


def run(
    policy: AbstractPolicy,
    environment: AbstractEnvironment,
    rounds: Int[Array, ""],
    key: PRNGKeyArray,
    shape: tuple[int, int],
) -> Trace:
    """One run of at most `shape`, rounds and judges: the pure function that `simulate` compiles."""
    init_key, step_key = jr.split(key)
    most, judges = shape

    def round_of(r: Array, carry: tuple[State, Trace]) -> tuple[State, Trace]:
        state, trace = carry
        context_key = jr.fold_in(jr.fold_in(step_key, judges * r), 3)
        here, judge, state = _situated(policy, environment, state, context_key)
        steps = judges * r + jnp.arange(judges, dtype=jnp.int32)
        keys = jax.vmap(lambda t: jr.split(jr.fold_in(step_key, t), 3))(steps)
        queries = batch(here, state, keys[:, 0])

        def step(j: Array, carry: tuple[State, Trace]) -> tuple[State, Trace]:
            state, trace = carry
            state, record = _step(here, judge, state, tuple(queries[j]), keys[j, 1:])
            return state, jax.tree.map(lambda x, row: x.at[steps[j]].set(row), trace, record)

        return jax.lax.fori_loop(0, judges, step, (state, trace))

    policy, environment, state = _situated(policy, environment, policy.init(init_key), init_key)
    query = eqx.filter_eval_shape(policy.ask, state, step_key)
    keys = jr.split(step_key)
    record = eqx.filter_eval_shape(_step, policy, environment, state, query, keys)[1]
    empty = jax.tree.map(lambda x: jnp.zeros((most * judges, *x.shape), x.dtype), record)
    return jax.lax.fori_loop(0, rounds, round_of, (state, empty))[1]


def _step(
    policy: AbstractPolicy,
    environment: AbstractEnvironment,
    state: State,
    query: Query,
    keys: Key[Array, "2"],
) -> tuple[State, Trace]:
    """The answer to `query`, and what came of it."""
    answer = environment.answer(query, keys[0])
    state = policy.tell(state, query, answer)
    recommended = policy.recommend(state, keys[1])
    fits = [x for x in jax.tree.leaves(state, is_leaf=_is_fit) if _is_fit(x)]
    return state, Trace(
        queries=jnp.stack(query),
        answers=answer,
        recommended=recommended,
        regret=regret(environment, query, recommended),
        newton_steps=sum(
            (jnp.sum(f.steps, dtype=jnp.int32) for f in fits), jnp.zeros((), jnp.int32)
        ),
        converged=jnp.all(jnp.array([True, *(jnp.all(f.converged) for f in fits)])),
    )


def _situated(
    policy: AbstractPolicy, environment: AbstractEnvironment, state: State, key: PRNGKeyArray
) -> tuple[AbstractPolicy, AbstractEnvironment, State]:
    """All three in a context that is drawn, if the environment has any.

    A policy on a domain without contexts stays as it is: blind to them.
    """
    if not isinstance(environment, ContextualEnvironment):
        return policy, environment, state
    environment = environment.drawn(key)
    policy, state = in_context((policy, state), environment.context)
    return policy, environment, state


def _is_fit(node: Any) -> bool:
    return isinstance(node, Fit)


def regret(environment: AbstractEnvironment, query: Query, recommended: Any) -> Regret:
    """The regret of asking `query` and then recommending `recommended`."""
    s, best = environment.link.probability, environment.best()
    asked = jnp.stack([environment.utility(x) for x in query])
    gaps = s(best - asked) - 0.5
    return Regret(
        dueling=jnp.mean(gaps),
        weak=jnp.min(gaps),
        strong=jnp.max(gaps),
        simple=s(best - environment.utility(recommended)) - 0.5,
        logistic=jnp.mean(s(best) - s(asked)),
    )
