"""Tables against NumPy, against a page written by hand, and their files."""

import io
import json
import math
import re

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from rich.console import Console
from tests.experiments.synthetic import constant, everything

from duelist.experiments import _paper
from duelist.experiments._cells import is_tied
from duelist.experiments._tables import table, table1, table2

ACKLEY = [54.0, 56.0, 58.0, 60.0]  # mean 57, standard deviation sqrt(20/3), standard error 1.291
CLOSE = [56.0, 58.0, 60.0, 62.0]  # 59: 2 above, and two standard errors are 3.65
FAR = [60.0, 62.0, 64.0, 66.0]  # 63: 6 above


@pytest.fixture(scope="module")
def small():
    return [
        constant("ids", FAR),
        constant("maxminlcb", ACKLEY),
        constant("doubler", CLOSE),
        constant("maxminlcb", [200.0, 240.0], "eggholder", "printed"),
        constant("maxminlcb", [100.0, 126.0], "eggholder", "released"),
        constant("ids", [141.0, 141.0], "eggholder", "released"),
        constant("lgp-ucb", [20.0, 28.0], feedback="ratings"),
    ]


def test_markdown_is_the_page_written_by_hand(small):
    assert (
        table1(small).markdown()
        == """\
| Problem | MaxMinLCB | Doubler | IDS |
| --- | ---: | ---: | ---: |
| Ackley | **57.0 ± 1.3**<br><sub>paper **56 ± 2**</sub> | *59.0 ± 1.3*<br><sub>paper 72 ± 2</sub> \
| 63.0 ± 1.3<br><sub>paper 111 ± 9</sub> |
| Eggholder (released) | **113.0 ± 13.0**<br><sub>paper **113 ± 6**</sub> | — \
| 141.0 ± 0.0<br><sub>paper 141 ± 12</sub> |
| Eggholder (printed) | **220.0 ± 20.0** | — | — |
| Relative to the paper's best | 1.01<br><sub>paper 1.00</sub> | — \
| 1.18<br><sub>paper 1.57</sub> |

Cumulative dueling regret at T = 2000, mean ± standard error over 2 or 4 seeds; lower is better. \
**Bold**: the lowest mean of the row; *italic*: within two standard errors of it (those of the \
difference of the two means). Beneath it what the paper reports (T = 2000, 20 seeds; the bold type \
is the paper's). Last row: geometric mean, over the rows that the paper has, of the ratio to the \
lowest regret that the paper reports in the row. —: not run.
"""
    )


def test_numbers_are_those_of_numpy():
    results = everything()
    for made in (table1(results), table2(results)):
        for row, cell in made.cells():
            key = (row.function, row.variant, row.feedback, cell.algorithm)
            (of,) = (r for r in results if (r.function, r.variant, r.feedback, r.algorithm) == key)
            sums = of.regret["dueling" if of.feedback == "duels" else "logistic"].sum(1)
            np.testing.assert_allclose(cell.final, sums)
            assert cell.mean == pytest.approx(sum(sums) / len(sums))
            spread = math.sqrt(sum((x - cell.mean) ** 2 for x in sums) / (len(sums) - 1))
            assert cell.standard_error == pytest.approx(spread / math.sqrt(len(sums)))


def test_each_row_has_one_best_cell_and_the_marks_follow_from_the_means():
    for row in table1(everything()).rows:
        means = {column: np.mean(cell.final) for column, cell in row.cells.items()}
        best = min(means, key=means.__getitem__)
        assert [column for column, cell in row.cells.items() if cell.best] == [best]
        assert row.winner is row.cells[best]
        for column, cell in row.cells.items():
            errors = [np.std(c.final, ddof=1) / np.sqrt(5) for c in (cell, row.cells[best])]
            gap = means[column] - means[best]
            assert cell.tied == (gap <= 2 * np.sqrt(errors[0] ** 2 + errors[1] ** 2))


@given(
    st.floats(0, 100), st.floats(0, 10), st.floats(0, 10), st.floats(1.0001, 5), st.floats(0, 0.999)
)
def test_ties_end_at_two_standard_errors(best, error, best_error, beyond, within):
    width = 2 * math.sqrt(error**2 + best_error**2)
    if (beyond - 1) * width > 2e-9 * best + 1e-12:  # more than is put down to rounding
        assert not is_tied(best + beyond * width, error, best, best_error)
    assert is_tied(best + within * width, error, best, best_error)


