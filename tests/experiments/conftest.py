"""What several modules compare with: cells that were run one after the other in one process."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from tests.experiments.tiny import cell, made_up

from duelist.experiments import _engine, _session
from duelist.experiments._engine import executor, run_cells
from duelist.experiments._store import open_store


@pytest.fixture(scope="session")
def cells():
    """Two algorithms on two functions: two programs."""
    names = ("random", "maxminlcb")
    return [cell(algorithm, f) for algorithm in names for f in ("branin", "matyas")]


@pytest.fixture(scope="session")
def reference(cells, tmp_path_factory):
    """Their results, computed by one worker process without any mishap."""
    place = tmp_path_factory.mktemp("reference")
    store = open_store(place / "out", resume=False, settings={}, versions={}, notes={})
    with executor(1, None) as pool:
        return run_cells(cells, pool, store, lambda cell, result: None)


@pytest.fixture
def made_up_runs(monkeypatch):
    """Nothing is simulated: cells get results that are made up in this process.

    Returns:
        The cells that were run; what is put into `failing` by its label fails.
    """
    runs = Runs()
    monkeypatch.setattr(_session, "executor", runs.executor)
    monkeypatch.setattr(_engine, "run_job", runs.run)
    return runs


class Runs:
    """Which cells were run, and which are to fail."""

    def __init__(self):
        self.cells = []
        self.failing = set()

    @contextmanager
    def executor(self, jobs, cluster):
        with ThreadPoolExecutor(1) as pool:
            yield pool

    def run(self, cell):
        self.cells.append(cell)
        if cell.label in self.failing:
            raise FloatingPointError("on purpose")
        return made_up(cell, seed=int(cell.key[-12:], 16))
