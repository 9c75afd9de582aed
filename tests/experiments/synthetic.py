"""Made-up results whose tables and curves can be worked out by hand or in NumPy."""

import numpy as np

from duelist.experiments import _paper
from duelist.experiments._results import REGRETS, CellResult

VARIANTS = {"eggholder": ("released", "printed"), "michalewicz": ("released", "printed")}


def constant(
    algorithm: str,
    finals,
    function: str = "ackley",
    variant: str = "",
    feedback: str = "duels",
    horizon: int = _paper.HORIZON,
    settings=None,
) -> CellResult:
    """A result with the same regret at every step, which adds up to `finals`, one per seed.

    The other kinds of regret are 1, 2, ... times the paper's, so that no two are alike.
    """
    steps = np.repeat(np.asarray(finals, float)[:, None] / horizon, horizon, axis=1)
    kind = "dueling" if feedback == "duels" else "logistic"
    others = [name for name in REGRETS if name != kind]
    regret = {kind: steps} | {name: (2 + i) * steps for i, name in enumerate(others)}
    return CellResult(
        function=function,
        variant=variant,
        algorithm=algorithm,
        feedback=feedback,
        seeds=tuple(range(len(finals))),
        horizon=horizon,
        regret=regret,
        settings={} if settings is None else settings,
        seconds=1.5,
        compile_seconds=0.5,
    )


def decaying(
    algorithm: str, function: str, variant: str, feedback: str, seeds: int = 5, horizon: int = 200
) -> CellResult:
    """A result whose regret decays at a pace of its own and differs between seeds."""
    names = (*_paper.DUELS, *_paper.RATINGS)
    rng = np.random.default_rng([names.index(algorithm), *function.encode()])
    pace = horizon / 4 * rng.uniform(0.3, 1.5, size=(seeds, 1))
    curve = 0.45 * np.exp(-np.arange(horizon) / pace)
    noisy = curve * rng.uniform(0.5, 1.5, size=(seeds, horizon))
    scale = {"weak": 0.5, "strong": 1.5, "simple": 0.3, "dueling": 1.0, "logistic": 2.0}
    return CellResult(
        function=function,
        variant=variant,
        algorithm=algorithm,
        feedback=feedback,
        seeds=tuple(range(seeds)),
        horizon=horizon,
        regret={name: scale[name] * noisy for name in REGRETS},
        settings={},
        seconds=0.25,
        compile_seconds=1.0,
    )


def everything(functions=("ackley", "eggholder"), horizon: int = 200) -> list[CellResult]:
    """All ten algorithms on `functions`, both variants where there are two, and MovieLens."""
    problems = [(f, v) for f in functions for v in VARIANTS.get(f, ("",))]
    duels = [(*problem, a, "duels") for problem in problems for a in _paper.DUELS]
    ratings = [(*problem, a, "ratings") for problem in problems for a in _paper.RATINGS]
    real = [("movielens", "", a, "duels") for a in _paper.DUELS]
    return [decaying(a, f, v, kind, horizon=horizon) for f, v, a, kind in duels + ratings + real]