def test_one_seed_has_no_standard_error_and_no_ties():
    made = table1([constant("ids", [3.0]), constant("rucb", [3.0001]), constant("maxinp", [3.0])])
    assert [(c.algorithm, c.tied) for _, c in made.cells()] == [
        ("maxinp", True),
        ("rucb", False),
        ("ids", True),
    ]
    assert "| **3.0**<br>" in made.markdown()


def test_the_paper_is_left_out_at_other_horizons():
    made = table1([constant("maxminlcb", ACKLEY, horizon=100)])
    assert made.rows[0].winner.published is None
    assert made.ratios() == {}
    assert "paper " not in made.markdown().split("\n\n")[0]
    assert "The paper has no number for any of these" in made.markdown()


def test_ratios_are_geometric_means_over_the_rows_of_the_paper(small):
    full = [
        *(r for r in small if r.feedback == "duels"),
        constant("ids", [30.0, 32.0], "rosenbrock"),
        constant("maxminlcb", [40.0, 40.0], "rosenbrock"),
        constant("maxminlcb", [5.0, 7.0], "movielens"),
    ]
    ratios = table1(full).ratios()
    paper = {"ackley": 56, "eggholder": 113, "rosenbrock": 25}
    logs = [math.log(57 / 56), math.log(113 / 113), math.log(40 / 25)]
    assert ratios["maxminlcb"].ours == pytest.approx(math.exp(sum(logs) / 3))
    assert ratios["maxminlcb"].paper == pytest.approx((27 / paper["rosenbrock"]) ** (1 / 3))
    logs = [math.log(63 / 56), math.log(141 / 113), math.log(31 / 25)]
    assert ratios["ids"].ours == pytest.approx(math.exp(sum(logs) / 3))
    assert (ratios["doubler"].ours, ratios["doubler"].paper) == (None, None)


def test_tables_of_the_paper_take_their_feedback_only(small):
    assert {cell.algorithm for _, cell in table1(small).cells()} == {"maxminlcb", "doubler", "ids"}
    assert [cell.algorithm for _, cell in table2(small).cells()] == ["lgp-ucb"]
    assert table2(small).markdown().startswith("| Problem | LGP-UCB |\n| --- | ---: |\n| Ackley |")
    with pytest.raises(ValueError, match="results: expected at least one with this feedback"):
        table2(small[:3])


def test_rows_and_columns_are_in_the_order_of_the_paper():
    results = everything(("rosenbrock", "michalewicz", "branin", "ackley"))[::-1]
    made = table1(results)
    assert made.columns == _paper.DUELS
    assert [row.label for row in made.rows] == [
        *("Branin", "Rosenbrock", "Ackley", "Michalewicz (released)", "Michalewicz (printed)"),
        "MovieLens",
    ]
    assert table2(results).columns == _paper.RATINGS
    assert [row.function for row in table2(results).rows][:2] == ["ackley", "branin"]


def test_two_results_for_a_cell_are_refused(small):
    with pytest.raises(ValueError, match="got two of maxminlcb on Ackley"):
        table1([*small, constant("maxminlcb", ACKLEY)])
    with pytest.raises(ValueError, match="got two of maxminlcb on Eggholder"):
        table([*small, constant("maxminlcb", ACKLEY, "eggholder", "printed")])


def test_own_experiments_have_a_column_for_each_setting_that_varies():
    sweep = [
        constant("eubo", [2.0 * lam, 4.0 * lam], "mine", settings={"kernel": {"v": 1}, "lam": lam})
        for lam in (0.1, 1)
    ]
    made = table([*sweep, constant("rucb", [1.0, 9.0], "mine", settings={"lam": 5})])
    assert made.columns == ("rucb", "eubo, lam=0.1", "eubo, lam=1")
    assert [cell.mean for _, cell in made.cells()] == pytest.approx([5.0, 0.3, 3.0])
    assert made.markdown().startswith("| Problem | RUCB | EUBO, lam=0.1 | EUBO, lam=1 |")


