"""What the paper reports, for comparison only: no result of ours is made from these numbers.

B. Pásztor, P. Kassraie, A. Krause: Bandits with Preference Feedback: A Stackelberg Game
Perspective, NeurIPS 2024, Table 1 (`regret_comparison`) and Table 2 (`logistic_comparison`):
T = 2000, 100 actions, 20 seeds, mean and standard error of the cumulative regret.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

CITATION: Final = (
    "B. Pásztor, P. Kassraie, A. Krause: Bandits with Preference Feedback: A Stackelberg Game "
    "Perspective. NeurIPS 2024"
)

HORIZON: Final = 2000
SEEDS: Final = 20

ALGORITHM_NAMES: Final[Mapping[str, str]] = {
    "maxminlcb": "MaxMinLCB",
    "doubler": "Doubler",
    "multisbm": "MultiSBM",
    "maxinp": "MaxInP",
    "rucb": "RUCB",
    "ids": "IDS",
    "lgp-ucb": "LGP-UCB",
    "gp-ucb": "GP-UCB",
    "ind-ucb": "Ind-UCB",
    "log-ucb1": "Log-UCB1",
    "maxminucb": "MaxMinUCB",
    "eubo": "EUBO",
    "sparring": "Sparring",
    "thompson": "Double Thompson",
    "random": "Random",
    "random-rating": "Random ratings",
}
"""How algorithms are called in tables and figures; the paper's first, in its order."""

DUELS: Final = ("maxminlcb", "doubler", "multisbm", "maxinp", "rucb", "ids")
"""The algorithms of Table 1, in its order."""

RATINGS: Final = ("lgp-ucb", "gp-ucb", "ind-ucb", "log-ucb1")
"""The algorithms of Table 2, in its order: one acquisition rule, four confidence sets."""

FUNCTION_NAMES: Final[Mapping[str, str]] = {
    "branin": "Branin",
    "matyas": "Matyas",
    "rosenbrock": "Rosenbrock",
    "ackley": "Ackley",
    "eggholder": "Eggholder",
    "hoelder": "Hölder",
    "michalewicz": "Michalewicz",
    "yelp": "Yelp",
    "movielens": "MovieLens",
    "jester": "Jester",
}
"""How problems are called in tables and figures; the paper's first, in the order of Table 1."""

REAL_WORLD: Final = ("yelp", "movielens", "jester")
"""The problems that are made of people's ratings."""


class Published(NamedTuple):
    """A cell of a table of the paper.

    Attributes:
        mean: of the cumulative regret.
        standard_error: of the mean.
        bold: whether the paper sets it in bold.
        text: mean and standard error with the digits that are printed.
    """

    mean: float
    standard_error: float
    bold: bool
    text: str

    @property
    def resolution(self) -> float:
        """One unit of the last digit of the mean."""
        _, _, decimals = self.text.split()[0].partition(".")
        return float(10 ** -len(decimals))


def published(feedback: str, function: str, variant: str, algorithm: str) -> Published | None:
    """The paper's number for a cell, or None where it has none.

    The paper's numbers for Eggholder and Michalewicz belong to the functions as the authors' code
    ran them, so nothing is comparable with the variant `printed`.

    Args:
        feedback: "duels" (Table 1) or "ratings" (Table 2).
        function: such as "branin".
        variant: "released", "printed", or "" where there is only one.
        algorithm: such as "maxminlcb".
    """
    if variant == "printed":
        return None
    tables = {"duels": TABLE1, "ratings": TABLE2}
    return tables.get(feedback, {}).get(function, {}).get(algorithm)


def algorithm_name(column: str) -> str:
    """The name of an algorithm to display; settings after a comma stay as they are."""
    algorithm, comma, settings = column.partition(",")
    return ALGORITHM_NAMES.get(algorithm, algorithm) + comma + settings


def lowest(feedback: str, function: str) -> float:
    """The lowest mean regret that the paper reports for a problem."""
    row = (TABLE1 if feedback == "duels" else TABLE2)[function]
    return min(cell.mean for cell in row.values())


def _parse(algorithms: tuple[str, ...], row: str) -> dict[str, Published]:
    return {a: _cell(text) for a, text in zip(algorithms, row.split(), strict=True)}


def _cell(text: str) -> Published:
    """`104±13*` as a number; the asterisk stands for bold print."""
    mean, error = text.rstrip("*").split("±")
    return Published(float(mean), float(error), text.endswith("*"), f"{mean} ± {error}")


TABLE1: Final[Mapping[str, Mapping[str, Published]]] = {
    function: _parse(DUELS, row)
    for function, row in {
        "branin": "104±13* 114±9 89±13* 340±2 101±14* 163±22",
        "matyas": "125±5 136±4 106±7* 136±6 106±6* 128±5",
        "rosenbrock": "27±4* 44±12 25±5* 109±2 58±7 58±13",
        "ackley": "56±2* 72±2 65±0.5 120±1 84±0.7 111±9",
        "eggholder": "113±6* 154±4 134±3 230±34 213±40 141±12",
        "hoelder": "141±26* 154±3* 136±15* 204±20 200±28 132±15*",
        "michalewicz": "138±14* 183±11 155±10* 260±40 269±46 188±21",
        "yelp": "175±22* 263±28 199±25* 409±15 214±22 255±22",
    }.items()
}
"""Table 1: preference feedback, the cumulative dueling regret of eq. dueling_regret."""

TABLE2: Final[Mapping[str, Mapping[str, Published]]] = {
    function: _parse(RATINGS, row)
    for function, row in {
        "ackley": "23.97±1.54* 96.35±1.27 479.63±3.42 1810.30±0.00",
        "branin": "75.23±17.51 44.81±2.81* 142.37±1.33 1810.30±0.00",
        "eggholder": "167.11±31.26 152.34±4.28* 559.56±4.15 1041.00±0.00",
        "hoelder": "57.35±10.23* 150.41±9.64 426.28±2.94 105.64±4.88",
        "matyas": "36.64±8.77* 50.21±2.07 137.98±1.21 920.48±0.57",
        "michalewicz": "283.85±3.62 175.46±2.86* 566.36±3.75 1810.30±0.00",
        "rosenbrock": "8.92±0.33* 26.14±0.87 76.13±0.84 897.04±120.68",
    }.items()
}
"""Table 2: direct feedback, the cumulative logistic regret."""
