"""Names: what they stand for, and what is no name."""

import subprocess
import sys

import numpy as np
import pytest

from duelist.environments import OBJECTIVES, objective
from duelist.experiments import _names, _paper
from duelist.experiments._names import (
    ALGORITHMS,
    PAPER_DUELS,
    PAPER_FUNCTIONS,
    PAPER_RATINGS,
    PROBLEMS,
    RATINGS,
    ProblemName,
    choose_algorithms,
    choose_problems,
    feedback_of,
    variants_of,
)


def test_they_are_those_of_the_papers_tables():
    assert PAPER_DUELS == _paper.DUELS
    assert PAPER_RATINGS == _paper.RATINGS
    assert tuple(name for name in _paper.TABLE1 if name != "yelp") == PAPER_FUNCTIONS
    assert set(PAPER_FUNCTIONS) <= set(OBJECTIVES)


def test_two_variants_are_two_functions_and_one_is_one():
    for name in PAPER_FUNCTIONS:
        released, printed = objective(name, "released"), objective(name, "printed")
        lower, upper = np.asarray(released.lower), np.asarray(released.upper)
        point = lower + np.array([0.3, 0.6]) * (upper - lower)
        differ = released(point) != printed(point) or np.any(upper != np.asarray(printed.upper))
        assert bool(differ) == (len(variants_of(name)) == 2)


def test_every_algorithm_asks_for_duels_or_ratings():
    assert {feedback_of(name) for name in PAPER_DUELS} == {"duels"}
    assert {feedback_of(name) for name in PAPER_RATINGS} == {"ratings"}
    assert set(RATINGS) < set(ALGORITHMS)
    assert {*PAPER_DUELS, *PAPER_RATINGS} < set(ALGORITHMS)


def test_a_name_stands_for_all_variants_and_a_label_for_one():
    released, printed = (ProblemName("eggholder", v) for v in ("released", "printed"))
    assert choose_problems(["eggholder"], PAPER_FUNCTIONS) == (released, printed)
    assert choose_problems(["eggholder-printed"], PAPER_FUNCTIONS) == (printed,)
    assert choose_problems(["ackley"], PAPER_FUNCTIONS) == (ProblemName("ackley", ""),)
    assert [p.label for p in (released, *variants_of("ackley"))] == ["eggholder-released", "ackley"]
    assert PROBLEMS["eggholder-printed"] == printed
    assert len(PROBLEMS) == len(PAPER_FUNCTIONS) + 2


def test_what_is_chosen_twice_is_there_once_and_in_the_order_of_the_choice():
    chosen = ["matyas", "eggholder-printed", "eggholder", "matyas"]
    labels = [p.label for p in choose_problems(chosen, PAPER_FUNCTIONS)]
    assert labels == ["matyas", "eggholder-printed", "eggholder-released"]
    assert choose_algorithms(["ids", "rucb", "ids"], PAPER_DUELS) == ("ids", "rucb")


@pytest.mark.parametrize("name", ["", "Ackley", "ackley-printed", "yelp", "eggholder-"])
def test_what_is_no_function_is_refused(name):
    with pytest.raises(ValueError, match=rf"functions: expected any of branin, .*; got '{name}'"):
        choose_problems(["branin", name], PAPER_FUNCTIONS)


@pytest.mark.parametrize("name", ["", "MaxMinLCB", "lgp-ucb"])
def test_what_is_no_algorithm_is_refused(name):
    with pytest.raises(ValueError, match=rf"algorithms: expected any of maxmin.*; got '{name}'"):
        choose_algorithms(["ids", name], PAPER_DUELS)


def test_names_presets_and_cells_do_without_jax():
    modules = "_names, _presets, _schema, _plan, _cell, _workers, _store, _session, _reproduce"
    script = f"""
from duelist.experiments import {modules}
import sys
raise SystemExit("jax" in sys.modules)
"""
    search = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, env=search, timeout=120, check=False).returncode == 0
    assert _names.__name__.startswith("duelist")
