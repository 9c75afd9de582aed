"""The Yelp pipeline reads line by line, and says which file is missing or unreadable."""

import json
import tarfile
import tracemalloc

import numpy as np
import pytest

from duelist.experiments.data import yelp

BUSINESS = "yelp_academic_dataset_business.json"
REVIEW = "yelp_academic_dataset_review.json"


def business(key):
    """A line of the business file with the fields that are read."""
    entry = {"business_id": key, "name": key, "city": "Philadelphia", "review_count": 500}
    return json.dumps({**entry, "categories": "Restaurants"}).encode()


def review(user, key, text="good"):
    """A line of the review file with the fields that are read."""
    entry = {"user_id": user, "business_id": key, "stars": 4.0, "text": text}
    return json.dumps({**entry, "date": "2018-07-07 22:09:11"}).encode()


def write_directory(directory, businesses, reviews):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / BUSINESS).write_bytes(b"\n".join(businesses))
    (directory / REVIEW).write_bytes(b"\n".join(reviews))
    return directory


def write_tar(directory, path):
    with tarfile.open(path, "w") as archive:
        archive.add(directory / BUSINESS, BUSINESS)
        archive.add(directory / REVIEW, REVIEW)
    return path


def one_hot(texts):
    return np.eye(len(texts))


@pytest.mark.parametrize("archived", [False, True])
def test_memory_does_not_grow_with_the_review_file(tmp_path, archived):
    long_text = "a long story about dinner " * 400
    kept = [review(f"u{user}", key) for user in range(5) for key in ("A", "B")]
    other = [review(f"v{n}", f"elsewhere{n % 50}", text=long_text) for n in range(1500)]
    other += [review(f"w{n}", "A", text=long_text) for n in range(500)]  # popular, user not active
    path = write_directory(tmp_path / "d", [business("A"), business("B")], kept + other)
    size = (path / REVIEW).stat().st_size
    if archived:
        path = write_tar(path, tmp_path / "yelp.tar")
    tracemalloc.start()
    try:
        result = yelp(path, min_reviews=1, min_restaurants=2, embedding=one_hot)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.counts["reviews read"] == 2010
    assert size > 20_000_000
    assert peak < size / 20


def test_file_without_line_ends_is_refused(tmp_path):
    path = write_directory(tmp_path, [business("A")], [b"x" * (17 << 20)])
    with pytest.raises(ValueError, match=rf"{REVIEW} .* is not JSON lines"):
        yelp(path, min_reviews=1)


def test_file_that_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "yelp.zip"
    path.write_bytes(b"PK\x03\x04 not a tar")
    with pytest.raises(ValueError, match="neither a directory nor a tar archive"):
        yelp(path)


def test_archive_without_the_files_is_refused(tmp_path):
    path = tmp_path / "yelp.tar"
    (tmp_path / "other.json").write_bytes(b"{}")
    with tarfile.open(path, "w") as archive:
        archive.add(tmp_path / "other.json", "other.json")
    with pytest.raises(FileNotFoundError, match="has no file yelp_academic_dataset_business"):
        yelp(path)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent does not exist"):
        yelp(tmp_path / "absent")
    directory = write_directory(tmp_path / "d", [business("A")], [review("u", "A")])
    (directory / REVIEW).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no file {REVIEW}"):
        yelp(directory)
    (directory / BUSINESS).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no file {BUSINESS}"):
        yelp(directory)