def test_both_kinds_of_feedback_are_shown_one_after_the_other(small):
    made = table([*small, constant("mine", [1.0, 2.0], "own")], "all", "Both")
    duels, ratings = made.markdown().split("| Problem |")[1:]
    assert duels.startswith(" MaxMinLCB | Doubler | IDS | mine |\n")
    assert ratings.startswith(" LGP-UCB |\n")
    assert "Cumulative dueling regret at T = 2000" in duels
    assert "Cumulative logistic regret at T = 2000, mean ± standard error over 2 seeds" in ratings
    alone = table1(small).ratios()["maxminlcb"].ours
    assert f"Relative to the paper's best | {alone:.2f}<br>" in duels
    document = made.document(preset="", seconds=0.0, versions={}, machine={}, configuration={})
    assert (document["table"], len(document["rows"])) == ("all", 8)


def test_the_terminal_shows_the_same_numbers(small):
    made = table1(small)
    console = Console(file=io.StringIO(), width=160)
    console.print(made.rich())
    text = console.file.getvalue()
    for _, cell in made.cells():
        assert made.number(cell) in text
        assert cell.published is None or f"({cell.published.text})" in text
    assert "Bold green: the lowest mean" in text
    assert "<br>" not in text


def test_a_narrow_terminal_loses_nothing():
    made = table1(everything(horizon=2000))
    console = Console(file=io.StringIO(), width=80)
    console.print(made.rich())
    text = console.file.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    for row, cell in made.cells():
        assert all(word in text for word in row.label.split())
        assert f"{cell.mean:.1f}" in text


def test_the_terminal_marks_the_best_and_what_the_paper_sets_in_bold(small):
    console = Console(file=io.StringIO(), width=160, force_terminal=True, color_system="standard")
    console.print(table1(small).rich())
    text = console.file.getvalue()
    bold, green, bold_green = "\x1b[1m", "\x1b[32m", "\x1b[1;32m"
    for mark, cell in ((bold_green, "57.0 ± 1.3"), (green, "59.0 ± 1.3"), (bold, "(56 ± 2)")):
        assert re.search(re.escape(mark) + r" *" + re.escape(cell), text)
    assert not re.search(r"\x1b\[1[;m][0-9;m]* *\(72 ± 2\)", text)


SCHEMA = {
    "function": str,
    "variant": str,
    "algorithm": str,
    "mean": float,
    "standard_error": float,
    "final": list,
    "seeds": int,
    "horizon": int,
    "seconds": float,
}


def test_the_document_has_the_promised_form(small):
    parts = {
        "preset": "paper",
        "seconds": 12.5,
        "versions": {"duelist": "0"},
        "machine": {"cpus": 2},
        "configuration": {"seeds": 20},
    }
    document = json.loads(json.dumps(table1(small).document(**parts), allow_nan=False))
    assert list(document) == [
        *("table", "preset", "rows", "seconds", "versions", "machine", "configuration")
    ]
    assert document["table"] == "table1"
    assert {key: document[key] for key in parts} == parts
    assert [{k: type(v) for k, v in row.items()} for row in document["rows"]] == [SCHEMA] * 6
    first = document["rows"][0]
    assert (first["function"], first["algorithm"], first["seeds"]) == ("ackley", "maxminlcb", 4)
    assert first["final"] == pytest.approx(ACKLEY)


def test_a_document_without_standard_error_is_still_json():
    document = table1([constant("ids", [3.0])]).document(
        preset="default", seconds=0.0, versions={}, machine={}, configuration={}
    )
    assert json.loads(json.dumps(document, allow_nan=False))["rows"][0]["standard_error"] is None


def test_files_hold_what_the_table_holds(small, tmp_path):
    made = table1(small)
    paths = made.write(tmp_path / "new" / "place")
    assert [path.name for path in paths] == ["table1.md", "table1.csv", "table1.parquet"]
    assert made.markdown() in paths[0].read_text(encoding="utf-8")
    comma, parquet = pl.read_csv(paths[1]), pl.read_parquet(paths[2])
    assert parquet["final"].to_list() == [list(cell.final) for _, cell in made.cells()]
    assert comma["mean"].to_list() == parquet["mean"].to_list()
    assert comma["paper_mean"].to_list() == [56, 72, 111, 113, 141, None]
    assert sorted(p.name for p in (tmp_path / "new" / "place").iterdir()) == sorted(
        path.name for path in paths
    )


def test_writing_twice_gives_the_same_bytes(small, tmp_path):
    first = [path.read_bytes() for path in table1(small).write(tmp_path)]
    assert [path.read_bytes() for path in table1(small).write(tmp_path)] == first
