"""Simulation: regret by hand, seeds, horizons, sweeps, and how often anything is compiled."""

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp
from jaxtyping import Array

from duelist.belief import independent_prior, prior, ridge_prior
from duelist.domains import FiniteDomain
from duelist.environments import TableEnvironment
from duelist.policies import UCB, AbstractPolicy, MaxMinLCB, RandomRating
from duelist.simulation import regret, simulate, simulate_each, sweep

F = [math.log(3), 0.0, -math.log(3)]
"""Gaps s(f* - f) - 1/2 of 0, 1/4 and 4/10; s(f*) - s(f) of 0, 1/4 and 1/2."""

KERNEL = tinygp.kernels.ExpSquared(0.5)


class Scripted(AbstractPolicy):
    """Asks what stands in `script`, over and over; recommends the first action asked last.

    `traces` counts how often `ask` was run in Python, which compiled code never does.
    """

    domain: FiniteDomain
    script: Array
    shift: Array
    traces: ClassVar[list[None]] = []

    def init(self, key: Any) -> Any:
        return jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32)

    def ask(self, state: Any, key: Any) -> Any:
        self.traces.append(None)
        row = self.script[state[0] % self.script.shape[0]]
        return tuple((row + self.shift) % self.domain.size)

    def tell(self, state: Any, query: Any, answer: Any) -> Any:
        return state[0] + 1, query[0]

    def expect(self, state: Any, query: Any) -> Any:
        return state[0] + 1, state[1]

    def recommend(self, state: Any, key: Any) -> Any:
        return state[1]


class Drawn(AbstractPolicy):
    """Two random actions, with keys of its own at every step; nothing is learnt."""

    domain: FiniteDomain

    def init(self, key: Any) -> Any:
        return self.domain.sample(key)

    def ask(self, state: Any, key: Any) -> Any:
        first_key, second_key = jr.split(key)
        return self.domain.sample(first_key), self.domain.sample(second_key)

    def tell(self, state: Any, query: Any, answer: Any) -> Any:
        return jnp.where(answer, query[0], query[1])

    def expect(self, state: Any, query: Any) -> Any:
        return state

    def recommend(self, state: Any, key: Any) -> Any:
        return state


class Counter(AbstractPolicy):
    """Asks (the answers told, the queries expected), and recommends the answers told."""

    domain: FiniteDomain

    def init(self, key: Any) -> Any:
        return jnp.zeros(2, jnp.int32)

    def ask(self, state: Any, key: Any) -> Any:
        return tuple(state)

    def tell(self, state: Any, query: Any, answer: Any) -> Any:
        return state.at[0].add(1)

    def expect(self, state: Any, query: Any) -> Any:
        return state.at[1].add(1)

    def recommend(self, state: Any, key: Any) -> Any:
        return state[0]


def domain_of(n=3, dtype=np.float32):
    return FiniteDomain(jnp.linspace(0, 1, n, dtype=dtype)[:, None])


def scripted(*rows, n=3, shift=0):
    return Scripted(domain_of(n), jnp.asarray(rows, jnp.int32), jnp.asarray(shift, jnp.int32))


def judge_of(dtype=np.float32):
    return TableEnvironment(domain_of(3, dtype), F)


def assert_same(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


# ---- regret ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "recommended", "dueling", "weak", "strong", "simple", "logistic"),
    [
        ((0, 0), 0, 0.0, 0.0, 0.0, 0.0, 0.0),
        ((0, 1), 2, 0.125, 0.0, 0.25, 0.4, 0.125),
        ((2, 1), 1, 0.325, 0.25, 0.4, 0.25, 0.375),
        ((2, 2), 0, 0.4, 0.4, 0.4, 0.0, 0.5),
        ((1,), 0, 0.25, 0.25, 0.25, 0.0, 0.25),
        ((2,), 2, 0.4, 0.4, 0.4, 0.4, 0.5),
    ],
)
def test_regret_by_hand(x64, query, recommended, dueling, weak, strong, simple, logistic):
    made = regret(judge_of(x64), query, recommended)
    expected = (dueling, weak, strong, simple, logistic)
    np.testing.assert_allclose(np.array(made), expected, atol=1e-6)
    assert all(part.dtype == x64 for part in made)


def test_a_trace_tells_what_happened_step_by_step(x64):
    """Duels of an action with itself are counted like all others."""
    policy = scripted((0, 0), (2, 2), (1, 2))
    trace = simulate(policy, judge_of(x64), horizon=5, seeds=2)
    assert trace.queries.tolist() == [[[0, 0], [2, 2], [1, 2], [0, 0], [2, 2]]] * 2
    assert trace.recommended.tolist() == [[0, 2, 1, 0, 2]] * 2
    np.testing.assert_allclose(trace.regret.dueling, [[0, 0.4, 0.325, 0, 0.4]] * 2, atol=1e-6)
    np.testing.assert_allclose(trace.regret.simple, [[0, 0.4, 0.25, 0, 0.4]] * 2, atol=1e-6)
    assert trace.answers.shape == (2, 5)
    assert trace.answers.dtype == bool
    assert trace.regret.logistic.dtype == x64
    assert trace.newton_steps.tolist() == [[0] * 5] * 2
    assert bool(jnp.all(trace.converged))


