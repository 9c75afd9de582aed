"""Several judges: what is asked while answers are pending, and answers in any order or never."""

from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp
from tests.policies import cases
from tests.policies.test_contract import CASES, N, every_policy, queries_of, told

from duelist.belief import adaptive_prior, independent_prior, point_prior, prior
from duelist.domains import ALL, Box, Catalogue, FiniteDomain
from duelist.policies import UCB, Doubler, MaxInP, MaxMinLCB, MultiSBM, Sparring, ask_many
from duelist.policies._parallel import batch

APART = tinygp.kernels.ExpSquared(1e-3)
"""Under it actions have nothing in common."""

ACTIONS = jnp.arange(N, dtype=jnp.int32)


def numbers(queries):
    return [tuple(map(int, query)) for query in queries]


def state_of(name, policy, count=8):
    rng = np.random.default_rng(1)
    return told(policy, queries_of(CASES[name].arity, count), rng.integers(0, 2, count).tolist())


# ---- what holds for every policy -------------------------------------------------------------


@every_policy
def test_expecting_keeps_the_structure_shapes_and_dtypes(x64, name):
    case = CASES[name]
    policy = case.make(cases.domain_of(N, dtype=x64))
    state = policy.init(jr.key(0))
    query = (jnp.int32(0), jnp.int32(1))[: case.arity]
    after = eqx.filter_eval_shape(policy.expect, state, query)
    before = eqx.filter_eval_shape(lambda same: same, state)
    assert jax.tree.structure(before) == jax.tree.structure(after)
    assert jax.tree.leaves(before) == jax.tree.leaves(after)


@every_policy
def test_batches_stay_in_the_domain_and_follow_their_key(x64_mode, name):
    """The first query is that of one judge; the state that answers are told to stays."""
    case, domain = CASES[name], cases.domain_of(N)
    policy = case.make(domain)
    state = state_of(name, policy)
    before = jax.tree.map(np.array, eqx.filter(state, eqx.is_array))
    pending = queries_of(case.arity, 2, seed=5)
    first, second = (numbers(ask_many(policy, state, jr.key(3), 3, pending)) for _ in range(2))
    assert first == second
    assert len(first) == 3
    assert all(len(q) == case.arity and all(0 <= x < N for x in q) for q in first)
    assert eqx.tree_equal(before, jax.tree.map(np.array, eqx.filter(state, eqx.is_array)))
    waiting = state
    for query in pending:
        waiting = policy.expect(waiting, tuple(map(jnp.int32, query)))
    keys = jr.split(jr.key(3), 3)
    assert first[0] == tuple(map(int, policy.ask(waiting, keys[0])))
    compiled = eqx.filter_jit(batch)(policy, waiting, keys)
    assert numbers(compiled) == first


@pytest.mark.parametrize("name", ["MaxMinLCB", "MaxInP", "EUBO", "IDS", "MaxMinUCB"])
def test_relabelling_the_actions_relabels_the_batch(x64_mode, name):
    domain, order = cases.domain_of(N), np.array([3, 0, 4, 1, 2])
    number = {int(old): new for new, old in enumerate(order)}
    queries, answers = queries_of(2, 9), [1, 0, 1, 1, 0, 1, 0, 0, 1]
    renamed = [tuple(number[x] for x in query) for query in queries]
    one, other = (CASES[name].make(d) for d in (domain, FiniteDomain(domain.points[order])))
    first = ask_many(one, told(one, queries, answers), jr.key(0), 4, [(2, 0)])
    second = ask_many(other, told(other, renamed, answers), jr.key(0), 4, [(number[2], number[0])])
    found = [tuple(int(order[x]) for x in query) for query in numbers(second)]
    # A pair of the highest score has no order.
    pairs = [[tuple(sorted(q)) for q in batch] for batch in (numbers(first), found)]
    assert pairs[0] == pairs[1] if name in {"MaxInP", "EUBO"} else numbers(first) == found


# ---- queries that differ usefully ------------------------------------------------------------


def test_judges_share_actions_of_which_nothing_is_known(x64_mode):
    """Five actions without an answer: five judges rate each of them once."""
    domain = cases.domain_of(5)
    policy = UCB(domain, independent_prior(domain))
    batch = numbers(ask_many(policy, policy.init(jr.key(0)), jr.key(1), 5))
    assert sorted(batch) == [(0,), (1,), (2,), (3,), (4,)]


