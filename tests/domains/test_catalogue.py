"""Searches of a catalogue by bounds, against the same searches by loops over tables."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from duelist.domains import BoundedPairScore, Catalogue

N, BATCH = 60, 4
DRAWS = 2000


def numbers(x, n):
    return jnp.arange(n) if isinstance(x, slice) else x


def of(values):
    """The score, or the score of pairs, with these values; leading axes broadcast."""
    array = jnp.asarray(values)
    return lambda *actions: array[tuple(numbers(x, array.shape[0]) for x in actions)]


def catalogue(n=N, dtype=np.float32, **options):
    return Catalogue(np.zeros((n, 1), dtype), **({"batch": BATCH} | options))


def embedded(seed, n=N, dtype=np.float32):
    """Utilities, and a metric between actions, as a belief has them."""
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(n, 3)) * np.exp(rng.uniform(-2, 0.5))
    distance = np.linalg.norm(corners[:, None] - corners[None, :], axis=-1)
    return rng.normal(size=n).astype(dtype), distance.astype(dtype)


def bound_table(seed, sign, **options):
    """LCB (sign -1) or UCB (sign 1) in probability space."""
    f, distance = embedded(seed, **options)
    return 1 / (1 + np.exp(f[None, :] - f[:, None])) + sign * distance / 2


@eqx.filter_jit
def search(domain, method, scores, key, *arguments, **options):
    score = of(scores[0]) if len(scores) == 1 else BoundedPairScore(*map(of, scores))
    return getattr(domain, method)(score, key, *arguments, **options)


@eqx.filter_jit
def on_members(domain, method, scores, ucb, level, utility, key):
    members = domain.plausible(of(ucb), level, of(utility)).members
    if method == "sample":
        return domain.sample(key, members)
    score = of(scores[0]) if len(scores) == 1 else BoundedPairScore(*map(of, scores))
    return getattr(domain, method)(score, key, members)


# ---- the game --------------------------------------------------------------------------------


@pytest.mark.parametrize("distinct", [False, True])
def test_the_game_is_that_of_the_whole_table(x64, distinct):
    looked = []
    for seed in range(20):
        table = bound_table(seed, 1 if distinct else -1, dtype=x64)
        allowed = np.random.default_rng(seed).uniform(size=N) < (1 if seed % 2 else 0.5)
        found = search(
            catalogue(dtype=x64), "game", [table], jr.key(seed), jnp.asarray(allowed),
            distinct=distinct,
        )  # fmt: skip
        replies = np.where(allowed[None, :], table, np.inf)
        replies = np.where(np.eye(N) > 0, np.inf, replies) if distinct else replies
        values = np.where(allowed, replies.min(axis=1), -np.inf)
        assert int(found.leader) == values.argmax()
        assert int(found.follower) == replies[int(found.leader)].argmin()
        assert float(found.value) == pytest.approx(values.max(), abs=1e-6)
        looked.append(int(found.looked))
    assert min(looked) < N / 3


def test_the_game_looks_at_everyone_if_it_must():
    """The identity: against himself everyone gets 1, against all others 0, so nobody is ahead."""
    table = np.eye(N, dtype=np.float32)
    table[7] = 0.25
    found = search(catalogue(), "game", [table], jr.key(0))
    assert int(found.leader) == 7
    assert float(found.value) == 0.25


def test_the_maxmin_of_a_policy_is_the_game():
    table = bound_table(0, -1)
    found = search(catalogue(), "game", [table], jr.key(0))
    pair = search(catalogue(), "maxmin", [table], jr.key(0))
    assert tuple(map(int, pair)) == (int(found.leader), int(found.follower))


def test_equal_actions_lead_equally_often():
    table = jnp.zeros((6, 6)).at[5].set(-1.0)
    pairs = jax.vmap(lambda key: jnp.stack(catalogue(6).maxmin(of(table), key)))(
        jr.split(jr.key(0), DRAWS)
    )
    leaders = np.bincount(pairs[:, 0], minlength=6)
    assert leaders[5] == 0
    # The batch holds four of the six; the last place of it may be taken by the worst.
    assert scipy.stats.chisquare(leaders[:5]).pvalue > 1e-3


# ---- pairs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_best_pair_by_its_bound(x64, seed):
    """max(f, f') + d - 0.1 |f - f'| d has the bound max(f, f') + d."""
    f, distance = embedded(seed, dtype=x64)
    spread = np.abs(f[:, None] - f[None, :])
    table = np.maximum(f[:, None], f[None, :]) + distance - 0.1 * np.minimum(spread, 1) * distance
    found = search(catalogue(dtype=x64), "pair", [table, f, distance], jr.key(0))
    assert table[int(found.first), int(found.second)] == table.max()
    assert float(found.gap) == 0
    short = search(catalogue(dtype=x64, rounds=1), "pair", [table, f, distance], jr.key(0))
    assert int(short.looked) == BATCH
    assert float(short.value + short.gap) >= table.max() - 1e-5


def test_a_pair_needs_a_bound():
    with pytest.raises(TypeError, match="score: expected a BoundedPairScore"):
        catalogue().argmax_pair(of(np.zeros((N, N), np.float32)), jr.key(0))


# ---- M_t -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=range(2))
def plausible(request):
    """A table of upper bounds with its members, some but not all."""
    f, _ = embedded(request.param)
    table = bound_table(request.param, 1)
    level = float(np.quantile(table.min(axis=1), 0.6))
    mask = np.array([all(table[x] >= np.float32(level) - 2e-5) for x in range(N)])
    assert 0 < np.sum(mask) < N
    return f, table, level, mask


def test_the_members_are_those_of_the_whole_table(plausible):
    f, table, level, mask = plausible
    found = catalogue().plausible(of(table), level, of(f))
    np.testing.assert_array_equal(found.members.test(jnp.arange(N)), mask)
    assert np.all(np.asarray(found.members.candidates)[mask])
    assert np.sum(found.members.candidates) < N
    assert not bool(found.fell_back)


def test_the_best_member_and_the_best_pair_of_members(plausible):
    f, table, level, mask = plausible
    _, distance = embedded(9)
    best = on_members(catalogue(), "argmax", [-f], table, level, f, jr.key(0))
    assert int(best) == np.where(mask, -f, -np.inf).argmax()
    zeros = np.zeros_like(f)
    scores = [distance, zeros, distance]
    first, second = on_members(catalogue(), "argmax_pair", scores, table, level, f, jr.key(0))
    assert distance[int(first), int(second)] == distance[np.ix_(mask, mask)].max()
    assert mask[int(first)]
    assert mask[int(second)]


def test_samples_are_uniform_on_the_members(plausible):
    f, table, level, mask = plausible
    drawn = jax.vmap(
        lambda key: on_members(catalogue(), "sample", None, table, level, f, key)
    )(jr.split(jr.key(0), DRAWS))  # fmt: skip
    counts = np.bincount(drawn, minlength=N)
    assert counts[~mask].sum() == 0
    assert scipy.stats.chisquare(counts[mask]).pvalue > 1e-3


def test_without_members_the_leader_stands_in():
    f, _ = embedded(0)
    table = np.zeros((N, N), np.float32)
    found = catalogue().plausible(of(table), 0.5, of(f))
    assert bool(found.fell_back)
    for method in ("argmax", "sample"):
        chosen = on_members(catalogue(), method, [-f], table, 0.5, f, jr.key(0))
        assert int(chosen) == f.argmax()


def test_the_game_on_members_is_refused():
    f, _ = embedded(0)
    table = bound_table(0, 1)
    members = catalogue().plausible(of(table), 0.5, of(f)).members
    with pytest.raises(TypeError, match="within: expected None or a mask"):
        catalogue().maxmin(of(table), jr.key(0), members)


# ---- the rest --------------------------------------------------------------------------------


def test_what_it_shares_with_every_finite_domain():
    domain = Catalogue([[0.0], [1.0], [2.0]], batch=16)
    assert (domain.size, domain.batch) == (3, 3)
    assert [bool(domain.contains(x)) for x in (-1, 0, 2, 3)] == [False, True, True, False]
    assert int(domain.bag().add(1).draw(jr.key(0))) == 1
    assert int(domain.argmax(of(np.array([0.0, 2.0, 1.0], np.float32)), jr.key(0))) == 1
    assert 0 <= int(domain.sample(jr.key(0))) < 3
    np.testing.assert_array_equal(domain.features(jnp.array([2, 0])), [[2.0], [0.0]])


def test_one_action_is_the_answer_to_everything():
    domain, table = catalogue(1), np.full((1, 1), 0.5, np.float32)
    assert tuple(map(int, domain.maxmin(of(table), jr.key(0)))) == (0, 0)
    assert tuple(map(int, domain.maxmin(of(table), jr.key(0), distinct=True))) == (0, 0)


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [
        (ValueError, {"points": np.zeros((0, 2))}, "points: expected at least one action"),
        (ValueError, {"tolerance": -1.0}, "tolerance: expected a number of at least 0"),
        (ValueError, {"batch": 0}, "batch: expected at least 1"),
        (TypeError, {"rounds": 1.5}, "rounds: expected an integer"),
    ],
)
def test_refuses_bad_arguments(unchecked, error, arguments, message):
    with pytest.raises(error, match=message):
        Catalogue(**({"points": np.zeros((2, 2), np.float32)} | arguments))
