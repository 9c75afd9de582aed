"""Presets: which settings an algorithm has on a problem, read from TOML files."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from duelist.experiments._names import (
    ALGORITHMS,
    PAPER_DUELS,
    PAPER_RATINGS,
    PROBLEMS,
    ProblemName,
    feedback_of,
)
from duelist.experiments._schema import BELIEFS, Belief, Count, Strict, described

Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**32)]
Grid: TypeAlias = dict[str, Annotated[list[float], Field(min_length=1)]]

SHIPPED: Final = Path(__file__).parent / "presets"


class FileError(Exception):
    """A file with settings that cannot be used; the message names file, key and what came."""


class Origin(NamedTuple):
    """Where a setting stands: a file, and the table in it."""

    path: Path
    where: str


class Tuning(Strict):
    """What `duelist tune` tries: every combination of the values that an algorithm's belief has.

    Attributes:
        seeds: none of which is used in an evaluation.
        horizon: T of the tuning.
        duels: the values of each setting, for the algorithms that ask for duels.
        ratings: likewise, for direct feedback.
    """

    seeds: tuple[Seed, ...] = Field(min_length=1, strict=False)
    horizon: Count
    duels: Grid
    ratings: Grid

    def grid(self, algorithm: str) -> Grid:
        """The values for an algorithm; some of its keys may not be among its settings."""
        return self.duels if feedback_of(algorithm) == "duels" else self.ratings


class _Document(Strict):
    """The keys of a preset; `belief` and `algorithms` are checked when they are put together."""

    name: str
    horizon: Count
    seeds: Count
    coordinates: Literal["raw", "unit"]
    per_axis: Annotated[int, Field(ge=2)]
    tuned: str | None = None
    tuning: Tuning | None = None
    belief: dict[str, Any]
    algorithms: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("algorithms")
    @classmethod
    def _known(cls, value: dict[str, Any]) -> dict[str, Any]:
        return known_keys(value, tuple(ALGORITHMS), "an algorithm")


def known_keys(value: dict[str, Any], names: tuple[str, ...], kind: str) -> dict[str, Any]:
    """`value` if its keys are names; the error lists them."""
    for key in value:
        if key not in names:
            raise ValueError(f"{key!r} is not {kind}; expected any of {', '.join(names)}")
    return value


class Tuned(BaseModel):
    """What `duelist tune` chose: settings by algorithm and problem, and how they were found.

    Attributes:
        command: that wrote the file.
        seeds: of the tuning, none of which is used in an evaluation.
        horizon: T of the tuning.
        algorithms: for each algorithm and each problem's label the settings that were chosen.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    command: str
    seeds: tuple[int, ...]
    horizon: Count
    algorithms: dict[str, dict[str, dict[str, Any]]]


