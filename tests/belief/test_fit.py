"""The MAP fit: its status, its optimality by independent means, and data that are hard to fit."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp

from duelist.belief import FitStatus, FixedBeta, _fit, prior
from duelist.belief._answers import Duels, Ratings
from duelist.belief._fit import Problem, fit, objective
from duelist.domains import ALL, FiniteDomain
from duelist.kernels import factor
from duelist.links import CustomLink, Logistic, Probit

N = 6
LINKS = {
    "logistic": Logistic(),
    "probit": Probit(),
    "custom": CustomLink(lambda a: jax.nn.sigmoid(1.5 * a + 0.05 * jnp.tanh(a))),
}


def points(n=N):
    return np.random.default_rng(2).uniform(size=(n, 2))


def make_prior(dtype, feedback="duels", at=None, scale=0.4, **options):
    domain = FiniteDomain(jnp.asarray(points() if at is None else at, dtype))
    return prior(domain, tinygp.kernels.ExpSquared(jnp.asarray(scale, dtype)), feedback, **options)


def random_problem(oracles, dtype, feedback, link, lam=0.3, seed=0, count=40):
    """A problem with random counts of answers, some of them fractions."""
    rng = np.random.default_rng(seed)
    gram = jnp.asarray(oracles.rbf(0.4)(points(), points()), dtype)
    shape = (N, N) if feedback == "duels" else (N,)
    yes, no = (
        jnp.asarray(rng.integers(0, 4, shape) * rng.uniform(size=shape), dtype) for _ in "yn"
    )
    if feedback == "duels":
        yes = yes * (1 - jnp.eye(N, dtype=dtype))
        answers = Duels(yes)
    else:
        answers = Ratings(yes, no)
    return Problem(answers, link, gram, factor(gram), jnp.asarray(lam, dtype))


@eqx.filter_jit
def solve(problem, tolerance, start=None):
    start = jnp.zeros(N, problem.gram.dtype) if start is None else start
    f = problem.gram @ start
    residual = start + problem.answers.gradient(problem.link, f) / problem.lam
    return fit(problem, problem.metric(f), start, residual, tolerance)[0]


CASES = [("duels", "logistic"), ("ratings", "probit"), ("duels", "custom")]


@pytest.mark.parametrize(("feedback", "link"), CASES)
class TestDerivatives:
    """Finite differences of sums that the objective is made of."""

    def test_the_gradient_of_the_objective(self, oracles, feedback, link):
        with jax.enable_x64(True):
            problem = random_problem(oracles, np.float64, feedback, LINKS[link])
            w = jnp.asarray(np.random.default_rng(1).normal(size=N))
            f = problem.gram @ w
            claimed = problem.gram @ (problem.lam * w + problem.answers.gradient(problem.link, f))
            found = central(jax.jit(partial(objective, problem)), w)
            np.testing.assert_allclose(claimed, found, rtol=1e-6, atol=1e-7)

    def test_the_hessian_of_the_loss(self, oracles, feedback, link):
        with jax.enable_x64(True):
            problem = random_problem(oracles, np.float64, feedback, LINKS[link])
            answers, f = problem.answers, jnp.asarray(np.random.default_rng(2).normal(size=N))
            claimed = answers.hessian(problem.link, f)
            found = central(jax.jit(lambda f: answers.gradient(problem.link, f)), f)
            np.testing.assert_allclose(claimed, found, rtol=1e-6, atol=1e-7)
            claimed = answers.expected_slope(problem.link, f)
            found = central(jax.jit(lambda f: answers.expected(problem.link, f)), f)
            np.testing.assert_allclose(claimed, found, rtol=1e-6, atol=1e-7)

    def test_the_gradient_vanishes_at_the_fit_and_nothing_near_is_lower(
        self, x64, oracles, feedback, link
    ):
        problem = random_problem(oracles, x64, feedback, LINKS[link], seed=3)
        solved = solve(problem, jnp.asarray({"float32": 1e-5, "float64": 1e-10}[x64.name], x64))
        small = {"float32": 1e-4, "float64": 1e-8}[x64.name]
        assert bool(solved.converged)
        value = jax.jit(partial(objective, problem))
        assert float(jnp.max(jnp.abs(jax.jit(jax.grad(value))(solved.w)))) < small
        np.testing.assert_allclose(solved.f, problem.gram @ solved.w, atol=small)
        lowest = float(value(solved.w))
        moves = np.random.default_rng(0).normal(size=(20, N)) * 0.1
        assert all(float(value(solved.w + jnp.asarray(move, x64))) > lowest for move in moves)


def central(function, at, step=1e-5):
    """Central differences, an axis for the argument last."""
    columns = [
        (function(at + step * e) - function(at - step * e)) / (2 * step) for e in jnp.eye(len(at))
    ]
    return np.stack(columns, axis=-1)


# ---- what a fit reports ----------------------------------------------------------------------


def test_the_fit_of_the_prior_is_zero_and_converged(x64):
    fitted = make_prior(x64).fit
    np.testing.assert_array_equal(fitted.f, np.zeros(N))
    assert bool(fitted.converged)
    assert (int(fitted.steps), float(fitted.error)) == (0, 0.0)


def test_the_error_reported_bounds_the_distance_to_the_fit(x64, oracles):
    """To a solution 100 times as accurate, from a far start so that steps are needed."""
    problem = random_problem(oracles, x64, "duels", LINKS["logistic"], seed=5)
    start = jnp.asarray(np.random.default_rng(0).normal(size=N) * 3, x64)
    rough = solve(problem, jnp.asarray(1e-2, x64), start)
    fine = solve(problem, jnp.asarray({"float32": 2e-6, "float64": 1e-12}[x64.name], x64))
    assert bool(rough.converged)
    assert int(rough.steps) > 0
    distance = float(jnp.max(jnp.abs(rough.f - fine.f)))
    assert distance <= 2 * float(rough.error) <= 2e-2
    assert distance > 0


def test_a_finished_fit_takes_no_step(double, oracles):
    problem = random_problem(oracles, double, "duels", LINKS["logistic"])
    tolerance = jnp.asarray(1e-4, double)
    first = solve(problem, tolerance)
    again = solve(problem, tolerance, first.w)
    assert int(first.steps) > 0
    assert int(again.steps) == 0
    np.testing.assert_array_equal(first.w, again.w)


def test_stagnation_is_reported_and_still_the_optimum(double, oracles):
    """A tolerance that rounding does not allow."""
    problem = random_problem(oracles, double, "duels", LINKS["logistic"])
    unattainable = jnp.asarray(1e-30, double)
    solved = solve(problem, unattainable)
    attained = solve(problem, jnp.asarray(1e-5, double))
    assert bool(solved.status == FitStatus.stagnated)
    assert not bool(solved.converged)
    assert int(solved.steps) < _fit._MAX_STEPS
    np.testing.assert_allclose(solved.f, attained.f, atol=1e-4)


def test_the_limit_of_steps_is_reported(double, oracles, monkeypatch):
    monkeypatch.setattr(_fit, "_QUICK_STEPS", 0)
    monkeypatch.setattr(_fit, "_MAX_STEPS", 2)
    problem = random_problem(oracles, double, "duels", LINKS["probit"])
    start = jnp.asarray(np.random.default_rng(0).normal(size=N) * 20, double)
    solved = solve(problem, jnp.asarray(1e-7, double), start)
    assert bool(solved.status == FitStatus.max_steps)
    assert int(solved.steps) == 2
    assert float(solved.error) > 1e-7
    assert float(objective(problem, solved.w)) < float(objective(problem, start))


def test_exact_steps_alone_find_the_same_fit(double, oracles, monkeypatch):
    problem = random_problem(oracles, double, "ratings", LINKS["logistic"], seed=8)
    tolerance = jnp.asarray(1e-10, double)
    start = jnp.asarray(np.random.default_rng(0).normal(size=N) * 20, double)
    with_quick = solve(problem, tolerance)
    monkeypatch.setattr(_fit, "_QUICK_STEPS", 0)
    # Another start, so that the program is traced anew.
    alone = solve(problem, tolerance, start)
    assert bool(alone.converged)
    np.testing.assert_allclose(alone.f, with_quick.f, atol=10 * float(tolerance))
    assert int(alone.steps) > 1


# ---- answers that are special ----------------------------------------------------------------


def index(*actions):
    return tuple(jnp.asarray(action, jnp.int32) for action in actions)


def test_a_fractional_answer_is_a_mixture_of_yes_and_no(double, oracles, tell_all):
    """0.25 pulls like a quarter of a yes and three quarters of a no."""
    belief = tell_all(make_prior(double), [(0, 1)], [0.25])
    gap = 2 - 2 * float(belief.gram[0, 1])
    h = scipy_root(lambda h: h + gap * (0.25 * -expit(-h) + 0.75 * expit(h)))
    assert float(belief.difference(0, 1)) == pytest.approx(h, abs=1e-5)


def test_a_half_answer_leaves_the_estimate_at_zero_but_informs(double, tell_all):
    belief = tell_all(make_prior(double), [(0, 1)], [0.5])
    np.testing.assert_array_equal(belief.fit.f, np.zeros(N))
    assert float(belief.width(0, 1)) < float(make_prior(double).width(0, 1))


def expit(h):
    return 1 / (1 + np.exp(-h))


def scipy_root(function):
    import scipy.optimize

    return scipy.optimize.brentq(function, -50, 50, xtol=1e-14)


def test_one_duel_solved_by_hand(double, tell_all):
    """h = (k^D / lambda) s(-h) for one yes with k^D = k^D((x, x'), (x, x'))."""
    belief = tell_all(make_prior(double, lam=0.1), [(2, 3)], [1.0])
    gap = 2 - 2 * float(belief.gram[2, 3])
    h = scipy_root(lambda h: h - gap / 0.1 * expit(-h))
    assert float(belief.difference(2, 3)) == pytest.approx(h, abs=1e-7)


def test_a_duel_told_the_other_way_round_is_the_same_answer(x64, oracles, tell_all):
    queries, answers = oracles.random_history(np.random.default_rng(4), N, 20, 2)
    turned = [query[::-1] for query in queries]
    one = tell_all(make_prior(x64), queries, answers)
    other = tell_all(make_prior(x64), turned, 1 - answers)
    atol = {"float32": 1e-4, "float64": 1e-6}[x64.name]
    np.testing.assert_allclose(one.fit.f, other.fit.f, atol=atol)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=atol)


def test_the_order_of_the_answers_does_not_matter(x64, oracles, tell_all):
    queries, answers = oracles.random_history(np.random.default_rng(4), N, 40, 2)
    order = np.random.default_rng(1).permutation(40)
    one = tell_all(make_prior(x64), queries, answers)
    other = tell_all(make_prior(x64), [queries[k] for k in order], answers[order])
    atol = {"float32": 1e-4, "float64": 1e-6}[x64.name]
    np.testing.assert_allclose(one.fit.f, other.fit.f, atol=atol)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=atol)
    assert float(one.gain) == pytest.approx(float(other.gain), rel=1e-5)


HARD = {
    "separable": [(k, j) for k in range(N) for j in range(k)] * 20,
    "repeated": [(0, 1)] * 300,
    "contradicting": [(0, 1), (1, 0)] * 150,
}
LEAST = {"float32": 1e-5, "float64": 2e-12}


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 0.4, 1e4])
@pytest.mark.parametrize("lam", ["least", 1e-8, 1e-4, 1.0, 1e6])
def test_hard_data_stay_finite_and_the_error_reported_is_true(x64, oracles, tell_all, lam, scale):
    """Separable, repeated and contradicting answers, with any lambda and length scale.

    Nothing is NaN, and where the fit says that it has converged the exact Newton step is small:
    at most six times the tolerance was measured, for the metric at hand may be a little old.
    """
    lam = LEAST[x64.name] if lam == "least" else max(lam, LEAST[x64.name])
    tolerance = {"float32": 2e-5, "float64": 1e-7}[x64.name]
    # With a nearly constant kernel the reference cancels: 300 pulls leave rounding / lambda.
    rounding = 300 * np.finfo(float).eps / lam if scale > 1 else 0.0
    for name, queries in HARD.items():
        belief = make_prior(x64, scale=scale, lam=lam)
        belief = tell_all(belief, queries, np.ones(len(queries)))
        shown = (belief.fit.f, belief.lcb(ALL, ALL), belief.deviation(ALL, ALL), belief.gain)
        assert all(bool(jnp.all(jnp.isfinite(part))) for part in shown), name
        if bool(belief.fit.converged):
            step = newton_step(oracles, belief, queries, lam)
            assert np.abs(step).max() <= 10 * tolerance + rounding, name
        assert bool(belief.fit.converged) or lam < {"float32": 1.0, "float64": 1e-4}[x64.name], name


def newton_step(oracles, belief, queries, lam):
    """The step of Newton's method from the fit to the optimum, in f, in float64."""
    gram, f = np.asarray(belief.gram, float), np.asarray(belief.fit.f, float)
    rows, link = oracles.signs(queries, N), oracles.Logistic
    h = rows @ f
    rest = f + gram @ rows.T @ link.score(h) / lam
    jacobian = np.eye(N) + gram @ rows.T @ (link.curvature(h)[:, None] * rows) / lam
    return np.linalg.solve(jacobian, rest)


