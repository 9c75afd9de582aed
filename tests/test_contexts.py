"""Simulations in contexts: one program, and less regret than without a look at them."""

import jax.numpy as jnp
import numpy as np
import pytest
import tinygp

from duelist import simulation
from duelist.belief import FixedBeta, point_prior
from duelist.domains import Candidates, ContextualDomain, FiniteDomain
from duelist.environments import ContextualEnvironment
from duelist.kernels import PerContext
from duelist.policies import MaxMinLCB
from duelist.simulation import simulate

pytestmark = pytest.mark.usefixtures("unchecked")

X, Z = np.linspace(0, 1, 5)[:, None], np.array([[0.0], [1.0]])
RBF = tinygp.kernels.ExpSquared(0.2)
SETTINGS = {"lam": 0.25, "width": "laplace", "space": "utility", "beta": FixedBeta(0.5)}


def opposed(features):
    """The best action of either context, 0 and 1, is the worst of the other."""
    return 6 * (features[..., 0] - 0.5) * (2 * features[..., 1] - 1)


def traced(monkeypatch):
    traces = []
    original = simulation.run
    monkeypatch.setattr(simulation, "run", lambda *args: (traces.append(1), original(*args))[1])
    return traces


def test_regret_goes_to_zero_only_for_who_sees_the_context(monkeypatch):
    """The same policy with the same prior on the actions; blind, every action is even."""
    domain = ContextualDomain(FiniteDomain(X), Z)
    judge = ContextualEnvironment(domain, opposed, list(Z))
    seeing = MaxMinLCB(domain, point_prior(domain, PerContext(RBF, RBF), **SETTINGS))
    blind = MaxMinLCB(domain.base, point_prior(domain.base, RBF, **SETTINGS))
    traces = traced(monkeypatch)
    late = [
        float(jnp.mean(simulate(policy, judge, horizon=64, seeds=6).regret.dueling[:, 48:]))
        for policy in (seeing, blind)
    ]
    assert len(traces) == 2
    assert late[0] < late[1] / 4
    # Whatever is played, its mirror image loses as much: no pair has less on average over z.
    utilities = np.asarray([opposed(np.stack([x, z])) for z in (0, 1) for x in X[:, 0]])
    gaps = 1 / (1 + np.exp(-(3 - utilities.reshape(2, 5)))) - 0.5
    assert late[1] > 0.9 * gaps.mean(axis=0).min() > 0.15


def test_candidates_of_differing_size_in_one_program(monkeypatch):
    """Padding is never asked nor recommended, and other seeds compile nothing."""
    rng = np.random.default_rng(0)
    rows = [rng.uniform(size=(n, 1)) for n in (2, 3, 5)]
    domain = Candidates(rows)
    judge = ContextualEnvironment(domain, lambda features: 4 * features[..., 0], rows)
    policy = MaxMinLCB(domain, point_prior(domain, RBF, **SETTINGS))
    traces = traced(monkeypatch)
    trace = simulate(policy, judge, horizon=16, seeds=4)
    simulate(policy, judge, horizon=12, seeds=[4, 5, 6, 7])
    assert len(traces) == 1
    assert int(jnp.max(trace.queries)) < 5
    assert int(jnp.max(trace.recommended)) < 5
    assert float(jnp.min(trace.regret.weak)) >= -1e-6
    early, late = jnp.mean(trace.regret.dueling[:, :4]), jnp.mean(trace.regret.dueling[:, 12:])
    assert float(late) < float(early)
