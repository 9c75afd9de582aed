"""Links against SciPy, finite differences, symmetry, and the closed forms of kappa and L."""

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from duelist.links import CustomLink, Logistic, Probit


def steeper(a):
    """A link that is none of those built in: logistic in a stretched argument."""
    return jax.nn.sigmoid(1.3 * a + 0.1 * jnp.tanh(a))


LINKS = {"logistic": Logistic(), "probit": Probit(), "custom": CustomLink(steeper)}
REFERENCE = {
    "logistic": (scipy.special.expit, lambda a: -scipy.special.log_expit(a)),
    "probit": (scipy.special.ndtr, lambda a: -scipy.special.log_ndtr(a)),
    "custom": (
        lambda a: scipy.special.expit(1.3 * a + 0.1 * np.tanh(a)),
        lambda a: -scipy.special.log_expit(1.3 * a + 0.1 * np.tanh(a)),
    ),
}
every_link = pytest.mark.parametrize("name", LINKS)
numbers = st.floats(-30, 30, allow_nan=False)


def values_of(link, h):
    """Everything that a link says about an argument, in one compiled program."""
    one, none = jnp.ones_like(h), jnp.zeros_like(h)
    return {
        "probability": link.probability(h),
        "slope": link.slope(h),
        "loss": link.loss(h),
        "yes": link.pull(h, one, none),
        "no": link.pull(h, none, one),
        "curvature": link.curvature(h),
    }


values = jax.jit(values_of, static_argnums=0)


def at(link, h, dtype):
    return {key: np.asarray(value) for key, value in values(link, jnp.asarray(h, dtype)).items()}


@every_link
def test_probability_and_loss_are_scipys(x64, name):
    h = np.linspace(-8, 8, 101)
    probability, loss = REFERENCE[name]
    rtol = {"float32": 2e-5, "float64": 1e-12}[x64.name]
    found = at(LINKS[name], h, x64)
    exact = h.astype(x64).astype(float)
    np.testing.assert_allclose(found["probability"], probability(exact), rtol=rtol)
    np.testing.assert_allclose(found["loss"], loss(exact), rtol=rtol, atol=rtol / 100)
    assert found["loss"].dtype == x64


