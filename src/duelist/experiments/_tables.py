"""Tables of results: ours, with the paper's numbers beside them."""

import io
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl
from rich.console import Group

from duelist.experiments import _layout, _paper
from duelist.experiments._cells import Cell, Row, arrange, record, sweep_labels
from duelist.experiments._files import output_directory, write_atomically
from duelist.experiments._layout import DASH, Entry, Line
from duelist.experiments._paper import Published, algorithm_name
from duelist.experiments._results import CellResult


@dataclass(frozen=True)
class Ratio:
    """Geometric means over rows of (cumulative regret) / (the lowest of the paper in that row).

    Attributes:
        ours: of our means; None if a row is missing.
        paper: of the paper's own means; None if it does not have them all.
    """

    ours: float | None
    paper: float | None


@dataclass(frozen=True)
class Table:
    """Problems by algorithms, with the cumulative regret of each.

    Attributes:
        name: such as "table1"; files are called by it.
        title: what is in it.
        columns: in the order they are shown.
        rows: in the order they are shown.
        decimals: digits after the point.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    decimals: int

    def cells(self) -> list[tuple[Row, Cell]]:
        """Every cell with its row, in the order they are shown."""
        return [(row, row.cells[c]) for row in self.rows for c in self.columns if c in row.cells]

    def ratios(self) -> dict[str, Ratio]:
        """For each column its regret in units of the paper's best, over the comparable rows.

        Empty if no row is comparable with the paper.
        """
        rows = [row for row in self.rows if any(c.published for c in row.cells.values())]
        scales = [_paper.lowest(row.feedback, row.function) for row in rows]
        return {column: _ratio(column, rows, scales) for column in self.columns if rows}

    def number(self, cell: Cell) -> str:
        """`mean ± standard error` of a cell; the mean alone if there is one seed."""
        error = cell.standard_error
        spread = "" if math.isnan(error) else f" ± {error:.{self.decimals}f}"
        return f"{cell.mean:.{self.decimals}f}{spread}"

    def parts(self) -> list["Table"]:
        """A table for each kind of feedback, with the columns that it has; itself if it has one."""
        kinds = list(dict.fromkeys(row.feedback for row in self.rows))
        return [self] if len(kinds) == 1 else [self._part(kind) for kind in kinds]

    def markdown(self) -> str:
        """The table and its legend in Markdown: ours, and the paper's beneath it.

        Each kind of feedback has its own, one after the other.
        """
        return "\n".join(
            f"{_layout.markdown(part._header(), part._lines())}\n\n"
            f"{part._legend('**Bold**', '*italic*')}\n"
            for part in self.parts()
        )

    def rich(self) -> Group:
        """The table and its legend for the terminal, again one for each kind of feedback."""
        tables = (
            _layout.terminal(
                part.title, part._header(), part._lines(), part._legend("Bold green", "green")
            )
            for part in self.parts()
        )
        return Group(*tables)

    def frame(self) -> pl.DataFrame:
        """One line for each cell, with the regret of every seed in the column `final`."""
        return pl.DataFrame([record(row, cell) for row, cell in self.cells()], schema=_SCHEMA)

    def write(self, directory: str | Path) -> list[Path]:
        """Write `<name>.md`, `.csv` (without the regret of every seed) and `.parquet`.

        Raises:
            ValueError: the directory cannot be made or written to.
            OSError: a file cannot be written.
        """
        place = output_directory(directory)
        parquet = io.BytesIO()
        self.frame().write_parquet(parquet)
        contents = {
            "md": f"# {self.title}\n\n{self.markdown()}",
            "csv": self.frame().drop("final").write_csv(),
            "parquet": parquet.getvalue(),
        }
        return [write_atomically(place / f"{self.name}.{x}", text) for x, text in contents.items()]

    def document(
        self,
        *,
        preset: str,
        seconds: float,
        versions: Mapping[str, str],
        machine: Mapping[str, Any],
        configuration: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The table as one JSON document; a standard error of one seed is null.

        Args:
            preset: the name of the preset.
            seconds: wall clock of the whole run.
            versions: of this package and of what it stands on.
            machine: what it ran on.
            configuration: the settings that it was run with.
        """
        return {
            "table": self.name,
            "preset": preset,
            "rows": [_json_row(row, cell) for row, cell in self.cells()],
            "seconds": seconds,
            "versions": dict(versions),
            "machine": dict(machine),
            "configuration": dict(configuration),
        }

    def _part(self, feedback: str) -> "Table":
        rows = tuple(row for row in self.rows if row.feedback == feedback)
        columns = tuple(c for c in self.columns if any(c in row.cells for row in rows))
        return replace(self, title=_TITLES[feedback], rows=rows, columns=columns)

    def _header(self) -> list[str]:
        return ["Problem", *map(algorithm_name, self.columns)]

    def _lines(self) -> list[Line]:
        lines: list[Line] = [
            (row.label, [self._entry(row.cells.get(column)) for column in self.columns])
            for row in self.rows
        ]
        ratios = [_ratio_entry(ratio) for ratio in self.ratios().values()]
        return [*lines, ("Relative to the paper's best", ratios)] if ratios else lines

    def _entry(self, cell: Cell | None) -> Entry:
        if cell is None:
            return Entry(DASH)
        paper = cell.published
        return Entry(
            self.number(cell),
            best=cell.best,
            tied=cell.tied,
            paper=paper.text if paper else "",
            paper_bold=paper is not None and paper.bold,
        )

    def _legend(self, best: str, tied: str) -> str:
        cells = [cell for _, cell in self.cells()]
        horizon = _listed({cell.horizon for cell in cells})
        counts = {len(cell.final) for cell in cells}
        seeds = "one seed" if counts == {1} else f"{_listed(counts)} seeds"
        complete = len(cells) == len(self.rows) * len(self.columns)
        marks = (
            f"{self.title} at T = {horizon}, mean ± standard error over {seeds}; lower is "
            f"better. {best}: the lowest mean of the row; {tied}: within two standard errors of it "
            "(those of the difference of the two means)."
        )
        paper = _COMPARED if self.ratios() else _NOT_COMPARED
        return " ".join([marks, paper, *([] if complete else [f"{DASH}: not run."])])


