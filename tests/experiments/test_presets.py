"""Presets: what may stand in them, what is refused and how it is said, who overrides whom."""

import json

import pytest
import tomli_w
from tests.experiments.tiny import PRESET

from duelist.experiments._names import ALGORITHMS, PAPER_DUELS, PAPER_RATINGS, PROBLEMS, ProblemName
from duelist.experiments._presets import SHIPPED, FileError, load_preset
from duelist.experiments._schema import (
    AdaptiveBelief,
    GuaranteedBelief,
    IndependentBelief,
    LogUCB1Belief,
    MapBelief,
    RidgeBelief,
)

ACKLEY, MATYAS = PROBLEMS["ackley"], PROBLEMS["matyas"]
GOOD = {
    "name": "own",
    "horizon": 50,
    "seeds": 3,
    "coordinates": "unit",
    "per_axis": 5,
    "belief": {"belief": "map", "length_scale": 0.5, "lam": 2.0},
}
TUNED = {"command": "duelist tune", "seeds": [1000], "horizon": 50, "algorithms": {}}


@pytest.fixture
def load(tmp_path):
    """A function that writes a preset, and what was tuned for it, and loads it."""

    def load(changes=None, *, without=(), tuned=None):
        content = {**GOOD, **(changes or {})}
        content = {key: value for key, value in content.items() if key not in without}
        if tuned is not None:
            content["tuned"] = "chosen.toml"
            (tmp_path / "chosen.toml").write_text(tomli_w.dumps({**TUNED, **tuned}))
        (tmp_path / "own.toml").write_text(tomli_w.dumps(content))
        return load_preset(str(tmp_path / "own.toml"))

    return load


def said(error, file="own.toml"):
    """The lines of a message, each without the path of the file that it begins with."""
    lines = str(error.value).splitlines()
    assert all(f"/{file}: " in line for line in lines), lines
    return [line.partition(f"/{file}: ")[2] for line in lines]


# ---- what is shipped -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["paper", "default"])
@pytest.mark.parametrize("algorithm", [*PAPER_DUELS, *PAPER_RATINGS])
def test_shipped_presets_have_settings_for_every_algorithm_of_the_paper(name, algorithm):
    preset = load_preset(name)
    assert preset.name == name
    kinds = {"gp-ucb": RidgeBelief, "ind-ucb": IndependentBelief, "log-ucb1": LogUCB1Belief}
    usual = {"paper": MapBelief, "default": AdaptiveBelief}[name]
    for problem in (None, *PROBLEMS.values()):
        assert type(preset.belief(algorithm, problem)) is kinds.get(algorithm, usual)
    assert preset.restrict(algorithm) is False


def test_all_that_is_shipped_loads_and_is_named_as_its_file():
    names = {path.stem for path in SHIPPED.glob("*.toml") if not path.stem.endswith("-tuned")}
    assert {"paper", "default"} <= names
    for name in names:
        preset = load_preset(name)
        assert preset.name == name
        summary = preset.summary()
        assert json.loads(json.dumps(summary)) == summary


def test_the_paper_preset_is_the_papers_protocol():
    document = load_preset("paper").document
    assert (document.horizon, document.seeds, document.per_axis) == (2000, 20, 10)
    assert document.coordinates == "raw"


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nonsense", "", "Paper", "paper-tuned"])
def test_what_is_neither_a_name_nor_a_path_is_refused(name):
    expected = rf"preset: expected one of default, paper, or the path .*; got '{name}'"
    with pytest.raises(FileError, match=expected):
        load_preset(name)


def test_a_missing_file_is_said(tmp_path):
    for path in (tmp_path / "gone.toml", tmp_path / "gone" / "preset"):
        with pytest.raises(FileError, match=f"{path}: cannot be read: No such file or directory"):
            load_preset(str(path))


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        load_preset(str(tmp_path))


@pytest.mark.parametrize(
    "content", [b"name = ", b"name = 'a'\nname = 'b'\n", b"{}", b"name = '\xff'\n", b"\x00"]
)
def test_what_is_no_toml_is_said(tmp_path, content):
    path = tmp_path / "own.toml"
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"{path}: expected TOML: "):
        load_preset(str(path))


def test_a_shipped_name_is_not_looked_for_in_the_current_directory(tmp_path, monkeypatch):
    (tmp_path / "paper").write_text("not this")
    monkeypatch.chdir(tmp_path)
    assert load_preset("paper").name == "paper"


