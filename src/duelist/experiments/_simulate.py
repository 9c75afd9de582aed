"""Cells in terms of the core: names become objects, a simulation becomes arrays of regret."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

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
from duelist.simulation import Trace, simulate, simulate_each


def simulate_cell(cell: Cell) -> Mapping[str, NDArray[np.float64]]:
    """The regret of each step, [seeds, horizon], by kind."""
    with jax.enable_x64(True):
        regret = _trace(cell).regret
        return {kind: np.asarray(getattr(regret, kind), np.float64) for kind in REGRETS}


def simulate_sweep(cell: Cell, beliefs: Sequence[Belief]) -> NDArray[np.float64]:
    """The cumulative regret of a cell with each of `beliefs`, [beliefs, seeds].

    One after the other, by one compiled program: `duelist.simulation.sweep`, which does the same on
    a CPU, would hold the traces of all settings at once.
    """
    kind = kind_of(feedback_of(cell.algorithm))
    with jax.enable_x64(True):
        runs = [_trace(replace(cell, belief=belief)).regret for belief in beliefs]
        regrets = [np.asarray(getattr(regret, kind), np.float64) for regret in runs]
        return np.stack([regret.sum(axis=-1) for regret in regrets])


def function_environment(problem: FunctionProblem) -> TableEnvironment:
    """The judge whose utility is a test function."""
    function = objective(problem.function, problem.variant or "released", problem.dim)
    return grid_environment(function, problem.per_axis, unit_cube=problem.coordinates == "unit")


def _trace(cell: Cell) -> Trace:
    if cell.table is not None:
        return _per_user(cell, cell.table)
    if not isinstance(cell.problem, FunctionProblem):
        raise TypeError(f"table: expected the numbers of {cell.problem.function}, got none")
    environment = function_environment(cell.problem)
    policy = build_policy(cell.algorithm, cell.belief, environment.domain, cell.restrict)
    return simulate(policy, environment, horizon=cell.horizon, seeds=cell.seeds)


def _per_user(cell: Cell, table: Table) -> Trace:
    """One run per user: the run of seed s is that of user s."""
    domain = FiniteDomain(table.features)
    policy = build_policy(cell.algorithm, cell.belief, domain, cell.restrict)
    utilities = jnp.asarray(table.utilities[np.asarray(cell.seeds)])
    environments = eqx.filter_vmap(lambda f: TableEnvironment(domain, f))(utilities)
    return simulate_each(policy, environments, horizon=cell.horizon, seeds=cell.seeds)
