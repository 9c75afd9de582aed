"""BoTorch's preferential loop beside ours: the same problems, noise, metrics and seeds.

    pip install botorch                            # the extra [versus]
    python benchmarks/versus_botorch.py --seeds 2 --horizon 50 --problems branin --minutes 10

BoTorch: PairwiseGP with a logit likelihood where there is one, hyper-parameters fitted after every
answer by `fit_gpytorch_mll`, and the analytic expected utility of the best option, over pairs, by
`optimize_acqf`; it recommends the best posterior mean among the points compared. Ours: the policies
of box_regret.py with the library's default belief. Seconds are processor time: an ask of theirs is
fit and optimisation, ours a whole step.
"""

import argparse
import math
import sys
import time
from typing import Any

import jax
import numpy as np
from _boxes import PROBLEMS, Run, environment, header, row
from box_regret import measure

from duelist.environments import BoxEnvironment

try:
    import botorch
    import torch
    from botorch.acquisition.preference import AnalyticExpectedUtilityOfBestOption
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import pairwise_gp
    from botorch.models.likelihoods import pairwise
    from botorch.models.transforms.input import Normalize
    from botorch.optim import optimize_acqf
except ImportError as missing:
    sys.exit(f"versus_botorch: needs BoTorch ({missing}); pip install 'duelist[versus]'")


def utilities(env: BoxEnvironment, x: np.ndarray) -> np.ndarray:
    """f of every row."""
    return np.asarray(jax.jit(env.objective.evaluate)(x.astype(np.float32)), float)


def scaled(env: BoxEnvironment, values: np.ndarray) -> np.ndarray:
    """Values of the function as utilities in [-3, 3]."""
    least, most = float(env.least), float(env.most)
    return -3 + 6 * (values - least) / (most - least)


def gap(utility: np.ndarray) -> np.ndarray:
    """s(f(x*) - f(x)) - 1/2."""
    return 1 / (1 + np.exp(-(3 - utility))) - 0.5


def likelihood() -> Any:
    """The logit likelihood, or None where BoTorch has none (probit then)."""
    kind = getattr(pairwise, "PairwiseLogitLikelihood", None)
    return None if kind is None else kind()


def fitted(points: Any, comparisons: Any, bounds: Any) -> Any:
    """The model with fitted hyper-parameters."""
    options = {"input_transform": Normalize(d=points.shape[1], bounds=bounds)}
    model = pairwise_gp.PairwiseGP(points, comparisons, likelihood=likelihood(), **options)
    mll = pairwise_gp.PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(mll)
    return model


def one_seed(
    env: BoxEnvironment, horizon: int, seed: int, deadline: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Dueling and simple regret of each step, NaN when too late, and the seconds of an ask."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    bounds = torch.tensor([[x[0] for x in env.objective.box], [x[1] for x in env.objective.box]])
    bounds = bounds.double()
    points, comparisons = torch.empty(0, env.domain.dim).double(), []
    dueling, simple = np.full(horizon, math.nan), np.full(horizon, math.nan)
    model, spent, asked = None, 0.0, 0
    for t in range(horizon):
        if time.monotonic() > deadline:
            break
        begin = time.process_time()
        if model is None:
            pair = bounds[0] + (bounds[1] - bounds[0]) * torch.rand(2, env.domain.dim).double()
        else:
            acquisition = AnalyticExpectedUtilityOfBestOption(pref_model=model)
            pair, _ = optimize_acqf(acquisition, bounds, q=2, num_restarts=4, raw_samples=128)
            asked += 1
        spent += time.process_time() - begin if model is not None else 0.0
        f = scaled(env, utilities(env, pair.numpy()))
        won = rng.uniform() < 1 / (1 + np.exp(f[1] - f[0]))
        n = points.shape[0]
        points = torch.cat([points, pair.detach()])
        comparisons.append([n, n + 1] if won else [n + 1, n])
        begin = time.process_time()
        model = fitted(points, torch.tensor(comparisons), bounds)
        best = points[model.posterior(points).mean.detach().argmax()][None]
        spent += time.process_time() - begin
        dueling[t] = np.mean(gap(f))
        simple[t] = gap(scaled(env, utilities(env, best.numpy())))[0]
    return dueling, simple, spent / max(asked, 1)


def main() -> None:
    """Print versions and the table in Markdown; rows end early where the time was up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=[*PROBLEMS], default=[*PROBLEMS])
    parser.add_argument("--horizon", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=600.0, help="for all of BoTorch's runs")
    given = parser.parse_args()
    logit = "logit" if likelihood() is not None else "probit"
    print(f"JAX {jax.__version__}, BoTorch {botorch.__version__}, PyTorch {torch.__version__},")
    print(f"{logit} likelihood; {given.seeds} seeds\n")
    print(header(given.horizon))
    torch.set_num_threads(1)
    share = 60 * given.minutes / len(given.problems)
    for problem in given.problems:
        for name in ("MaxMinLCB", "EUBO"):
            run = measure(problem, name, given.horizon, given.seeds)
            print(row(problem, name, run), flush=True)
        env, deadline = environment(problem), time.monotonic() + share
        runs = [one_seed(env, given.horizon, s, deadline) for s in range(given.seeds)]
        dueling, simple, seconds = (np.asarray(part) for part in zip(*runs, strict=True))
        finished = np.isfinite(dueling).all(axis=1)
        if not finished.any():
            print(f"| {problem} | BoTorch | no run finished in {share / 60:.1f} minutes |")
            continue
        run = Run(dueling[finished], simple[finished], float(np.mean(seconds[finished])))
        print(row(problem, f"BoTorch, {finished.sum()} seeds", run), flush=True)


if __name__ == "__main__":
    main()
