"""Cells of a table: what each algorithm did on each problem, and how it compares with the rest."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duelist.experiments import _paper
from duelist.experiments._paper import Published
from duelist.experiments._results import CellResult


@dataclass(frozen=True)
class Cell:
    """One algorithm on one problem.

    Attributes:
        algorithm: its name.
        mean: of the cumulative regret at the horizon.
        standard_error: of the mean; NaN of one seed.
        final: the cumulative regret of every seed.
        horizon: T.
        seconds: wall clock, without compilation.
        compile_seconds: spent on tracing and compiling.
        published: the paper's number, if it has one for this problem and horizon.
        best: whether the mean is the lowest of the row.
        tied: whether the mean is within two standard errors of the lowest one, see `is_tied`.
    """

    algorithm: str
    mean: float
    standard_error: float
    final: tuple[float, ...]
    horizon: int
    seconds: float
    compile_seconds: float
    published: Published | None
    best: bool
    tied: bool


@dataclass(frozen=True)
class Row:
    """One problem.

    Attributes:
        function: its name.
        variant: "released", "printed", or "" where there is only one.
        feedback: "duels" or "ratings".
        cells: by column; a column without a cell was not run.
    """

    function: str
    variant: str
    feedback: str
    cells: Mapping[str, Cell]

    @property
    def label(self) -> str:
        """The name to display."""
        return problem_name(self.function, self.variant)

    @property
    def winner(self) -> Cell:
        """The cell of the lowest mean."""
        return next(cell for cell in self.cells.values() if cell.best)


def problem_name(function: str, variant: str) -> str:
    """The name of a problem to display, with its variant if it has several."""
    name = _paper.FUNCTION_NAMES.get(function, function)
    return f"{name} ({variant})" if variant else name


def is_tied(mean: float, error: float, best: float, best_error: float) -> bool:
    """Whether a mean is within two standard errors of the lowest one.

    The standard error is that of the difference of two independent means. Without standard errors
    (one seed) only means that are equal up to rounding are tied.
    """
    spread = math.hypot(error, best_error)
    rounding = 1e-9 * abs(best)
    return mean - best <= rounding + (0.0 if math.isnan(spread) else 2 * spread)


def record(row: Row, cell: Cell) -> dict[str, Any]:
    """A cell as one line of a file; None for what it does not have."""
    paper = cell.published
    return {
        "function": row.function,
        "variant": row.variant,
        "algorithm": cell.algorithm,
        "mean": cell.mean,
        "standard_error": None if math.isnan(cell.standard_error) else cell.standard_error,
        "final": list(cell.final),
        "seeds": len(cell.final),
        "horizon": cell.horizon,
        "seconds": cell.seconds,
        "paper_mean": None if paper is None else paper.mean,
        "paper_standard_error": None if paper is None else paper.standard_error,
    }


def arrange(
    results: Sequence[CellResult], columns: Sequence[str], order: Sequence[str]
) -> tuple[Row, ...]:
    """One row for each problem, the problems of `order` first and the others as they come.

    Args:
        results: of the cells.
        columns: the column of each result.
        order: names of functions.

    Raises:
        ValueError: two results belong to the same cell.
    """
    groups: dict[tuple[str, str, str], dict[str, CellResult]] = {}
    for result, column in zip(results, columns, strict=True):
        row = groups.setdefault((result.function, result.variant, result.feedback), {})
        if column in row:
            problem = problem_name(result.function, result.variant)
            raise ValueError(f"results: expected one per cell, got two of {column} on {problem}")
        row[column] = result
    names = dict.fromkeys([*order, *(result.function for result in results)])
    rank = {name: number for number, name in enumerate(names)}
    keys = sorted(groups, key=lambda key: (rank[key[0]], key[1] == "printed", key[2]))
    return tuple(Row(*key, _cells(groups[key])) for key in keys)


def sweep_labels(results: Sequence[CellResult]) -> list[str]:
    """The algorithm of each result, with the settings in which the results of one cell differ."""
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    keys = [(r.function, r.variant, r.feedback, r.algorithm) for r in results]
    settings = [_flat(result.settings) for result in results]
    for key, flat in zip(keys, settings, strict=True):
        cells.setdefault(key, []).append(flat)
    varying = {key: _varying(group) for key, group in cells.items()}
    return [
        ", ".join([key[-1], *(f"{name}={flat.get(name)}" for name in varying[key])])
        for key, flat in zip(keys, settings, strict=True)
    ]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        nested = isinstance(value, Mapping)
        flat |= _flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": value}
    return flat


def _varying(group: Sequence[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for flat in group for name in flat)
    return [name for name in names if any(f.get(name) != group[0].get(name) for f in group)]


def _cells(row: Mapping[str, CellResult]) -> dict[str, Cell]:
    winner = min(row, key=lambda column: row[column].mean())
    return {
        column: _cell(result, best=column == winner, winner=row[winner])
        for column, result in row.items()
    }


def _cell(result: CellResult, *, best: bool, winner: CellResult) -> Cell:
    mean, error = result.mean(), result.standard_error()
    comparable = result.horizon == _paper.HORIZON
    number = (result.feedback, result.function, result.variant, result.algorithm)
    return Cell(
        algorithm=result.algorithm,
        mean=mean,
        standard_error=error,
        final=tuple(result.final().tolist()),
        horizon=result.horizon,
        seconds=result.seconds,
        compile_seconds=result.compile_seconds,
        published=_paper.published(*number) if comparable else None,
        best=best,
        tied=is_tied(mean, error, winner.mean(), winner.standard_error()),
    )
