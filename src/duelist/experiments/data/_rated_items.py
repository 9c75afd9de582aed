"""Items with features, and what each user thinks of each of them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RatedItems:
    """A real-world problem: every row of `utilities` is one bandit problem over the same items.

    The arrays are copied and made read-only, and `counts` is copied.

    Attributes:
        items: n distinct names.
        features: float64 [n, d], one point per item; the action space of the paper.
        utilities: float64 [users, n], complete; missing ratings are already estimated.
        users: distinct user ids, one per row of `utilities`.
        counts: what each filter left, in the order of the filters, for comparison with others'
            counts.
        source: where the data comes from.
        citation: whom to cite and on which terms the data may be used.

    Raises:
        ValueError: if names repeat, shapes disagree, something is empty or a number is not finite.
    """

    items: tuple[str, ...]
    features: NDArray[np.float64]
    utilities: NDArray[np.float64]
    users: tuple[str, ...]
    counts: Mapping[str, int]
    source: str
    citation: str

    def __post_init__(self) -> None:
        _check_names("items", self.items)
        _check_names("users", self.users)
        _check_matrix("features", self.features, rows=len(self.items))
        _check_matrix("utilities", self.utilities, rows=len(self.users))
        if self.utilities.shape[1] != len(self.items):
            message = (
                f"utilities must have one column per item ({len(self.items)}), "
                f"got {self.utilities.shape[1]}"
            )
            raise ValueError(message)
        _check_counts(self.counts)
        object.__setattr__(self, "features", _frozen(self.features))
        object.__setattr__(self, "utilities", _frozen(self.utilities))
        object.__setattr__(self, "counts", dict(self.counts))


def first_repeated(names: tuple[str, ...]) -> str | None:
    """Return the first name that occurred before, or None if all are distinct."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def distinct_names(names: list[str], ids: list[str]) -> tuple[str, ...]:
    """Return the names, with the id appended wherever a name is shared or empty."""
    shared = {name for name, times in Counter(names).items() if times > 1} | {""}
    pairs = zip(names, ids, strict=True)
    return tuple(f"{name} [{key}]".strip() if name in shared else name for name, key in pairs)


def _check_names(label: str, names: tuple[str, ...]) -> None:
    if not names:
        raise ValueError(f"{label} must not be empty")
    repeated = first_repeated(names)
    if repeated is not None:
        raise ValueError(f"{label} must be distinct, but {repeated!r} occurs more than once")


def _check_matrix(label: str, matrix: NDArray[np.float64], *, rows: int) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != rows or matrix.shape[1] == 0:
        raise ValueError(f"{label} must have shape [{rows}, >= 1], got {list(matrix.shape)}")
    if matrix.dtype != np.float64:
        raise ValueError(f"{label} must be float64, got {matrix.dtype}")
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        row, column = bad[0]
        message = (
            f"{label} must be finite, but {len(bad)} entries are not; "
            f"the first is at [{row}, {column}]: {matrix[row, column]}"
        )
        raise ValueError(message)


def _check_counts(counts: Mapping[str, int]) -> None:
    for label, number in counts.items():
        if number < 0:
            raise ValueError(f"counts must not be negative, but {label!r} is {number}")


def _frozen(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    copy = np.array(matrix, dtype=np.float64, order="C")
    copy.flags.writeable = False
    return copy
