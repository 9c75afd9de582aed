"""Log-UCB1's belief against SciPy's minimisers and the formulas of Faury et al. (2020)."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.special

from duelist.belief import FitStatus, log_ucb1_prior
from duelist.domains import ALL, FiniteDomain

N, D = 9, 3
LAM, DELTA, COUNT = 0.4, 0.05, 60
EXPIT = scipy.special.expit


def points(longest):
    """Nine vectors whose longest has this length."""
    rows = np.random.default_rng(2).normal(size=(N, D))
    return rows / np.linalg.norm(rows, axis=1).max() * longest


def history(seed, strength):
    """Answers of a judge with a theta of length `strength`."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(N, size=COUNT)
    theta = np.array([1.0, -0.5, 0.7]) / np.linalg.norm([1.0, -0.5, 0.7]) * strength
    return actions, (rng.uniform(size=COUNT) < EXPIT(points(1.0)[actions] @ theta)).astype(float)


@eqx.filter_jit
def tell_all(belief, actions, answers):
    def step(belief, told):
        return belief.tell((told[0],), told[1]), None

    return jax.lax.scan(step, belief, (actions, answers))[0]


def told(dtype, actions, answers, longest=1.0, **options):
    domain = FiniteDomain(jnp.asarray(points(longest), dtype))
    belief = log_ucb1_prior(domain, delta=DELTA, **options)
    return tell_all(belief, jnp.asarray(actions, jnp.int32), jnp.asarray(answers, dtype))


def minimiser(rows, answers, lam):
    """argmin of the logistic loss + lam/2 ||theta||^2, a row per answer."""

    def gradient(theta):
        return rows.T @ (EXPIT(rows @ theta) - answers) + lam * theta

    def hessian(theta):
        p = EXPIT(rows @ theta)
        return rows.T @ ((p * (1 - p))[:, None] * rows) + lam * np.eye(D)

    solved = scipy.optimize.root(gradient, np.zeros(D), jac=hessian, tol=1e-13)
    assert np.max(np.abs(gradient(solved.x))) < 1e-10
    return solved.x


class Projector:
    """||g(theta) - g(theta_t)||_{H(theta)^-1} over the ball, by SLSQP from many starts."""

    def __init__(self, rows, estimate, lam, bound):
        self.rows, self.estimate, self.lam, self.bound = rows, estimate, lam, bound

    def g(self, theta):
        return self.rows.T @ EXPIT(self.rows @ theta) + self.lam * theta

    def objective(self, theta):
        p = EXPIT(self.rows @ theta)
        h = self.rows.T @ ((p * (1 - p))[:, None] * self.rows) + self.lam * np.eye(D)
        rest = self.g(theta) - self.g(self.estimate)
        return rest @ np.linalg.solve(h, rest)

    def best(self):
        rng, found = np.random.default_rng(0), []
        ball = {"type": "ineq", "fun": lambda theta: self.bound**2 - theta @ theta}
        for _ in range(8):
            start = rng.normal(size=D)
            start *= self.bound * rng.uniform() / np.linalg.norm(start)
            options = {"ftol": 1e-15, "maxiter": 500}
            solved = scipy.optimize.minimize(
                self.objective, start, method="SLSQP", constraints=[ball], options=options
            )
            found.append(solved.x)
        return min(found, key=self.objective)


