"""Names to objects: kernels, links, rules for beta, beliefs, policies."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

import tinygp
from tinygp.kernels.distance import L2Distance
from tinygp.kernels.stationary import Stationary

from duelist.belief import (
    FAMILY,
    AbstractBeta,
    AdaptiveBelief,
    FixedBeta,
    GrowingBeta,
    GuaranteedBelief,
    Member,
    TableBelief,
    TheoremBeta,
    adaptive_prior,
    effects,
    guaranteed_prior,
    independent_prior,
    log_ucb1_prior,
    maximum_gain,
    prior,
    ridge_prior,
)
from duelist.domains import FiniteDomain
from duelist.experiments import _schema
from duelist.experiments._names import feedback_of
from duelist.links import AbstractLink, Logistic, Probit
from duelist.policies import (
    EUBO,
    IDS,
    RUCB,
    UCB,
    AbstractPolicy,
    Doubler,
    DoubleThompson,
    MaxInP,
    MaxMinLCB,
    MaxMinUCB,
    MultiSBM,
    RandomDuel,
    RandomRating,
    Sparring,
)

_KERNELS: Final[Mapping[str, type[Stationary]]] = {
    "rbf": tinygp.kernels.ExpSquared,
    "exponential": tinygp.kernels.Exp,
    "matern32": tinygp.kernels.Matern32,
    "matern52": tinygp.kernels.Matern52,
}

_LINKS: Final[Mapping[str, Callable[[], AbstractLink]]] = {"logistic": Logistic, "probit": Probit}

_POLICIES: Final[Mapping[str, Callable[[FiniteDomain, Any], AbstractPolicy]]] = {
    "doubler": Doubler,
    "multisbm": MultiSBM,
    "maxinp": MaxInP,
    "rucb": RUCB,
    "ids": IDS,
    "maxminucb": MaxMinUCB,
    "sparring": Sparring,
    "thompson": DoubleThompson,
    "eubo": EUBO,
    "random": RandomDuel,
    "random-rating": RandomRating,
    "lgp-ucb": UCB,
    "gp-ucb": UCB,
    "ind-ucb": UCB,
    "log-ucb1": UCB,
}

_GAIN_STEPS: Final = 256
"""The length of the table of maximal gains; past its end `TheoremBeta` goes on with its last."""


def build_policy(
    algorithm: str, belief: _schema.Belief, domain: FiniteDomain, restrict: bool = False
) -> AbstractPolicy:
    """The policy of this name on this belief."""
    feedback = "ratings" if algorithm == "sparring" else feedback_of(algorithm)
    start = build_belief(belief, domain, feedback)
    if algorithm == "maxminlcb":
        return MaxMinLCB(domain, start, restrict)
    return _POLICIES[algorithm](domain, start)


def build_belief(settings: _schema.Belief, domain: FiniteDomain, feedback: str) -> Any:
    """The belief before any answer."""
    match settings:
        case _schema.MapBelief():
            return _map_belief(settings, domain, feedback)
        case _schema.AdaptiveBelief():
            return _adaptive_belief(settings, domain, feedback)
        case _schema.GuaranteedBelief():
            return _guaranteed_belief(settings, domain, feedback)
        case _schema.RidgeBelief(noise=noise, mean=mean, beta=beta):
            kernel = build_kernel(settings)
            return ridge_prior(domain, kernel, noise=noise, mean=mean, beta=FixedBeta(beta))
        case _schema.IndependentBelief(delta=delta, scale=scale):
            return independent_prior(domain, delta=delta, scale=scale)
        case _schema.LogUCB1Belief(lam=lam, bound=bound, delta=delta, tolerance=tolerance):
            return log_ucb1_prior(domain, lam=lam, bound=bound, delta=delta, tolerance=tolerance)


def build_kernel(settings: _schema.Kernel) -> tinygp.kernels.Kernel:
    """The kernel; distances are Euclidean, whatever tinygp's default."""
    metric = L2Distance()
    shape = _KERNELS[settings.kernel](settings.length_scale, distance=metric)
    return settings.variance * shape


def _map_belief(settings: _schema.MapBelief, domain: FiniteDomain, feedback: Any) -> TableBelief:
    belief = prior(
        domain,
        build_kernel(settings),
        feedback,
        link=_LINKS[settings.link](),
        lam=settings.lam,
        bound=settings.bound,
        width=settings.width,
        space=settings.space,
        range_rule=settings.range_rule,
        projected=settings.projected,
        tolerance=settings.tolerance,
    )
    return dataclasses.replace(belief, beta_rule=_beta(settings, belief, feedback))


def _adaptive_belief(
    settings: _schema.AdaptiveBelief, domain: FiniteDomain, feedback: Any
) -> AdaptiveBelief:
    family = FAMILY if settings.kernels is None else settings.kernels
    members = [Member(k.length_scale, k.variance, k.interaction) for k in family]
    return adaptive_prior(
        domain,
        feedback,
        kernels=effects(domain, members),
        link=_LINKS[settings.link](),
        beta=GrowingBeta(settings.beta),
        caution=settings.caution,
        tolerance=settings.tolerance,
    )


def _guaranteed_belief(
    settings: _schema.GuaranteedBelief, domain: FiniteDomain, feedback: Any
) -> GuaranteedBelief:
    return guaranteed_prior(
        domain,
        build_kernel(settings),
        feedback,
        bound=settings.bound,
        delta=settings.delta,
        confidence_set=settings.confidence_set,
        lam=settings.lam,
        link=_LINKS[settings.link](),
        tolerance=settings.tolerance,
    )


def _beta(settings: _schema.MapBelief, belief: TableBelief, feedback: str) -> AbstractBeta:
    match settings.confidence:
        case "fixed":
            return FixedBeta(settings.beta)
        case "theorem":
            return TheoremBeta(settings.delta)
        case "theorem-maximum":
            noise, duels = belief.constants.noise, feedback == "duels"
            return TheoremBeta(
                settings.delta, maximum_gain(belief.gram, noise, _GAIN_STEPS, duels=duels)
            )
