"""Tuning: every combination is run, the lowest mean is chosen, and presets read it back."""

import csv
import shutil
import tomllib
from itertools import product

import numpy as np
import pytest
from tests.experiments.inline import command, use_inline

from duelist.experiments._names import PROBLEMS
from duelist.experiments._presets import SHIPPED, FileError, load_preset
from duelist.experiments._session import Options
from duelist.experiments._tune import TuneRequest, tune

PRESET = """
name = "tiny"
horizon = 20
seeds = 2
coordinates = "unit"
per_axis = 3
tuned = "tuned.toml"
[belief]
belief = "map"
beta = 0.5
[algorithms.gp-ucb]
belief = "ridge"
[algorithms.ind-ucb]
belief = "independent"
[algorithms.log-ucb1]
belief = "log-ucb1"
[tuning]
seeds = [100, 101]
horizon = 16
[tuning.duels]
lam = [0.1, 1.0]
length_scale = [0.1, 0.5]
[tuning.ratings]
lam = [0.5, 2.0]
variance = [0.1, 1.0]
"""
NOTHING = 'command = "none"\nseeds = [100]\nhorizon = 1\n[algorithms]\n'


@pytest.fixture
def preset(tmp_path):
    (tmp_path / "tiny.toml").write_text(PRESET)
    (tmp_path / "tuned.toml").write_text(NOTHING)
    return tmp_path / "tiny.toml"


def lines_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_lowest_mean_is_chosen_and_read_back(preset, tmp_path, monkeypatch, capsys):
    pool, out = use_inline(monkeypatch), tmp_path / "out"
    words = ["tune", "--preset", preset, "--functions", "ackley", "michalewicz-printed"]
    words += ["--algorithms", "maxinp,gp-ucb,ind-ucb", "--out", out, "--jobs", "1"]
    assert command(*words, "--chosen", tmp_path / "tuned.toml") == 0
    printed = capsys.readouterr().out
    assert [sweep.cell.algorithm for sweep in pool.ran] == ["maxinp"] * 2 + ["gp-ucb"] * 2
    assert (out / "tuned.toml").read_text() == (tmp_path / "tuned.toml").read_text()

    tuned = tomllib.loads((out / "tuned.toml").read_text())
    assert tuned["command"].startswith("duelist tune --preset ")
    assert (tuned["seeds"], tuned["horizon"]) == ([100, 101], 16)
    table = lines_of(out / "tuning.csv")
    assert len(table) == 2 * 4 + 2 * 2
    for algorithm, names in (("maxinp", ("lam", "length_scale")), ("gp-ucb", ("variance",))):
        for function, label in (("ackley", "ackley"), ("michalewicz", "michalewicz-printed")):
            own = [x for x in table if (x["algorithm"], x["function"]) == (algorithm, function)]
            best = min(own, key=lambda line: float(line["mean"]))
            assert [line["chosen"] for line in own].count("true") == 1
            assert best["chosen"] == "true"
            chosen = {name: float(best[name]) for name in names}
            assert tuned["algorithms"][algorithm][label] == chosen
            assert f"{float(best['mean']):.1f} (" in printed
            # The preset now has what was chosen, and the rest as before.
            belief = load_preset(str(preset)).belief(algorithm, PROBLEMS[label])
            assert {name: getattr(belief, name) for name in names} == chosen
            assert belief.beta == (0.5 if algorithm == "maxinp" else 1.0)

    # A second time nothing is run, and what was chosen before does not matter.
    assert command(*words, "--resume") == 0
    assert len(pool.ran) == 4
    assert capsys.readouterr().out == printed


