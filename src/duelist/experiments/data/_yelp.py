"""The paper's Yelp experiment: restaurants of one city as its keenest reviewers rate them.

The appendix says: restaurants in Philadelphia "with at least 500 reviews and users who reviewed at
least 90 restaurants", leaving 275 restaurants, 20 users and 2563 reviews. The reading implemented
here:

1. restaurants of the city whose number of reviews reaches the threshold ("popular"). The 500 count
   the reviews by everybody, before any user is left out: 2563 / 275 is about 9 reviews per
   restaurant.
2. users who reviewed at least 90 *of the popular restaurants*: with 2563 / 20, about 128 each, that
   leaves the mean above the threshold, as it must; users' reviews elsewhere do not count.
3. the reviews of popular restaurants by those users (2563), and the restaurants that have one
   (275). The texts to embed are these reviews only: some 9 reviews per restaurant fit the embedding
   model's 8192 tokens, 500 would not.

What the text leaves open is a parameter or a count. The number of reviews may be the business
file's own `review_count` or the number of reviewers in the review file (`popularity`). A user may
have several reviews of one restaurant: the newest is kept, "reviews by active users" counts all of
them and "reviews kept" the newest ones; compare both with 2563. "users with enough reviews" counts
the users who reach the threshold only if such repetitions are counted too; compare it and "users"
with 20.
"""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from duelist.experiments.data._assemble import Selection, assemble
from duelist.experiments.data._checks import check_positive
from duelist.experiments.data._embeddings import Embedding, resolved
from duelist.experiments.data._rated_items import RatedItems
from duelist.experiments.data._yelp_files import (
    BUSINESS_FILE,
    REVIEW_FILE,
    Business,
    Review,
    parse_business,
    parse_review,
    read_lines,
)

Popularity: TypeAlias = Literal["field", "counted"]

YELP_PAPER_COUNTS: Mapping[str, int] = {"items": 275, "users": 20, "reviews kept": 2563}
"""The counts that the paper's appendix states, under the names used in `RatedItems.counts`."""

_SOURCE = "Yelp Open Dataset, https://www.yelp.com/dataset"
_CITATION = (
    "Yelp Open Dataset, Yelp Inc. For academic use under Yelp's Dataset User Agreement; "
    "may not be redistributed."
)


def yelp(
    path: Path,
    *,
    city: str = "Philadelphia",
    min_reviews: int = 500,
    min_restaurants: int = 90,
    popularity: Popularity = "field",
    embedding: str | Embedding = "tfidf",
    cache: Path | None = None,
    seed: int = 0,
) -> RatedItems:
    """Read the Yelp Open Dataset and filter it as the paper does (see the module's text).

    The review file is read twice, line by line; memory holds one pair of integers per review of a
    popular restaurant and the texts of the reviews kept. Malformed lines are left out and counted.
    Items are sorted by business id and users by user id, whatever the order in the files.

    Args:
        path: the directory with the two JSON files, or the .tar they come in.
        city: compared without regard to case.
        min_reviews: reviews that make a restaurant popular.
        min_restaurants: popular restaurants that a user must have reviewed.
        popularity: whether the business file's `review_count` counts ("field"), or the reviewers
            found in the review file ("counted"; all restaurants of the city are then held in pass
            one).
        embedding: the name of an embedding or a function from texts to points.
        cache: see `embedding`.
        seed: of the collaborative filtering.

    Raises:
        FileNotFoundError: if the path or one of the files does not exist.
        ValueError: if an argument is out of range, the files are not JSON lines, or a filter leaves
            nothing; the message then gives the counts so far.
    """
    embed = resolved(embedding, cache)
    if popularity not in get_args(Popularity):
        raise ValueError(f"popularity must be 'field' or 'counted', got {popularity!r}")
    check_positive("min_reviews", min_reviews)
    check_positive("min_restaurants", min_restaurants)
    counts: dict[str, int] = {}
    least = min_reviews if popularity == "field" else 0
    businesses = _restaurants(read_lines(path, BUSINESS_FILE), city, least, counts)
    pairs = _pairs(read_lines(path, REVIEW_FILE), businesses, counts)
    popular, users = _filtered(pairs, min_reviews, min_restaurants, popularity, counts)
    newest = _newest_reviews(read_lines(path, REVIEW_FILE), popular, users, counts)
    selection = _selection(newest, businesses, counts)
    return assemble(selection, embed=embed, seed=seed, source=_SOURCE, citation=_CITATION)


def _restaurants(
    lines: Iterable[bytes], city: str, least: int, counts: dict[str, int]
) -> dict[str, Business]:
    """Return the restaurants of a city whose `review_count` is at least `least`."""
    labels = ("businesses read", "malformed businesses", "duplicate businesses")
    labels += ("businesses without a city", "businesses without categories")
    labels += ("restaurants", "restaurants in the city")
    counts.update(dict.fromkeys(labels, 0))
    seen: set[str] = set()
    kept: dict[str, Business] = {}
    for line in lines:
        counts["businesses read"] += 1
        business = parse_business(line)
        if business is None:
            counts["malformed businesses"] += 1
        elif business.key in seen:
            counts["duplicate businesses"] += 1
        else:
            seen.add(business.key)
            if _is_restaurant_in(business, city, counts) and business.review_count >= least:
                kept[business.key] = business
    counts["candidate restaurants"] = len(kept)
    _need(kept, "restaurant", counts)
    return kept


