"""Experiment files: what they mean, what is refused, and a small one from file to figures."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.experiments.inline import command, use_inline

from duelist.experiments._experiment import load_experiment
from duelist.experiments._presets import FileError
from duelist.experiments._schema import MapBelief, RidgeBelief

EXAMPLE = Path(__file__).parents[2] / "examples" / "experiment.toml"

SMALL = """
name = "small"
horizon = 8
seeds = [3, 1]
[belief]
lam = 0.5
[[problems]]
function = "ackley"
per_axis = 3
[[policies]]
algorithm = "random"
"""


def load(tmp_path, text):
    path = tmp_path / "small.toml"
    path.write_text(text)
    return load_experiment(path)


def test_the_example_is_read_as_it_is_written():
    experiment = load_experiment(EXAMPLE)
    cells = experiment.cells
    assert {cell.seeds for cell in cells} == {(0, 1, 2, 3, 4)}
    assert {cell.horizon for cell in cells} == {500}
    problems = list(dict.fromkeys((c.problem.title, c.problem.variant) for c in cells))
    expected = [("ackley", ""), ("michalewicz-15^2", "printed"), ("movielens", "")]
    assert problems == expected
    algorithms = [cell.algorithm for cell in cells[:: len(problems)]]
    assert algorithms == ["maxminlcb", "maxminlcb", "thompson", "sparring", "rucb", "random"]
    general = MapBelief(length_scale=0.2, beta=0.5)
    other = {"kernel": "matern52", "confidence": "theorem", "delta": 0.1}
    assert [cell.belief for cell in cells[:: len(problems)]] == [
        general,
        general.model_copy(update={"beta": 1.0}),
        *[general] * 2,
        general.model_copy(update=other),
        general,
    ]
    assert len({cell.key for cell in cells}) == len(cells) == 18
    assert cells[2].table.utilities.shape[0] == cells[2].problem.users == 20
    assert json.loads(json.dumps(experiment.summary())) == experiment.summary()


def test_settings_are_general_then_own_then_swept(tmp_path):
    text = SMALL + (
        "sweep = { lam = [0.1, 0.2], bound = [1, 2] }\n"
        '[[policies]]\nalgorithm = "gp-ucb"\nbelief = { noise = 0.5 }\n'
        '[[policies]]\nalgorithm = "maxminlcb"\nrestrict = true\n'
    )
    cells = load(tmp_path, text).cells
    assert [(c.belief.lam, c.belief.bound) for c in cells[:4]] == [
        (0.1, 1.0),
        (0.1, 2.0),
        (0.2, 1.0),
        (0.2, 2.0),
    ]
    # The general settings are those of another belief than that of GP-UCB.
    assert cells[4].belief == RidgeBelief(noise=0.5)
    assert cells[5].belief == MapBelief(lam=0.5)
    assert [cell.restrict for cell in cells] == [False] * 5 + [True]
    assert cells[0].seeds == (3, 1)


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        ("", "ackley"),
        ("dim = 2", "ackley"),
        ("per_axis = 20", "ackley-20^2"),
        ("dim = 3", "ackley-10^3"),
        ('per_axis = 20\nname = "fine"', "fine"),
    ],
)
def test_problems_are_named_by_their_grid(tmp_path, keys, title):
    (cell,) = load(tmp_path, SMALL.replace("per_axis = 3", keys)).cells
    assert cell.problem.title == title
    assert cell.problem.function == "ackley"
    empty = {kind: np.zeros(shape) for kind, shape in cell.shapes().items()}
    assert cell.result(empty, 0.0, 0.0).function == title


def test_hartmann6_has_six_axes(tmp_path):
    text = SMALL.replace('"ackley"', '"hartmann6"')
    assert load(tmp_path, text).cells[0].problem.title == "hartmann6-3^6"


BAD = {
    "an unknown key": ("seeds =", "sedes = 1\nseeds =", "sedes: there is no such key; got 1"),
    "no name": ('name = "small"\n', "", "name: expected a value, got none"),
    "a bad name": ('"small"', '"../small"', "name: expected .*'../small'"),
    "no horizon": ("horizon = 8", "horizon = 0", "horizon: expected .* 1, got 0"),
    "a text": ("horizon = 8", 'horizon = "8"', "horizon: expected a valid integer, got '8'"),
    "no seeds": ("[3, 1]", "[]", "seeds"),
    "a seed twice": ("[3, 1]", "[3, 3]", r"seeds: expected different ones, got \[3, 3\]"),
    "an algorithm": ('"random"', '"ranodm"', "policies.0.algorithm: expected one of maxminlcb, .*"),
    "a function": ('"ackley"', '"akley"', "problems.0: name: expected one of .*'akley'"),
    "a dimension": (
        '"ackley"',
        '"michalewicz"\ndim = 9',
        "problems.0.per_axis: expected .* got 3.9 = 19683",
    ),
    "no such dimension": ('"ackley"', '"branin"\ndim = 3', "problems.0: dim: expected .* got 3"),
    "a large grid": (
        "per_axis = 3",
        "per_axis = 65",
        r"problems.0.per_axis: expected .* 4096 points, got 65\^2 = 4225",
    ),
    "a variant": (
        "per_axis = 3",
        'variant = "other"',
        "problems.0.variant: expected 'released' or 'printed', got 'other'",
    ),
    "no problem": (
        'function = "ackley"\nper_axis = 3',
        "per_axis = 3",
        r"problems.0: expected one of the keys function, data, ratings, got \['per_axis'\]",
    ),
    "a problem of two kinds": (
        "per_axis = 3",
        'data = "movielens"',
        r"problems.0: expected one of the keys .* got \['function', 'data'\]",
    ),
    "yelp without files": (
        'function = "ackley"\nper_axis = 3',
        'data = "yelp"',
        "problems.0.path: expected for yelp",
    ),
    "a user too many": (
        'function = "ackley"\nper_axis = 3',
        'data = "movielens"',
        "from 0 to 19, got 25",
    ),
    "a setting": ("lam = 0.5", "lam = 0", "policies.0.lam: expected greater than 0, got 0"),
    "a swept setting": (
        '"random"\n',
        '"random"\nsweep = { lma = [1.0] }\n',
        "policies.0.lma: there is no such key; got 1.0",
    ),
    "nothing to sweep": (
        '"random"\n',
        '"random"\nsweep = { lam = [] }\n',
        "policies.0.sweep.lam: expected",
    ),
    "own and swept": (
        '"random"\n',
        '"random"\nbelief = { lam = 1.0 }\nsweep = { lam = [1.0] }\n',
        "policies.0.sweep.lam: stands in policies.0.belief as well",
    ),
    "the wrong belief": (
        '"random"\n',
        '"random"\nbelief = { belief = "ridge" }\n',
        "policies.0.belief: expected map.* for random, got 'ridge'",
    ),
    "a restriction": (
        '"random"\n',
        '"random"\nrestrict = true\n',
        "policies.0.restrict: there is no such key for random",
    ),
    "a policy twice": (
        '"random"\n',
        '"random"\n[[policies]]\nalgorithm = "random"\n',
        "expected different problems and policies, got random on .* twice",
    ),
    "no TOML": ("horizon = 8", "horizon 8", "expected TOML"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_named(tmp_path, case):
    old, new, message = BAD[case]
    text = SMALL.replace("[3, 1]", "[3, 25]") if case == "a user too many" else SMALL
    assert old in text
    with pytest.raises((FileError, ValueError), match=f"(?s){message}"):
        load(tmp_path, text.replace(old, new))


def test_a_table_of_ratings(tmp_path):
    ratings = {"user": [], "item": [], "rating": []}
    rng = np.random.default_rng(0)
    for user in range(3):
        for item in range(40):
            ratings["user"].append(f"u{user}")
            ratings["item"].append(f"i{item}")
            ratings["rating"].append(int(rng.integers(1, 6)))
    pl.DataFrame(ratings).write_csv(tmp_path / "ratings.csv")
    words = ["red", "green", "blue", "round", "square", "large", "small"]
    texts = [" ".join(rng.choice(words, 4)) for _ in range(40)]
    items = pl.DataFrame({"id": [f"i{k}" for k in range(40)], "text": texts})
    items.write_csv(tmp_path / "items.csv")
    entry = 'ratings = "ratings.csv"\nitems = "items.csv"\nname = "things"\nscale = [1, 5]\n'
    text = SMALL.replace('function = "ackley"\nper_axis = 3\n', entry).replace("[3, 1]", "2")
    (cell,) = load(tmp_path, text).cells
    assert cell.problem.title == "things"
    assert (cell.problem.users, cell.problem.items) == (3, 40)
    table = np.array(ratings["rating"], float).reshape(3, 40)
    np.testing.assert_array_equal(np.sort(cell.table.utilities), np.sort(table))
    with pytest.raises(FileError, match=r"problems\.0\.scale"):
        load(tmp_path, text.replace("[1, 5]", "[1, 5, 6]"))


def test_from_file_to_figures_at_tiny_size(tmp_path, monkeypatch, capsys):
    """The example, with less of everything."""
    pool = use_inline(monkeypatch)
    example = EXAMPLE.read_text()
    changes = {
        "horizon = 500": "horizon = 6",
        "seeds = 5 ": "seeds = 2 ",
        'function = "ackley"\n': 'function = "ackley"\nper_axis = 3\n',
    }
    for old, new in changes.items():
        assert old in example
        example = example.replace(old, new)
    head, problem, policy = (
        example.split(mark)[k]
        for mark, k in (("[[problems]]\n", 0), ("[[problems]]\n", 1), ("[[policies]]\n", 1))
    )
    file, out = tmp_path / "tiny.toml", tmp_path / "out"
    file.write_text(f"{head}[[problems]]\n{problem}[[policies]]\n{policy}")

    assert command("run", file, "--out", out, "--json", "--jobs", "1") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["table"] == "widths"
    assert document["configuration"]["experiment"]["horizon"] == 6
    assert [cell.belief.beta for cell in pool.ran] == [0.5, 1.0]
    for cell, row in zip(pool.ran, document["rows"], strict=True):
        assert (row["function"], row["algorithm"]) == ("ackley-3^2", "maxminlcb")
        assert row["final"] == cell.simulate()["dueling"].sum(axis=1).tolist()
    text = (out / "widths.md").read_text()
    assert "MaxMinLCB, beta=0.5" in text
    assert "MaxMinLCB, beta=1.0" in text
    for name in ("widths.csv", "widths.parquet", "widths.json", "manifest.json"):
        assert (out / name).stat().st_size > 0
    names = {path.name for path in (out / "figures").iterdir()}
    assert {"regret-ackley-3_2.png", "distribution-duels.pdf"} <= names

    # Again nothing is run; another experiment does not go into the same directory.
    assert command("run", file, "--out", out, "--resume", "--no-figures") == 0
    assert len(pool.ran) == 2
    file.write_text(file.read_text().replace("horizon = 6", "horizon = 7"))
    assert command("run", file, "--out", out, "--resume") == 2
    assert "horizon is 6 there and 7 here" in capsys.readouterr().err
    assert command("run", tmp_path / "none.toml") == 2
    assert "none.toml: cannot be read" in capsys.readouterr().err
