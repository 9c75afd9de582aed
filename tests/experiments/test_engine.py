"""Cells on an executor: what is finished is kept, what fails is told, numbers never differ."""

import os
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest
from tests.experiments import tasks
from tests.experiments.tiny import cell, made_up, same

from duelist.experiments import _engine
from duelist.experiments._engine import CellError, executor, run_cells
from duelist.experiments._store import StoreError, open_store
from duelist.experiments._workers import WorkerPool


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "out", resume=False, settings={}, versions={}, notes={})


@pytest.fixture
def ran(monkeypatch):
    """Cells are made up in a thread; the list of those that were run."""
    keys = []

    def run(job):
        keys.append(job.key)
        if job.horizon == 9:
            raise FloatingPointError("nothing converges at 9")
        return made_up(job, seed=len(job.key))

    monkeypatch.setattr(_engine, "run_job", run)
    return keys


def ignore(cell, result):
    """Nobody looks."""


def run(cells, store, finished=ignore):
    with ThreadPoolExecutor(1) as pool:
        return run_cells(cells, pool, store, finished)


def test_results_are_those_of_the_cells_in_their_order(store, ran):
    cells = [cell(function=name) for name in ("matyas", "branin", "ackley")]
    results = run(cells, store)
    assert [result.function for result in results] == ["matyas", "branin", "ackley"]
    assert [c.key for c in cells] == ran


def test_a_cell_is_on_disk_before_anything_else_happens(store, ran):
    seen = []

    def finished(cell, result):
        assert same(store.load(cell), result)
        seen.append(cell.label)

    run([cell(), cell(function="matyas")], store, finished)
    assert seen == ["random on branin", "random on matyas"]


def test_cells_in_the_store_are_told_but_not_run_again(store, ran):
    first, second = cell(), cell(function="matyas")
    store.save(first, made_up(first, seed=3))
    seen = []
    results = run([second, first], store, lambda cell, result: seen.append(cell.key))
    assert ran == [second.key]
    assert sorted(seen) == sorted([first.key, second.key])
    assert same(results[1], made_up(first, seed=3))


def test_a_failing_cell_is_told_with_its_reason_after_the_others_are_kept(store, ran):
    bad, good = cell(horizon=9), cell()
    seen = {}
    with pytest.raises(CellError) as error:
        run([bad, good], store, lambda cell, result: seen.update({cell.key: result}))
    assert str(error.value) == "random on branin: FloatingPointError: nothing converges at 9"
    assert seen[bad.key] is None
    assert same(seen[good.key], store.load(good))
    assert store.load(bad) is None


class Cancelling(Executor):
    """Nothing is ever run."""

    def submit(self, fn, /, *args):
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_a_cell_that_the_executor_cancelled_has_failed(store):
    with pytest.raises(CellError, match=r"branin: .* was lost"):
        run_cells([cell()], Cancelling(), store, ignore)


def test_a_file_that_cannot_be_written_ends_the_run(store, ran, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        run([cell()], store)


def test_a_damaged_file_is_refused_before_anything_runs(store, ran):
    damaged = cell()
    store.save(damaged, made_up(damaged)).write_bytes(b"")
    with pytest.raises(StoreError, match="damaged"):
        run([cell(function="matyas"), damaged], store)
    assert ran == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoreError])
def test_what_runs_is_given_up_when_the_run_ends_early(error, monkeypatch, tmp_path):
    monkeypatch.setenv(tasks.MARKER, str(tmp_path / "begun"))
    used = []

    def ended_early():
        with executor(1, None) as pool:
            used.append((pool, pool.submit(tasks.run_job_at_leisure, cell())))
            raise error

    with pytest.raises(error):
        ended_early()
    ((pool, future),) = used
    assert future.cancelled() or future.exception(0) is not None
    assert pool.processes == []


def test_the_executor_is_done_with_everything_at_its_end():
    with executor(2, None) as pool:
        assert isinstance(pool, WorkerPool)
        future = pool.submit(tasks.process_id)
    assert future.result(0) != os.getpid()
    assert pool.processes == []


def test_two_processes_one_of_which_is_killed_give_the_same_numbers(
    cells, reference, store, monkeypatch, tmp_path
):
    monkeypatch.setenv(tasks.MARKER, str(tmp_path / "marker"))
    monkeypatch.setattr(_engine, "run_job", tasks.run_job_dying_once)
    with executor(2, None) as pool:
        results = run_cells(cells, pool, store, ignore)
    tries = [line.split() for line in (tmp_path / "marker").read_text().splitlines()]
    assert len(tries) == len(cells) + 1
    assert {key for key, _ in tries} == {c.key for c in cells}
    assert len({pid for _, pid in tries}) == 3
    assert all(same(*pair) for pair in zip(results, reference, strict=True))