def test_one_action(double, tell_all):
    belief = make_prior(double, at=np.zeros((1, 2)))
    belief = tell_all(belief, [(0, 0)] * 3, [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(belief.fit.f, [0.0])
    np.testing.assert_array_equal(belief.lcb(ALL, ALL), [[0.5]])
    assert float(belief.gain) == 0
    rated = tell_all(
        make_prior(double, "ratings", at=np.zeros((1, 2))), [(0,)] * 3, [1.0, 1.0, 0.0]
    )
    h = scipy_root(lambda h: h - 2 * expit(-h) + expit(h))
    assert float(rated.utility(0)) == pytest.approx(h, abs=1e-5)


def test_two_identical_actions_have_the_same_utility_and_no_width(x64, oracles, tell_all):
    at = points()
    at[4] = at[1]
    queries, answers = oracles.random_history(np.random.default_rng(4), N, 60, 2)
    belief = tell_all(make_prior(x64, at=at), queries, answers)
    atol = {"float32": 1e-5, "float64": 1e-8}[x64.name]
    assert float(belief.difference(1, 4)) == pytest.approx(0, abs=atol)
    np.testing.assert_allclose(belief.width(1, ALL), belief.width(4, ALL), atol=1e-3)
    assert float(belief.width(1, 4)) < {"float32": 1e-3, "float64": 1e-7}[x64.name]
    assert bool(belief.fit.converged)


def test_nothing_recompiles_as_answers_arrive_or_numbers_change(double):
    """One trace for any answer, action, lambda, B and beta."""
    traces = []

    @eqx.filter_jit
    def tell(belief, query, answer):
        traces.append(None)
        belief = belief.tell(query, answer)
        return belief, belief.lcb(ALL, ALL)

    for lam, bound, beta in [(0.1, 1.0, 1.0), (1.0, 2.0, 3.0), (1e-4, 0.1, 0.0)]:
        rule = FixedBeta(jnp.asarray(beta, double))
        belief = make_prior(double, lam=lam, bound=bound, beta=rule)
        for k in range(20):
            answer = jnp.asarray(k % 2, double)
            belief, _ = tell(belief, index(k % N, (k + k // N) % N), answer)
    assert len(traces) == 1


def test_a_belief_is_immutable(double, tell_all):
    belief = make_prior(double)
    told = tell_all(belief, [(0, 1)], [1.0])
    assert int(belief.count) == 0
    assert int(told.count) == 1
    with pytest.raises(AttributeError):
        belief.gain = 1.0