def _is_restaurant_in(business: Business, city: str, counts: dict[str, int]) -> bool:
    restaurant = "Restaurants" in business.categories
    inside = business.city.casefold() == city.strip().casefold()
    counts["businesses without a city"] += not business.city
    counts["businesses without categories"] += not business.categories
    counts["restaurants"] += restaurant
    counts["restaurants in the city"] += restaurant and inside
    return restaurant and inside


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Who reviewed what: user and business numbers, one entry per review in the file."""

    users: list[str]
    businesses: list[str]
    user: NDArray[np.intc]
    business: NDArray[np.intc]


def _pairs(
    lines: Iterable[bytes], candidates: Mapping[str, Business], counts: dict[str, int]
) -> _Pairs:
    """First pass over the reviews: the pairs (user, business) of the candidates."""
    counts.update({"reviews read": 0, "malformed reviews": 0})
    business_numbers = {key: number for number, key in enumerate(candidates)}
    user_numbers: dict[str, int] = {}
    users, businesses = array("i"), array("i")
    for line in lines:
        counts["reviews read"] += 1
        review = parse_review(line)
        if review is None:
            counts["malformed reviews"] += 1
        elif review.business in business_numbers:
            users.append(user_numbers.setdefault(review.user, len(user_numbers)))
            businesses.append(business_numbers[review.business])
    counts["reviews of candidates"] = len(users)
    _need(users, "review", counts)
    return _Pairs(
        users=list(user_numbers),
        businesses=list(business_numbers),
        user=np.asarray(users),
        business=np.asarray(businesses),
    )


def _filtered(
    pairs: _Pairs,
    min_reviews: int,
    min_restaurants: int,
    popularity: Popularity,
    counts: dict[str, int],
) -> tuple[set[str], set[str]]:
    """Return the popular businesses and the users who reviewed enough of them."""
    stride = len(pairs.businesses)
    codes = pairs.user.astype(np.int64) * stride + pairs.business
    user, business = np.divmod(np.unique(codes), stride)
    popular = np.ones(stride, dtype=np.bool_)
    if popularity == "counted":
        popular = np.bincount(business, minlength=stride) >= min_reviews
    counts["popular restaurants"] = int(popular.sum())
    total = len(pairs.users)
    restaurants_of = np.bincount(user[popular[business]], minlength=total)
    reviews_of = np.bincount(pairs.user[popular[pairs.business]], minlength=total)
    active = restaurants_of >= min_restaurants
    counts["users of popular restaurants"] = int((restaurants_of > 0).sum())
    counts["users with enough reviews"] = int((reviews_of >= min_restaurants).sum())
    kept_users = {pairs.users[number] for number in np.flatnonzero(active)}
    _need(kept_users, "user", counts)
    return {pairs.businesses[number] for number in np.flatnonzero(popular)}, kept_users


def _newest_reviews(
    lines: Iterable[bytes], businesses: set[str], users: set[str], counts: dict[str, int]
) -> dict[tuple[str, str], Review]:
    """Second pass: the newest review by (user, business); of equals the last in the file."""
    newest: dict[tuple[str, str], Review] = {}
    found = 0
    for line in lines:
        review = parse_review(line)
        if review is None or review.business not in businesses or review.user not in users:
            continue
        found += 1
        known = newest.get((review.user, review.business))
        if known is None or review.date >= known.date:
            newest[review.user, review.business] = review
    counts["reviews by active users"] = found
    counts["duplicate reviews"] = found - len(newest)
    counts["reviews kept"] = len(newest)
    return newest


def _selection(
    newest: Mapping[tuple[str, str], Review],
    businesses: Mapping[str, Business],
    counts: Mapping[str, int],
) -> Selection:
    """Lay the reviews out as a matrix of stars and one text per restaurant, oldest review first."""
    users = sorted({user for user, _ in newest})
    keys = sorted({key for _, key in newest})
    rows = {user: row for row, user in enumerate(users)}
    columns = {key: column for column, key in enumerate(keys)}
    ratings = np.full((len(users), len(keys)), np.nan)
    texts: dict[str, list[str]] = {key: [] for key in keys}
    for review in sorted(newest.values(), key=lambda review: (review.date, review.user)):
        ratings[rows[review.user], columns[review.business]] = review.stars
        texts[review.business].append(review.text.strip())
    return Selection(
        keys=keys,
        names=[businesses[key].name for key in keys],
        texts=["\n".join(texts[key]) for key in keys],
        users=users,
        ratings=ratings,
        scale=(1.0, 5.0),
        counts=counts,
    )


def _need(found: object, what: str, counts: Mapping[str, int]) -> None:
    if not found:
        listed = ", ".join(f"{label}: {number}" for label, number in counts.items())
        raise ValueError(f"no {what} passes the filters; counts so far: {listed}")
