"""The commands and their options; what they do is in `duelist.experiments`."""

# What a command needs is imported when it runs, so that --help answers at once.
# ruff: noqa: PLC0415

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

from duelist import __version__

app: Final = App(
    name="duelist",
    help='Find what people like best from answers to "this one or that one?".',
    version=__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)

BAD_INPUT: Final = 2
FAILED: Final = 1
INTERRUPTED: Final = 130

Names: TypeAlias = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())]
TargetName: TypeAlias = Literal["table1", "table2", "figures", "all", "movielens", "yelp"]


@app.command
def reproduce(
    target: TargetName,
    /,
    *,
    preset: str = "paper",
    functions: Names = (),
    algorithms: Names = (),
    seeds: int | None = None,
    horizon: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    out: Path | None = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
    figures: bool = True,
    report: Path | None = None,
    data: Path | None = None,
) -> None:
    """Run the experiments behind a table or the figures of the paper.

    Parameters
    ----------
    target
        What to reproduce.
    preset
        paper, default, or the path of a preset file.
    functions
        Only these problems: names separated by spaces or commas; by default all of the target.
    algorithms
        Only these algorithms, likewise.
    seeds
        Number of runs; 20 in the paper. Real-world problems have one run for each user.
    horizon
        T, the number of answers of a run; 2000 in the paper.
    jobs
        Worker processes; by default one for each core.
    cluster
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786, to run on instead.
    out
        Result directory; by default results/TARGET-PRESET.
    resume
        Go on with what is in the result directory.
    json
        Print one JSON document on standard output and nothing else there.
    figures
        Draw figures.
    report
        Also write a Markdown page to this file that tests the claims of the paper, with its
        pictures in the directory images beside it.
    data
        Directory or .tar of the Yelp Open Dataset.
    """
    from duelist.experiments._reproduce import Request
    from duelist.experiments._reproduce import reproduce as run_target
    from duelist.experiments._session import Options

    place = out or Path("results") / f"{target}-{Path(preset).stem}"
    request = Request(target, preset, _split(functions), _split(algorithms), seeds, horizon, data)
    options = Options(place, resume, _jobs(jobs), cluster, json, figures, report)
    _guarded(lambda: run_target(request, options), place)


@app.command
def tune(
    *,
    preset: str = "paper",
    functions: Names = (),
    algorithms: Names = (),
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())] = (),
    horizon: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    out: Path | None = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
    chosen: Path | None = None,
) -> None:
    """Choose the settings of every algorithm on every test function, as the paper's appendix does.

    All combinations in the table [tuning] of the preset are run, with seeds that no evaluation
    uses; the lowest mean cumulative regret wins.

    Parameters
    ----------
    preset
        paper, or the path of a preset file with a table [tuning].
    functions
        Only these test functions: names separated by spaces or commas.
    algorithms
        Only these algorithms, likewise.
    seeds
        The seeds themselves; by default the preset's.
    horizon
        T, the number of answers of a run; by default the preset's.
    jobs
        Worker processes; by default one for each core.
    cluster
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786, to run on instead.
    out
        Result directory; by default results/tune-PRESET.
    resume
        Go on with what is in the result directory.
    chosen
        Also write the chosen settings to this file, as the key `tuned` of a preset names it.
    """
    from duelist.experiments._session import Options
    from duelist.experiments._tune import TuneRequest
    from duelist.experiments._tune import tune as run_grid

    place = out or Path("results") / f"tune-{Path(preset).stem}"
    request = TuneRequest(
        preset, _split(functions) or None, _split(algorithms) or None, seeds or None, horizon
    )
    options = Options(place, resume, _jobs(jobs), cluster)
    _guarded(lambda: run_grid(request, options, chosen), place)


@app.command
def run(
    file: Path,
    /,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    out: Path | None = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
    figures: bool = True,
) -> None:
    """Run an experiment of your own: any policies on any problems.

    Parameters
    ----------
    file
        The experiment, a TOML file; docs/experiments.md says what may stand in it.
    jobs
        Worker processes; by default one for each core.
    cluster
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786, to run on instead.
    out
        Result directory; by default results/ with the name of the file.
    resume
        Go on with what is in the result directory.
    json
        Print one JSON document on standard output and nothing else there.
    figures
        Draw figures.
    """
    from duelist.experiments._run import run as run_experiment
    from duelist.experiments._session import Options

    place = out or Path("results") / file.stem
    options = Options(place, resume, _jobs(jobs), cluster, json, figures)
    _guarded(lambda: run_experiment(file, options), place)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0, 1 if cells failed, 2 on bad input, 130 on Ctrl-C."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        _fail(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)


def _guarded(action: Callable[[], None], place: Path) -> None:
    """Turn what may go wrong into a message and an exit code."""
    from duelist.experiments._cluster import ClusterError
    from duelist.experiments._engine import CellError
    from duelist.experiments._presets import FileError
    from duelist.experiments._store import StoreError

    try:
        action()
    except CellError as error:
        _fail(f"{error}\nThe other cells are in {place}; go on with --resume", FAILED)
    except (FileError, StoreError, ClusterError, ValueError, ImportError, OSError) as error:
        _fail(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        _fail(f"interrupted; finished cells are in {place}: go on with --resume", INTERRUPTED)


def _fail(message: str, code: int) -> None:
    Console(stderr=True).print(f"duelist: {message}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


def _split(names: Sequence[str]) -> tuple[str, ...]:
    """The names in texts; a text without any stands for itself, which is no name of anything."""
    return tuple(part for name in names for part in [*filter(None, name.split(","))] or [name])


def _jobs(jobs: int | None) -> int:
    from duelist.experiments._session import available_cores

    if jobs is not None and jobs < 1:
        _fail(f"jobs: expected at least 1, got {jobs}", BAD_INPUT)
    return available_cores() if jobs is None else jobs
