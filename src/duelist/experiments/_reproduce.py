"""`duelist reproduce`: the cells behind the paper's tables and figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from duelist.experiments import _tables
from duelist.experiments._cell import Cell
from duelist.experiments._names import (
    DATA_SETS,
    PAPER_DUELS,
    PAPER_FUNCTIONS,
    PAPER_RATINGS,
    choose_algorithms,
    choose_problems,
    feedback_of,
)
from duelist.experiments._plan import function_cells, table_cells, table_problem
from duelist.experiments._presets import Preset, load_preset
from duelist.experiments._results import CellResult
from duelist.experiments._session import Options, Session
from duelist.experiments.data import RatedItems, movielens, yelp


@dataclass(frozen=True)
class Target:
    """What a target of `duelist reproduce` is made of by default."""

    algorithms: tuple[str, ...]
    functions: tuple[str, ...]


TARGETS: Final[Mapping[str, Target]] = {
    "table1": Target(PAPER_DUELS, (*PAPER_FUNCTIONS, "movielens")),
    "table2": Target(PAPER_RATINGS, PAPER_FUNCTIONS),
    "figures": Target((*PAPER_DUELS, *PAPER_RATINGS), (*PAPER_FUNCTIONS, "movielens")),
    "all": Target((*PAPER_DUELS, *PAPER_RATINGS), (*PAPER_FUNCTIONS, "movielens")),
    "movielens": Target(PAPER_DUELS, ("movielens",)),
    "yelp": Target(PAPER_DUELS, ("yelp",)),
}


@dataclass(frozen=True)
class Request:
    """What to reproduce; None stands for the preset's or the target's own choice."""

    target: str
    preset: str = "paper"
    functions: Sequence[str] | None = None
    algorithms: Sequence[str] | None = None
    seeds: int | None = None
    horizon: int | None = None
    data: Path | None = None


def reproduce(request: Request, options: Options) -> None:
    """Run a target, write its files and print its table.

    Raises:
        FileError: the preset is not usable.
        ValueError: a name is unknown, a number out of range, or data are missing.
        StoreError, ClusterError, CellError: see `Session.run`.
    """
    preset = load_preset(request.preset)
    cells = _cells(request, preset)
    first = cells[0]
    shared = {
        "preset": preset.summary(),
        "seeds": list(first.seeds),
        "horizon": first.horizon,
    }
    configuration = {
        **shared,
        "target": request.target,
        "functions": list(dict.fromkeys(cell.problem.function for cell in cells)),
        "algorithms": list(dict.fromkeys(cell.algorithm for cell in cells)),
        "jobs": options.jobs,
        "cluster": options.cluster,
    }
    session = Session(request.target, options, preset.name, configuration)
    results = session.run(cells, shared)
    session.report(results, _table_of(request.target))


def _table_of(target: str) -> Callable[[Sequence[CellResult]], Any]:
    if target in ("table1", "table2"):
        return getattr(_tables, target)
    return lambda results: _tables.table(results, target, _TITLES[target])


_TITLES: Final = {
    "figures": "What the figures show",
    "all": "Cumulative regret: dueling for duels, logistic for ratings",
    "movielens": "Cumulative dueling regret, one run per user of MovieLens",
    "yelp": "Cumulative dueling regret, one run per user of Yelp",
}


def _cells(request: Request, preset: Preset) -> list[Cell]:
    target = TARGETS[request.target]
    algorithms = choose_algorithms(request.algorithms or target.algorithms, target.algorithms)
    known = tuple(dict.fromkeys((*target.functions, *(DATA_SETS if request.data else ()))))
    default = (*target.functions, *(("yelp",) if request.data else ()))
    problems = choose_problems(request.functions or default, known)
    seeds = range(_at_least_one("seeds", request.seeds, preset.document.seeds))
    horizon = _at_least_one("horizon", request.horizon, preset.document.horizon)
    functions = [p for p in problems if p.function not in DATA_SETS]
    if functions:
        preset.check_evaluation(seeds)
    cells = function_cells(preset, functions, algorithms, seeds, horizon)
    # The real-world problems are about preferences: the paper has no ratings of them.
    duels = [a for a in algorithms if feedback_of(a) == "duels"]
    for problem in problems:
        if problem.function in DATA_SETS and duels:
            items = _load(problem.function, request.data)
            real = table_problem(problem.function, items)
            cells += table_cells(preset, real, duels, seeds, horizon)
    if not cells:
        raise ValueError(
            f"functions, algorithms: nothing of {request.target} is left to run: the algorithms "
            "for direct feedback only run on test functions"
        )
    return sorted(cells, key=lambda cell: algorithms.index(cell.algorithm))


def _load(name: str, data: Path | None) -> RatedItems:
    if name == "movielens":
        return movielens()
    if data is None:
        raise ValueError("data: expected the directory or .tar of the Yelp Open Dataset, got none")
    return yelp(data)


def _at_least_one(name: str, value: int | None, default: int) -> int:
    number = default if value is None else value
    if number < 1:
        raise ValueError(f"{name}: expected at least 1, got {number}")
    return number
