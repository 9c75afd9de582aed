"""Cells of a command, from presets and data."""

import pytest
from tests.experiments.tiny import PRESET, rated

from duelist.experiments._names import ProblemName
from duelist.experiments._plan import function_cells, table_cells, table_problem
from duelist.experiments._presets import load_preset
from duelist.experiments._schema import FunctionProblem

PROBLEMS = [ProblemName("ackley", ""), ProblemName("eggholder", "printed")]


@pytest.fixture
def preset(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(PRESET + "\n[algorithms.maxminlcb]\nrestrict = true\n")
    return load_preset(str(path))


def test_functions_are_run_algorithm_by_algorithm_with_the_presets_settings(preset):
    cells = function_cells(preset, iter(PROBLEMS), ["rucb", "maxminlcb"], range(3), 50)
    assert [cell.label for cell in cells] == [
        *("rucb on ackley", "rucb on eggholder printed"),
        *("maxminlcb on ackley", "maxminlcb on eggholder printed"),
    ]
    assert cells[1].problem == FunctionProblem(
        function="eggholder", variant="printed", per_axis=3, coordinates="unit"
    )
    assert {cell.seeds for cell in cells} == {(0, 1, 2)}
    assert {cell.horizon for cell in cells} == {50}
    assert [cell.restrict for cell in cells] == [False, False, True, True]
    assert {cell.belief.length_scale for cell in cells} == {0.5}
    assert all(cell.table is None for cell in cells)


def test_data_travel_with_their_cells(preset):
    problem, table = table_problem("ratings", rated())
    assert (problem.items, problem.users, problem.source) == (5, 3, "made up")
    assert problem.digest == table.digest()
    cells = table_cells(preset, (problem, table), ["rucb", "maxminlcb"], range(3), 50)
    assert [cell.label for cell in cells] == ["rucb on ratings", "maxminlcb on ratings"]
    assert all(cell.table is table for cell in cells)


def test_there_is_one_run_for_each_user(preset):
    with pytest.raises(ValueError, match=r"seeds: ratings has one run .* 3 users.* got 3"):
        table_cells(preset, table_problem("ratings", rated()), ["rucb"], range(4), 50)
