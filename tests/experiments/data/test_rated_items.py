"""RatedItems refuses what no experiment could use."""

import dataclasses
import pickle

import numpy as np
import pytest

from duelist.experiments.data import RatedItems

GOOD = {
    "items": ("a", "b", "c"),
    "features": np.arange(6.0).reshape(3, 2),
    "utilities": np.arange(6.0).reshape(2, 3),
    "users": ("u", "v"),
    "counts": {"items": 3},
    "source": "made up",
    "citation": "none",
}


def with_entry(matrix, value):
    changed = matrix.copy()
    changed[1, 0] = value
    return changed


def test_good_input_is_kept():
    rated = RatedItems(**GOOD)
    np.testing.assert_array_equal(rated.features, GOOD["features"])
    np.testing.assert_array_equal(rated.utilities, GOOD["utilities"])
    assert (rated.items, rated.users, rated.counts) == (("a", "b", "c"), ("u", "v"), {"items": 3})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("items", (), "items must not be empty"),
        ("users", (), "users must not be empty"),
        ("items", ("a", "b", "a"), "items must be distinct, but 'a' occurs more than once"),
        ("users", ("u", "u"), "users must be distinct, but 'u'"),
        ("features", np.zeros((2, 2)), r"features must have shape \[3, >= 1\], got \[2, 2\]"),
        ("features", np.zeros((3, 0)), r"features must have shape \[3, >= 1\], got \[3, 0\]"),
        ("features", np.zeros(3), r"features must have shape \[3, >= 1\], got \[3\]"),
        ("features", with_entry(GOOD["features"], np.nan), r"features .* is at \[1, 0\]: nan"),
        ("utilities", with_entry(GOOD["utilities"], np.inf), r"utilities .* is at \[1, 0\]: inf"),
        ("utilities", np.zeros((3, 3)), r"utilities must have shape \[2, >= 1\], got \[3, 3\]"),
        ("utilities", np.zeros((2, 4)), r"one column per item \(3\), got 4"),
        ("counts", {"items": -1}, "counts must not be negative, but 'items' is -1"),
    ],
)
def test_bad_input_is_named(field, value, message):
    with pytest.raises(ValueError, match=message):
        RatedItems(**{**GOOD, field: value})


def test_it_does_not_change_with_what_it_was_made_of():
    features, counts = GOOD["features"].copy(), {"items": 3}
    rated = RatedItems(**{**GOOD, "features": features, "counts": counts})
    features[:] = -1
    counts["items"] = 0
    np.testing.assert_array_equal(rated.features, GOOD["features"])
    assert rated.counts == {"items": 3}
    with pytest.raises(ValueError, match="read-only"):
        rated.utilities[0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        rated.source = "other"


def test_it_travels_between_processes():
    rated = RatedItems(**GOOD)
    copy = pickle.loads(pickle.dumps(rated))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(copy.utilities, rated.utilities)
    assert (copy.items, copy.counts) == (rated.items, rated.counts)
