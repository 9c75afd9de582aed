"""Regret on boxes: MaxMinLCB, EUBO, double Thompson sampling and chance on six test functions.

    python benchmarks/box_regret.py                      # 20 seeds, 200 duels
    python benchmarks/box_regret.py --seeds 3 --horizon 60 --problems branin
    python benchmarks/box_regret.py --belief fixed       # without adaptation

All have the same belief, the library's default. With `--belief fixed` it is an RBF kernel of
length scale 0.2 on the unit cube, a prior standard deviation of 2, bounds two Laplace deviations
away in utility. Cumulative dueling regret is in units of probability, simple regret in units of
utility (the range of every function is 6). Seconds are processor time of whole steps.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import tinygp
from _boxes import PROBLEMS, Run, environment, header, row

from duelist import policies
from duelist.belief import FixedBeta, PointBelief, adaptive_prior, point_prior
from duelist.domains import AbstractDomain
from duelist.simulation import simulate

POLICIES = ("MaxMinLCB", "EUBO", "DoubleThompson", "RandomDuel")
LAM = 0.25  # the prior's standard deviation is 1/sqrt(lambda)
BETA = 1.0  # beta/L = 4 widths, each half a deviation at this lambda


def fixed(domain: AbstractDomain) -> PointBelief:
    """The belief with one kernel."""
    kernel = tinygp.kernels.ExpSquared(0.2)
    beta = FixedBeta(BETA)
    return point_prior(domain, kernel, lam=LAM, width="laplace", space="utility", beta=beta)


BELIEFS: dict[str, Callable[[AbstractDomain], Any]] = {"default": adaptive_prior, "fixed": fixed}


def measure(problem: str, name: str, horizon: int, seeds: int, kind: str = "default") -> Run:
    """One policy on one problem with one kind of belief."""
    env = environment(problem)
    belief = BELIEFS[kind](env.domain)
    policy = getattr(policies, name)(env.domain, belief)
    simulate(policy, env, horizon=horizon, seeds=[10**6])
    begin = time.process_time()
    trace = jax.block_until_ready(simulate(policy, env, horizon=horizon, seeds=seeds))
    spent = (time.process_time() - begin) / (horizon * seeds)
    return Run(np.asarray(trace.regret.dueling), np.asarray(trace.regret.simple), spent)


def main() -> None:
    """Print what is measured on, and the table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=[*PROBLEMS], default=[*PROBLEMS])
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=[*POLICIES])
    parser.add_argument("--belief", choices=BELIEFS, default="default")
    parser.add_argument("--horizon", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs; JAX")
    print(f"{jax.__version__}; {given.seeds} seeds; {given.belief} belief\n")
    print(header(given.horizon))
    for problem in given.problems:
        for name in given.policies:
            run = measure(problem, name, given.horizon, given.seeds, given.belief)
            print(row(problem, name, run), flush=True)


if __name__ == "__main__":
    main()
