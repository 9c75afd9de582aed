"""The prequential sequence: its forecasts, its bounds, and what they promise."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.integrate
import scipy.stats
import tinygp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief.guaranteed_cases import (
    BOUND,
    DELTA,
    FEEDBACKS,
    FLOAT32,
    LINKS,
    SCALE,
    TRACES,
    N,
    history,
    make,
    points,
    tell,
)

from duelist.belief._prequential import averaged
from duelist.coverage import check
from duelist.domains import ALL, FiniteDomain
from duelist.environments import random_environment
from duelist.policies import MaxMinLCB
from duelist.simulation import simulate

# ---- forecasts -------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_the_forecast_is_the_mean_probability(x64, oracles, link):
    dense = getattr(oracles, link.capitalize())
    for h, deviation in [(0.0, 1.0), (1.3, 0.4), (-2.0, 1.5), (3.0, 0.01)]:
        mean, _ = scipy.integrate.quad(
            lambda z, h=h, d=deviation: dense.probability(h + d * z) * scipy.stats.norm.pdf(z),
            -12,
            12,
        )
        found = averaged(LINKS[link], jnp.asarray(h, x64), jnp.asarray(deviation, x64))
        assert float(found) == pytest.approx(mean, abs=2e-5)


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_a_forecast_is_a_probability(x64, link):
    """Between 0 and 1, and with its complement 1, so that Ville's inequality applies."""
    rng = np.random.default_rng(0)
    h = jnp.asarray(np.append(rng.uniform(-20, 20, 2000), [-20, 6, 20]), x64)
    deviation = jnp.asarray(np.append(rng.uniform(0, 20, 2000), [0, 0, 0]), x64)
    yes, no = averaged(LINKS[link], h, deviation), averaged(LINKS[link], -h, deviation)
    assert np.all((np.asarray(yes) > 0) & (np.asarray(yes) <= 1))
    np.testing.assert_allclose(yes + no, 1, rtol=4 * float(jnp.finfo(x64).eps))


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_the_loss_adds_up_what_was_forecast_before_each_answer(double, oracles, feedback):
    queries, answers = history(oracles, feedback, count=25)
    belief, total = make(double, feedback), 0.0
    for query, answer in zip(queries, answers, strict=True):
        belief, q = tell(belief, query, answer)
        counts = len(query) == 1 or query[0] != query[1]
        total -= counts * np.log(q if answer else 1 - q)
    assert float(belief.forecast_loss) == pytest.approx(total, rel=1e-12)
    assert float(belief.allowed_loss) == pytest.approx(total + np.log(10), rel=1e-12)


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_the_forecasts_of_all_histories_add_up_to_one(double, oracles, tell_all, feedback):
    """sum over y of prod q_s(y_s) = 1 for any queries, so that prod q/p is a martingale."""
    queries = [(0, 1), (2, 2), (1, 4), (0, 1), (3, 0)] if feedback == "duels" else [(0,), (1,)] * 2
    free = [k for k, query in enumerate(queries) if len(query) == 1 or query[0] != query[1]]
    total = 0.0
    for chosen in itertools.product([0.0, 1.0], repeat=len(free)):
        answers = np.zeros(len(queries))
        answers[free] = chosen
        belief = tell_all(make(double, feedback), queries, answers)
        total += np.exp(-float(belief.forecast_loss))
    assert total == pytest.approx(1, rel=1e-12)


@settings(max_examples=300)
@given(q=st.floats(0.01, 0.99), p=st.floats(0.01, 0.99), split=st.floats(0, 1))
def test_an_answer_between_yes_and_no_keeps_the_supermartingale(q, p, split):
    """E[(q/p)^y ((1-q)/(1-p))^(1-y)] <= 1 for y in [0, 1] of mean p: here on two values."""
    low, high = p * split, p + (1 - p) * split
    chance = (p - low) / (high - low) if high > low else 1.0
    ratio = np.array([(q / p) ** y * ((1 - q) / (1 - p)) ** (1 - y) for y in (low, high)])
    assert (1 - chance) * ratio[0] + chance * ratio[1] <= 1 + 1e-12


# ---- bounds ----------------------------------------------------------------------------------


def test_bounds_are_those_of_the_region_and_never_widen(double, oracles):
    queries, answers = history(oracles, "duels")
    belief = make(double)
    before = np.asarray(belief.ucb(ALL, ALL))
    for query, answer in zip(queries[:12], answers, strict=False):
        belief, _ = tell(belief, query, answer)
        now = np.asarray(belief.ucb(ALL, ALL))
        assert np.all(now <= before)
        before = now
    np.testing.assert_array_equal(belief.lcb(ALL, ALL), -np.asarray(belief.ucb(ALL, ALL)).T)
    np.testing.assert_array_equal(belief.ucb(ALL, 2), before[:, 2])
    np.testing.assert_array_equal(belief.lcb(2, ALL), -before[:, 2])
    np.testing.assert_array_equal(belief.ucb(ALL), np.asarray(belief.region.upper)[:-1, -1])
    assert float(belief.lcb(1)) == -float(belief.region.upper[-1, 1])
    np.testing.assert_array_equal(np.diag(before), 0)
    ellipsoid = np.asarray(belief.region.centre)
    half = np.asarray(belief.utility_beta * belief.width(ALL, ALL))
    assert np.all(before <= np.subtract.outer(ellipsoid, ellipsoid) + half + 1e-6)
    assert belief.level == 0


