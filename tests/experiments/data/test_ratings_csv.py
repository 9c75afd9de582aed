"""Ratings and items from CSV files, both layouts, and Jester where it is at hand."""

import csv
from pathlib import Path

import numpy as np
import pytest

from duelist.experiments.data import complete, ratings_csv

ITEMS = 'id,text\na,"soup, hot"\nb,pizza\nc,cake\nd,nobody ate this\n'
LONG = "user,item,rating\nv,b,2\nu,a,1.5\nu,b,-3\nv,c,4\nw,b,5\nu,c,\n"
WIDE = "who,b,a,c\nv,2,,4\nu,-3,1.5,\nw,5,,\n"

JESTER = Path(__file__).parents[4] / "shared" / "data" / "jester"
needs_jester = pytest.mark.skipif(
    not JESTER.is_dir(), reason="the Jester ratings are not at ../shared/data/jester"
)


def one_hot(texts):
    return np.eye(len(texts))


@pytest.fixture
def write(tmp_path):
    def files(ratings, items=ITEMS):
        (tmp_path / "ratings.csv").write_text(ratings)
        (tmp_path / "items.csv").write_text(items)
        return tmp_path / "ratings.csv", tmp_path / "items.csv"

    return files


@pytest.mark.parametrize("text", [LONG, WIDE], ids=["long", "wide"])
def test_both_layouts(write, text):
    seen = []

    def recording(texts):
        seen.extend(texts)
        return one_hot(texts)

    rated = ratings_csv(*write(text), embedding=recording, seed=3)
    assert rated.items == ("a", "b", "c")
    assert rated.users == ("v", "u", "w")
    assert seen == ["soup, hot", "pizza", "cake"]
    nan = np.nan
    given = np.array([[nan, 2.0, 4.0], [1.5, -3.0, nan], [nan, 5.0, nan]])
    np.testing.assert_array_equal(rated.utilities, complete(given, seed=3))
    assert rated.source == "ratings.csv and items.csv"
    assert rated.counts == {
        "items read": 4,
        "users read": 3,
        "ratings read": 5,
        "items kept": 3,
        "users of these items": 3,
        "users with enough ratings": 3,
        "items": 3,
        "users": 3,
        "ratings": 5,
        "ratings filled": 4,
        "dimensions": 3,
    }


def test_most_rated_items_and_most_active_users(write):
    # b has three ratings, c two, a one; of b and c, v and u rated both, w rated one.
    paths = write(LONG.replace("u,c,", "u,c,1"))
    rated = ratings_csv(*paths, max_items=2, max_users=2, embedding=one_hot)
    assert (rated.items, rated.users) == (("b", "c"), ("v", "u"))
    np.testing.assert_array_equal(rated.utilities, [[2.0, 4.0], [-3.0, 1.0]])


def test_ties_go_to_what_stands_earlier_in_its_file(write):
    # a and c have one rating each, and so have u and w.
    rated = ratings_csv(*write("user,item,rating\nw,c,1\nu,a,2\n"), max_items=1)
    assert (rated.items, rated.users) == (("a",), ("u",))
    rated = ratings_csv(*write("user,item,rating\nw,a,1\nu,a,2\n"), max_users=1)
    assert (rated.items, rated.users) == (("a",), ("w",))


def test_filters_on_users(write):
    assert ratings_csv(*write(WIDE), min_ratings=2, embedding=one_hot).users == ("v", "u")
    # The two most rated are b and, of a and c, the one that comes first; only u rated both.
    rated = ratings_csv(*write(WIDE), max_items=2, complete_only=True, embedding=one_hot)
    assert (rated.items, rated.users) == (("a", "b"), ("u",))
    assert rated.counts["ratings filled"] == 0
    np.testing.assert_array_equal(rated.utilities, [[1.5, -3.0]])


def test_an_item_may_be_called_user(write):
    rated = ratings_csv(
        *write("who,user,item\nv,1,2\n", "id,text\nuser,soup\nitem,cake\n"), embedding=one_hot
    )
    assert rated.items == ("user", "item")
    np.testing.assert_array_equal(rated.utilities, [[1.0, 2.0]])


def test_scale_source_citation_and_text_column(write):
    paths = write(WIDE, "id,words\na,soup\nb,pizza\nc,cake\n")
    rated = ratings_csv(
        *paths,
        text_column="words",
        scale=(-10.0, 10.0),
        source="a dinner",
        citation="the cook",
    )
    assert (rated.source, rated.citation) == ("a dinner", "the cook")
    with pytest.raises(ValueError, match=r"ratings must lie in the scale \[0.0, 5.0\]"):
        ratings_csv(*paths, text_column="words", scale=(0.0, 5.0))


