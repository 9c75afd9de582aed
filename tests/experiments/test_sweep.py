"""Sweeps: the same numbers as single runs, and what is read off them."""

import json
import pickle
from dataclasses import replace

import numpy as np

from duelist.experiments._cell import Cell
from duelist.experiments._job import program
from duelist.experiments._schema import FunctionProblem, IndependentBelief, MapBelief
from duelist.experiments._store import open_store
from duelist.experiments._sweep import Sweep, SweepResult

TINY = FunctionProblem(function="ackley", per_axis=3)


def sweep_of(algorithm, beliefs, seeds=(3, 4), horizon=12):
    return Sweep(Cell(TINY, algorithm, beliefs[0], False, seeds, horizon), tuple(beliefs))


SETTINGS = [
    MapBelief(lam=lam, bound=bound, length_scale=scale)
    for lam, bound, scale in ((0.01, 1.0, 0.1), (1.0, 3.0, 1.0), (0.1, 2.0, 0.5))
]


def test_the_numbers_are_those_of_single_runs_to_the_bit():
    sweep = sweep_of("maxminlcb", SETTINGS)
    final = sweep.simulate()["final"]
    assert final.shape == sweep.shapes()["final"] == (3, 2)
    for belief, ours in zip(SETTINGS, final, strict=True):
        single = replace(sweep.cell, belief=belief)
        result = single.result(single.simulate(), 0.0, 0.0)
        np.testing.assert_array_equal(ours, result.final())
    assert len(np.unique(final)) > 1


def test_direct_feedback_counts_its_own_regret():
    sweep = sweep_of("ind-ucb", [IndependentBelief(scale=scale) for scale in (0.1, 1.0)])
    final = sweep.simulate()["final"]
    for belief, ours in zip(sweep.beliefs, final, strict=True):
        regret = replace(sweep.cell, belief=belief).simulate()
        np.testing.assert_array_equal(ours, regret["logistic"].sum(axis=1))
        assert not np.array_equal(ours, regret["dueling"].sum(axis=1))


def result_of(final):
    return SweepResult(tuple(SETTINGS), np.array(final, float), 50, 1.0, 0.5)


def test_the_best_setting_is_the_first_of_the_lowest_mean():
    result = result_of([[9, 1], [2, 4], [3, 3]])
    assert result.best == 1
    assert result.mean() == 3.0
    assert result.standard_error() == 1.0
    assert result.steps == 3 * 2 * 50
    assert np.isnan(result_of([[1], [2], [3]]).standard_error())


def test_a_sweep_is_named_by_all_that_decides_it():
    sweep = sweep_of("maxminlcb", SETTINGS)
    others = [
        replace(sweep, beliefs=sweep.beliefs[:2]),
        replace(sweep, beliefs=sweep.beliefs[::-1]),
        replace(sweep, cell=replace(sweep.cell, restrict=True)),
        replace(sweep, cell=replace(sweep.cell, horizon=13)),
        replace(sweep, cell=replace(sweep.cell, seeds=(3, 5))),
    ]
    assert len({sweep.key, sweep.cell.key, *(other.key for other in others)}) == 7
    assert sweep.key.startswith("ackley-maxminlcb-sweep-")
    assert sweep.label == "maxminlcb on ackley, 3 settings"
    # What the cell had in the place of the settings does not matter.
    elsewhere = replace(sweep, cell=replace(sweep.cell, belief=MapBelief(lam=7.0)))
    assert elsewhere.key == sweep.key
    assert json.loads(json.dumps(sweep.description())) == sweep.description()
    assert pickle.loads(pickle.dumps(sweep)).key == sweep.key  # noqa: S301
    assert program(sweep) == program(sweep.cell) == program(elsewhere)


def test_a_directory_keeps_it(tmp_path):
    store = open_store(tmp_path, resume=False, settings={}, versions={}, notes={})
    sweep = sweep_of("maxminlcb", SETTINGS)
    assert store.load(sweep) is None
    final = np.arange(6.0).reshape(3, 2) / 7
    store.save(sweep, sweep.result({"final": final}, 2.0, 1.0))
    loaded = store.load(sweep)
    np.testing.assert_array_equal(loaded.final, final)
    assert (loaded.horizon, loaded.seconds, loaded.compile_seconds) == (12, 2.0, 1.0)
    assert loaded.beliefs == sweep.beliefs
