"""Targets: which cells they are made of, and what is written and printed; nothing is simulated."""

import json

import numpy as np
import polars as pl
import pytest
from tests.experiments.tiny import PRESET, rated

from duelist.experiments import _figures, _report, _reproduce
from duelist.experiments._engine import CellError
from duelist.experiments._names import PAPER_DUELS, PAPER_FUNCTIONS, PAPER_RATINGS, PROBLEMS
from duelist.experiments._presets import FileError, load_preset
from duelist.experiments._reproduce import TARGETS, Request, reproduce
from duelist.experiments._session import Options
from duelist.experiments._store import StoreError

RATINGS = '[algorithms]\ngp-ucb = {belief = "ridge"}\nind-ucb = {belief = "independent"}\n'
RATINGS += 'log-ucb1 = {belief = "log-ucb1"}\n'
FUNCTIONS = {f"{a} on {p.label}" for a in PAPER_DUELS for p in PROBLEMS.values()}
DIRECT = {f"{a} on {p.label}" for a in PAPER_RATINGS for p in PROBLEMS.values()}
FILMS = {f"{a} on movielens" for a in PAPER_DUELS}


@pytest.fixture
def preset(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(PRESET + RATINGS)
    return str(path)


@pytest.fixture
def run(preset, tmp_path, monkeypatch, made_up_runs):
    """A function that reproduces a target and returns the labels of the cells that were run."""
    monkeypatch.setattr(_reproduce, "movielens", rated)

    def run(target, *, options=None, **request):
        made_up_runs.cells.clear()
        settings = {"out": tmp_path / "out", "figures": False, **(options or {})}
        reproduce(Request(target, **{"preset": preset, **request}), Options(**settings))
        return [f"{cell.algorithm} on {label(cell.problem)}" for cell in made_up_runs.cells]

    return run


def label(problem):
    return "-".join(filter(None, (problem.function, problem.variant)))


@pytest.mark.parametrize(
    ("target", "cells"),
    [
        ("table1", FUNCTIONS | FILMS),
        ("table2", DIRECT),
        ("figures", FUNCTIONS | DIRECT | FILMS),
        ("all", FUNCTIONS | DIRECT | FILMS),
        ("movielens", FILMS),
    ],
)
def test_a_target_is_made_of_its_cells(run, target, cells):
    labels = run(target)
    assert len(labels) == len(set(labels))
    assert set(labels) == cells
    # Cells of one algorithm, whose program they share, come one after the other.
    algorithms = [name.partition(" ")[0] for name in labels]
    assert algorithms == sorted(algorithms, key=TARGETS[target].algorithms.index)


def test_a_selection_is_run_in_its_order(run, made_up_runs):
    labels = run("table1", functions=["movielens", "matyas"], algorithms=["rucb", "doubler"])
    problems = ("matyas", "movielens")
    assert labels == [f"{a} on {p}" for a in ("rucb", "doubler") for p in problems]
    cells = made_up_runs.cells
    assert {(cell.seeds, cell.horizon) for cell in cells} == {((0, 1), 8)}


def test_seeds_and_horizon_replace_those_of_the_preset(run, made_up_runs):
    run("table1", functions=["matyas"], algorithms=["rucb"], seeds=5, horizon=13)
    (cell,) = made_up_runs.cells
    assert (cell.seeds, cell.horizon) == ((0, 1, 2, 3, 4), 13)


def test_the_shipped_paper_preset_is_the_papers_protocol():
    cells = _reproduce._cells(Request("all", functions=PAPER_FUNCTIONS), load_preset("paper"))
    assert len(cells) == len(FUNCTIONS | DIRECT)
    for cell in cells:
        assert (cell.seeds, cell.horizon) == (tuple(range(20)), 2000)
        assert (cell.problem.per_axis, cell.problem.coordinates) == (10, "raw")
        assert not cell.restrict
        if cell.belief.belief == "map":
            assert (cell.belief.confidence, cell.belief.beta) == ("fixed", 1.0)
        elif cell.belief.belief != "ridge":
            assert cell.belief.delta == 0.1


def test_yelp_comes_from_where_it_is_said_to_be(run, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(_reproduce, "yelp", lambda place: asked.append(place) or rated())
    labels = run("yelp", data=tmp_path, algorithms=["ids"])
    assert (labels, asked) == (["ids on yelp"], [tmp_path])
    out = {"out": tmp_path / "second", "figures": False}
    labels = run("table1", data=tmp_path, algorithms=["ids"], functions=None, options=out)
    assert labels[-2:] == ["ids on movielens", "ids on yelp"]


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        ({"target": "yelp"}, ValueError, "data: expected the directory or .tar of the Yelp"),
        ({"target": "table1", "functions": ["yelp"]}, ValueError, "functions: .* got 'yelp'"),
        ({"target": "table2", "functions": ["movielens"]}, ValueError, "got 'movielens'"),
        ({"target": "table1", "seeds": 4}, ValueError, "seeds: movielens .* 3 users"),
        ({"target": "table1", "seeds": 0}, ValueError, "seeds: expected at least 1, got 0"),
        ({"target": "table1", "horizon": 0}, ValueError, "horizon: expected at least 1, got 0"),
        ({"target": "table1", "preset": "gone.toml"}, FileError, "gone.toml: cannot be read"),
        (
            {"target": "all", "functions": ["movielens"], "algorithms": ["ind-ucb"]},
            ValueError,
            "nothing of all is left to run",
        ),
    ],
)
def test_bad_requests_fail_before_anything_is_written(run, tmp_path, request_, error, message):
    with pytest.raises(error, match=message):
        run(**request_)
    assert not (tmp_path / "out").exists()


