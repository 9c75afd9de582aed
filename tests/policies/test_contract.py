"""What holds for every policy, whatever it chooses by: dueling and direct feedback."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from tests.policies import cases
from tests.policies.every import CASES, CHANCE, DUELS

from duelist import policies as library
from duelist.belief import TableBelief
from duelist.domains import FiniteDomain
from duelist.environments import TableEnvironment

N = 5
DRAWS = 400


every_policy = pytest.mark.parametrize("name", CASES)


def test_the_cases_are_all_policies_there_are():
    public = {kind for kind in vars(library).values() if isinstance(kind, type)}
    concrete = {kind for kind in public if issubclass(kind, library.AbstractPolicy)} - {
        library.AbstractPolicy,
        library.AbstractBeliefPolicy,
    }
    domain = cases.domain_of(2)
    assert {type(case.make(domain)) for case in CASES.values()} == concrete


def queries_of(arity, count, seed=0, n=N):
    rng = np.random.default_rng(seed)
    return [tuple(map(int, rng.permutation(n)[:arity])) for _ in range(count)]


def told(policy, queries, answers):
    state = policy.init(jr.key(5))
    for query, answer in zip(queries, answers, strict=True):
        state = policy.tell(state, tuple(map(jnp.int32, query)), answer)
    return state


def beliefs_of(state):
    leaves = jax.tree.leaves(state, is_leaf=lambda x: isinstance(x, TableBelief))
    return [leaf for leaf in leaves if isinstance(leaf, TableBelief)]


def run(policy, judge, seed, steps):
    """Queries and recommendations of a run, step by step as a caller would make them."""
    init_key, *keys = jr.split(jr.key(seed), 3 * steps + 1)
    state, seen = policy.init(init_key), []
    for t in range(steps):
        query = policy.ask(state, keys[3 * t])
        state = policy.tell(state, query, judge.answer(query, keys[3 * t + 1]))
        seen.append((*map(int, query), int(policy.recommend(state, keys[3 * t + 2]))))
    return seen


# ---- a run -----------------------------------------------------------------------------------


@every_policy
def test_runs_stay_in_the_domain_and_follow_their_seed(name):
    case, domain = CASES[name], cases.domain_of(N)
    policy = case.make(domain)
    judge = TableEnvironment(domain, [0.5, -1.0, 1.0, 0.0, -0.3])
    first, second, other = (run(policy, judge, seed, 6) for seed in (1, 1, 2))
    assert first == second
    if name != "Log-UCB1":  # whose bonus outweighs so few answers: it asks the longest features
        assert first != other
    for step in first + other:
        assert len(step) == case.arity + 1
        assert all(bool(domain.contains(x)) for x in step)


@every_policy
def test_one_action_is_asked_and_recommended(name):
    case, domain = CASES[name], cases.domain_of(1)
    seen = run(case.make(domain), TableEnvironment(domain, [0.3]), 0, 2)
    assert seen == [(0,) * (case.arity + 1)] * 2


@every_policy
def test_two_identical_actions_are_asked_equally_often(name):
    """Same features, same (absent) answers: nothing but chance tells them apart."""
    point = jnp.asarray([[0.3, 0.6], [0.3, 0.6]])
    policy = CASES[name].make(FiniteDomain(point))
    # The first reference of Doubler and MultiSBM is drawn by `init`, so each draw has its own.
    chosen = np.asarray(_fresh(policy, jr.split(jr.key(0), DRAWS)))
    for column in chosen:
        assert scipy.stats.binomtest(int(np.sum(column)), DRAWS).pvalue > 1e-4


@eqx.filter_jit
def _fresh(policy, keys):
    def draw(key):
        init_key, ask_key = jr.split(key)
        return jnp.stack(policy.ask(policy.init(init_key), ask_key))

    return jax.vmap(draw, out_axes=1)(keys)


# ---- the state -------------------------------------------------------------------------------


@every_policy
def test_the_state_keeps_its_structure_shapes_and_dtypes(x64, name):
    """So that it can be carried through a scan; in either precision, without a single step run."""
    case = CASES[name]
    policy = case.make(cases.domain_of(N, dtype=x64))
    state = policy.init(jr.key(0))
    query = (jnp.int32(0), jnp.int32(1))[: case.arity]
    after = eqx.filter_eval_shape(policy.tell, state, query, jnp.asarray(True))
    before = eqx.filter_eval_shape(lambda same: same, state)
    assert jax.tree.structure(before) == jax.tree.structure(after)
    assert jax.tree.leaves(before) == jax.tree.leaves(after)
    floats = {x.dtype for x in jax.tree.leaves(state) if jnp.issubdtype(x.dtype, jnp.floating)}
    assert floats == {x64}
    asked = eqx.filter_eval_shape(policy.ask, state, jr.key(0))
    recommended = eqx.filter_eval_shape(policy.recommend, state, jr.key(0))
    assert [(x.shape, x.dtype) for x in (*asked, recommended)] == [((), jnp.int32)] * (
        case.arity + 1
    )


@pytest.mark.parametrize("name", DUELS)
def test_a_duel_of_an_action_with_itself_leaves_the_belief_unchanged(x64_mode, name):
    policy = CASES[name].make(cases.domain_of(N))
    state = told(policy, queries_of(2, 8), [1, 0, 1, 1, 0, 1, 0, 0])
    after = policy.tell(state, (jnp.int32(3), jnp.int32(3)), 1)
    assert len(beliefs_of(after)) == len(beliefs_of(state)) >= 1
    for one, other in zip(beliefs_of(state), beliefs_of(after), strict=True):
        np.testing.assert_allclose(other.fit.f, one.fit.f, atol=1e-14)
        np.testing.assert_array_equal(other.covariance, one.covariance)
        np.testing.assert_array_equal(other.metric.covariance, one.metric.covariance)
        assert float(other.gain) == float(one.gain)
        for a, b in zip(*(jax.tree.leaves(x.answers) for x in (one, other)), strict=True):
            np.testing.assert_array_equal(a, b)


@every_policy
def test_an_answer_to_any_query_is_taken(x64_mode, name):
    """Also to one that was not asked for: it moves the recommendation."""
    case = CASES[name]
    domain = cases.domain_of(N)
    policy = case.make(domain)
    favourite, others = 2, [0, 1, 3, 4]
    queries = [((favourite, x), (x,))[case.arity == 1] for x in others * 4]
    queries += [(favourite,)] * 8 if case.arity == 1 else []
    answers = [1 if query[0] == favourite else 0 for query in queries]
    state = told(policy, queries, answers)
    if name == "Log-UCB1":  # linear in the features: it can only rank along theta
        theta = np.asarray(state.projection.f)
        assert int(policy.recommend(state, jr.key(0))) == np.argmax(domain.points @ theta)
    else:
        assert int(policy.recommend(state, jr.key(0))) == favourite


# ---- relabelling -----------------------------------------------------------------------------


@every_policy
def test_relabelling_the_actions_relabels_the_choices(x64_mode, name):
    """The same answers on the same actions under other numbers: the same choices, as often.

    Where there is one choice it is the same; where chance enters, frequencies are compared.
    """
    case = CASES[name]
    domain, order = cases.domain_of(N), np.array([3, 0, 4, 1, 2])
    relabelled = FiniteDomain(domain.points[order])
    queries = queries_of(case.arity, 14)
    answers = np.random.default_rng(3).integers(0, 2, 14).tolist()
    number = {int(old): new for new, old in enumerate(order)}
    renamed = [tuple(number[x] for x in query) for query in queries]
    one, other = case.make(domain), case.make(relabelled)
    before = cases.asks_often(one, told(one, queries, answers), DRAWS)
    after = order[cases.asks_often(other, told(other, renamed, answers), DRAWS, seed=1)]
    tables = [counts(chosen, case.arity) for chosen in (before, after)]
    several = max(np.count_nonzero(table) for table in tables) > 1
    assert not several or same_distribution(*tables) > 1e-4
    if not several:
        np.testing.assert_array_equal(*tables)
    assert several or name not in CHANCE


def counts(chosen, arity):
    """How often each query came."""
    numbers = chosen[:, 0] * N + chosen[:, 1] if arity == 2 else chosen[:, 0]
    return np.bincount(numbers, minlength=N**arity)


def same_distribution(one, other):
    """The p-value of equal distributions; queries that are rare in both are put together."""
    rare = one + other < 20
    rows = np.array([np.append(x[~rare], x[rare].sum()) for x in (one, other)])
    return scipy.stats.chi2_contingency(rows[:, rows.sum(axis=0) > 0]).pvalue


def test_the_comparison_would_notice_a_preference_for_some_labels():
    """Three equal choices against one of them being half as likely again."""
    rng = np.random.default_rng(0)
    even, uneven = (rng.choice(3, (DRAWS, 1), p=p) for p in ([1 / 3] * 3, [0.5, 0.25, 0.25]))
    assert same_distribution(counts(even, 1), counts(uneven, 1)) < 1e-4
