"""A belief on a catalogue keeps what it would else compute: the same predictions and choices."""

import dataclasses
import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp

from duelist.belief import _items, pivoted_features, point_prior
from duelist.domains import ALL, Catalogue, FiniteDomain

N, ANSWERS = 300, 40


def points(seed=0):
    return np.random.default_rng(seed).uniform(size=(N, 3)).astype(np.float32)


def told(domain, kernel=None, truth=None):
    """After answers enough for several slabs of rows and two renewals of the Laplace weights."""
    kernel = tinygp.kernels.ExpSquared(0.3) if kernel is None else kernel
    truth = domain.points if truth is None else truth
    belief = point_prior(domain, kernel, lam=0.1)
    rng = np.random.default_rng(1)
    for _ in range(ANSWERS):
        i, j = rng.integers(0, N, 2)
        h = np.sin(5 * truth[i, 0]) - np.sin(5 * truth[j, 0])
        belief = belief.tell((i, j), float(rng.uniform() < 1 / (1 + np.exp(-3 * h))))
    return belief


@pytest.fixture(scope="module")
def both():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_items, "SLAB", 32)
        yield told(FiniteDomain(points())), told(Catalogue(points(), batch=8))


@eqx.filter_jit
def rows(belief):
    """Every prediction of three actions with all others, in either order, and alone."""
    few = jnp.arange(3)[:, None]
    names = ("difference", "variance", "laplace_variance", "lcb", "information", "deviation")
    methods = [getattr(belief, name) for name in names]
    return (
        [(m(few, ALL), m(ALL, few)) for m in methods],
        belief.variance(ALL),
        belief.laplace_variance(ALL),
        belief.utility(ALL),
    )


def test_predicts_the_same(both):
    plain, kept = both
    assert plain.items is None
    assert len(kept.items.rows) == 3
    for one, other in zip(jax.tree.leaves(rows(plain)), jax.tree.leaves(rows(kept)), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-5)


def test_can_be_made_from_a_belief_without(both):
    plain, kept = both
    made = plain.on(kept.domain)
    assert made.items.rows[0].shape == kept.items.rows[0].shape
    for name in ("utility", "variance", "laplace"):
        one, other = (getattr(belief.items, name) for belief in (made, kept))
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-5)
    assert made.on(plain.domain).items is None


@eqx.filter_jit
def game(belief, key):
    return belief.domain.game(belief.lcb, key)


@pytest.mark.parametrize("space", ["probability", "utility"])
def test_chooses_as_the_whole_table_does(both, space):
    plain, kept = (dataclasses.replace(belief, space=space) for belief in both)
    table = np.asarray(eqx.filter_jit(lambda belief: belief.lcb(ALL, ALL))(plain))
    values = table.min(axis=1)
    found = game(kept, jr.key(0))
    assert float(found.value) == pytest.approx(values.max(), abs=1e-4)
    assert values[int(found.leader)] == pytest.approx(values.max(), abs=1e-4)
    assert int(found.looked) < N


def test_a_linear_kernel_keeps_no_rows_and_predicts_the_same(monkeypatch):
    monkeypatch.setattr(_items, "SLAB", 32)
    with jax.enable_x64(True):
        exact = points().astype(float)
        domains = FiniteDomain(exact), Catalogue(exact, batch=8)
        plain, kept = (told(domain, tinygp.kernels.DotProduct()) for domain in domains)
        assert kept.items.points.shape == (96, 3)
        assert kept.items.features is kept.domain.points
        for belief in (kept, plain.on(kept.domain)):
            pairs = zip(jax.tree.leaves(rows(plain)), jax.tree.leaves(rows(belief)), strict=True)
            for one, other in pairs:
                # Variances agree to rounding, deviations to its root.
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)


def test_pivoted_features_stand_for_the_kernel(both):
    """Fitted on features of all its rank the belief is that of the kernel itself."""
    kernel = tinygp.kernels.ExpSquared(0.3)
    found = pivoted_features(kernel, points(), rank=250, residual=1e-4)
    judge = np.asarray(both[0].domain.points)
    belief = told(Catalogue(found.features), kernel=tinygp.kernels.DotProduct(), truth=judge)
    assert not hasattr(belief.items, "rows")
    np.testing.assert_allclose(belief.utility(ALL), both[0].utility(ALL), rtol=0, atol=5e-3)
    np.testing.assert_allclose(
        belief.laplace_variance(ALL), both[0].laplace_variance(ALL), rtol=0, atol=5e-3
    )


SHARDED = """
import jax, jax.numpy as jnp, numpy as np, tinygp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from duelist.belief import point_prior
from duelist.domains import Catalogue
assert len(jax.devices()) == 2
points = np.random.default_rng(0).uniform(size=(64, 3)).astype(np.float32)
mesh = Mesh(np.array(jax.devices()), ("items",))
over = jax.device_put(points, NamedSharding(mesh, PartitionSpec("items", None)))
found = []
for given in (points, over):
    domain = Catalogue(given, batch=4)
    belief = point_prior(domain, tinygp.kernels.ExpSquared(0.3))
    for i, j in ((0, 40), (63, 2), (5, 33)):
        belief = belief.tell((i, j), 1)
    game = jax.jit(lambda b, k: b.domain.game(b.lcb, k))(belief, jax.random.key(0))
    found.append([float(game.value), *map(int, game[:2])])
    parts = {len(x.sharding.device_set) for x in (*belief.items.rows, belief.items.variance)}
    print(found[-1], parts)
assert parts == {2}, parts
assert abs(found[0][0] - found[1][0]) < 1e-5, found
print("same")
"""


def test_shards_over_two_devices():
    """In a process of its own, for the number of host devices is fixed when JAX starts."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", SHARDED],
        env=os.environ | {"XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("same\n")