def test_answers_come_from_the_judge():
    """P(0 beats 2) = s(2 ln 3) = 0.9: 1600 answers within four standard deviations, 0.03."""
    answers = simulate(scripted((0, 2)), judge_of(), horizon=16, seeds=100).answers
    assert abs(float(jnp.mean(answers)) - 0.9) < 0.03


# ---- seeds, horizons, sweeps -----------------------------------------------------------------


def test_a_shorter_run_is_the_beginning_of_a_longer_one():
    """Across buckets, too: 5 and 8 share one, 9 has the next."""
    policy = Drawn(domain_of())
    longest = simulate(policy, judge_of(), horizon=9, seeds=3)
    for horizon in (1, 5, 8):
        shorter = simulate(policy, judge_of(), horizon=horizon, seeds=3)
        assert_same(shorter, jax.tree.map(lambda x, h=horizon: x[:, :h], longest))


def test_several_judges_are_asked_at_once_and_told_one_after_the_other():
    """Three judges, the last round cut short; nothing that is expected reaches what is told."""
    policy, judge = Counter(domain_of(9)), TableEnvironment(domain_of(9), [0.0] * 9)
    trace = simulate(policy, judge, horizon=7, seeds=1, judges=3)
    asked = [[0, 0], [0, 1], [0, 2], [3, 0], [3, 1], [3, 2], [6, 0]]
    assert trace.queries.tolist() == [asked]
    assert trace.recommended.tolist() == [[1, 2, 3, 4, 5, 6, 7]]


def test_a_shorter_run_of_several_judges_is_the_beginning_of_a_longer_one():
    """Also of one that ends within a round; and judges do not change what a script asks."""
    policy = Drawn(domain_of())
    longest = simulate(policy, judge_of(), horizon=9, seeds=2, judges=4)
    for horizon in (2, 4, 7):
        shorter = simulate(policy, judge_of(), horizon=horizon, seeds=2, judges=4)
        assert_same(shorter, jax.tree.map(lambda x, h=horizon: x[:, :h], longest))
    script = scripted((0, 1), (1, 2), (2, 0))
    runs = [simulate(script, judge_of(), horizon=9, seeds=2, judges=j) for j in (1, 4)]
    assert_same(*runs)


def test_a_run_depends_on_its_own_seed_only():
    policy = Drawn(domain_of())
    four = simulate(policy, judge_of(), horizon=12, seeds=4)
    two = simulate(policy, judge_of(), horizon=12, seeds=[3, 1])
    assert_same(two, jax.tree.map(lambda x: x[jnp.array([3, 1])], four))
    assert len({tuple(q.ravel().tolist()) for q in np.asarray(four.queries)}) == 4


def test_a_sweep_is_the_runs_of_each_setting():
    """Noises from little to much, which change what UCB asks."""
    domain, noises = domain_of(), jnp.asarray([0.05, 0.5, 30.0])

    def make(noise):
        return UCB(domain, ridge_prior(domain, KERNEL, noise=noise))

    together = sweep(eqx.filter_vmap(make)(noises), judge_of(), horizon=8, seeds=3)
    assert together.queries.shape == (3, 3, 8, 1)
    for k, noise in enumerate(noises):
        alone = simulate(make(noise), judge_of(), horizon=8, seeds=3)
        np.testing.assert_array_equal(together.queries[k], alone.queries)
        np.testing.assert_array_equal(together.answers[k], alone.answers)
        np.testing.assert_allclose(together.regret.simple[k], alone.regret.simple, atol=1e-6)
    assert not np.array_equal(together.queries[0], together.queries[2])


def test_each_seed_can_have_a_judge_of_its_own():
    domain, policy = domain_of(), scripted((0, 1), (1, 2))
    tables = jnp.asarray([F, F[::-1], [0.0, 3.0, 0.0]])
    judges = eqx.filter_vmap(
        lambda f: TableEnvironment(FiniteDomain(domain.points, domain.tolerance), f)
    )(tables)
    together = simulate_each(policy, judges, horizon=6, seeds=[4, 5, 6])
    for k, seed in enumerate((4, 5, 6)):
        alone = simulate(policy, TableEnvironment(domain, tables[k]), horizon=6, seeds=[seed])
        assert_same(jax.tree.map(lambda x, k=k: x[k : k + 1], together), alone)