@pytest.mark.parametrize("longest", [1.0, 5.0])
def test_the_estimate_is_the_penalised_maximum_likelihood(x64, longest):
    """Also in the units of long features, whose theta and lambda the belief converts."""
    actions, answers = history(0, strength=1.5)
    belief = told(x64, actions, answers, longest, lam=LAM, bound=100.0)
    expected = minimiser(points(longest)[actions], answers, LAM)
    tolerance = 1e-7 if x64 == np.float64 else 1e-4
    np.testing.assert_allclose(belief.fit.f / longest, expected, atol=tolerance)
    np.testing.assert_allclose(belief.preference(ALL), EXPIT(points(longest) @ expected), atol=1e-4)
    assert bool(belief.fit.converged)
    assert belief.preference(ALL).dtype == x64


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_estimate_outside_the_ball_is_projected(x64, seed):
    actions, answers = history(seed, strength=6.0)
    belief = told(x64, actions, answers, lam=LAM, bound=1.0)
    rows = points(1.0)[actions]
    estimate = minimiser(rows, answers, LAM)
    oracle = Projector(rows, estimate, LAM, 1.0)
    expected = oracle.best()
    assert np.linalg.norm(estimate) > 1.5
    projected = np.asarray(belief.projection.f, float)
    assert oracle.objective(projected) == pytest.approx(oracle.objective(expected), rel=1e-5)
    tolerance = 1e-5 if x64 == np.float64 else 1e-3
    np.testing.assert_allclose(projected, expected, atol=tolerance)
    np.testing.assert_allclose(belief.utility(ALL), EXPIT(points(1.0) @ expected), atol=tolerance)
    assert np.linalg.norm(projected) <= 1 + 1e-6
    assert bool(belief.projection.converged)
    assert 0 < int(belief.projection.steps) < 100


def test_an_estimate_inside_the_ball_stays(x64):
    actions, answers = history(4, strength=1.0)
    belief = told(x64, actions, answers, lam=LAM, bound=50.0)
    np.testing.assert_array_equal(belief.projection.f, belief.fit.f)
    assert int(belief.projection.steps) == 0
    assert bool(belief.projection.converged)


@pytest.mark.parametrize("longest", [1.0, 5.0])
def test_the_bonus_is_that_of_the_paper(x64, longest):
    """In unit features x / X, for which lambda and S are lambda / X^2 and X S."""
    actions, answers = history(5, strength=1.0)
    belief = told(x64, actions, answers, longest, lam=LAM, bound=0.3)
    x, lam, bound = points(1.0), LAM / longest**2, 0.3 * longest
    kappa = 1 / (EXPIT(bound) * (1 - EXPIT(bound)))
    design = x[actions].T @ x[actions] + kappa * lam * np.eye(D)
    norms = np.sqrt(np.sum(x * np.linalg.solve(design, x.T).T, axis=1))
    volume = math.log(2**D / DELTA * (1 + COUNT / 4 / (D * lam)) ** (D / 2))
    gamma = math.sqrt(lam) * (bound + 1 / 2) + 2 / math.sqrt(lam) * volume
    bonus = 2 * 0.25 * math.sqrt(kappa) * math.sqrt(1 + 2 * bound) * gamma * norms
    rel = 1e-9 if x64 == np.float64 else 1e-4
    assert float(belief.gamma) == pytest.approx(gamma, rel=rel)
    np.testing.assert_allclose(belief.width(ALL), math.sqrt(lam * kappa) * norms, rtol=rel)
    np.testing.assert_allclose(belief.ucb(ALL) - belief.preference(ALL), bonus, rtol=10 * rel)
    np.testing.assert_allclose(belief.preference(ALL) - belief.lcb(ALL), bonus, rtol=10 * rel)


def test_the_bonus_covers_whatever_lies_in_the_confidence_set(x64):
    """Its derivation, on theta drawn from the ball: the distance in g bounds that in probability.

    With r = max over theta, theta^P of the H^-1 norm of the distance to g(theta_t), all
    probabilities differ by at most 2 L sqrt(kappa (1 + 2S)) r ||x||_{V^-1}.
    """
    actions, answers = history(6, strength=6.0)
    belief = told(x64, actions, answers, lam=LAM, bound=1.0)
    x = points(1.0)
    oracle = Projector(x[actions], np.asarray(belief.fit.f, float), LAM, 1.0)
    projected = np.asarray(belief.projection.f, float)
    per_radius = np.asarray((belief.ucb(ALL) - belief.preference(ALL)) / belief.gamma, float)
    rng = np.random.default_rng(1)
    for theta in rng.normal(size=(200, D)):
        inside = theta / max(np.linalg.norm(theta), 1)
        radius = math.sqrt(max(oracle.objective(inside), oracle.objective(projected)))
        gap = np.abs(EXPIT(x @ inside) - EXPIT(x @ projected))
        assert np.all(gap <= per_radius * radius * (1 + 1e-5))


