"""How a table of entries looks in Markdown and in a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable
from rich.text import Text

DASH = "—"
"""What stands where nothing was run."""


@dataclass(frozen=True)
class Entry:
    """What is shown in a cell.

    Attributes:
        text: ours, the first line.
        best: whether it is the best of its row.
        tied: whether it is as good as the best.
        paper: the paper's, the second line; none if empty.
        paper_bold: whether the paper sets it in bold.
    """

    text: str
    best: bool = False
    tied: bool = False
    paper: str = ""
    paper_bold: bool = False


Line = tuple[str, Sequence[Entry]]
"""The label of a row and its entries."""


def markdown(header: Sequence[str], lines: Sequence[Line]) -> str:
    """A Markdown table, the paper's numbers small and beneath ours."""
    rule = ["---", *("---:" for _ in header[1:])]
    body = [[label, *(_in_markdown(entry) for entry in entries)] for label, entries in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in [list(header), rule, *body])


def terminal(title: str, header: Sequence[str], lines: Sequence[Line], note: str) -> RichTable:
    """A table for the terminal: best in bold green, tied in green, the paper's in brackets."""
    table = RichTable(
        title=title,
        title_justify="left",
        caption=note,
        caption_justify="left",
        box=SIMPLE_HEAD,
        leading=1,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column(header[0], min_width=max(len(word) for word in _words(lines)))
    for name in header[1:]:
        table.add_column(name, justify="right", overflow="fold")
    for label, entries in lines:
        table.add_row(label, *(_in_terminal(entry) for entry in entries))
    return table


def _words(lines: Sequence[Line]) -> list[str]:
    """The words of the labels: a narrow terminal breaks lines between them only."""
    return [word for label, _ in lines for word in label.split()]


def _in_markdown(entry: Entry) -> str:
    mark = "**" if entry.best else "*" if entry.tied else ""
    text = f"{mark}{entry.text}{mark}"
    if not entry.paper:
        return text
    mark = "**" if entry.paper_bold else ""
    return f"{text}<br><sub>paper {mark}{entry.paper}{mark}</sub>"


def _in_terminal(entry: Entry) -> Text:
    text = Text().append(entry.text, "bold green" if entry.best else "green" if entry.tied else "")
    if entry.paper:
        text.append(f"\n({entry.paper})", "bold" if entry.paper_bold else "dim")
    return text
