"""A dense corner of a long table of ratings: the most rated items, the most active users."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from duelist.experiments.data._checks import check_positive


def select(
    ratings: pl.DataFrame,
    counts: dict[str, int],
    *,
    max_items: int | None,
    max_users: int | None,
    min_ratings: int = 1,
    complete_only: bool = False,
) -> tuple[list[int], list[int], NDArray[np.float64]]:
    """Filter items, then users by their ratings of these items, then items that nobody left rated.

    Ties go to the smaller number, and users and items come in increasing order, whatever the order
    of the table.

    Args:
        ratings: columns `user` and `item` (integers), `rating` (float); no pair twice.
        counts: gets the numbers after each filter.
        max_items: keep the items with the most ratings; None for all.
        max_users: keep the users with the most ratings of these items; None for all.
        min_ratings: ratings of these items that a user must have given.
        complete_only: whether a user must have rated all of these items.

    Returns:
        users, items, and float64 [users, items], NaN where there is no rating.

    Raises:
        ValueError: if a bound is not positive or nothing is left; the message gives the counts.
    """
    for label, bound in (("max_items", max_items), ("max_users", max_users)):
        if bound is not None:
            check_positive(label, bound)
    check_positive("min_ratings", min_ratings)
    counts["ratings read"] = ratings.height
    ratings = _keep_top(ratings, "item", max_items, least=1)
    counts["items kept"] = ratings["item"].n_unique()
    least = max(min_ratings, counts["items kept"]) if complete_only else min_ratings
    counts["users of these items"] = ratings["user"].n_unique()
    counts["users with enough ratings"] = _keep_top(ratings, "user", None, least)["user"].n_unique()
    ratings = _keep_top(ratings, "user", max_users, least)
    if ratings.is_empty():
        listed = ", ".join(f"{label}: {number}" for label, number in counts.items())
        raise ValueError(f"no rating passes the filters; counts so far: {listed}")
    return _matrix(ratings)


def _keep_top(ratings: pl.DataFrame, column: str, limit: int | None, least: int) -> pl.DataFrame:
    """Keep the rows of the `limit` most frequent values that occur at least `least` times."""
    sizes = ratings.group_by(column).len().filter(pl.col("len") >= least)
    ranked = sizes.sort("len", column, descending=[True, False])
    kept = ranked if limit is None else ranked.head(limit)
    return ratings.filter(pl.col(column).is_in(kept[column].implode()))


def _matrix(ratings: pl.DataFrame) -> tuple[list[int], list[int], NDArray[np.float64]]:
    users = ratings["user"].unique().sort().to_list()
    items = ratings["item"].unique().sort().to_list()
    rows = {user: row for row, user in enumerate(users)}
    columns = {item: column for column, item in enumerate(items)}
    matrix = np.full((len(users), len(items)), np.nan)
    for user, item, rating in ratings.select("user", "item", "rating").iter_rows():
        matrix[rows[user], columns[item]] = rating
    return users, items, matrix
