"""Time per step of `simulate` for every policy, and of the paper's step computed densely.

    taskset -c 0 python benchmarks/bench_step.py          # one core
    python benchmarks/bench_step.py --policies MaxMinLCB  # some rows only

Seconds are processor time of this process (the least of some repeats), so that other work on the
machine disturbs little. A dense step recomputes fit, widths and bounds from the whole history, as
the formulas are printed, in NumPy and SciPy.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special
import tinygp

from duelist import policies, simulation
from duelist.belief import independent_prior, log_ucb1_prior, prior, ridge_prior
from duelist.environments import TableEnvironment, grid_environment, objective
from duelist.policies import AbstractPolicy
from duelist.simulation import simulate

KERNEL = tinygp.kernels.ExpSquared(0.2)
DUELS = (
    "MaxMinLCB", "MaxMinUCB", "Doubler", "MultiSBM", "RUCB", "MaxInP", "IDS", "EUBO",
    "DoubleThompson", "RandomDuel",
)  # fmt: skip
HORIZON, REPEATS = 2000, 3


def make(name: str, env: TableEnvironment) -> AbstractPolicy:
    """A policy by its name; the direct-feedback ones are named after their beliefs."""
    domain = env.domain
    ratings = {
        "LGP-UCB": lambda: policies.UCB(domain, prior(domain, KERNEL, "ratings")),
        "GP-UCB": lambda: policies.UCB(domain, ridge_prior(domain, KERNEL)),
        "Ind-UCB": lambda: policies.UCB(domain, independent_prior(domain)),
        "Log-UCB1": lambda: policies.UCB(domain, log_ucb1_prior(domain)),
        "RandomRating": lambda: policies.RandomRating(domain, prior(domain, KERNEL, "ratings")),
        "Sparring": lambda: policies.Sparring(domain, prior(domain, KERNEL, "ratings")),
    }
    if name in ratings:
        return ratings[name]()
    return getattr(policies, name)(domain, prior(domain, KERNEL))


def least(run: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The least processor time of `run`, in seconds."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        jax.block_until_ready(run())
        times.append(time.process_time() - begin)
    return min(times)


def first(run: Callable[[], Any]) -> float:
    """The processor time of a first call, which compiles."""
    return least(run, 1)


def row(name: str, dtype: str, seeds: int) -> str:
    """Microseconds per step and seed, how they grow with t, and the time to compile."""
    env = grid_environment(objective("ackley"), dtype=dtype)
    policy = make(name, env)

    def run(horizon: int, count: int) -> Callable[[], Any]:
        return lambda: simulate(policy, env, horizon=horizon, seeds=count)

    compiling = first(run(HORIZON, 1))
    one = least(run(HORIZON, 1)) / HORIZON * 1e6
    # With horizons of one bucket the same program runs; the difference is that of the last steps.
    early = (least(run(400, 1)) - least(run(100, 1))) / 300 * 1e6
    late = (least(run(2000, 1)) - least(run(1700, 1))) / 300 * 1e6
    run(HORIZON // 4, seeds)()
    many = least(run(HORIZON // 4, seeds), 1) / (HORIZON // 4) / seeds * 1e6
    cells = (name, dtype, *(f"{x:.0f}" for x in (one, many, early, late)))
    return (
        "| "
        + " | ".join(cells)
        + f" | {late / early:.2f} | {compiling - one * HORIZON / 1e6:.1f} |"
    )


def recompilations(env: TableEnvironment) -> int:
    """Traces of the step beyond the first, over seeds, horizons of a bucket, hyper-parameters."""
    traces = 0
    original = simulation.run

    def counted(*args: Any) -> Any:
        nonlocal traces
        traces += 1
        return original(*args)

    simulation.run = counted
    jax.clear_caches()  # else the programs of the rows above serve, and nothing is traced at all
    try:
        for seeds, horizon, lam in ((1, 100, 1.0), ([7], 100, 1.0), ([3], 77, 1.0), ([3], 65, 0.3)):
            policy = policies.MaxMinLCB(env.domain, prior(env.domain, KERNEL, lam=lam))
            simulate(policy, env, horizon=horizon, seeds=seeds)
    finally:
        simulation.run = original
    return traces - 1


def dense_step(
    gram: np.ndarray, queries: np.ndarray, answers: np.ndarray, lam: float, kappa: float
) -> tuple[int, int]:
    """MaxMinLCB from the whole history: Proposition 1, eq. def_sigma, the table of the game."""
    i, j = queries.T
    dueling = gram[np.ix_(i, i)] + gram[np.ix_(j, j)] - gram[np.ix_(i, j)] - gram[np.ix_(j, i)]

    def loss(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        h = dueling @ alpha
        pull = scipy.special.expit(h) - answers + lam * alpha
        value = np.sum(np.logaddexp(0, h) - answers * h) + lam / 2 * alpha @ h
        return float(value), dueling @ pull

    alpha = scipy.optimize.minimize(loss, np.zeros(len(i)), jac=True, method="L-BFGS-B").x
    cross = gram[:, i] - gram[:, j]
    root = scipy.linalg.cho_factor(dueling + lam * kappa * np.eye(len(i)))
    covariance = gram - cross @ scipy.linalg.cho_solve(root, cross.T)
    f, d = cross @ alpha, np.diag(covariance)
    width = np.sqrt(np.maximum(d[:, None] + d[None, :] - 2 * covariance, 0))
    table = scipy.special.expit(f[:, None] - f[None, :]) - width
    leader = int(np.argmax(table.min(axis=1)))
    return leader, int(np.argmin(table[leader]))


def dense(env: TableEnvironment, t: int) -> float:
    """Microseconds of a dense step after t answers, on a history that MaxMinLCB made."""
    policy = make("MaxMinLCB", env)
    trace = simulate(policy, env, horizon=t, seeds=1)
    keep = np.asarray(trace.queries[0, :, 0] != trace.queries[0, :, 1])
    history = np.asarray(trace.queries[0])[keep], np.asarray(trace.answers[0], float)[keep]
    gram = np.asarray(policy.belief.gram, float)
    kappa = float(policy.belief.constants.kappa)
    return least(lambda: dense_step(gram, *history, 1.0, kappa), 5) * 1e6


def main() -> None:
    """Print what is compared on, and the tables in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    direct = ("LGP-UCB", "GP-UCB", "Ind-UCB", "Log-UCB1", "RandomRating", "Sparring")
    parser.add_argument("--policies", nargs="+", default=[*DUELS, *direct])
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs,")
    print(f"{len(os.sched_getaffinity(0))} used; Python {platform.python_version()}, JAX")
    print(f"{jax.__version__}, Equinox {eqx.__version__}, NumPy {np.__version__}; {jax.devices()}")
    print(f"\nn = 100, T = {HORIZON}, microseconds per step and seed; compile time in seconds.\n")
    print(f"| policy | dtype | 1 seed | {given.seeds} seeds, T/4 | t=100..400 | t=1700..2000 "
          "| late/early | compile |")  # fmt: skip
    print("|---" * 8 + "|")
    for dtype in ("float64", "float32"):
        with jax.enable_x64(dtype == "float64"):
            for name in given.policies:
                print(row(name, dtype, given.seeds), flush=True)
    with jax.enable_x64(True):
        env = grid_environment(objective("ackley"), dtype=jnp.float64)
        print(f"\nRecompilations over seeds, horizons, hyper-parameters: {recompilations(env)}\n")
        policy = make("MaxMinLCB", env)
        for t in (200, 400):
            own = (least(lambda t=t: simulate(policy, env, horizon=t, seeds=1), 5)) / t * 1e6
            theirs = dense(env, t)
            print(
                f"Dense step at t={t}: {theirs:.0f} us, {theirs / own:.0f} times ours ({own:.0f})"
            )


if __name__ == "__main__":
    main()
