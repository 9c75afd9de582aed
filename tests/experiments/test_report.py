"""The report: what it says follows from the results, and its pictures are there."""

import re

import numpy as np
import pytest
from tests.experiments.synthetic import constant, everything
from tests.experiments.test_claims import as_published

from duelist.experiments import _paper
from duelist.experiments._claims import relation
from duelist.experiments._report import Provenance, report, report_run, write_report
from duelist.experiments._session import Options, Session
from duelist.experiments._tables import table, table1, table2
from duelist.experiments._versions import machine, versions

PROVENANCE = Provenance(
    command="duelist reproduce all --report docs/reproduction.md",
    preset="paper",
    seconds=61.4,
    versions={"duelist": "0.1.0", "jax": "0.10.2"},
    machine={"system": "Linux", "cores": 2},
)


def split(results):
    return [[r for r in results if r.feedback == kind] for kind in ("duels", "ratings")]


def sections(text):
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows_of(section):
    """The cells of a Markdown table, by the first cell of each row."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[0].strip(): row[1:] for row in cells}


@pytest.fixture(scope="module")
def published():
    return as_published()


@pytest.fixture(scope="module")
def text(published):
    return report(*split(published), PROVENANCE)


def test_the_command_comes_first(text):
    head = text.split("## ")[0]
    assert "    duelist reproduce all --report docs/reproduction.md\n" in head
    assert _paper.CITATION in head
    assert "from 76 cells (a problem and an algorithm each), 152 runs and 304000 questions" in head
    assert "MovieLens" not in head


def test_both_tables_are_in_it(text, published):
    found = sections(text)
    assert table1(published).markdown() in found["Table 1: preference feedback"]
    assert table2(published).markdown() in found["Table 2: direct feedback"]


def test_claims_are_counted(text):
    section = sections(text)["Which claims hold"]
    verdicts = [row[0] for row in list(rows_of(section).values())[2:]]
    holds = verdicts.count("**holds**")
    part, fails = verdicts.count("**holds in part**"), verdicts.count("**does not hold**")
    assert holds + part + fails == len(verdicts) == 11
    assert f"Of 11 claims {holds} hold under" in section
    assert f"{part} hold in part and {fails} do not" in section


def test_confidence_sets_are_compared_row_by_row(text):
    rows = rows_of(sections(text)["LGP-UCB, row by row"])
    assert rows["Regret of LGP-UCB against"] == ["GP-UCB", "Ind-UCB", "Log-UCB1"]
    for function, row in _paper.TABLE2.items():
        for cell, rival in zip(
            rows[_paper.FUNCTION_NAMES[function]], _paper.RATINGS[1:], strict=True
        ):
            own, other = row["lgp-ucb"], row[rival]
            expected = relation(own, other)
            assert cell == (
                f"{expected}<br><sub>{own.mean:.2f} : {other.mean:.2f}</sub>"
                f"<br><sub>paper {expected}</sub>"
            )


def test_policies_are_compared_row_by_row(text):
    rows = rows_of(sections(text)["MaxMinLCB, row by row"])
    assert rows["Matyas"][1] == "higher<br><sub>125.0 : 106.0</sub><br><sub>paper higher</sub>"


def test_the_papers_own_numbers_agree_with_the_paper(text):
    rows = rows_of(sections(text)["Ours against the paper's"])
    assert rows["MaxMinLCB"] == ["0", "8", "0", "1.00"]
    assert rows["Log-UCB1"] == ["0", "7", "0", "1.00"]


def test_agreement_is_counted():
    results = [
        constant("maxminlcb", [50.0, 54.0], "ackley"),  # 52 ± 2 against 56 ± 2: within 5.66
        constant("maxminlcb", [10.0, 12.0], "rosenbrock"),  # 11 ± 1 against 27 ± 4: lower
        constant("maxminlcb", [200.0, 202.0], "matyas"),  # 201 ± 1 against 125 ± 5: higher
        constant("maxminlcb", [1.0, 3.0], "eggholder", "printed"),  # nothing to compare with
    ]
    rows = rows_of(sections(report(results, [], PROVENANCE))["Ours against the paper's"])
    ratio = np.exp(np.mean(np.log([52 / 56, 11 / 27, 201 / 125])))
    assert rows["MaxMinLCB"] == ["1", "1", "1", f"{ratio:.2f}"]


def test_the_reading_counts_where_log_ucb1_plays_the_worst_action(text):
    """s(3) - s(-3) = tanh(3/2); by the paper's table three rows of seven are 2000 times that."""
    section = sections(text)["Why the numbers differ"]
    assert f"= {np.tanh(1.5):.6f}" in section
    assert f"which is {2000 * np.tanh(1.5):.2f} in 2000 steps" in section
    assert "In 3 of 7 rows of the paper" in section
    assert "it does so in 3 of 7 rows" in section
    assert "preset `paper`" in section


