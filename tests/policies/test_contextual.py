"""Every policy in contexts, with the same actions in each and with candidates of its own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp
from tests.policies.cases import POLICIES

from duelist import policies as library
from duelist.belief import adaptive_prior, point_prior
from duelist.domains import Box, Candidates, ContextualDomain, FiniteDomain, Rows, in_context
from duelist.kernels import PerContext
from duelist.policies import Contextual, MaxMinLCB

RATINGS = {"UCB", "Sparring", "RandomRating"}
REMEMBERS = {"MultiSBM", "Doubler"}
RBF = tinygp.kernels.ExpSquared(0.4)
KERNEL = PerContext(RBF, RBF)
POINTS = np.linspace(0, 1, 5)[:, None]

pytestmark = pytest.mark.usefixtures("unchecked")


def same_actions(base=None):
    return ContextualDomain(FiniteDomain(POINTS) if base is None else base, [[0.0], [1.0]])


def candidates(n=3, seed=0):
    return np.random.default_rng([n, seed]).uniform(size=(n, 2))


def make(name, domain, capacity=16):
    kind = "ratings" if name in RATINGS else "duels"
    return getattr(library, name)(domain, point_prior(domain, KERNEL, kind, capacity=capacity))


def counted(monkeypatch, kind, method="ask"):
    """A list that grows whenever the method is traced."""
    traces = []
    original = getattr(kind, method)

    def wrapped(self, *args):
        traces.append(1)
        return original(self, *args)

    monkeypatch.setattr(kind, method, wrapped)
    return traces


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_runs_under_changing_contexts(name, monkeypatch):
    """Its actions are the base's; what it is told stands in the belief with its context."""
    policy = Contextual(make(name, same_actions()))
    traces = counted(monkeypatch, type(policy.policy))
    state = policy.init(jr.key(0))
    for step, z in enumerate([[0.0], [0.3], [1.0]]):
        query = policy.ask(state, jr.key(step), z)
        assert all(0 <= int(x) < 5 for x in query)
        state = policy.tell(state, query, 1, z)
    assert 0 <= int(policy.recommend(state, jr.key(0), z)) < 5
    assert len(traces) == 1


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in REMEMBERS])
def test_candidates_differ_and_padding_is_never_asked(name):
    policy = Contextual(make(name, Candidates([candidates(4)], context_size=1)))
    state = policy.init(jr.key(0))
    for step, n in enumerate([4, 3, 3]):
        rows = candidates(n, step)
        query = policy.ask(state, jr.key(step), rows)
        assert all(0 <= int(x) < n for x in query)
        state = policy.tell(state, query, 1, rows)
    assert 0 <= int(policy.recommend(state, jr.key(0), rows)) < n


@pytest.mark.parametrize("name", sorted(REMEMBERS))
def test_policies_that_remember_actions_refuse_candidates(name):
    with pytest.raises(TypeError, match="domain: expected the same actions in every context"):
        make(name, Candidates([candidates()]))


@pytest.mark.parametrize("name", ["MaxMinLCB", "EUBO", "UCB"])
def test_asking_is_asking_the_policy_on_the_domain_given_the_context(name):
    """The same answers by hand: a policy whose actions have the features of the context."""
    domain = same_actions()
    policy, z = make(name, domain), [0.3]
    plain = FiniteDomain(domain.given(z).features(slice(None)))
    state, alone = Contextual(policy).init(jr.key(0)), make(name, plain)
    belief = alone.init(jr.key(0))
    for step in range(4):
        query = Contextual(policy).ask(state, jr.key(step), z)
        expected = alone.ask(belief, jr.key(step))
        assert [int(x) for x in query] == [int(x) for x in expected]
        state = Contextual(policy).tell(state, query, step % 2, z)
        belief = alone.tell(belief, expected, step % 2)


def test_vectors_under_changing_contexts():
    domain = same_actions(Box([0.0], [1.0], candidates=16, starts=2))
    policy = make("EUBO", domain)
    state = policy.init(jr.key(0))
    query = eqx.filter_eval_shape(in_context(policy, [0.5]).ask, state, jr.key(0))
    assert [x.shape for x in query] == [(1,), (1,)]


def test_the_adaptive_belief_compiles_once_per_bucket_of_candidates(monkeypatch):
    domain = Candidates([candidates(4)], context_size=1)
    kernels = [KERNEL, PerContext(RBF, RBF, 0.5)]
    belief = adaptive_prior(domain, kernels=jax.tree.map(jnp.asarray, kernels))
    policy = Contextual(MaxMinLCB(domain, belief.with_room(32)))
    traces = counted(monkeypatch, MaxMinLCB)
    state = policy.init(jr.key(0))
    for step, n in enumerate([3, 4, 2, 4, 3, 2]):
        query = policy.ask(state, jr.key(step), candidates(n, step))
        state = policy.tell(state, query, 1, candidates(n, step))
    assert len(traces) == 2


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Contextual("MaxMinLCB"), TypeError, "policy: expected AbstractPolicy"),
        (
            lambda: Contextual(
                MaxMinLCB(FiniteDomain(POINTS), point_prior(FiniteDomain(POINTS), RBF))
            ),
            TypeError,
            "policy: expected one on a domain with contexts, got one on FiniteDomain",
        ),
        (
            lambda: Contextual(make("EUBO", same_actions())).ask(None, jr.key(0), [1.0, 2.0]),
            ValueError,
            "context: expected a vector of 1 numbers",
        ),
        (
            lambda: Contextual(make("EUBO", Candidates([candidates()]))).ask(
                None, jr.key(0), Rows(jnp.zeros((2, 3)), jnp.ones(2, bool))
            ),
            ValueError,
            "context: expected 2 features",
        ),
    ],
)
def test_errors_name_the_argument(make, error, message):
    with pytest.raises(error, match=message):
        make()
