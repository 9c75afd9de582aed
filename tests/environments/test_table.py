"""Judges on a finite domain: frequencies of answers, grids, random utilities of a given norm."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
import tinygp

from duelist.domains import ALL, FiniteDomain
from duelist.environments import (
    TableEnvironment,
    grid_environment,
    objective,
    random_environment,
)
from duelist.links import Logistic, Probit

DRAWS = 20_000


def domain_of(n=3, dtype=np.float32):
    return FiniteDomain(jnp.asarray(np.random.default_rng(0).uniform(size=(n, 2)), dtype))


def frequency(judge, query):
    """How often the judge says yes."""
    ask = jax.jit(jax.vmap(lambda key: judge.answer(query, key)))
    answers = ask(jr.split(jr.key(1), DRAWS))
    assert answers.dtype == bool
    return int(np.sum(answers))


@pytest.mark.parametrize(
    ("link", "probability"),
    [(Logistic(), lambda h: 1 / (1 + np.exp(-h))), (Probit(), scipy.stats.norm.cdf)],
)
@pytest.mark.parametrize("query", [(0, 1), (1, 0), (2, 2), (0,), (2,)])
def test_answers_come_as_often_as_the_link_says(link, probability, query):
    f = np.array([0.4, -0.5, 1.1])
    judge = TableEnvironment(domain_of(), f, link)
    h = f[query[0]] - (f[query[1]] if len(query) == 2 else 0)
    yes = frequency(judge, query)
    assert scipy.stats.binomtest(yes, DRAWS, float(probability(h))).pvalue > 1e-3


def test_the_same_key_gives_the_same_answer():
    judge = TableEnvironment(domain_of(), [0.0, 0.0, 0.0])
    draws = [bool(judge.answer((0, 1), jr.key(k))) for k in (0, 0, 1, 2, 3, 4, 5, 6)]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 2


def test_utilities_are_those_of_the_table(x64):
    judge = TableEnvironment(domain_of(3, x64), [1, 5, 3])
    assert judge.utilities.dtype == x64
    assert [float(judge.utility(x)) for x in range(3)] == [1, 5, 3]
    assert np.asarray(judge.utility(ALL)).tolist() == [1, 5, 3]
    assert float(judge.best()) == 5


@pytest.mark.parametrize("name", ["ackley", "branin", "eggholder", "michalewicz"])
def test_a_grid_holds_scaled_utilities_of_its_coordinates(x64, name):
    function = objective(name)
    judge = grid_environment(function, 7, unit_cube=False, dtype=x64)
    points = np.asarray(judge.domain.points, float)
    low, high = np.asarray(function.box, float).T
    axes = [np.linspace(a, b, 7) for a, b in zip(low, high, strict=True)]
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(49, 2)
    np.testing.assert_allclose(points, mesh, rtol=1e-6, atol=1e-5)
    raw = np.asarray(function(judge.domain.points), float)
    scaled = -3 + 6 * (raw - raw.min()) / (raw.max() - raw.min())
    np.testing.assert_allclose(judge.utilities, scaled, atol=1e-5)
    assert (float(judge.utilities.min()), float(judge.utilities.max())) == (-3, 3)
    assert judge.domain.points.dtype == judge.utilities.dtype == x64


def test_the_unit_cube_rescales_features_and_nothing_else(x64):
    function = objective("branin")
    raw = grid_environment(function, 5, unit_cube=False, dtype=x64)
    unit = grid_environment(function, 5, dtype=x64)
    low, high = np.asarray(function.box, float).T
    expected = (np.asarray(raw.domain.points) - low) / (high - low)
    np.testing.assert_allclose(unit.domain.points, expected, atol=1e-6)
    np.testing.assert_array_equal(unit.utilities, raw.utilities)
    assert unit.domain.points.dtype == x64


def test_a_grid_takes_another_link_and_dimension():
    judge = grid_environment(objective("ackley", dim=3), 4, link=Probit())
    assert judge.domain.points.shape == (64, 3)
    assert isinstance(judge.link, Probit)


@pytest.mark.parametrize("norm", [0.5, 1.0, 3.0])
def test_random_utilities_have_the_norm_asked_for(norm):
    """f' K^-1 f = norm^2 by a solver that knows nothing of how f was drawn."""
    with jax.enable_x64(True):
        domain = domain_of(8, np.float64)
        kernel = tinygp.kernels.Matern32(0.5, distance=tinygp.kernels.distance.L2Distance())
        judge = random_environment(domain, kernel, norm, jr.key(3))
        r = np.linalg.norm(domain.points[:, None] - domain.points[None, :], axis=-1)
        scaled = np.sqrt(3) * r / 0.5
        matrix = (1 + scaled) * np.exp(-scaled)
        f = np.asarray(judge.utilities)
        assert np.sqrt(f @ np.linalg.solve(matrix, f)) == pytest.approx(norm, rel=1e-9)


def test_random_utilities_differ_by_key_and_run_under_vmap():
    domain, kernel = domain_of(5), tinygp.kernels.ExpSquared(0.4)
    make = jax.vmap(lambda key: random_environment(domain, kernel, 2.0, key).utilities)
    many = np.asarray(make(jr.split(jr.key(0), 40)))
    alone = random_environment(domain, kernel, 2.0, jr.split(jr.key(0), 40)[7])
    np.testing.assert_allclose(many[7], alone.utilities, rtol=2e-3, atol=2e-4)
    assert len(np.unique(many.argmax(axis=1))) == 5
    assert np.all(np.abs(many) <= 2 * 1.001)  # |f(x)| <= ||f|| sqrt(k(x, x))


def test_random_utilities_have_no_preferred_sign():
    """w is normal, so f and -f are equally likely, action by action."""
    domain, kernel = domain_of(5), tinygp.kernels.ExpSquared(0.4)
    make = jax.vmap(lambda key: random_environment(domain, kernel, 1.0, key).utilities)
    positive = np.sum(np.asarray(make(jr.split(jr.key(1), 2000))) > 0, axis=0)
    assert all(scipy.stats.binomtest(int(k), 2000).pvalue > 1e-3 for k in positive)


@pytest.mark.parametrize(
    ("error", "utilities", "message"),
    [
        (ValueError, [1.0, 2.0], "utilities: expected one number for each of the 3 actions, got 2"),
        (ValueError, [[1.0, 2.0, 3.0]], "utilities: expected an array with 1 axes"),
        (ValueError, [1.0, 2.0, np.inf], "utilities: expected finite"),
        (TypeError, ["one", "two", "six"], "utilities: expected numbers, got list"),
    ],
)
def test_refuses_bad_utilities(error, utilities, message):
    with pytest.raises(error, match=message):
        TableEnvironment(domain_of(), utilities)


@pytest.mark.parametrize("norm", [0.0, -1.0, np.nan])
def test_refuses_a_norm_that_is_not_positive(norm):
    with pytest.raises(ValueError, match="norm: expected"):
        random_environment(domain_of(), tinygp.kernels.ExpSquared(0.4), norm, jr.key(0))


def test_refuses_a_grid_of_one_point_per_axis():
    with pytest.raises(ValueError, match="per_axis: expected at least 2, got 1"):
        grid_environment(objective("ackley"), 1)


def test_refuses_what_is_no_domain_or_link(unchecked):
    with pytest.raises(TypeError, match="domain: expected FiniteDomain, got int"):
        TableEnvironment(3, [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="link: expected AbstractLink, got str"):
        TableEnvironment(domain_of(), [1.0, 2.0, 3.0], "logistic")
