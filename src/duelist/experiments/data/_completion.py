"""Collaborative filtering: estimates for the ratings that users did not give.

The appendix of the paper completes the ratings by collaborative filtering. This is the biased
matrix factorisation of Koren, Bell and Volinsky, "Matrix Factorization Techniques for Recommender
Systems" (IEEE Computer 42(8), 2009), as scikit-surprise's `SVD` (Hug, "Surprise: A Python library
for recommender systems", JOSS 5(52), 2020) fits it by stochastic gradient descent: r_ui is
estimated by mu + b_u + b_i + q_i . p_u.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.experiments.data._checks import check_positive
from duelist.experiments.data._optional import require


def complete(
    ratings: NDArray[np.float64],
    *,
    scale: tuple[float, float] | None = None,
    seed: int = 0,
    factors: int = 30,
    epochs: int = 50,
    learning_rate: float = 0.005,
    regularisation: float = 0.02,
) -> NDArray[np.float64]:
    """Fill the missing ratings with estimates; given ratings stay as they are.

    Equal arguments give equal results. Gradient descent visits the ratings row by row, so the order
    of rows and columns matters: sort them by something that does not depend on how a file was
    written. The defaults are the settings of the authors' released configuration for Yelp, which
    however replaced given ratings by their estimates as well.

    Args:
        ratings: float64 [users, items], NaN where a rating is missing.
        scale: lowest and highest possible rating; estimates are clipped to it. By default the
            lowest and highest rating given.
        seed: of the initial factors, which are drawn from N(0, 0.1^2).
        factors: the length of p_u and q_i.
        epochs: passes over the ratings.
        learning_rate: of the stochastic gradient descent.
        regularisation: the coefficient of the squared norms.

    Returns:
        float64 [users, items] without NaN.

    Raises:
        ValueError: if the matrix is empty, a rating is infinite or outside the scale, a setting is
            not positive, or a row or column has no rating at all, so that nothing is known about
            it.
        ImportError: if something is missing and scikit-surprise is not installed.
    """
    _check_settings(factors, epochs, learning_rate, regularisation)
    observed = _observed(ratings)
    low, high = _scale(ratings, observed, scale)
    if observed.all():
        return ratings.copy()
    surprise = require("surprise", package="scikit-surprise", purpose="completing missing ratings")
    model = surprise.SVD(
        n_factors=factors,
        n_epochs=epochs,
        lr_all=learning_rate,
        reg_all=regularisation,
        random_state=seed,
    )
    estimates = _estimates(model, _training_set(surprise, ratings, observed, (low, high)))
    return np.where(observed, ratings, np.clip(estimates, low, high))


def _estimates(model: Any, training: Any) -> NDArray[np.float64]:
    """Fit, and return every entry at once instead of asking the model pair by pair."""
    model.fit(training)
    return training.global_mean + model.bu[:, None] + model.bi[None, :] + model.pu @ model.qi.T


def _training_set(
    surprise: Any,
    ratings: NDArray[np.float64],
    observed: NDArray[np.bool_],
    scale: tuple[float, float],
) -> Any:
    """Hand the observed entries to scikit-surprise, whose inner ids then are our row and column."""
    by_user: dict[int, list[tuple[int, float]]] = {}
    by_item: dict[int, list[tuple[int, float]]] = {}
    for user, item in np.argwhere(observed).tolist():
        rating = float(ratings[user, item])
        by_user.setdefault(user, []).append((item, rating))
        by_item.setdefault(item, []).append((user, rating))
    users, items = ratings.shape
    row_ids, column_ids = {u: u for u in range(users)}, {i: i for i in range(items)}
    total = int(observed.sum())
    return surprise.Trainset(by_user, by_item, users, items, total, scale, row_ids, column_ids)


def _observed(ratings: NDArray[np.float64]) -> NDArray[np.bool_]:
    if ratings.ndim != 2 or ratings.size == 0:
        raise ValueError(f"ratings must be a non-empty matrix, got shape {list(ratings.shape)}")
    if np.isinf(ratings).any():
        raise ValueError("ratings must be finite, or NaN where missing, but one is infinite")
    observed = ~np.isnan(ratings)
    for axis, label in ((1, "row (user)"), (0, "column (item)")):
        empty = np.flatnonzero(~observed.any(axis=axis))
        if empty.size:
            message = (
                f"ratings must have at least one rating in every {label}, "
                f"but {empty.size} have none, the first is {empty[0]}"
            )
            raise ValueError(message)
    return observed


def _scale(
    ratings: NDArray[np.float64],
    observed: NDArray[np.bool_],
    scale: tuple[float, float] | None,
) -> tuple[float, float]:
    given = ratings[observed]
    lowest, highest = float(given.min()), float(given.max())
    if scale is None:
        return lowest, highest
    low, high = scale
    if not low <= lowest <= highest <= high:
        message = f"ratings must lie in the scale [{low}, {high}], got [{lowest}, {highest}]"
        raise ValueError(message)
    return low, high


def _check_settings(factors: int, epochs: int, learning_rate: float, regularisation: float) -> None:
    check_positive("factors", factors)
    check_positive("epochs", epochs)
    if not (np.isfinite(learning_rate) and learning_rate > 0):
        raise ValueError(f"learning_rate must be positive, got {learning_rate}")
    if not (np.isfinite(regularisation) and regularisation >= 0):
        raise ValueError(f"regularisation must not be negative, got {regularisation}")