def test_the_grid_of_the_paper_is_the_one_of_its_appendix():
    preset = load_preset("paper")
    scales = list(product((0.1, 1.0), (0.1, 1.0)))
    for algorithm, penalties in (("ids", (0.01, 0.1, 1.0)), ("lgp-ucb", (0.01, 0.1, 1.0, 5.0))):
        found = preset.candidates(algorithm)
        values = [(b.lam, b.bound, (b.variance, b.length_scale)) for b in found]
        assert sorted(values) == sorted(product(penalties, (1.0, 2.0, 3.0), scales))
        assert {b.beta for b in found} == {1.0}
    assert [(b.variance, b.length_scale) for b in preset.candidates("gp-ucb")] == scales
    assert len(preset.candidates("log-ucb1")) == 12
    assert preset.candidates("ind-ucb") == ()
    assert not set(preset.document.tuning.seeds) & set(range(preset.document.seeds))


def test_the_command_is_without_what_does_not_change_numbers():
    assert TuneRequest().command() == "duelist tune --preset paper"
    request = TuneRequest("a b.toml", ["ackley"], ["ids", "rucb"], [20, 21], 50)
    words = "--functions ackley --algorithms ids rucb --seeds 20 21 --horizon 50"
    assert request.command() == f"duelist tune --preset 'a b.toml' {words}"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seeds": [1, 100]}, r"seeds: expected different ones from 2, for 0 to 1 .*\[1, 100\]"),
        ({"seeds": [5, 5]}, r"seeds: expected different ones .*\[5, 5\]"),
        ({"horizon": 0}, "horizon: expected at least 1, got 0"),
        ({"functions": ["movielens"]}, "functions: expected any of branin.*'movielens'"),
        ({"algorithms": ["random"]}, "algorithms: expected any of maxminlcb.*'random'"),
        ({"algorithms": ["ind-ucb"]}, "algorithms: nothing of ind-ucb can be tuned"),
    ],
)
def test_bad_requests_are_refused(preset, tmp_path, changed, message):
    request = TuneRequest(**{"preset": str(preset), **changed})
    with pytest.raises(ValueError, match=message):
        tune(request, Options(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lam = [0.1, 1.0]", "lam = [0.0, 1.0]", "tuning.duels.lam: expected greater than 0"),
        ("lam = [0.1, 1.0]", "lam = []", "tuning.duels.lam: expected"),
        ("seeds = [100, 101]", "seeds = []", "tuning.seeds: expected"),
        ("seeds = [100, 101]", "seeds = [-1]", "tuning.seeds.0: expected .* -1"),
        ("horizon = 16\n", "", "tuning.horizon: expected a value, got none"),
    ],
)
def test_bad_grids_are_refused(preset, old, new, message):
    preset.write_text(PRESET.replace(old, new))
    with pytest.raises(FileError, match=message):
        load_preset(str(preset))


def test_a_preset_without_a_grid_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"default.toml: tuning: expected a table .* got none"):
        tune(TuneRequest("default"), Options(tmp_path / "out"))


def test_a_place_that_cannot_be_written_is_found_before_the_run(preset, tmp_path, monkeypatch):
    pool = use_inline(monkeypatch)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="directory: cannot make"):
        tune(TuneRequest(str(preset)), Options(tmp_path / "out"), tmp_path / "file" / "x.toml")
    assert pool.ran == []


def test_seeds_of_the_tuning_are_refused_in_an_evaluation(preset, capsys, tmp_path):
    values = "[algorithms.maxinp]\nackley = { lam = 0.1 }\n"
    (tmp_path / "tuned.toml").write_text(NOTHING.replace("[algorithms]\n", values))
    words = ["reproduce", "table1", "--preset", preset, "--functions", "ackley"]
    assert command(*words, "--seeds", "101", "--out", tmp_path / "out") == 2
    assert "none of those that the preset tiny was tuned with, got 100" in capsys.readouterr().err


def test_what_is_shipped_was_tuned_on_seeds_of_its_own(tmp_path):
    shutil.copytree(SHIPPED, tmp_path / "copy")
    preset = load_preset(str(tmp_path / "copy" / "paper.toml"))
    assert preset.tuned is not None
    preset.check_evaluation(range(preset.document.seeds))
    for algorithm, problems in preset.tuned.algorithms.items():
        grid = preset.document.tuning.grid(algorithm)
        for chosen in problems.values():
            assert all(np.isin(value, grid[name]) for name, value in chosen.items())