# ---- keys and values -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("name", 3, "name: expected a valid string, got 3"),
        ("horizon", 0, "horizon: expected greater than or equal to 1, got 0"),
        ("horizon", 2.5, "horizon: expected a valid integer, got 2.5"),
        ("seeds", "20", "seeds: expected a valid integer, got '20'"),
        ("seeds", True, "seeds: expected a valid integer, got True"),
        ("coordinates", "polar", "coordinates: expected 'raw' or 'unit', got 'polar'"),
        ("per_axis", 1, "per_axis: expected greater than or equal to 2, got 1"),
        ("belief", "map", "belief: expected a valid dictionary, got 'map'"),
        ("algorithms", [], "algorithms: expected a valid dictionary, got []"),
        ("colour", "red", "colour: there is no such key; got 'red'"),
    ],
)
def test_a_bad_value_is_said_with_its_key(load, key, value, expected):
    with pytest.raises(FileError) as error:
        load({key: value})
    assert said(error) == [expected]


@pytest.mark.parametrize("key", GOOD)
def test_a_missing_key_is_said(load, key):
    with pytest.raises(FileError) as error:
        load(without=[key])
    assert said(error) == [f"{key}: expected a value, got none"]


def test_every_mistake_is_said_at_once(load):
    with pytest.raises(FileError) as error:
        load({"seeds": -1, "colour": "red", "per_axis": "x"}, without=["horizon"])
    assert len(said(error)) == 4


MISTAKES = [
    ("lam", 0.0, "greater than 0, got 0.0"),
    ("lam", "1", "a valid number, got '1'"),
    ("bound", float("inf"), "a finite number, got inf"),
    ("delta", 1.0, "less than 1, got 1.0"),
    ("beta", -1.0, "greater than or equal to 0, got -1.0"),
    ("kernel", "cosine", "'rbf', 'exponential', 'matern32' or 'matern52', got 'cosine'"),
    ("confidence", "none", "'fixed', 'theorem' or 'theorem-maximum', got 'none'"),
    ("projected", "yes", "a valid boolean, got 'yes'"),
]


@pytest.mark.parametrize(("key", "value", "expected"), MISTAKES)
def test_a_bad_general_setting_is_said(load, key, value, expected):
    # As the only one, and beside settings of the algorithm's own.
    for own in ({}, {"variance": 0.5}):
        with pytest.raises(FileError) as error:
            load({"belief": {key: value}, "algorithms": {"rucb": own}})
        assert said(error) == [f"belief.{key}: expected {expected}"]


@pytest.mark.parametrize(("key", "value", "expected"), MISTAKES)
def test_a_bad_setting_of_an_algorithm_is_said(load, key, value, expected):
    with pytest.raises(FileError) as error:
        load({"algorithms": {"rucb": {key: value}}})
    assert said(error) == [f"algorithms.rucb.{key}: expected {expected}"]


@pytest.mark.parametrize(("key", "value", "expected"), MISTAKES)
def test_a_bad_tuned_setting_is_said_with_the_file_it_stands_in(load, key, value, expected):
    with pytest.raises(FileError) as error:
        load(tuned={"algorithms": {"rucb": {"ackley": {key: value}}}})
    assert said(error, "chosen.toml") == [f"algorithms.rucb.ackley.{key}: expected {expected}"]


def test_unknown_keys_of_settings_are_said(load):
    with pytest.raises(FileError) as error:
        load({"algorithms": {"rucb": {"lambda": 1.0}}})
    assert said(error) == ["algorithms.rucb.lambda: there is no such key; got 1.0"]


def test_unknown_algorithms_are_said(load):
    with pytest.raises(FileError, match=r"algorithms: expected 'ucb' is not an algorithm; expec"):
        load({"algorithms": {"ucb": {}}})


@pytest.mark.parametrize("kind", ["nonsense", "ridge", 3, ["map"]])
def test_a_belief_that_the_algorithm_cannot_run_on_is_said(load, kind):
    with pytest.raises(FileError) as error:
        load({"algorithms": {"rucb": {"belief": kind}}})
    expected = (
        f"algorithms.rucb.belief: expected map or adaptive or guaranteed for rucb, got {kind!r}"
    )
    assert said(error) == [expected]


def test_an_algorithm_that_cannot_run_on_the_general_belief_is_said(load):
    preset = load()
    with pytest.raises(FileError) as error:
        preset.belief("gp-ucb")
    assert said(error) == ["belief.belief: expected ridge for gp-ucb, got 'map'"]


def test_a_required_setting_that_is_missing_is_said(load):
    with pytest.raises(FileError) as error:
        load({"algorithms": {"rucb": {"belief": "guaranteed"}}})
    assert said(error) == ["algorithms.rucb.bound: expected a value, got none"]


