"""What the guaranteed bounds are worth: coverage, width, and how soon they prove something.

    python benchmarks/guarantees.py coverage --runs 200
    python benchmarks/guarantees.py stopping --runs 5 --horizon 2000

Prints Markdown; docs/guarantees.md quotes it. Random utilities of norm B under an RBF kernel of
length scale 0.2 on the 10 x 10 grid over the unit square, delta = 0.1, float32, one seed per run.
"""

import argparse
import dataclasses
import os
import platform
import time
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before SciPy: its threads only get in the way

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import tinygp

import duelist.coverage
from duelist.belief import FixedBeta, TheoremBeta, certificate, guaranteed_prior, prior
from duelist.belief._covariance import posterior_covariance
from duelist.domains import ALL, FiniteDomain
from duelist.environments import grid_environment, objective, random_environment
from duelist.kernels import gram
from duelist.policies import UCB, MaxMinLCB, RandomDuel, RandomRating

DELTA = 0.1
AXIS = np.linspace(0, 1, 10)
POINTS = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1).reshape(-1, 2)
DOMAIN = FiniteDomain(jnp.asarray(POINTS, jnp.float32))
KERNEL = tinygp.kernels.ExpSquared(jnp.asarray(0.2, jnp.float32))
ASKING = {
    ("duels", "random"): RandomDuel,
    ("duels", "game"): MaxMinLCB,
    ("ratings", "random"): RandomRating,
    ("ratings", "game"): UCB,
}


class Run(NamedTuple):
    """One run: what was closest to failing at any time, and mean half-widths at its end.

    Attributes:
        factor: by what the half-width of the bounds would have to be multiplied to just hold.
        evidence: the largest log of prod q_s/p_s under the truth; C_t holds it up to log(1/delta).
        prequential: half-width in probability, over all pairs (or actions for ratings).
        ball: the same for ||f||_k <= B alone, without any answer.
        paper: the same for eq. def_beta.
        beta: beta_T of eq. def_beta.
    """

    factor: jax.Array
    evidence: jax.Array
    prequential: jax.Array
    ball: jax.Array
    paper: jax.Array
    beta: jax.Array


@eqx.filter_jit
def cover(make_policy, feedback: str, bound, keys, horizon: int) -> Run:
    """Runs with utilities of norm `bound`, one after the other."""
    belief = guaranteed_prior(DOMAIN, KERNEL, feedback, bound=bound, delta=DELTA)
    policy = make_policy(DOMAIN, belief)
    duels = feedback == "duels"
    other = ALL if duels else None

    def half(belief):
        s = belief.link.probability
        return jnp.mean(s(belief.ucb(ALL, other)) - s(belief.lcb(ALL, other))) / 2

    def run(key) -> Run:
        utility_key, steps_key = jr.split(key)
        judge = random_environment(DOMAIN, KERNEL, bound, utility_key)

        def step(carry, key):
            belief, loss = carry
            ask_key, answer_key = jr.split(key)
            query = policy.ask(belief, ask_key)
            answer = judge.answer(query, answer_key)
            belief = belief.tell(query, answer)
            loss = loss + true_loss(judge, query, answer)
            held = duelist.coverage.check(belief, judge, duels=duels)
            return (belief, loss), (held.factor, loss - belief.forecast_loss)

        begin = (belief, jnp.float32(0))
        (last, _), (factors, logs) = jax.lax.scan(step, begin, jr.split(steps_key, horizon))
        beta, width = papers(last, bound, duels=duels)
        return Run(
            jnp.max(factors), jnp.max(logs), half(last), half(belief), beta * width, beta
        )  # fmt: skip

    return jax.lax.map(run, keys)


