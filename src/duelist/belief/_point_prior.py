"""The belief on the points compared so far, before there are any."""

from typing import Any, get_args

import jax
import jax.numpy as jnp
import tinygp

from duelist._checks import check_choice, check_count, check_instance
from duelist.belief._answers import Duels, Ratings
from duelist.belief._beta import AbstractBeta, FixedBeta
from duelist.belief._bounds import FeedbackKind, Space, WidthRule, next_refresh
from duelist.belief._broadcast import own
from duelist.belief._constants import (
    Constants,
    RangeRule,
    constants,
    constants_on,
    distance_within,
)
from duelist.belief._explained import PointMetric
from duelist.belief._fit import nothing_to_fit, tolerance_in
from duelist.belief._items import prior_items
from duelist.belief._places import power_of_two
from duelist.belief._points import PointBelief
from duelist.domains import AbstractDomain, Catalogue
from duelist.kernels import gram
from duelist.links import AbstractLink, Logistic

_TABLE = 1024
"""Up to so many actions kappa is taken from the table of their kernel values."""


def point_prior(
    domain: AbstractDomain,
    kernel: tinygp.kernels.Kernel,
    feedback: FeedbackKind = "duels",
    *,
    capacity: int = 64,
    link: AbstractLink | None = None,
    lam: Any = 1.0,
    bound: Any = 1.0,
    beta: AbstractBeta | None = None,
    width: WidthRule = "worst-case",
    space: Space = "probability",
    range_rule: RangeRule = "general",
    tolerance: Any = None,
) -> PointBelief:
    """The belief before any answer, for a domain of any size.

    Args:
        domain: the actions.
        kernel: a tinygp kernel on their features; the theory wants k(x, x) <= 1 (`to_unit`).
            Parameters that are Python numbers become arrays of the dtype of the features.
        feedback: "duels" for queries (x, x'), "ratings" for direct feedback on (x,).
        capacity: places for distinct points to begin with, rounded up to a power of two.
        link: s, logistic by default.
        lam: lambda, the weight of the penalty.
        bound: B with ||f||_k <= B, from which kappa and L follow.
        beta: the rule for beta_t; `FixedBeta(1.0)` by default, as in the paper's experiments.
        width: "worst-case" for sigma_t of the paper, "laplace" for curvature-weighted widths.
        space: whether lcb and ucb bound probabilities or utility differences.
        range_rule: which bound on |h| kappa is taken from, see `constants`. On more than 1024
            actions "domain" is refused, for it takes a table of them, and the sign of the kernel is
            checked on the first 1024 only.
        tolerance: the error of f to fit to (default: 1e-7 in float64, 2e-5 in float32).

    Raises:
        TypeError, ValueError: an argument is of the wrong kind or out of range; the message names
            it. The same for an answer or a query passed to `tell`.
    """
    check_instance("domain", domain, AbstractDomain)
    check_instance("kernel", kernel, tinygp.kernels.Kernel)
    check_choice("feedback", feedback, get_args(FeedbackKind))
    check_choice("width", width, get_args(WidthRule))
    check_choice("space", space, get_args(Space))
    link = Logistic() if link is None else link
    beta = FixedBeta() if beta is None else beta
    check_instance("link", link, AbstractLink)
    check_instance("beta", beta, AbstractBeta)
    places = power_of_two(check_count("capacity", capacity))
    probes = domain.probes()
    dtype = probes.dtype
    kernel = jax.tree.map(lambda x: jnp.asarray(x, dtype) if isinstance(x, float) else x, kernel)
    duels = feedback == "duels"
    zeros, table = jnp.zeros(places, dtype), jnp.zeros((places, places), dtype)
    return PointBelief(
        domain=domain,
        kernel=kernel,
        link=link,
        constants=_constants(domain, kernel, link, lam, bound, duels=duels, rule=range_rule),
        beta_rule=beta,
        tolerance=tolerance_in(tolerance, dtype),
        points=jnp.zeros((places, probes.shape[-1]), dtype),
        number=jnp.zeros((), jnp.int32),
        gram=table,
        answers=Duels(table) if duels else Ratings(zeros, zeros),
        fit=nothing_to_fit(zeros),
        explained=table,
        metric=PointMetric(table),
        gain=jnp.zeros((), dtype),
        count=jnp.zeros((), jnp.int32),
        next_refresh=next_refresh(jnp.zeros((), jnp.int32)),
        items=prior_items(kernel, probes) if isinstance(domain, Catalogue) else None,
        width_rule=width,
        space=space,
    )


def _constants(
    domain: AbstractDomain,
    kernel: tinygp.kernels.Kernel,
    link: AbstractLink,
    lam: Any,
    bound: Any,
    *,
    duels: bool,
    rule: RangeRule,
) -> Constants:
    probes = domain.probes()
    if domain.distinct is not None and domain.distinct <= _TABLE:
        return constants(link, gram(kernel, probes), lam, bound, duels=duels, rule=rule)
    if check_choice("range_rule", rule, get_args(RangeRule)) == "domain":
        raise ValueError(
            f"range_rule: expected 'general' or 'nonnegative' for more than {_TABLE} actions or "
            "contexts without end, got 'domain'"
        )
    table = gram(kernel, probes[:_TABLE])
    largest = jnp.sqrt(jnp.max(own(kernel, probes)))
    reach = distance_within(largest, table, rule) if duels else largest
    return constants_on(link, lam, bound, largest, reach)
