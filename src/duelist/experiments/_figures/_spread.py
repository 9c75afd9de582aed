"""The regret of every seed: how reliable an algorithm is, which a mean does not show."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from duelist.experiments import _paper
from duelist.experiments._cells import Cell, Row, arrange, sweep_labels
from duelist.experiments._figures._curves import legend_of_figure, log_ticks, remove_unused
from duelist.experiments._figures._style import looks, panels, settings
from duelist.experiments._paper import algorithm_name
from duelist.experiments._results import CellResult

_JITTER = 0.28
_FRAME = 0.5  # inches for title and legend
_BENEATH = 0.3
_GREY = "#777777"


def distribution(results: Sequence[CellResult], feedback: str) -> Figure:
    """Final cumulative regret: a dot for each seed, the mean with its standard error, the paper's.

    One panel for each problem, one line for each algorithm. The axis is logarithmic for ratings,
    where confidence sets differ by orders of magnitude.

    Args:
        results: of any problems; those of the other feedback are left out.
        feedback: "duels" or "ratings".
    """
    own = [result for result in results if result.feedback == feedback]
    order = tuple(_paper.TABLE1 if feedback == "duels" else _paper.TABLE2)
    rows = arrange(own, sweep_labels(own), order)
    columns = min(3, len(rows))
    height = 0.55 + 0.25 * max(len(row.cells) for row in rows)
    with settings():
        figure, axes = panels(-(-len(rows) // columns), columns, (max(2.6, 4.4 / columns), height))
        figure.set_figheight(figure.get_figheight() + _FRAME)
        for ax, row in zip(axes, rows, strict=False):
            _panel(ax, row, log=feedback == "ratings")
        remove_unused(axes[len(rows) :])
        horizons = " or ".join(str(t) for t in sorted({result.horizon for result in own}))
        kind = "dueling" if feedback == "duels" else "logistic"
        title = f"Cumulative {kind} regret at T = {horizons}"
        figure.suptitle(title, x=0.01, ha="left", weight="bold")
        legend_of_figure(figure, columns=3)
    return figure


def _panel(ax: Axes, row: Row, *, log: bool) -> None:
    known = [*_paper.DUELS, *_paper.RATINGS]
    columns = sorted(row.cells, key=lambda c: known.index(c) if c in known else len(known))
    for place, (column, look) in enumerate(looks(columns).items()):
        _strip(ax, place, row.cells[column], look.colour)
    ax.set_yticks(range(len(columns)), [algorithm_name(column) for column in columns])
    ax.set_ylim(len(columns) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.set_title(row.label)
    if log:
        ax.set_xscale("log")
        log_ticks(ax.xaxis, decades=1.4)
    else:
        ax.set_xlim(left=0)


def _strip(ax: Axes, place: int, cell: Cell, colour: str) -> None:
    """One algorithm: seeds spread evenly over the height of the line, in order of their number."""
    count = len(cell.final)
    heights = place + (np.linspace(-_JITTER, _JITTER, count) if count > 1 else np.zeros(1))
    ax.scatter(cell.final, heights, s=10, color=colour, alpha=0.55, linewidths=0, label="a seed")
    error = None if count < 2 else cell.standard_error
    ax.errorbar(
        [cell.mean],
        [place],
        xerr=error,
        fmt="|",
        color="black",
        markersize=11,
        capsize=3,
        linewidth=1.3,
        label="mean ± standard error",
        zorder=4,
    )
    if cell.published is not None:
        ax.errorbar(
            [cell.published.mean],
            [place + _BENEATH],
            xerr=cell.published.standard_error,
            fmt="D",
            color=_GREY,
            markerfacecolor="white",
            markersize=4.5,
            linewidth=1,
            label="the paper's",
            zorder=3,
        )