def test_the_first_duel_is_mentioned_where_it_is_lucky():
    lucky = [constant("maxminlcb", [0.0, 0.0]), constant("maxminlcb", [5.0, 5.0], "branin")]
    section = sections(report(lucky, [], PROVENANCE))["Why the numbers differ"]
    assert "in more than half of our runs on Ackley." in section
    plain = sections(report(lucky[1:], [], PROVENANCE))["Why the numbers differ"]
    assert "The first duel" not in plain


def test_time_is_summed_by_algorithm(published):
    results = [r for r in published if r.function == "ackley"]
    section = sections(report(*split(results), PROVENANCE))["Time"]
    assert "61 s of wall clock, 15 s of simulation and 5 s of compilation" in section
    assert "Machine: system Linux, cores 2. Versions: duelist 0.1.0, jax 0.10.2." in section
    micro = f"{1e6 * 1.5 / 4000:.0f}"
    assert rows_of(section)["IDS"] == ["1", "1.5", "1.50 to 1.50", "0.5", micro]


def test_pictures_are_written_small_and_all_are_linked(tmp_path):
    results = everything(horizon=300)
    paths = write_report(*split(results), tmp_path / "docs" / "reproduction.md", PROVENANCE)
    text = paths[0].read_text(encoding="utf-8")
    linked = re.findall(r"\]\((images/[^)]*)\)", text)
    assert sorted(linked) == sorted(p.relative_to(tmp_path / "docs").as_posix() for p in paths[1:])
    assert len(set(linked)) == len(linked) == 9
    assert all(path.stat().st_size < 200_000 for path in paths)
    assert sorted(p for p in tmp_path.rglob("*") if p.is_file()) == sorted(paths)
    assert "MovieLens stands in its place" in text
    assert "The paper has no number for any of these" in text


def test_one_table_alone_makes_a_report(published):
    found = sections(report(split(published)[0], [], PROVENANCE))
    assert "Table 1: preference feedback" in found
    assert not {"Table 2: direct feedback", "LGP-UCB, row by row"} & set(found)


def test_a_run_reports_its_command_and_its_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["x/duelist", "reproduce", "all", "--report", "my docs/a.md"])
    results = everything(("ackley",), horizon=50)
    page, *_ = report_run(results, tmp_path / "a.md", preset="default", seconds=None)
    text = page.read_text(encoding="utf-8")
    assert "\n    duelist reproduce all --report 'my docs/a.md'\n" in text
    assert f"cores {machine()['cores']}" in text
    assert f"jax {versions()['jax']}" in text
    assert "wall clock" not in text
    assert "preset `default`" in text


def test_the_option_of_the_command_writes_the_page(tmp_path, capsys):
    page = tmp_path / "docs" / "page.md"
    session = Session("all", Options(tmp_path / "out", figures=False, report=page), "default", {})
    session.seconds = 12.0
    session.report([constant("lgp-ucb", [3.0, 4.0], feedback="ratings")], table)
    assert "12 s of wall clock" in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out.startswith("| Problem | LGP-UCB |")


def test_a_bad_place_for_the_page_is_refused_before_any_work(tmp_path):
    (tmp_path / "docs").write_text("")
    options = Options(tmp_path / "out", report=tmp_path / "docs" / "page.md")
    with pytest.raises(ValueError, match=r"directory: cannot make .*docs"):
        Session("all", options, "default", {}).run([], {})
    assert not (tmp_path / "out").exists()


def test_no_results_and_bad_places_are_refused(tmp_path, published):
    with pytest.raises(ValueError, match="results: expected those of Table 1 or of Table 2"):
        report([], [], PROVENANCE)
    (tmp_path / "docs").write_text("")
    with pytest.raises(ValueError, match="directory: cannot make"):
        write_report(published[:6], [], tmp_path / "docs" / "reproduction.md", PROVENANCE)
