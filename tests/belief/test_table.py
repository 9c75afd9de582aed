"""The belief on a hundred actions against the dense formulas over the whole history.

Largest errors measured after 300 answers, over both kinds of feedback and both links (float32: the
logistic link), which `WITHIN` bounds:

| | f | sigma | gamma | beta |
|---|---|---|---|---|
| float64 | 1.0e-7 | 1.7e-9 (1.4e-14 in the worst case) | 8.9e-15 | 2.1e-14 |
| float32 | 7.1e-6 | 2.0e-5 | 5.1e-6 | 1.7e-5 |

Those of the Laplace width come from the error of the fit, whose tolerance is 1e-7 and 2e-5.
"""

import dataclasses
import itertools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp

from duelist.belief import TheoremBeta, prior
from duelist.belief._covariance import rank_one
from duelist.domains import ALL, FiniteDomain
from duelist.links import Logistic, Probit

LAM, BOUND, SCALE, DELTA = 0.5, 1.5, 0.3, 0.05
RENEWED = 289  # a count of answers at which both covariances were just computed from scratch
LINKS = {"logistic": Logistic(), "probit": Probit()}
WITHIN = {
    "f": {"float64": 1e-6, "float32": 2e-5},
    "sigma": {"float64": 1e-8, "float32": 5e-5},
    "gamma": {"float64": 1e-8, "float32": 2e-5},
    "beta": {"float64": 1e-8, "float32": 5e-5},
}


class Case(NamedTuple):
    """A belief after 300 answers, one after `RENEWED`, and the references for both."""

    name: str
    belief: Any
    renewed: Any
    dense: Any
    dense_renewed: Any
    kappa: float
    lipschitz: float


def make_prior(dtype, grid, feedback, link="logistic", **options):
    return prior(
        FiniteDomain(jnp.asarray(grid, dtype)),
        tinygp.kernels.ExpSquared(jnp.asarray(SCALE, dtype)),
        feedback,
        link=LINKS[link],
        lam=LAM,
        bound=BOUND,
        beta=TheoremBeta(DELTA),
        **options,
    )


@pytest.fixture(
    scope="module",
    params=[
        *itertools.product(["float64"], ["duels", "ratings"], ["logistic", "probit"]),
        *itertools.product(["float32"], ["duels", "ratings"], ["logistic"]),
    ],
    ids="-".join,
)
def case(request, oracles, tell_all, grid):
    name, feedback, link = request.param
    arity = 2 if feedback == "duels" else 1
    rng = np.random.default_rng(5)
    queries, _ = oracles.random_history(rng, 100, 300, arity)
    f = np.sin(4 * grid[:, 0]) - 2 * grid[:, 1] ** 2
    reference = getattr(oracles, link.capitalize())
    probability = reference.probability(oracles.signs(queries, 100) @ f)
    answers = (rng.uniform(size=300) < probability).astype(float)
    kappa, lipschitz = 1 / reference.slope(arity * BOUND), reference.slope(0.0)
    gram = oracles.rbf(SCALE)(grid, grid)

    def dense(count):
        return oracles.Posterior(gram, queries[:count], answers[:count], LAM, kappa, reference)

    with jax.enable_x64(name == "float64"):
        begin = make_prior(np.dtype(name), grid, feedback, link)
        renewed = tell_all(begin, queries[:RENEWED], answers[:RENEWED])
        belief = tell_all(renewed, queries[RENEWED:], answers[RENEWED:])
        yield Case(name, belief, renewed, dense(300), dense(RENEWED), kappa, lipschitz)


def close(case, quantity, actual, expected):
    actual = np.asarray(actual, float)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=WITHIN[quantity][case.name])


def test_the_fit(case):
    close(case, "f", case.belief.difference(ALL), case.dense.f)


def test_differences_are_the_dueling_kernel_expansion(case, oracles):
    """h = sum_t alpha_t k^D((x, x'), query_t), without the utility f in between."""
    arity = len(case.dense.queries[0])
    pairs = [(x, y)[:arity] for x in range(0, 100, 7) for y in range(0, 100, 9)]
    expected = oracles.query_kernel(case.dense.gram, pairs, case.dense.queries) @ case.dense.alpha
    actions = map(jnp.asarray, zip(*pairs, strict=True))
    close(case, "f", case.belief.difference(*actions), expected)


def test_the_worst_case_width(case):
    duels = len(case.dense.queries[0]) == 2
    actual = case.belief.width(ALL, ALL) if duels else case.belief.width(ALL)
    close(case, "sigma", actual, case.dense.widths())