def test_before_any_answer():
    domain = FiniteDomain(points(2.0))
    belief = log_ucb1_prior(domain)
    np.testing.assert_allclose(belief.preference(ALL), 0.5)
    lengths = np.linalg.norm(points(1.0), axis=1)
    np.testing.assert_allclose(belief.width(ALL), lengths, rtol=1e-5)
    assert bool(belief.fit.converged)


def test_says_when_it_could_not_fit(x64):
    """A tolerance below rounding: no step is small enough."""
    actions, answers = history(1, strength=6.0)
    belief = told(x64, actions, answers, lam=LAM, bound=1.0, tolerance=1e-30)
    assert not bool(belief.fit.converged) or float(belief.fit.error) == 0
    assert not bool(belief.projection.converged) or float(belief.projection.error) == 0
    statuses = (belief.fit.status, belief.projection.status)
    assert any(bool(status != FitStatus.converged) for status in statuses)


def test_runs_under_vmap():
    dtype = np.dtype("float32")
    cases = [history(seed, strength=5.0) for seed in (1, 2)]
    actions, answers = (np.stack(column) for column in zip(*cases, strict=True))
    domain = FiniteDomain(jnp.asarray(points(1.0), dtype))
    bounds = jnp.asarray([0.8, 20.0], dtype)
    beliefs = eqx.filter_vmap(lambda bound: log_ucb1_prior(domain, bound=bound))(bounds)
    both = eqx.filter_vmap(tell_all)(
        beliefs, jnp.asarray(actions, jnp.int32), jnp.asarray(answers, dtype)
    )
    for k in range(2):
        belief = log_ucb1_prior(domain, bound=float(bounds[k]))
        alone = tell_all(belief, jnp.asarray(actions[k], jnp.int32), jnp.asarray(answers[k], dtype))
        np.testing.assert_allclose(both.projection.f[k], alone.projection.f, atol=2e-4)


@pytest.mark.parametrize("name", ["lam", "bound", "tolerance"])
def test_refuses_what_is_not_positive(name):
    with pytest.raises(ValueError, match=f"{name}: expected a number greater than 0, got 0.0"):
        log_ucb1_prior(FiniteDomain(points(1.0)), **{name: 0.0})


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_refuses_a_delta_that_is_no_probability(delta):
    with pytest.raises(ValueError, match="delta: expected a number between 0 and 1"):
        log_ucb1_prior(FiniteDomain(points(1.0)), delta=delta)


def test_refuses_features_that_are_all_zero():
    with pytest.raises(ValueError, match="domain: expected features that are not all zero"):
        log_ucb1_prior(FiniteDomain(np.zeros((3, 2))))


@pytest.mark.usefixtures("unchecked")
def test_refuses_what_is_no_domain():
    with pytest.raises(TypeError, match="domain: expected FiniteDomain, got list"):
        log_ucb1_prior([1, 2])


def test_refuses_bad_queries_answers_and_a_second_action():
    belief = log_ucb1_prior(FiniteDomain(points(1.0)))
    with pytest.raises(ValueError, match="query: expected a tuple of 1 action"):
        belief.tell((0, 1), 1)
    with pytest.raises(ValueError, match="query: expected action numbers from 0 to 8, got 9"):
        belief.tell((9,), 1)
    with pytest.raises(ValueError, match=r"answer: expected a number from 0 to 1, got 2\.0"):
        belief.tell((0,), 2)
    with pytest.raises(ValueError, match="x2: expected None"):
        belief.lcb(0, 1)


def test_is_immutable():
    belief = log_ucb1_prior(FiniteDomain(points(1.0)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        belief.count = 3
