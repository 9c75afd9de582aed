"""A real Dask scheduler, two worker processes, and what may become of them."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.experiments import tasks
from tests.experiments.tiny import cell, same

from duelist.experiments import _cluster, _engine
from duelist.experiments._cluster import ClusterError, check_versions
from duelist.experiments._engine import CellError, executor, run_cells
from duelist.experiments._store import open_store
from duelist.experiments._versions import versions

SOON = 60
LEISURE = 8
"""Seconds that a task takes which nobody waits for: Dask does not end what runs."""


def wait_for(condition):
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


class Processes:
    """Parts of a cluster, each a process of its own."""

    def __init__(self, place):
        self.place = place
        self.running = []

    def start(self, part, *options):
        command = [sys.executable, "-m", "dask", part, "--host", "127.0.0.1", *options]
        here = os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))
        environment = {
            **os.environ,
            "PYTHONPATH": here,
            tasks.MARKER: str(self.place / "marker"),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
        }
        with (self.place / f"{part}-{len(self.running)}.log").open("w") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment, cwd=self.place
            )
        self.running.append(process)
        return process

    def end(self):
        for process in self.running:
            process.kill()
            process.wait(SOON)


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    processes = Processes(tmp_path_factory.mktemp("cluster"))
    yield processes
    processes.end()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture(scope="module")
def scheduler(processes):
    """The address of a scheduler and its process."""
    port = free_port()
    process = processes.start("scheduler", "--port", str(port), "--no-dashboard")

    def answers():
        assert process.poll() is None
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    wait_for(answers)
    return f"tcp://127.0.0.1:{port}", process


@pytest.fixture(scope="module")
def cluster(processes, scheduler):
    """The address of a scheduler that has two workers."""
    address, _ = scheduler
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
    for _ in range(2):
        processes.start("worker", address, *options)
    from distributed import Client

    with Client(address, timeout=SOON, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=SOON)
    return address


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "out", resume=False, settings={}, versions={}, notes={})


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "tcp://127.0.0.1", "127.0.0.1:port", "http://x"]
)
def test_a_cluster_that_is_not_there_is_said(address, monkeypatch):
    monkeypatch.setattr(_cluster, "_TIMEOUT", 1)
    with (
        pytest.raises(ClusterError, match=r"no scheduler answers at .* expected the address"),
        executor(1, address),
    ):
        pass


def test_a_missing_package_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ClusterError, match=r"a cluster needs the package dask\[distributed\]"),
        executor(1, "tcp://127.0.0.1:1"),
    ):
        pass


def test_a_scheduler_without_workers_is_said(scheduler, monkeypatch):
    monkeypatch.setattr(_cluster, "_TIMEOUT", 1)
    address, _ = scheduler
    with (
        pytest.raises(ClusterError, match=rf"has no worker; .*dask worker {address}"),
        executor(1, address),
    ):
        pass


def test_workers_of_other_versions_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(_cluster, "versions", lambda: {**versions(), "jax": "0.0.1"})
    with (
        pytest.raises(ClusterError, match=r"other numbers; it has jax .* instead of 0.0.1"),
        executor(1, cluster),
    ):
        pass


def test_a_worker_of_other_versions_that_joins_later_is_refused(cluster, store, monkeypatch):
    with executor(1, cluster) as pool:
        monkeypatch.setattr(_cluster, "versions", lambda: {**versions(), "jax": "0.0.1"})
        with pytest.raises(CellError, match=r"ClusterError: .* it has jax .* instead of 0.0.1"):
            run_cells([cell()], pool, store, lambda cell, result: None)


def test_versions_that_agree_are_accepted():
    check_versions(versions())


def test_an_error_of_a_cell_is_that_of_the_worker(cluster):
    with executor(1, cluster) as pool, pytest.raises(ValueError, match="on purpose"):
        pool.submit(tasks.fail, "on purpose").result(SOON)


def test_two_workers_one_of_which_is_killed_give_the_same_numbers(
    cells, reference, cluster, processes, store, monkeypatch
):
    monkeypatch.setattr(_engine, "run_job", tasks.run_job_dying_once)
    with executor(1, cluster) as pool:
        results = run_cells(cells, pool, store, lambda cell, result: None)
    tries = [line.split() for line in (processes.place / "marker").read_text().splitlines()]
    assert len(tries) == len(cells) + 1
    assert len({pid for _, pid in tries}) == 2
    assert sum(process.poll() is not None for process in processes.running) == 1
    assert all(same(*pair) for pair in zip(results, reference, strict=True))


def test_an_interrupted_run_gives_up_what_is_running(cluster, processes):
    marker, futures = processes.place / "begun", []

    def interrupted():
        with executor(1, cluster) as pool:
            futures.append(pool.submit(tasks.sleep, str(marker), LEISURE))
            wait_for(marker.exists)
            raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - begin < LEISURE
    assert futures[0].cancelled()


def test_a_scheduler_that_dies_ends_the_run(cluster, scheduler, processes, store, monkeypatch):
    _, process = scheduler
    begun = processes.place / "marker"
    begun.unlink(missing_ok=True)
    monkeypatch.setattr(_engine, "run_job", tasks.run_job_at_leisure)

    def kill():
        wait_for(begun.exists)
        process.send_signal(signal.SIGKILL)

    threading.Thread(target=kill).start()
    with (
        pytest.raises(CellError, match="branin: the connection to the cluster was lost"),
        executor(1, cluster) as pool,
    ):
        run_cells([cell()], pool, store, lambda cell, result: None)
