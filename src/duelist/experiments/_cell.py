"""A cell of an experiment: a problem, an algorithm and all its seeds."""

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.experiments._names import feedback_of
from duelist.experiments._results import REGRETS, CellResult
from duelist.experiments._schema import Belief, Problem, described


@dataclass(frozen=True, eq=False)
class Table:
    """What a real-world problem brings along: features [n, d] and utilities [users, n]."""

    features: NDArray[np.float64]
    utilities: NDArray[np.float64]

    def digest(self) -> str:
        """SHA-256 of both arrays."""
        parts = [str(self.features.shape), str(self.utilities.shape)]
        blob = b"".join([p.encode() for p in parts] + [a.tobytes() for a in self._arrays()])
        return hashlib.sha256(blob).hexdigest()

    def _arrays(self) -> list[NDArray[np.float64]]:
        return [np.ascontiguousarray(self.features), np.ascontiguousarray(self.utilities)]


@dataclass(frozen=True, eq=False)
class Cell:
    """What is to be run.

    Attributes:
        problem: the problem.
        algorithm: its name.
        belief: the belief it runs on.
        restrict: whether MaxMinLCB chooses from M_t only; False for all others.
        seeds: one per run.
        horizon: T.
        table: of a real-world problem.
    """

    problem: Problem
    algorithm: str
    belief: Belief
    restrict: bool
    seeds: tuple[int, ...]
    horizon: int
    table: Table | None = field(default=None, repr=False)

    def settings(self) -> dict[str, Any]:
        """The hyper-parameters, as JSON has them."""
        options = {"restrict": self.restrict} if self.algorithm == "maxminlcb" else {}
        return {**described(self.belief), **options}

    def description(self) -> dict[str, Any]:
        """Everything that decides the result, as JSON has it."""
        return {
            "problem": described(self.problem),
            "algorithm": self.algorithm,
            "settings": self.settings(),
            "seeds": list(self.seeds),
            "horizon": self.horizon,
        }

    @property
    def label(self) -> str:
        """The cell's name for people: `maxminlcb on ackley`."""
        problem = " ".join(filter(None, (self.problem.title, self.problem.variant)))
        return f"{self.algorithm} on {problem}"

    @property
    def key(self) -> str:
        """A file name that no other cell has."""
        text = json.dumps(self.description(), sort_keys=True)
        parts = (self.problem.function, self.problem.variant, self.algorithm)
        return "-".join([*filter(None, parts), hashlib.sha256(text.encode()).hexdigest()[:12]])

    def program(self) -> Hashable:
        """What the compiled program depends on: cells that agree in it share one."""
        settings = self.settings()
        static = ("belief", "link", "confidence", "width", "space", "range_rule", "projected")
        return (
            self.algorithm,
            self.restrict,
            self.table.features.shape if self.table else getattr(self.problem, "per_axis", 0),
            getattr(self.problem, "dim", None),
            len(self.seeds),
            (self.horizon - 1).bit_length(),
            tuple(settings.get(name) for name in static),
            len(settings.get("kernels", ())),
        )

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Regret of each step by kind, [seeds, horizon]."""
        return dict.fromkeys(REGRETS, (len(self.seeds), self.horizon))

    def simulate(self) -> Mapping[str, NDArray[np.float64]]:
        """Run all seeds in double precision."""
        from duelist.experiments._simulate import simulate_cell  # noqa: PLC0415  (imports JAX)

        return simulate_cell(self)

    def result(
        self, regret: Mapping[str, NDArray[np.float64]], seconds: float, compile_seconds: float
    ) -> CellResult:
        """What the cell produced."""
        return CellResult(
            function=self.problem.title,
            variant=self.problem.variant,
            algorithm=self.algorithm,
            feedback=feedback_of(self.algorithm),
            seeds=self.seeds,
            horizon=self.horizon,
            regret=regret,
            settings=self.settings(),
            seconds=seconds,
            compile_seconds=compile_seconds,
        )
