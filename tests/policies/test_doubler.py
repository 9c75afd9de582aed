"""Doubler against Ailon et al. (2014): epochs of 2, 4, 8, ... duels against the last epoch."""

import dataclasses
from collections import Counter

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from tests.policies import cases

from duelist.policies import Doubler

pytestmark = pytest.mark.usefixtures("x64_mode")


@pytest.fixture(scope="module")
def policy(many):
    domain, posteriors = many
    return Doubler(domain, cases.pick(posteriors.beliefs, 0))


def test_challenges_the_reference_with_the_optimistic_plausible_action(many, policy):
    _, posteriors = many
    begin = policy.init(jr.key(0))
    states = eqx.filter_vmap(lambda belief: begin._replace(belief=belief))(posteriors.beliefs)
    chosen = cases.asks(policy, states)
    start = int(np.argmax(begin.references.counts))
    for query, (_, ucb, _) in zip(chosen, posteriors.tables(), strict=True):
        members = cases.plausible_set(ucb)
        assert tuple(query) == (max(members, key=lambda x, u=ucb: u[x, start]), start)


def test_epochs_double_and_refill_the_references_with_the_challengers(policy):
    """The whole multiset after each duel, by hand-kept lists, through 2 + 4 + 8 + 3 duels.

    Answers are told for challengers of the test's own choice, so that the multisets are rich.
    """
    rng = np.random.default_rng(0)
    ask = eqx.filter_jit(policy.ask)
    state = policy.init(jr.key(0))
    references = [int(np.argmax(state.references.counts))]
    lengths, t = [], 0
    for epoch in (1, 2, 3, 4):
        challengers = []
        for _ in range(2**epoch if epoch < 4 else 3):
            assert counted(state.references) == Counter(references)
            assert counted(state.chosen) == Counter(challengers)
            assert int(state.length) == 2**epoch
            _, reference = ask(state, jr.key(t))
            assert int(reference) in references
            challenger = int(rng.integers(cases.N))
            state = policy.tell(state, (jnp.int32(challenger), reference), bool(t % 3))
            challengers.append(challenger)
            t += 1
        lengths.append(len(challengers))
        references = challengers
    assert lengths == [2, 4, 8, 3]
    assert int(state.belief.count) == 17


def test_references_are_drawn_by_their_number_of_copies(policy):
    begin = policy.init(jr.key(0))
    copies = np.array([3, 0, 1, 0, 0, 4, 0, 0])
    bag = dataclasses.replace(begin.references, counts=jnp.asarray(copies, jnp.int32))
    chosen = cases.asks_often(policy, begin._replace(references=bag), 4000)
    counts = np.bincount(chosen[:, 1], minlength=cases.N)
    held = copies > 0
    assert counts[~held].sum() == 0
    assert scipy.stats.chisquare(counts[held], 4000 * copies[held] / 8).pvalue > 1e-3


def counted(bag) -> Counter:
    """A bag as Python's own multiset."""
    return Counter({x: int(n) for x, n in enumerate(bag.counts) if n > 0})
