"""The study behind docs/defaults.md: how the default was chosen, and what it does elsewhere.

    python benchmarks/defaults.py choose --seeds 6   # other settings, on other problems
    python benchmarks/defaults.py long --seeds 50    # regret at T = 2000, and runs that are stuck
    python benchmarks/defaults.py short --seeds 20   # 20, 60 and 200 duels, against other rules
    python benchmarks/defaults.py bands --runs 100   # do the bands hold as often as they say?

Prints Markdown. Nothing is set per problem. `long` and `short` run on the paper's seven functions
with the seeds 0, 1, ...; `choose` on none of them, with seeds from 100.
"""

import argparse
import dataclasses
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import _tuning
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import tinygp

from duelist.belief import (
    FAMILY,
    FixedBeta,
    GrowingBeta,
    Member,
    adaptive_prior,
    effects,
    prior,
)
from duelist.domains import ALL, FiniteDomain
from duelist.environments import TableEnvironment, grid_environment, objective
from duelist.kernels import factor, gram
from duelist.policies import EUBO, DoubleThompson, MaxMinLCB, RandomDuel
from duelist.simulation import Regret, simulate

BEST = {
    "branin": 89, "matyas": 106, "rosenbrock": 25, "ackley": 56, "eggholder": 113,
    "hoelder": 132, "michalewicz": 138,
}  # fmt: skip
"""The lowest regret in each row of the paper's Table 1."""

RULES: dict[str, Callable[[Any, Any], Any]] = {
    "MaxMinLCB": MaxMinLCB, "EUBO": EUBO, "Thompson": DoubleThompson, "random": RandomDuel,
}  # fmt: skip
STUCK = 0.1
TWO_VARIANTS = ("eggholder", "michalewicz")


def problems() -> Iterator[tuple[str, str, TableEnvironment]]:
    """The rows of Table 1: function, variant, judge."""
    for name in BEST:
        for variant in ("released", "printed") if name in TWO_VARIANTS else ("released",):
            yield name, variant, grid_environment(objective(name, variant))


def regret(rule: str, judge: TableEnvironment, horizon: int, seeds: int, beta: float) -> Regret:
    """Regret of each step, [seeds, horizon], with the library's defaults but for beta."""
    belief = adaptive_prior(judge.domain, beta=GrowingBeta(beta))
    policy = RULES[rule](judge.domain, belief)
    trace = simulate(policy, judge, horizon=horizon, seeds=seeds)
    return jax.tree.map(np.asarray, trace.regret)


