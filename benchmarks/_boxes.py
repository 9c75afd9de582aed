"""The problems, metrics and tables that the benchmarks on boxes share."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelist.environments import BoxEnvironment, box_environment, objective

PROBLEMS = {
    "ackley": 2, "branin": 2, "hoelder": 2, "michalewicz": 2, "levy": 5, "hartmann6": 6,
}  # fmt: skip
"""Name and dimension."""

CHECKPOINTS = (10, 20, 50, 100, 200)


class Run(NamedTuple):
    """The regret of every duel and recommendation, [seeds, duels], and the time of an ask."""

    dueling: np.ndarray
    simple: np.ndarray
    seconds: float


def environment(name: str) -> BoxEnvironment:
    """The judge of a problem; logistic, utilities in [-3, 3]."""
    return box_environment(objective(name, dim=PROBLEMS[name]))


def simple_utility(regret: np.ndarray) -> np.ndarray:
    """The difference of utility behind a simple regret s(h) - 1/2."""
    share = np.clip(regret + 0.5, 0.5, 1 - 1e-7)
    return np.log(share / (1 - share))


def header(horizon: int) -> str:
    """The head of the table."""
    steps = [t for t in CHECKPOINTS if t <= horizon]
    columns = [f"cumulative, {t}" for t in steps] + [f"simple, {t}" for t in steps]
    names = ["problem", "policy", *columns, "s per ask"]
    return "| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|"


def row(problem: str, policy: str, run: Run) -> str:
    """Means over seeds (and standard errors at the horizon); simple regret in units of utility."""
    steps = [t for t in CHECKPOINTS if t <= run.dueling.shape[1]]
    cumulative = np.cumsum(run.dueling, axis=1)
    simple = simple_utility(run.simple)
    cells = [*_cells(cumulative, steps), *_cells(simple, steps)]
    return f"| {problem} | {policy} | " + " | ".join(cells) + f" | {run.seconds:.3f} |"


def _cells(values: np.ndarray, steps: Sequence[int]) -> list[str]:
    error = np.std(values, axis=0) / np.sqrt(max(values.shape[0] - 1, 1))
    cells = [f"{np.mean(values[:, t - 1]):.2f}" for t in steps]
    cells[-1] += f" ± {error[steps[-1] - 1]:.2f}"
    return cells
