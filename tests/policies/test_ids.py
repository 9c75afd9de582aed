"""IDS against its pseudo-code, with a search over a fine grid of p instead of the closed form."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from tests.policies import cases

from duelist.policies import IDS
from duelist.policies._ids import information_ratio

pytestmark = pytest.mark.usefixtures("x64_mode")

GRID = np.linspace(0, 1, 20001)[1:]
LIPSCHITZ = 0.25


class Choice(NamedTuple):
    """x1, x2, p and the smallest ratio; `clear` if no other action comes near it."""

    greedy: int
    informative: int
    p: float
    ratio: float
    clear: bool


def search(f, covariance, beta, noise) -> Choice:
    """Algorithm kernel_ids, minimising over every action and every p of the grid."""
    n, width = len(f), cases.sigma(covariance)
    greedy = int(np.argmax(f))
    u = max(f[x] - f[greedy] + beta / LIPSCHITZ * width[x, greedy] for x in range(n))
    best, at = np.full(n, np.inf), np.zeros(n)
    for x in range(n):
        information = np.log(1 + width[greedy, x] ** 2 / noise)
        if x != greedy:
            gap = u + f[greedy] - f[x]
            ratios = ((1 - GRID) * u + GRID * gap) ** 2 / (GRID * information)
            best[x], at[x] = ratios.min(), GRID[ratios.argmin()]
    x = int(np.argmin(best))
    clear = np.sort(best)[1] > best[x] * (1 + 1e-4)
    return Choice(greedy, x, float(at[x]), float(best[x]), bool(clear))


@pytest.fixture(scope="module")
def choices(many):
    _, posteriors = many
    noise = float(cases.pick(posteriors.beliefs, 0).constants.noise)
    return [
        search(*case, noise)
        for case in zip(posteriors.f, posteriors.covariance, posteriors.beta, strict=True)
    ]


def test_the_cases_cover_both_branches_of_the_closed_form(choices):
    assert sum(c.p == 1 for c in choices) > 5
    assert sum(c.p < 1 for c in choices) > 5
    assert sum(c.clear for c in choices) > 55


def test_asks_the_greedy_action_with_itself_or_the_informative_one(many, choices):
    domain, posteriors = many
    for seed in range(3):
        keys = cases.keys(60, seed)
        chosen = cases.asks(IDS(domain, posteriors.beliefs), posteriors.beliefs, keys)
        for (x, y), choice in zip(chosen, choices, strict=True):
            assert x == choice.greedy
            if choice.clear:
                assert y in (choice.greedy, choice.informative)
            if choice.clear and choice.p == 1:
                assert y == choice.informative


def test_explores_with_the_best_probability(many, choices):
    """For the posteriors with p in the middle: a binomial test on 4000 draws each."""
    domain, posteriors = many
    middling = [i for i, c in enumerate(choices) if 0.05 < c.p < 0.95 and c.clear]
    assert len(middling) >= 4
    for i in middling:
        state = cases.pick(posteriors.beliefs, i)
        chosen = cases.asks_often(IDS(domain, state), state, 4000)
        explored = int(np.sum(chosen[:, 1] == choices[i].informative))
        assert scipy.stats.binomtest(explored, 4000, choices[i].p).pvalue > 1e-3


def test_the_closed_form_is_the_minimum_over_p():
    """(p + p*)^2 / (4 p p*) is the ratio to the minimum at p* < 1: below 1 + 2e-6 on the grid."""
    u, excess, information = np.random.default_rng(0).exponential(size=(3, 300))
    inner = u > 0.01 * excess
    ratios = (u + GRID[:, None] * excess) ** 2 / (GRID[:, None] * information)
    closed = np.asarray(jax.vmap(information_ratio)(*map(jnp.asarray, (u, excess, information))))
    lowest = ratios.min(axis=0)
    assert np.all(closed <= lowest * (1 + 1e-12))
    np.testing.assert_allclose(closed[inner], lowest[inner], rtol=2e-6)
    assert 50 < np.sum(u < excess) < 250
    assert inner.sum() > 290


def test_a_pair_that_teaches_nothing_has_an_infinite_ratio():
    u, excess, nothing = jnp.asarray(0.5), jnp.asarray(0.0), jnp.asarray(0.0)
    assert np.isposinf(information_ratio(u, excess, nothing))


def test_the_utility_coefficient_is_beta_over_lipschitz(many):
    _, posteriors = many
    state = cases.pick(posteriors.beliefs, 7)
    assert float(state.utility_beta) == pytest.approx(posteriors.beta[7] / LIPSCHITZ)
    steeper = state.constants._replace(lipschitz=jnp.asarray(0.1))
    other = dataclasses.replace(state, constants=steeper)
    assert float(other.utility_beta) == pytest.approx(posteriors.beta[7] / 0.1)