def test_the_laplace_width_when_its_weights_were_just_renewed(case):
    belief = dataclasses.replace(case.renewed, width_rule="laplace")
    duels = len(case.dense.queries[0]) == 2
    actual = belief.width(ALL, ALL) if duels else belief.width(ALL)
    weights = case.dense_renewed.laplace_weights()
    close(case, "sigma", actual, case.dense_renewed.widths(weights))


def test_the_deviation_is_the_laplace_width_over_the_root_of_lambda(case):
    weights = case.dense_renewed.laplace_weights()
    covariance = case.dense_renewed.covariance(weights) / LAM
    expected = np.sqrt(np.diag(covariance))
    close(case, "sigma", case.renewed.deviation(ALL), expected)


def test_the_information_gain(case):
    close(case, "gamma", case.belief.gain, case.dense.gain())


def test_beta(case, oracles):
    expected = oracles.beta(LAM, BOUND, case.kappa, case.lipschitz, case.dense.gain(), DELTA)
    close(case, "beta", case.belief.beta, expected)
    utility = dataclasses.replace(case.belief, space="utility")
    close(case, "beta", utility.beta, expected / case.lipschitz)
    assert int(case.belief.count) == 300


# ---- many answers, and when the covariances are computed from scratch ------------------------


def history_of(oracles, feedback, n, count, seed=0):
    """Answers of a judge who likes later actions a little better."""
    rng = np.random.default_rng(seed)
    queries, _ = oracles.random_history(rng, n, count, 2 if feedback == "duels" else 1)
    h = oracles.signs(queries, n) @ np.linspace(-1, 1, n)
    return queries, (rng.uniform(size=count) < oracles.Logistic.probability(h)).astype(float)


@pytest.fixture(scope="module", params=["duels", "ratings"])
def long_run(request, oracles, tell_all, grid):
    """A belief in float64 after 5000 answers, with its K, D and answers."""
    queries, answers = history_of(oracles, request.param, 100, 5000)
    with jax.enable_x64(True):
        belief = tell_all(make_prior(np.float64, grid, request.param), queries, answers)
        yield belief, oracles.rbf(SCALE)(grid, grid), oracles.signs(queries, 100), answers


def test_no_drift_of_the_worst_case_width(long_run, oracles):
    belief, gram, rows, _ = long_run
    noise = LAM / oracles.Logistic.slope(BOUND * (2 if rows.min() < 0 else 1))
    covariance = np.linalg.solve(np.eye(100) + gram @ rows.T @ rows / noise, gram)
    np.testing.assert_allclose(belief.covariance, covariance, rtol=0, atol=1e-10)
    pairs = oracles.widths(covariance, 2)
    np.testing.assert_allclose(belief.width(ALL, ALL), pairs, rtol=0, atol=1e-6)
    gain = np.linalg.slogdet(np.eye(100) + gram @ rows.T @ rows / noise)[1] / 2
    assert float(belief.gain) == pytest.approx(gain, abs=1e-9)


def test_no_drift_of_the_fit(long_run, oracles):
    """The Newton step at the fit, from the whole history, is its error."""
    belief, gram, rows, answers = long_run
    f, link = np.asarray(belief.fit.f), oracles.Logistic
    np.testing.assert_allclose(gram @ np.asarray(belief.fit.w), f, atol=1e-9)
    h = rows @ f
    pull = answers * link.score(h) - (1 - answers) * link.score(-h)
    rest = f + gram @ rows.T @ pull / LAM
    jacobian = np.eye(100) + gram @ rows.T @ (link.curvature(h)[:, None] * rows) / LAM
    assert np.abs(np.linalg.solve(jacobian, rest)).max() < 1e-6
    residual = np.asarray(belief.fit.w) + rows.T @ pull / LAM
    np.testing.assert_allclose(belief.fit.residual, residual, rtol=0, atol=1e-8)


@pytest.mark.parametrize("feedback", ["duels", "ratings"])
def test_rank_one_updates_alone_do_not_drift(x64, oracles, grid, feedback):
    """5000 updates that nothing refreshes; 1.2e-6 off in float32, 1.7e-14 in float64."""
    queries, _ = history_of(oracles, feedback, 100, 5000)
    gram, rows, noise = oracles.rbf(SCALE)(grid, grid), oracles.signs(queries, 100), 7.0

    def step(covariance, query):
        return rank_one(covariance, query, jnp.asarray(noise, x64)), None

    columns = tuple(jnp.asarray(column, jnp.int32) for column in zip(*queries, strict=True))
    covariance, _ = jax.lax.scan(step, jnp.asarray(gram, x64), columns)
    expected = np.linalg.solve(np.eye(100) + gram @ rows.T @ rows / noise, gram)
    atol = {"float32": 1e-5, "float64": 1e-12}[x64.name]
    np.testing.assert_allclose(covariance, expected, rtol=0, atol=atol)


