"""Regret over time: means over seeds, with bands of one standard error."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from duelist.experiments._cells import problem_name, sweep_labels
from duelist.experiments._figures._style import looks, panels, settings
from duelist.experiments._paper import algorithm_name
from duelist.experiments._results import CellResult

Curves = Mapping[str, NDArray[np.float64]]
"""For each algorithm a quantity over time, [seeds, horizon]."""

FEEDBACK_NAMES: Final = {"ratings": "Logistic feedback", "duels": "Preference feedback"}
SYMBOLS: Final = {"ratings": r"$R^{\mathrm{L}}_t$", "duels": r"$R^{\mathrm{D}}_t$"}

_POINTS: Final = 200
_LOG_RANGE: Final = 500
"""How far a logarithmic axis goes below the highest curve: regret may be zero for a while."""


def regret_curves(results: Sequence[CellResult]) -> Figure:
    """Cumulative regret on one problem: logistic feedback left, preference feedback right.

    The logistic panel is logarithmic, since confidence sets differ by orders of magnitude. With one
    kind of feedback there is one panel.
    """
    problem = _only_problem(results)
    kinds = [kind for kind in FEEDBACK_NAMES if any(r.feedback == kind for r in results)]
    with settings():
        figure, axes = panels(1, len(kinds))
        for ax, kind in zip(axes, kinds, strict=True):
            own = [result for result in results if result.feedback == kind]
            draw(ax, _curves(own, _cumulative))
            label_axes(ax, FEEDBACK_NAMES[kind], log=kind == "ratings")
            ax.set_ylabel(f"cumulative regret {SYMBOLS[kind]}")
            legend_below(ax)
        figure.suptitle(problem, x=0.01, ha="left", weight="bold")
    return figure


def confidence_sets(results: Sequence[CellResult]) -> Figure:
    """UCB with each of the confidence sets, one panel for each problem, regret logarithmic."""
    ratings = [result for result in results if result.feedback == "ratings"]
    problems = list(dict.fromkeys((r.function, r.variant) for r in ratings))
    columns = min(3, len(problems))
    with settings():
        figure, axes = panels(-(-len(problems) // columns), columns, (max(2.4, 4.8 / columns), 2.0))
        for ax, problem in zip(axes, problems, strict=False):
            own = [r for r in ratings if (r.function, r.variant) == problem]
            draw(ax, _curves(own, _cumulative))
            label_axes(ax, problem_name(*problem), log=True)
        remove_unused(axes[len(problems) :])
        figure.supylabel(f"cumulative regret {SYMBOLS['ratings']}", fontsize="medium")
        legend_of_figure(figure)
    return figure


def kinds_of_regret(results: Sequence[CellResult]) -> Figure:
    """Weak, strong, instantaneous and simple regret of duels on one problem.

    The upper panels are cumulative. The lower ones are not: on a logarithmic axis they show how
    soon the actions asked, and the action recommended, are good.
    """
    problem = _only_problem(results)
    window = max(1, max(r.horizon for r in results) // 40)
    recent = f"mean of {window} steps" if window > 1 else "of each step"
    quantities = (
        ("Weak: the better of the two", "cumulative", partial(_cumulative, kind="weak")),
        ("Strong: the worse of the two", "cumulative", partial(_cumulative, kind="strong")),
        (
            "Instantaneous: the mean of the two",
            recent,
            partial(_recent, kind="dueling", window=window),
        ),
        ("Simple: the recommended one", recent, partial(_recent, kind="simple", window=window)),
    )
    with settings():
        figure, axes = panels(2, 2, (3.4, 2.2))
        for ax, (title, label, quantity) in zip(axes, quantities, strict=True):
            draw(ax, _curves(results, quantity))
            label_axes(ax, title)
            ax.set_ylabel(f"regret, {label}")
        for ax in axes[2:]:
            ax.set_xscale("log")
            ax.set_xlim(left=1)
        legend_of_figure(figure)
        figure.suptitle(problem, x=0.01, ha="left", weight="bold")
    return figure


def draw(ax: Axes, curves: Curves) -> None:
    """Draw the mean of each quantity over its seeds, and a band of one standard error.

    Of a long run every tenth step or so is drawn, the last one always, so that files stay small.
    """
    for number, (column, look) in enumerate(looks(list(curves)).items()):
        steps = drawn_steps(curves[column].shape[1])
        values = curves[column][:, steps - 1]
        mean = values.mean(axis=0)
        ax.plot(
            steps,
            mean,
            color=look.colour,
            linestyle=look.dashes,
            linewidth=look.width,
            marker=look.marker,
            markevery=(0.03 + 0.025 * number, 0.2),
            label=algorithm_name(column),
            zorder=3 if look.width >= 2 else 2,
        )
        if len(values) > 1:
            error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            band = (mean - error, mean + error)
            ax.fill_between(steps, *band, color=look.colour, alpha=0.2, linewidth=0)


def drawn_steps(horizon: int) -> NDArray[np.int64]:
    """The steps, from 1, that are drawn: every one of a short run.

    Of a long one evenly spaced steps, and more at the beginning, for logarithmic axes.
    """
    if horizon <= _POINTS:
        return np.arange(1, horizon + 1)
    even, early = np.linspace(1, horizon, _POINTS), np.geomspace(1, horizon, _POINTS // 3)
    return np.unique(np.concatenate([even, early]).round().astype(np.int64))


def label_axes(ax: Axes, title: str, *, log: bool = False) -> None:
    """Title, steps, and limits: from zero, or on a logarithmic axis past the first few steps."""
    ax.set_title(title)
    ax.set_xlabel("step t")
    lines = [np.asarray(line.get_xydata(), np.float64) for line in ax.get_lines()]
    last = max(float(line[-1, 0]) for line in lines)
    ax.set_xlim(0, last)
    if not log:
        ax.set_ylim(bottom=0)
        return
    ax.set_yscale("log", nonpositive="mask")
    early = min(float(np.interp(last / 40, line[:, 0], line[:, 1])) for line in lines)
    highest = max(float(line[:, 1].max()) for line in lines)
    ax.set_ylim(bottom=max(early, highest / _LOG_RANGE))
    log_ticks(ax.yaxis, decades=2.6)


def log_ticks(axis: Axis, decades: float) -> None:
    """Plain numbers on a logarithmic axis: 1, 2, 5, 10, ... or, above so many decades, 1, 3, 10."""
    low, high = axis.get_view_interval()
    subs = (1, 2, 5) if np.log10(high / low) < decades else (1, 3)
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def remove_unused(axes: Sequence[Axes]) -> None:
    """Remove the panels of a grid that nothing was drawn in."""
    for ax in axes:
        ax.remove()


def legend_below(ax: Axes) -> None:
    """A legend beneath a panel."""
    labels = [str(line.get_label()) for line in ax.get_lines()]
    columns = _legend_columns(labels, 3)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=columns, columnspacing=1.2)


def legend_of_figure(figure: Figure, columns: int | None = None) -> None:
    """One legend for all panels, beneath them, by default with as many columns as there is room."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    most = min(len(entries), int(figure.get_figwidth() / 1.1))
    count = _legend_columns(list(entries), most) if columns is None else columns
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=count)


