"""What an executor runs and a result directory keeps: a cell of a table, or a sweep."""

import threading
from collections.abc import Hashable, Mapping
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from duelist.experiments._threads import single_threaded


@runtime_checkable
class Outcome(Protocol):
    """What a job produced; `regret` is what is kept of it, by name."""

    @property
    def regret(self) -> Mapping[str, NDArray[np.float64]]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def compile_seconds(self) -> float: ...
    @property
    def steps(self) -> int: ...
    def mean(self) -> float: ...
    def standard_error(self) -> float: ...


R = TypeVar("R", bound=Outcome)
R_co = TypeVar("R_co", bound=Outcome, covariant=True)


@runtime_checkable
class Job(Protocol[R_co]):
    """A task that is run as a whole; picklable."""

    @property
    def key(self) -> str:
        """A file name that no other job has."""
        ...

    @property
    def label(self) -> str:
        """Its name for people."""
        ...

    def description(self) -> dict[str, Any]:
        """Everything that decides the result, as JSON has it."""
        ...

    def program(self) -> Hashable:
        """What its compiled program depends on: jobs that agree in it share one."""
        ...

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shapes of the arrays that it makes."""
        ...

    def simulate(self) -> Mapping[str, NDArray[np.float64]]:
        """Make them, in double precision."""
        ...

    def result(
        self, regret: Mapping[str, NDArray[np.float64]], seconds: float, compile_seconds: float
    ) -> R_co:
        """What they amount to."""
        ...


def program(job: Job[Any]) -> Hashable:
    """`job.program()`, as a function that executors can be given."""
    return job.program()


# A worker of Dask may have several threads, whose jobs would share the one thread that XLA has.
_one_at_a_time: Final = threading.Lock()


def run_job(job: Job[R]) -> R:
    """Run a job in this process; what fails raises as the library does."""
    single_threaded()
    # Here because it imports JAX, which only workers need.
    from duelist.experiments._compilation import timed  # noqa: PLC0415

    with _one_at_a_time:
        regret, seconds, compile_seconds = timed(job.simulate)
    return job.result(regret, seconds - compile_seconds, compile_seconds)
