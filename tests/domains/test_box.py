"""A box: its units and errors, and its searches against solutions known in closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from duelist.domains import Box
from duelist.environments import objective


def squared(x, centre):
    """The squared distance of every action from `centre`."""
    return jnp.sum((x - jnp.broadcast_to(jnp.asarray(centre, x.dtype), x.shape)) ** 2, axis=-1)


@eqx.filter_jit
def search(method, score, key, within=None):
    """Any search of any box."""
    return method(score, key, within)


@pytest.fixture(scope="module")
def box():
    return Box([-1.0, 2.0], [3.0, 4.0])


# ---- units -----------------------------------------------------------------------------------


def test_features_are_the_unit_cube(x64):
    domain = Box([-1.0, 2.0, 1e-3], [3.0, 4.0, 10.0], log=[False, False, True], dtype=x64)
    z = np.random.default_rng(0).uniform(size=(50, 3)).astype(x64)
    z[:2] = [[0, 0, 0], [1, 1, 1]]
    x = domain.action(jnp.asarray(z))
    assert x.dtype == x64
    expected = [-1 + 4 * z[:, 0], 2 + 2 * z[:, 1], 1e-3 * 1e4 ** z[:, 2]]
    np.testing.assert_allclose(x, np.stack(expected, 1), rtol=2e-5 if x64 == np.float32 else 1e-13)
    np.testing.assert_array_equal(x[0], domain.lower)
    np.testing.assert_array_equal(x[1], domain.upper)
    np.testing.assert_allclose(domain.features(x), z, atol=1e-6)
    np.testing.assert_allclose(domain.features(x[4]), z[4], atol=1e-6)
    lower, upper = np.asarray(domain.lower), np.asarray(domain.upper)
    assert np.all((np.asarray(x) >= lower) & (np.asarray(x) <= upper))


def test_probes_lie_in_the_cube_with_its_corners(box):
    probes = np.asarray(box.probes())
    assert np.all((probes >= 0) & (probes <= 1))
    for corner in (0, 0.5, 1):
        assert np.any(np.all(probes == corner, axis=1))


def test_contains(box):
    assert bool(box.contains(jnp.array([3.0, 2.0])))
    assert not bool(box.contains(jnp.array([3.1, 2.0])))
    assert not bool(box.contains(jnp.array([3.0])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"upper": [1.0]}, "lower, upper: expected two vectors of the same length"),
        ({"upper": [3.0, 2.0]}, "lower, upper: expected lower < upper"),
        ({"lower": [np.nan, 0.0]}, "lower: expected finite"),
        ({"lower": 1.0}, "lower: expected an array with 1 axes"),
        ({"log": True}, "lower: expected numbers greater than 0"),
        ({"log": [True]}, "log: expected a boolean or 2 of them"),
        ({"log": [0, 1]}, "log: expected a boolean"),
        ({"candidates": 3}, "candidates: expected at least 16"),
        ({"starts": 1}, "starts: expected at least 2"),
        ({"tolerance": -1.0}, "tolerance: expected a number of at least 0"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"lower": [-1.0, 2.0], "upper": [3.0, 4.0]} | change
    with pytest.raises(ValueError, match=message):
        Box(**arguments)


@pytest.mark.parametrize(
    ("value", "message"),
    [([0.0], "query: expected a vector of 2"), ([0.0, 9.0], "query: expected a vector between")],
)
def test_bad_actions(box, value, message):
    with pytest.raises(ValueError, match=message):
        box.as_action("query", value)
    np.testing.assert_array_equal(box.as_action("query", [0, 3]), [0, 3])


# ---- searches --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "error"), [("branin", 1e-4), ("hartmann6", 2e-3)])
def test_argmax_finds_known_maxima(name, error):
    f = objective(name)
    domain = Box(f.lower, f.upper)
    for seed in range(3):
        found = search(domain.argmax, f.evaluate, jr.key(seed))
        assert float(f(found)) == pytest.approx(f.optimum.maximum, abs=error)
        assert bool(domain.contains(found))


def test_argmax_on_the_boundary_is_exact(box):
    found = search(box.argmax, lambda x: x[..., 0] - x[..., 1], jr.key(0))
    np.testing.assert_array_equal(found, [3.0, 2.0])


def test_argmax_pair(box):
    """-|x - a|^2 - |x' - b|^2 - 8(x_0 - x'_0)^2: a linear system says where."""
    a, b = np.array([0.0, 3.0]), np.array([2.0, 2.5])

    def score(x, x2):
        apart = 8 * (x[..., 0] - x2[..., 0]) ** 2
        return -squared(x, a) - squared(x2, b) - apart

    x0, y0 = np.linalg.solve([[9, -8], [-8, 9]], [a[0], b[0]])
    first, second = search(box.argmax_pair, score, jr.key(0))
    np.testing.assert_allclose(first, [x0, 3.0], atol=2e-3)
    np.testing.assert_allclose(second, [y0, 2.5], atol=2e-3)


@eqx.filter_jit
def game(box, apart, alone, key):
    """The game of a saddle with the leader at 2.5 and the follower at (0.5, 3.5), or of distances.

    With `apart` the score is -|x - x'|^2 in the place of the saddle; with `alone` an action against
    itself scores less than anything else.
    """

    def score(x, x2):
        saddle = -squared(x, 2.5) + squared(x2, [0.5, 3.5])
        values = jnp.where(apart, -jnp.sum((x - x2) ** 2, axis=-1), saddle)
        return jnp.where(jnp.all(x == x2, axis=-1) & alone, -100.0, values)

    return box.maxmin(score, key)


def test_maxmin_of_a_saddle(box):
    """Leader and follower each have their own optimum."""
    leader, follower = game(box, jnp.array(False), jnp.array(False), jr.key(0))
    np.testing.assert_allclose(leader, [2.5, 2.5], atol=2e-3)
    np.testing.assert_allclose(follower, [0.5, 3.5], atol=2e-3)


def test_maxmin_at_a_kink():
    """max_x min_x' -|x - x'|^2: the centre, where four corners are equally bad: -1/2."""
    unit = Box([0.0, 0.0], [1.0, 1.0])
    for seed in range(3):
        leader, follower = game(unit, jnp.array(True), jnp.array(False), jr.key(seed))
        np.testing.assert_allclose(leader, 0.5, atol=0.01)
        assert set(np.asarray(follower).tolist()) <= {0.0, 1.0}


def test_the_follower_may_be_the_leader(box):
    leader, follower = game(box, jnp.array(False), jnp.array(True), jr.key(0))
    np.testing.assert_array_equal(leader, follower)


def test_a_follower_that_must_differ_is_refused(box):
    with pytest.raises(ValueError, match="distinct: expected False"):
        box.maxmin(lambda x, x2: x[..., 0] - x2[..., 0], jr.key(0), distinct=True)


def test_ties_are_broken_at_random(box):
    """On a constant every point may come; in every coordinate both halves equally often."""
    keys = jr.split(jr.key(0), 200)
    draw = eqx.filter_jit(jax.vmap(lambda key: box.argmax(lambda x: 0 * x[..., 0], key)))
    above = np.sum(np.asarray(draw(keys)) > np.array([1.0, 3.0]), axis=0)
    assert all(scipy.stats.binomtest(int(n), 200).pvalue > 1e-3 for n in above)


# ---- incumbents ------------------------------------------------------------------------------


def test_incumbents_are_the_best_points_told(box):
    points = jr.uniform(jr.key(0), (100, 2))
    utility = jnp.where(jnp.arange(100) < 70, jr.normal(jr.key(1), (100,)), -jnp.inf)
    found = box.near(points, utility).incumbents
    order = np.argsort(-np.asarray(utility)[:70])[:64]
    np.testing.assert_array_equal(found, np.asarray(points)[order])


def test_places_without_a_point_keep_the_incumbents_there_were(box):
    points = jr.uniform(jr.key(0), (8, 2))
    utility = jnp.asarray([1.0, *[-jnp.inf] * 5, 2.0, -jnp.inf])
    found = box.near(points, utility).incumbents
    np.testing.assert_array_equal(found[:2], points[jnp.array([6, 0])])
    np.testing.assert_array_equal(found[2:], box.incumbents[2:])


def test_a_needle_is_found_from_an_incumbent():
    """In ten dimensions, 0.02 wide: no pool hits it, an incumbent on its flank leads there."""
    d, peak = 10, 0.37
    domain = Box([0.0] * d, [1.0] * d)

    def score(x):
        return jnp.exp(-squared(x, peak) / (2 * 0.02**2))

    flank = jnp.full((1, d), peak + 0.01)
    found = search(domain.near(flank, jnp.ones(1)).argmax, score, jr.key(0))
    np.testing.assert_allclose(found, peak, atol=1e-3)
    assert float(score(search(domain.argmax, score, jr.key(0)))) < 0.5


# ---- samples and bags ------------------------------------------------------------------------


def test_samples_are_uniform(box):
    draws = np.asarray(jax.jit(jax.vmap(box.sample))(jr.split(jr.key(0), 2000)))
    for axis, (low, width) in enumerate([(-1, 4), (2, 2)]):
        assert scipy.stats.kstest(draws[:, axis], "uniform", (low, width)).pvalue > 1e-3


def test_a_bag_draws_each_copy_equally_often(box):
    bag = box.bag()
    for x in ([0.0, 3.0], [1.0, 2.0], [1.0, 2.0]):
        bag = bag.add(jnp.array(x))
    draws = np.asarray(jax.jit(jax.vmap(bag.draw))(jr.split(jr.key(0), 900)))
    first = int(np.sum(draws[:, 0] == 0.0))
    assert np.all((draws == [0.0, 3.0]) | (draws == [1.0, 2.0]))
    assert scipy.stats.binomtest(first, 900, 1 / 3).pvalue > 1e-3


def test_a_full_bag_drops_the_oldest(box):
    def add(bag, value):
        return bag.add(jnp.stack([value, value])), None

    bag, _ = jax.lax.scan(add, box.bag(), jnp.arange(1100.0))
    held = np.asarray(bag.rows)[:, 0]
    assert sorted(held.tolist()) == list(range(76, 1100))
