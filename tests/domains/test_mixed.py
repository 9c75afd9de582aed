"""Mixed domains: values and their errors, both kinds of search against lists of all actions."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp

from duelist.domains import (
    Categorical,
    Fixed,
    Integer,
    Ordinal,
    Real,
    boolean,
    mixed_domain,
    mixed_kernel,
)
from duelist.kernels import Hamming, Overlap

SMALL = {
    "width": Integer(2, 5),
    "brand": Fixed("acme"),
    "shape": Categorical(["round", "square", "oval"]),
    "size": Ordinal(["S", "M", "L"]),
    "shiny": boolean(),
}
LARGE = {
    "rate": Real(1e-4, 1.0, log=True),
    "count": Integer(1, 1000, log=True),
    "shape": Categorical(["round", "square", "oval"]),
    "shiny": boolean(),
    "angle": Real(-1.0, 1.0),
}


def thin(v):
    """Round things are thin."""
    return (v["shape"] != "round") | (v["width"] < 4)


@pytest.fixture(scope="module")
def large():
    return mixed_domain(LARGE, candidates=64, starts=4)


# ---- values ----------------------------------------------------------------------------------


def test_a_small_space_is_enumerated_with_both_ends():
    domain = mixed_domain(SMALL, thin)
    expected = {
        (w, shape, size, shiny)
        for w, shape, size, shiny in itertools.product(
            (2, 3, 4, 5), ("round", "square", "oval"), "SML", (False, True)
        )
        if shape != "round" or w < 4
    }
    listed = [domain.values_of(x) for x in domain.rows]
    assert domain.search == "enumerated"
    assert {tuple(v[n] for n in ("width", "shape", "size", "shiny")) for v in listed} == expected
    assert domain.size == len(listed) == len(expected)
    assert {v["brand"] for v in listed} == {"acme"}


def test_values_and_actions_are_the_same_thing(large):
    values = {"rate": 0.01, "count": 37, "shape": "oval", "shiny": True, "angle": -0.25}
    x = large.action_of(values)
    np.testing.assert_allclose(x, [0.01, 37, 2, 1, -0.25], rtol=1e-6)
    back = large.values_of(x)
    assert [back[name] for name in ("count", "shape", "shiny")] == [37, "oval", True]
    assert [type(back[name]) for name in LARGE] == [float, int, str, bool, float]
    assert back["rate"] == pytest.approx(0.01)
    expected = [0.5, np.log(37) / np.log(1000), 2, 1, 0.375]
    np.testing.assert_allclose(large.features(x), expected, rtol=1e-5)


def test_points_of_the_cube_and_back(large):
    z = large.snapped(jr.uniform(jr.key(0), (200, 5)))
    x = large.action(z)
    assert all(bool(large.contains(row)) for row in np.asarray(x)[:20])
    np.testing.assert_allclose(large.locate(large.features(x)), z, atol=2e-5)
    levels = np.asarray(large.action(jnp.asarray([[0.0] * 5, [1.0] * 5])))
    np.testing.assert_allclose(levels, [[1e-4, 1, 0, 0, -1], [1, 1000, 2, 1, 1]], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": 1}, "values: unknown 'colour'"),
        ({"shape": "flat"}, "shape: expected one of"),
        ({"width": 6}, "width: expected a number from 2 to 5, got 6"),
        ({"width": 2.5}, "width: expected an integer, got 2.5"),
        ({"shiny": 1}, "shiny: expected one of"),
        ({"brand": "other"}, "brand: expected one of"),
        ({"width": 5, "shape": "round"}, "excluded by the constraint"),
    ],
)
def test_bad_values(change, message):
    values = {"width": 2, "shape": "oval", "size": "S", "shiny": False} | change
    with pytest.raises(ValueError, match=message):
        mixed_domain(SMALL, thin).action_of(values)


def test_a_missing_value_and_one_of_another_type():
    domain = mixed_domain(SMALL)
    with pytest.raises(ValueError, match="values: expected a value for 'width'"):
        domain.action_of({})
    with pytest.raises(TypeError, match="width: expected a number, got 'x'"):
        domain.action_of({"width": "x"})


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Real(1.0, 1.0), ValueError, "low, high: expected low < high"),
        (lambda: Real(0.0, 1.0, log=True), ValueError, "low: expected a number greater than 0"),
        (lambda: Real(0.0, float("inf")), ValueError, "high: expected a finite number"),
        (lambda: Integer(3, 1), ValueError, "low, high: expected low < high"),
        (lambda: Categorical(["a"]), ValueError, "choices: expected at least two"),
        (lambda: Categorical(["a", "b", "a"]), ValueError, "got 'a' more than once"),
        (lambda: mixed_domain({"a": Fixed(1)}), ValueError, "parameters: expected one that varies"),
        (lambda: mixed_domain(SMALL, lambda v: v["width"] > 9), ValueError, "constraint: none of"),
        (lambda: mixed_domain(LARGE, lambda v: v["angle"] > 9), ValueError, "constraint: none of"),
        (
            lambda: mixed_domain(LARGE, lambda v: v["shape"] == "flat"),
            ValueError,
            "expected one of",
        ),
        (lambda: mixed_domain(SMALL, lambda v: v["width"]), TypeError, "expected a boolean"),
        (
            lambda: mixed_domain(SMALL, lambda v: v["width"] > 2 and v["width"] < 4),
            TypeError,
            "constraint: expected &",
        ),
        (lambda: mixed_domain(SMALL, starts=3), ValueError, "starts: expected nothing"),
    ],
)
def test_bad_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---- searches --------------------------------------------------------------------------------


def test_an_enumerated_search_is_exact():
    """The game, the best pair and the best action against loops over all actions."""
    domain = mixed_domain(SMALL, thin)
    weights = jnp.asarray(np.random.default_rng(0).normal(size=4), jnp.float32)

    def utility(x):
        return jnp.sin(3 * jnp.sum(x * jnp.broadcast_to(weights, x.shape), axis=-1))

    def score(x, x2):
        return utility(x) - utility(x2) - 0.3 * jnp.sum(jnp.abs(x - x2), axis=-1)

    rows = np.asarray(domain.rows)
    u = np.asarray(utility(domain.rows))
    distance = np.abs(rows[:, None] - rows[None]).sum(-1)
    table = u[:, None] - u[None] - 0.3 * distance
    leader, follower = domain.maxmin(score, jr.key(0))
    number = int(np.argmax(table.min(axis=1)))
    np.testing.assert_array_equal(leader, rows[number])
    np.testing.assert_array_equal(follower, rows[int(np.argmin(table[number]))])
    np.testing.assert_array_equal(domain.argmax(utility, jr.key(0)), rows[int(np.argmax(u))])
    first, second = domain.argmax_pair(score, jr.key(0))
    best = np.unravel_index(np.argmax(table), table.shape)
    np.testing.assert_array_equal(first, rows[best[0]])
    np.testing.assert_array_equal(second, rows[best[1]])


def peaked(x):
    """Best at rate 0.01, count 300, square, shiny, and an angle that depends on the shape."""
    angle = jnp.where(x[..., 2] == 1, 0.5, -0.5)
    return (
        -((jnp.log10(x[..., 0]) + 2) ** 2)
        - (jnp.log(x[..., 1]) - np.log(300)) ** 2
        + jnp.where(x[..., 2] == 1, 0.5, 0.0)
        + 0.3 * x[..., 3]
        - (x[..., 4] - angle) ** 2
    )


def test_alternating_blocks_find_the_best(large):
    found = large.values_of(eqx.filter_jit(large.argmax)(peaked, jr.key(0)))
    assert large.search == "alternating"
    assert [found[name] for name in ("shape", "shiny")] == ["square", True]
    assert abs(found["count"] - 300) <= 2  # 299 and 301 tie with 300 up to the tolerance
    assert found["rate"] == pytest.approx(0.01, rel=0.02)
    assert found["angle"] == pytest.approx(0.5, abs=0.01)


def test_the_constraint_holds_for_what_is_found_and_drawn():
    """Square things are excluded, and counts above 100: the best of the rest."""
    domain = mixed_domain(
        LARGE,
        lambda v: (v["shape"] != "square") & (v["count"] <= 100),
        candidates=64,
        starts=4,
    )
    found = domain.values_of(eqx.filter_jit(domain.argmax)(peaked, jr.key(0)))
    assert [found[name] for name in ("count", "shiny")] == [100, True]
    assert found["shape"] != "square"
    assert found["angle"] == pytest.approx(-0.5, abs=0.01)
    draw = eqx.filter_jit(jax.vmap(lambda key: domain.sample(key, None)))
    drawn = np.asarray(draw(jr.split(jr.key(0), 300)))
    assert np.all((drawn[:, 2] != 1) & (drawn[:, 1] <= 100))
    assert set(drawn[:, 2]) == {0.0, 2.0}


# ---- kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["product", "sum"])
def test_the_kernel_of_numbers_and_categories(combine):
    domain = mixed_domain(SMALL)
    kernel = mixed_kernel(domain, tinygp.kernels.ExpSquared(0.4), Hamming(0.7), combine)
    points = np.asarray(domain.probes(), float)
    numbers, categories = points[:, [0, 2]], points[:, [1, 3]]
    squares = ((numbers[:, None] - numbers[None]) ** 2).sum(-1)
    first = np.exp(-squares / (2 * 0.4**2))
    second = np.exp(-(categories[:, None] != categories[None]).mean(-1) / 0.7)
    expected = first * second if combine == "product" else (first + second) / 2
    found = np.asarray(kernel(domain.probes(), domain.probes()))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.linalg.eigvalsh(expected).min() > -1e-9


def test_one_sort_of_parameter_alone():
    domain = mixed_domain({"shape": Categorical("abc"), "shiny": boolean()})
    kernel = mixed_kernel(domain, tinygp.kernels.ExpSquared(0.4), Overlap())
    points = np.asarray(domain.probes())
    expected = (points[:, None] == points[None]).mean(-1)
    np.testing.assert_allclose(kernel(domain.probes(), domain.probes()), expected, atol=1e-6)