def numbers(document):
    """The rows without their times."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in document["rows"]]


def test_files_and_output_say_the_same(run, tmp_path, capsys):
    run("table1", functions=["matyas", "eggholder"])
    place = tmp_path / "out"
    heading, _, rest = (place / "table1.md").read_text().partition("\n\n")
    assert heading == "# Cumulative dueling regret"
    assert capsys.readouterr().out.strip() == rest.strip()
    document = json.loads((place / "table1.json").read_text())
    assert len(document["rows"]) == 3 * 6
    for table in (pl.read_csv(place / "table1.csv"), pl.read_parquet(place / "table1.parquet")):
        means = table["mean"].to_list()
        np.testing.assert_allclose(means, [row["mean"] for row in document["rows"]], rtol=1e-12)
    assert document["configuration"]["functions"] == ["matyas", "eggholder"]
    assert document["configuration"]["algorithms"] == list(PAPER_DUELS)


def test_two_runs_of_the_same_command_give_the_same_files(run, tmp_path, capsys):
    documents, tables = [], []
    for name in ("one", "two"):
        place = tmp_path / name
        run("table2", options={"out": place, "as_json": True})
        documents.append(json.loads(capsys.readouterr().out))
        tables.append((place / "table2.md").read_bytes())
    assert numbers(documents[0]) == numbers(documents[1])
    assert tables[0] == tables[1]


def test_a_resumed_run_only_runs_what_is_missing(run, made_up_runs, tmp_path, capsys):
    made_up_runs.failing.add("rucb on matyas")
    selection = {"functions": ["branin", "matyas"], "algorithms": ["rucb", "ids"]}
    with pytest.raises(CellError, match="rucb on matyas: FloatingPointError: on purpose"):
        run("table1", **selection)
    assert not (tmp_path / "out" / "table1.md").exists()
    made_up_runs.failing.clear()
    with pytest.raises(StoreError, match="--resume"):
        run("table1", **selection)
    capsys.readouterr()
    options = {"out": tmp_path / "out", "figures": False, "resume": True}
    assert run("table1", options=options, **selection) == ["rucb on matyas"]
    resumed = capsys.readouterr().out
    run("table1", options={"out": tmp_path / "other", "figures": False}, **selection)
    assert capsys.readouterr().out == resumed


def test_a_wider_selection_can_go_on_in_the_same_directory(run, tmp_path):
    run("table1", functions=["matyas"], algorithms=["ids"])
    options = {"out": tmp_path / "out", "figures": False, "resume": True}
    both = run("table1", functions=["matyas", "branin"], algorithms=["ids"], options=options)
    assert both == ["ids on branin"]


def test_figures_and_report_are_made_if_asked(run, tmp_path, monkeypatch):
    drawn, written = [], []
    monkeypatch.setattr(_figures, "write_figures", lambda *given: drawn.append(given))
    monkeypatch.setattr(_report, "report_run", lambda *given, **more: written.append((given, more)))
    place, page = tmp_path / "out", tmp_path / "docs" / "page.md"
    selection = {"functions": ["matyas"], "algorithms": ["ids"]}
    run("table1", options={"figures": True, "report": page}, **selection)
    (((result,), directory),) = drawn
    assert (result.algorithm, directory) == ("ids", place / "figures")
    ((given, more),) = written
    assert given == ([result], page)
    assert more["preset"] == "tiny"
    assert more["seconds"] > 0
    assert page.parent.is_dir()
    run("table1", options={"resume": True, "report": page}, **selection)
    # What was done before took time that this run knows nothing of.
    assert written[1][1]["seconds"] is None
    assert len(drawn) == 1


def test_other_targets_have_a_table_of_their_own(run, tmp_path, capsys):
    run("movielens")
    assert "one run per user of MovieLens" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "movielens.json").read_text())["table"] == "movielens"
