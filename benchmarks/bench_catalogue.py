"""Time and memory of MaxMinLCB's choice among very many actions, beside the whole table of pairs.

    python benchmarks/bench_catalogue.py                 # n = 1e3, 1e4, 1e5, 1e6
    python benchmarks/bench_catalogue.py --sizes 100000  # one size
    python benchmarks/bench_catalogue.py --agree 200     # so many posteriors at n = 10 000

Actions have 8 features; the judge's utility is a sum of sines; 300 answers, each on a random action
against the better of two others, so that there are some 500 points. Every size runs in a process of
its own, whose peak memory is reported. Seconds are of the wall clock, the least of three asks; a
second column has the processor time of both cores, which other work on the machine disturbs less.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import tinygp

from duelist.belief import PointBelief, point_prior
from duelist.domains import ALL, Catalogue, FiniteDomain, Game

FEATURES, ANSWERS = 8, 300
BRUTE = 10_000
"""Up to so many actions the whole game is computed as well, a row of the table at a time."""


def told(n: int, seed: int, answers: int, space: str) -> tuple[PointBelief, float]:
    """A belief after `answers` answers, and the seconds that the last five took each.

    Only those are told to the belief on the catalogue; the others to one without, which is faster.
    """
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(n, FEATURES)).astype(np.float32)
    utility = np.sin(5 * points).sum(axis=1)
    kernel = tinygp.kernels.ExpSquared(0.3 * np.sqrt(FEATURES))
    belief = point_prior(FiniteDomain(points), kernel, space=space, capacity=1024)
    begin = 0.0
    for t in range(answers):
        if t == answers - 6:  # the first of the six compiles
            belief = belief.on(Catalogue(points))
        if t == answers - 5:
            begin = time.perf_counter()
        first, second, third = (int(x) for x in rng.integers(0, n, 3))
        second = second if utility[second] > utility[third] else third
        chance = 1 / (1 + np.exp(utility[second] - utility[first]))
        belief = belief.tell((first, second), float(rng.uniform() < chance))
    jax.block_until_ready(belief.items)
    return belief, (time.perf_counter() - begin) / 5


@eqx.filter_jit
def lazy(belief: PointBelief, key: jax.Array) -> Game:
    """The game by bounds."""
    return belief.domain.game(belief.lcb, key)


@eqx.filter_jit
def brute(belief: PointBelief) -> tuple[jax.Array, jax.Array]:
    """Every leader's value by the whole row, and its follower."""

    def row(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        values = belief.lcb(x[:, None], ALL)
        return jnp.min(values, axis=1), jnp.argmin(values, axis=1)

    actions = jnp.arange(belief.domain.size, dtype=jnp.int32).reshape(-1, 20)
    values, followers = jax.lax.map(row, actions)
    return values.ravel(), followers.ravel()


def timed(run, repeats: int = 3) -> tuple[float, float]:
    """Least wall-clock and processor seconds of `run`, which has compiled before."""
    jax.block_until_ready(run())
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        jax.block_until_ready(run())
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def row(n: int) -> str:
    """One row of the table."""
    belief, tell = told(n, 0, ANSWERS, "probability")
    wall, cpu = timed(lambda: lazy(belief, jr.key(0)))
    game = lazy(belief, jr.key(0))
    other = timed(lambda: brute(belief), 1)[0] if n <= BRUTE else float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    cells = (
        n, int(belief.number), f"{wall:.3f}", f"{cpu:.3f}", f"{other:.2f}", f"{other / wall:.0f}",
        int(game.looked), f"{tell:.3f}", f"{peak:.2f}",
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def agree(count: int, n: int) -> None:
    """Print how often the choice by bounds is that of the whole table."""
    for space in ("probability", "utility"):
        same = ties = 0
        for seed in range(count):
            belief, _ = told(n, seed, 10 + seed % 50, space)
            game, (values, followers) = lazy(belief, jr.key(seed)), brute(belief)
            best = int(jnp.argmax(values))
            equal = (int(game.leader), int(game.follower)) == (best, int(followers[best]))
            same += equal
            ties += not equal and float(values[best] - values[game.leader]) <= 2e-5
        print(f"{space}: {same} of {count} the same, {ties} more within the tolerance of 2e-5")


def main() -> None:
    """Print what is run on, and the table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--agree", type=int, default=0)
    parser.add_argument("--actions", type=int, default=10_000, help="n for --agree")
    parser.add_argument("--row", action="store_true", help="print the row of one size only")
    given = parser.parse_args()
    if given.row:
        print(row(given.sizes[0]), flush=True)
        return
    print(
        f"{platform.processor() or platform.machine()}, {len(os.sched_getaffinity(0))} CPUs used;"
    )
    print(f"load {os.getloadavg()[0]:.1f} at the start; Python {platform.python_version()}, JAX")
    print(f"{jax.__version__}, Equinox {eqx.__version__}, NumPy {np.__version__}; {jax.devices()}")
    if given.agree:
        agree(given.agree, given.actions)
        return
    print(f"\n{FEATURES} features, {ANSWERS} answers, float32; seconds, GiB.\n")
    print("| n | points | ask | ask, processor | whole table | ratio | leaders looked at | tell "
          "| peak memory |")  # fmt: skip
    print("|---" * 9 + "|", flush=True)
    for n in given.sizes:
        subprocess.run([sys.executable, __file__, "--row", "--sizes", str(n)], check=True)  # noqa: S603 (ourselves)


if __name__ == "__main__":
    main()
