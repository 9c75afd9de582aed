"""What is seen of a run while it lasts, on standard error."""

import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from duelist.experiments._engine import Finished
from duelist.experiments._job import Job, Outcome


@contextmanager
def progress(console: Console, total: int) -> Generator[Finished]:
    """A bar with rate and time left, and a line for every cell that is finished."""
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    steps, begin = 0, time.perf_counter()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        bar = bars.add_task("cells", total=total, rate="")

        def finished(cell: Job[Any], result: Outcome | None) -> None:
            nonlocal steps
            steps += 0 if result is None else result.steps
            rate = steps / (time.perf_counter() - begin)
            bars.update(bar, advance=1, rate=f"{rate:,.0f} steps/s")
            console.print(_line(cell, result), highlight=False, soft_wrap=True)

        yield finished


def _line(cell: Job[Any], result: Outcome | None) -> str:
    if result is None:
        return f"{cell.label}: failed"
    error = result.standard_error()
    spread = "" if math.isnan(error) else f" ± {error:.2f}"
    spent = f"{result.seconds:.1f} s"
    if result.compile_seconds >= 0.05:
        spent += f" + {result.compile_seconds:.1f} s compiling"
    return f"{cell.label}: {result.mean():.2f}{spread} ({spent})"
