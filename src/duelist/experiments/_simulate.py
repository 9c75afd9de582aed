"""Cells in terms of the core: names become objects, a simulation becomes arrays of regret."""

from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from duelist.domains import FiniteDomain
from duelist.environments import TableEnvironment, grid_environment, objective
from duelist.experiments._cell import Cell, Table
from duelist.experiments._names import feedback_of
from duelist.experiments._registry import build_policy
from duelist.experiments._results import REGRETS, kind_of
from duelist.experiments._schema import Belief, FunctionProblem
from duelist.policies import AbstractPolicy
from duelist.simulation import Trace, simulate, simulate_each, sweep


def simulate_cell(cell: Cell) -> Mapping[str, NDArray[np.float64]]:
    """The regret of each step, [seeds, horizon], by kind."""
    with jax.enable_x64(True):
        regret = _trace(cell).regret
        return {kind: np.asarray(getattr(regret, kind), np.float64) for kind in REGRETS}


def simulate_sweep(cell: Cell, beliefs: Sequence[Belief]) -> NDArray[np.float64]:
    """The cumulative regret of a cell on a test function with each of `beliefs`, [beliefs, seeds].

    Each policy is built as it is for a single run, so that the numbers are the same to the bit.
    """
    with jax.enable_x64(True):
        environment = _environment(cell)
        policies = [
            build_policy(cell.algorithm, belief, environment.domain, cell.restrict)
            for belief in beliefs
        ]
        trace = sweep(_stacked(policies), environment, horizon=cell.horizon, seeds=cell.seeds)
        regret = getattr(trace.regret, kind_of(feedback_of(cell.algorithm)))
        return np.asarray(regret, np.float64).sum(axis=-1)


def _stacked(policies: Sequence[AbstractPolicy]) -> AbstractPolicy:
    """Policies that differ in numbers only as one, whose arrays have a leading axis."""
    arrays, rest = zip(*(eqx.partition(policy, eqx.is_array) for policy in policies), strict=True)
    return eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), rest[0])


def function_environment(problem: FunctionProblem) -> TableEnvironment:
    """The judge whose utility is a test function."""
    function = objective(problem.function, problem.variant or "released", problem.dim)
    return grid_environment(function, problem.per_axis, unit_cube=problem.coordinates == "unit")


def _trace(cell: Cell) -> Trace:
    if cell.table is not None:
        return _per_user(cell, cell.table)
    environment = _environment(cell)
    policy = build_policy(cell.algorithm, cell.belief, environment.domain, cell.restrict)
    return simulate(policy, environment, horizon=cell.horizon, seeds=cell.seeds)


def _environment(cell: Cell) -> TableEnvironment:
    if not isinstance(cell.problem, FunctionProblem):
        raise TypeError(f"table: expected the numbers of {cell.problem.function}, got none")
    return function_environment(cell.problem)


def _per_user(cell: Cell, table: Table) -> Trace:
    """One run per user: the run of seed s is that of user s."""
    domain = FiniteDomain(table.features)
    policy = build_policy(cell.algorithm, cell.belief, domain, cell.restrict)
    utilities = jnp.asarray(table.utilities[np.asarray(cell.seeds)])
    environments = eqx.filter_vmap(lambda f: TableEnvironment(domain, f))(utilities)
    return simulate_each(policy, environments, horizon=cell.horizon, seeds=cell.seeds)
