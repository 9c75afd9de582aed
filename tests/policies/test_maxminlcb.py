"""MaxMinLCB and its mirror game against the Stackelberg game played out one action at a time."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from tests.policies import cases

from duelist.belief import FixedBeta, adaptive_prior
from duelist.policies import MaxMinLCB, MaxMinUCB

pytestmark = pytest.mark.usefixtures("x64_mode")


def stackelberg(lcb, members):
    """Algorithm maxmin: every leader anticipates the follower's answer."""
    best, pair = -np.inf, None
    for x in members:
        follower = min(members, key=lambda y, x=x: lcb[x, y])
        if lcb[x, follower] > best:
            best, pair = lcb[x, follower], (x, follower)
    return pair


def test_plays_the_equilibrium_over_all_actions(many):
    domain, posteriors = many
    expected = [stackelberg(lcb, range(cases.N)) for lcb, _, _ in posteriors.tables()]
    chosen = cases.asks(MaxMinLCB(domain, posteriors.beliefs), posteriors.beliefs)
    assert [tuple(pair) for pair in chosen] == expected
    assert len(set(expected)) > 20


def test_plays_the_equilibrium_over_the_plausible_set(many):
    domain, posteriors = many
    tables = posteriors.tables()
    sets = [cases.plausible_set(ucb) for _, ucb, _ in tables]
    expected = [stackelberg(lcb, m) for (lcb, _, _), m in zip(tables, sets, strict=True)]
    policy = MaxMinLCB(domain, posteriors.beliefs, restrict=True)
    chosen = cases.asks(policy, posteriors.beliefs)
    assert [tuple(pair) for pair in chosen] == expected
    assert {len(m) for m in sets} >= {1, 2, 3, cases.N}


def test_the_restriction_matters_where_probabilities_saturate(many):
    """Utilities 6, 3, 0 and widths .3 (0, 1), .4 (1, 2), .6 (0, 2) with beta = 1.

    s(3) = .953 and s(6) = .998. UCB(1, 0) = .047 + .3 rules out action 1, UCB(2, 1) = .047 + .4
    action 2, so M_t = {0} and the restricted game is (0, 0). Without M_t the follower of 0 is 2:
    LCB(0, 2) = .998 - .6 = .398 is below LCB(0, 1) = .953 - .3 = .653 and LCB(0, 0) = .5. The
    leader stays 0, for LCB(1, 0) = .047 - .3 and LCB(2, 0) = .002 - .6.
    """
    domain = cases.domain_of(3)
    state = cases.state_of(domain, f=[6.0, 3.0, 0.0], widths=[0.3, 0.6, 0.4], beta=1.0)
    assert cases.ask(MaxMinLCB(domain, state), state) == (0, 2)
    assert cases.ask(MaxMinLCB(domain, state, restrict=True), state) == (0, 0)


def test_the_restriction_is_void_in_utility_space(x64_mode):
    """There h - (beta/L) sigma obeys the triangle inequality, so what z rules out z also replaces.

    If LCB(z, y) > 0, then LCB(x, z) < LCB(x, y) for every leader x, and LCB(z, .) > LCB(y, .).
    """
    domain = cases.domain_of()
    posteriors = cases.posteriors(domain, 60, seed=2, space="utility")
    beliefs = posteriors.beliefs
    free = cases.asks(MaxMinLCB(domain, beliefs), beliefs)
    restricted = cases.asks(MaxMinLCB(domain, beliefs, restrict=True), beliefs)
    np.testing.assert_array_equal(free, restricted)
    assert len(set(cases.unordered(free))) > 10


def test_the_other_mirror_is_the_same_game_with_roles_swapped(many):
    """min over x' of max over x of UCB(x, x') picks the leader as x', the follower as x."""
    domain, posteriors = many
    swapped = []
    for _, ucb, _ in posteriors.tables():
        second = min(range(cases.N), key=lambda y, ucb=ucb: max(ucb[:, y]))
        swapped.append((second, int(np.argmax(ucb[:, second]))))
    chosen = cases.asks(MaxMinLCB(domain, posteriors.beliefs), posteriors.beliefs)
    assert [tuple(pair) for pair in chosen] == swapped


def test_maxminucb_plays_against_the_rival_it_may_beat_least(many):
    domain, posteriors = many
    expected = []
    for _, ucb, _ in posteriors.tables():
        rivals = [
            min((y for y in range(cases.N) if y != x), key=lambda y, x=x, ucb=ucb: ucb[x, y])
            for x in range(cases.N)
        ]
        leader = max(range(cases.N), key=lambda x, ucb=ucb, rivals=rivals: ucb[x, rivals[x]])
        expected.append((leader, rivals[leader]))
    chosen = cases.asks(MaxMinUCB(domain, posteriors.beliefs), posteriors.beliefs)
    assert [tuple(pair) for pair in chosen] == expected
    assert np.all(chosen[:, 0] != chosen[:, 1])


def test_a_belief_with_doubts_names_a_rival_of_the_leader():
    """Action 0 beat 1 and 2: at beta = 0 it would duel itself, unless the others are worth it."""
    domain = cases.domain_of(3)
    belief = adaptive_prior(domain, beta=FixedBeta(0))
    for query in [(0, 1), (0, 1), (0, 2), (0, 1)]:
        belief = belief.tell(query, 1.0)
    certain, doubtful = (
        eqx.tree_at(lambda b: b.caution, belief, jnp.asarray(caution)) for caution in (99.0, 0.0)
    )
    stakes = [float(doubtful.stake(x, 0)) for x in range(3)]
    assert max(stakes) > 0 == stakes[0]
    assert cases.ask(MaxMinLCB(domain, certain), certain) == (0, 0)
    assert cases.ask(MaxMinLCB(domain, doubtful), doubtful) == (0, int(np.argmax(stakes)))
