"""How well and how fast a box is searched: the game against grids and dense references, and a step.

    taskset -c 0 python benchmarks/bench_box.py                # the numbers of the docs
    python benchmarks/bench_box.py --posteriors 10 --spaces utility

Posteriors are those of beliefs told 30 random duels (100 in 4 and 6 dimensions), answered by a
random function of the kernel. Times are processor time, without compilation.
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
import jax.random as jr
import numpy as np
import tinygp

from duelist.belief import FixedBeta, PointBelief, adaptive_prior, point_prior
from duelist.domains import Box
from duelist.environments import box_environment, objective
from duelist.policies import MaxMinLCB

KERNEL = tinygp.kernels.ExpSquared(0.3)
DENSE, POLISHED = 20_000, 128


def posterior(d: int, duels: int, seed: int, space: str) -> PointBelief:
    """A belief told random duels."""
    rng = np.random.default_rng(seed)
    box = Box([0.0] * d, [1.0] * d)
    belief = point_prior(
        box, KERNEL, capacity=2 * duels, space=space, width="laplace", lam=0.2, beta=FixedBeta(0.25)
    )
    centres, weights = rng.uniform(size=(40, d)), rng.normal(size=40)

    def utility(x: np.ndarray) -> float:
        return 2 * float(weights @ np.exp(-((centres - x) ** 2).sum(1) / 0.18))

    for _ in range(duels):
        x, x2 = rng.uniform(size=(2, d)).astype(np.float32)
        won = rng.uniform() < 1 / (1 + np.exp(utility(x2) - utility(x)))
        belief = belief.tell((x, x2), int(won))
    return belief


@eqx.filter_jit
def play(belief: PointBelief, key: jax.Array) -> jax.Array:
    """The leader of the game."""
    return belief.domain.near(*belief.compared()).maxmin(belief.lcb, key)[0]


@eqx.filter_jit
def value(belief: PointBelief, leader: jax.Array, key: jax.Array) -> jax.Array:
    """The leader's value against the best of many followers, the most harmful polished."""
    box = belief.domain
    random = jr.uniform(key, (DENSE, box.dim))
    around = jnp.repeat(belief.points, 16, axis=0)
    around = jnp.clip(around + 0.05 * jr.normal(key, around.shape), 0, 1)
    followers = jnp.concatenate([random, belief.points, around, leader[None]])
    scores = belief.lcb(leader[None, None], followers[None])[0]
    harmful = followers[jnp.argsort(scores)[:POLISHED]]
    _, found = box.polish(lambda z: -belief.lcb(leader, z), harmful, 40)
    return jnp.minimum(-jnp.max(found), jnp.min(scores))


@eqx.filter_jit
def grid_leader(belief: PointBelief) -> jax.Array:
    """The leader of the game that both play on a 64 x 64 grid."""
    axis = jnp.linspace(0, 1, 64)
    points = jnp.stack(jnp.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    blocks = points.reshape(64, 64, 2)
    floor = jax.lax.map(lambda b: jnp.min(belief.lcb(b[:, None], points[None]), axis=1), blocks)
    return points[jnp.argmax(floor)]


@eqx.filter_jit
def dense_leader(belief: PointBelief, key: jax.Array) -> jax.Array:
    """The best leader of a far more thorough search: eight times the starts and the candidates."""
    thorough = Box([0.0] * belief.domain.dim, [1.0] * belief.domain.dim, candidates=2048, starts=64)
    return thorough.near(*belief.compared()).maxmin(belief.lcb, key)[0]


def gaps(
    d: int, duels: int, count: int, space: str, reference: Callable[[PointBelief], Any]
) -> np.ndarray:
    """The value of our leader less that of the reference's, for each posterior."""
    found = []
    for seed in range(count):
        belief = posterior(d, duels, seed, space)
        ours, theirs = play(belief, jr.key(seed)), reference(belief)
        found.append(value(belief, ours, jr.key(1)) - value(belief, theirs, jr.key(1)))
    return np.asarray(found)


def report(name: str, found: np.ndarray) -> None:
    """How often our leader is at least as good, and by how much not."""
    share = np.sum(found >= -1e-4)
    cells = (np.median(found), np.mean(found), np.min(found))
    print(f"| {name} | {share} of {found.size} | " + " | ".join(f"{x:+.4f}" for x in cells) + " |")


def fixed(box: Box) -> PointBelief:
    """The belief with one kernel."""
    return point_prior(box, tinygp.kernels.ExpSquared(0.2), space="utility", width="laplace")


def seconds(d: int, answers: int, prior: Callable[[Box], Any]) -> tuple[float, float, float]:
    """The median processor time of ask and of tell after so many answers, and of compiling."""
    env = box_environment(objective("hartmann6") if d == 6 else objective("levy", dim=d))
    policy = MaxMinLCB(env.domain, prior(env.domain).with_room(answers + 5))
    state = policy.init(jr.key(0))
    ask, tell = eqx.filter_jit(policy.ask), eqx.filter_jit(policy.tell)
    times = []
    for t in range(answers + 5):
        begin = time.process_time()
        query = jax.block_until_ready(ask(state, jr.key(t)))
        between = time.process_time()
        answer = env.answer(query, jr.key(1000 + t))
        telling = time.process_time()
        state = jax.block_until_ready(tell(state, query, answer))
        times.append((between - begin, time.process_time() - telling))
    asking, told = np.median(times[-10:], axis=0)
    return asking, told, times[0][0] + times[0][1]


def main() -> None:
    """Print what is measured on, and the tables in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--posteriors", type=int, default=100)
    parser.add_argument("--spaces", nargs="+", default=["utility", "probability"])
    parser.add_argument("--dims", nargs="*", type=int, default=[2, 4, 6])
    given = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs,")
    print(f"{len(os.sched_getaffinity(0))} used; Python {platform.python_version()}, JAX")
    print(
        f"{jax.__version__}, Equinox {eqx.__version__}, NumPy {np.__version__}; {jax.devices()}\n"
    )
    print(
        "| 6 dimensions, 100 answers | ask, ms | tell, ms | first of both, s |\n|---|---|---|---|"
    )
    for name, prior in (("one kernel", fixed), ("default belief", adaptive_prior)):
        asking, told, compiling = seconds(6, 100, prior)
        print(f"| {name} | {asking * 1e3:.1f} | {told * 1e3:.1f} | {compiling:.1f} |", flush=True)
    print()
    print("| game | at least the reference | median gain | mean | least |\n|---|---|---|---|---|")
    for space in given.spaces:
        for d in given.dims:
            name = f"{d}-d, {space}, against "
            if d == 2:
                report(name + "64 x 64 grid", gaps(2, 30, given.posteriors, space, grid_leader))
            else:
                count = max(given.posteriors // 5, 1)
                found = gaps(d, 100, count, space, lambda b: dense_leader(b, jr.key(7)))
                report(name + "8 times the search", found)


if __name__ == "__main__":
    main()
