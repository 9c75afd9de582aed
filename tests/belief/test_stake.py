"""What is at stake, against quadrature and limits."""

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from duelist.belief._stake import expected_gain, expected_improvement, resolved_share
from duelist.links import Logistic, Probit


def mean_over(function, h, deviation):
    """The mean of a function of a normal variable, by quadrature over ten deviations."""
    density = scipy.stats.norm(h, deviation).pdf
    ends = h - 10 * deviation, h + 10 * deviation
    return scipy.integrate.quad(lambda x: function(x) * density(x), *ends, points=[0], limit=200)[0]


@pytest.mark.parametrize(("h", "deviation"), [(-4.0, 2.0), (-0.3, 0.1), (0.0, 1.0), (2.0, 0.5)])
def test_the_expected_improvement_by_quadrature(x64, h, deviation):
    found = expected_improvement(jnp.asarray(h, x64), jnp.asarray(deviation, x64))
    rtol = {"float32": 2e-4, "float64": 1e-8}[x64.name]
    expected = mean_over(lambda x: max(x, 0), h, deviation)
    np.testing.assert_allclose(float(found), expected, rtol=rtol)


@pytest.mark.parametrize(("link", "within"), [(Logistic(), 0.06), (Probit(), 0.3)])
@pytest.mark.parametrize("h", [-4.0, -1.0, 0.0])
@pytest.mark.parametrize("deviation", [0.1, 1.0, 2.0])
def test_the_share_that_an_answer_resolves(double, link, within, h, deviation):
    """Of the variance that a Gaussian of the mean information, by quadrature, would leave."""
    information = mean_over(lambda x: float(link.fisher(jnp.asarray(x))), h, deviation)
    v = deviation**2 * information
    found = float(resolved_share(link, jnp.asarray(h), jnp.asarray(deviation)))
    np.testing.assert_allclose(found, v / (1 + v), rtol=within)


@hypothesis.given(st.floats(-30, 30), st.floats(0, 10))
def test_a_gain_is_finite_and_grows_with_what_is_unknown(h, deviation):
    with jax.enable_x64(True):
        one, more = (
            float(expected_gain(Logistic(), jnp.asarray(h), jnp.asarray(d)))
            for d in (deviation, deviation + 0.1)
        )
    assert 0 <= one <= more * (1 + 1e-12)
    assert np.isfinite(more)


def test_nothing_is_gained_where_nothing_is_unknown(x64):
    zero = jnp.zeros((), x64)
    for h in (-1.0, 0.0, 3.0):
        assert float(expected_gain(Logistic(), jnp.asarray(h, x64), zero)) == 0
