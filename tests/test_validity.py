"""The paper's confidence sequences hold in at least 1 - delta of the runs.

A small version of benchmarks/validity.py, whose results stand in docs/validity.md. The bounds are
so loose that no run may fail here; that the count can fail is shown with beta scaled down.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
import tinygp

from duelist.belief import AbstractBeta, TheoremBeta, prior
from duelist.coverage import coverage
from duelist.domains import FiniteDomain
from duelist.environments import random_environment
from duelist.policies import UCB, MaxMinLCB

DELTA, RUNS, HORIZON, BOUND = 0.1, 40, 100, 2.0
KERNEL = tinygp.kernels.ExpSquared(0.3)


class Scaled(AbstractBeta):
    """beta_t of the theorem times a factor."""

    factor: jax.Array
    whole: TheoremBeta = TheoremBeta(DELTA)

    def __call__(self, evidence):
        return self.factor.astype(evidence.gain.dtype) * self.whole(evidence)


@eqx.filter_jit
def judges(domain):
    keys = jr.split(jr.key(0), RUNS)
    return jax.vmap(lambda key: random_environment(domain, KERNEL, BOUND, key))(keys)


@pytest.fixture(scope="module", params=["duels", "ratings"])
def held(request):
    """For a factor on beta: in how many runs all bounds held at all times."""
    axis = jnp.linspace(0, 1, 6)
    grid = jnp.stack(jnp.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    domain = FiniteDomain(grid)
    environments = judges(domain)

    def held(factor):
        beta = Scaled(jnp.asarray(factor))
        belief = prior(domain, KERNEL, request.param, bound=BOUND, beta=beta)
        duels = request.param == "duels"
        policy = MaxMinLCB(domain, belief, restrict=True) if duels else UCB(domain, belief)
        made = coverage(policy, environments, horizon=HORIZON, seeds=range(RUNS))
        return int(np.sum(made.held()))

    return held


def falls_short(count):
    """Whether a rate of 1 - delta or more is refuted at the level of one in a thousand."""
    test = scipy.stats.binomtest(count, RUNS, 1 - DELTA, alternative="less")
    return test.pvalue < 1e-3


def test_the_theorems_bounds_hold_as_often_as_promised(held):
    assert not falls_short(held(1.0))


def test_bounds_a_hundred_times_narrower_do_not(held):
    assert falls_short(held(0.01))
