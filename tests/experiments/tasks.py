"""What the tests let worker processes do, some of it unkind."""

import os
import signal
import threading
import time
from pathlib import Path

MARKER = "DUELIST_TEST_MARKER"
"""The variable that names the file by which a task knows whether it was tried before."""


class AwkwardError(Exception):
    """An error that can be pickled, but not read again."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class Unreadable:
    """An object that can be pickled, but not read again."""

    def __reduce__(self):
        return (fail, ("cannot be read",))


def double(number):
    return 2 * number


def fail(message):
    raise ValueError(message)


def fail_awkwardly():
    raise AwkwardError("one", "two")


def return_a_lock():
    return threading.Lock()


def process_id():
    return os.getpid()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(marker):
    """The process id of the second try; the first one does not survive."""
    if first_time(marker):
        die()
    return os.getpid()


def sleep(marker, seconds):
    """Say that the task has begun, then sleep."""
    Path(marker).write_text(str(os.getpid()))
    time.sleep(seconds)


def first_time(marker):
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def run_job_dying_once(cell):
    """`run_job`, but the first process to try is killed a moment after it has begun."""
    from duelist.experiments._job import run_job

    marker = os.environ[MARKER]
    with Path(marker).open("a") as file:
        file.write(f"{cell.key} {os.getpid()}\n")
    if first_time(f"{marker}.killed"):
        threading.Timer(0.3, die).start()
        run_job(cell)
        time.sleep(60)
    return run_job(cell)


def run_job_at_leisure(cell):
    """A cell that takes longer than a test waits."""
    Path(os.environ[MARKER]).write_text(cell.key)
    time.sleep(60)
