"""MultiSBM against its pseudo-code: x_t is the challenger of the duel before."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from tests.policies import cases

from duelist.policies import MultiSBM
from duelist.policies._multisbm import MultiSBMState

pytestmark = pytest.mark.usefixtures("x64_mode")


def test_challenges_the_last_action_with_the_optimistic_one(many):
    domain, posteriors = many
    references = np.arange(60, dtype=np.int32) % cases.N
    states = MultiSBMState(posteriors.beliefs, jnp.asarray(references))
    chosen = cases.asks(MultiSBM(domain, posteriors.beliefs), states)
    for query, reference, (_, ucb, _) in zip(chosen, references, posteriors.tables(), strict=True):
        members = cases.plausible_set(ucb)
        challenger = max(members, key=lambda x, u=ucb, r=reference: u[x, r])
        assert tuple(query) == (reference, challenger)


def test_each_reference_is_the_challenger_before(many):
    """Six duels in a row; what is told decides, whether it was asked for or not."""
    domain, posteriors = many
    policy = MultiSBM(domain, cases.pick(posteriors.beliefs, 0))
    ask = eqx.filter_jit(policy.ask)
    state = policy.init(jr.key(0))
    last = int(state.last)
    for t in range(6):
        query = ask(state, jr.key(t))
        assert int(query[0]) == last
        told = query if t != 3 else (jnp.int32(5), jnp.int32(2))
        state, last = policy.tell(state, told, t % 2 == 0), int(told[1])
        assert int(state.last) == last


def test_the_first_reference_is_uniform(many):
    domain, posteriors = many
    policy = MultiSBM(domain, cases.pick(posteriors.beliefs, 0))
    first = jax.vmap(lambda key: policy.init(key).last)(jr.split(jr.key(1), 2000))
    assert scipy.stats.chisquare(np.bincount(first, minlength=cases.N)).pvalue > 1e-3
