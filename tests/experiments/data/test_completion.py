"""Collaborative filtering against the textbook's loop, and its properties."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duelist.experiments.data import complete


def textbook(ratings, seed, factors, epochs, rate, penalty):
    """Stochastic gradient descent on (r - mu - b_u - b_i - q.p)^2 + penalty * (squares)."""
    users, items = ratings.shape
    generator = np.random.RandomState(seed)
    p = generator.normal(0, 0.1, (users, factors))
    q = generator.normal(0, 0.1, (items, factors))
    mean = np.nanmean(ratings)
    b_user, b_item = np.zeros(users), np.zeros(items)
    for _ in range(epochs):
        for u, i in np.argwhere(~np.isnan(ratings)):
            error = ratings[u, i] - (mean + b_user[u] + b_item[i] + q[i] @ p[u])
            b_user[u] += rate * (error - penalty * b_user[u])
            b_item[i] += rate * (error - penalty * b_item[i])
            p[u], q[i] = (
                p[u] + rate * (error * q[i] - penalty * p[u]),
                q[i] + rate * (error * p[u] - penalty * q[i]),
            )
    return mean + b_user[:, None] + b_item[None, :] + p @ q.T


@st.composite
def incomplete(draw):
    """Ratings from 1 to 5 with gaps, and at least one rating in every row and column."""
    users, items = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ratings = generator.integers(1, 6, (users, items)).astype(float)
    gaps = generator.random((users, items)) < draw(st.floats(0.0, 0.9))
    diagonal = np.arange(max(users, items))
    gaps[diagonal % users, diagonal % items] = False
    return np.where(gaps, np.nan, ratings)


@given(incomplete(), st.integers(0, 5))
def test_given_ratings_stay_and_estimates_lie_in_the_scale(ratings, seed):
    result = complete(ratings, scale=(1.0, 5.0), seed=seed)
    observed = ~np.isnan(ratings)
    np.testing.assert_array_equal(result[observed], ratings[observed])
    assert np.all((result >= 1.0) & (result <= 5.0))
    np.testing.assert_array_equal(result, complete(ratings, scale=(1.0, 5.0), seed=seed))


@given(incomplete())
def test_the_input_is_left_alone(ratings):
    before = ratings.copy()
    result = complete(ratings)
    result[:] = 0.0
    np.testing.assert_array_equal(ratings, before)


@given(incomplete(), st.integers(0, 3))
def test_agreement_with_the_textbook(ratings, seed):
    settings = {"factors": 3, "epochs": 7, "learning_rate": 0.02, "regularisation": 0.1}
    result = complete(ratings, scale=(-1e6, 1e6), seed=seed, **settings)
    expected = textbook(ratings, seed, 3, 7, 0.02, 0.1)
    missing = np.isnan(ratings)
    np.testing.assert_allclose(result[missing], expected[missing], rtol=1e-10)


def test_defaults_are_the_released_settings():
    generator = np.random.default_rng(1)
    ratings = generator.integers(1, 6, (5, 8)).astype(float)
    missing = generator.random((5, 8)) < 0.3
    result = complete(np.where(missing, np.nan, ratings), scale=(1.0, 5.0), seed=4)
    expected = textbook(np.where(missing, np.nan, ratings), 4, 30, 50, 0.005, 0.02)
    np.testing.assert_allclose(result[missing], np.clip(expected, 1, 5)[missing], rtol=1e-10)


def test_seeds_differ():
    ratings = np.array([[1.0, np.nan, 5.0], [2.0, 3.0, np.nan]])
    assert np.any(complete(ratings, seed=0) != complete(ratings, seed=1))


def test_it_finds_structure():
    """Ratings made of biases and one factor are predicted better than by the mean."""
    generator = np.random.default_rng(0)
    users, items = generator.normal(size=60), generator.normal(size=80)
    truth = 3 + 0.5 * users[:, None] + 0.5 * items[None, :] + 0.8 * np.outer(users, items)
    missing = generator.random(truth.shape) < 0.3
    result = complete(np.where(missing, np.nan, truth), seed=0, factors=4, epochs=200)
    error = np.sqrt(np.mean((result - truth)[missing] ** 2))
    assert error < 0.25 * np.std(truth[missing])


def test_estimates_are_clipped_to_the_ratings_given_by_default():
    ratings = np.array([[2.0, 2.0, 2.0], [4.0, 4.0, np.nan], [np.nan, 2.0, 2.0]])
    result = complete(ratings, epochs=500, learning_rate=0.05)
    assert result.min() >= 2.0
    assert result.max() <= 4.0


def test_complete_ratings_need_no_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "surprise", None)
    ratings = np.array([[1.0, 2.0]])
    np.testing.assert_array_equal(complete(ratings), ratings)
    with pytest.raises(ImportError, match="needs the package scikit-surprise"):
        complete(np.array([[1.0, np.nan], [1.0, 2.0]]))


@pytest.mark.parametrize(
    ("ratings", "arguments", "message"),
    [
        (np.zeros((0, 3)), {}, r"non-empty matrix, got shape \[0, 3\]"),
        (np.zeros(3), {}, r"non-empty matrix, got shape \[3\]"),
        (np.array([[1.0, np.inf]]), {}, "one is infinite"),
        (np.array([[1.0, 2.0], [np.nan, np.nan]]), {}, r"row \(user\), but 1 have none.*is 1"),
        (np.array([[1.0, np.nan], [1.0, np.nan]]), {}, r"column \(item\), but 1 have none"),
        (np.array([[0.5]]), {"scale": (1.0, 5.0)}, r"in the scale \[1.0, 5.0\], got \[0.5, 0.5\]"),
        (np.array([[1.0]]), {"factors": 0}, "factors must be at least 1, got 0"),
        (np.array([[1.0]]), {"epochs": 0}, "epochs must be at least 1, got 0"),
        (np.array([[1.0]]), {"learning_rate": 0.0}, "learning_rate must be positive"),
        (np.array([[1.0]]), {"regularisation": -1.0}, "regularisation must not be negative"),
    ],
)
def test_bad_input_is_named(ratings, arguments, message):
    with pytest.raises(ValueError, match=message):
        complete(ratings, **arguments)
