"""The projected estimator against SciPy's constrained minimisers, in the space of features."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import tinygp

from duelist.belief import FitStatus, _projection, prior
from duelist.belief._fit import Problem
from duelist.belief._projection import project
from duelist.domains import FiniteDomain
from duelist.links import Logistic, Probit

N = 5
SCALE = 0.6
BOUND = 0.7
LAM = 0.3
LINKS = {"logistic": Logistic(), "probit": Probit()}


def points():
    return np.random.default_rng(1).uniform(size=(N, 2))


def make_prior(dtype, feedback, link="logistic", bound=BOUND, **options):
    domain = FiniteDomain(jnp.asarray(points(), dtype))
    kernel = tinygp.kernels.ExpSquared(jnp.asarray(SCALE, dtype))
    return prior(
        domain,
        kernel,
        feedback,
        link=LINKS[link],
        lam=LAM,
        bound=bound,
        projected=True,
        **options,
    )


def history(oracles, feedback, seed):
    """Thirty answers of a judge who likes later actions much better."""
    arity = 2 if feedback == "duels" else 1
    rng = np.random.default_rng(seed)
    queries, _ = oracles.random_history(rng, N, 30, arity)
    signs = oracles.signs(queries, N)
    return queries, (signs @ np.arange(-2.0, 3.0) > 0).astype(float)


class Dense:
    """Eq. def_thetap for theta in R^n with features phi(x_i) = row i of a Cholesky factor of K."""

    def __init__(self, oracles, queries, answers, link, bound):
        gram = oracles.rbf(SCALE)(points(), points())
        self.features = np.linalg.cholesky(gram)
        self.rows = oracles.signs(queries, N) @ self.features
        self.link, self.bound = link, bound
        posterior = oracles.Posterior(gram, queries, answers, LAM, 1.0, link)
        informative = oracles.signs(posterior.queries, N) @ self.features
        self.fit = informative.T @ posterior.alpha
        # k(x, x) = 1: the argument of s is at most B for a rating and 2B for a duel.
        kappa = 1 / link.slope(bound * len(queries[0]))
        self.metric = np.linalg.inv(self.rows.T @ self.rows + kappa * LAM * np.eye(N))

    def g(self, theta):
        return self.rows.T @ self.link.probability(self.rows @ theta) + LAM * theta

    def value(self, theta):
        rest = self.g(theta) - self.g(self.fit)
        return rest @ self.metric @ rest

    def gradient(self, theta):
        rest = self.g(theta) - self.g(self.fit)
        slope = self.rows.T @ (self.link.slope(self.rows @ theta)[:, None] * self.rows)
        return 2 * (slope + LAM * np.eye(N)) @ self.metric @ rest

    def minimise(self):
        """The best of several starts with each of two solvers."""
        rng = np.random.default_rng(0)
        starts = [np.zeros(N), self.fit * self.bound / np.linalg.norm(self.fit)]
        starts += [rng.normal(size=N) * self.bound / N for _ in range(4)]
        runs = [self._slsqp(start) for start in starts] + [self._trust(start) for start in starts]
        inside = [run for run in runs if np.linalg.norm(run) <= self.bound * (1 + 1e-6)]
        return min(inside, key=self.value)

    def _slsqp(self, start):
        ball = {
            "type": "ineq",
            "fun": lambda theta: self.bound**2 - theta @ theta,
            "jac": lambda theta: -2 * theta,
        }
        options = {"ftol": 1e-15, "maxiter": 500}
        return scipy.optimize.minimize(
            self.value, start, jac=self.gradient, constraints=ball, method="SLSQP", options=options
        ).x

    def _trust(self, start):
        ball = scipy.optimize.NonlinearConstraint(
            lambda theta: theta @ theta, 0, self.bound**2, jac=lambda theta: 2 * theta
        )
        options = {"gtol": 1e-10, "xtol": 1e-12, "maxiter": 500}
        return scipy.optimize.minimize(
            self.value,
            start,
            jac=self.gradient,
            hess=scipy.optimize.BFGS(),
            constraints=ball,
            method="trust-constr",
            options=options,
        ).x


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0:UserWarning")  # SciPy, at a start it keeps
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize("feedback", ["duels", "ratings"])
def test_finds_the_minimum_over_the_ball(x64, oracles, tell_all, feedback, link, seed):
    queries, answers = history(oracles, feedback, seed)
    tolerance = {"float32": 2e-5, "float64": 1e-9}[x64.name]
    begin = make_prior(x64, feedback, link, tolerance=tolerance)
    belief = tell_all(begin, queries, answers)
    dense = Dense(oracles, queries, answers, getattr(oracles, link.capitalize()), BOUND)
    best = dense.minimise()
    f = np.asarray(belief.centre, float)
    theta = np.linalg.solve(dense.features, f)

    assert np.linalg.norm(dense.fit) > 2 * BOUND  # the constraint has something to do
    assert bool(belief.projection.converged)
    assert dense.value(theta) <= dense.value(best) * (
        1 + {"float32": 1e-4, "float64": 1e-7}[x64.name]
    )
    np.testing.assert_allclose(
        f, dense.features @ best, atol={"float32": 1e-3, "float64": 2e-6}[x64.name]
    )


@pytest.mark.parametrize("feedback", ["duels", "ratings"])
def test_the_norm_is_the_bound_when_the_fit_is_outside(x64, oracles, tell_all, feedback):
    queries, answers = history(oracles, feedback, 2)
    belief = tell_all(make_prior(x64, feedback), queries, answers)
    f = np.asarray(belief.centre, float)
    norm = np.sqrt(f @ np.linalg.solve(oracles.rbf(SCALE)(points(), points()), f))
    relative = {"float32": 2e-4, "float64": 1e-10}[x64.name]
    assert float(belief.norm()) > BOUND
    assert norm == pytest.approx(BOUND, rel=relative)
    assert float(belief.projection.norm) == pytest.approx(BOUND, rel=relative)


@pytest.mark.parametrize("feedback", ["duels", "ratings"])
def test_a_fit_inside_the_ball_is_returned_as_it_is(x64, oracles, tell_all, feedback):
    queries, answers = history(oracles, feedback, 2)
    belief = tell_all(make_prior(x64, feedback, bound=50.0), queries, answers)
    assert float(belief.norm()) < 50
    np.testing.assert_array_equal(belief.centre, belief.fit.f)
    np.testing.assert_array_equal(belief.projection.norm, belief.norm())
    assert int(belief.projection.steps) == 0
    assert bool(belief.projection.converged)


def test_predictions_and_bounds_are_centred_on_the_projection(x64, oracles, tell_all):
    queries, answers = history(oracles, "duels", 2)
    belief = tell_all(make_prior(x64, "duels"), queries, answers)
    f = belief.projection.f
    expected = jax.nn.sigmoid(f[4] - f[0])
    assert float(belief.utility(3)) == float(f[3])
    assert float(belief.preference(4, 0)) == pytest.approx(float(expected), rel=1e-6)
    middle = (belief.lcb(4, 0) + belief.ucb(4, 0)) / 2
    assert float(middle) == pytest.approx(float(expected), rel=1e-5)


def test_without_projection_there_is_none(x64):
    domain = FiniteDomain(jnp.asarray(points(), x64))
    belief = prior(domain, tinygp.kernels.ExpSquared(jnp.asarray(SCALE, x64)))
    assert belief.projection is None
    np.testing.assert_array_equal(belief.centre, belief.fit.f)


def test_a_batch_is_projected_one_by_one(double, oracles):
    """Members inside and outside the ball together, as under vmap over seeds.

    The second member's answers contradict each other on either action, so that its fit is zero.
    """
    begin = make_prior(double, "ratings", bound=0.5)
    tell = jax.jit(lambda belief, x, y: belief.tell((x,), y))
    answers = jnp.asarray([[1, 1, 1, 1], [1, 1, 0, 0]], double)

    def run(column):
        belief = begin
        for k in range(4):
            belief = tell(belief, jnp.int32(k % 2), column[k])
        return belief

    together = jax.vmap(run)(answers)
    for k in range(2):
        alone = run(answers[k])
        np.testing.assert_allclose(
            together.projection.f[k], alone.projection.f, atol=100 * float(jnp.finfo(double).eps)
        )
    outside = np.asarray(together.projection.steps) > 0
    np.testing.assert_array_equal(outside, [True, False])


@pytest.mark.parametrize(
    ("limit", "status"),
    [("_MAX_STEPS", FitStatus.max_steps), ("_MAX_HALVINGS", FitStatus.stagnated)],
)
def test_an_unmet_tolerance_is_reported(x64, oracles, tell_all, monkeypatch, limit, status):
    """With one step instead of a hundred, or with no shortening of a step."""
    queries, answers = history(oracles, "ratings", 0)
    belief = tell_all(make_prior(x64, "ratings"), queries, answers)
    few = {"_MAX_STEPS": 1, "_MAX_HALVINGS": 0}[limit]
    monkeypatch.setattr(_projection, limit, few)
    constants, tolerance = belief.constants, jnp.asarray(1e-30, x64)
    problem = Problem(belief.answers, belief.link, belief.gram, belief.factor, constants.lam)
    projection = project(problem, belief.fit, constants.bound, constants.noise, tolerance)
    assert float(projection.error) > 0
    assert int(projection.steps) == 1
    assert bool(projection.status == status)
    assert not bool(projection.converged)
    assert float(projection.norm) == pytest.approx(BOUND, rel=1e-5)
