"""One style for all figures: colours that the colour-blind can tell apart, dashes for grey print.

Colours are those of M. Okabe and K. Ito (Color universal design, 2008). An algorithm looks the same
in every figure. Figures are made as objects, without pyplot, and settings hold inside `settings()`
only, so that nothing outside is changed.
"""

import io
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

PANEL: Final = (3.4, 2.7)
"""Width and height of a panel in inches: two are as wide as a page of text."""

_BLACK, _BLUE, _GREEN = "#000000", "#0072B2", "#009E73"
_VERMILLION, _PURPLE, _SKY, _ORANGE = "#D55E00", "#CC79A7", "#56B4E9", "#E69F00"

_SETTINGS: Final[dict[str, Any]] = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "figure.dpi": 100,
    "figure.titlesize": 10,
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "lines.markersize": 4,
    "pdf.fonttype": 42,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "text.usetex": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


class Look(NamedTuple):
    """How the curve of an algorithm is drawn."""

    colour: str
    dashes: Any
    marker: str
    width: float


_SOLID, _DASHED, _DASH_DOT, _DOTTED = "-", (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.4))
_LONG, _DASH_DOT_DOT = (0, (9, 2)), (0, (5, 1.2, 1, 1.2, 1, 1.2))

_LOOKS: Final = {
    "maxminlcb": Look(_VERMILLION, _SOLID, "o", 2.0),
    "doubler": Look(_BLUE, _DASHED, "s", 1.3),
    "multisbm": Look(_GREEN, _DASH_DOT, "^", 1.3),
    "maxinp": Look(_PURPLE, _DOTTED, "D", 1.5),
    "rucb": Look(_SKY, _DASH_DOT_DOT, "v", 1.3),
    "ids": Look(_BLACK, _LONG, "P", 1.1),
    "lgp-ucb": Look(_VERMILLION, _SOLID, "o", 2.0),
    "gp-ucb": Look(_BLUE, _DASHED, "s", 1.3),
    "ind-ucb": Look(_GREEN, _DASH_DOT, "^", 1.3),
    "log-ucb1": Look(_BLACK, _DOTTED, "D", 1.5),
}
_SPARE: Final = tuple(
    Look(colour, dashes, marker, 1.3)
    for dashes, marker in ((_SOLID, "X"), (_DASHED, "<"), (_DASH_DOT, ">"), (_DOTTED, "*"))
    for colour in (_ORANGE, _BLACK, _BLUE, _GREEN, _PURPLE)
)


def settings() -> AbstractContextManager[None]:
    """Matplotlib's settings while a figure is made or saved; what they were before comes back."""
    # The defaults but for the backend: what a user has set for other figures does not show here.
    default: Any = {k: v for k, v in mpl.rcParamsDefault.items() if k != "backend"}
    return mpl.rc_context(default | _SETTINGS)


def looks(columns: Sequence[str]) -> dict[str, Look]:
    """The look of each column; the paper's algorithms always have their own."""
    spare = [column for column in columns if column not in _LOOKS]
    extra = {column: _SPARE[i % len(_SPARE)] for i, column in enumerate(spare)}
    return {column: _LOOKS.get(column) or extra[column] for column in columns}


def panels(rows: int, columns: int, size: tuple[float, float] = PANEL) -> tuple[Figure, list[Axes]]:
    """A figure with a grid of panels of `size` inches each, listed row by row."""
    width, height = size
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def rendered(figure: Figure, kinds: Iterable[str]) -> dict[str, bytes]:
    """The figure as a file of each kind (png, pdf), the same bytes every time."""
    files: dict[str, bytes] = {}
    with settings():
        figure.draw_without_rendering()
        figure.set_layout_engine(None)  # the layout is made: not once more for every file
        for kind in kinds:
            buffer = io.BytesIO()
            undated = {"CreationDate": None} if kind == "pdf" else {}
            figure.savefig(buffer, format=kind, metadata=undated)
            files[kind] = _with_palette(buffer) if kind == "png" else buffer.getvalue()
    return files


def _with_palette(png: io.BytesIO) -> bytes:
    """The picture in 256 colours, which a drawing hardly has, and a third of its size."""
    picture = Image.open(png).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    smaller = io.BytesIO()
    picture.save(smaller, "PNG", optimize=True)
    return smaller.getvalue()
