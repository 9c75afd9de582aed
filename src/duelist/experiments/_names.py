"""The names of algorithms and problems, and which belong together; nothing here imports JAX."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

PAPER_DUELS: Final = ("maxminlcb", "doubler", "multisbm", "maxinp", "rucb", "ids")
"""The algorithms of the paper's Table 1."""

PAPER_RATINGS: Final = ("lgp-ucb", "gp-ucb", "ind-ucb", "log-ucb1")
"""The algorithms of its Table 2."""

PAPER_FUNCTIONS: Final = (
    *("branin", "matyas", "rosenbrock"),
    *("ackley", "eggholder", "hoelder", "michalewicz"),
)
"""The test functions of both tables."""

TWO_VARIANTS: Final = ("eggholder", "michalewicz")
"""The functions that the paper and the authors' code define differently."""

DATA_SETS: Final = ("movielens", "yelp")
"""The real-world problems that go by a name."""

ALGORITHMS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(PAPER_DUELS, ("map", "adaptive", "guaranteed")),
    **dict.fromkeys(("maxminucb", "thompson", "eubo", "random"), ("map", "adaptive", "guaranteed")),
    "sparring": ("map",),
    "lgp-ucb": ("map", "adaptive", "guaranteed"),
    "gp-ucb": ("ridge",),
    "ind-ucb": ("independent",),
    "log-ucb1": ("log-ucb1",),
    "random-rating": ("map", "adaptive", "guaranteed"),
}
"""Every algorithm with the beliefs that it can be run on, its usual one first."""

RATINGS: Final = (*PAPER_RATINGS, "random-rating")
"""The algorithms for direct feedback; all others ask for duels."""


Variant: TypeAlias = Literal["", "released", "printed"]


class ProblemName(NamedTuple):
    """A problem by name; `variant` is "" where there is only one."""

    function: str
    variant: Variant

    @property
    def label(self) -> str:
        """The name used in presets and files: `ackley`, `eggholder-printed`."""
        return f"{self.function}-{self.variant}" if self.variant else self.function


def feedback_of(algorithm: str) -> str:
    """What an algorithm asks for: "duels" or "ratings"."""
    return "ratings" if algorithm in RATINGS else "duels"


def variants_of(function: str) -> tuple[ProblemName, ...]:
    """The problems that a function's name stands for."""
    if function in TWO_VARIANTS:
        return (ProblemName(function, "released"), ProblemName(function, "printed"))
    return (ProblemName(function, ""),)


def choose_problems(chosen: Sequence[str], among: Sequence[str]) -> tuple[ProblemName, ...]:
    """The problems meant by names; a name without its variant means all variants.

    Raises:
        ValueError: a name is none of `among`, nor one of them with its variant.
    """
    every = [problem for function in among for problem in variants_of(function)]
    meant = {p.label: (p,) for p in every} | {name: variants_of(name) for name in among}
    unknown = [name for name in chosen if name not in meant]
    if unknown:
        raise ValueError(f"functions: expected any of {', '.join(meant)}; got {unknown[0]!r}")
    return tuple(dict.fromkeys(problem for name in chosen for problem in meant[name]))


def choose_algorithms(chosen: Sequence[str], among: Sequence[str]) -> tuple[str, ...]:
    """The chosen algorithms without repetition.

    Raises:
        ValueError: a name is none of `among`.
    """
    unknown = [name for name in chosen if name not in among]
    if unknown:
        raise ValueError(f"algorithms: expected any of {', '.join(among)}; got {unknown[0]!r}")
    return tuple(dict.fromkeys(chosen))


PROBLEMS: Final = {p.label: p for name in PAPER_FUNCTIONS for p in variants_of(name)}
"""The paper's test functions, with their variants, by label."""