def test_nothing_is_compiled_again():
    """Other seeds, horizons of the same bucket and hyper-parameters reuse one program."""
    simulate(scripted((0, 1), (1, 2)), judge_of(), horizon=5, seeds=[0, 1])
    before = len(Scripted.traces)
    simulate(scripted((0, 1), (1, 2)), judge_of(), horizon=5, seeds=[7, 8])
    simulate(scripted((0, 1), (1, 2)), judge_of(), horizon=8, seeds=[0, 1])
    simulate(scripted((2, 1), (0, 0), shift=1), judge_of(), horizon=6, seeds=[0, 1])
    simulate(scripted((2, 1), (0, 0)), TableEnvironment(domain_of(), [0, 0, 9]), horizon=7, seeds=2)
    assert len(Scripted.traces) == before
    simulate(scripted((0, 1), (1, 2)), judge_of(), horizon=9, seeds=[0, 1])
    assert len(Scripted.traces) > before
    simulate(scripted((0, 1), (1, 2)), judge_of(), horizon=12, seeds=[0, 1], judges=3)
    before = len(Scripted.traces)
    simulate(scripted((2, 1), (0, 0)), judge_of(), horizon=10, seeds=[4, 5], judges=3)
    assert len(Scripted.traces) == before


# ---- real policies ---------------------------------------------------------------------------


def test_direct_feedback_learns_what_random_queries_do_not():
    domain, judge = domain_of(), judge_of()
    belief = independent_prior(domain)
    learnt = simulate(UCB(domain, belief), judge, horizon=120, seeds=6)
    drawn = simulate(RandomRating(domain, belief), judge, horizon=120, seeds=6)
    assert learnt.queries.shape == (6, 120, 1)
    late = np.asarray(learnt.regret.logistic)[:, 60:].mean()
    assert late < 0.6 * np.asarray(drawn.regret.logistic)[:, 60:].mean()


def test_says_when_a_fit_failed():
    """A tolerance below rounding cannot be met once there is something to fit."""
    domain = domain_of()
    policies = [
        MaxMinLCB(domain, prior(domain, KERNEL, tolerance=tolerance)) for tolerance in (1e-4, 1e-30)
    ]
    good, bad = (simulate(policy, judge_of(), horizon=8, seeds=2) for policy in policies)
    assert bool(jnp.all(good.converged))
    assert int(jnp.max(good.newton_steps)) >= 1
    assert not bool(jnp.all(bad.converged))


# ---- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "options", "message"),
    [
        (ValueError, {"horizon": 0}, "horizon: expected at least 1, got 0"),
        (TypeError, {"horizon": True}, "horizon: expected an integer, got True"),
        (TypeError, {"horizon": 2.5}, "horizon: expected an integer, got 2.5"),
        (ValueError, {"judges": 0}, "judges: expected at least 1, got 0"),
        (TypeError, {"judges": 1.0}, "judges: expected an integer, got 1.0"),
        (ValueError, {"seeds": 0}, "seeds: expected at least 1, got 0"),
        (ValueError, {"seeds": []}, "seeds: expected at least one seed, got none"),
        (ValueError, {"seeds": [0, -1]}, "seeds: expected at least 0, got -1"),
        (TypeError, {"seeds": [0.5]}, "seeds: expected an integer, got 0.5"),
        (ValueError, {"seeds": [2**32]}, "seeds: expected numbers below 2.32, got 4294967296"),
        (TypeError, {"policy": "MaxMinLCB"}, "policy: expected AbstractPolicy, got str"),
        (TypeError, {"environment": F}, "environment: expected AbstractEnvironment, got list"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_refuses_bad_arguments(error, options, message):
    given = {"policy": scripted((0, 1)), "environment": judge_of(), "horizon": 4, "seeds": 1}
    given |= options
    with pytest.raises(error, match=message):
        simulate(given.pop("policy"), given.pop("environment"), **given)


def test_refuses_a_number_of_judges_other_than_that_of_seeds():
    tables = jnp.zeros((2, 3))
    judges = eqx.filter_vmap(lambda f: TableEnvironment(domain_of(), f))(tables)
    with pytest.raises(ValueError, match="environments: expected arrays with a leading axis of le"):
        simulate_each(scripted((0, 1)), judges, horizon=2, seeds=[0, 1, 2])


def test_refuses_to_sweep_over_a_single_policy():
    with pytest.raises(ValueError, match="policies: expected arrays with a leading axis of the sa"):
        sweep(scripted((0, 1)), judge_of(), horizon=2)


def test_refuses_a_policy_whose_belief_takes_other_queries():
    domain = domain_of()
    with pytest.raises(ValueError, match="query: expected a tuple of 2 action"):
        simulate(UCB(domain, prior(domain, KERNEL)), judge_of(), horizon=2)


def test_keys_do_not_matter_to_a_policy_without_chance():
    policy = scripted((0, 1))
    assert policy.ask(policy.init(jr.key(0)), jr.key(1)) == (0, 1)
