"""A preset may ask for bounds with a stated probability: the belief "guaranteed"."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from duelist.belief import PrequentialBelief, TableBelief, guaranteed_prior
from duelist.domains import FiniteDomain
from duelist.experiments._cell import Cell
from duelist.experiments._names import ALGORITHMS
from duelist.experiments._presets import FileError, load_preset
from duelist.experiments._registry import build_kernel, build_policy
from duelist.experiments._schema import FunctionProblem
from duelist.experiments._simulate import simulate_cell

TEXT = """
name = "certain"
horizon = 20
seeds = 1
coordinates = "unit"
per_axis = 3

[belief]
belief = "guaranteed"
length_scale = 0.3
bound = 2.0
delta = 0.05
{more}
"""


def preset(tmp_path, more=""):
    path = tmp_path / "certain.toml"
    path.write_text(TEXT.format(more=more))
    return load_preset(str(path))


def others(text):
    """The algorithms that ask for other beliefs are given theirs."""
    kinds = {"gp-ucb": "ridge", "ind-ucb": "independent", "log-ucb1": "log-ucb1"}
    return text + "".join(f'\n[algorithms.{name}]\nbelief = "{k}"\n' for name, k in kinds.items())


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


def domain():
    return FiniteDomain(jnp.asarray(np.random.default_rng(0).uniform(size=(6, 2))))


@pytest.mark.parametrize("name", ["prequential", "paper"])
def test_the_belief_is_that_of_guaranteed_prior(tmp_path, double, name):
    chosen = preset(tmp_path, others(f'confidence_set = "{name}"'))
    settings = chosen.belief("maxminlcb")
    found = build_policy("maxminlcb", settings, domain()).belief
    kernel = build_kernel(settings)
    expected = guaranteed_prior(domain(), kernel, bound=2.0, delta=0.05, confidence_set=name)
    assert type(found) is {"prequential": PrequentialBelief, "paper": TableBelief}[name]
    assert eqx.tree_equal(found, expected)


def test_every_algorithm_that_may_run_on_it_is_built(tmp_path, double):
    chosen = preset(tmp_path, others(""))
    for algorithm, kinds in ALGORITHMS.items():
        if "guaranteed" in kinds:
            policy = build_policy(algorithm, chosen.belief(algorithm), domain())
            assert isinstance(policy.belief, PrequentialBelief)
            assert float(policy.belief.delta) == pytest.approx(0.05)


@pytest.mark.parametrize("algorithm", ["maxminlcb", "lgp-ucb"])
def test_a_cell_runs_on_it(tmp_path, algorithm):
    settings = preset(tmp_path, others("")).belief(algorithm)
    problem = FunctionProblem(function="branin", per_axis=3)
    regret = simulate_cell(Cell(problem, algorithm, settings, False, (0, 1), 20))
    kind = {"maxminlcb": "dueling", "lgp-ucb": "logistic"}[algorithm]
    assert regret[kind].shape == (2, 20)
    assert 0 < regret[kind].sum(axis=1).min() < 20


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bound = 2.0", "", "belief.bound: expected a value, got none"),
        ("delta = 0.05", "delta = 1.0", "belief.delta: expected less than 1, got 1.0"),
        ("delta = 0.05", 'confidence_set = "bayes"', "confidence_set: expected 'prequential' or"),
        ("delta = 0.05", "beta = 1.0", "belief.beta: there is no such key"),
    ],
)
def test_what_it_cannot_promise_is_refused(tmp_path, old, new, message):
    path = tmp_path / "certain.toml"
    path.write_text(others(TEXT.format(more="").replace(old, new)))
    with pytest.raises(FileError, match=message):
        load_preset(str(path)).belief("maxminlcb")


def test_sparring_keeps_its_own_belief(tmp_path):
    with pytest.raises(FileError, match="expected map for sparring, got 'guaranteed'"):
        preset(tmp_path, others("")).belief("sparring")
