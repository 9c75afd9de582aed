"""Every policy there is, made on any domain: what the contract is tried on."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tests.policies import cases

from duelist import policies as library
from duelist.belief import independent_prior, log_ucb1_prior, point_prior, prior, ridge_prior

KERNEL = cases.KERNEL


class Case(NamedTuple):
    """A policy, and how many actions it asks about at a time.

    Attributes:
        make: the policy on a finite domain, with the belief that keeps a table.
        arity: one or two.
        make_large: the policy on any other domain; `make` if there is no other belief for it.
    """

    make: Callable
    arity: int
    make_large: Callable


def on_points(domain, kernel, feedback="duels"):
    """The belief of all domains but finite ones, with few places."""
    return point_prior(domain, kernel, feedback, capacity=8)


def duels(kind, **options):
    def make(kind_of_prior, domain):
        return kind(domain, kind_of_prior(domain, KERNEL), **options)

    return Case(partial(make, prior), 2, partial(make, on_points))


def ratings(kind, belief):
    def make(domain):
        return kind(domain, belief(domain))

    return Case(make, 1, make)


def lgp(kind, arity=1):
    """A policy by direct feedback on the paper's confidence sets."""

    def make(kind_of_prior, domain):
        return kind(domain, kind_of_prior(domain, KERNEL, "ratings"))

    return Case(partial(make, prior), arity, partial(make, on_points))


CASES = {
    "Doubler": duels(library.Doubler),
    "DoubleThompson": duels(library.DoubleThompson),
    "EUBO": duels(library.EUBO),
    "IDS": duels(library.IDS),
    "MaxInP": duels(library.MaxInP),
    "MaxMinLCB": duels(library.MaxMinLCB),
    "MaxMinLCB(restrict=True)": duels(library.MaxMinLCB, restrict=True),
    "MaxMinUCB": duels(library.MaxMinUCB),
    "MultiSBM": duels(library.MultiSBM),
    "RUCB": duels(library.RUCB),
    "RandomDuel": duels(library.RandomDuel),
    "Sparring": lgp(library.Sparring, 2),
    "LGP-UCB": lgp(library.UCB),
    "GP-UCB": ratings(library.UCB, partial(ridge_prior, kernel=KERNEL)),
    "Ind-UCB": ratings(library.UCB, independent_prior),
    "Log-UCB1": ratings(library.UCB, log_ucb1_prior),
    "RandomRating": lgp(library.RandomRating),
}
DUELS = [name for name, case in CASES.items() if case.arity == 2]
CHANCE = {"Doubler", "DoubleThompson", "RUCB", "RandomDuel", "RandomRating"}
"""These draw more than ties: in the state of the test below they ask several queries."""
