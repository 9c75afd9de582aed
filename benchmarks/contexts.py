"""Regret per duel over time with and without a look at the context (docs/contexts.md).

    python benchmarks/contexts.py                      # both cases, 20 seeds, 256 duels
    python benchmarks/contexts.py --cases actions --seeds 4 --horizon 64

The utility is a bump of height 6 and width 0.2 around x = 0.15 + 0.7 z, and z is one of 21 points
of [0, 1], drawn anew for every duel. `actions`: the same 25 points x of [0, 1] in every context.
`candidates`: three to eight points of its own for each context. MaxMinLCB with `adaptive_prior`
either sees z or does not; regret is against the best action of the context.
"""

import argparse
import os
import platform
import time

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from duelist.belief import adaptive_prior, effects
from duelist.domains import AbstractContextual, Candidates, ContextualDomain, FiniteDomain
from duelist.environments import ContextualEnvironment
from duelist.kernels import OnFeatures
from duelist.policies import AbstractPolicy, MaxMinLCB
from duelist.simulation import simulate

CONTEXTS = np.linspace(0, 1, 21)
WINDOWS = 8


def utility(features: Array) -> Array:
    """f(x, z), from -3 to 3."""
    x, z = features[..., 0], features[..., 1]
    return 6 * jnp.exp(-((x - 0.15 - 0.7 * z) ** 2) / (2 * 0.2**2)) - 3


def actions() -> tuple[ContextualEnvironment, dict[str, AbstractPolicy]]:
    """The same actions in every context; blind is the policy on the actions alone."""
    base = FiniteDomain(np.linspace(0, 1, 25)[:, None])
    domain = ContextualDomain(base, CONTEXTS[:, None])
    blind = MaxMinLCB(base, adaptive_prior(base))
    return judge(domain, list(CONTEXTS[:, None])), {"sees z": seeing(domain), "blind": blind}


def candidates() -> tuple[ContextualEnvironment, dict[str, AbstractPolicy]]:
    """Candidates of their own; blind is a belief that knows their first feature only."""
    rng = np.random.default_rng(0)
    points = [rng.uniform(size=rng.integers(3, 9)) for _ in CONTEXTS]
    rows = [
        np.stack([x, np.full_like(x, z)], axis=1) for x, z in zip(points, CONTEXTS, strict=True)
    ]
    domain = Candidates(rows, context_size=1)
    alone = Candidates([row[:, :1] for row in rows])
    kernels = [OnFeatures((0,), kernel) for kernel in effects(alone)]
    blind = MaxMinLCB(domain, adaptive_prior(domain, kernels=kernels))
    return judge(domain, rows), {"sees z": seeing(domain), "blind": blind}


def judge(domain: AbstractContextual, contexts: list[np.ndarray]) -> ContextualEnvironment:
    """Who answers."""
    return ContextualEnvironment(domain, utility, contexts)


def seeing(domain: AbstractContextual) -> AbstractPolicy:
    """MaxMinLCB with the default belief."""
    return MaxMinLCB(domain, adaptive_prior(domain))


CASES = {"actions": actions, "candidates": candidates}


def row(name: str, regret: np.ndarray, seconds: float) -> str:
    """Mean and standard error over the seeds, window by window."""
    parts = [part.mean(axis=1) for part in np.array_split(regret, WINDOWS, axis=1)]
    error = [part.std(ddof=1) / np.sqrt(len(part)) for part in parts]
    cells = [f"{part.mean():.3f} ± {e:.3f}" for part, e in zip(parts, error, strict=True)]
    return f"| {name} | " + " | ".join(cells) + f" | {seconds:.3f} |"


def main() -> None:
    """Print what is measured on, and the table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=[*CASES], default=[*CASES])
    parser.add_argument("--horizon", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs; Python")
    print(f"{platform.python_version()}, JAX {jax.__version__}; {given.seeds} seeds\n")
    ends = [len(part) for part in np.array_split(np.arange(given.horizon), WINDOWS)]
    names = [f"to {end}" for end in np.cumsum(ends)]
    print("| case | " + " | ".join(names) + " | s per duel |\n" + "|---" * (WINDOWS + 2) + "|")
    for case in given.cases:
        environment, policies = CASES[case]()
        for name, policy in policies.items():
            begin = time.process_time()
            trace = simulate(policy, environment, horizon=given.horizon, seeds=given.seeds)
            regret = np.asarray(trace.regret.dueling)
            spent = (time.process_time() - begin) / regret.size
            print(row(f"{case}, {name}", regret, spent), flush=True)


if __name__ == "__main__":
    main()
