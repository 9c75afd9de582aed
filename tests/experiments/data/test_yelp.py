"""The Yelp pipeline against counts made by hand, on data in Yelp's format."""

import json
import random
import tarfile
from pathlib import Path

import numpy as np
import pytest

from duelist.experiments.data import YELP_PAPER_COUNTS, complete, yelp

BUSINESS = "yelp_academic_dataset_business.json"
REVIEW = "yelp_academic_dataset_review.json"


def business(key, *, city="Philadelphia", categories="Restaurants, Pizza", count=9, name=None):
    """A line of the business file, with all the fields that Yelp writes."""
    entry = {
        "business_id": key,
        "name": f"Name of {key}" if name is None else name,
        "address": "1 Main St",
        "city": city,
        "state": "PA",
        "postal_code": "19107",
        "latitude": 39.95,
        "longitude": -75.15,
        "stars": 4.0,
        "review_count": count,
        "is_open": 1,
        "attributes": None,
        "categories": categories,
        "hours": None,
    }
    return json.dumps(entry).encode()


def review(user, key, stars=4.0, date="2018-07-07 22:09:11", text=None):
    """A line of the review file, with all the fields that Yelp writes."""
    entry = {
        "review_id": f"{user}-{key}-{date}",
        "user_id": user,
        "business_id": key,
        "stars": stars,
        "useful": 0,
        "funny": 0,
        "cool": 0,
        "text": f"{user} ate at {key}" if text is None else text,
        "date": date,
    }
    return json.dumps(entry).encode()


def without(line, field):
    """The same line without one of its fields."""
    entry = json.loads(line)
    del entry[field]
    return json.dumps(entry).encode()


