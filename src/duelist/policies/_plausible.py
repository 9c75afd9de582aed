"""The set M_t of plausible maximisers, to which many policies restrict their choice."""

from duelist.belief import AbstractUtilityBelief
from duelist.domains import AbstractDomain, Plausible


def plausible(domain: AbstractDomain, belief: AbstractUtilityBelief) -> Plausible:
    """M_t = {x : UCB_t(x, x') >= 1/2 for all x'}, in the belief's own space (0 for utilities).

    The action of the highest estimated utility always passes, unless rounding or a bound of
    another make rules it out; it then stands in alone and `fell_back` says so.
    """
    return domain.plausible(belief.ucb, belief.level, belief.utility)
