"""The numbers of docs/parallel.md: rounds that several judges need, on the paper's seven functions.

    python benchmarks/parallel.py --seeds 20 --duels 240

Every judge answers one duel a round. For each function and each number of judges: the rounds until
the mean simple regret stays below 0.1, 0.05 and 0.02 up to the last duel (-: it does not), how many
times fewer these are than those of one judge, the dueling regret of all duels, and how many of the
first five rounds' duels were different ones. Prints Markdown as it goes.
"""

import argparse
import platform
import time
from typing import NamedTuple

import jax
import numpy as np

from duelist import policies
from duelist.belief import adaptive_prior
from duelist.environments import TableEnvironment, grid_environment, objective
from duelist.simulation import simulate

FUNCTIONS = ("branin", "matyas", "rosenbrock", "ackley", "eggholder", "hoelder", "michalewicz")
LEVELS = (0.1, 0.05, 0.02)
JUDGES = (1, 4, 8)
FIRST = 5


class Outcome(NamedTuple):
    """Of one function and one number of judges.

    Attributes:
        rounds: until each of the levels; None where the regret does not stay below it.
        regret: the mean cumulative dueling regret.
        different: the mean share of different pairs in each of the first rounds.
    """

    rounds: tuple[int | None, ...]
    regret: float
    different: float


def rounds_to(level: float, regret: np.ndarray) -> int | None:
    """The first round from which on `regret`, one entry per round, stays below `level`."""
    above = np.flatnonzero(regret >= level)
    first = int(above[-1]) + 2 if above.size else 1
    return first if first <= regret.size else None


def outcome(rule: str, judge: TableEnvironment, judges: int, duels: int, seeds: int) -> Outcome:
    """Simulate with the library's defaults."""
    policy = getattr(policies, rule)(judge.domain, adaptive_prior(judge.domain))
    trace = simulate(policy, judge, horizon=duels, seeds=seeds, judges=judges)
    after_rounds = np.asarray(trace.regret.simple).mean(axis=0)[judges - 1 :: judges]
    pairs = np.sort(np.asarray(trace.queries)[:, : FIRST * judges], axis=-1)
    batches = pairs.reshape(seeds * FIRST, judges, 2)
    return Outcome(
        tuple(rounds_to(level, after_rounds) for level in LEVELS),
        float(np.asarray(trace.regret.dueling).sum(axis=1).mean()),
        float(np.mean([len(np.unique(batch, axis=0)) / judges for batch in batches])),
    )


def row(name: str, judges: int, one: Outcome, many: Outcome) -> str:
    """A line of the table."""
    cells = []
    for alone, together in zip(one.rounds, many.rounds, strict=True):
        times = f" ({alone / together:.1f}x)" if alone and together and judges > 1 else ""
        cells.append(f"{together or '-'}{times}")
    return (
        f"| {name} | {judges} | " + " | ".join(cells) + f" | {many.regret:.1f} "
        f"| {many.different:.0%} |"
    )


def main() -> None:
    """Print the table in double precision."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rule", default="MaxMinLCB", help="any dueling policy, by name")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--duels", type=int, default=240)
    given = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, JAX {jax.__version__}")
    print(f"{given.rule}, {given.seeds} seeds, {given.duels} duels\n")
    heads = " | ".join(f"rounds to {level}" for level in LEVELS)
    print(f"| function | judges | {heads} | dueling regret | different |\n" + "|---" * 7 + "|")
    begin = time.process_time()
    with jax.enable_x64(True):
        for name in FUNCTIONS:
            judge = grid_environment(objective(name, "released"))
            made = [outcome(given.rule, judge, j, given.duels, given.seeds) for j in JUDGES]
            for judges, each in zip(JUDGES, made, strict=True):
                print(row(name, judges, made[0], each), flush=True)
    print(f"\n{time.process_time() - begin:.0f} s of processor time")


if __name__ == "__main__":
    main()