def test_the_most_informative_pairs_of_a_batch_are_disjoint(x64_mode):
    """All variances are 1. After (a, b) a pair with one of the two is known better than others."""
    domain = cases.domain_of(6)
    policy = MaxInP(domain, prior(domain, APART))
    for seed in range(3):
        batch = numbers(ask_many(policy, policy.belief, jr.key(seed), 3))
        assert sorted(x for pair in batch for x in pair) == list(range(6))


def test_a_pair_is_handed_out_until_it_is_the_better_known(x64_mode):
    """Three actions, deviations 1 of (0, 1), 0.9 of (0, 2) and 0.5 of (1, 2); kappa = 9.52.

    After k duels of (0, 1), with r = k/kappa, its variance is 1/(1 + r). That of (0, 2), whose
    covariance with it is (1 + 0.81 - 0.25)/2 = 0.78, is 0.81 - 0.78^2 r/(1 + r): the larger one as
    soon as r > 0.19/0.2016 = 0.942, k = 9.
    """
    domain = cases.domain_of(3)
    state = cases.state_of(domain, [0.0, 0.0, 0.0], (1.0, 0.9, 0.5), 1.0)
    policy = MaxInP(domain, state)
    batch = [{*pair} for pair in numbers(ask_many(policy, state, jr.key(0), 10))]
    assert batch == [{0, 1}] * 9 + [{0, 2}]


@pytest.mark.parametrize("kind", ["box", "catalogue"])
def test_on_large_domains_pending_points_take_places_of_the_copy(x64_mode, kind):
    """Of a batch of three no two are the same; the belief itself keeps its three points."""
    box = kind == "box"
    domain = Box([0.0, 0.0], [1.0, 1.0]) if box else Catalogue(cases.domain_of(9).points, batch=4)
    known = jnp.asarray([[0.1, 0.2], [0.5, 0.9], [0.8, 0.3]]) if box else jnp.arange(3)
    belief = point_prior(domain, APART, capacity=4)
    for pair in ((0, 1), (1, 2)):
        belief = belief.tell(tuple(known[k] for k in pair), 1)
    policy = MaxInP(domain, belief)
    pending = [(known[0], known[2])]
    batch = np.array(ask_many(policy, belief, jr.key(0), 3, pending), float).reshape(3, -1)
    assert len(np.unique(batch, axis=0)) == 3
    assert int(belief.number) == 3
    assert belief.capacity == 4


# ---- answers in any order, or never ----------------------------------------------------------


@pytest.mark.parametrize("make_belief", [adaptive_prior, lambda d: point_prior(d, cases.KERNEL)])
def test_answers_may_come_in_any_order_or_never(x64_mode, make_belief):
    """Four judges, answers in a random order; that to every seventh query never comes.

    In the end the belief is that of the same answers told in the order of the queries, without a
    trace of those that never came. (At the 16th answer what depends on the order is renewed: the
    Laplace weights are those of the time of an answer, and so is the evidence.)
    """
    domain = cases.domain_of(N)
    policy = MaxMinLCB(domain, make_belief(domain))
    rng, state, pending, answered = np.random.default_rng(0), policy.init(jr.key(0)), [], []
    asked = 0
    while len(answered) < 16:
        free = 4 - sum(number % 7 != 6 for number, _ in pending)
        for query in ask_many(policy, state, jr.key(asked), free, [q for _, q in pending]):
            pending.append((asked, query))
            asked += 1
        back = [k for k, (number, _) in enumerate(pending) if number % 7 != 6]
        number, query = pending.pop(int(rng.choice(back)))
        answered.append((number, query, float(query[0] > query[1])))
        state = policy.tell(state, *answered[-1][1:])
    assert any(number % 7 == 6 for number, _ in pending)
    assert answered != sorted(answered, key=lambda a: a[0])
    in_order = policy.init(jr.key(0))
    for _, query, answer in sorted(answered, key=lambda a: a[0]):
        in_order = policy.tell(in_order, query, answer)
    assert int(state.count) == int(in_order.count) == 16
    for name in ("difference", "width", "lcb"):
        one, other = (
            jax.vmap(partial(getattr(b, name), x2=ALL))(ACTIONS) for b in (state, in_order)
        )
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


# ---- the book-keeping of policies ------------------------------------------------------------


