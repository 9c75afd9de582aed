"""An executor that runs everything in this process, for what is not about processes."""

from concurrent.futures import Executor, Future
from contextlib import contextmanager

import pytest

from duelist.cli import main


class Inline(Executor):
    """Runs a task when it is submitted, and keeps count."""

    def __init__(self):
        self.ran = []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.ran.append(args[0])
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (the future raises it)
            future.set_exception(error)
        return future


def use_inline(monkeypatch):
    """Put an `Inline` in the place of worker processes, and return it."""
    pool = Inline()

    @contextmanager
    def executor(jobs, cluster):
        yield pool

    monkeypatch.setattr("duelist.experiments._session.executor", executor)
    monkeypatch.setenv("NPROC", "1")  # which running a job sets, and the end of the test unsets
    return pool


def command(*words):
    """Run the command line; its exit code."""
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return stopped.value.code