def table1(results: Sequence[CellResult]) -> Table:
    """Table 1: preference feedback, the cumulative dueling regret. Results of ratings are left out.

    Raises:
        ValueError: two results belong to the same cell, or there are none.
    """
    duels = [result for result in results if result.feedback == "duels"]
    return _of_paper("table1", _TITLES["duels"], duels, _paper.TABLE1, 1)


def table2(results: Sequence[CellResult]) -> Table:
    """Table 2: direct feedback, the cumulative logistic regret. Results of duels are left out.

    Raises:
        ValueError: two results belong to the same cell, or there are none.
    """
    ratings = [result for result in results if result.feedback == "ratings"]
    return _of_paper("table2", _TITLES["ratings"], ratings, _paper.TABLE2, 2)


def table(
    results: Sequence[CellResult], name: str = "table", title: str = "Cumulative regret"
) -> Table:
    """A table of any results; settings that vary within an algorithm make columns of their own.

    Raises:
        ValueError: two results have the same problem, algorithm and settings, or there are none.
    """
    _check_any(results)
    labels = sweep_labels(results)
    rows = arrange(results, labels, tuple(_paper.FUNCTION_NAMES))
    known = [*_paper.ALGORITHM_NAMES, *(result.algorithm for result in results)]
    of = {label: known.index(r.algorithm) for label, r in zip(labels, results, strict=True)}
    return Table(name, title, tuple(sorted(of, key=of.__getitem__)), rows, decimals=2)


def _of_paper(
    name: str,
    title: str,
    results: Sequence[CellResult],
    paper: Mapping[str, Mapping[str, Published]],
    decimals: int,
) -> Table:
    """Rows and columns in the order of the paper's table; those that it lacks come after."""
    _check_any(results)
    labels = [result.algorithm for result in results]
    algorithms = next(iter(paper.values()))
    columns = tuple(dict.fromkeys([*(a for a in algorithms if a in labels), *labels]))
    return Table(name, title, columns, arrange(results, labels, tuple(paper)), decimals)


def _check_any(results: Sequence[CellResult]) -> None:
    if not results:
        raise ValueError("results: expected at least one with this feedback, got none")


def _ratio(column: str, rows: Sequence[Row], scales: Sequence[float]) -> Ratio:
    cells = [row.cells.get(column) for row in rows]
    ours = [cell.mean if cell else None for cell in cells]
    paper = [cell.published.mean if cell and cell.published else None for cell in cells]
    return Ratio(_geometric_mean(ours, scales), _geometric_mean(paper, scales))


def _geometric_mean(means: Sequence[float | None], scales: Sequence[float]) -> float | None:
    known = [mean / scale for mean, scale in zip(means, scales, strict=True) if mean is not None]
    return math.prod(known) ** (1 / len(known)) if len(known) == len(scales) else None


def _ratio_entry(ratio: Ratio) -> Entry:
    ours, paper = ("" if x is None else f"{x:.2f}" for x in (ratio.ours, ratio.paper))
    return Entry(ours or DASH, paper=paper)


def _listed(numbers: Collection[int]) -> str:
    return " or ".join(str(number) for number in sorted(numbers))


def _json_row(row: Row, cell: Cell) -> dict[str, Any]:
    return {key: value for key, value in record(row, cell).items() if not key.startswith("paper_")}


_TITLES: Final = {"duels": "Cumulative dueling regret", "ratings": "Cumulative logistic regret"}
_COMPARED: Final = (
    f"Beneath it what the paper reports (T = {_paper.HORIZON}, {_paper.SEEDS} seeds; the bold type "
    "is the paper's). Last row: geometric mean, over the rows that the paper has, of the ratio to "
    "the lowest regret that the paper reports in the row."
)
_NOT_COMPARED: Final = (
    f"The paper has no number for any of these (it reports T = {_paper.HORIZON})."
)
_SCHEMA: Final = {
    "function": pl.String,
    "variant": pl.String,
    "algorithm": pl.String,
    "mean": pl.Float64,
    "standard_error": pl.Float64,
    "final": pl.List(pl.Float64),
    "seeds": pl.Int64,
    "horizon": pl.Int64,
    "seconds": pl.Float64,
    "paper_mean": pl.Float64,
    "paper_standard_error": pl.Float64,
}
