"""The paper's Figure action_selection: how three rules choose a pair from the same bounds.

The situation is made up (a centre, three widths and beta); the choices are not. They are what the
library's own policies and domain answer in that situation.
"""

import dataclasses
from typing import Any, Final, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import tinygp
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from duelist.belief import AbstractUtilityBelief, FixedBeta, prior
from duelist.domains import ALL, FiniteDomain
from duelist.environments import TableEnvironment
from duelist.experiments._figures._style import looks, panels, settings
from duelist.policies import MaxInP, MaxMinLCB
from duelist.simulation import regret

UTILITIES: Final = (0.0, float(-np.log(11 / 9)), float(-np.log(3)))
"""f_t: the first arm beats the second with probability 0.55 and the third with 0.75."""

WIDTHS: Final = (0.1, 0.28, 0.3)
"""sigma_t of the pairs (1, 2), (1, 3) and (2, 3)."""


class Choice(NamedTuple):
    """What a rule asks.

    Attributes:
        rule: its name.
        pair: the numbers of the arms, from 0.
        regret: the dueling regret of the pair, if the estimate is right.
    """

    rule: str
    pair: tuple[int, int]
    regret: float


class ThreeArms(NamedTuple):
    """The bounds of all pairs, [3, 3], and what each rule makes of them."""

    estimate: np.ndarray
    lcb: np.ndarray
    ucb: np.ndarray
    choices: tuple[Choice, ...]


def three_arms() -> ThreeArms:
    """Ask the policies in the situation of `UTILITIES` and `WIDTHS`, with beta = 1."""
    domain = FiniteDomain([[0.0], [1.0], [2.0]])
    belief, key = situation(domain), jr.key(0)
    asked = {
        "MaxMinLCB": MaxMinLCB(domain, belief).ask(belief, key),
        "Optimism": domain.argmax_pair(belief.ucb, key),
        "Max Info": MaxInP(domain, belief).ask(belief, key),
    }
    judge = TableEnvironment(domain, jnp.asarray(UTILITIES))
    choices = (
        Choice(rule, (int(pair[0]), int(pair[1])), float(regret(judge, pair, 0).dueling))
        for rule, pair in asked.items()
    )
    tables = (belief.preference(ALL, ALL), belief.lcb(ALL, ALL), belief.ucb(ALL, ALL))
    estimate, lcb, ucb = (np.asarray(table) for table in tables)
    return ThreeArms(estimate, lcb, ucb, tuple(choices))


def situation(domain: FiniteDomain) -> AbstractUtilityBelief:
    """The belief over three arms with this centre and these widths.

    The widths are the sides of a triangle; the covariance holds the inner products of its corners.
    """
    near, far, across = WIDTHS
    along = (near**2 + far**2 - across**2) / (2 * near)
    corners = jnp.asarray([[0, 0], [near, 0], [along, np.sqrt(far**2 - along**2)]])
    belief = prior(domain, tinygp.kernels.ExpSquared(1.0), beta=FixedBeta(1.0))
    fit = dataclasses.replace(belief.fit, f=jnp.asarray(UTILITIES))
    return dataclasses.replace(belief, fit=fit, covariance=corners @ corners.T)


def action_selection() -> Figure:
    """Bounds on all pairs of three arms, and arrows to what each rule chooses by."""
    arms = three_arms()
    with settings():
        figure, (ax,) = panels(1, 1, (6.2, 3.7))
        for (x, y), place in _PLACES.items():
            _interval(ax, place, arms, (x, y))
        for choice in arms.choices:
            _arrow(ax, arms, choice)
        _decorate(ax, arms)
    return figure


_PLACES: Final = {(x, y): 4 * x + y for x in range(3) for y in range(3)}
_COLOURS: Final[dict[str, str]] = {
    rule: looks([column])[column].colour
    for rule, column in (
        ("MaxMinLCB", "maxminlcb"),
        ("Optimism", "doubler"),
        ("Max Info", "maxinp"),
    )
}

_LEAST: Final[dict[str, Any]] = {
    "markerfacecolor": "none",
    "markeredgecolor": _COLOURS["MaxMinLCB"],
    "markeredgewidth": 1.3,
}


def _interval(ax: Axes, place: int, arms: ThreeArms, pair: tuple[int, int]) -> None:
    low, high = float(arms.lcb[pair]), float(arms.ucb[pair])
    ax.plot([place], [arms.estimate[pair]], "o", color="black", markersize=4)
    if pair[0] != pair[1]:
        ax.plot([place, place], [low, high], color="black", linewidth=1.1, marker="_", markersize=9)
    if low == arms.lcb[pair[0]].min():
        ax.plot([place], [low], "s", markersize=7, **_LEAST)


def _arrow(ax: Axes, arms: ThreeArms, choice: Choice) -> None:
    """From a note to the end of the interval that the rule looks at, or to its middle."""
    x, y = choice.pair
    target, shift = {
        "MaxMinLCB": (arms.lcb[x, y], (0.3, -0.25)),
        "Optimism": (arms.ucb[x, y], (2.3, 0.12)),
        "Max Info": ((arms.lcb[x, y] + arms.ucb[x, y]) / 2, (2.2, -0.19)),
    }[choice.rule]
    place = _PLACES[choice.pair]
    ax.annotate(
        f"{choice.rule} asks ({x + 1}, {y + 1}),\ndueling regret {choice.regret:.3f}",
        xy=(place, float(target)),
        xytext=(place + shift[0], float(target) + shift[1]),
        color=_COLOURS[choice.rule],
        ha="center",
        va="center",
        arrowprops={"arrowstyle": "-|>", "color": _COLOURS[choice.rule], "shrinkB": 5, "lw": 1.4},
    )


def _decorate(ax: Axes, arms: ThreeArms) -> None:
    ax.axhline(0.5, color="#777777", linewidth=0.8, linestyle="--", zorder=0)
    for bound in (0, 1):
        ax.axhline(bound, color="#777777", linewidth=0.8, zorder=0)
    ax.set_xticks(list(_PLACES.values()), [f"({x + 1}, {y + 1})" for x, y in _PLACES])
    ax.set_xlabel("pair (x, x') of arms")
    ax.set_ylabel("probability that x is preferred to x'")
    ax.grid(visible=False)
    ax.set_xlim(-0.9, 12.8)
    ax.set_ylim(float(arms.lcb.min()) - 0.1, float(arms.ucb.max()) + 0.22)
    interval = Line2D([], [], color="black", linewidth=1.1, marker="o", markersize=4)
    least = Line2D([], [], linestyle="", marker="s", markersize=7, **_LEAST)
    labels = ("estimate, from LCB(x, x') to UCB(x, x')", "the least LCB(x, x') over x'")
    legend = (interval, least), labels
    ax.figure.legend(*legend, loc="outside lower center", ncols=2)
