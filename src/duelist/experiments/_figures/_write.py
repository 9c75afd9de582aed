"""Which figures a set of results makes, and their files."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from duelist._checks import check_choice
from duelist.experiments._figures._action_selection import action_selection
from duelist.experiments._figures._curves import (
    confidence_sets,
    kinds_of_regret,
    regret_curves,
)
from duelist.experiments._figures._spread import distribution
from duelist.experiments._figures._style import rendered
from duelist.experiments._files import output_directory, write_atomically
from duelist.experiments._results import CellResult

FORMATS: Final = ("png", "pdf")


def figures(results: Sequence[CellResult]) -> dict[str, Callable[[], Figure]]:
    """The figures that `results` make, by the name of their files; each is drawn when called.

    `action-selection` needs no results. For each problem there are `regret-<problem>` and, of
    duels, `kinds-<problem>`; of all problems together `distribution-<feedback>` and, of ratings,
    `confidence-sets`.
    """
    made: dict[str, Callable[[], Figure]] = {"action-selection": action_selection}
    for function, variant in dict.fromkeys((r.function, r.variant) for r in results):
        own = [r for r in results if (r.function, r.variant) == (function, variant)]
        duels = [r for r in own if r.feedback == "duels"]
        name = re.sub(r"[^\w.-]+", "_", f"{function}-{variant}" if variant else function)
        made[f"regret-{name}"] = _bound(regret_curves, own)
        if duels:
            made[f"kinds-{name}"] = _bound(kinds_of_regret, duels)
    for feedback in dict.fromkeys(r.feedback for r in results):
        made[f"distribution-{feedback}"] = lambda kind=feedback: distribution(results, kind)
    if any(r.feedback == "ratings" for r in results):
        made["confidence-sets"] = _bound(confidence_sets, results)
    return made


def write_figures(
    results: Sequence[CellResult],
    directory: str | Path,
    formats: Iterable[str] = FORMATS,
    only: Iterable[str] | None = None,
) -> list[Path]:
    """Draw the figures of `results` and write each in every format; the files are returned.

    Args:
        results: what `figures` takes.
        directory: made if it is not there.
        formats: such as "png", "pdf" or "svg".
        only: names of the figures to write; by default all.

    Raises:
        ValueError: the directory cannot be made or written to, or `only` names no figure.
        OSError: a file cannot be written.
    """
    place = output_directory(directory)
    made = figures(results)
    paths: list[Path] = []
    for name in made if only is None else only:
        files = rendered(made[check_choice("only", name, made)](), formats)
        paths += [write_atomically(place / f"{name}.{kind}", files[kind]) for kind in files]
    return paths


def _bound(
    draw: Callable[[Sequence[CellResult]], Figure], results: Sequence[CellResult]
) -> Callable[[], Figure]:
    return lambda: draw(results)
