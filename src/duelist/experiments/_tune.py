"""`duelist tune`: the settings with the lowest regret, for every algorithm and function."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from duelist.experiments._files import output_directory, write_atomically
from duelist.experiments._layout import Entry, markdown
from duelist.experiments._names import (
    PAPER_DUELS,
    PAPER_FUNCTIONS,
    PAPER_RATINGS,
    ProblemName,
    choose_algorithms,
    choose_problems,
)
from duelist.experiments._paper import algorithm_name
from duelist.experiments._plan import function_cells
from duelist.experiments._presets import FileError, Preset, Tuning, load_preset
from duelist.experiments._results import standard_error
from duelist.experiments._schema import Belief, described
from duelist.experiments._session import Options, Session
from duelist.experiments._sweep import Sweep, SweepResult

_ALGORITHMS: Final = (*PAPER_DUELS, *PAPER_RATINGS)


@dataclass(frozen=True)
class TuneRequest:
    """What to tune; None stands for all that can be, or for what the preset says.

    Attributes:
        preset: its name or path.
        functions: names of test functions.
        algorithms: names of algorithms.
        seeds: of the tuning.
        horizon: T of the tuning.
    """

    preset: str = "paper"
    functions: Sequence[str] | None = None
    algorithms: Sequence[str] | None = None
    seeds: Sequence[int] | None = None
    horizon: int | None = None

    def command(self) -> str:
        """The command line of this request, without what does not change the numbers."""
        lists = (
            ("--functions", self.functions),
            ("--algorithms", self.algorithms),
            ("--seeds", self.seeds),
        )
        words = [word for name, of in lists if of for word in (name, *map(str, of))]
        horizon = [] if self.horizon is None else ["--horizon", str(self.horizon)]
        return shlex.join(["duelist", "tune", "--preset", self.preset, *words, *horizon])


def tune(request: TuneRequest, options: Options, chosen: Path | None = None) -> None:
    """Run the grid, write the chosen settings and print them.

    The result directory gets `tuned.toml`, the chosen settings as a preset refers to them, and
    `tuning.csv` with the regret of all of them.

    Args:
        request: what to tune.
        options: how to run.
        chosen: where to write the chosen settings as well.

    Raises:
        FileError: the preset is not usable, or says nothing of tuning.
        ValueError: a name is unknown, a seed is used in the evaluation, or `chosen` cannot be
            written.
        StoreError, ClusterError, CellError: see `Session.run`.
    """
    preset = load_preset(request.preset)
    tuning = _tuning(preset, request)
    sweeps = _sweeps(request, preset, tuning)
    if chosen is not None:
        output_directory(chosen.parent)
    shared = {
        "preset": {**preset.summary(), "tuned": None},
        "seeds": list(tuning.seeds),
        "horizon": tuning.horizon,
    }
    session = Session("tuning", options, preset.name, shared)
    results = session.run(sweeps, shared)
    text = _toml(request.command(), tuning, sweeps, results)
    write_atomically(options.out / "tuning.csv", _frame(sweeps, results).write_csv())
    files = [options.out / "tuned.toml", *([] if chosen is None else [chosen])]
    for path in files:
        write_atomically(path, text)
    session.console.print(f"Written to {', '.join(map(str, files))}", soft_wrap=True)
    sys.stdout.write(_markdown(sweeps, results) + "\n")


def _tuning(preset: Preset, request: TuneRequest) -> Tuning:
    """What to tune, with the seeds and the horizon that were asked for."""
    tuning = preset.document.tuning
    if tuning is None:
        raise FileError(f"{preset.path}: tuning: expected a table with what to tune, got none")
    seeds = tuning.seeds if request.seeds is None else tuple(request.seeds)
    horizon = tuning.horizon if request.horizon is None else request.horizon
    evaluation = preset.document.seeds
    if not seeds or min(seeds) < evaluation or len(set(seeds)) < len(seeds):
        raise ValueError(
            f"seeds: expected different ones from {evaluation}, for 0 to {evaluation - 1} are "
            f"those of the evaluation; got {list(seeds)}"
        )
    if horizon < 1:
        raise ValueError(f"horizon: expected at least 1, got {horizon}")
    return tuning.model_copy(update={"seeds": seeds, "horizon": horizon})


def _sweeps(request: TuneRequest, preset: Preset, tuning: Tuning) -> list[Sweep]:
    """One for every algorithm that has something to tune, and every function."""
    algorithms = choose_algorithms(request.algorithms or _ALGORITHMS, _ALGORITHMS)
    problems = choose_problems(request.functions or PAPER_FUNCTIONS, PAPER_FUNCTIONS)
    candidates = {algorithm: preset.candidates(algorithm) for algorithm in algorithms}
    tunable = [algorithm for algorithm in algorithms if candidates[algorithm]]
    if not tunable:
        raise ValueError(f"algorithms: nothing of {', '.join(algorithms)} can be tuned")
    cells = function_cells(preset, problems, tunable, tuning.seeds, tuning.horizon)
    return [Sweep(cell, candidates[cell.algorithm]) for cell in cells]


def _choice(sweep: Sweep, belief: Belief) -> dict[str, Any]:
    """Of the settings of one candidate those in which the candidates differ."""
    every = [described(candidate) for candidate in sweep.beliefs]
    own = described(belief)
    return {name: own[name] for name in own if any(e.get(name) != own[name] for e in every)}


def _chosen(sweep: Sweep, result: SweepResult) -> dict[str, Any]:
    return _choice(sweep, sweep.beliefs[result.best])


def _toml(
    command: str, tuning: Tuning, sweeps: Sequence[Sweep], results: Sequence[SweepResult]
) -> str:
    """The file that `Tuned` describes; numbers are written so that they read back the same."""
    lines = [
        "# Written by the command below. For each algorithm and function, of all combinations in",
        "# the table [tuning] of the preset, the one with the lowest mean cumulative regret over",
        "# `seeds` at `horizon`; behind it that mean.",
        "",
        f"command = {json.dumps(command)}",
        f"seeds = {list(tuning.seeds)}",
        f"horizon = {tuning.horizon}",
    ]
    for algorithm in dict.fromkeys(sweep.cell.algorithm for sweep in sweeps):
        lines += ["", f"[algorithms.{algorithm}]"]
        for sweep, result in zip(sweeps, results, strict=True):
            if sweep.cell.algorithm == algorithm:
                settings = (f"{k} = {json.dumps(v)}" for k, v in _chosen(sweep, result).items())
                label = _label(sweep)
                lines.append(f"{label} = {{ {', '.join(settings)} }}  # {result.mean():.2f}")
    return "\n".join(lines) + "\n"


def _label(sweep: Sweep) -> str:
    problem = sweep.cell.problem
    return ProblemName(problem.function, problem.variant).label


def _frame(sweeps: Sequence[Sweep], results: Sequence[SweepResult]) -> pl.DataFrame:
    """One line for each setting of each algorithm on each function."""
    return pl.DataFrame(list(_records(sweeps, results)), infer_schema_length=None)


def _records(sweeps: Sequence[Sweep], results: Sequence[SweepResult]) -> Iterator[dict[str, Any]]:
    names = dict.fromkeys(n for s in sweeps for b in s.beliefs for n in _choice(s, b))
    for sweep, result in zip(sweeps, results, strict=True):
        for number, belief in enumerate(sweep.beliefs):
            choice: Mapping[str, Any] = _choice(sweep, belief)
            final = result.final[number]
            error = standard_error(final)
            yield {
                "algorithm": sweep.cell.algorithm,
                "function": sweep.cell.problem.function,
                "variant": sweep.cell.problem.variant,
                **{name: choice.get(name) for name in names},
                "mean": float(final.mean()),
                "standard_error": None if final.size < 2 else error,
                "chosen": number == result.best,
            }


def _markdown(sweeps: Sequence[Sweep], results: Sequence[SweepResult]) -> str:
    """What was chosen, and the regret that it was chosen by beneath it."""
    algorithms = list(dict.fromkeys(sweep.cell.algorithm for sweep in sweeps))
    rows: dict[str, dict[str, Entry]] = {}
    for sweep, result in zip(sweeps, results, strict=True):
        text = ", ".join(f"{name} {value}" for name, value in _chosen(sweep, result).items())
        entry = Entry(f"{result.mean():.1f} ({text})")
        rows.setdefault(_label(sweep), {})[sweep.cell.algorithm] = entry
    lines = [(label, [row[algorithm] for algorithm in algorithms]) for label, row in rows.items()]
    return markdown(["Function", *map(algorithm_name, algorithms)], lines)
