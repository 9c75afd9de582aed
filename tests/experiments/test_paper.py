"""The paper's numbers, checked against sums that were taken from the tables by hand."""

import pytest

from duelist.experiments import _paper
from duelist.experiments._paper import TABLE1, TABLE2, Published, published


def test_rows_and_columns_are_those_of_the_paper_in_its_order():
    assert list(TABLE1) == [
        *("branin", "matyas", "rosenbrock", "ackley", "eggholder", "hoelder", "michalewicz"),
        "yelp",
    ]
    assert sorted(TABLE2) == sorted(set(TABLE1) - {"yelp"})
    assert all(tuple(row) == _paper.DUELS for row in TABLE1.values())
    assert all(tuple(row) == _paper.RATINGS for row in TABLE2.values())


@pytest.mark.parametrize(
    ("algorithm", "total"),
    [
        ("maxminlcb", 104 + 125 + 27 + 56 + 113 + 141 + 138 + 175),
        ("doubler", 114 + 136 + 44 + 72 + 154 + 154 + 183 + 263),
        ("multisbm", 89 + 106 + 25 + 65 + 134 + 136 + 155 + 199),
        ("maxinp", 340 + 136 + 109 + 120 + 230 + 204 + 260 + 409),
        ("rucb", 101 + 106 + 58 + 84 + 213 + 200 + 269 + 214),
        ("ids", 163 + 128 + 58 + 111 + 141 + 132 + 188 + 255),
    ],
)
def test_columns_of_table_1_add_up(algorithm, total):
    assert sum(row[algorithm].mean for row in TABLE1.values()) == total


@pytest.mark.parametrize(
    ("algorithm", "total"),
    [
        ("lgp-ucb", 23.97 + 75.23 + 167.11 + 57.35 + 36.64 + 283.85 + 8.92),
        ("gp-ucb", 96.35 + 44.81 + 152.34 + 150.41 + 50.21 + 175.46 + 26.14),
        ("ind-ucb", 479.63 + 142.37 + 559.56 + 426.28 + 137.98 + 566.36 + 76.13),
        ("log-ucb1", 1810.30 * 3 + 1041.00 + 105.64 + 920.48 + 897.04),
    ],
)
def test_columns_of_table_2_add_up(algorithm, total):
    assert sum(row[algorithm].mean for row in TABLE2.values()) == pytest.approx(total)


@pytest.mark.parametrize(
    ("feedback", "function", "algorithm", "cell"),
    [
        ("duels", "ackley", "multisbm", Published(65, 0.5, False, "65 ± 0.5")),
        ("duels", "branin", "maxminlcb", Published(104, 13, True, "104 ± 13")),
        ("duels", "yelp", "ids", Published(255, 22, False, "255 ± 22")),
        ("ratings", "rosenbrock", "log-ucb1", Published(897.04, 120.68, False, "897.04 ± 120.68")),
        ("ratings", "michalewicz", "gp-ucb", Published(175.46, 2.86, True, "175.46 ± 2.86")),
        ("ratings", "eggholder", "log-ucb1", Published(1041.0, 0, False, "1041.00 ± 0.00")),
    ],
)
def test_cells_are_as_printed(feedback, function, algorithm, cell):
    assert published(feedback, function, "", algorithm) == cell


def test_resolution_is_the_last_digit_of_the_mean():
    assert TABLE1["ackley"]["multisbm"].resolution == 1
    assert TABLE2["ackley"]["lgp-ucb"].resolution == pytest.approx(0.01)


def test_bold_cells_are_as_printed():
    bold = {f: [a for a, cell in row.items() if cell.bold] for f, row in TABLE1.items()}
    assert bold["matyas"] == ["multisbm", "rucb"]
    assert bold["hoelder"] == ["maxminlcb", "doubler", "multisbm", "ids"]
    assert sum(map(len, bold.values())) == 17
    best = [min(row, key=lambda a: row[a].mean) for row in TABLE2.values()]
    assert [[a for a in row if row[a].bold] for row in TABLE2.values()] == [[a] for a in best]


@pytest.mark.parametrize(
    ("feedback", "function", "variant", "algorithm"),
    [
        ("duels", "eggholder", "printed", "maxminlcb"),
        ("duels", "movielens", "", "maxminlcb"),
        ("duels", "ackley", "", "lgp-ucb"),
        ("ratings", "yelp", "", "lgp-ucb"),
    ],
)
def test_what_the_paper_does_not_report_is_none(feedback, function, variant, algorithm):
    assert published(feedback, function, variant, algorithm) is None


def test_released_variants_compare_with_the_paper():
    assert published("duels", "eggholder", "released", "ids") == TABLE1["eggholder"]["ids"]


def test_every_name_is_displayed():
    assert set(_paper.DUELS + _paper.RATINGS) <= set(_paper.ALGORITHM_NAMES)
    assert set(TABLE1) | set(_paper.REAL_WORLD) <= set(_paper.FUNCTION_NAMES)
