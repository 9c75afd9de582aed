"""Cells: what names them, what they share, and how one is run."""

import json
import os
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.tiny import cell, made_up, rated, table_cell

from duelist.experiments._cell import Cell, Table
from duelist.experiments._job import Job, program, run_job
from duelist.experiments._results import REGRETS
from duelist.experiments._schema import FunctionProblem, MapBelief

BASE = cell("maxminlcb")
OTHERS = {
    "algorithm": cell("random"),
    "function": cell("maxminlcb", function="matyas"),
    "variant": replace(BASE, problem=BASE.problem.model_copy(update={"variant": "printed"})),
    "grid": replace(BASE, problem=BASE.problem.model_copy(update={"per_axis": 4})),
    "coordinates": replace(BASE, problem=BASE.problem.model_copy(update={"coordinates": "raw"})),
    "seeds": cell("maxminlcb", seeds=(0, 2)),
    "order of seeds": cell("maxminlcb", seeds=(1, 0)),
    "horizon": cell("maxminlcb", horizon=9),
    "settings": cell("maxminlcb", lam=1.0000000000000002),
    "restriction": replace(BASE, restrict=True),
    "data": table_cell("maxminlcb", seeds=(0, 1)),
}


def test_everything_that_decides_the_result_is_in_the_name():
    keys = [BASE.key, *(other.key for other in OTHERS.values())]
    assert len(set(keys)) == len(keys)
    assert cell("maxminlcb").key == BASE.key
    assert BASE.key.startswith("branin-maxminlcb-")


def test_the_name_is_that_of_a_file():
    variant = replace(BASE, problem=FunctionProblem(function="eggholder", variant="printed"))
    for one in (BASE, variant):
        assert set(one.key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert variant.key.startswith("eggholder-printed-maxminlcb-")
    assert variant.label == "maxminlcb on eggholder printed"


def test_the_description_is_json_and_survives_a_pipe():
    for one in (BASE, *OTHERS.values()):
        assert json.loads(json.dumps(one.description())) == one.description()
        assert pickle.loads(pickle.dumps(one)).key == one.key  # noqa: S301
        assert isinstance(one, Job)


def test_the_digest_tells_tables_apart():
    items = rated()
    table = Table(items.features, items.utilities)
    changed = items.utilities.copy()
    changed[1, 2] = np.nextafter(changed[1, 2], 2)
    fortran = Table(np.asfortranarray(items.features), items.utilities)
    assert table.digest() == fortran.digest()
    others = [
        Table(items.features, changed),
        Table(items.features[::-1], items.utilities),
        Table(items.features.reshape(2, 5), items.utilities),
    ]
    assert len({table.digest(), *(other.digest() for other in others)}) == 4


@pytest.mark.parametrize("other", ["function", "coordinates", "settings"])
def test_cells_that_differ_in_numbers_share_a_program(other):
    assert program(OTHERS[other]) == program(BASE)


@pytest.mark.parametrize("other", ["algorithm", "grid", "restriction", "data"])
def test_cells_of_other_kinds_and_sizes_do_not(other):
    assert program(OTHERS[other]) != program(BASE)


def test_restriction_is_a_setting_of_maxminlcb_only():
    assert BASE.settings()["restrict"] is False
    assert "restrict" not in cell("random").settings()


def test_a_result_has_all_of_the_cell():
    result = made_up(BASE)
    assert (result.function, result.algorithm, result.feedback) == ("branin", "maxminlcb", "duels")
    assert (result.seeds, result.horizon, result.settings) == ((0, 1), 8, BASE.settings())
    assert cell("lgp-ucb").result({}, 0.0, 0.0).feedback == "ratings"
    assert BASE.shapes() == dict.fromkeys(REGRETS, (2, 8))


class Recorded:
    """A job that notes where and when it runs."""

    running = 0
    most = 0

    def simulate(self):
        Recorded.running += 1
        Recorded.most = max(Recorded.most, Recorded.running)
        threading.Event().wait(0.02)
        Recorded.running -= 1
        return {"threads": os.environ["NPROC"]}

    def result(self, regret, seconds, compile_seconds):
        return regret, seconds, compile_seconds


def test_a_job_runs_with_one_thread_and_is_timed(monkeypatch, unchecked):
    monkeypatch.setenv("NPROC", "7")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    regret, seconds, compile_seconds = run_job(Recorded())
    assert regret == {"threads": "1"}
    assert seconds >= 0.02
    assert compile_seconds == 0.0


def test_a_process_runs_one_job_at_a_time(monkeypatch, unchecked):
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    threads = [threading.Thread(target=run_job, args=(Recorded(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert Recorded.most == 1


def test_a_cell_of_data_without_its_numbers_is_refused():
    without = replace(table_cell(), table=None)
    with pytest.raises(TypeError, match="table: expected the numbers of ratings, got none"):
        without.simulate()


def test_bad_settings_fail_as_the_library_does():
    bad = Cell(BASE.problem, "maxminlcb", MapBelief(lam=1e-300), False, (0,), 8)
    with pytest.raises(ValueError, match="lam: expected"):
        bad.simulate()