@every_link
@hypothesis.given(h=numbers)
@hypothesis.settings(
    max_examples=50, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
def test_the_two_answers_have_probability_one_and_mirror_each_other(x64, name, h):
    found = at(LINKS[name], [h, -h], x64)
    rounding = 8 * float(np.finfo(x64).eps)
    assert found["probability"].sum() == pytest.approx(1, rel=rounding)
    assert found["slope"][0] == pytest.approx(found["slope"][1], rel=rounding, abs=rounding)
    assert np.all((found["probability"] >= 0) & (found["probability"] <= 1))
    # A no at h is a yes at -h.
    mirrored = -found["yes"][1]
    assert found["no"][0] == pytest.approx(mirrored, rel=1000 * rounding, abs=rounding)


@every_link
def test_derivatives_are_finite_differences(name):
    h, step = np.linspace(-5, 5, 41), 1e-5
    with jax.enable_x64(True):
        link = LINKS[name]
        low, here, high = (at(link, h + shift, np.float64) for shift in (-step, 0, step))
        for of, derivative in [("probability", "slope"), ("loss", "yes"), ("yes", "curvature")]:
            found = (high[of] - low[of]) / (2 * step)
            np.testing.assert_allclose(here[derivative], found, rtol=1e-6, atol=1e-9)


@every_link
@hypothesis.given(h=numbers, yes=st.floats(0, 9), no=st.floats(0, 9))
@hypothesis.settings(max_examples=30)
def test_the_pull_is_linear_in_the_counts(name, h, yes, no):
    with jax.enable_x64(True):
        link = LINKS[name]
        found = at(link, h, np.float64)
        both = float(link.pull(*(jnp.asarray(v) for v in (h, yes, no))))
        expected = yes * found["yes"] + no * found["no"]
        size = yes * abs(found["yes"]) + no * abs(found["no"])
        assert both == pytest.approx(expected, rel=1e-9, abs=1e-14 * (1 + size))


@every_link
def test_what_an_answer_tells_about_a_difference(name):
    """Its divergence from a fair coin, and its Fisher information, by their definitions."""
    with jax.enable_x64(True):
        h = jnp.linspace(-6, 6, 121)
        p, _ = REFERENCE[name]
        yes, no = p(np.asarray(h)), p(-np.asarray(h))
        divergence = yes * np.log(2 * yes) + no * np.log(2 * no)
        np.testing.assert_allclose(LINKS[name].divergence(h), divergence, rtol=1e-9, atol=1e-15)
        slope = np.asarray(LINKS[name].slope(h))
        np.testing.assert_allclose(LINKS[name].fisher(h), slope**2 / (yes * no), rtol=1e-9)


@pytest.mark.parametrize("name", ["logistic", "probit"])
def test_the_tails_are_finite_and_right(x64, name):
    """Where exp(-h) underflows or overflows: the asymptotic forms."""
    h = np.array([30.0, 60.0, 200.0, 1e3, 1e4])
    right, left = (at(LINKS[name], sign * h, x64) for sign in (1, -1))
    for found in (right, left):
        assert all(np.all(np.isfinite(value)) for value in found.values())
        assert np.all(found["curvature"] >= 0)
        assert np.all(found["loss"] >= 0)
    rtol = {"float32": 2e-6, "float64": 1e-12}[x64.name]
    if name == "logistic":
        np.testing.assert_allclose(left["loss"], h, rtol=rtol)
        np.testing.assert_allclose(left["yes"], -np.ones(5), rtol=rtol)
    else:
        np.testing.assert_allclose(left["loss"], -scipy.special.log_ndtr(-h), rtol=rtol)
        mills = np.sqrt(2 / np.pi) / scipy.special.erfcx(h / np.sqrt(2))
        np.testing.assert_allclose(left["yes"], -mills, rtol=rtol * 10)
        np.testing.assert_allclose(left["curvature"], 1 - 1 / h**2 + 6 / h**4, rtol=1e-5)
    np.testing.assert_allclose(right["probability"], np.ones(5))
    np.testing.assert_allclose(right["yes"], np.zeros(5), atol=1e-12)


def test_the_probit_curvature_has_no_seam(x64):
    """Around where the series takes over; 1.7e-5 off in float32, where it says eps h^2."""
    far = (518 / float(np.finfo(x64).eps)) ** 0.1
    h = -np.linspace(far * 0.8, far * 1.25, 400)
    found = at(Probit(), h, x64)["curvature"]
    ratio = np.sqrt(2 / np.pi) / scipy.special.erfcx(-h / np.sqrt(2))
    reference = ratio * (h + ratio)  # in float64 it loses eps h^2, below 1e-12 here
    atol = {"float32": 3e-5, "float64": 1e-9}[x64.name]
    np.testing.assert_allclose(found, reference, rtol=0, atol=atol)
    assert np.all(found < 1)


def test_the_probit_pull_is_scipys_through_the_underflow_of_erfc(x64):
    """Also where JAX's erfcx is wrongly zero, and on both sides of the switch to the series."""
    h = -np.linspace(1, 60, 5901).astype(x64)
    mills = np.sqrt(2 / np.pi) / scipy.special.erfcx(-h.astype(float) / np.sqrt(2))
    found = at(Probit(), h, x64)
    rtol = {"float32": 5e-6, "float64": 1e-14}[x64.name]
    np.testing.assert_allclose(-found["yes"], mills, rtol=rtol)
    assert np.all((found["curvature"] > 0) & (found["curvature"] <= 1))


class TestConstants:
    """kappa = sup 1/s' and L = sup s' over |a| <= radius."""

    @pytest.mark.parametrize("radius", [0.1, 1.0, 3.0, 6.0])
    def test_closed_forms(self, x64, radius):
        size = jnp.asarray(radius, x64)
        rel = {"float32": 2e-5, "float64": 1e-12}[x64.name]
        kappa = 2 + np.exp(radius) + np.exp(-radius)
        assert float(Logistic().kappa(size)) == pytest.approx(kappa, rel=rel)
        assert float(Logistic().lipschitz(size)) == pytest.approx(0.25, rel=rel)
        kappa = 1 / scipy.stats.norm.pdf(radius)
        assert float(Probit().kappa(size)) == pytest.approx(kappa, rel=rel)
        assert float(Probit().lipschitz(size)) == pytest.approx(1 / np.sqrt(2 * np.pi), rel=rel)

    def test_of_a_custom_link(self, x64):
        h = np.linspace(-2, 2, 200001)
        inner = 1.3 * h + 0.1 * np.tanh(h)
        slope = scipy.special.expit(inner) * scipy.special.expit(-inner)
        slope *= 1.3 + 0.1 / np.cosh(h) ** 2
        radius = jnp.asarray(2.0, x64)
        rel = {"float32": 2e-5, "float64": 1e-6}[x64.name]
        assert float(LINKS["custom"].kappa(radius)) == pytest.approx(1 / slope.min(), rel=rel)
        assert float(LINKS["custom"].lipschitz(radius)) == pytest.approx(slope.max(), rel=rel)

    @every_link
    @hypothesis.given(small=st.floats(0, 4), more=st.floats(0, 2))
    @hypothesis.settings(max_examples=20)
    def test_grow_with_the_radius(self, name, small, more):
        link = LINKS[name]
        inner, outer = jnp.float32(small), jnp.float32(small + more)
        assert float(link.kappa(outer)) >= float(link.kappa(inner)) * (1 - 1e-5)
        assert float(link.lipschitz(outer)) >= float(link.lipschitz(inner)) * (1 - 1e-5)
        assert float(link.kappa(inner) * link.lipschitz(inner)) >= 1 - 1e-5


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: jnp.sum(jax.nn.sigmoid(a)), "function: expected shape"),
        (lambda a: a, "function: expected values between 0 and 1"),
        (jnp.sqrt, "function: expected values between 0 and 1"),
        (lambda a: jax.nn.sigmoid(a + 0.1), r"function: expected s\(a\) \+ s\(-a\) = 1"),
        (lambda a: jax.nn.sigmoid(-a), "function: expected s to increase"),
        (lambda a: 0.5 + 0 * a, "function: expected s to increase"),
        (lambda a: 0.5 + jnp.arctan(a) / jnp.pi, "function: expected log s to be concave"),
        (lambda a: 0.5 + jnp.tanh(a**3 / 50) / 2.1, "function: expected s to increase|concave"),
    ],
)
def test_a_function_that_is_no_link_is_rejected(x64, function, message):
    with pytest.raises(ValueError, match=message):
        CustomLink(function)


def test_a_function_that_cannot_be_called_is_rejected():
    with pytest.raises(TypeError, match="function"):
        CustomLink(0.5)


def test_a_custom_logistic_link_is_the_logistic_link(x64):
    h = np.linspace(-6, 6, 25)
    own, built_in = (at(link, h, x64) for link in (CustomLink(jax.nn.sigmoid), Logistic()))
    rtol = {"float32": 1e-4, "float64": 1e-9}[x64.name]
    for key, value in own.items():
        np.testing.assert_allclose(value, built_in[key], rtol=rtol, atol=rtol / 100, err_msg=key)
