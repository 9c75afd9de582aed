"""Worker processes as a `concurrent.futures.Executor` that survives the death of a worker.

Unlike the pool of the standard library it gives a worker, if it can, tasks whose program the worker
has compiled already, replaces a worker that died and runs its task again, and ends at once.
"""

import contextlib
import multiprocessing as mp
import os
import pickle
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
    call: bytes
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
        """Run `fn(*args)` in a worker.

        Raises:
            TypeError, AttributeError, PicklingError: `fn` or an argument cannot be pickled.
            RuntimeError: the pool was shut down.
        """
        if kwargs:
            raise TypeError("submit: expected positional arguments only")
        future: Future[Any] = Future()
        call = pickle.dumps((fn, args))
        task = _Task(call, future, self._program(args[0]) if args else None)
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
                worker.stop()
        for thread in self._threads:
            thread.join()

    @property
    def processes(self) -> list[int]:
        """The process ids of the workers that are running."""
        return [p.pid for worker in self._workers if (p := worker.process) is not None]

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
                answer = worker.run(task.call)
            except (EOFError, OSError):
                worker.end()
                if worker.stopped:
                    task.future.set_exception(WorkerLostError("the pool was shut down"))
                    return
                continue
            _settle(task.future, answer)
            return
        message = f"its worker process died {_ATTEMPTS} times; is there enough memory?"
        task.future.set_exception(WorkerLostError(message))


def _settle(future: Future[Any], answer: bytes) -> None:
    try:
        succeeded, value = _unpickled(answer)
    except Exception as error:  # noqa: BLE001 - it is raised again where the result is awaited
        succeeded, value = False, error
    if succeeded:
        future.set_result(value)
    else:
        future.set_exception(value)


class _Worker:
    """One process and the pipe to it; all but `stop` is for the thread that serves it."""

    def __init__(self) -> None:
        self.process: Any = None
        self.stopped = False
        self._pipe: Any = None
        self._starting = threading.Lock()

    def run(self, call: bytes) -> bytes:
        """The answer to a pickled call.

        Raises:
            EOFError, OSError: the process died, or cannot be started.
        """
        pipe = self._pipe or self._start()
        pipe.send_bytes(call)
        return pipe.recv_bytes()

    def end(self) -> None:
        """End the process, if there is one, and wait for it."""
        process, self.process = self.process, None
        pipe, self._pipe = self._pipe, None
        if process is not None:
            process.terminate()
            process.join()
        if pipe is not None:
            pipe.close()

    def stop(self) -> None:
        """End the process, whatever it is doing, for good; from any thread."""
        with self._starting:
            self.stopped = True
            process = self.process
        if process is not None:
            process.terminate()

    def _start(self) -> Any:
        context = mp.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        with self._starting, theirs, contextlib.ExitStack() as failing:
            failing.enter_context(ours)
            if self.stopped:
                raise EOFError("the worker was stopped")
            process.start()
            self.process, self._pipe = process, ours
            failing.pop_all()
        return ours


def _work(pipe: Connection) -> None:
    """What a worker process does until the other end of the pipe is closed."""
    # Ctrl-C goes to all processes of a terminal; the parent decides what to do about it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError):
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _answer(call: bytes) -> bytes:
    """Whether a call succeeded, and what it returned or raised, pickled."""
    try:
        function, arguments = _unpickled(call)
        return pickle.dumps((True, function(*arguments)))
    except Exception as error:  # noqa: BLE001 - it is raised again where the result is awaited
        return pickle.dumps((False, _portable(error)))


def _unpickled(data: bytes) -> Any:
    return pickle.loads(data)  # noqa: S301 - from our own process, through its pipe


def _portable(error: Exception) -> Exception:
    """An error as it arrives at the other end of a pipe, or its text in one that does."""
    try:
        return _unpickled(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - a class may pickle itself in any way
        return RuntimeError(f"{type(error).__name__}: {error}")


def _end_with_parent() -> None:
    """End this process as soon as the one that started it is gone, whatever it is doing."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
