"""Any table of ratings with any table of texts, from two CSV files."""

from pathlib import Path
from typing import Literal, TypeAlias, get_args

import polars as pl

from duelist.experiments.data._assemble import Selection, assemble
from duelist.experiments.data._embeddings import Embedding, resolved
from duelist.experiments.data._rated_items import RatedItems, first_repeated
from duelist.experiments.data._select import select

Layout: TypeAlias = Literal["long", "wide"]


def ratings_csv(
    ratings: Path,
    items: Path,
    *,
    layout: Layout | None = None,
    text_column: str = "text",
    scale: tuple[float, float] | None = None,
    complete_only: bool = False,
    min_ratings: int = 1,
    max_items: int | None = None,
    max_users: int | None = None,
    embedding: str | Embedding = "tfidf",
    cache: Path | None = None,
    seed: int = 0,
    source: str | None = None,
    citation: str = "not stated",
) -> RatedItems:
    """Read ratings and items from CSV files with a header line.

    The items file holds one item per line: its id in the first column, its text in `text_column`. A
    long ratings file has the columns `user`, `item`, `rating`; a wide one has one line per user,
    whose id is in the first column, and one column per item, where empty means not rated. Items are
    filtered first (the most rated), then users by their ratings of those items; ties go to what
    stands earlier in its file.

    Args:
        ratings: the ratings file.
        items: the items file.
        layout: of the ratings file; by default long if it has exactly the three columns, else wide.
        text_column: of the items file.
        scale: lowest and highest possible rating; by default those that occur.
        complete_only: whether to keep only users who rated all of the items kept.
        min_ratings: ratings that a user must have given.
        max_items: keep the most rated items only.
        max_users: keep the most active users only.
        embedding: the name of an embedding or a function from texts to points.
        cache: see `embedding`.
        seed: of the collaborative filtering.
        source: where the data comes from; by default the names of the files.
        citation: whom to cite, and the terms of use.

    Raises:
        FileNotFoundError: if a file does not exist.
        ValueError: if a file is no CSV, a column is missing, an id repeats, a rating is no number,
            an item is unknown or without text, or a filter leaves nothing.
    """
    embed = resolved(embedding, cache)
    if layout not in (None, *get_args(Layout)):
        raise ValueError(f"layout must be 'long', 'wide' or None, got {layout!r}")
    texts = _item_texts(items, text_column)
    table = _long_table(ratings, layout)
    counts = {"items read": len(texts), "users read": table["user"].n_unique()}
    user_ids = table["user"].unique(maintain_order=True).to_list()
    coded = _coded(table, user_ids, list(texts), ratings)
    users, kept, matrix = select(
        coded,
        counts,
        max_items=max_items,
        max_users=max_users,
        min_ratings=min_ratings,
        complete_only=complete_only,
    )
    keys = [list(texts)[item] for item in kept]
    selection = Selection(
        keys=keys,
        names=keys,
        texts=[_need_text(items, key, texts[key]) for key in keys],
        users=[user_ids[user] for user in users],
        ratings=matrix,
        scale=scale,
        counts=counts,
    )
    source = f"{ratings.name} and {items.name}" if source is None else source
    return assemble(selection, embed=embed, seed=seed, source=source, citation=citation)


def _read(path: Path) -> pl.DataFrame:
    """Read every column as text; an empty field is null."""
    try:
        table = pl.read_csv(path, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from error
    if table.is_empty():
        raise ValueError(f"{path} has no lines after its header")
    return table


def _ids(table: pl.DataFrame, column: str, path: Path, *, distinct: bool) -> tuple[str, ...]:
    ids = table[column].to_list()
    if None in ids:
        raise ValueError(f"{path}: column {column!r} is empty in data line {ids.index(None) + 1}")
    repeated = first_repeated(tuple(ids)) if distinct else None
    if repeated is not None:
        raise ValueError(f"{path}: {column} {repeated!r} occurs more than once")
    return tuple(ids)


def _item_texts(path: Path, text_column: str) -> dict[str, str | None]:
    table = _read(path)
    if text_column not in table.columns[1:]:
        message = f"{path} needs an id column and a column {text_column!r}, got {table.columns}"
        raise ValueError(message)
    ids = _ids(table, table.columns[0], path, distinct=True)
    return dict(zip(ids, table[text_column].to_list(), strict=True))


def _need_text(path: Path, key: str, text: str | None) -> str:
    if text is None or not text.strip():
        raise ValueError(f"{path}: item {key!r} has no text")
    return text


def _long_table(path: Path, layout: Layout | None) -> pl.DataFrame:
    """Return the ratings given, as text columns user and item and a float column rating."""
    table = _read(path)
    named = {"user", "item", "rating"}
    if layout is None:
        layout = "long" if set(table.columns) == named else "wide"
    if layout == "long" and not named <= set(table.columns):
        message = f"{path} needs the columns 'user', 'item', 'rating', got {table.columns}"
        raise ValueError(message)
    if layout == "wide":
        first = table.columns[0]
        _ids(table, first, path, distinct=True)
        table = _melted(table, first)
    _ids(table, "user", path, distinct=False)
    _ids(table, "item", path, distinct=False)
    return _checked(_numbers(table, path), path)


def _melted(table: pl.DataFrame, first: str) -> pl.DataFrame:
    # Numbers for names, so that an item called "user" does not clash.
    users = table[first]
    columns = [
        pl.DataFrame({"user": users, "rating": table[name]}).with_columns(item=pl.lit(name))
        for name in table.columns[1:]
    ]
    if not columns:
        return pl.DataFrame(schema={"user": pl.String, "rating": pl.String, "item": pl.String})
    return pl.concat(columns)


def _numbers(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    given = table.select("user", "item", "rating").drop_nulls("rating")
    number = pl.col("rating").str.strip_chars().cast(pl.Float64, strict=False)
    bad = given.filter(number.is_null() | ~number.is_finite())
    if not bad.is_empty():
        user, item, rating = bad.row(0)
        message = (
            f"{path}: {bad.height} ratings are no finite numbers, the first is {rating!r} "
            f"of user {user!r} for item {item!r}"
        )
        raise ValueError(message)
    return given.with_columns(number)


def _checked(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    if table.is_empty():
        raise ValueError(f"{path} has no ratings")
    repeated = table.filter(table.select("user", "item").is_duplicated())
    if not repeated.is_empty():
        user, item, _ = repeated.row(0)
        message = f"{path}: user {user!r} rated item {item!r} more than once"
        raise ValueError(message)
    return table


def _coded(table: pl.DataFrame, users: list[str], items: list[str], path: Path) -> pl.DataFrame:
    """Replace ids by their position in the files."""
    known = pl.col("item").is_in(items)
    unknown = table.filter(~known)["item"].unique(maintain_order=True).to_list()
    if unknown:
        message = f"{path}: {len(unknown)} items are not in the items file: {unknown[:5]}"
        raise ValueError(message)
    return table.with_columns(
        user=pl.col("user").replace_strict(users, range(len(users)), return_dtype=pl.Int64),
        item=pl.col("item").replace_strict(items, range(len(items)), return_dtype=pl.Int64),
    )