def _legend_columns(labels: Sequence[str], most: int) -> int:
    """Fewer columns than `most`, which fit names of algorithms, where labels are longer."""
    longest = max(map(len, labels))
    return max(1, most if longest <= 12 else most // 2 if longest <= 24 else most // 3)


def _curves(
    results: Sequence[CellResult], quantity: Callable[[CellResult], NDArray[np.float64]]
) -> Curves:
    """By algorithm, and by what varies if one was run with several settings."""
    return {
        label: quantity(result)
        for label, result in zip(sweep_labels(results), results, strict=True)
    }


def _only_problem(results: Sequence[CellResult]) -> str:
    names = {problem_name(result.function, result.variant) for result in results}
    if len(names) != 1:
        raise ValueError(f"results: expected those of one problem, got {sorted(names)}")
    return names.pop()


def _cumulative(result: CellResult, kind: str | None = None) -> NDArray[np.float64]:
    return result.regret[result.kind if kind is None else kind].cumsum(axis=1)


def _recent(result: CellResult, kind: str, window: int) -> NDArray[np.float64]:
    """The mean of the last `window` steps, of all steps while there are fewer."""
    sums = np.pad(result.regret[kind].cumsum(axis=1), ((0, 0), (window, 0)))
    count = np.minimum(np.arange(1, result.horizon + 1), window)
    return (sums[:, window:] - sums[:, :-window]) / count
