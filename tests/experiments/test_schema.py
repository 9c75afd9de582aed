"""What may stand in a file: kinds, ranges, nothing unknown."""

import pytest
from pydantic import ValidationError

from duelist.experiments._schema import (
    BELIEFS,
    FunctionProblem,
    GuaranteedBelief,
    IndependentBelief,
    LogUCB1Belief,
    MapBelief,
    RidgeBelief,
    TableProblem,
    belief_adapter,
    described,
)


@pytest.mark.parametrize(
    ("model", "name", "bad"),
    [
        (model, name, value)
        for model, names in {
            MapBelief: ("length_scale", "variance", "lam", "bound", "tolerance"),
            GuaranteedBelief: ("length_scale", "variance", "lam", "bound", "tolerance"),
            RidgeBelief: ("length_scale", "variance", "noise"),
            IndependentBelief: ("scale",),
            LogUCB1Belief: ("lam", "bound", "tolerance"),
        }.items()
        for name in names
        for value in (0.0, -1.0, float("inf"), float("nan"), "1.0", [1.0], True)
    ],
)
def test_what_must_be_positive_is(model, name, bad):
    with pytest.raises(ValidationError) as error:
        model(**{"bound": 1.0, name: bad} if model is GuaranteedBelief else {name: bad})
    assert error.value.errors()[0]["loc"] == (name,)


@pytest.mark.parametrize("model", [MapBelief, GuaranteedBelief, IndependentBelief, LogUCB1Belief])
@pytest.mark.parametrize("bad", [0.0, 1.0, 1.5, -0.1])
def test_probabilities_of_failure_are_between_0_and_1(model, bad):
    needed = {"bound": 1.0} if model is GuaranteedBelief else {}
    with pytest.raises(ValidationError, match="delta"):
        model(delta=bad, **needed)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("kernel", "cosine"),
        ("link", "cauchit"),
        ("confidence", "none"),
        ("width", "narrow"),
        ("space", "time"),
        ("range_rule", "all"),
        ("projected", 1),
        ("beta", -0.5),
        ("belief", "ridge"),
        ("unknown", 1.0),
    ],
)
def test_choices_are_from_their_lists_and_keys_are_known(name, bad):
    with pytest.raises(ValidationError, match=name):
        MapBelief(**{name: bad})


def test_a_beta_of_zero_is_allowed_and_whole_numbers_are_numbers():
    assert MapBelief(beta=0, lam=2).lam == 2.0
    assert isinstance(MapBelief(lam=2).lam, float)


def test_a_guaranteed_belief_needs_its_bound():
    with pytest.raises(ValidationError, match="bound"):
        GuaranteedBelief()


@pytest.mark.parametrize("name", BELIEFS)
def test_the_key_belief_decides_the_kind(name):
    content = {"belief": name, **({"bound": 1.0} if name == "guaranteed" else {})}
    belief = belief_adapter.validate_python(content)
    assert type(belief) is BELIEFS[name]
    assert belief_adapter.validate_python(described(belief)) == belief


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(ValidationError, match="frozen"):
        MapBelief().lam = 2.0


@pytest.mark.parametrize(
    ("name", "bad"), [("per_axis", 1), ("per_axis", 2.5), ("coordinates", "polar"), ("dim", 0)]
)
def test_problems_are_checked_too(name, bad):
    with pytest.raises(ValidationError, match=name):
        FunctionProblem(**{"function": "ackley", name: bad})


def test_descriptions_are_json_without_what_is_not_set():
    assert described(FunctionProblem(function="ackley")) == {
        "function": "ackley",
        "variant": "",
        "per_axis": 10,
        "coordinates": "unit",
    }
    table = TableProblem(function="yelp", digest="00", items=2, users=1, source="here")
    assert described(table)["users"] == 1
    assert "tolerance" not in described(MapBelief())
    assert described(MapBelief(tolerance=0.1))["tolerance"] == 0.1
