"""Count how often the paper's confidence sequences hold, and how loose they are (docs/validity.md).

    python benchmarks/validity.py --runs 200 --horizon 400

For random f with ||f||_k = B it lets MaxMinLCB(restrict=True) (duels) or LGP-UCB (ratings)
ask, and after every answer compares the bounds of TheoremBeta(0.1) with the truth for all pairs (or
actions). It also compares the cumulative regret with the bound of its theorem, at every step. The
table is printed in Markdown.
"""

import argparse
import sys
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import scipy.stats
import tinygp

from duelist.belief import TableBelief, TheoremBeta, prior
from duelist.coverage import check, regret_bound
from duelist.domains import FiniteDomain
from duelist.environments import TableEnvironment, random_environment
from duelist.policies import UCB, MaxMinLCB
from duelist.simulation import Trace, simulate_each

DELTA = 0.1
KERNEL = tinygp.kernels.ExpSquared(0.2)
COLUMNS = (
    "feedback", "B", "projected", "runs", "held", "lower limit", "largest factor",
    "half width", "outside the ball", "regret / bound",
)  # fmt: skip


def grid(per_axis: int = 10) -> FiniteDomain:
    """per_axis^2 points of the unit square."""
    axis = jnp.linspace(0, 1, per_axis)
    return FiniteDomain(jnp.stack(jnp.meshgrid(axis, axis), axis=-1).reshape(-1, 2))


@eqx.filter_jit
def replay(
    belief: TableBelief, environments: TableEnvironment, trace: Trace
) -> dict[str, jax.Array]:
    """What the belief claims after each answer of `trace`, against the truth: [runs, horizon]."""
    duels = trace.queries.shape[-1] == 2
    arrays, rest = eqx.partition(environments, eqx.is_array)

    def run(item: tuple[Any, jax.Array, jax.Array]) -> dict[str, jax.Array]:
        own, queries, answers = item
        environment = eqx.combine(own, rest)

        def step(belief: TableBelief, told: Any) -> tuple[TableBelief, dict[str, jax.Array]]:
            belief = belief.tell(tuple(told[0]), told[1])
            checked = check(belief, environment, duels=duels)
            outside = belief.norm() > belief.constants.bound
            return belief, {
                "factor": checked.factor,
                "half_width": checked.half_width,
                "outside": outside,
                "allowed": regret_bound(
                    belief.constants, belief.beta, belief.gain, belief.count, duels=duels
                ),
            }

        return jax.lax.scan(step, belief, (queries, answers))[1]

    return jax.lax.map(run, (arrays, trace.queries, trace.answers))


def experiment(
    feedback: str, bound: float, *, projected: bool, runs: int, horizon: int
) -> dict[str, np.ndarray]:
    """The traces of one row of the table."""
    domain = grid()
    belief = prior(
        domain, KERNEL, feedback, bound=bound, beta=TheoremBeta(DELTA), projected=projected
    )
    policy = (
        MaxMinLCB(domain, belief, restrict=True) if feedback == "duels" else UCB(domain, belief)
    )
    keys = jr.split(jr.key(int(bound)), runs)
    environments = eqx.filter_vmap(lambda key: random_environment(domain, KERNEL, bound, key))(keys)
    trace = simulate_each(policy, environments, horizon=horizon, seeds=range(runs))
    measured = replay(belief, environments, trace)
    regret = trace.regret.dueling if feedback == "duels" else trace.regret.logistic
    return {k: np.asarray(v) for k, v in measured.items()} | {
        "regret": np.cumsum(np.asarray(regret), axis=1)
    }


def row(feedback: str, bound: float, *, projected: bool, runs: int, horizon: int) -> str:
    """One row: rates over runs, the worst over all runs and steps, means over runs at the end."""
    got = experiment(feedback, bound, projected=projected, runs=runs, horizon=horizon)
    held = int(np.sum(np.all(got["factor"] <= 1, axis=1)))
    lower = scipy.stats.binomtest(held, runs).proportion_ci(0.95, method="exact").low
    cells = (
        feedback,
        f"{bound:.0f}",
        "yes" if projected else "no",
        str(runs),
        f"{held / runs:.1%}",
        f"{lower:.1%}",
        f"{np.max(got['factor']):.3f}",
        f"{np.mean(got['half_width'][:, -1]):.2f}",
        f"{np.mean(got['outside']):.1%}",
        f"{np.max(got['regret'] / got['allowed']):.4f}",
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--horizon", type=int, default=400)
    parser.add_argument("--feedback", nargs="+", default=["duels", "ratings"])
    parser.add_argument("--projected", nargs="+", choices=["no", "yes"], default=["no", "yes"])
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS))
    for feedback in given.feedback:
        for bound in (1.0, 2.0, 3.0):
            for projected in given.projected:
                begin = time.perf_counter()
                print(
                    row(
                        feedback,
                        bound,
                        projected=projected == "yes",
                        runs=given.runs,
                        horizon=given.horizon,
                    ),
                    flush=True,
                )
                print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
