"""The curvature that is certain, the ellipsoid, and what rounding may do to both."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.belief.guaranteed_cases import (
    BOUND,
    DELTA,
    FEEDBACKS,
    FLOAT32,
    LINKS,
    SCALE,
    N,
    history,
    make,
    shrink,
)
from tests.belief.sublevel import Sublevel

from duelist.belief._region import UNIMODAL_LINKS, ball, least_curvature
from duelist.links import Logistic

NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)
STEPS = (NODES + 1) / 2
SHARES = WEIGHTS * (1 - STEPS)
"""2 int_0^1 (1 - tau) c(tau) dtau is about sum of SHARES c(STEPS)."""

_least_curvature = eqx.filter_jit(least_curvature)


def ratios(dense, h, a):
    """2 (l(a) - l(h) - l'(h) (a - h)) / (a - h)^2 by Taylor's integral, which cancels nothing."""
    curvature = dense.curvature(h + (a - h)[:, None] * STEPS)
    return curvature @ SHARES


# ---- the curvature that is certain -----------------------------------------------------------


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    h=st.floats(-12, 12),
    low=st.floats(-12, 12),
    length=st.floats(-4, 1.2).map(lambda power: 10**power),
    link=st.sampled_from(["logistic", "probit"]),
)
def test_the_least_curvature_is_the_smallest_ratio(x64, oracles, h, low, length, link):
    """Against a grid over the interval, whether h lies in it or not."""
    dense = getattr(oracles, link.capitalize())
    h, low, high = (x64.type(x) for x in (h, low, low + length))
    found = float(_least_curvature(LINKS[link], *(jnp.asarray(x) for x in (h, low, high))))
    grid = np.linspace(float(low), float(high), 301)
    exact = ratios(dense, float(h), grid)
    eps = float(np.finfo(x64).eps)
    # At most the smallest: 40 eps is what the values of `curvature` are known to.
    assert found <= exact.min() * (1 + 40 * eps * max(1, float(h) ** 2))
    assert exact.min() >= min(exact[0], exact[-1]) * (1 - 1e-13)
    # And close to it, where the ends are far enough for the digits to tell.
    end = grid[np.argmin(exact)]
    losses = dense.loss(float(h)) + dense.loss(end) + abs(dense.score(float(h)) * (end - h))
    lost = eps * (32 * losses + 8) / max((end - h) ** 2, eps)
    assert found >= exact.min() * (1 - 1e-3) - 2 * lost


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_the_curvature_rises_and_then_falls(oracles, link):
    """What the proof needs of a link, here of its formula in SciPy."""
    assert isinstance(LINKS[link], UNIMODAL_LINKS)
    slopes = np.diff(getattr(oracles, link.capitalize()).curvature(np.linspace(-25, 25, 2001)))
    signs = np.sign(np.where(np.abs(slopes) < 1e-11, 0, slopes))
    assert np.all(np.diff(signs[signs != 0]) <= 0)


def test_it_is_at_least_what_self_concordance_gives(double):
    """s'(h) g(|u|), g(M) = 2 (exp(-M) + M - 1)/M^2 (Bach 2010), for the logistic link."""
    rng = np.random.default_rng(1)
    h, m = rng.uniform(-5, 5, 500), rng.uniform(0.01, 6, 500)
    ends = jnp.asarray(h), jnp.asarray(h - m), jnp.asarray(h + m)
    found = np.asarray(_least_curvature(Logistic(), *ends))
    g = 2 * (np.exp(-m) + m - 1) / m**2
    assert np.all(found >= g / (4 * np.cosh(h / 2) ** 2) * (1 - 1e-6))
    assert np.all(g >= np.exp(-m / 3) * (1 - 1e-9))


# ---- the ellipsoid -----------------------------------------------------------------------------


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_the_excess_is_the_allowed_loss_less_the_fitted(double, oracles, tell_all, feedback):
    queries, answers = history(oracles, feedback)
    belief = tell_all(make(double, feedback), queries, answers)
    lam = float(belief.constants.lam) * 2 ** (len(queries) % 4)
    gram = np.asarray(belief.gram, float)
    f, w = np.asarray(belief.table.fit.f, float), np.asarray(belief.table.fit.w, float)
    h = oracles.signs(queries, N) @ f
    counted = np.array([len(q) == 1 or q[0] != q[1] for q in queries])
    loss = np.logaddexp(0, np.where(answers == 1, -h, h))[counted].sum()
    residual = w * (1 - float(belief.constants.lam) / lam)  # the fit is that of the smallest lambda
    shift = residual @ np.asarray(belief.region.covariance, float) @ residual
    expected = (
        float(belief.forecast_loss) - np.log(DELTA) + lam * BOUND**2 / 2
        - loss - lam / 2 * w @ gram @ w + lam / 2 * shift
    )  # fmt: skip
    assert float(belief.region.excess) == pytest.approx(expected, rel=1e-9)
    assert expected > 0
    assert not bool(belief.region.empty)


@pytest.mark.parametrize(
    ("feedback", "link", "dtype"),
    [
        ("duels", "logistic", "float32"),
        ("duels", "logistic", "float64"),
        ("ratings", "logistic", "float64"),
        ("duels", "probit", "float32"),
    ],
)
def test_the_bounds_hold_for_every_member(oracles, tell_all, feedback, link, dtype):
    """Of the set at the end: one ellipsoid within the ball, for any lambda and any w."""
    with jax.enable_x64(dtype == "float64"):
        queries, answers = history(oracles, feedback, seed=1)
        belief = tell_all(make(np.dtype(dtype), feedback, link), queries, answers)
        allowed, gram = belief.allowed_loss, np.asarray(belief.gram, float)
        dense = getattr(oracles, link.capitalize())
        level = Sublevel(oracles, gram, queries, answers, dense, BOUND, float(allowed))
        members = np.array(list(level.members(np.random.default_rng(0), 200)))
        members = np.pad(members, ((0, 0), (0, 1)))
        start, bound = ball(belief.gram, belief.constants.bound), belief.constants.bound
        for factor, pull in [(1.0, 1.0), (4.0, 1.0), (1.0, 0.8)]:
            problem = belief.problem._replace(lam=belief.constants.lam * factor)
            region = shrink(start, problem, belief.table.fit.w * pull, allowed, bound)
            upper = np.asarray(region.upper, float)
            excess = members[:, :, None] - members[:, None, :] - upper
            assert np.max(excess) <= {"float32": 1e-6, "float64": 1e-12}[dtype]
            # Not by being far too wide: some member comes near to some bound of the ellipsoid.
            inside = upper < np.asarray(start.upper, float) - 1e-3
            assert inside.any()
            assert np.max(excess[:, inside] / (2 * upper[inside])) > -0.3


# ---- rounding ----------------------------------------------------------------------------------


def test_single_precision_rounds_outward(oracles, tell_all):
    queries, answers = history(oracles, "duels")
    bounds = {}
    for name in ("float32", "float64"):
        with jax.enable_x64(name == "float64"):
            belief = tell_all(make(np.dtype(name)), queries, answers)
            assert belief.region.upper.dtype == name
            bounds[name] = np.asarray(belief.region.upper, float)
    apart = ~np.eye(N + 1, dtype=bool)
    outward = (bounds["float32"] - bounds["float64"])[apart]
    assert np.min(outward) > 0
    assert np.max(outward) < 5e-3
    np.testing.assert_array_equal(np.diag(bounds["float32"]), 0)


def test_the_ball_is_no_smaller_for_actions_that_rounding_makes_equal():
    """B ||k(x, .) - k(x', .)|| = B sqrt(2 - 2 exp(-d^2 / (2 scale^2))) at a distance d of 1e-5."""
    squares = -2 * np.expm1(-((1e-5 / SCALE) ** 2) / 2)
    gram = jnp.ones((2, 2), jnp.float32)  # as k comes out in single precision
    upper = np.asarray(ball(gram, jnp.float32(BOUND)).upper)
    assert upper[0, 1] >= BOUND * np.sqrt(squares)
    assert upper[0, 1] < 5e-3
    assert upper[0, 0] == 0


def test_without_a_covariance_the_region_stays(oracles, tell_all):
    """A lambda so small that its Cholesky factorisation overflows."""
    queries, answers = history(oracles, "duels")
    belief = tell_all(make(FLOAT32), queries, answers)
    problem = belief.problem._replace(lam=jnp.float32(1e-38))
    w, bound = belief.table.fit.w, belief.constants.bound
    found = shrink(belief.region, problem, w, belief.allowed_loss, bound)
    assert eqx.tree_equal(found, belief.region)