@pytest.mark.parametrize(
    ("ratings", "items", "arguments", "message"),
    [
        (WIDE, "id,words\na,soup\n", {}, r"items.csv needs an id column and a column 'text', got"),
        (WIDE, "text\nsoup\n", {}, "items.csv needs an id column and a column 'text'"),
        (WIDE, "id,text\na,soup\na,cake\n", {}, "items.csv: id 'a' occurs more than once"),
        (WIDE, "id,text\na,soup\n,cake\n", {}, "column 'id' is empty in data line 2"),
        (WIDE, "id,text\n", {}, "items.csv has no lines after its header"),
        (WIDE, "id,text\na,soup\nb,\nc,cake\n", {}, "items.csv: item 'b' has no text"),
        (WIDE, "id,text\na,soup\n", {}, r"2 items are not in the items file: \['b', 'c'\]"),
        ("who,a\nu,1\nu,2\n", ITEMS, {}, "ratings.csv: who 'u' occurs more than once"),
        ("who,a\n,1\n", ITEMS, {}, "column 'who' is empty in data line 1"),
        ("who,a\nu,\n", ITEMS, {}, "ratings.csv has no ratings"),
        ("who,a\nu,good\n", ITEMS, {}, "the first is 'good' of user 'u' for item 'a'"),
        ("who,a\nu,nan\n", ITEMS, {}, "1 ratings are no finite numbers, the first is 'nan'"),
        ("who,a\nu,inf\n", ITEMS, {}, "1 ratings are no finite numbers, the first is 'inf'"),
        ("who\nu\n", ITEMS, {}, "ratings.csv has no ratings"),
        ("", ITEMS, {}, "ratings.csv cannot be read as CSV"),
        ("who,a\nu,1,2\n", ITEMS, {}, "ratings.csv cannot be read as CSV"),
        ("user,item,rating\nu,a,1\nu,a,2\n", ITEMS, {}, "user 'u' rated item 'a' more than once"),
        ("user,item,rating\nu,,1\n", ITEMS, {}, "column 'item' is empty in data line 1"),
        (WIDE, ITEMS, {"layout": "long"}, "needs the columns 'user', 'item', 'rating', got"),
        (LONG, ITEMS, {"layout": "wide"}, "user 'u' occurs more than once"),
        (WIDE, ITEMS, {"min_ratings": 4}, "no rating passes the filters; .*enough ratings: 0"),
        (WIDE, ITEMS, {"complete_only": True}, "no rating passes the filters"),
        (WIDE, ITEMS, {"min_ratings": 0}, "min_ratings must be at least 1, got 0"),
        (WIDE, ITEMS, {"max_items": 0}, "max_items must be at least 1, got 0"),
    ],
)
def test_bad_input_is_named(write, ratings, items, arguments, message):
    with pytest.raises(ValueError, match=message):
        ratings_csv(*write(ratings, items), **arguments)


def test_arguments_are_checked_before_any_file_is_read(tmp_path):
    with pytest.raises(ValueError, match=r"name must be 'tfidf', .* got 'word2vec'"):
        ratings_csv(tmp_path / "absent", tmp_path / "absent", embedding="word2vec")
    # A type checker that watches at run time is faster than the check of the value.
    with pytest.raises((ValueError, TypeError), match="layout"):
        ratings_csv(tmp_path / "absent", tmp_path / "absent", layout="tall")


def test_missing_files(write, tmp_path):
    ratings, items = write(WIDE)
    for paths in ((tmp_path / "absent", items), (ratings, tmp_path / "absent")):
        with pytest.raises(FileNotFoundError, match="absent"):
            ratings_csv(*paths)


@needs_jester
def test_jester_users_who_rated_all():
    rated = ratings_csv(JESTER / "ratings.csv", JESTER / "jokes.csv", complete_only=True)
    assert rated.items == tuple(f"j{number}" for number in range(1, 101))
    assert rated.features.shape == (100, 32)
    assert rated.counts["users read"] == 5000
    assert rated.counts["ratings read"] == 363_209
    assert rated.counts["ratings filled"] == 0
    with (JESTER / "ratings.csv").open(newline="") as file:
        complete_rows = [row for row in list(csv.reader(file))[1:] if "" not in row]
    assert rated.users == tuple(row[0] for row in complete_rows)
    assert len(rated.users) == 1473
    np.testing.assert_array_equal(rated.utilities, [[*map(float, r[1:])] for r in complete_rows])


@needs_jester
def test_jester_most_active_users():
    rated = ratings_csv(
        JESTER / "ratings.csv", JESTER / "jokes.csv", max_users=2000, scale=(-10.0, 10.0)
    )
    assert rated.utilities.shape == (2000, 100)
    assert rated.counts["ratings filled"] > 0
    assert np.abs(rated.utilities).max() <= 10.0
