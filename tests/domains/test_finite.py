"""Searches of a finite domain against loops over its actions, and uniform draws among ties."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from duelist.domains import ALL, FiniteDomain

N = 6
DRAWS = 3000


def domain_of(n=N, dtype=np.float32, tolerance=None):
    return FiniteDomain(jnp.zeros((n, 2), dtype), tolerance)


def of(values):
    """The score, or the score of pairs, with these values."""
    array = jnp.asarray(values)
    return lambda *actions: array[actions]


@eqx.filter_jit
def search(domain, method, values, key, within=None, **options):
    return getattr(domain, method)(of(values), key, within, **options)


@eqx.filter_jit
def often(draw, *arguments):
    return jax.vmap(lambda key: draw(key, *arguments))(jr.split(jr.key(0), DRAWS))


def masks(rng):
    """No restriction, then random subsets that are not empty."""
    yield None
    for _ in range(3):
        yield jnp.asarray(rng.permutation(N) < rng.integers(1, N + 1))


def kept(within):
    return range(N) if within is None else [x for x in range(N) if within[x]]


def uniform(counts):
    """Whether all counts may come from equal probabilities."""
    return scipy.stats.chisquare(counts).pvalue > 1e-3


# ---- the best, by a loop ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_argmax(x64, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=N).astype(x64)
    for within in masks(rng):
        found = search(domain_of(dtype=x64), "argmax", values, jr.key(0), within)
        assert int(found) == max(kept(within), key=lambda x: values[x])
        assert found.dtype == jnp.int32


@pytest.mark.parametrize("seed", range(4))
def test_argmax_pair(x64, seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(N, N)).astype(x64)
    for within in masks(rng):
        pair = search(domain_of(dtype=x64), "argmax_pair", table, jr.key(0), within)
        pairs = itertools.product(kept(within), repeat=2)
        assert tuple(map(int, pair)) == max(pairs, key=lambda p: table[p])


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_maxmin(x64, seed, distinct):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(N, N)).astype(x64)
    for within in masks(rng):
        actions = kept(within)
        replies = {}
        for x in actions:
            others = [y for y in actions if y != x] if distinct and len(actions) > 1 else actions
            replies[x] = min(others, key=lambda y, x=x: table[x, y])
        leader = max(actions, key=lambda x: table[x, replies[x]])
        found = search(domain_of(dtype=x64), "maxmin", table, jr.key(0), within, distinct=distinct)
        assert tuple(map(int, found)) == (leader, replies[leader])


@pytest.mark.parametrize("level", [0.5, 0.0])
def test_plausible(x64, level):
    rng = np.random.default_rng(0)
    for spread in (0.1, 0.5, 2.0):
        table = (level + 0.3 + spread * rng.normal(size=(N, N))).astype(x64)
        found = domain_of(dtype=x64).plausible(of(table), level, of(rng.normal(size=N)))
        expected = [bool(np.all(table[x] >= level)) for x in range(N)]
        assert bool(found.fell_back) == (not any(expected))
        if any(expected):
            assert np.asarray(found.members).tolist() == expected


def test_plausible_falls_back_to_the_leader_and_says_so():
    table = np.full((N, N), 0.2, np.float32)
    utility = np.array([0, 3, 1, 2, -1, 0], np.float32)
    found = domain_of().plausible(of(table), 0.5, of(utility))
    assert bool(found.fell_back)
    assert np.flatnonzero(found.members).tolist() == [1]


def test_plausible_keeps_what_ties_with_the_level():
    table = np.full((N, N), 0.5 - 1e-4, np.float32)
    zeros = of(np.zeros(N, np.float32))
    assert bool(np.all(domain_of(tolerance=2e-4).plausible(of(table), 0.5, zeros).members))
    assert bool(domain_of(tolerance=5e-5).plausible(of(table), 0.5, zeros).fell_back)


# ---- ties ------------------------------------------------------------------------------------


def test_tied_actions_are_equally_likely():
    values = jnp.array([1.0, 0.0, 1.0, 1.0, -1.0, 1.0])
    found = often(lambda key: domain_of().argmax(of(values), key))
    counts = np.bincount(found, minlength=N)
    assert counts[[1, 4]].tolist() == [0, 0]
    assert uniform(counts[[0, 2, 3, 5]])


def test_tied_pairs_are_equally_likely():
    """Rows with one, two and three ties: a uniform row and then a uniform tie would be wrong."""
    ties = [(0, 1), (2, 0), (2, 5), (4, 1), (4, 2), (4, 4)]
    table = np.zeros((N, N), np.float32)
    table[tuple(zip(*ties, strict=True))] = 1
    first, second = often(lambda key: domain_of().argmax_pair(of(table), key))
    counts = np.zeros((N, N), int)
    np.add.at(counts, (np.asarray(first), np.asarray(second)), 1)
    assert uniform([counts[pair] for pair in ties])
    assert counts[table == 0].sum() == 0


def test_tied_leaders_and_followers_are_equally_likely():
    """Leaders 1 and 3 have the value 1/2; 1 may be met by 0, 2 or 4, and 3 only by itself."""
    table = np.zeros((N, N), np.float32)
    table[1] = [0.5, 0.9, 0.5, 0.7, 0.5, 0.6]
    table[3] = [0.8, 0.8, 0.8, 0.5, 0.8, 0.8]
    leader, follower = map(np.asarray, often(lambda key: domain_of().maxmin(of(table), key)))
    assert uniform(np.bincount(leader, minlength=N)[[1, 3]])
    assert np.all(follower[leader == 3] == 3)
    counts = np.bincount(follower[leader == 1], minlength=N)
    assert counts[[1, 3, 5]].tolist() == [0, 0, 0]
    assert uniform(counts[[0, 2, 4]])


def test_infinite_scores_tie():
    """As the indices of actions never asked do; the finite tolerance does not matter."""
    values = jnp.array([jnp.inf, 3.0, jnp.inf, -jnp.inf, jnp.inf, 0.0])
    counts = np.bincount(often(lambda key: domain_of().argmax(of(values), key)), minlength=N)
    assert counts[[1, 3, 5]].sum() == 0
    assert uniform(counts[[0, 2, 4]])


def test_only_values_within_the_tolerance_tie(x64):
    values = jnp.asarray([0.0, 0.9, 1.0, 0.95, -1.0, 0.0], x64)

    def draw(key, domain):
        return domain.argmax(of(values), key)

    for tolerance, ties in ((0.0, {2}), (0.07, {2, 3}), (0.15, {1, 2, 3})):
        found = often(draw, domain_of(dtype=x64, tolerance=tolerance))
        assert set(np.asarray(found).tolist()) == ties


def test_the_default_tolerance_lies_above_rounding_and_below_differences(x64):
    eps = np.finfo(x64).eps
    domain = domain_of(dtype=x64)
    assert domain.tolerance.dtype == x64
    assert float(domain.tolerance) == pytest.approx(eps ** (2 / 3))
    rounded = jnp.asarray([0.5, 0.5 + 8 * eps, 0.0, 0.0, 0.0, 0.0], x64)
    assert set(np.asarray(often(lambda k: domain.argmax(of(rounded), k))).tolist()) == {0, 1}


# ---- draws -----------------------------------------------------------------------------------


def test_samples_are_uniform():
    assert uniform(np.bincount(often(domain_of().sample), minlength=N))
    within = jnp.array([True, False, True, True, False, False])
    counts = np.bincount(often(domain_of().sample, within), minlength=N)
    assert counts[~np.asarray(within)].sum() == 0
    assert uniform(counts[np.asarray(within)])


def test_a_bag_is_drawn_from_by_its_copies():
    empty = domain_of().bag()
    bag = empty.add(3).add(0).add(3).add(jnp.int32(5)).add(3)
    assert bag.counts.tolist() == [1, 0, 0, 3, 0, 1]
    assert empty.counts.tolist() == [0] * N
    counts = np.bincount(often(bag.draw), minlength=N)
    assert counts[[1, 2, 4]].sum() == 0
    assert scipy.stats.chisquare(counts[[0, 3, 5]], DRAWS * np.array([1, 3, 1]) / 5).pvalue > 1e-3


# ---- small and wrong domains -----------------------------------------------------------------


def test_one_action_is_the_answer_to_everything(x64):
    domain, key = domain_of(1, x64), jr.key(0)
    table = jnp.asarray([[0.5]], x64)
    assert int(domain.argmax(of(table[0]), key)) == 0
    assert tuple(map(int, domain.argmax_pair(of(table), key))) == (0, 0)
    assert tuple(map(int, domain.maxmin(of(table), key))) == (0, 0)
    assert tuple(map(int, domain.maxmin(of(table), key, distinct=True))) == (0, 0)
    assert int(domain.sample(key)) == 0
    assert int(domain.bag().add(0).draw(key)) == 0
    assert bool(domain.plausible(of(table), 0.5, of(table[0])).members[0])


def test_contains_its_numbers_only():
    domain = domain_of()
    assert [bool(domain.contains(x)) for x in (-1, 0, N - 1, N)] == [False, True, True, False]
    assert domain.size == N


def test_scores_see_every_action_at_once():
    seen = []

    def score(x):
        seen.append(x)
        return jnp.zeros(N)

    domain_of().argmax(score, jr.key(0))
    assert seen == [ALL]


def test_the_dtype_is_that_of_the_points(x64):
    assert FiniteDomain(np.zeros((2, 1), x64)).points.dtype == x64
    assert FiniteDomain([[1], [2]]).points.dtype == x64


@pytest.mark.parametrize(
    ("error", "points", "tolerance", "message"),
    [
        (ValueError, np.zeros((0, 2)), None, "points: expected at least one action"),
        (ValueError, [1.0, 2.0], None, "points: expected an array with 2 axes, got shape"),
        (ValueError, [[1.0], [np.nan]], None, "points: expected finite numbers, got 1 that"),
        (TypeError, [["one"], ["two"]], None, "points: expected numbers, got list"),
        (TypeError, [[True], [False]], None, "points: expected real numbers, got dtype bool"),
        (ValueError, [[1.0]], -1e-3, "tolerance: expected a number of at least 0"),
        (ValueError, [[1.0]], np.inf, "tolerance: expected finite"),
    ],
)
def test_refuses_bad_points_and_tolerances(error, points, tolerance, message):
    with pytest.raises(error, match=message):
        FiniteDomain(points, tolerance)
