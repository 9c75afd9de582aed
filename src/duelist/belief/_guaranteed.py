"""Beliefs whose bounds hold with a stated probability: the paper's set, or the prequential one."""

from typing import Any, Literal, TypeAlias, get_args

import jax.numpy as jnp
import tinygp

from duelist._checks import as_fraction, as_positive, check_choice, check_instance, is_concrete
from duelist.belief._beta import TheoremBeta
from duelist.belief._bounds import FeedbackKind
from duelist.belief._prequential import PrequentialBelief
from duelist.belief._region import UNIMODAL_LINKS, ball
from duelist.belief._table import TableBelief, prior
from duelist.domains import FiniteDomain
from duelist.kernels import largest_value
from duelist.links import AbstractLink, Logistic

ConfidenceSet: TypeAlias = Literal["prequential", "paper"]
GuaranteedBelief: TypeAlias = PrequentialBelief | TableBelief

_PENALTY = 10.0


def guaranteed_prior(
    domain: FiniteDomain,
    kernel: tinygp.kernels.Kernel,
    feedback: FeedbackKind = "duels",
    *,
    bound: Any,
    delta: Any = 0.1,
    confidence_set: ConfidenceSet = "prequential",
    lam: Any = None,
    link: AbstractLink | None = None,
    tolerance: Any = None,
) -> GuaranteedBelief:
    """The belief before any answer, with bounds that all hold with probability 1 - delta.

    They hold for all actions and at all times, whatever chooses the queries, if the answers are
    drawn by s from a utility with ||f||_k <= bound. Nothing checks that; a larger bound is safer.

    Args:
        domain: the actions.
        kernel: a tinygp kernel on their features.
        feedback: "duels" for queries (x, x'), "ratings" for direct feedback on (x,).
        bound: B.
        delta: the probability of failure to allow.
        confidence_set: "prequential" for the likelihood-ratio sequence, whose bounds are on
            differences of utilities; "paper" for eq. def_beta around the projected estimate, whose
            bounds are on probabilities and which wants k(x, x) <= 1 and the logistic link.
        lam: lambda, the weight of the penalty in the estimate; 1 by default for the paper's set
            and 10/B^2 for the prequential one, for which any value is valid (docs/guarantees.md).
        link: s, logistic by default; for the prequential set also probit.
        tolerance: as for `prior`.

    Raises:
        TypeError, ValueError: an argument is of the wrong kind, out of range, or such that no
            probability could be promised; the message names it.
    """
    check_choice("confidence_set", confidence_set, get_args(ConfidenceSet))
    bound, delta = as_positive("bound", bound), as_fraction("delta", delta)
    link = Logistic() if link is None else link
    proved = UNIMODAL_LINKS if confidence_set == "prequential" else (Logistic,)
    check_instance("link", link, proved)
    if confidence_set == "paper":
        lam = 1.0 if lam is None else lam
        belief = prior(
            domain,
            kernel,
            feedback,
            link=link,
            lam=lam,
            bound=bound,
            beta=TheoremBeta(delta),
            projected=True,
            tolerance=tolerance,
        )
        _check_unit(belief)
        return belief
    lam = _PENALTY / bound**2 if lam is None else lam
    table = prior(domain, kernel, feedback, link=link, lam=lam, bound=bound, tolerance=tolerance)
    zero = jnp.zeros((), table.gram.dtype)
    region = ball(table.gram, table.constants.bound)
    return PrequentialBelief(table, delta.astype(table.gram.dtype), zero, region)


def _check_unit(belief: TableBelief) -> None:
    largest = largest_value(belief.gram)
    if is_concrete(largest) and float(largest) > 1 + 8 * float(jnp.finfo(belief.gram.dtype).eps):
        raise ValueError(
            "kernel: expected k(x, x) <= 1 for the paper's set, got "
            f"{float(largest) ** 2:.3g}; convert it with duelist.kernels.to_unit"
        )