class Preset(BaseModel):
    """A preset with what was tuned for it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    path: Path
    document: _Document
    tuned: Tuned | None

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self.document.name

    def belief(self, algorithm: str, problem: ProblemName | None = None) -> Belief:
        """The belief of an algorithm on a problem: general, then its own, then tuned settings.

        General settings only apply if the algorithm does not name another belief of its own.

        Raises:
            FileError: the settings are not those of a belief that the algorithm can run on.
        """
        own = {k: v for k, v in self._own(algorithm).items() if k != "restrict"}
        general = {"belief": "map", **self.document.belief}
        same = own.get("belief", general["belief"]) == general["belief"]
        tuned, origin = self._tuned(algorithm, problem)
        layers = (
            (general if same else {}, Origin(self.path, "belief")),
            (own, Origin(self.path, f"algorithms.{algorithm}")),
            (tuned, origin),
        )
        merged = {key: value for layer, _ in layers for key, value in layer.items()}
        origins = {key: origin for layer, origin in layers for key in layer}
        where = f"algorithms.{algorithm}" if own or not same else "belief"
        return build_settings(merged, algorithm, self.path, where, origins)

    def candidates(self, algorithm: str) -> tuple[Belief, ...]:
        """Every combination of the values to tune; none if no key of the grid is a setting of it.

        Raises:
            FileError: a value is out of range.
        """
        if self.document.tuning is None:
            return ()
        untuned = self.model_copy(update={"tuned": None})
        start = untuned.belief(algorithm)
        grid = self.document.tuning.grid(algorithm)
        values = {name: grid[name] for name in grid if name in type(start).model_fields}
        where = f"tuning.{feedback_of(algorithm)}"
        return tuple(
            build_settings({**described(start), **dict(choice)}, algorithm, self.path, where)
            for choice in combinations(values)
        )

    def check_evaluation(self, seeds: Iterable[int]) -> None:
        """Refuse seeds that the tuned settings were chosen by.

        Raises:
            ValueError: naming them.
        """
        tuned = () if self.tuned is None or not self.tuned.algorithms else self.tuned.seeds
        if common := sorted(set(tuned) & set(seeds)):
            raise ValueError(
                f"seeds: expected none of those that the preset {self.name} was tuned with, "
                f"got {', '.join(map(str, common))}"
            )

    def restrict(self, algorithm: str) -> bool:
        """Whether MaxMinLCB chooses from M_t only."""
        value = self._own(algorithm).get("restrict", False)
        if not isinstance(value, bool) or (value and algorithm != "maxminlcb"):
            raise FileError(
                f"{self.path}: algorithms.{algorithm}.restrict: expected true or false for "
                f"maxminlcb, and no such key for others; got {value!r}"
            )
        return value

    def summary(self) -> Mapping[str, Any]:
        """The whole preset as JSON has it."""
        tuned = None if self.tuned is None else self.tuned.model_dump(mode="json")
        return {**described(self.document), "tuned": tuned}

    def _own(self, algorithm: str) -> Mapping[str, Any]:
        return self.document.algorithms.get(algorithm, {})

    def _tuned(
        self, algorithm: str, problem: ProblemName | None
    ) -> tuple[Mapping[str, Any], Origin]:
        path = self.path.parent / (self.document.tuned or "")
        if self.tuned is None or problem is None:
            return {}, Origin(path, "")
        settings = self.tuned.algorithms.get(algorithm, {}).get(problem.label, {})
        return settings, Origin(path, f"algorithms.{algorithm}.{problem.label}")


def combinations(values: Mapping[str, Sequence[Any]]) -> list[tuple[tuple[str, Any], ...]]:
    """Every choice of one value for each name; none if there are no names."""
    choices = product(*([(name, value) for value in values[name]] for name in values))
    return [choice for choice in choices if choice]


def load_preset(name: str) -> Preset:
    """A preset that is shipped, by name, or any other, by the path of its file.

    All of its settings are put together once, so that a bad one is found before anything runs.

    Raises:
        FileError: there is no such preset, or it does not hold what it should.
    """
    path = _find(name)
    document = validated(_Document, read_toml(path), path)
    tuned = _read_tuned(path.parent / document.tuned) if document.tuned else None
    preset = Preset(path=path, document=document, tuned=tuned)
    _check_all(preset)
    return preset


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file.

    Raises:
        FileError: it cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: expected TOML: {error}") from error


def validated(
    model: Any,
    content: Any,
    path: Path,
    where: str = "",
    origins: Mapping[str, Origin] | None = None,
) -> Any:
    """`content` as a pydantic model, or as what a type adapter describes.

    Args:
        model: the model or adapter.
        content: what was read.
        path: the file.
        where: the table in it.
        origins: of the keys that stand elsewhere.

    Raises:
        FileError: naming file, key, what was expected and what came, for every mistake.
    """
    try:
        if isinstance(model, TypeAdapter):
            return model.validate_python(content)
        return model.model_validate(content)
    except ValidationError as error:
        here = Origin(path, where)
        mistakes = [_mistake(here, origins or {}, part) for part in error.errors()]
        raise FileError("\n".join(mistakes)) from error


def build_settings(
    content: Mapping[str, Any],
    algorithm: str,
    path: Path,
    where: str,
    origins: Mapping[str, Origin] | None = None,
) -> Belief:
    """The belief that these settings describe, if `algorithm` can run on it; see `validated`."""
    kinds = ALGORITHMS[algorithm]
    kind = content.get("belief", kinds[0])
    if kind not in kinds:
        path, where = (origins or {}).get("belief", (path, where))
        raise FileError(
            f"{path}: {where}.belief: expected {' or '.join(kinds)} for {algorithm}, got {kind!r}"
        )
    return validated(BELIEFS[kind], dict(content), path, where, origins)


def _find(name: str) -> Path:
    path = Path(name)
    if path.suffix == ".toml" or len(path.parts) > 1:
        return path
    shipped = sorted(p.stem for p in SHIPPED.glob("*.toml") if not p.stem.endswith("-tuned"))
    if name not in shipped:
        raise FileError(
            f"preset: expected one of {', '.join(shipped)}, or the path of a .toml file; "
            f"got {name!r}"
        )
    return SHIPPED / f"{name}.toml"


def _read_tuned(path: Path) -> Tuned:
    tuned = validated(Tuned, read_toml(path), path)
    for algorithm, problems in tuned.algorithms.items():
        for name, names, kind in (
            (algorithm, tuple(ALGORITHMS), "an algorithm"),
            *((label, tuple(PROBLEMS), "a problem") for label in problems),
        ):
            if name not in names:
                raise FileError(f"{path}: algorithms: {name!r} is not {kind}")
    return tuned


def _check_all(preset: Preset) -> None:
    for algorithm in preset.document.algorithms:
        preset.belief(algorithm)
        preset.restrict(algorithm)
    if preset.document.tuning is not None:
        for algorithm in (*PAPER_DUELS, *PAPER_RATINGS):
            preset.candidates(algorithm)
    tuned = {} if preset.tuned is None else preset.tuned.algorithms
    for algorithm, problems in tuned.items():
        for label in problems:
            preset.belief(algorithm, PROBLEMS[label])


def _mistake(here: Origin, origins: Mapping[str, Origin], part: Any) -> str:
    path, where = origins.get(str(part["loc"][0]), here) if part["loc"] else here
    key = ".".join([*([where] if where else []), *(str(x) for x in part["loc"])])
    if part["type"] == "missing":
        return f"{path}: {key}: expected a value, got none"
    if part["type"] == "extra_forbidden":
        return f"{path}: {key}: there is no such key; got {part['input']!r}"
    message = reduce(lambda text, cut: text.removeprefix(cut), _PREFIXES, part["msg"])
    return f"{path}: {key}: expected {message}, got {part['input']!r}"


_PREFIXES: Final = ("Input should be ", "Value error, ")
