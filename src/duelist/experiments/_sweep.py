"""Many settings of an algorithm on one problem."""

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.experiments._cell import Cell
from duelist.experiments._results import standard_error
from duelist.experiments._schema import Belief


@dataclass(frozen=True, eq=False)
class SweepResult:
    """The cumulative regret of every setting.

    Attributes:
        beliefs: the settings.
        final: the paper's regret at the horizon, [settings, seeds].
        horizon: T.
        seconds: wall clock of the simulation, without compilation.
        compile_seconds: spent on tracing and compiling.
    """

    beliefs: tuple[Belief, ...]
    final: NDArray[np.float64]
    horizon: int
    seconds: float
    compile_seconds: float

    @property
    def regret(self) -> Mapping[str, NDArray[np.float64]]:
        """What is kept in a file."""
        return {"final": self.final}

    @property
    def steps(self) -> int:
        """The number of queries asked in all runs."""
        return self.final.size * self.horizon

    @property
    def best(self) -> int:
        """The number of the setting with the lowest mean, the first of several."""
        return int(self.final.mean(axis=1).argmin())

    def mean(self) -> float:
        """The mean of the best setting over the seeds."""
        return float(self.final[self.best].mean())

    def standard_error(self) -> float:
        """The standard error of that mean; NaN if there is one seed only."""
        return standard_error(self.final[self.best])


@dataclass(frozen=True, eq=False)
class Sweep:
    """A cell, run with each of several settings in the place of its own, on the same seeds.

    Attributes:
        cell: problem, algorithm, seeds and horizon.
        beliefs: the settings.
    """

    cell: Cell
    beliefs: tuple[Belief, ...]

    def description(self) -> dict[str, Any]:
        """Everything that decides the result, as JSON has it."""
        settings = [replace(self.cell, belief=belief).settings() for belief in self.beliefs]
        return {**self.cell.description(), "settings": settings}

    @property
    def label(self) -> str:
        """The sweep's name for people."""
        return f"{self.cell.label}, {len(self.beliefs)} settings"

    @property
    def key(self) -> str:
        """A file name that no other sweep has."""
        text = json.dumps(self.description(), sort_keys=True)
        name, _, _ = self.cell.key.rpartition("-")
        return f"{name}-sweep-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def program(self) -> Hashable:
        """What the compiled program depends on: it is the cell's if all differ in numbers only."""
        return replace(self.cell, belief=self.beliefs[0]).program()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The cumulative regret at the horizon, [settings, seeds]."""
        return {"final": (len(self.beliefs), len(self.cell.seeds))}

    def simulate(self) -> Mapping[str, NDArray[np.float64]]:
        """Run all seeds of all settings in double precision."""
        from duelist.experiments._simulate import simulate_sweep  # noqa: PLC0415  (imports JAX)

        return {"final": simulate_sweep(self.cell, self.beliefs)}

    def result(
        self, regret: Mapping[str, NDArray[np.float64]], seconds: float, compile_seconds: float
    ) -> SweepResult:
        """What the sweep produced."""
        horizon = self.cell.horizon
        return SweepResult(self.beliefs, regret["final"], horizon, seconds, compile_seconds)