def papers(last, bound, *, duels: bool):
    """beta_T of eq. def_beta and the mean sigma_T after the same queries, from scratch."""
    paper = prior(DOMAIN, KERNEL, "duels" if duels else "ratings", bound=bound)
    precision = last.table.answers.square() / paper.constants.noise
    system = jnp.eye(len(POINTS)) + paper.factor.T @ precision @ paper.factor
    told = dataclasses.replace(
        paper,
        beta_rule=TheoremBeta(DELTA),
        covariance=posterior_covariance(paper.factor, precision),
        gain=jnp.linalg.slogdet(system)[1] / 2,
    )
    return told.beta, jnp.mean(told.width(ALL, ALL if duels else None))


def true_loss(judge, query, answer):
    """-log p(answer | f) under the judge's own utility."""
    h = judge.utility(query[0]) - (judge.utility(query[1]) if len(query) == 2 else 0)
    loss = judge.link.loss(jnp.where(answer, h, -h))
    return jnp.where(query[0] == query[-1], 0, loss) if len(query) == 2 else loss


def coverage(
    runs: int, horizon: int, feedbacks: list[str], kinds: list[str], bounds: list[float]
) -> None:
    """The table of coverage and widths; `needed` is the share of it that 90 % of runs need."""
    print(
        "| feedback | asked by | B | bounds held | truth in C_t | needed | prequential | ball "
        "alone | paper | paper / prequential | beta_T |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for (feedback, asked), make_policy in ASKING.items():
        if feedback not in feedbacks or asked not in kinds:
            continue
        for bound in bounds:
            keys = jr.split(jr.key(int(bound)), runs)
            out = cover(make_policy, feedback, jnp.float32(bound), keys, horizon)
            held, needed = int(jnp.sum(out.factor <= 1)), float(jnp.quantile(out.factor, 0.9))
            inside = int(jnp.sum(out.evidence <= -np.log(DELTA)))
            ours, ball, paper = (float(jnp.mean(w)) for w in (out.prequential, out.ball, out.paper))
            print(
                f"| {feedback} | {make_policy.__name__} | {bound:g} | {held}/{runs} "
                f"| {inside}/{runs} | {needed:.2f} | {ours:.3f} | {ball:.3f} | {paper:.2f} "
                f"| {paper / ours:.0f} | {float(jnp.mean(out.beta)):.0f} |",
                flush=True,
            )


@eqx.filter_jit
def play(policy, judge, belief, key, steps: int):
    """`steps` more duels."""

    def step(belief, key):
        ask_key, answer_key = jr.split(key)
        query = policy.ask(belief, ask_key)
        return belief.tell(query, judge.answer(query, answer_key)), None

    return jax.lax.scan(step, belief, jr.split(key, steps))[0]


@eqx.filter_jit
def proved(belief, *, refine: bool):
    """How many actions are excluded, and whether the leader is certified."""
    leader = jnp.argmax(belief.utility(ALL))
    found = certificate(belief, leader, 0.1, refine=refine)
    return jnp.sum(found.excluded), found.holds, jnp.max(found.upper), leader


def first_times(belief, judge, key, horizon: int, every: int, *, refine: bool) -> list[str]:
    """After how many duels the first action is excluded, the certificate holds, and the rest."""
    policy = MaxMinLCB(DOMAIN, belief, restrict=True)
    excluded = certified = None
    out, worst, leader = 0, 1.0, 0
    for count in range(every, horizon + 1, every):
        belief = play(policy, judge, belief, jr.fold_in(key, count), every)
        number, holds, worst, leader = proved(belief, refine=refine)
        out = int(number)
        excluded = count if excluded is None and out else excluded
        certified = count if certified is None and bool(holds) else certified
        if certified is not None:
            break
    gap = float(jax.nn.sigmoid(judge.best() - judge.utility(leader))) - 0.5
    cap = f"not by {horizon}"
    return [
        str(excluded or cap), str(certified or cap), str(out), f"{float(worst):.2f}", f"{gap:.2f}"
    ]  # fmt: skip


def problems():
    """Random utilities of norm B, and three test functions with the norm that they have."""
    for bound in (1.0, 2.0, 3.0):
        yield f"random, B={bound:g}", bound, random_environment(DOMAIN, KERNEL, bound, jr.key(7))
    matrix = np.asarray(gram(KERNEL, DOMAIN.points), float) + 1e-6 * np.eye(100)
    for name in ("branin", "ackley", "hoelder"):
        judge = grid_environment(objective(name), 10, dtype=jnp.float32)
        f = np.asarray(judge.utilities, float)
        yield name, float(np.sqrt((f - f.mean()) @ np.linalg.solve(matrix, f - f.mean()))), judge


def sets(bound: float):
    """The beliefs to compare, and whether the convex programme refines their certificates.

    The bands of the last are no promise: the fitted difference plus or minus three standard
    deviations of the Laplace posterior (4 beta sigma in utility space, lambda = 1 for a kernel
    scaled to the norm). It stands in for calibrated bands, which go here.
    """
    yield "prequential", guaranteed_prior(DOMAIN, KERNEL, bound=bound, delta=DELTA), True
    paper = guaranteed_prior(DOMAIN, KERNEL, bound=bound, delta=DELTA, confidence_set="paper")
    yield "paper", paper, False
    scaled = jnp.float32(bound**2 / 10) * KERNEL
    bands = prior(DOMAIN, scaled, width="laplace", space="utility", beta=FixedBeta(0.75))
    yield "three deviations", bands, False


def stopping(runs: int, horizon: int, every: int) -> None:
    """The table of first exclusions and certificates."""
    print(
        f"Checked every {every} duels.\n\n| problem | B | set | seed | first exclusion "
        "| certificate | excluded at the end | most a rival may win | true gap of the leader |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    for name, bound, judge in problems():
        for label, belief, refine in sets(bound):
            for seed in range(1 if label == "paper" else runs):
                row = first_times(belief, judge, jr.key(seed), horizon, every, refine=refine)
                cells = " | ".join([name, f"{bound:.1f}", label, str(seed), *row])
                print(f"| {cells} |", flush=True)


def cost() -> None:
    """Milliseconds of processor time per answer with either set, and per certificate."""
    print("| set | ms per answer | ms per certificate |\n|---|---|---|")
    judge = random_environment(DOMAIN, KERNEL, 2.0, jr.key(0))
    for label in ("prequential", "paper"):
        belief = guaranteed_prior(DOMAIN, KERNEL, bound=2.0, confidence_set=label)
        policy = RandomDuel(DOMAIN, belief)
        refine = label == "prequential"
        last = jax.block_until_ready(play(policy, judge, belief, jr.key(1), 400))
        jax.block_until_ready(proved(last, refine=refine))
        begin = time.process_time()
        last = jax.block_until_ready(play(policy, judge, belief, jr.key(2), 400))
        middle = time.process_time()
        jax.block_until_ready(proved(last, refine=refine))
        end = time.process_time()
        answer, proof = (middle - begin) * 1e3 / 400, (end - middle) * 1e3
        print(f"| {label} | {answer:.2f} | {proof:.0f} |", flush=True)


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["coverage", "stopping", "cost"])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--horizon", type=int, default=400)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--feedback", nargs="+", default=["duels", "ratings"], help="for coverage")
    parser.add_argument("--asked", nargs="+", default=["random", "game"], help="for coverage")
    parser.add_argument("--bounds", nargs="+", type=float, default=[1.0, 2.0, 3.0])
    given = parser.parse_args()
    print(
        f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, "
        f"JAX {jax.__version__}, {jax.devices()[0].platform}\n"
    )
    begin = time.perf_counter()
    if given.part == "coverage":
        coverage(given.runs, given.horizon, given.feedback, given.asked, given.bounds)
    elif given.part == "stopping":
        stopping(given.runs, given.horizon, given.every)
    else:
        cost()
    print(f"\n{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
