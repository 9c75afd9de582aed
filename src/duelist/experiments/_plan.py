"""Which cells a command is made of."""

from collections.abc import Iterable, Sequence

from duelist.experiments._cell import Cell, Table
from duelist.experiments._names import ProblemName
from duelist.experiments._presets import Preset
from duelist.experiments._schema import FunctionProblem, TableProblem
from duelist.experiments.data import RatedItems


def function_cells(
    preset: Preset,
    problems: Iterable[ProblemName],
    algorithms: Sequence[str],
    seeds: Sequence[int],
    horizon: int,
) -> list[Cell]:
    """One cell for every test function and algorithm, algorithm by algorithm."""
    document = preset.document
    names = list(problems)
    return [
        Cell(
            problem=FunctionProblem(
                function=name.function,
                variant=name.variant,
                coordinates=document.coordinates,
                per_axis=document.per_axis,
            ),
            algorithm=algorithm,
            belief=preset.belief(algorithm, name),
            restrict=preset.restrict(algorithm),
            seeds=tuple(seeds),
            horizon=horizon,
        )
        for algorithm in algorithms
        for name in names
    ]


def table_problem(function: str, items: RatedItems) -> tuple[TableProblem, Table]:
    """A real-world problem and the numbers that travel with it."""
    table = Table(items.features, items.utilities)
    users, count = items.utilities.shape
    problem = TableProblem(
        function=function, digest=table.digest(), items=count, users=users, source=items.source
    )
    return problem, table


def table_cells(
    preset: Preset,
    problem: tuple[TableProblem, Table],
    algorithms: Sequence[str],
    seeds: Sequence[int],
    horizon: int,
) -> list[Cell]:
    """One cell for every algorithm; the run of seed s is that of user s.

    Raises:
        ValueError: a seed is not the number of a user.
    """
    description, table = problem
    check_users(description, seeds)
    return [
        Cell(
            problem=description,
            algorithm=algorithm,
            belief=preset.belief(algorithm),
            restrict=preset.restrict(algorithm),
            seeds=tuple(seeds),
            horizon=horizon,
            table=table,
        )
        for algorithm in algorithms
    ]


def check_users(problem: TableProblem, seeds: Sequence[int]) -> None:
    """Every seed is the number of a user.

    Raises:
        ValueError: one is not.
    """
    users = problem.users
    if max(seeds) >= users:
        raise ValueError(
            f"seeds: {problem.function} has one run for each of its {users} users, so expected "
            f"{users} seeds at most, from 0 to {users - 1}, got {max(seeds)}"
        )
