"""What the paper says about its experiments, and whether our results say it too."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from duelist.experiments import _paper
from duelist.experiments._cells import Cell, Row, is_tied, problem_name
from duelist.experiments._paper import Published, algorithm_name
from duelist.experiments._results import CellResult
from duelist.experiments._tables import Table

Relation: TypeAlias = Literal["lower", "tied", "higher"]
Verdict: TypeAlias = Literal["holds", "holds in part", "does not hold"]

SETTLED: Final = 0.1
"""An algorithm has found good actions once its dueling regret, averaged over a window, is below."""

WINDOW: Final = 50
LINEAR: Final = 0.9


class Claim(NamedTuple):
    """A statement of the paper under test.

    Attributes:
        statement: what the paper says.
        verdict: what our results say to it.
        evidence: the numbers that decide.
    """

    statement: str
    verdict: Verdict
    evidence: str


def relation(first: Cell | Published, second: Cell | Published) -> Relation:
    """Whether the first regret is lower or higher than the second by more than two standard errors.

    The standard error is that of the difference of two independent means. What is printed may be
    off by half a unit of its last digit.
    """
    printed = [number for number in (first, second) if isinstance(number, Published)]
    slack = sum(number.resolution / 2 for number in printed)
    gap = first.mean - second.mean
    if is_tied(abs(gap) - slack, first.standard_error, 0.0, second.standard_error):
        return "tied"
    return "lower" if gap < 0 else "higher"


def growth(result: CellResult) -> float:
    """The exponent a of R_T ~ T^a over the second half: log2 of R_T / R_{T/2} of the mean."""
    curve = result.regret[result.kind].mean(axis=0).cumsum()
    half = curve[result.horizon // 2 - 1]
    return math.log2(curve[-1] / half) if half > 0 else math.inf


def settled(result: CellResult) -> int | None:
    """The first step from which the mean of `WINDOW` steps of dueling regret is below `SETTLED`."""
    regret = result.regret["dueling"].mean(axis=0)
    recent = np.convolve(regret, np.ones(WINDOW) / WINDOW, mode="valid")
    below = np.flatnonzero(recent < SETTLED)
    return int(below[0]) + 1 if below.size else None


def claims(tables: Sequence[Table], results: Sequence[CellResult]) -> list[Claim]:
    """The claims of Section 6 for which the cells were run.

    Args:
        tables: Table 1, Table 2 or both.
        results: what they were made from.
    """
    rows = [row for table in tables for row in table.rows]
    duels = [row for row in rows if row.feedback == "duels"]
    ratings = [row for row in rows if row.feedback == "ratings"]
    made = [
        *(test(duels) for test in (_best_or_tied, _closest, _harder, _smoother, _real_world)),
        _explores_longer(results),
        *(_against(ratings, rival) for rival in _paper.RATINGS[1:]),
        _linear(results),
        _sublinear(results),
    ]
    return [claim for claim in made if claim is not None]


def _best_or_tied(rows: Sequence[Row]) -> Claim | None:
    rows = [row for row in rows if "maxminlcb" in row.cells and len(row.cells) > 1]
    if not rows:
        return None
    best = [row for row in rows if row.cells["maxminlcb"].best]
    tied = [r for r in rows if r.cells["maxminlcb"].tied and not r.cells["maxminlcb"].best]
    worse = [row for row in rows if not row.cells["maxminlcb"].tied]
    evidence = (
        f"Lowest in {len(best)} of {len(rows)} rows{_named(best)}",
        f"tied with the lowest in {len(tied)}{_named(tied)}",
        f"higher in {len(worse)}{_named(worse, _with_winner)}",
    )
    return Claim(
        "MaxMinLCB consistently outperforms the baselines (bold in 7 of 8 rows of the paper)",
        _graded(1 - len(worse) / len(rows), 7 / 8, 1 / 2),
        "; ".join(evidence),
    )


def _closest(rows: Sequence[Row]) -> Claim | None:
    known = _relative([row.cells for row in rows])
    if len(known) < 2 or "multisbm" not in known:
        return None
    closest = min(known, key=known.__getitem__)
    printed = _relative(list(_paper.TABLE1.values()))
    ours, paper = (
        ", ".join(f"{algorithm_name(a)} {of[a]:.2f}" for a in known if a in of)
        for of in (known, printed)
    )
    return Claim(
        "Among the baselines only MultiSBM is comparable to MaxMinLCB",
        "holds" if closest == "multisbm" else "does not hold",
        f"Regret relative to MaxMinLCB's, geometric mean over rows: {ours} (paper: {paper})",
    )


def _relative(rows: Sequence[Mapping[str, Cell] | Mapping[str, Published]]) -> dict[str, float]:
    """Of each baseline the geometric mean of its regret divided by that of MaxMinLCB."""
    logs: dict[str, list[float]] = {}
    for row in rows:
        for algorithm in _paper.DUELS[1:]:
            if {algorithm, "maxminlcb"} <= row.keys() and row["maxminlcb"].mean > 0:
                ratio = row[algorithm].mean / row["maxminlcb"].mean
                logs.setdefault(algorithm, []).append(math.log(ratio) if ratio else -math.inf)
    return {algorithm: math.exp(sum(of) / len(of)) for algorithm, of in logs.items()}


def _harder(rows: Sequence[Row]) -> Claim | None:
    names = ("ackley", "eggholder")
    chosen = [row for row in rows if row.function in names and row.variant != "printed"]
    pairs = _pairs(chosen, "maxminlcb", "multisbm")
    if len(pairs) < len(names):
        return None
    lower = sum(relation(*pair) == "lower" for pair in pairs.values())
    return Claim(
        "MaxMinLCB has lower regret than MultiSBM on Ackley and Eggholder, which have many local "
        "optima",
        _graded(lower / len(pairs), 1.0, 1 / 2),
        "; ".join(_compared(label, *pair) for label, pair in pairs.items()),
    )


def _smoother(rows: Sequence[Row]) -> Claim | None:
    matyas = [row for row in rows if row.function == "matyas"]
    pairs = _pairs(matyas, "multisbm", "maxminlcb")
    if not pairs:
        return None
    ((label, pair),) = pairs.items()
    return Claim(
        "MultiSBM outperforms MaxMinLCB on Matyas, which is smooth",
        "holds" if relation(*pair) == "lower" else "does not hold",
        _compared(label, *pair),
    )


def _real_world(rows: Sequence[Row]) -> Claim | None:
    real = [r for r in rows if r.function in _paper.REAL_WORLD and "maxminlcb" in r.cells]
    real = [row for row in real if len(row.cells) > 2]
    if not real:
        return None
    orders = [sorted(row.cells.values(), key=lambda cell: cell.mean) for row in real]
    first = [cells[0].algorithm == "maxminlcb" for cells in orders]
    both = [f and cells[1].algorithm == "multisbm" for f, cells in zip(first, orders, strict=True)]
    texts = (
        f"{row.label}: " + " < ".join(f"{algorithm_name(c.algorithm)} {c.mean:.0f}" for c in cells)
        for row, cells in zip(real, orders, strict=True)
    )
    return Claim(
        "On real-world data (Yelp in the paper) MaxMinLCB remains the best, with MultiSBM second",
        "holds" if all(both) else "holds in part" if any(first) else "does not hold",
        "; ".join(texts),
    )


def _explores_longer(results: Sequence[CellResult]) -> Claim | None:
    ackley = {r.algorithm: r for r in results if r.function == "ackley" and r.feedback == "duels"}
    early, late = ("maxminlcb", "ids", "doubler"), ("rucb", "maxinp")
    if not ackley.keys() >= {*early, *late} or min(r.horizon for r in ackley.values()) < WINDOW:
        return None
    steps = {a: settled(ackley[a]) or math.inf for a in (*early, *late)}
    holds = max(steps[a] for a in early) < min(steps[a] for a in late)
    texts = (
        f"{algorithm_name(a)} {'never' if math.isinf(t) else f'{t:.0f}'}" for a, t in steps.items()
    )
    return Claim(
        "On Ackley MaxMinLCB, IDS and Doubler are the first to select actions of high utility; "
        "RUCB and MaxInP explore for longer",
        "holds" if holds else "does not hold",
        f"First step from which {WINDOW} steps of dueling regret average below {SETTLED}: "
        + ", ".join(texts),
    )


def _against(rows: Sequence[Row], rival: str) -> Claim | None:
    pairs = _pairs(rows, "lgp-ucb", rival)
    if not pairs:
        return None
    found: dict[Relation, list[str]] = {"lower": [], "tied": [], "higher": []}
    for label, pair in pairs.items():
        found[relation(*pair)].append(label)
    paper = [relation(row["lgp-ucb"], row[rival]) for row in _paper.TABLE2.values()]
    return Claim(
        f"LGP-UCB has lower regret than {algorithm_name(rival)} (in {paper.count('lower')} of "
        f"{len(paper)} rows of the paper)",
        _graded(len(found["lower"]) / len(pairs), 1.0, 1 / 2),
        "; ".join(
            f"{which} in {len(labels)}" + (f" ({', '.join(labels)})" if labels else "")
            for which, labels in found.items()
        ),
    )


def _pairs(rows: Sequence[Row], first: str, second: str) -> dict[str, tuple[Cell, Cell]]:
    """The cells of two algorithms in the rows that have both, by the label of the row."""
    return {
        row.label: (row.cells[first], row.cells[second])
        for row in rows
        if {first, second} <= row.cells.keys()
    }


def _linear(results: Sequence[CellResult]) -> Claim | None:
    found = [r for r in results if (r.function, r.algorithm) == ("ackley", "log-ucb1")]
    if not found:
        return None
    exponent = growth(found[0])
    return Claim(
        "On Ackley the regret of Log-UCB1 grows linearly, for the utility is not linear",
        "holds" if exponent >= LINEAR else "does not hold",
        f"Growth exponent over the second half of the run: {exponent:.2f}",
    )


def _sublinear(results: Sequence[CellResult]) -> Claim | None:
    found = [r for r in results if r.algorithm == "maxminlcb" and r.horizon > 1]
    if not found:
        return None
    rates = {problem_name(r.function, r.variant): growth(r) for r in found}
    below = [label for label, rate in rates.items() if rate < LINEAR]
    worst = max(rates, key=rates.__getitem__)
    return Claim(
        "The regret of MaxMinLCB is sublinear (Theorem regret_maxmin)",
        _graded(len(below) / len(rates), 1.0, 1 / 2),
        f"Growth exponent over the second half below {LINEAR} on {len(below)} of {len(rates)} "
        f"problems; the largest is {rates[worst]:.2f} ({worst})",
    )


def _graded(share: float, holds: float, part: float) -> Verdict:
    return "holds" if share >= holds else "holds in part" if share >= part else "does not hold"


def _named(rows: Sequence[Row], name: Callable[[Row], str] = lambda row: row.label) -> str:
    return f" ({', '.join(map(name, rows))})" if rows else ""


def _with_winner(row: Row) -> str:
    return f"{row.label}: {algorithm_name(row.winner.algorithm)}"


def _compared(label: str, first: Cell, second: Cell) -> str:
    return (
        f"{label}: {algorithm_name(first.algorithm)} {first.mean:.1f} against "
        f"{algorithm_name(second.algorithm)} {second.mean:.1f} ({relation(first, second)})"
    )
