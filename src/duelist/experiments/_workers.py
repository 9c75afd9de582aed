"""Worker processes as a `concurrent.futures.Executor` that survives the death of a worker.

Unlike the pool of the standard library it gives a worker, if it can, tasks whose program the worker
has compiled already, replaces a worker that died and runs its task again, and ends at once.
"""

import contextlib
import multiprocessing as mp
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

_ATTEMPTS: Final = 3


class WorkerLostError(RuntimeError):
    """A task whose worker died every time it was tried."""


@dataclass(frozen=True, eq=False)
class _Task:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    future: Future[Any]
    program: Hashable


class WorkerPool(Executor):
    """As many processes as asked for, each started when it is first needed.

    Args:
        jobs: how many.
        program: of a task's first argument, what its compiled program depends on.
    """

    def __init__(self, jobs: int, program: Callable[[Any], Hashable]) -> None:
        self._program = program
        self._waiting: list[_Task] = []
        self._taken: Counter[Hashable] = Counter()
        self._changed = threading.Condition()
        self._closed = False
        self._workers = [_Worker() for _ in range(jobs)]
        self._threads = [
            threading.Thread(target=self._serve, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn(*args)` in a worker; both must be picklable."""
        if kwargs:
            raise TypeError("submit: expected positional arguments only")
        future: Future[Any] = Future()
        task = _Task(fn, args, future, self._program(args[0]) if args else None)
        with self._changed:
            if self._closed:
                raise RuntimeError("submit: the pool was shut down")
            self._waiting.append(task)
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop: after the tasks at hand, or at once if `wait` is false, ending the processes."""
        with self._changed:
            self._closed = True
            if cancel_futures or not wait:
                for task in self._waiting:
                    task.future.cancel()
                self._waiting.clear()
            self._changed.notify_all()
        if not wait:
            for worker in self._workers:
                worker.end()
        for thread in self._threads:
            thread.join()

    @property
    def processes(self) -> list[int]:
        """The process ids of the workers that are running."""
        return [worker.process.pid for worker in self._workers if worker.process is not None]

    def _serve(self, worker: "_Worker") -> None:
        """What the thread of a worker does: take tasks until there will be no more."""
        compiled: set[Hashable] = set()
        while (task := self._next(compiled)) is not None:
            compiled.add(task.program)
            if task.future.set_running_or_notify_cancel():
                self._run(worker, task)
            with self._changed:
                self._taken[task.program] -= 1
        worker.end()

    def _next(self, compiled: set[Hashable]) -> _Task | None:
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return None
                self._changed.wait()
            task = min(self._waiting, key=lambda t: self._rank(t, compiled))
            self._waiting.remove(task)
            self._taken[task.program] += 1
            return task

    def _rank(self, task: _Task, compiled: set[Hashable]) -> tuple[int, int]:
        """First what this worker has compiled, then what no other is at, in order of submission."""
        return (task.program not in compiled, self._taken[task.program])

    def _run(self, worker: "_Worker", task: _Task) -> None:
        for _ in range(_ATTEMPTS):
            try:
                succeeded, value = worker.run(task.function, task.arguments)
            except (EOFError, OSError):
                worker.end()
                if self._closed:
                    break
                continue
            if succeeded:
                task.future.set_result(value)
            else:
                task.future.set_exception(value)
            return
        message = f"its worker process died {_ATTEMPTS} times; is there enough memory?"
        task.future.set_exception(WorkerLostError(message))


class _Worker:
    """One process and the pipe to it."""

    def __init__(self) -> None:
        self.process: Any = None
        self._pipe: Any = None

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Whether the call succeeded, and what it returned or raised."""
        pipe = self._pipe or self._start()
        pipe.send((function, arguments))
        return pipe.recv()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        process, self.process = self.process, None
        pipe, self._pipe = self._pipe, None
        if process is not None:
            process.terminate()
            process.join()
        if pipe is not None:
            pipe.close()

    def _start(self) -> Any:
        context = mp.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        return self._pipe


def _work(pipe: Connection) -> None:
    """What a worker process does until the other end of the pipe is closed."""
    # Ctrl-C goes to all processes of a terminal; the parent decides what to do about it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError):
        while True:
            function, arguments = pipe.recv()
            pipe.send(_attempt(function, arguments))


def _attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, function(*arguments)
    except Exception as error:  # noqa: BLE001 - it is raised again where the result is awaited
        return False, error


def _end_with_parent() -> None:
    """End this process as soon as the one that started it is gone, whatever it is doing."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
