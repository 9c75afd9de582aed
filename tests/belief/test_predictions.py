"""What holds of every prediction, whatever was answered: symmetry, order, and learning."""

import dataclasses
from typing import NamedTuple

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp

from duelist.belief import FixedBeta, TheoremBeta, prior
from duelist.domains import ALL, FiniteDomain
from duelist.links import Logistic, Probit

N = 7
LINKS = {"logistic": Logistic(), "probit": Probit()}
KINDS = [
    ("probability", "worst-case", "logistic"),
    ("probability", "laplace", "probit"),
    ("utility", "worst-case", "probit"),
    ("utility", "laplace", "logistic"),
]
every_kind = pytest.mark.parametrize(("space", "width", "link"), KINDS)
histories = st.lists(
    st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), st.floats(0, 1, width=32)), max_size=25
)
few = hypothesis.settings(
    max_examples=12, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)


def make_prior(dtype, feedback="duels", link="logistic"):
    points = np.random.default_rng(3).uniform(size=(N, 2))
    return prior(
        FiniteDomain(jnp.asarray(points, dtype)),
        tinygp.kernels.ExpSquared(jnp.asarray(0.5, dtype)),
        feedback,
        link=LINKS[link],
        lam=0.3,
        beta=FixedBeta(0.7),
    )


class Tables(NamedTuple):
    """All predictions of a belief, as NumPy's arrays [n, n]."""

    preference: np.ndarray
    difference: np.ndarray
    width: np.ndarray
    deviation: np.ndarray
    lcb: np.ndarray
    ucb: np.ndarray
    level: float


@jax.jit
def _tables(belief):
    names = Tables._fields[:-1]
    return [getattr(belief, name)(ALL, ALL) for name in names]


def tables(belief):
    return Tables(*(np.asarray(table, float) for table in _tables(belief)), level=belief.level)


def tell(tell_all, belief, history):
    if not history:
        return belief
    return tell_all(belief, [told[:2] for told in history], [told[2] for told in history])


