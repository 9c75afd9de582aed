"""MaxInP against its pseudo-code: the widest pair of plausible actions."""

import itertools

import pytest
from tests.policies import cases

from duelist.policies import MaxInP

pytestmark = pytest.mark.usefixtures("x64_mode")


def test_asks_the_widest_plausible_pair(many):
    domain, posteriors = many
    expected = []
    for _, ucb, width in posteriors.tables():
        members = cases.plausible_set(ucb)
        pairs = itertools.combinations_with_replacement(members, 2)
        expected.append(max(pairs, key=lambda pair, width=width: width[pair]))
    chosen = cases.asks(MaxInP(domain, posteriors.beliefs), posteriors.beliefs)
    assert cases.unordered(chosen) == expected
    assert any(x == y for x, y in expected)


def test_either_order_of_the_pair_is_asked(many):
    """sigma is symmetric; the tie is broken by the key."""
    domain, posteriors = many
    state = cases.pick(posteriors.beliefs, 0)
    chosen = cases.asks_often(MaxInP(domain, state), state, 200)
    ways = {tuple(pair) for pair in chosen.tolist()}
    assert len(ways) == 2
    assert len(set(cases.unordered(chosen))) == 1
