"""Every policy on every kind of domain, as the table of docs/domains.md says."""

import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp
from tests.policies import cases
from tests.policies.every import CASES

from duelist import policies as library
from duelist import simulation
from duelist.belief import FixedBeta, point_prior
from duelist.domains import Box, Catalogue, FiniteDomain, Integer, Real, mixed_domain
from duelist.environments import box_environment, objective
from duelist.simulation import simulate

KERNEL = tinygp.kernels.ExpSquared(0.2)
PAGE = Path(__file__).parents[2] / "docs" / "domains.md"


def small():
    return Box([-1.0, 2.0], [3.0, 4.0], candidates=32, starts=2)


def mixed(**extra):
    parameters = {"a": Real(0.0, 1.0)} if extra else {"a": Integer(0, 1)}
    return mixed_domain(parameters | {"b": Integer(1, 3)}, **extra)


DOMAINS = {
    "`FiniteDomain`": lambda: cases.domain_of(5),
    "`Catalogue`": lambda: Catalogue(cases.domain_of(5).points, batch=2),
    "`Box`": small,
    "enumerated": mixed,
    "alternating": lambda: mixed(candidates=32, starts=2),
}
"""By the head of their column."""


def table():
    """What the page says of every policy on every kind of domain."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith("| policy |"))
    end = next(k for k in range(begin, len(lines)) if not lines[k].startswith("|"))
    head, _, *body = ([cell.strip() for cell in x.strip("|").split("|")] for x in lines[begin:end])
    return {
        (row[0].strip("`"), column): cell
        for row in body
        for column, cell in zip(head[1:], row[1:], strict=True)
    }


TABLE = table()


def test_the_table_is_complete():
    assert set(TABLE) == {(name, column) for name in CASES for column in DOMAINS}


def error_of(cell):
    """The class of error that a cell documents, and how its message begins; None if it is a yes."""
    if cell.startswith("yes"):
        return None
    kind, message = re.fullmatch(r"`(TypeError|ValueError): ([^`]+)`", cell).groups()
    return {"TypeError": TypeError, "ValueError": ValueError}[kind], re.escape(message)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("column", DOMAINS)
@pytest.mark.parametrize("name", CASES)
def test_a_policy_works_as_the_table_says(name, column):
    case, domain, error = CASES[name], DOMAINS[column](), error_of(TABLE[name, column])
    make = case.make if column == "`FiniteDomain`" else case.make_large
    if error is None:
        expectations(make(domain), case.arity)
        return
    with pytest.raises(error[0], match=error[1]):
        expectations(make(domain), case.arity)


def expectations(policy, arity):
    """What is asked and recommended are actions, and the state keeps its shapes.

    Without a single step run on a box, whose searches take long to compile; `test_contract` has the
    runs on finite domains.
    """
    domain, state = policy.domain, policy.init(jr.key(0))
    sample = eqx.filter_eval_shape(domain.sample, jr.key(0))
    query = eqx.filter_eval_shape(policy.ask, state, jr.key(0))
    recommended = eqx.filter_eval_shape(policy.recommend, state, jr.key(0))
    assert [(x.shape, x.dtype) for x in (*query, recommended)] == [(sample.shape, sample.dtype)] * (
        arity + 1
    )
    asked = tuple(domain.sample(jr.key(k)) for k in range(arity))
    after = eqx.filter_eval_shape(policy.tell, state, asked, jnp.array(True))
    before = eqx.filter_eval_shape(lambda same: same, state)
    assert jax.tree.structure(after) == jax.tree.structure(before)
    assert jax.tree.leaves(after) == jax.tree.leaves(before)
    if domain.size is not None and not isinstance(domain, FiniteDomain):
        steps(policy, state)


def steps(policy, state):
    """Two steps and what they recommend stay in the domain."""
    for t in range(2):
        query = eqx.filter_jit(policy.ask)(state, jr.key(t))
        state = policy.tell(state, query, 1)
        for x in (*query, policy.recommend(state, jr.key(t))):
            assert bool(policy.domain.contains(x))


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
    domain = small()
    policy = library.EUBO(domain, point_prior(domain, KERNEL, capacity=8))
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
