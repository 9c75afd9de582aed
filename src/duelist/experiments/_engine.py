"""Runs jobs on an executor and keeps what is finished."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from typing import Any, TypeAlias

from duelist.experiments._cluster import cluster_executor
from duelist.experiments._job import Job, Outcome, R, program, run_job
from duelist.experiments._store import Store
from duelist.experiments._workers import WorkerPool


class CellError(Exception):
    """Cells that failed; the others were finished and kept."""


Finished: TypeAlias = Callable[[Job[Any], Outcome | None], None]
"""Told of each cell: its result, or None if it failed."""


@contextmanager
def executor(jobs: int, cluster: str | None) -> Generator[Executor]:
    """Where cells run: worker processes of this machine, or a Dask cluster.

    On an exception, Ctrl-C included, what is running is given up; otherwise it is waited for.

    Raises:
        ClusterError: the cluster cannot be reached or is not fit for use.
    """
    pool = WorkerPool(jobs, program) if cluster is None else cluster_executor(cluster)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def run_cells(cells: Sequence[Job[R]], pool: Executor, store: Store, finished: Finished) -> list[R]:
    """The results of all cells, in their order; those in the store are not run again.

    Raises:
        CellError: some failed, with the reasons.
        StoreError: a file cannot be written, or one from before is damaged.
    """
    results = {cell.key: known for cell in cells if (known := store.load(cell)) is not None}
    for cell in cells:
        if cell.key in results:
            finished(cell, results[cell.key])
    missing = [cell for cell in cells if cell.key not in results]
    futures = {pool.submit(run_job, cell): cell for cell in missing}
    failures: list[str] = []
    for future in as_completed(futures):
        cell = futures[future]
        if (failure := _failure(future)) is not None:
            failures.append(f"{cell.label}: {failure}")
            finished(cell, None)
            continue
        results[cell.key] = future.result()
        store.save(cell, results[cell.key])
        finished(cell, results[cell.key])
    if failures:
        raise CellError("\n".join(failures))
    return [results[cell.key] for cell in cells]


def _failure(future: Future[Any]) -> str | None:
    """Why a cell that is over has no result, or None if it has one."""
    # Nobody here cancels a cell; Dask does so when it loses its scheduler.
    if future.cancelled():
        return "the connection to the cluster was lost"
    error = future.exception()
    return None if error is None else f"{type(error).__name__}: {error}"
