"""One command's run: cells in, results in a directory, tables and figures out."""

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from duelist.experiments._engine import executor, run_cells
from duelist.experiments._files import output_directory, write_atomically
from duelist.experiments._job import Job, Outcome, R
from duelist.experiments._progress import progress
from duelist.experiments._results import CellResult
from duelist.experiments._store import open_store
from duelist.experiments._versions import machine, versions


@dataclass(frozen=True)
class Options:
    """How to run, as opposed to what.

    Attributes:
        out: the result directory.
        resume: whether to go on with what is in it.
        jobs: number of worker processes.
        cluster: the address of a Dask scheduler to use instead.
        as_json: whether standard output gets the JSON document instead of a table.
        figures: whether to draw figures.
        report: where to write the page about the paper's claims, if anywhere.
    """

    out: Path
    resume: bool = False
    jobs: int = 1
    cluster: str | None = None
    as_json: bool = False
    figures: bool = True
    report: Path | None = None


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Session:
    """A run from its cells to its files.

    Args:
        name: of the table and its files.
        options: how to run.
        preset: the name to report.
        configuration: what was asked for, to report.
    """

    def __init__(
        self, name: str, options: Options, preset: str, configuration: Mapping[str, Any]
    ) -> None:
        self.name, self.options, self.preset = name, options, preset
        self.configuration = configuration
        self.console = Console(stderr=True)

    def run(self, cells: Sequence[Job[R]], settings: Mapping[str, Any]) -> list[R]:
        """Run what is not there yet; `settings` are those that all cells of the directory share.

        Raises:
            StoreError, ClusterError, CellError: see `run_cells` and `open_store`.
        """
        options = self.options
        if options.report is not None:
            output_directory(options.report.parent)
        notes = {
            "command": shlex.join(["duelist", *sys.argv[1:]]),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
        }
        store = open_store(
            options.out, resume=options.resume, settings=settings, versions=versions(), notes=notes
        )
        self._announce(cells)
        self._begin = time.perf_counter()
        with (
            executor(options.jobs, options.cluster) as pool,
            progress(self.console, len(cells)) as finished,
        ):
            results = run_cells(cells, pool, store, finished)
        self.seconds = time.perf_counter() - self._begin
        self._summarise(results)
        return results

    def report(
        self, results: Sequence[CellResult], make_table: Callable[[Sequence[CellResult]], Any]
    ) -> None:
        """Write table, document and figures; print the table or the document."""
        table = make_table(results)
        document = table.document(
            preset=self.preset,
            seconds=self.seconds,
            versions=versions(),
            machine=machine(),
            configuration=self.configuration,
        )
        text = json.dumps(document, indent=2, allow_nan=False)
        table.write(self.options.out)
        write_atomically(self.options.out / f"{self.name}.json", text + "\n")
        if self.options.figures:
            self._draw(results)
        if self.options.report is not None:
            self._test_claims(results, self.options.report)
        self.console.print(f"Written to {self.options.out}", highlight=False, soft_wrap=True)
        self._print(table, text)

    def _print(self, table: Any, text: str) -> None:
        if self.options.as_json:
            sys.stdout.write(text + "\n")
        elif sys.stdout.isatty():
            Console().print(table.rich())
        else:
            sys.stdout.write(table.markdown() + "\n")

    def _draw(self, results: Sequence[CellResult]) -> None:
        # Here because matplotlib takes its time.
        from duelist.experiments._figures import write_figures  # noqa: PLC0415

        with self.console.status("Drawing figures"):
            write_figures(results, self.options.out / "figures")

    def _test_claims(self, results: Sequence[CellResult], path: Path) -> None:
        from duelist.experiments._report import report_run  # noqa: PLC0415

        # What is resumed took longer than this run of the command.
        seconds = None if self.options.resume else self.seconds
        with self.console.status("Writing the report"):
            report_run(results, path, preset=self.preset, seconds=seconds)
        self.console.print(f"Report: {path}", highlight=False, soft_wrap=True)

    def _announce(self, cells: Sequence[Job[Any]]) -> None:
        options = self.options
        where = f"{options.jobs} process(es)" if options.cluster is None else options.cluster
        self.console.print(
            f"{len(cells)} cells on {where}, in double precision (float64), XLA on the CPU with "
            f"one thread per process; results go to {options.out}",
            highlight=False,
            soft_wrap=True,
        )

    def _summarise(self, results: Sequence[Outcome]) -> None:
        running = sum(result.seconds for result in results)
        compiling = sum(result.compile_seconds for result in results)
        self.console.print(
            f"{len(results)} cells in {self.seconds:.1f} s; their own times add up to "
            f"{running:.1f} s of simulation and {compiling:.1f} s of compilation",
            highlight=False,
            soft_wrap=True,
        )
