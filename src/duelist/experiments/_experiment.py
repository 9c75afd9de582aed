"""Experiment files: any policies on any problems, with sweeps over their settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, field_validator

from duelist.experiments._cell import Cell, Table
from duelist.experiments._names import ALGORITHMS, TWO_VARIANTS
from duelist.experiments._plan import check_users, table_problem
from duelist.experiments._presets import (
    FileError,
    Seed,
    build_settings,
    combinations,
    read_toml,
    validated,
)
from duelist.experiments._schema import (
    Belief,
    Count,
    FunctionProblem,
    Name,
    Problem,
    Strict,
    TableProblem,
    described,
)
from duelist.experiments.data import movielens, ratings_csv, yelp

MOST_ACTIONS: Final = 4096
"""Of a grid: a belief keeps tables of n x n numbers."""


class FunctionEntry(Strict):
    """A test function; see `FunctionProblem`. `variant` is for the functions that have two.

    On another grid than the paper's it is called by it, such as `ackley-20^2`, unless it is named.
    """

    function: str
    variant: Literal["released", "printed"] = "released"
    per_axis: Annotated[int, Field(ge=2)] = 10
    coordinates: Literal["raw", "unit"] = "unit"
    dim: Count | None = None
    name: Name | None = None


class DataEntry(Strict):
    """A data set by name; Yelp has to be at `path`."""

    data: Literal["movielens", "yelp"]
    path: str | None = None


class RatingsEntry(Strict):
    """Ratings and texts in CSV files; see `duelist.experiments.data.ratings_csv`."""

    name: Name
    ratings: str
    items: str
    layout: Literal["long", "wide"] | None = None
    text_column: str = "text"
    scale: Annotated[tuple[float, float], Field(strict=False)] | None = None
    complete_only: bool = False
    min_ratings: Count = 1
    max_items: Count | None = None
    max_users: Count | None = None


class PolicyEntry(Strict):
    """An algorithm with its settings.

    Attributes:
        algorithm: its name.
        restrict: whether MaxMinLCB chooses from M_t only.
        belief: settings of its own.
        sweep: settings with several values; every combination is run.
    """

    algorithm: str
    restrict: bool = False
    belief: dict[str, Any] = Field(default_factory=dict)
    sweep: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)

    @field_validator("algorithm")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ALGORITHMS:
            raise ValueError(f"one of {', '.join(ALGORITHMS)}")
        return value


class Document(Strict):
    """The keys of an experiment file; problems are checked one by one.

    Attributes:
        name: of the table and its files.
        horizon: T.
        seeds: how many, from 0, or the seeds themselves.
        belief: settings of all policies that run on this belief.
        problems: who is asked.
        policies: what asks.
    """

    name: Name
    horizon: Count
    seeds: Count | Annotated[list[Seed], Field(min_length=1)]
    belief: dict[str, Any] = Field(default_factory=dict)
    problems: Annotated[list[dict[str, Any]], Field(min_length=1)]
    policies: Annotated[list[PolicyEntry], Field(min_length=1)]

    @property
    def runs(self) -> tuple[int, ...]:
        """The seeds."""
        return tuple(range(self.seeds) if isinstance(self.seeds, int) else self.seeds)


Posed: TypeAlias = tuple[Problem, Table | None]
"""A problem and the numbers that travel with it."""


@dataclass(frozen=True)
class Experiment:
    """An experiment file that was read.

    Attributes:
        document: what is written in it.
        cells: policy by policy.
    """

    document: Document
    cells: tuple[Cell, ...]

    def summary(self) -> Mapping[str, Any]:
        """The file as JSON has it."""
        return described(self.document)


def load_experiment(path: Path) -> Experiment:
    """Read an experiment file, with the data that it refers to.

    Raises:
        FileError: the file does not hold what it should; all of it is checked before anything runs.
        ValueError, OSError: its data are not usable.
    """
    document = validated(Document, read_toml(path), path)
    seeds = document.runs
    if len(set(seeds)) < len(seeds):
        raise FileError(f"{path}: seeds: expected different ones, got {list(seeds)}")
    policies = [
        policy
        for number, entry in enumerate(document.policies)
        for policy in _policies(entry, document.belief, path, f"policies.{number}")
    ]
    problems = _problems(document, path)
    cells = tuple(
        Cell(problem, algorithm, belief, restrict, seeds, document.horizon, table)
        for (algorithm, belief, restrict), (problem, table) in product(policies, problems)
    )
    _check_different(cells, path)
    return Experiment(document, cells)


def _policies(
    entry: PolicyEntry, general: Mapping[str, Any], path: Path, where: str
) -> list[tuple[str, Belief, bool]]:
    """The algorithm with each combination of its settings."""
    if entry.restrict and entry.algorithm != "maxminlcb":
        raise FileError(f"{path}: {where}.restrict: there is no such key for {entry.algorithm}")
    if twice := sorted(entry.belief.keys() & entry.sweep.keys()):
        raise FileError(f"{path}: {where}.sweep.{twice[0]}: stands in {where}.belief as well")
    usual = ALGORITHMS[entry.algorithm][0]
    made: list[tuple[str, Belief, bool]] = []
    for choice in combinations(entry.sweep) or [()]:
        own = {**entry.belief, **dict(choice)}
        same = own.get("belief", usual) == general.get("belief", "map")
        content = {**(general if same else {}), **own}
        belief = build_settings(content, entry.algorithm, path, where)
        made.append((entry.algorithm, belief, entry.restrict))
    return made


def _problems(document: Document, path: Path) -> list[Posed]:
    return [
        _problem(entry, path, f"problems.{number}", document.runs)
        for number, entry in enumerate(document.problems)
    ]


def _problem(entry: Mapping[str, Any], path: Path, where: str, seeds: tuple[int, ...]) -> Posed:
    kinds = {"function": FunctionEntry, "data": DataEntry, "ratings": RatingsEntry}
    named = [key for key in kinds if key in entry]
    if len(named) != 1:
        raise FileError(
            f"{path}: {where}: expected one of the keys {', '.join(kinds)}, got {list(entry)}"
        )
    found: FunctionEntry | DataEntry | RatingsEntry = validated(
        kinds[named[0]], dict(entry), path, where
    )
    if isinstance(found, FunctionEntry):
        return _function(found, path, where), None
    problem, table = _data(found, path, where)
    check_users(problem, seeds)
    return problem, table


def _function(entry: FunctionEntry, path: Path, where: str) -> FunctionProblem:
    # Here because it imports JAX, and only for its list of functions.
    from duelist.environments import objective  # noqa: PLC0415

    try:
        objective(entry.function, entry.variant, entry.dim)
    except ValueError as error:
        raise FileError(f"{path}: {where}: {error}") from error
    two = entry.function in TWO_VARIANTS
    content = {**entry.model_dump(), "variant": entry.variant if two else ""}
    problem = FunctionProblem.model_validate(content)
    if entry.name is None and (problem.per_axis, problem.axes) != (10, 2):
        name = f"{problem.function}-{problem.per_axis}^{problem.axes}"
        problem = problem.model_copy(update={"name": name})
    if (actions := problem.per_axis**problem.axes) > MOST_ACTIONS:
        raise FileError(
            f"{path}: {where}.per_axis: expected a grid of at most {MOST_ACTIONS} points, got "
            f"{problem.per_axis}^{problem.axes} = {actions}"
        )
    return problem


def _data(entry: DataEntry | RatingsEntry, path: Path, where: str) -> tuple[TableProblem, Table]:
    """A real-world problem; the files are where the experiment file says, seen from its place."""
    if isinstance(entry, RatingsEntry):
        options = entry.model_dump(exclude={"name", "ratings", "items"})
        files = (path.parent / entry.ratings, path.parent / entry.items)
        return table_problem(entry.name, ratings_csv(*files, **options))
    if (entry.data == "yelp") != (entry.path is not None):
        raise FileError(f"{path}: {where}.path: expected for yelp, and for no other data")
    items = movielens() if entry.path is None else yelp(path.parent / entry.path)
    return table_problem(entry.data, items)


def _check_different(cells: tuple[Cell, ...], path: Path) -> None:
    """Tables have one cell for each problem, by its name, and each policy."""
    seen: set[tuple[str, str, str, str]] = set()
    for cell in cells:
        settings = str(cell.settings())
        name = (cell.problem.title, cell.problem.variant, cell.algorithm, settings)
        if name in seen:
            raise FileError(
                f"{path}: expected different problems and policies, got {cell.label} twice with "
                f"the settings {settings}"
            )
        seen.add(name)
