"""Sparring against its description: two players of their own, each told whether it won."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.policies import cases

from duelist.belief import prior
from duelist.policies import Sparring
from duelist.policies._sparring import SparringState

pytestmark = pytest.mark.usefixtures("x64_mode")


@pytest.fixture(scope="module")
def players(x64_mode):
    domain = cases.domain_of()
    belief = prior(domain, cases.KERNEL, "ratings")
    return Sparring(domain, belief), belief


def test_each_player_takes_its_most_optimistic_action(players):
    policy, _ = players
    first, second = (cases.posteriors(policy.domain, 60, seed, "ratings") for seed in (3, 4))
    chosen = cases.asks(policy, SparringState(first.beliefs, second.beliefs))
    for column, player in zip(chosen.T, (first, second), strict=True):
        for x, f, covariance, beta in zip(
            column, player.f, player.covariance, player.beta, strict=True
        ):
            ucb = [cases.s(f[i]) + beta * np.sqrt(covariance[i, i]) for i in range(cases.N)]
            assert x == np.argmax(ucb)


@pytest.mark.parametrize("answer", [0, 1, 0.25])
def test_each_player_is_told_of_its_own_success(players, answer):
    policy, belief = players
    begin = policy.init(jr.key(0))
    told = policy.tell(begin, (jnp.int32(2), jnp.int32(6)), answer)
    assert_same(told.first, belief.tell((2,), answer))
    assert_same(told.second, belief.tell((6,), 1 - answer))


def test_a_duel_of_an_action_with_itself_teaches_neither(players):
    policy, _ = players
    begin = policy.tell(policy.init(jr.key(0)), (jnp.int32(2), jnp.int32(6)), 1)
    told = policy.tell(begin, (jnp.int32(3), jnp.int32(3)), 1)
    for before, after in zip(begin, told, strict=True):
        np.testing.assert_array_equal(after.fit.f, before.fit.f)
        np.testing.assert_array_equal(after.covariance, before.covariance)
        assert int(after.count) == int(before.count) + 1
        assert int(after.fit.steps) == 0


def test_recommends_what_both_think_most_of(players):
    """Summed utilities 0.5, 1.1 and 1: the favourite of neither player wins."""
    domain = cases.domain_of(3)
    shape = (0.3, 0.3, 0.3)
    first = cases.state_of(domain, [0.9, 0.6, 0.0], shape, 1.0, "ratings")
    second = cases.state_of(domain, [-0.4, 0.5, 1.0], shape, 1.0, "ratings")
    policy = Sparring(domain, first)
    assert int(policy.recommend(SparringState(first, second), jr.key(0))) == 1


def assert_same(one, other):
    for a, b in zip(
        *(jax.tree.leaves(eqx.filter(x, eqx.is_array)) for x in (one, other)), strict=True
    ):
        np.testing.assert_array_equal(a, b)
