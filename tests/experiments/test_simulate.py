"""Cells against simulations that were put together by hand."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp
from tests.experiments.tiny import cell, rated, table_cell

from duelist.belief import FixedBeta, prior
from duelist.domains import FiniteDomain
from duelist.environments import TableEnvironment, grid_environment, objective
from duelist.experiments._results import REGRETS
from duelist.experiments._schema import FunctionProblem
from duelist.experiments._simulate import function_environment, simulate_cell
from duelist.policies import MaxMinLCB, RandomDuel
from duelist.simulation import simulate


def kernel(length_scale):
    """The kernel of a cell, variance and metric included, so that one program serves both."""
    distance = tinygp.kernels.distance.L2Distance()
    return 1.0 * tinygp.kernels.ExpSquared(length_scale, distance=distance)


def assert_same(ours, regret):
    assert set(ours) == set(REGRETS)
    for kind in REGRETS:
        np.testing.assert_array_equal(ours[kind], np.asarray(getattr(regret, kind)))
        assert ours[kind].dtype == np.float64


def test_a_function_is_simulated_as_by_hand():
    one = cell("maxminlcb", function="michalewicz", lam=0.5, beta=0.7, bound=2.0)
    ours = simulate_cell(replace(one, problem=replaced(one.problem, variant="printed")))
    with jax.enable_x64(True):
        judge = grid_environment(objective("michalewicz", "printed"), 3)
        belief = prior(
            judge.domain, kernel(0.5), lam=0.5, bound=2.0, beta=FixedBeta(jnp.asarray(0.7))
        )
        regret = simulate(MaxMinLCB(judge.domain, belief), judge, horizon=8, seeds=[0, 1]).regret
    assert_same(ours, regret)
    assert np.any(ours["dueling"] > 0)


def replaced(problem, **changes):
    return problem.model_copy(update=changes)


def test_the_run_of_a_seed_is_that_of_its_user():
    items, seeds = rated(), (2, 0)
    ours = simulate_cell(table_cell(seeds=seeds))
    for row, seed in enumerate(seeds):
        with jax.enable_x64(True):
            domain = FiniteDomain(items.features)
            judge = TableEnvironment(domain, items.utilities[seed])
            policy = RandomDuel(domain, prior(domain, kernel(1.0)))
            regret = simulate(policy, judge, horizon=8, seeds=[seed]).regret
        assert_same({kind: values[row : row + 1] for kind, values in ours.items()}, regret)


def test_regret_can_be_counted_from_what_was_asked():
    """The dueling regret of random duels, from the queries that the same keys make."""
    one = cell("random", horizon=6)
    ours = simulate_cell(one)
    with jax.enable_x64(True):
        judge = grid_environment(objective("branin"), 3)
        policy = RandomDuel(judge.domain, prior(judge.domain, kernel(0.5)))
        queries = np.asarray(simulate(policy, judge, horizon=6, seeds=[0, 1]).queries)
        f = np.asarray(judge.utility(jnp.arange(9)))
    gaps = 1 / (1 + np.exp(f[queries] - f.max())) - 0.5
    np.testing.assert_allclose(ours["dueling"], gaps.mean(-1), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(ours["weak"], gaps.min(-1), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(ours["strong"], gaps.max(-1), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("coordinates", "upper"), [("raw", [10.0, 15.0]), ("unit", [1.0, 1.0])])
def test_features_are_coordinates_or_their_share_of_the_box(coordinates, upper):
    problem = FunctionProblem(function="branin", per_axis=4, coordinates=coordinates)
    judge = function_environment(problem)
    points = np.asarray(judge.domain.points)
    assert points.shape == (16, 2)
    np.testing.assert_allclose(points.max(axis=0), upper)
    utilities = np.asarray(judge.utility(jnp.arange(16)))
    assert (utilities.min(), utilities.max()) == pytest.approx((-3, 3))


def test_the_precision_of_the_caller_does_not_matter():
    one = cell("random")
    with jax.enable_x64(True):
        double = simulate_cell(one)
    single = simulate_cell(one)
    assert all(single[kind].tobytes() == double[kind].tobytes() for kind in REGRETS)
    assert jnp.zeros(1).dtype == jnp.float32
