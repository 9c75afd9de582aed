"""The example of a policy of one's own: it runs, learns, and is as short as it claims to be."""

import ast
import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.policies import cases

from duelist.belief import prior

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_policy.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("own_policy", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_prints_the_regret_of_both_policies(example, capsys):
    example.main(horizon=64, seeds=2)
    title, head, *rows = capsys.readouterr().out.splitlines()
    assert title == "Ackley, 100 actions, 64 duels, 2 seeds"
    assert head.split() == ["policy", "cumulative", "regret", "of", "the", "last", "duel"]
    assert [row.split()[0] for row in rows] == ["ChampionAndRival", "MaxMinLCB"]
    for row in rows:
        total, last = map(float, row.split()[1:])
        assert 0 < total < 0.5 * 64
        assert 0 <= last < 0.5


def test_the_policy_takes_about_twenty_lines():
    (policy,) = (x for x in ast.parse(EXAMPLE.read_text()).body if isinstance(x, ast.ClassDef))
    assert policy.end_lineno - policy.lineno < 20


def test_asks_the_champion_and_its_most_optimistic_rival(example):
    """On a posterior drawn at random, against loops; the duel is never one with itself."""
    with jax.enable_x64(True):
        domain = cases.domain_of()
        posteriors = cases.posteriors(domain, 20, seed=4)
        policy = example.ChampionAndRival(domain, posteriors.beliefs)
        chosen = cases.asks(policy, posteriors.beliefs)
        for query, f, (_, ucb, _) in zip(chosen, posteriors.f, posteriors.tables(), strict=True):
            champion = int(np.argmax(f))
            others = [x for x in range(cases.N) if x != champion]
            rival = max(others, key=lambda x, u=ucb, c=champion: u[x, c])
            assert tuple(query) == (champion, rival)


def test_is_a_policy_like_any_other(example):
    domain = cases.domain_of(3)
    policy = example.ChampionAndRival(domain, prior(domain, cases.KERNEL))
    state = policy.tell(policy.init(jr.key(0)), (jnp.int32(1), jnp.int32(2)), True)
    assert int(policy.recommend(state, jr.key(0))) == 1
