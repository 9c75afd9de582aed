"""A Dask cluster as a `concurrent.futures.Executor`."""

from concurrent.futures import Executor
from typing import Any, Final

from duelist.experiments._versions import versions
from duelist.experiments.data._optional import require

_TIMEOUT: Final = 10


class ClusterError(Exception):
    """A cluster that cannot be used."""


def cluster_executor(address: str) -> Executor:
    """An executor on the workers of the scheduler at `address`, such as tcp://10.0.0.1:8786.

    Dask itself runs the task of a worker that died again, elsewhere.

    Raises:
        ClusterError: Dask is not installed, nobody answers, or the workers have other versions.
    """
    try:
        distributed = require(
            "distributed", package="dask[distributed]", purpose="running on a cluster"
        )
    except ImportError as error:
        raise ClusterError(str(error)) from error
    try:
        client = distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"cluster: no scheduler answers at {address!r} ({error}); expected the address of a "
            "running dask-scheduler, such as tcp://10.0.0.1:8786"
        ) from error
    _check_versions(client, address)
    return _ClientExecutor(client)


def _check_versions(client: Any, address: str) -> None:
    ours = dict(versions())
    for worker, theirs in client.run(_versions_there).items():
        different = [name for name in ours if theirs.get(name) != ours[name]]
        if different:
            client.close()
            listed = ", ".join(f"{n} {theirs.get(n)} (here {ours[n]})" for n in different)
            raise ClusterError(
                f"cluster: the worker {worker} of {address} would compute other numbers: {listed}"
            )


def _versions_there() -> dict[str, str]:
    return dict(versions())


class _ClientExecutor(Executor):
    """Dask's own executor, which here also closes its client."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._client.close()
