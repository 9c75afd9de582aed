"""Certificates by hand, and the convex programme against SciPy's SLSQP."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp
from tests.belief.guaranteed_cases import (
    BOUND,
    FLOAT32,
    SCALE,
    N,
    history,
    make,
    points,
    shrink,
)
from tests.belief.sublevel import Sublevel as DenseSublevel

from duelist.belief import (
    ExactStatus,
    FixedBeta,
    certificate,
    exact_ucb,
    preference_upper,
    prior,
)
from duelist.belief._exact import Sublevel, _dual, _Iterate, inner_point, maximise
from duelist.belief._region import ball
from duelist.domains import FiniteDomain
from duelist.links import AbstractLink, Logistic, Probit

PAIRS = [(4, 0), (0, 4), (1, 3), (2, 0)]


@pytest.fixture(scope="module", params=["duels", "ratings"])
def case(request, oracles, tell_all):
    """A belief after forty answers in double precision, and C_t in NumPy."""
    with jax.enable_x64(True):
        queries, answers = history(oracles, request.param, seed=2)
        belief = tell_all(make(np.dtype("float64"), request.param), queries, answers)
        dense = DenseSublevel(
            oracles, np.asarray(belief.gram), queries, answers, oracles.Logistic, BOUND,
            float(belief.allowed_loss),
        )  # fmt: skip
        yield belief, dense


def direction(x, x2):
    d = np.zeros(N)
    d[x] = 1
    if x2 is not None:
        d[x2] -= 1
    return d


# ---- the convex programme --------------------------------------------------------------------


@pytest.mark.parametrize(("x", "x2"), [*PAIRS, (3, None)])
def test_the_programme_finds_the_largest_difference(case, x, x2):
    belief, dense = case
    found = exact_ucb(belief, x, x2, tolerance=1e-6)
    best = dense.largest(direction(x, x2))
    assert bool(found.status == ExactStatus.converged)
    assert 0 < int(found.steps) < 60
    assert float(found.value - found.attained) <= 1e-6
    assert best - 1e-7 <= float(found.value)
    assert float(found.attained) <= best + 1e-6


def test_another_link_and_single_precision(oracles, tell_all):
    queries, answers = history(oracles, "duels", seed=2)
    belief = tell_all(make(FLOAT32, "duels", "probit"), queries, answers)
    gram, allowed = oracles.rbf(SCALE)(points(), points()), float(belief.allowed_loss)
    dense = DenseSublevel(oracles, gram, queries, answers, oracles.Probit, BOUND, allowed)
    for x, x2 in PAIRS:
        found = exact_ucb(belief, x, x2)
        best = dense.largest(direction(x, x2))
        assert bool(found.status == ExactStatus.converged)
        assert best - 1e-5 <= float(found.value) <= best + 2e-3


def test_it_is_narrower_than_the_ellipsoid_and_wider_than_the_estimate(case):
    belief, _ = case
    start, bound = ball(belief.gram, belief.constants.bound), belief.constants.bound
    region = shrink(start, belief.problem, belief.table.fit.w, belief.allowed_loss, bound)
    for x, x2 in PAIRS:
        value = float(exact_ucb(belief, x, x2).value)
        assert float(belief.difference(x, x2)) < value <= float(region.upper[x, x2]) + 1e-9


def test_the_dual_bounds_from_outside_wherever_it_is_taken(case):
    belief, dense = case
    level = Sublevel(belief.problem, belief.allowed_loss, belief.constants.bound)
    goal = belief.problem.factor.T @ direction(4, 0)
    best = dense.largest(direction(4, 0))
    rng = np.random.default_rng(0)
    dual = jax.jit(jax.vmap(lambda u, mu, nu: _dual(level, goal, _Iterate(u, mu, nu))))
    values = dual(
        jnp.asarray(rng.normal(size=(500, N)) * 0.5),
        jnp.asarray(10 ** rng.uniform(-3, 1, 500)),
        jnp.asarray(10 ** rng.uniform(-2, 1, 500)),
    )
    assert float(jnp.min(values)) >= best - 1e-7
    assert float(jnp.min(values)) < best + 1.5  # and is no trivial bound


def test_without_a_member_it_falls_back_on_the_ball_and_says_so(case):
    belief, _ = case
    level = Sublevel(belief.problem, jnp.asarray(0.1), belief.constants.bound)
    start, found = inner_point(level, jnp.zeros(N))
    assert not bool(found)
    assert float(level.slacks(start)[1]) > 0  # still inside the ball
    result = maximise(level, jnp.asarray(direction(4, 0)), start, found, jnp.asarray(1e-6))
    gram = np.asarray(belief.gram)
    assert bool(result.status == ExactStatus.infeasible)
    assert float(result.value) == pytest.approx(
        BOUND * np.sqrt(gram[4, 4] + gram[0, 0] - 2 * gram[4, 0])
    )
    assert float(result.attained) == -np.inf


def test_a_start_outside_is_brought_in(case):
    """From far outside the ball, and with a set so small that the pulled start is not in it."""
    belief, dense = case
    smallest = dense.loss(dense._inside())
    level = Sublevel(belief.problem, jnp.asarray(smallest * 1.02), belief.constants.bound)
    start, found = inner_point(level, jnp.asarray([30.0, -20, 0, 5, 1]))
    assert bool(found)
    assert all(float(slack) > 0 for slack in level.slacks(start))


def test_an_action_against_itself_has_no_difference(case):
    found = exact_ucb(case[0], 2, 2)
    assert float(found.value) == 0
    assert bool(found.status == ExactStatus.converged)
    assert int(found.steps) == 0


# ---- certificates ----------------------------------------------------------------------------


class Stated(eqx.Module):
    """Bounds on three actions, written down."""

    upper: jax.Array
    level: float = eqx.field(static=True)
    link: AbstractLink = Logistic()

    def ucb(self, x, x2=None):
        return self.upper[x, x2]

    def lcb(self, x, x2=None):
        flip = 1 - self.upper.T if self.level == 0.5 else -self.upper.T
        return flip[x, x2]


PROBABILITIES = jnp.asarray([[0.5, 0.9, 1.4], [0.58, 0.5, 0.7], [0.45, 0.55, 0.5]])


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_a_certificate_by_hand(level):
    """Action 0 loses at most 0.58 : 0.42 against 1, and beats 2 for certain."""
    odds = jnp.log(PROBABILITIES / (1 - jnp.minimum(PROBABILITIES, 0.999)))
    belief = Stated(odds if level == 0 else PROBABILITIES, level)
    found = certificate(belief, 0, margin=0.1)
    assert bool(found.holds)
    assert not bool(certificate(belief, 0, margin=0.05).holds)
    assert not bool(certificate(belief, 1, margin=0.1).holds)
    np.testing.assert_allclose(found.upper, [0.5, 0.58, 0.45], rtol=1e-5)
    np.testing.assert_array_equal(found.excluded, [False, False, True])
    assert float(jnp.max(preference_upper(belief))) <= 1


def test_bounds_on_ratings_are_compared_by_their_odds():
    domain = FiniteDomain(jnp.asarray(points()))
    belief = prior(domain, tinygp.kernels.ExpSquared(SCALE), "ratings", beta=FixedBeta(0.2))
    belief = belief.tell((0,), 1.0)
    lower, upper = (np.asarray(b) for b in (belief.lcb(slice(None)), belief.ucb(slice(None))))
    odds = upper[1] / (1 - upper[1]) * (1 - lower[0]) / lower[0]
    assert float(preference_upper(belief)[1, 0]) == pytest.approx(odds / (1 + odds), rel=1e-5)
    np.testing.assert_array_equal(np.diag(preference_upper(belief)), 0.5)
    wide = prior(domain, tinygp.kernels.ExpSquared(SCALE), "ratings", beta=FixedBeta(9.0))
    expected = np.where(np.eye(N) > 0, 0.5, 1.0)
    np.testing.assert_array_equal(preference_upper(wide), expected)


def test_the_programme_sharpens_a_certificate(case):
    belief, _ = case
    rough, fine = (certificate(belief, 4, refine=refine) for refine in (False, None))
    assert bool(jnp.all(fine.upper <= rough.upper))
    assert bool(jnp.any(fine.upper < rough.upper - 1e-3))
    for x in range(4):
        exact = jax.nn.sigmoid(exact_ucb(belief, x, 4).value)
        assert float(fine.upper[x]) == pytest.approx(min(float(exact), float(rough.upper[x])))
    assert bool(jnp.all(fine.excluded | ~rough.excluded))
    assert float(fine.upper[4]) == 0.5


def test_many_answers_certify_the_best_and_exclude_the_worst(double, tell_all):
    """Between f = 1 and f = 0 where they compete every time, with the fractions of that judge."""
    share = 1 / (1 + np.exp(-1.0))
    belief = tell_all(make(double), [(4, 0)] * 300, [share] * 300)
    found = certificate(belief, 4, margin=0.2)
    assert bool(found.excluded[0])
    assert not bool(found.excluded[4])
    assert float(found.upper[0]) < 0.5
    assert not bool(certificate(make(double), 4).holds)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda b: certificate(b, 7), ValueError, "action: expected action numbers from 0 to 4"),
        (lambda b: certificate(b, 1.5), TypeError, "action: expected action numbers"),
        (lambda b: certificate(b, 1, margin=0), ValueError, "margin: expected a number between"),
        (lambda b: certificate("b", 1), TypeError, "belief: expected Bounded, got str"),
        (lambda b: exact_ucb(b.table, 0, 1), TypeError, "belief: expected PrequentialBelief, got"),
        (lambda b: exact_ucb(b, 5, 1), ValueError, "x: expected action numbers from 0 to 4"),
        (lambda b: exact_ucb(b, 1, 5), ValueError, "x2: expected action numbers from 0 to 4"),
        (lambda b: exact_ucb(b, 0, 1, tolerance=0), ValueError, "tolerance: expected a number gr"),
        (
            lambda b: certificate(b.table, 0, refine=True),
            TypeError,
            "refine: expected a PrequentialBelief",
        ),
    ],
)
def test_bad_arguments_are_named(call, error, message, unchecked):
    with pytest.raises(error, match=message):
        call(make(FLOAT32))


def test_bounds_on_ratings_want_the_logistic_link():
    domain = FiniteDomain(jnp.asarray(points()))
    belief = prior(domain, tinygp.kernels.ExpSquared(SCALE), "ratings", link=Probit())
    with pytest.raises(TypeError, match="belief: expected the logistic link"):
        preference_upper(belief)
