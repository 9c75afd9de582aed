"""What the cells of an experiment produce; what tables and figures are made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

REGRETS = ("dueling", "weak", "strong", "simple", "logistic")
"""The kinds of regret of a cell, as `duelist.simulation.Regret` defines them."""


@dataclass(frozen=True, eq=False)
class CellResult:
    """What one cell (a problem and an algorithm, all its seeds) produced.

    Attributes:
        function: the problem: branin, matyas, ..., movielens, yelp, jester, ...
        variant: "released" or "printed"; "" where there is only one.
        algorithm: maxminlcb, doubler, ..., lgp-ucb, ...
        feedback: "duels" or "ratings".
        seeds: one per run.
        horizon: T, the number of queries of a run.
        regret: of each step, [seeds, horizon], by the names in `REGRETS`.
        settings: the hyper-parameters, as JSON has them.
        seconds: wall clock of the simulation, without compilation.
        compile_seconds: spent on tracing and compiling.
    """

    function: str
    variant: str
    algorithm: str
    feedback: str
    seeds: tuple[int, ...]
    horizon: int
    regret: Mapping[str, NDArray[np.float64]]
    settings: Mapping[str, Any]
    seconds: float
    compile_seconds: float

    def final(self, kind: str | None = None) -> NDArray[np.float64]:
        """The cumulative regret at the horizon, [seeds].

        Args:
            kind: one of `REGRETS`; by default the paper's: dueling for duels, logistic for ratings.
        """
        return self.regret[self.kind if kind is None else kind].sum(axis=1)

    @property
    def kind(self) -> str:
        """The regret that the paper reports for this feedback."""
        return kind_of(self.feedback)

    @property
    def steps(self) -> int:
        """The number of queries asked in all runs."""
        return len(self.seeds) * self.horizon

    def mean(self, kind: str | None = None) -> float:
        """The mean of `final` over the seeds."""
        return float(self.final(kind).mean())

    def standard_error(self, kind: str | None = None) -> float:
        """The standard error of `mean`; NaN if there is one seed only."""
        return standard_error(self.final(kind))


def kind_of(feedback: str) -> str:
    """The regret that the paper reports for this feedback."""
    return "dueling" if feedback == "duels" else "logistic"


def standard_error(values: NDArray[np.float64]) -> float:
    """The standard error of the mean of independent values; NaN of fewer than two."""
    if values.size < 2:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(values.size))