@pytest.fixture(scope="module")
def steps(oracles):
    """After each of 400 answers on twelve actions: f, the Hessian, both covariances, the count."""
    queries, answers = history_of(oracles, "duels", 12, 400, seed=3)
    points = np.random.default_rng(0).uniform(size=(12, 2))
    with jax.enable_x64(True):
        columns = tuple(jnp.asarray(column, jnp.int32) for column in zip(*queries, strict=True))
        begin = make_prior(np.float64, points, "duels", tolerance=1e-12)

        @eqx.filter_jit
        def run(begin, told):
            def step(belief, told):
                new = belief.tell(*told)
                shown = (new.fit.f, new.metric.hessian, new.metric.covariance, new.covariance)
                return new, (*shown, new.next_refresh)

            return jax.lax.scan(step, begin, told)[1]

        shown = run(begin, (columns, jnp.asarray(answers)))
    return queries, answers, oracles.rbf(SCALE)(points, points), *map(np.asarray, shown)


def weight_of(oracles, queries, f):
    """D'WD with the logistic curvature at f."""
    rows = oracles.signs(queries, len(f))
    return rows.T @ (oracles.Logistic.curvature(rows @ f)[:, None] * rows)


def test_laplace_weights_are_of_the_time_of_the_answer_or_renewed(steps, oracles):
    """Between renewals an answer counts with its weight at the estimate before it."""
    queries, _, _, f, hessian, _, _, following = steps
    renewals = []
    for t in range(1, 400):
        told = hessian[t - 1] + weight_of(oracles, queries[t : t + 1], f[t - 1])
        if not np.allclose(hessian[t], told, rtol=0, atol=1e-10):
            renewals.append(t + 1)
            renewed = weight_of(oracles, queries[: t + 1], f[t])
            np.testing.assert_allclose(hessian[t], renewed, rtol=0, atol=1e-6)
    planned = sorted(set(following[following <= 400].tolist()))
    assert set(planned) <= set(renewals)


def test_the_laplace_covariance_belongs_to_its_weights(steps):
    _, _, gram, _, hessian, laplace, _, _ = steps
    expected = np.linalg.solve(
        np.eye(12) + gram @ hessian / LAM, np.broadcast_to(gram, laplace.shape)
    )
    np.testing.assert_allclose(laplace, expected, rtol=0, atol=1e-9)


def test_renewals_come_at_growing_intervals(steps):
    """Of the order of log t of them: the intervals grow with t, by an eighth of it."""
    planned = sorted(set(steps[-1].tolist()))
    intervals = np.diff(planned)
    assert planned[0] == 16
    assert np.all(np.diff(intervals) >= 0)
    assert np.all(intervals <= np.maximum(np.asarray(planned[:-1]) / 8, 16))
    assert intervals[-1] > 16


def test_every_step_has_the_worst_case_covariance(steps, oracles):
    queries, _, gram, _, _, _, covariance, _ = steps
    noise = LAM / oracles.Logistic.slope(2 * BOUND)
    for t in (0, 1, 14, 15, 16, 100, 399):
        rows = oracles.signs(queries[: t + 1], 12)
        expected = np.linalg.solve(np.eye(12) + gram @ rows.T @ rows / noise, gram)
        np.testing.assert_allclose(covariance[t], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("width", ["worst-case", "laplace"])
def test_a_duel_of_an_action_with_itself_teaches_nothing(x64, oracles, tell_all, grid, width):
    queries, answers = history_of(oracles, "duels", 100, 3)
    before = tell_all(make_prior(x64, grid, "duels", width=width), queries, answers)
    after = tell_all(before, [(7, 7)], [1.0])
    assert int(after.count) == int(before.count) + 1
    for part in ("answers", "covariance", "gain", "metric"):
        same = jax.tree.map(np.array_equal, getattr(before, part), getattr(after, part))
        assert all(jax.tree.leaves(same)), part
    np.testing.assert_array_equal(before.fit.f, after.fit.f)
    assert int(after.fit.steps) == 0
