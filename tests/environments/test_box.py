"""Judges on boxes: their scale, answers and regret."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from duelist.domains import Box
from duelist.environments import BoxEnvironment, box_environment, objective
from duelist.simulation import regret


@pytest.fixture(scope="module")
def branin():
    return box_environment(objective("branin"))


def test_utilities_run_from_minus_three_to_three(branin):
    """The least value of Branin, negated, is -308.129 at the corner (-5, 0)."""
    assert float(branin.least) == pytest.approx(-308.129096, rel=1e-6)
    best = [branin.utility(jnp.asarray(x)) for x in branin.objective.optimum.maximisers]
    np.testing.assert_allclose(best, 3, atol=1e-4)
    assert float(branin.utility(jnp.asarray([-5.0, 0.0]))) == pytest.approx(-3, abs=1e-4)
    assert float(branin.best()) == 3


@pytest.mark.parametrize("name", ["ackley", "hoelder", "hartmann6"])
def test_no_point_lies_far_outside_the_range(name):
    """A hundred thousand random points; the search for the least value saw others."""
    env = box_environment(objective(name), samples=4096)
    points = env.domain.action(jr.uniform(jr.key(0), (100_000, env.domain.dim)))
    values = np.asarray(eqx.filter_jit(env.utility)(points))
    assert -3 - 1e-3 < values.min() < -1
    assert values.max() < 3 + 1e-4


def test_a_range_of_ones_own(branin):
    env = BoxEnvironment(branin.objective, -100.0, Box([0.0, 0.0], [5.0, 5.0]))
    x = jnp.asarray([1.0, 2.0])
    most = branin.objective.optimum.maximum
    expected = -3 + 6 * (float(branin.objective(x)) + 100) / (most + 100)
    assert float(env.utility(x)) == pytest.approx(expected, abs=1e-5)


def test_answers_follow_the_utilities(branin):
    query = (jnp.asarray([9.4, 2.5]), jnp.asarray([2.0, 8.0]))
    h = float(branin.utility(query[0]) - branin.utility(query[1]))
    draws = jax.jit(jax.vmap(lambda key: branin.answer(query, key)))(jr.split(jr.key(0), 2000))
    wins = int(np.sum(draws))
    assert scipy.stats.binomtest(wins, 2000, 1 / (1 + np.exp(-h))).pvalue > 1e-3


def test_regret_is_measured_from_the_known_maximum(branin):
    best = jnp.asarray(branin.objective.optimum.maximisers[0])
    other = jnp.asarray([0.0, 0.0])
    gap = 1 / (1 + np.exp(-(3 - float(branin.utility(other))))) - 0.5
    found = regret(branin, (best, other), other)
    assert float(found.dueling) == pytest.approx(gap / 2, abs=1e-4)
    assert float(found.weak) == pytest.approx(0, abs=1e-4)
    assert float(found.simple) == pytest.approx(gap, abs=1e-4)


def test_bad_arguments(branin):
    with pytest.raises(ValueError, match="least: expected a value below the maximum"):
        BoxEnvironment(branin.objective, 0.0)
    with pytest.raises(ValueError, match="domain: expected a box of dimension 2, got 1"):
        BoxEnvironment(branin.objective, -300.0, Box([0.0], [1.0]))
    with pytest.raises(ValueError, match="samples: expected at least 4"):
        box_environment(branin.objective, samples=3)
