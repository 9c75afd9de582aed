"""Checks that several pipelines share."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def unit_rows(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows to length one.

    Raises:
        ValueError: if a row is not finite, or too short to have a direction.
    """
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    good = np.isfinite(norms[:, 0]) & (norms[:, 0] > 1e-10)
    if not good.all():
        bad = np.flatnonzero(~good)
        message = (
            f"{bad.size} of {len(norms)} texts have no direction in the embedding, the first is "
            f"number {bad[0]}: give them more words or the embedding more dimensions"
        )
        raise ValueError(message)
    return vectors / norms


def check_texts(texts: Sequence[str]) -> None:
    """Raise ValueError if there is no text, or one is blank."""
    if not texts:
        raise ValueError("texts must not be empty")
    blank = [number for number, text in enumerate(texts) if not text.strip()]
    if blank:
        raise ValueError(f"texts must not be blank, but {len(blank)} are, the first is {blank[0]}")


def check_positive(label: str, number: int) -> None:
    """Raise ValueError if a number that counts something is below one."""
    if number < 1:
        raise ValueError(f"{label} must be at least 1, got {number}")