def run_many(dtype, feedback, runs, horizon):
    """The factor by which the bounds are too narrow at worst in each run, under random queries."""
    begin = make(dtype, feedback, n=20, bound=2.0)
    domain = FiniteDomain(jnp.asarray(points(20), dtype))
    kernel = tinygp.kernels.ExpSquared(jnp.asarray(SCALE, dtype))
    arity = 2 if feedback == "duels" else 1

    def run(key):
        judge_key, key = jr.split(key)
        judge = random_environment(domain, kernel, 2.0, judge_key)

        def step(belief, key):
            query_key, answer_key = jr.split(key)
            query = tuple(jr.randint(query_key, (arity,), 0, 20, jnp.int32))
            belief = belief.tell(query, judge.answer(query, answer_key))
            shrunk = eqx.tree_at(lambda b: b.region.upper, belief, mutate(belief))
            duels = arity == 2
            return belief, jnp.stack(
                [check(b, judge, duels=duels).factor for b in (belief, shrunk)]
            )

        return jnp.max(jax.lax.scan(step, begin, jr.split(key, horizon))[1], axis=0)

    return np.asarray(jax.jit(lambda keys: jax.lax.map(run, keys))(jr.split(jr.key(5), runs)))


def mutate(belief):
    """Bounds around the same middle, ten times closer together."""
    upper = belief.region.upper
    middle, half = (upper - upper.T) / 2, (upper + upper.T) / 2
    return middle + half / 10


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_the_promise_is_kept_and_a_tenth_of_it_is_not(feedback):
    """Binomial tests at 1 in 1000: failures at most delta; with a tenth of the width more."""
    runs = 60
    factors = run_many(FLOAT32, feedback, runs, 60)
    failures = (factors > 1).sum(axis=0)
    greater = [
        scipy.stats.binomtest(int(k), runs, DELTA, alternative="greater").pvalue for k in failures
    ]
    assert greater[0] > 1e-3
    assert greater[1] < 1e-3


# ---- rare cases ------------------------------------------------------------------------------


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_before_any_answer_the_ball_is_all_that_is_known(double, oracles, feedback):
    belief = make(double, feedback)
    gram = oracles.rbf(SCALE)(points(), points())
    squares = np.add.outer(np.diag(gram), np.diag(gram)) - 2 * gram
    expected = BOUND * np.sqrt(np.maximum(squares, 0))
    np.testing.assert_allclose(belief.ucb(ALL, ALL), expected, atol=1e-6)
    np.testing.assert_allclose(belief.ucb(ALL), BOUND, rtol=1e-6)
    assert float(belief.forecast(0, 1)) == pytest.approx(0.5, abs=1e-6)


def test_one_action_and_a_duel_with_itself(double, tell_all):
    belief = tell_all(make(double, n=1), [(0, 0)] * 5, [1, 0, 1, 1, 1])
    assert float(belief.forecast_loss) == 0
    assert float(belief.ucb(0, 0)) == float(belief.lcb(0, 0)) == 0
    assert int(belief.table.count) == 5


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_separable_answers_keep_the_bounds_finite_and_apart(double, tell_all, feedback):
    query = (4, 0) if feedback == "duels" else (4,)
    belief = tell_all(make(double, feedback), [query] * 40, [1.0] * 40)
    assert bool(jnp.all(jnp.isfinite(belief.region.upper)))
    assert not bool(belief.region.empty)
    assert float(belief.lcb(*query)) > 0
    assert float(belief.ucb(*query)) <= BOUND * 2**0.5 + 1e-4


def test_a_bound_that_the_answers_contradict_is_noticed(double, tell_all):
    """Two hundred times the same of 200: no utility of norm 0.05 is so sure."""
    belief = tell_all(make(double, bound=0.05, lam=1.0), [(4, 0)] * 200, [1.0] * 200)
    assert bool(belief.region.empty)


def test_nothing_is_compiled_again_as_answers_arrive(double):
    belief, _ = tell(make(double), (0, 1), 1.0)
    before = len(TRACES)
    for t in range(5):
        belief, _ = tell(belief, (t, (t + 1) % N), t % 2)
    assert len(TRACES) == before


def test_a_policy_of_the_paper_plays_by_these_bounds():
    begin = make(FLOAT32, n=20)
    domain = FiniteDomain(jnp.asarray(points(20), jnp.float32))
    kernel = tinygp.kernels.ExpSquared(jnp.asarray(SCALE, jnp.float32))
    judge = random_environment(domain, kernel, 1.5, jr.key(0))
    trace = simulate(MaxMinLCB(domain, begin, restrict=True), judge, horizon=20, seeds=2)
    assert bool(jnp.all(trace.converged))
    assert bool(jnp.any(trace.queries[..., 0] != trace.queries[..., 1]))
