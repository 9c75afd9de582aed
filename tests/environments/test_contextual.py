"""A judge with contexts: utilities and the best of them by hand, and contexts drawn evenly."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from duelist.domains import Box, Candidates, ContextualDomain, FiniteDomain
from duelist.environments import ContextualEnvironment
from duelist.simulation import regret

X = np.array([0.0, 1.0, 3.0])
Z = np.array([0.9, 2.5, -4.0])


def near(features):
    """-(x - z)^2."""
    return -((features[..., 0] - features[..., 1]) ** 2)


def judge():
    domain = ContextualDomain(FiniteDomain(X[:, None]), Z[:, None])
    return ContextualEnvironment(domain, near, list(Z[:, None]))


def test_utilities_and_the_best_of_every_context_by_hand():
    table = -((X[None, :] - Z[:, None]) ** 2)
    np.testing.assert_allclose(judge().highest, table.max(axis=1), rtol=1e-5)
    seen = set()
    for seed in range(20):
        here = judge().drawn(jr.key(seed))
        number = int(here.number)
        seen.add(number)
        np.testing.assert_allclose(here.context, Z[number, None], rtol=1e-6)
        values = [float(here.utility(x)) for x in range(3)]
        np.testing.assert_allclose(values, table[number], rtol=1e-5)
        np.testing.assert_allclose(here.best(), table[number].max(), rtol=1e-5)
        gaps = 1 / (1 + np.exp(-(table[number].max() - table[number]))) - 0.5
        lost = regret(here, (0, 2), 1)
        np.testing.assert_allclose(lost.dueling, (gaps[0] + gaps[2]) / 2, atol=1e-6)
        np.testing.assert_allclose(lost.simple, gaps[1], atol=1e-6)
    assert seen == {0, 1, 2}


def test_contexts_are_drawn_uniformly():
    drawn = jax.vmap(lambda key: judge().drawn(key).number)(jr.split(jr.key(0), 3000))
    np.testing.assert_allclose(np.bincount(drawn), [1000] * 3, atol=100)


def test_answers_follow_the_utility_under_the_context():
    """s(f(x, z) - f(x', z)) in each context, within four standard errors."""
    keys = jr.split(jr.key(1), 4000)
    here = judge().drawn(jr.key(0))
    h = float(here.utility(1)) - float(here.utility(0))
    expected = 1 / (1 + np.exp(-h))
    answers = jax.vmap(lambda key: here.answer((jnp.array(1), jnp.array(0)), key))(keys)
    error = np.sqrt(expected * (1 - expected) / 4000)
    assert abs(float(jnp.mean(answers)) - expected) <= 4 * error + 1e-6


def test_candidates_of_every_context_are_judged_among_themselves():
    """The best of the rows of a context, whatever stands in others."""
    rows = [np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[5.0, 4.0], [3.0, 4.0], [4.5, 4.0]])]
    judge = ContextualEnvironment(Candidates(rows, context_size=1), near, rows)
    np.testing.assert_allclose(judge.highest, [-1, -0.25])
    sizes = {(int(j.number), int(j.domain.present.sum())) for j in map(judge.drawn, keys(12))}
    assert sizes == {(0, 2), (1, 3)}


def keys(count):
    return [jr.key(seed) for seed in range(count)]


def test_the_best_of_a_box_is_found_by_its_search():
    box = ContextualDomain(Box([0.0], [1.0], candidates=32, starts=2), [[0.0]])
    judge = ContextualEnvironment(box, near, [[0.37], [2.0]])
    np.testing.assert_allclose(judge.highest, [0, -1], atol=1e-5)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: ContextualEnvironment(FiniteDomain(X[:, None]), near, [[1.0]]),
            TypeError,
            "domain: expected AbstractContextual",
        ),
        (
            lambda: ContextualEnvironment(judge().domain, near, []),
            ValueError,
            "contexts: expected at least one",
        ),
        (
            lambda: ContextualEnvironment(judge().domain, near, [[1.0], [1.0, 2.0]]),
            ValueError,
            r"contexts\[1\]: expected a vector of 1",
        ),
        (
            lambda: ContextualEnvironment(judge().domain, near, [[1.0]], link="logistic"),
            TypeError,
            "link: expected AbstractLink",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_errors_name_the_argument(make, error, message):
    with pytest.raises(error, match=message):
        make()