def long(seeds: int, beta: float) -> None:
    """Regret at T = 2000 and its distribution over the seeds."""
    print(
        "| function | variant | mean ± s.e. | median | worst | paper's best | ratio | stuck |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    ratios = []
    for name, variant, judge in problems():
        steps = regret("MaxMinLCB", judge, 2000, seeds, beta).dueling
        total, late = steps.sum(axis=1), steps[:, -200:].mean(axis=1)
        ratio = total.mean() / BEST[name]
        ratios += [ratio] if variant == "released" else []
        error = total.std(ddof=1) / np.sqrt(seeds)
        print(
            f"| {name} | {variant} | {total.mean():.1f} ± {error:.1f} | {np.median(total):.1f} "
            f"| {total.max():.1f} | {BEST[name]} | {ratio:.2f} | {int((late > STUCK).sum())} |",
            flush=True,
        )
    mean = np.exp(np.mean(np.log(ratios)))
    print(f"\nGeometric mean of the ratios over the seven released rows: {mean:.3f}")


def families() -> dict[str, list[Member]]:
    """Other families of kernels than the default's."""
    return {
        "interaction 0.8": [m._replace(interaction=0.8) for m in FAMILY],
        "interaction 0.999": [m._replace(interaction=0.999) for m in FAMILY],
        "variances times 1.6": [m._replace(variance=1.6 * m.variance) for m in FAMILY],
        "three scales": [Member(scale, 4.0) for scale in (0.07, 0.15, 0.3)],
        "scale 0.1 alone": [FAMILY[1]],
        "scale 0.2 alone": [FAMILY[2]],
    }


class PerItem(tinygp.kernels.Kernel):
    """Another kernel plus a part of its own for every action."""

    kernel: tinygp.kernels.Kernel
    variance: float

    def evaluate(self, X1: Any, X2: Any) -> Any:
        """The value for two feature vectors."""
        return self.kernel.evaluate(X1, X2) + self.variance * jnp.all(X1 == X2).astype(X1.dtype)


def with_own_part(domain: FiniteDomain, variance: float) -> Any:
    """The default with a part of its own for every action, in every kernel."""
    return adaptive_prior(domain, kernels=[PerItem(k, variance) for k in effects(domain)])


def with_unlike_axes(domain: FiniteDomain) -> Any:
    """The default and, for each axis, a kernel under which the others matter four times less."""
    more = [
        dataclasses.replace(kernel, span=jnp.where(jnp.arange(kernel.span.size) == axis, 1, 4.0))
        for axis in range(domain.points.shape[1])
        for kernel in effects(domain, [Member(0.15, 4.0, 0.9)])
    ]
    return adaptive_prior(domain, kernels=[*effects(domain), *more])


def settings() -> dict[str, Callable[[FiniteDomain], Any]]:
    """The default, and what else was tried: the belief on a domain."""
    paper = tinygp.kernels.ExpSquared(0.2)
    return {
        "default": adaptive_prior,
        "beta 0.5": lambda d: adaptive_prior(d, beta=GrowingBeta(0.5)),
        "beta 0.9": lambda d: adaptive_prior(d, beta=GrowingBeta(0.9)),
        "caution 0.5": lambda d: adaptive_prior(d, caution=0.5),
        "caution 2": lambda d: adaptive_prior(d, caution=2),
        "no doubts (caution 1e9)": lambda d: adaptive_prior(d, caution=1e9),
        **{
            name: lambda d, m=members: adaptive_prior(d, kernels=effects(d, m))
            for name, members in families().items()
        },
        "own part per item, 0.1": lambda d: with_own_part(d, 0.1),
        "own part per item, 0.3": lambda d: with_own_part(d, 0.3),
        "unlike axes (ARD) beside": with_unlike_axes,
        "the paper's bounds, RBF 0.2, beta 0.5": lambda d: prior(d, paper, beta=FixedBeta(0.5)),
        "the paper's bounds, RBF 0.2, beta 1": lambda d: prior(d, paper),
    }


def choose(seeds: int, horizon: int, only: list[str] | None) -> None:
    """Regret of other settings (of all or of some) on the problems of `_tuning`."""
    judges = dict(_tuning.problems())
    print("| setting | geometric mean | stuck | " + " | ".join(judges) + " |")
    print("|---" * (3 + len(judges)) + "|")
    for name, belief in settings().items():
        if only and name not in only:
            continue
        totals, stuck = [], 0
        for judge in judges.values():
            policy = MaxMinLCB(judge.domain, belief(judge.domain))
            trace = simulate(policy, judge, horizon=horizon, seeds=range(100, 100 + seeds))
            steps = np.asarray(trace.regret.dueling)
            totals.append(steps.sum(axis=1).mean())
            stuck += int((steps[:, -200:].mean(axis=1) > STUCK).sum())
        mean = np.exp(np.mean(np.log(totals)))
        cells = " | ".join(f"{total:.0f}" for total in totals)
        print(f"| {name} | {mean:.1f} | {stuck} of {seeds * len(judges)} | {cells} |", flush=True)


def short(seeds: int, beta: float) -> None:
    """Cumulative and simple regret early on, with the same belief for every rule."""
    times = (20, 60, 200)
    heads = " | ".join(f"{kind} {t}" for kind in ("cumulative", "simple") for t in times)
    print(f"| function | variant | rule | {heads} |\n" + "|---" * 9 + "|")
    for name, variant, judge in problems():
        for rule in RULES:
            steps = regret(rule, judge, max(times), seeds, beta)
            cumulative = steps.dueling.cumsum(axis=1).mean(axis=0)
            simple = steps.simple.mean(axis=0)
            cells = [f"{cumulative[t - 1]:.1f}" for t in times]
            cells += [f"{simple[t - 1]:.3f}" for t in times]
            print(f"| {name} | {variant} | {rule} | " + " | ".join(cells) + " |", flush=True)


KERNELS = {
    "RBF 0.1": tinygp.kernels.ExpSquared(0.1),
    "RBF 0.3": tinygp.kernels.ExpSquared(0.3),
    "Matern-3/2 0.2": tinygp.kernels.Matern32(0.2, distance=tinygp.kernels.L2Distance()),
    "exponential 0.5": tinygp.kernels.Exp(0.5, distance=tinygp.kernels.L2Distance()),
    "none in common": tinygp.kernels.ExpSquared(0.01),
}
"""Where the utilities of `bands` come from; only the first two resemble the default's family."""


@eqx.filter_jit
def held(policy: Any, root: Any, keys: Any, level: Any) -> Any:
    """For each run and t = 1, ..., 200 the share of pairs whose true h is in the band."""

    def run(key: Any) -> Any:
        utility_key, steps_key = jr.split(key)
        f = 2 * root @ jr.normal(utility_key, (root.shape[0],), root.dtype)
        judge = TableEnvironment(policy.domain, f)
        truth = f[:, None] - f[None, :]

        def step(belief: Any, key: Any) -> Any:
            ask_key, answer_key = jr.split(key)
            query = policy.ask(belief, ask_key)
            belief = belief.tell(query, judge.answer(query, answer_key))
            miss = jnp.abs(truth - belief.difference(ALL, ALL))
            inside = miss <= level * belief.deviation(ALL, ALL)
            off_diagonal = ~jnp.eye(f.shape[0], dtype=bool)
            return belief, jnp.sum(inside & off_diagonal) / jnp.sum(off_diagonal)

        return jax.lax.scan(step, policy.belief, jr.split(steps_key, 200))[1]

    return jax.lax.map(run, keys)


def bands(runs: int) -> None:
    """How often the 90 % bands of the default hold, pair by pair, on random utilities."""
    domain = grid_environment(objective("branin"), 7).domain
    belief = adaptive_prior(FiniteDomain(domain.points))
    print("| utilities from | asked by | t = 20 | t = 60 | t = 200 |\n|---|---|---|---|---|")
    for name, kernel in KERNELS.items():
        root = factor(gram(kernel, domain.points))
        for rule in ("MaxMinLCB", "random"):
            policy = RULES[rule](domain, belief)
            shares = held(policy, root, jr.split(jr.key(0), runs), jnp.asarray(1.645))
            at = " | ".join(f"{float(shares[:, t - 1].mean()):.1%}" for t in (20, 60, 200))
            print(f"| {name} | {rule} | {at} |", flush=True)


def main() -> None:
    """Run one part in double precision."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=["choose", "long", "short", "bands"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--beta", type=float, default=0.65, help="c of `GrowingBeta`")
    parser.add_argument("--horizon", type=int, default=2000, help="T of `choose`")
    parser.add_argument("--only", nargs="+", help="settings to `choose` among, by their names")
    given = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, JAX {jax.__version__}\n")
    begin = time.process_time()
    with jax.enable_x64(True):
        if given.part == "bands":
            bands(given.runs)
        elif given.part == "choose":
            choose(given.seeds, given.horizon, given.only)
        else:
            {"long": long, "short": short}[given.part](given.seeds, given.beta)
    print(f"\n{time.process_time() - begin:.0f} s of processor time")


if __name__ == "__main__":
    main()
