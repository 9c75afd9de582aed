"""Every policy on a box: what it asks has the shape of actions, and a whole run is one program."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp
from tests.policies.cases import POLICIES

from duelist import policies as library
from duelist import simulation
from duelist.belief import FixedBeta, point_prior
from duelist.domains import Box
from duelist.environments import box_environment, objective
from duelist.simulation import simulate

KERNEL = tinygp.kernels.ExpSquared(0.2)
RATINGS = {"UCB", "Sparring", "RandomRating"}


def small(dtype=None):
    return Box([-1.0, 2.0], [3.0, 4.0], candidates=32, starts=2, dtype=dtype)


def make(name, domain):
    kind = "ratings" if name in RATINGS else "duels"
    return getattr(library, name)(domain, point_prior(domain, KERNEL, kind, capacity=8))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", [name for name in POLICIES if name != "MaxMinUCB"])
def test_what_is_asked_has_the_shape_of_actions(name):
    """Without a single step run: the shapes of an ask, and of the state after the answer."""
    policy = make(name, small())
    state = policy.init(jr.key(0))
    query = eqx.filter_eval_shape(policy.ask, state, jr.key(0))
    assert [(x.shape, x.dtype) for x in query] == [((2,), jnp.float32)] * len(query)
    asked = tuple(jnp.array([0.0, 3.0]) for _ in query)
    after = eqx.filter_eval_shape(policy.tell, state, asked, jnp.array(True))
    before = eqx.filter_eval_shape(lambda same: same, state)
    assert jax.tree.structure(after) == jax.tree.structure(before)
    assert jax.tree.leaves(after) == jax.tree.leaves(before)


@pytest.mark.usefixtures("unchecked")
def test_the_game_of_optimists_is_refused():
    """Its follower must differ from the leader, and comes as close as it likes."""
    policy = make("MaxMinUCB", small())
    with pytest.raises(ValueError, match="distinct: expected False"):
        eqx.filter_eval_shape(policy.ask, policy.init(jr.key(0)), jr.key(0))


@pytest.mark.usefixtures("unchecked")
def test_a_run(monkeypatch):
    """Actions in the box, their regret by hand; other seeds and horizons compile nothing."""
    traces = []
    original = simulation.run
    monkeypatch.setattr(simulation, "run", lambda *args: (traces.append(1), original(*args))[1])
    env = box_environment(objective("branin"), samples=1024)
    belief = point_prior(env.domain, KERNEL, width="laplace", space="utility", beta=FixedBeta(1.0))
    policy = library.EUBO(env.domain, belief)
    trace = simulate(policy, env, horizon=16, seeds=2)
    assert trace.queries.shape == (2, 16, 2, 2)
    asked = np.asarray(trace.queries, float)
    assert np.all((asked >= [-5, 0]) & (asked <= [10, 15]))
    x, y = asked[..., 0], asked[..., 1]
    valley = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    branin = valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10
    lowest, highest = 5 / (4 * np.pi), 308.129096
    lost = 6 * (branin - lowest) / (highest - lowest)
    gaps = 1 / (1 + np.exp(-lost)) - 0.5
    np.testing.assert_allclose(trace.regret.dueling, gaps.mean(axis=-1), atol=1e-4)
    simulate(policy, env, horizon=12, seeds=[5, 6])
    assert len(traces) == 1


@pytest.mark.usefixtures("unchecked")
def test_asking_does_not_compile_again_while_the_places_last():
    """The incumbents change with every answer, their number does not."""
    policy = make("EUBO", small())
    traces = []

    @eqx.filter_jit
    def ask(state, key):
        traces.append(1)
        return policy.ask(state, key)

    state = policy.init(jr.key(0))
    for step in range(6):
        query = ask(state, jr.key(step))
        state = state.tell(query, step % 2)
    # Eight places hold four duels of new points; then there are sixteen.
    assert len(traces) == 2