def test_multisbm_goes_on_from_the_pending_challenger(x64_mode):
    domain = cases.domain_of(N)
    policy = MultiSBM(domain, prior(domain, cases.KERNEL))
    batch = numbers(ask_many(policy, policy.init(jr.key(0)), jr.key(1), 4, [(0, 3)]))
    references = [3, *(second for _, second in batch)]
    assert [first for first, _ in batch] == references[:-1]


def test_doubler_collects_pending_challengers(x64_mode):
    """Two pending duels end the first epoch; the next reference is one of their challengers."""
    domain = cases.domain_of(N)
    policy = Doubler(domain, prior(domain, cases.KERNEL))
    begin = policy.init(jr.key(0))
    expected, heard = begin, begin
    for query in ((jnp.int32(4), jnp.int32(1)), (jnp.int32(4), jnp.int32(2))):
        expected, heard = policy.expect(expected, query), policy.tell(heard, query, 1)
    for one, other in zip(expected[1:], heard[1:], strict=True):
        assert eqx.tree_equal(one, other)
    assert int(expected.length) == 4
    (query,) = ask_many(policy, begin, jr.key(2), 1, [(4, 1), (4, 2)])
    assert int(query[1]) == 4


def test_both_players_of_sparring_expect(x64_mode):
    domain = cases.domain_of(N)
    belief = prior(domain, cases.KERNEL, "ratings")
    policy = Sparring(domain, belief)
    begin = policy.init(jr.key(0))
    first, second = policy.expect(begin, (jnp.int32(1), jnp.int32(3)))
    assert eqx.tree_equal(first, belief.expecting((1,)))
    assert eqx.tree_equal(second, belief.expecting((3,)))
    for player in policy.expect(begin, (jnp.int32(2), jnp.int32(2))):
        assert eqx.tree_equal(player, belief)


# ---- compilation and arguments ---------------------------------------------------------------


class Counting(MaxMinLCB):
    """Counts how often `ask` runs in Python, which compiled code never does."""

    traces: ClassVar[list[None]] = []

    def ask(self, state, key):
        self.traces.append(None)
        return super().ask(state, key)


class CountingKernel(tinygp.kernels.ExpSquared):
    """Counts how often it is evaluated in Python."""

    traces: ClassVar[list[None]] = []

    def evaluate(self, X1, X2):
        self.traces.append(None)
        return super().evaluate(X1, X2)


def test_nothing_compiles_again_for_other_numbers_of_judges_or_pending_queries():
    domain = cases.domain_of(N)
    policy = Counting(domain, point_prior(domain, CountingKernel(0.4), capacity=16))
    state = policy.init(jr.key(0))
    ask_many(policy, state, jr.key(0), 2, [(1, 2)])
    state = policy.tell(state, (0, 1), 1)
    asked, evaluated = len(Counting.traces), len(CountingKernel.traces)
    assert asked == 1
    for n, pending in ((1, []), (5, [(3, 4)]), (8, [(0, 1), (2, 4), (1, 0)])):
        ask_many(policy, state, jr.key(n), n, pending)
        state = policy.tell(state, (1, 3), 0)
    assert len(Counting.traces) == asked
    assert len(CountingKernel.traces) == evaluated


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"policy": "MaxMinLCB"}, TypeError, "policy: expected AbstractPolicy, got str"),
        ({"n": 0}, ValueError, "n: expected at least 1, got 0"),
        ({"n": 2.5}, TypeError, "n: expected an integer, got 2.5"),
        ({"n": True}, TypeError, "n: expected an integer, got True"),
        ({"pending": [3]}, TypeError, "pending: expected tuple, got int"),
        ({"pending": [(0, 5)]}, ValueError, "pending: expected action numbers from 0 to 4, got 5"),
        ({"pending": [(0, 0.5)]}, TypeError, "pending: expected action numbers, which are intege"),
        ({"pending": [(0,)]}, ValueError, "query: expected a tuple of 2 action"),
    ],
)
def test_refuses_bad_arguments(changed, error, message):
    domain = cases.domain_of(N)
    policy = MaxMinLCB(domain, prior(domain, cases.KERNEL))
    given = {"policy": policy, "state": policy.belief, "key": jr.key(0), "n": 1} | changed
    with pytest.raises(error, match=message):
        ask_many(**given)