@pytest.mark.parametrize(
    ("algorithm", "value"), [("maxminlcb", 1), ("maxminlcb", "yes"), ("rucb", True)]
)
def test_restriction_is_a_choice_of_maxminlcb(load, algorithm, value):
    with pytest.raises(FileError) as error:
        load({"algorithms": {algorithm: {"restrict": value}}})
    (message,) = said(error)
    assert message.startswith(f"algorithms.{algorithm}.restrict: expected true or false for max")
    assert message.endswith(f"got {value!r}")


# ---- what was tuned --------------------------------------------------------------------------


def test_a_tuned_file_that_is_missing_is_said(load, tmp_path):
    with pytest.raises(FileError, match=f"{tmp_path / 'gone.toml'}: cannot be read: No such"):
        load({"tuned": "gone.toml"})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"command": 3}, "command: expected a valid string, got 3"),
        ({"horizon": 0}, "horizon: expected greater than or equal to 1, got 0"),
        ({"extra": 1}, "extra: there is no such key; got 1"),
        ({"algorithms": {"ucb": {}}}, "algorithms: 'ucb' is not an algorithm"),
        ({"algorithms": {"ids": {"eggholder": {}}}}, "algorithms: 'eggholder' is not a problem"),
    ],
)
def test_a_bad_tuned_file_is_said(load, change, expected):
    with pytest.raises(FileError) as error:
        load(tuned=change)
    assert said(error, "chosen.toml") == [expected]


# ---- who overrides whom ----------------------------------------------------------------------


def test_own_settings_override_general_ones_and_tuned_ones_both(load):
    preset = load(
        {"algorithms": {"ids": {"lam": 3.0, "variance": 0.5}}},
        tuned={"algorithms": {"ids": {"ackley": {"lam": 4.0}}}},
    )
    assert preset.belief("rucb", ACKLEY) == MapBelief(length_scale=0.5, lam=2.0)
    assert preset.belief("ids", MATYAS) == MapBelief(length_scale=0.5, lam=3.0, variance=0.5)
    assert preset.belief("ids", ACKLEY) == MapBelief(length_scale=0.5, lam=4.0, variance=0.5)
    assert preset.belief("ids") == preset.belief("ids", MATYAS)


def test_what_is_tuned_for_one_variant_is_not_for_the_other(load):
    preset = load(tuned={"algorithms": {"ids": {"eggholder-printed": {"lam": 4.0}}}})
    assert preset.belief("ids", ProblemName("eggholder", "printed")).lam == 4.0
    assert preset.belief("ids", ProblemName("eggholder", "released")).lam == 2.0


@pytest.mark.parametrize("general", [{"belief": "map", "lam": 2.0}, {"lam": 2.0}])
def test_general_settings_are_not_those_of_another_belief(load, general):
    preset = load(
        {
            "belief": general,
            "algorithms": {
                "gp-ucb": {"belief": "ridge", "noise": 0.5},
                "ids": {"belief": "guaranteed", "bound": 3.0},
                "rucb": {"belief": "map", "bound": 3.0},
            },
        }
    )
    assert preset.belief("gp-ucb") == RidgeBelief(noise=0.5)
    assert preset.belief("ids") == GuaranteedBelief(bound=3.0)
    assert preset.belief("rucb") == MapBelief(lam=2.0, bound=3.0)


def test_an_algorithm_without_settings_has_the_general_ones(load):
    preset = load()
    duels = [name for name, kinds in ALGORITHMS.items() if "map" in kinds]
    assert {preset.belief(name) for name in duels} == {MapBelief(length_scale=0.5, lam=2.0)}


def test_restriction_is_no_setting_of_the_belief(load):
    preset = load({"algorithms": {"maxminlcb": {"restrict": True}}})
    assert preset.restrict("maxminlcb") is True
    assert preset.restrict("rucb") is False
    assert preset.belief("maxminlcb") == preset.belief("rucb")


def test_the_summary_has_everything_that_was_written(load):
    tuned = {"algorithms": {"ids": {"ackley": {"lam": 4.0}}}}
    summary = load({"algorithms": {"ids": {"lam": 3.0}}}, tuned=tuned).summary()
    assert {key: summary[key] for key in GOOD} == GOOD
    assert summary["algorithms"] == {"ids": {"lam": 3.0}}
    assert summary["tuned"] == {**TUNED, **tuned}
    assert load().summary()["tuned"] is None


def test_a_minimal_file_is_enough(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(PRESET)
    assert load_preset(str(path)).belief("maxminlcb") == MapBelief(length_scale=0.5)
