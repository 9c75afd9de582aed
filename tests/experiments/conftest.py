"""What several modules compare with: cells that were run one after the other in one process."""

import pytest
from tests.experiments.tiny import cell

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