def write_directory(directory: Path, businesses, reviews) -> Path:
    """Write both files into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / BUSINESS).write_bytes(b"\n".join(businesses) + b"\n")
    (directory / REVIEW).write_bytes(b"\n".join(reviews) + b"\n")
    return directory


def write_tar(directory: Path, path: Path, mode="w") -> Path:
    """Pack both files the way Yelp ships them, beside a file that is not ours to read."""
    (directory / "Dataset_User_Agreement.pdf").write_bytes(b"%PDF")
    with tarfile.open(path, mode) as archive:
        archive.add(directory / "Dataset_User_Agreement.pdf", "Dataset_User_Agreement.pdf")
        archive.add(directory / REVIEW, f"yelp_dataset/{REVIEW}")
        archive.add(directory / BUSINESS, f"yelp_dataset/{BUSINESS}")
    return path


HAND_MADE_BUSINESSES = [
    business("B1", count=5, name="Pho"),
    business("B2", city=" philadelphia ", categories="Food, Restaurants", count=3, name="Pho"),
    b"{ this is not JSON",
    business("B3", count=2, categories="Restaurants"),
    business("B4", city="Tampa", count=10),
    b"",
    business("B5", categories="Shopping", count=9),
    without(business("B6"), "city"),
    business("B7", categories=None),
    business("B8", count=4),
    business("B9", count=4, categories=["Restaurants", "Thai"], name="Thai"),
    business("B10", categories="Restaurant Supplies"),
    business("B1", count=99, name="Pho again"),
    b"[]",
    without(business("B11"), "review_count"),
    business("B12", count="500"),
    b"\xff\xfe" + business("B13"),
    business("B14", city=None),
]

HAND_MADE_REVIEWS = [
    review("u1", "B1", 4.0, "2020-01-02 10:00:00", "new pho"),
    review("u1", "B1", 2.0, "2019-01-02 10:00:00", "old pho"),
    review("u1", "B2", 5, "2020-03-01 10:00:00", "good soup"),
    review("u1", "B9", 1.0, "2020-03-02 10:00:00", "thai curry"),
    b'{"review_id": "cut off',
    review("u2", "B1", 3.0, "2018-05-05 10:00:00", "first pho"),
    review("u2", "B2", 2.0, "2018-05-06 10:00:00", "thin soup"),
    review("u3", "B1", 1.0, "2018-05-05 10:00:00"),
    review("u3", "B1", 5.0, "2018-05-06 10:00:00"),
    review("u4", "B8", 4.0),
    review("u4", "B3", 4.0),
    review("u5", "B4", 4.0),
    review("u5", "B5", 4.0),
    without(review("u2", "B9"), "user_id"),
    review("u2", "B9", 7.0),
    review("u2", "B9", True),
    review("u2", "B9", "4"),
    review("u2", "B9", date="yesterday"),
    review("u2", "B9", date="2018-05-05T10:00:00+02:00"),
    without(review("u2", "B9"), "text"),
    review("u2", "B9", float("nan")),
    b"null",
    b"   ",
]

THRESHOLDS = {"min_reviews": 3, "min_restaurants": 2}


def one_hot(texts):
    return np.eye(len(texts))


@pytest.fixture
def directory(tmp_path):
    return write_directory(tmp_path / "yelp", HAND_MADE_BUSINESSES, HAND_MADE_REVIEWS)


def test_counts_after_each_filter(directory):
    assert yelp(directory, **THRESHOLDS, embedding=one_hot).counts == {
        "businesses read": 17,
        "malformed businesses": 5,
        "duplicate businesses": 1,
        "businesses without a city": 2,
        "businesses without categories": 1,
        "restaurants": 8,
        "restaurants in the city": 5,
        "candidate restaurants": 4,
        "reviews read": 22,
        "malformed reviews": 10,
        "reviews of candidates": 9,
        "popular restaurants": 4,
        "users of popular restaurants": 4,
        "users with enough reviews": 3,
        "reviews by active users": 6,
        "duplicate reviews": 1,
        "reviews kept": 5,
        "items": 3,
        "users": 2,
        "ratings": 5,
        "ratings filled": 1,
        "dimensions": 3,
    }


def test_paper_counts_are_compared_under_names_that_exist(directory):
    assert yelp(directory, **THRESHOLDS, embedding=one_hot).counts.keys() >= set(YELP_PAPER_COUNTS)


def test_names_ratings_and_texts(directory):
    seen = []

    def recording(texts):
        seen.extend(texts)
        return one_hot(texts)

    result = yelp(directory, **THRESHOLDS, embedding=recording)
    assert result.items == ("Pho [B1]", "Pho [B2]", "Thai")
    assert result.users == ("u1", "u2")
    assert seen == ["first pho\nnew pho", "thin soup\ngood soup", "thai curry"]
    given = np.array([[4.0, 5.0, 1.0], [3.0, 2.0, np.nan]])
    np.testing.assert_array_equal(result.utilities, complete(given, scale=(1.0, 5.0), seed=0))
    assert 1.0 <= result.utilities[1, 2] <= 5.0
    assert "Yelp" in result.source
    assert "may not be redistributed" in result.citation


def test_popularity_counted_in_the_review_file(directory):
    thresholds = {"min_reviews": 2, "min_restaurants": 2, "popularity": "counted"}
    result = yelp(directory, **thresholds, embedding=one_hot)
    # B3 has one reviewer and so have B8 and B9; B1 has three, B2 two.
    assert result.counts["candidate restaurants"] == 5
    assert result.counts["popular restaurants"] == 2
    assert result.items == ("Pho [B1]", "Pho [B2]")
    assert result.counts["reviews kept"] == 4


def test_restaurants_that_are_not_popular_do_not_make_a_user_active(tmp_path):
    businesses = [business("A"), business("B"), business("C")]
    reviews = [review(*pair) for pair in ("uA", "uB", "vA", "vB", "wA", "wC")]
    path = write_directory(tmp_path, businesses, reviews)
    kept = yelp(path, min_reviews=2, min_restaurants=2, popularity="counted", embedding=one_hot)
    assert (kept.items, kept.users) == (("Name of A", "Name of B"), ("u", "v"))


def test_repeated_reviews_do_not_make_a_restaurant_popular(tmp_path):
    businesses = [business("A"), business("B")]
    reviews = [review("u", "A"), review("v", "A"), review("u", "B"), review("u", "B")]
    path = write_directory(tmp_path, businesses, reviews)
    kept = yelp(path, min_reviews=2, min_restaurants=1, popularity="counted", embedding=one_hot)
    assert kept.items == ("Name of A",)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_tar_gives_what_the_directory_gives(directory, tmp_path, mode):
    archive = write_tar(directory, tmp_path / "yelp_dataset.tar", mode)
    expected = yelp(directory, **THRESHOLDS)
    result = yelp(archive, **THRESHOLDS)
    assert (result.counts, result.items, result.users) == (
        expected.counts,
        expected.items,
        expected.users,
    )
    np.testing.assert_array_equal(result.features, expected.features)
    np.testing.assert_array_equal(result.utilities, expected.utilities)


def test_order_of_the_lines_does_not_matter(directory, tmp_path):
    reviews = list(HAND_MADE_REVIEWS)
    random.Random(3).shuffle(reviews)
    shuffled = write_directory(tmp_path / "shuffled", HAND_MADE_BUSINESSES, reviews)
    expected, result = yelp(directory, **THRESHOLDS), yelp(shuffled, **THRESHOLDS)
    assert result.counts == expected.counts
    np.testing.assert_array_equal(result.features, expected.features)
    np.testing.assert_array_equal(result.utilities, expected.utilities)


def test_of_equally_old_reviews_the_last_counts(tmp_path):
    reviews = [review("u", "A", 1.0), review("u", "A", 5.0)]
    path = write_directory(tmp_path, [business("A")], reviews)
    result = yelp(path, min_reviews=1, min_restaurants=1, embedding=one_hot)
    np.testing.assert_array_equal(result.utilities, [[5.0]])


def test_business_without_a_name_goes_by_its_id(tmp_path):
    path = write_directory(tmp_path, [business("A", name="")], [review("u", "A")])
    result = yelp(path, min_reviews=1, min_restaurants=1, embedding=one_hot)
    assert result.items == ("[A]",)


def test_another_city(directory):
    result = yelp(directory, city="tampa", min_reviews=1, min_restaurants=1, embedding=one_hot)
    assert (result.items, result.users) == (("Name of B4",), ("u5",))


def test_the_papers_shape(tmp_path):
    """275 restaurants, 20 users and 2563 reviews survive; what surrounds them does not."""
    generator = np.random.default_rng(0)
    keys = [f"r{number:03d}" for number in range(275)]
    businesses = [business(key, count=500) for key in keys]
    businesses += [business(f"small{number}", count=499) for number in range(30)]
    reviews = []
    for user in range(20):
        # 2563 = 17 * 128 + 3 * 129; each user goes on where the one before stopped.
        number = 129 if user < 3 else 128
        chosen = [(user * 128 + step) % 275 for step in range(number)]
        reviews += [
            review(f"u{user:02d}", keys[r], float(generator.integers(1, 6))) for r in chosen
        ]
        reviews += [review(f"u{user:02d}", f"small{r}") for r in range(30)]
    for user in range(40):  # 89 restaurants that count and 30 that do not
        reviews += [review(f"x{user:02d}", keys[(user + r) % 275]) for r in range(89)]
        reviews += [review(f"x{user:02d}", f"small{r}") for r in range(30)]
    result = yelp(write_directory(tmp_path, businesses, reviews), embedding=one_hot)
    assert {label: result.counts[label] for label in YELP_PAPER_COUNTS} == YELP_PAPER_COUNTS
    assert result.utilities.shape == (20, 275)


@pytest.mark.parametrize("label", ["min_reviews", "min_restaurants"])
def test_thresholds_must_be_positive(directory, label):
    with pytest.raises(ValueError, match=f"{label} must be at least 1, got 0"):
        yelp(directory, **{**THRESHOLDS, label: 0})


def test_arguments_are_checked_before_any_file_is_read(tmp_path):
    with pytest.raises(ValueError, match=r"name must be 'tfidf', .* got 'word2vec'"):
        yelp(tmp_path / "absent", embedding="word2vec")
    with pytest.raises(ValueError, match="min_reviews must be at least 1"):
        yelp(tmp_path / "absent", min_reviews=0)
    # A type checker that watches at run time is faster than the check of the value.
    with pytest.raises((ValueError, TypeError), match="popularity"):
        yelp(tmp_path / "absent", popularity="guessed")


def test_nothing_left_says_which_filter_and_the_counts(directory):
    with pytest.raises(ValueError, match=r"no restaurant .*restaurants in the city: 0"):
        yelp(directory, city="Nowhere")
    with pytest.raises(ValueError, match=r"no user .*popular restaurants: 4"):
        yelp(directory, min_reviews=3, min_restaurants=90)
    (directory / REVIEW).write_bytes(b"")
    with pytest.raises(ValueError, match=r"no review .*reviews of candidates: 0"):
        yelp(directory, **THRESHOLDS)
