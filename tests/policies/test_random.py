"""Uniform queries: every pair, or every action, equally often."""

import numpy as np
import pytest
import scipy.stats
from tests.policies import cases

from duelist.policies import RandomDuel, RandomRating

pytestmark = pytest.mark.usefixtures("x64_mode")


def test_pairs_are_uniform_and_independent(many):
    """4000 draws over 64 pairs."""
    domain, posteriors = many
    state = cases.pick(posteriors.beliefs, 0)
    chosen = cases.asks_often(RandomDuel(domain, state), state, 4000)
    counts = np.bincount(chosen[:, 0] * cases.N + chosen[:, 1], minlength=cases.N**2)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_ratings_are_uniform(many):
    domain, posteriors = many
    state = cases.pick(posteriors.beliefs, 0)
    chosen = cases.asks_often(RandomRating(domain, state), state, 4000)
    assert chosen.shape == (4000, 1)
    assert scipy.stats.chisquare(np.bincount(chosen[:, 0], minlength=cases.N)).pvalue > 1e-3
