"""Cells that run in a moment, and the preset file they could come from."""

import numpy as np

from duelist.experiments._cell import Cell, Table
from duelist.experiments._plan import table_problem
from duelist.experiments._results import REGRETS, CellResult
from duelist.experiments._schema import FunctionProblem, MapBelief
from duelist.experiments.data import RatedItems

SEEDS = (0, 1)
HORIZON = 8

PRESET = f"""\
name = "tiny"
horizon = {HORIZON}
seeds = {len(SEEDS)}
coordinates = "unit"
per_axis = 3

[belief]
belief = "map"
length_scale = 0.5
"""


def cell(algorithm="random", function="branin", seeds=SEEDS, horizon=HORIZON, **belief) -> Cell:
    """An algorithm on a test function over nine points."""
    problem = FunctionProblem(function=function, per_axis=3)
    settings = MapBelief(**{"length_scale": 0.5, **belief})
    return Cell(problem, algorithm, settings, False, tuple(seeds), horizon)


def rated() -> RatedItems:
    """Five items, three users, nobody's ratings alike."""
    rng = np.random.default_rng(7)
    return RatedItems(
        items=tuple("abcde"),
        features=rng.normal(size=(5, 2)),
        utilities=rng.normal(size=(3, 5)),
        users=("ann", "bob", "cid"),
        counts={},
        source="made up",
        citation="nobody",
    )


def table_cell(algorithm="random", seeds=(2, 0), horizon=HORIZON) -> Cell:
    """An algorithm on `rated`."""
    items = rated()
    problem, _ = table_problem("ratings", items)
    table = Table(items.features, items.utilities)
    return Cell(problem, algorithm, MapBelief(), False, tuple(seeds), horizon, table)


def made_up(of: Cell, seed: int = 0) -> CellResult:
    """A result that the cell could have had."""
    rng = np.random.default_rng(seed)
    shape = (len(of.seeds), of.horizon)
    return of.result({kind: rng.uniform(size=shape) for kind in REGRETS}, 0.5, 0.25)


def same(one: CellResult, other: CellResult) -> bool:
    """Whether two results are the same in every bit but their times."""
    names = ("function", "variant", "algorithm", "feedback", "seeds", "horizon", "settings")
    return all(getattr(one, name) == getattr(other, name) for name in names) and all(
        one.regret[kind].tobytes() == other.regret[kind].tobytes() for kind in REGRETS
    )
