"""The two files of the Yelp Open Dataset that matter here, read line by line.

Format: one JSON object per line, in `yelp_academic_dataset_business.json` and
`yelp_academic_dataset_review.json`, as Yelp distributes them: in a directory or inside its .tar.
"""

import json
import tarfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

BUSINESS_FILE = "yelp_academic_dataset_business.json"
REVIEW_FILE = "yelp_academic_dataset_review.json"

# The longest lines of the data set have a few thousand bytes; a file without line ends is not JSON
# lines, and reading on would put all of it in memory.
_LONGEST_LINE = 1 << 24


class Business(NamedTuple):
    """What is used of a line of the business file; a missing text is ""."""

    key: str
    name: str
    city: str
    categories: frozenset[str]
    review_count: int


class Review(NamedTuple):
    """What is used of a line of the review file."""

    user: str
    business: str
    stars: float
    date: datetime
    text: str


def read_lines(path: Path, name: str) -> Iterator[bytes]:
    """Yield the non-blank lines of a data file, in a directory or a tar archive.

    Raises:
        FileNotFoundError: if there is no such directory, archive or file in it.
        ValueError: if the path is neither a directory nor a tar archive, or a line never ends.
    """
    with _opened(path, name) as file:
        while line := file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE:
                raise ValueError(f"{name} in {path} is not JSON lines: a line is over 16 MiB long")
            if not line.isspace():
                yield line


@contextmanager
def _opened(path: Path, name: str) -> Generator[BufferedReader]:
    if path.is_dir():
        file_path = path / name
        if not file_path.is_file():
            raise FileNotFoundError(f"{path} has no file {name}; is it the Yelp Open Dataset?")
        with file_path.open("rb") as file:
            yield file
    elif not path.exists():
        raise FileNotFoundError(f"{path} does not exist; expected a directory or .tar with {name}")
    else:
        with _archive(path) as archive:
            yield _member(archive, path, name)


@contextmanager
def _archive(path: Path) -> Generator[tarfile.TarFile]:
    try:
        archive = tarfile.open(path)  # noqa: SIM115 - closed below; only opening it is guarded
    except tarfile.ReadError as error:
        raise ValueError(f"{path} is neither a directory nor a tar archive: {error}") from error
    with archive:
        yield archive


def _member(archive: tarfile.TarFile, path: Path, name: str) -> BufferedReader:
    for member in archive:
        if member.isfile() and PurePosixPath(member.name).name == name:
            file = archive.extractfile(member)
            if isinstance(file, BufferedReader):
                return file
    raise FileNotFoundError(f"{path} has no file {name} in it; is it the Yelp Open Dataset?")


def parse_business(line: bytes) -> Business | None:
    """Return a line of the business file, or None if it is malformed."""
    entry = _object(line)
    if entry is None:
        return None
    key, count = entry.get("business_id"), entry.get("review_count")
    if not (isinstance(key, str) and key and type(count) is int and count >= 0):
        return None
    name = _text(entry.get("name"))
    return Business(key, name, _text(entry.get("city")), _categories(entry), count)


def parse_review(line: bytes) -> Review | None:
    """Return a line of the review file, or None if it is malformed."""
    entry = _object(line)
    if entry is None:
        return None
    user, business, text = entry.get("user_id"), entry.get("business_id"), entry.get("text")
    stars, date = _stars(entry.get("stars")), _date(entry.get("date"))
    if not (isinstance(user, str) and user and isinstance(business, str) and business):
        return None
    if not isinstance(text, str) or stars is None or date is None:
        return None
    return Review(user, business, stars, date, text)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _categories(entry: dict[str, Any]) -> frozenset[str]:
    """Return the categories, which are a comma-separated text, in older releases a list."""
    value = entry.get("categories")
    parts = value if isinstance(value, list) else _text(value).split(",")
    return frozenset(name for part in parts if (name := _text(part)))


def _stars(value: Any) -> float | None:
    """Return a rating from 1 to 5, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 1 <= value <= 5 else None


def _date(value: Any) -> datetime | None:
    """Return a local date and time as Yelp writes them, or None."""
    if not isinstance(value, str):
        return None
    try:
        date = datetime.fromisoformat(value)
    except ValueError:
        return None
    return date if date.tzinfo is None else None
