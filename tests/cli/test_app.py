"""The command line: what it answers at once, what it refuses, what a run prints and leaves."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.tiny import HORIZON, PRESET, SEEDS

from duelist import __version__
from duelist.cli import main
from duelist.experiments._versions import versions

DUELIST = str(Path(sys.executable).with_name("duelist"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
SOON = 240
"""Seconds after which a command has hung; each takes a few."""

IMPORTS = """
import sys
from duelist.cli import main
for arguments in (["--help"], ["reproduce", "--help"], ["--version"]):
    try:
        main(arguments)
    except SystemExit as exit:
        assert not exit.code, exit.code
heavy = {"jax", "numpy", "polars", "matplotlib", "sklearn", "pydantic"}
print("imported:", sorted(heavy & set(sys.modules)))
"""


def duelist(*arguments):
    return subprocess.run(
        [DUELIST, *map(str, arguments)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )


def refused(capsys, *arguments):
    """The message of a command that fails on bad input without printing anything else."""
    code, out, message = outcome(capsys, *arguments)
    assert (code, out) == (2, "")
    return message


def outcome(capsys, *arguments):
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return exit_.value.code, printed.out, printed.err


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    path = tmp_path_factory.mktemp("preset") / "tiny.toml"
    path.write_text(PRESET)
    return path


# ---- at once ---------------------------------------------------------------------------------


def test_help_answers_without_importing_what_takes_long():
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=SOON,
        check=True,
    )
    assert "Usage: duelist COMMAND" in done.stdout
    assert "Usage: duelist reproduce" in done.stdout
    assert __version__ in done.stdout
    assert done.stdout.endswith("imported: []\n")
    assert done.stderr == ""


# ---- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nonsense"], 'Unknown command "nonsense"'),
        (["reproduce"], "TARGET requires an argument"),
        (["reproduce", "table9"], 'Invalid value "table9" for TARGET. Choose from: "table1"'),
        (["reproduce", "table1", "table2"], "table2"),
        (["reproduce", "table1", "--nonsense"], "Unknown option: --nonsense"),
        (["reproduce", "table1", "--seeds", "x"], 'unable to convert "x" into int'),
        (["reproduce", "table1", "--seeds", "0"], "seeds: expected at least 1, got 0"),
        (["reproduce", "table1", "--horizon", "-3"], "horizon: expected at least 1, got -3"),
        (["reproduce", "table1", "--jobs", "0"], "jobs: expected at least 1, got 0"),
        (
            ["reproduce", "table1", "--functions", "branin,nowhere"],
            "functions: expected any of branin, matyas, .*; got 'nowhere'",
        ),
        (["reproduce", "table1", "--functions", ","], "functions: expected any of .*; got ','"),
        (["reproduce", "table1", "--functions", ""], "functions: expected any of .*; got ''"),
        (
            ["reproduce", "table1", "--algorithms", "nobody"],
            "algorithms: expected any of maxminlcb, doubler, .*; got 'nobody'",
        ),
        (
            ["reproduce", "table2", "--algorithms", "maxminlcb"],
            "algorithms: expected any of lgp-ucb, .*; got 'maxminlcb'",
        ),
        (
            ["reproduce", "table1", "--preset", "nonsense"],
            "preset: expected one of default, paper, or the path of a .toml file; got 'nonsense'",
        ),
        (["reproduce", "table1", "--preset", "gone.toml"], "gone.toml: cannot be read: No such"),
        (["reproduce", "yelp"], "data: expected the directory or .tar of the Yelp Open Dataset"),
        (["reproduce", "yelp", "--data", "gone"], "gone does not exist"),
        (
            ["reproduce", "figures", "--functions", "movielens", "--algorithms", "lgp-ucb"],
            "nothing of figures is left to run",
        ),
    ],
)
def test_bad_input_is_said_in_one_message(capsys, tmp_path, monkeypatch, arguments, expected):
    monkeypatch.chdir(tmp_path)
    message = refused(capsys, *arguments)
    assert message.startswith("duelist: ")
    assert re.search(expected, message), message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_place_that_cannot_be_written_to_is_said(capsys, tmp_path, preset, option):
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "below" / "it"
    options = {"--out": tmp_path / "out", option: place}
    words = [str(part) for pair in options.items() for part in pair]
    common = ("--preset", preset, "--functions", "branin", "--jobs", 1)
    message = refused(capsys, "reproduce", "table1", *common, *words)
    assert f"cannot make {tmp_path / 'file'}" in message
    assert "Not a directory" in message


def test_a_cluster_that_is_not_there_is_said_and_leaves_the_directory_free(
    capsys, tmp_path, preset, monkeypatch
):
    monkeypatch.setattr("duelist.experiments._cluster._TIMEOUT", 1)
    common = ("--preset", preset, "--functions", "branin", "--out", tmp_path / "out")
    for _ in range(2):
        message = refused(capsys, "reproduce", "table1", *common, "--cluster", "tcp://127.0.0.1:1")
        assert "cluster: no scheduler answers at 'tcp://127.0.0.1:1'" in message


def test_a_cell_that_fails_is_told_by_the_exit_code(capsys, tmp_path):
    preset = tmp_path / "tiny.toml"
    preset.write_text(PRESET + "lam = 1e-300\n")
    place = tmp_path / "out"
    code, out, message = outcome(
        capsys,
        *("reproduce", "table1", "--preset", preset, "--out", place, "--jobs", 1),
        *("--functions", "branin", "--algorithms", "maxminlcb"),
    )
    assert (code, out) == (1, "")
    assert "maxminlcb on branin: failed" in message
    assert "duelist: maxminlcb on branin: ValueError: lam: expected" in message
    assert f"The other cells are in {place}; go on with --resume" in message


# ---- a run -----------------------------------------------------------------------------------

SELECTION = ("--functions", "branin,eggholder", "--algorithms", "maxminlcb", "doubler")


@pytest.fixture(scope="module")
def run(preset):
    """A function that runs a small table."""

    def command(place, *options):
        common = ("reproduce", "table1", "--preset", preset, "--out", place, "--no-figures")
        return duelist(*common, *SELECTION, *options)

    return command


@pytest.fixture(scope="module")
def whole(run, tmp_path_factory):
    """A run without interruption: what it printed, and its directory."""
    place = tmp_path_factory.mktemp("whole") / "out"
    return run(place, "--jobs", "1", "--json"), place


@pytest.fixture(scope="module")
def interrupted(preset, tmp_path_factory):
    """The same in a session of its own, whose processes all get Ctrl-C after the first cell."""
    place = tmp_path_factory.mktemp("interrupted") / "out"
    common = ("reproduce", "table1", "--preset", preset, "--out", place, "--no-figures")
    command = [DUELIST, *map(str, common), *SELECTION, "--jobs", "1", "--json"]
    with subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        hung = threading.Timer(SOON, process.kill)
        hung.start()
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("maxminlcb on branin"):
                os.killpg(process.pid, signal.SIGINT)
        printed = process.stdout.read()
        code = process.wait()
        hung.cancel()
    return code, printed, "".join(said), place, process.pid


def test_standard_output_is_one_json_document(whole):
    done, _ = whole
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    expected = {"table", "preset", "rows", "seconds", "versions", "machine", "configuration"}
    assert set(document) == expected
    assert (document["table"], document["preset"]) == ("table1", "tiny")
    assert document["versions"] == dict(versions())
    assert document["machine"]["cores"] >= 1
    assert document["configuration"]["preset"]["belief"]["length_scale"] == 0.5
    assert document["configuration"]["seeds"] == list(SEEDS)
    assert 0 < document["seconds"] < SOON


def test_every_cell_is_a_row(whole):
    rows = json.loads(whole[0].stdout)["rows"]
    names = [(row["function"], row["variant"], row["algorithm"]) for row in rows]
    problems = [("branin", ""), ("eggholder", "released"), ("eggholder", "printed")]
    assert names == [(*problem, a) for problem in problems for a in ("maxminlcb", "doubler")]
    for row in rows:
        assert (row["seeds"], row["horizon"]) == (len(SEEDS), HORIZON)
        assert row["seconds"] > 0
        assert row["mean"] == pytest.approx(np.mean(row["final"]), rel=1e-12)
        error = abs(row["final"][0] - row["final"][1]) / 2  # of two values
        assert row["standard_error"] == pytest.approx(error, rel=1e-9, abs=1e-12)


def test_progress_is_on_standard_error(whole):
    done, place = whole
    assert "6 cells on 1 process(es), in double precision" in done.stderr
    assert "doubler on eggholder printed: " in done.stderr
    assert f"Written to {place}" in done.stderr


def test_the_directory_has_everything(whole):
    done, place = whole
    files = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    tables = {f"table1.{kind}" for kind in ("md", "csv", "parquet", "json")}
    assert {name for name in files if not name.startswith("cells/")} == {"manifest.json", *tables}
    assert sum(name.startswith("cells/") for name in files) == 6
    assert json.loads((place / "table1.json").read_text()) == json.loads(done.stdout)


def test_ctrl_c_ends_the_run_with_one_message(interrupted):
    code, printed, said, place, _ = interrupted
    assert (code, printed) == (130, "")
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert last == f"duelist: interrupted; finished cells are in {place}: go on with --resume"


def test_ctrl_c_leaves_whole_cells_and_no_process(interrupted):
    _, _, said, place, group = interrupted
    names = [path.name for path in (place / "cells").iterdir()]
    assert 1 <= len(names) < 6
    assert all(name.endswith(".npz") for name in names)
    # What was told to be finished is there.
    told = [line for line in said.splitlines() if line.startswith(("maxminlcb on", "doubler on"))]
    assert 1 <= len(told) <= len(names)
    end = time.monotonic() + SOON
    while members(group):
        assert time.monotonic() < end, "a process was left behind"
        time.sleep(0.05)


def members(group):
    """The processes of a group that are more than records."""
    states = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = place.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        states += [state] if int(number) == group and state != "Z" else []
    return states


def test_results_are_not_mixed(interrupted, preset, capsys):
    *_, place, _ = interrupted
    common = ("reproduce", "table1", "--preset", preset, *SELECTION, "--out", place)
    assert "already holds results; go on with them with --resume" in refused(capsys, *common)
    message = refused(capsys, *common, "--resume", "--seeds", 3)
    assert "other settings or versions (settings.seeds is [0, 1] there and [0, 1, 2] " in message
    message = refused(capsys, *common, "--resume", "--horizon", 9)
    assert "settings.horizon is 8 there and 9 here" in message
    message = refused(capsys, *common[:3], "default", *common[4:], "--resume")
    assert "settings.preset.name is 'tiny' there and 'default' here" in message


def test_a_resumed_run_gives_the_same_table_bit_for_bit(interrupted, whole, run):
    *_, place, _ = interrupted
    before = {path: path.stat().st_mtime_ns for path in (place / "cells").iterdir()}
    done = run(place, "--jobs", "2", "--json", "--resume")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    first, second = (json.loads(text)["rows"] for text in (whole[0].stdout, done.stdout))
    for row in first + second:
        del row["seconds"]
    assert first == second
    assert (place / "table1.md").read_bytes() == (whole[1] / "table1.md").read_bytes()
    for path in (whole[1] / "cells").iterdir():
        with np.load(path) as ours, np.load(place / "cells" / path.name) as theirs:
            kinds = set(ours) - {"meta"}
            assert all(ours[kind].tobytes() == theirs[kind].tobytes() for kind in kinds)
