"""Small data sets in the format of the Yelp Open Dataset."""

import json
import tarfile
from pathlib import Path

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