@every_kind
@hypothesis.given(history=histories)
@few
def test_predictions_are_symmetric_and_ordered(double, tell_all, space, width, link, history):
    belief = tell(tell_all, make_prior(double, link=link), history)
    # Neither rule matters to learning; replaced afterwards, all kinds share one compiled program.
    belief = dataclasses.replace(belief, space=space, width_rule=width)
    shown, diagonal = tables(belief), np.arange(N)
    np.testing.assert_allclose(shown.preference + shown.preference.T, 1, rtol=1e-13)
    np.testing.assert_array_equal(shown.difference, -shown.difference.T)
    np.testing.assert_allclose(shown.width, shown.width.T, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(shown.width[diagonal, diagonal], 0)
    np.testing.assert_array_equal(shown.lcb[diagonal, diagonal], shown.level)
    np.testing.assert_array_equal(shown.ucb[diagonal, diagonal], shown.level)
    estimate = shown.preference if space == "probability" else shown.difference
    assert np.all(shown.lcb <= estimate)
    assert np.all(estimate <= shown.ucb)
    # What one side may lose at most the other may win at most.
    np.testing.assert_allclose(shown.lcb + shown.ucb.T, 2 * shown.level, rtol=0, atol=1e-13)
    coefficient = 0.7 if space == "probability" else 0.7 / float(belief.constants.lipschitz)
    np.testing.assert_allclose(shown.ucb - shown.lcb, 2 * coefficient * shown.width, atol=1e-13)
    assert float(belief.beta) == pytest.approx(coefficient)


@hypothesis.given(history=histories.filter(bool))
@few
def test_widths_only_shrink_and_the_gain_only_grows(double, tell_all, history):
    before = tell(tell_all, make_prior(double), history[:-1])
    after = tell(tell_all, before, history[-1:])
    assert np.all(tables(after).width <= tables(before).width + 1e-12)
    x, y, _ = history[-1]
    if x == y:
        np.testing.assert_array_equal(before.covariance, after.covariance)
        assert float(after.gain) == float(before.gain)
    else:
        assert float(after.width(x, y)) < float(before.width(x, y))
        added = np.log1p(float(before.width(x, y)) ** 2 / float(before.constants.noise)) / 2
        assert float(after.gain - before.gain) == pytest.approx(added, rel=1e-9, abs=1e-13)
        assert float(before.information(x, y)) == pytest.approx(2 * added, rel=1e-9)


@hypothesis.given(history=histories)
@few
def test_a_metric_of_widths(double, tell_all, history):
    """sigma^D is the norm of a difference: the triangle inequality, and at most the prior's."""
    width = tables(tell(tell_all, make_prior(double), history)).width
    assert np.all(width[:, None, :] <= width[:, :, None] + width[None, :, :] + 1e-7)
    assert np.all(width <= 2)


def test_more_wins_raise_the_preference(double, tell_all):
    values = [0.5]
    belief = make_prior(double)
    for _ in range(5):
        belief = tell_all(belief, [(1, 4)], [1.0])
        values.append(float(belief.preference(1, 4)))
    assert np.all(np.diff(values) > 0)
    assert values[-1] < 1


def test_points_and_columns_are_entries_of_the_tables(double, tell_all):
    history = [(0, 1, 1.0), (2, 5, 0.0), (3, 1, 1.0), (6, 2, 1.0)]
    belief = tell(tell_all, make_prior(double), history)
    shown = tables(belief)
    for name in Tables._fields[:-1]:
        predict, table = getattr(belief, name), getattr(shown, name)
        np.testing.assert_allclose(predict(ALL, 2), table[:, 2], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(predict(5, ALL), table[5], rtol=1e-12, atol=1e-15)
        assert float(predict(jnp.int32(5), jnp.int32(2))) == pytest.approx(table[5, 2], rel=1e-12)
    first, second = belief.utilities(ALL, ALL)
    np.testing.assert_array_equal(first - second, shown.difference)


def test_ratings_are_predicted_against_an_action_of_no_utility(double, tell_all):
    belief = tell_all(make_prior(double, "ratings"), [(0,), (0,), (3,)], [1.0, 1.0, 0.0])
    utility = np.asarray(belief.utility(ALL))
    np.testing.assert_array_equal(belief.difference(ALL), utility)
    np.testing.assert_allclose(belief.preference(ALL), 1 / (1 + np.exp(-utility)), rtol=1e-14)
    np.testing.assert_allclose(belief.width(ALL) ** 2, np.diag(belief.covariance), rtol=1e-14)
    assert utility[0] > 0 > utility[3]
    assert np.all(np.asarray(belief.lcb(ALL)) <= np.asarray(belief.preference(ALL)))


def test_samples_have_the_laplace_mean_and_deviation(double, tell_all):
    """4000 draws: means within 4.5 and deviations within 6 standard errors."""
    history = [(0, 1, 1.0), (2, 5, 0.0), (3, 1, 1.0), (6, 2, 1.0)] * 4  # renewed at 16 answers
    belief = tell(tell_all, make_prior(double), history)
    keys = jax.random.split(jax.random.key(0), 4000)
    draws = np.asarray(jax.jit(jax.vmap(lambda key: belief.sample(key)(ALL)))(keys))
    deviation = np.asarray(belief.deviation(ALL))
    error = deviation / np.sqrt(4000)
    assert np.all(np.abs(draws.mean(axis=0) - np.asarray(belief.fit.f)) < 4.5 * error)
    np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=6 / np.sqrt(8000))
    gaps = (draws[:, 0] - draws[:, 1]).std()
    assert gaps == pytest.approx(float(belief.deviation(0, 1)), rel=6 / np.sqrt(8000))


def test_the_objective_and_the_norm_are_those_of_the_fit(double, oracles, tell_all):
    queries, answers = oracles.random_history(np.random.default_rng(0), N, 40, 2)
    belief = tell_all(make_prior(double), queries, answers)
    gram = np.asarray(belief.gram)
    dense = oracles.Posterior(gram, queries, answers, 0.3, 1.0)
    selves = len(queries) - len(dense.queries)
    assert selves > 0  # they add nothing to the objective
    assert float(belief.objective()) == pytest.approx(dense.value(), rel=1e-9)
    norm = np.sqrt(dense.alpha @ dense.matrix @ dense.alpha)
    assert float(belief.norm()) == pytest.approx(norm, rel=1e-6)


def test_the_theorems_bounds_are_wider_than_half_before_any_answer(x64):
    """4 L B sigma alone exceeds 1/2 for B = 1: nothing is known yet."""
    domain = FiniteDomain(jnp.asarray(np.eye(3), x64))
    kernel = tinygp.kernels.ExpSquared(jnp.asarray(0.1, x64))
    belief = prior(domain, kernel, beta=TheoremBeta(0.1))
    lcb = np.asarray(belief.lcb(ALL, ALL))
    assert np.all(lcb[~np.eye(3, dtype=bool)] < 0)
