"""Ind-UCB's belief against Algorithm 3 of Lattimore and Szepesvari, written with lists."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from duelist.belief import independent_prior
from duelist.domains import ALL, FiniteDomain
from duelist.environments import TableEnvironment
from duelist.policies import UCB
from duelist.simulation import simulate

N = 6


def make_domain(dtype=np.float32):
    return FiniteDomain(jnp.zeros((N, 1), dtype))


def told(belief, answers):
    for action, replies in answers.items():
        for reply in replies:
            belief = belief.tell((action,), reply)
    return belief


@pytest.mark.parametrize(("delta", "scale"), [(0.1, 1.0), (0.02, 0.5)])
def test_the_index_is_that_of_the_book(x64, delta, scale):
    answers = {0: [1], 1: [0, 0, 1], 2: [True, False, 1, 1, 0.5], 5: [0] * 7}
    belief = told(independent_prior(make_domain(x64), delta=delta, scale=scale), answers)
    for action in range(N):
        replies = [float(reply) for reply in answers.get(action, [])]
        if not replies:
            assert float(belief.ucb(action)) == math.inf
            assert float(belief.lcb(action)) == -math.inf
            assert float(belief.preference(action)) == 0.5
            continue
        mean = sum(replies) / len(replies)
        half = math.sqrt(2 * scale**2 * math.log(1 / delta) / len(replies))
        assert float(belief.preference(action)) == pytest.approx(mean, rel=1e-6)
        assert float(belief.utility(action)) == pytest.approx(mean, rel=1e-6)
        assert float(belief.width(action)) == pytest.approx(scale / math.sqrt(len(replies)))
        assert float(belief.ucb(action)) == pytest.approx(mean + half, rel=1e-6)
        assert float(belief.lcb(action)) == pytest.approx(mean - half, rel=1e-6)
    assert belief.ucb(ALL).dtype == x64


def test_a_bound_fails_as_seldom_as_promised():
    """Hoeffding's bound with scale 1/2 holds for a mean of T = 20 answers, p = 0.4, delta = 0.1."""
    rng = np.random.default_rng(0)
    yes = rng.binomial(20, 0.4, size=4000)
    half = math.sqrt(2 * 0.5**2 * math.log(10) / 20)
    belief = independent_prior(make_domain(), delta=0.1, scale=0.5)
    for _ in range(20):
        belief = belief.tell((0,), 0.4)
    assert float(belief.ucb(0)) - 0.4 == pytest.approx(half, rel=1e-5)
    assert np.mean(yes / 20 + half < 0.4) <= 0.1


def test_every_action_is_asked_once_before_any_twice_and_in_random_order():
    domain = make_domain()
    judge = TableEnvironment(domain, np.linspace(-1, 1, N))
    trace = simulate(UCB(domain, independent_prior(domain)), judge, horizon=2 * N, seeds=40)
    first = np.asarray(trace.queries)[:, :N, 0]
    np.testing.assert_array_equal(np.sort(first, axis=1), np.tile(np.arange(N), (40, 1)))
    assert len({tuple(order) for order in first.tolist()}) > 35
    assert set(first[:, 0].tolist()) == set(range(N))


def test_then_asks_what_the_algorithm_asks():
    """Given the simulated answers, no later question has an index below the largest."""
    domain = make_domain()
    judge = TableEnvironment(domain, np.linspace(-1, 1, N))
    trace = simulate(UCB(domain, independent_prior(domain)), judge, horizon=60, seeds=[7])
    replies = {action: [] for action in range(N)}
    for (action,), answer in zip(trace.queries[0].tolist(), trace.answers[0].tolist(), strict=True):
        if all(replies.values()):
            index = {
                a: np.mean(r) + math.sqrt(2 * math.log(10) / len(r)) for a, r in replies.items()
            }
            assert index[action] >= max(index.values()) - 1e-4
        replies[action].append(answer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.0}, "delta: expected a number between 0 and 1, got 0.0"),
        ({"delta": 1.0}, "delta: expected a number between 0 and 1, got 1.0"),
        ({"scale": -1.0}, "scale: expected a number greater than 0, got -1.0"),
    ],
)
def test_refuses_bad_hyper_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        independent_prior(make_domain(), **options)


@pytest.mark.usefixtures("unchecked")
def test_refuses_what_is_no_domain():
    with pytest.raises(TypeError, match="domain: expected FiniteDomain, got int"):
        independent_prior(6)


def test_refuses_bad_queries_answers_and_a_second_action():
    belief = independent_prior(make_domain())
    with pytest.raises(ValueError, match="query: expected a tuple of 1 action"):
        belief.tell((0, 1), 1)
    with pytest.raises(ValueError, match="query: expected action numbers from 0 to 5, got -1"):
        belief.tell((-1,), 1)
    with pytest.raises(ValueError, match=r"answer: expected a number from 0 to 1, got -0\.5"):
        belief.tell((0,), -0.5)
    with pytest.raises(ValueError, match="x2: expected None"):
        belief.ucb(0, 1)
