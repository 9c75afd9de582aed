"""Candidates: what pads them is never chosen, whatever it scores; the rest is a finite domain."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from duelist.domains import ALL, Candidates, Rows

SIZES = (1, 3, 4, 5)


def rows_of(n, seed=0):
    return np.random.default_rng([n, seed]).normal(size=(n, 2)).astype(np.float32)


def domain_of(n=3):
    return Candidates([rows_of(5), rows_of(2)]).given(rows_of(n))


def of(values):
    array = jnp.asarray(values, jnp.float32)
    return lambda *actions: array[actions]


@eqx.filter_jit
def search(domain, method, values, key, within=None, **options):
    return getattr(domain, method)(of(values), key, within, **options)


def padded_values(n, shape, fill, seed):
    """Random values of the candidates, and `fill` wherever padding takes part."""
    values = np.full((domain_of(n).size,) * shape, fill, np.float32)
    values[(slice(n),) * shape] = np.random.default_rng(seed).normal(size=(n,) * shape)
    return values


def test_the_rows_are_padded_with_copies_to_a_power_of_two():
    domain = domain_of(3)
    assert (domain.size, domain.distinct) == (4, None)
    np.testing.assert_array_equal(domain.points, rows_of(3)[[0, 1, 2, 0]])
    np.testing.assert_array_equal(domain.present, [True, True, True, False])
    np.testing.assert_array_equal(domain.rivals(), rows_of(3))
    np.testing.assert_array_equal(domain.probes(), np.concatenate([rows_of(5), rows_of(2)]))
    begin = Candidates([rows_of(2), rows_of(5)])
    assert (begin.size, int(jnp.sum(begin.present))) == (8, 5)


@pytest.mark.parametrize("fill", [100.0, -100.0, np.inf, -np.inf])
@pytest.mark.parametrize("n", SIZES)
def test_searches_are_those_of_the_candidates_alone(n, fill):
    """By loops over the candidates, with padding that scores higher or lower than all of them."""
    for seed in range(3):
        domain, key = domain_of(n), jr.key(seed)
        single, pair = (padded_values(n, k, fill, seed) for k in (1, 2))
        assert int(search(domain, "argmax", single, key)) == np.argmax(single[:n])
        best = tuple(int(x) for x in search(domain, "argmax_pair", pair, key))
        assert best == np.unravel_index(np.argmax(pair[:n, :n]), (n, n))
        leader = max(range(n), key=lambda x: min(pair[x, :n]))
        follower = int(np.argmin(pair[leader, :n]))
        assert tuple(int(x) for x in search(domain, "maxmin", pair, key)) == (leader, follower)
        if n > 1:
            others = np.where(np.eye(n, dtype=bool), np.inf, pair[:n, :n])
            leader = int(np.argmax(others.min(axis=1)))
            found = search(domain, "maxmin", pair, key, distinct=True)
            assert tuple(int(x) for x in found) == (leader, int(np.argmin(others[leader])))


@pytest.mark.parametrize("value", [0.0, np.inf, -np.inf])
@pytest.mark.parametrize("n", SIZES)
def test_padding_is_never_chosen_among_ties(n, value):
    """Where all tie, even at infinity, the choice is one of the candidates; so are draws."""
    domain = domain_of(n)
    within = domain.plausible(
        of(np.full((domain.size,) * 2, value)), 0.0, of(np.zeros(domain.size))
    )
    for seed in range(6):
        key = jr.key(seed)
        single, pair = np.full(domain.size, value), np.full((domain.size,) * 2, value)
        for mask in (None, within.members):
            chosen = [
                search(domain, "argmax", single, key, mask),
                *search(domain, "argmax_pair", pair, key, mask),
                *search(domain, "maxmin", pair, key, mask),
                *search(domain, "maxmin", pair, key, mask, distinct=True),
                domain.sample(key, mask),
            ]
            assert all(0 <= int(x) < n for x in chosen)


@pytest.mark.parametrize("fill", [100.0, -100.0])
@pytest.mark.parametrize("n", SIZES)
def test_padding_is_not_plausible_and_rules_nothing_out(n, fill):
    fell_back = set()
    for seed in range(6):
        domain = domain_of(n)
        ucb, utility = (padded_values(n, k, fill, seed) for k in (2, 1))
        np.fill_diagonal(ucb[:n, :n], -5.0 if seed == 0 else 0.0)
        found = domain.plausible(of(ucb), 0.0, of(utility))
        passed = [x for x in range(n) if all(ucb[x, :n] >= 0)] or [int(np.argmax(utility[:n]))]
        assert np.flatnonzero(found.members).tolist() == passed
        fell_back.add(bool(found.fell_back))
    assert True in fell_back


def test_draws_are_uniform_over_the_candidates():
    domain = domain_of(5)
    draws = jax.vmap(domain.sample)(jr.split(jr.key(0), 5000))
    counts = np.bincount(draws, minlength=8)
    assert counts[5:].tolist() == [0, 0, 0]
    np.testing.assert_allclose(counts[:5], 1000, atol=120)


def test_sets_of_one_bucket_share_a_program():
    traces = []

    @eqx.filter_jit
    def best(domain):
        traces.append(1)
        return domain.argmax(lambda x: domain.features(x)[..., 0], jr.key(0))

    for n in (5, 6, 7, 8, 3, 4, 8):
        assert int(best(domain_of(n))) == np.argmax(rows_of(n)[:, 0])
    assert len(traces) == 2


def test_many_contexts_are_padded_to_the_largest():
    stacked = domain_of().stacked([rows_of(2), rows_of(5)])
    assert stacked.points.shape == (2, 8, 2)
    np.testing.assert_array_equal(stacked.present.sum(axis=1), [2, 5])
    one = domain_of().given(Rows(stacked.points[0], stacked.present[0]))
    np.testing.assert_array_equal(one.rivals(), rows_of(2))
    np.testing.assert_array_equal(one.features(ALL), rows_of(2)[[0, 1, 0, 0, 0, 0, 0, 0]])


def test_numbers_of_candidates():
    domain = domain_of(3)
    assert int(domain.as_action("x", 2)) == 2
    assert [bool(domain.contains(x)) for x in (-1, 0, 2, 3)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Candidates([]), ValueError, "examples: expected the candidates of at least one"),
        (lambda: Candidates([rows_of(2), [[1.0]]]), ValueError, r"examples\[1\]: expected 2 feat"),
        (lambda: Candidates([np.zeros((0, 2))]), ValueError, r"examples\[0\]: expected at least"),
        (lambda: Candidates([rows_of(2)], 2), ValueError, "context_size: expected less than the 2"),
        (lambda: Candidates([rows_of(2)], -1), ValueError, "context_size: expected at least 0"),
        (lambda: domain_of().given([[1.0, 2.0, 3.0]]), ValueError, "context: expected 2 features"),
        (lambda: domain_of().given([1.0, 2.0]), ValueError, "context: expected an array with 2"),
        (lambda: domain_of().given([[np.inf, 0.0]]), ValueError, "context: expected finite"),
        (lambda: domain_of(3).as_action("x", 3), ValueError, "x: expected action numbers from 0 t"),
        (lambda: domain_of().bag(), TypeError, "same actions in every context"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_errors_name_the_argument(make, error, message):
    with pytest.raises(error, match=message):
        make()
