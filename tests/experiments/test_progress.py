"""What is seen of a run."""

import io

from rich.console import Console
from tests.experiments.synthetic import constant
from tests.experiments.tiny import cell

from duelist.experiments._progress import progress


def shown(terminal, *results):
    """What stands on the screen after these results."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=120)
    with progress(console, len(results)) as finished:
        for result in results:
            finished(cell(), result)
    return screen.getvalue()


def test_every_cell_has_a_line():
    assert shown(False, constant("random", [3, 5])) == (
        "random on branin: 4.00 ± 1.00 (1.5 s + 0.5 s compiling)\n"
    )


def test_one_seed_has_no_error_and_no_compilation_is_not_mentioned():
    quick = constant("random", [3])
    object.__setattr__(quick, "compile_seconds", 0.04)
    assert shown(False, quick) == "random on branin: 3.00 (1.5 s)\n"


def test_failures_are_said():
    assert shown(False, None) == "random on branin: failed\n"


def test_a_terminal_gets_a_bar_with_count_and_rate():
    screen = shown(True, constant("random", [3, 5], horizon=50), None)
    assert "2/2" in screen
    assert "steps/s" in screen
    assert "left" in screen
