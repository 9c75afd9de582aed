"""Worker processes: order, failures of every kind, and an end that comes at once."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from tests.experiments import tasks

from duelist.experiments._workers import WorkerLostError, WorkerPool

SOON = 30
"""Seconds that nothing here may take; a start of a process takes less than one."""


def first(argument):
    return argument


def wait_for(condition):
    """Wait until `condition` holds."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def alive(pid):
    """Whether a process is there that is more than the record of one."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(2, first)
    yield pool
    pool.shutdown(wait=False)


def test_results_come_back_in_the_order_asked_for(pool):
    assert list(pool.map(tasks.double, range(5), timeout=SOON)) == [0, 2, 4, 6, 8]
    assert os.getpid() not in pool.processes
    assert 1 <= len(pool.processes) <= 2


def test_an_error_is_raised_where_the_result_is_awaited(pool):
    with pytest.raises(ValueError, match="on purpose"):
        pool.submit(tasks.fail, "on purpose").result(SOON)


def test_an_error_that_cannot_be_sent_arrives_as_its_text(pool):
    with pytest.raises(RuntimeError, match="AwkwardError: one and two"):
        pool.submit(tasks.fail_awkwardly).result(SOON)


def test_a_result_that_cannot_be_sent_is_an_error(pool):
    with pytest.raises(TypeError, match="cannot pickle"):
        pool.submit(tasks.return_a_lock).result(SOON)


def test_a_result_that_cannot_be_read_is_an_error(pool):
    with pytest.raises(ValueError, match="cannot be read"):
        pool.submit(tasks.Unreadable).result(SOON)


def test_an_argument_that_cannot_be_read_is_an_error(pool):
    with pytest.raises(ValueError, match="cannot be read"):
        pool.submit(tasks.double, tasks.Unreadable()).result(SOON)


def test_what_cannot_be_sent_is_refused_at_once(pool):
    with pytest.raises((AttributeError, TypeError), match=r"[Cc]an.*pickle"):
        pool.submit(lambda: 1)
    with pytest.raises(TypeError, match="positional"):
        pool.submit(tasks.double, number=1)


def test_the_pool_works_on_after_all_of_this(pool):
    assert list(pool.map(tasks.double, range(3), timeout=SOON)) == [0, 2, 4]


def test_the_task_of_a_worker_that_died_is_run_again(pool, tmp_path):
    before = set(pool.processes)
    second = pool.submit(tasks.die_once, str(tmp_path / "marker")).result(SOON)
    assert second not in before
    assert second in pool.processes


def test_a_worker_killed_while_idle_costs_nothing(pool):
    for pid in pool.processes:
        os.kill(pid, signal.SIGKILL)
    assert list(pool.map(tasks.double, range(4), timeout=SOON)) == [0, 2, 4, 6]


def test_a_task_that_kills_every_worker_is_given_up(pool):
    with pytest.raises(WorkerLostError, match="died 3 times"):
        pool.submit(tasks.die).result(SOON)
    assert pool.submit(tasks.double, 4).result(SOON) == 8


def test_a_worker_that_cannot_be_started_is_an_error(pool, monkeypatch):
    def refuse(self):
        raise OSError(11, "Resource temporarily unavailable")

    alone = WorkerPool(1, first)
    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", refuse)
    with pytest.raises(WorkerLostError, match="died 3 times"):
        alone.submit(tasks.double, 1).result(SOON)
    monkeypatch.undo()
    assert alone.submit(tasks.double, 1).result(SOON) == 2
    alone.shutdown()
    assert alone.processes == []


def test_shutting_down_waits_for_what_was_submitted(tmp_path):
    pool = WorkerPool(1, first)
    futures = [pool.submit(tasks.double, n) for n in range(3)]
    again = pool.submit(tasks.die_once, str(tmp_path / "marker"))
    pool.shutdown()
    assert [future.result(0) for future in futures] == [0, 2, 4]
    assert again.result(0) > 0
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(tasks.double, 1)


def test_shutting_down_without_waiting_ends_what_is_running(tmp_path):
    pool = WorkerPool(1, first)
    begun = tmp_path / "begun"
    running, waiting = pool.submit(tasks.sleep, str(begun), 600), pool.submit(tasks.double, 1)
    wait_for(lambda: begun.exists() and begun.read_text())
    pool.shutdown(wait=False)
    with pytest.raises(WorkerLostError, match="shut down"):
        running.result(SOON)
    with pytest.raises(CancelledError):
        waiting.result(SOON)
    assert not alive(int(begun.read_text()))


def test_shutting_down_at_any_moment_of_a_start_leaves_no_process(tmp_path):
    for delay in (0.0, 0.002, 0.01, 0.05):
        begun = tmp_path / f"begun-{delay}"
        pool = WorkerPool(2, first)
        future = pool.submit(tasks.sleep, str(begun), 600)
        time.sleep(delay)
        pool.shutdown(wait=False)
        assert future.cancelled() or future.exception(SOON) is not None
        assert pool.processes == []


def test_workers_prefer_what_they_have_compiled():
    pool = WorkerPool(2, lambda argument: argument.partition("-")[0])
    names = [f"{program}-{number}" for number in range(20) for program in "ab"]
    futures = {name: pool.submit(report, name) for name in names}
    ran = {name: future.result(SOON) for name, future in futures.items()}
    pool.shutdown()
    # Each worker begins with a program of its own, and takes the other's when its own is done.
    assert ran["a-0"] != ran["b-0"]
    assert ran["a-1"] == ran["a-0"]
    assert ran["b-1"] == ran["b-0"]


def report(name):
    """The process id; slow enough that both workers get something to do."""
    time.sleep(0.02)
    return os.getpid()


SCRIPT = """
import sys
from tests.experiments import tasks
from duelist.experiments._workers import WorkerPool
if __name__ == "__main__":
    WorkerPool(1, str).submit(tasks.sleep, sys.argv[1], 600).result()
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    begun, script = tmp_path / "begun", tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(begun)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, env=environment) as parent:
        try:
            wait_for(lambda: begun.exists() and begun.read_text())
        finally:
            parent.kill()
    wait_for(lambda: not alive(int(begun.read_text())))
