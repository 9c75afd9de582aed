"""A Dask cluster as a `concurrent.futures.Executor`."""

from collections.abc import Callable, Mapping
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
        ClusterError: Dask is not installed, nobody answers, there is no worker, or the workers have
            other versions.
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
    try:
        _check_workers(client, address)
    except BaseException:
        client.close()
        raise
    return _ClientExecutor(client)


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_TIMEOUT)
    except TimeoutError as error:
        raise ClusterError(
            f"cluster: the scheduler at {address!r} has no worker; start some, such as "
            f"dask worker {address}"
        ) from error
    try:
        client.run(check_versions, dict(versions()))
    except ImportError as error:
        raise ClusterError(f"cluster: a worker of {address} lacks a package: {error}") from error


def check_versions(wanted: Mapping[str, str]) -> None:
    """Refuse to compute on a worker what would come out differently there.

    Raises:
        ClusterError: it has other versions than `wanted`.
    """
    here = versions()
    different = [name for name in wanted if here.get(name) != wanted[name]]
    if different:
        listed = ", ".join(f"{n} {here.get(n)} instead of {wanted[n]}" for n in different)
        raise ClusterError(f"cluster: a worker would compute other numbers; it has {listed}")


def _checked(wanted: Mapping[str, str], fn: Callable[..., Any], *args: Any) -> Any:
    """Call `fn`, on a worker that may have joined the cluster after the others were checked."""
    check_versions(wanted)
    return fn(*args)


class _ClientExecutor(Executor):
    """Dask's own executor, which here also checks the workers and closes its client."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return self._executor.submit(_checked, dict(versions()), fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        # Dask knows one alternative only: wait for everything, or cancel everything.
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()
