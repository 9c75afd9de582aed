"""Pending queries: dense formulas with their rows appended, and nothing else that changes."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp
from tests.belief import guaranteed_cases

from duelist.belief import (
    Member,
    TheoremBeta,
    adaptive_prior,
    effects,
    independent_prior,
    log_ucb1_prior,
    point_prior,
    prior,
    ridge_prior,
)
from duelist.domains import ALL, Catalogue, FiniteDomain
from duelist.links import Logistic, Probit

N, LAM, BOUND, SCALE = 7, 0.5, 1.5, 0.4
KERNEL = tinygp.kernels.ExpSquared(SCALE)
LINKS = {"logistic": Logistic(), "probit": Probit()}
PENDING = {"duels": [(0, 3), (5, 1), (0, 3), (6, 2)], "ratings": [(0,), (5,), (0,)]}
KINDS = [("duels", "logistic"), ("duels", "probit"), ("ratings", "logistic")]

pytestmark = pytest.mark.usefixtures("double")


def points():
    return np.random.default_rng(1).uniform(size=(N, 2))


def expecting(belief, queries):
    for query in queries:
        belief = belief.expecting(tuple(jnp.asarray(x, jnp.int32) for x in query))
    return belief


def make(kind, feedback, link="logistic", domain=None, **options):
    domain = FiniteDomain(points()) if domain is None else domain
    settings = {"lam": LAM, "bound": BOUND, "beta": TheoremBeta(0.1), "link": LINKS[link]}
    return kind(domain, KERNEL, feedback, **(settings | {"tolerance": 1e-11} | options))


@pytest.fixture(params=KINDS, ids="-".join)
def case(request, oracles, tell_all):
    """A table after twenty answers, the same with pending queries, and the history."""
    feedback, link = request.param
    arity = 2 if feedback == "duels" else 1
    queries, answers = oracles.random_history(np.random.default_rng(0), N, 20, arity)
    before = tell_all(make(prior, feedback, link), queries, answers)
    return before, expecting(before, PENDING[feedback]), feedback, link, queries


# ---- a table ---------------------------------------------------------------------------------


def test_the_worst_case_covariance_has_the_pending_rows_appended(case, oracles):
    before, after, feedback, _, queries = case
    every = queries + PENDING[feedback]
    gram = oracles.rbf(SCALE)(points(), points())
    kappa = float(before.constants.kappa)
    dense = oracles.Posterior(gram, every, np.zeros(len(every)), LAM, kappa, fitted=False)
    np.testing.assert_allclose(after.covariance, dense.covariance(), rtol=0, atol=1e-12)


def test_the_laplace_posterior_has_them_with_the_information_of_an_answer(case, oracles):
    """Fisher's: s'(h)^2 / (s(h) s(-h)), which is s'(h) for the logistic link."""
    before, after, feedback, link, _ = case
    rows = oracles.signs(PENDING[feedback], N)
    h, scipy_link = rows @ np.asarray(before.fit.f), getattr(oracles, link.capitalize())
    p = scipy_link.probability(h)
    weights = scipy_link.slope(h) ** 2 / (p * (1 - p)) / LAM
    precision = np.linalg.inv(before.metric.covariance) + rows.T @ (weights[:, None] * rows)
    expected = np.linalg.inv(precision)
    np.testing.assert_allclose(after.metric.covariance, expected, rtol=0, atol=1e-10)


def test_nothing_but_widths_and_counts_of_answers_changes(case):
    before, after, *_ = case
    same = dataclasses.replace(
        after, answers=before.answers, covariance=before.covariance, metric=before.metric
    )
    assert eqx.tree_equal(same, before)


def test_an_answer_as_expected_pulls_the_estimate_nowhere(case, tell_all):
    """Told for good, the forecast of each pending query leaves the fit where it is."""
    before, after, feedback, *_ = case
    pairs = [(*query, None)[:2] for query in PENDING[feedback]]
    told = tell_all(before, PENDING[feedback], [float(before.preference(*pair)) for pair in pairs])
    np.testing.assert_allclose(told.fit.f, before.fit.f, rtol=0, atol=1e-9)
    np.testing.assert_allclose(after.covariance, told.covariance, rtol=0, atol=1e-12)
    for one, other in zip(*map(jax.tree.leaves, (after.answers, told.answers)), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_their_order_makes_no_difference(case):
    before, after, feedback, *_ = case
    other = expecting(before, PENDING[feedback][::-1])
    for one, two in zip(*map(jax.tree.leaves, (after, other)), strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


def test_samples_know_of_them(case):
    before, after, feedback, *_ = case
    x, x2 = (*PENDING[feedback][0], None)[:2]
    draws = jax.vmap(lambda key: after.sample(key)(ALL))(jr.split(jr.key(0), 4000))
    gaps = draws[:, x] - (0 if x2 is None else draws[:, x2])
    assert float(after.deviation(x, x2)) < 0.9 * float(before.deviation(x, x2))
    np.testing.assert_allclose(gaps.std(), float(after.deviation(x, x2)), rtol=0.06)


def test_a_pending_duel_of_an_action_with_itself_changes_nothing():
    before = make(prior, "duels")
    assert eqx.tree_equal(expecting(before, [(2, 2)]), before)


def test_the_projected_estimate_stays(tell_all):
    before = tell_all(make(prior, "duels", projected=True), [(0, 6)] * 12, [1.0] * 12)
    assert float(before.projection.norm) < float(before.norm())
    after = expecting(before, [(0, 6)])
    assert eqx.tree_equal(after.projection, before.projection)
    assert float(after.width(0, 6)) < float(before.width(0, 6))


# ---- points ----------------------------------------------------------------------------------


@eqx.filter_jit
def predictions(belief, arity):
    names = ("difference", "variance", "laplace_variance", "ucb")
    methods = [getattr(belief, name) for name in names]
    if arity == 1:
        return [method(ALL) for method in methods]
    return [jax.vmap(lambda x, m=method: m(x, ALL))(jnp.arange(N)) for method in methods]


@pytest.mark.parametrize(
    ("feedback", "link", "kind"),
    [(*kind, FiniteDomain) for kind in KINDS] + [("duels", "logistic", Catalogue)],
)
def test_points_expect_what_a_table_expects(feedback, link, kind, tell_all):
    """Also on points that were never compared, for which more places are made."""
    arity = len(PENDING[feedback][0])
    queries, answers = [(1, 3)[:arity], (3, 4)[:arity]], [1.0, 0.0]
    options = {"tolerance": 1e-8}
    few = make(point_prior, feedback, link, kind(points()), capacity=4, **options)
    for query, answer in zip(queries, answers, strict=True):
        few = few.tell(query, answer)
    table = tell_all(make(prior, feedback, link, **options), queries, answers)
    table = expecting(table, PENDING[feedback])
    after = expecting(few, PENDING[feedback])
    assert after.capacity > few.capacity or arity == 1
    for ours, expected in zip(predictions(after, arity), predictions(table, arity), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-6)
    assert float(after.gain) == float(few.gain)
    assert int(after.count) == int(few.count) == 2
    np.testing.assert_allclose(after.utility(ALL), few.utility(ALL), rtol=0, atol=1e-14)
    features, utility = (np.asarray(x)[: int(after.number)] for x in after.compared())
    numbers = [int(np.abs(points() - row).sum(axis=1).argmin()) for row in features]
    assert len(set(numbers)) == int(after.number) > int(few.number)
    np.testing.assert_allclose(utility, after.utility(ALL)[np.array(numbers)], atol=1e-12)


# ---- mixtures and guaranteed bounds ----------------------------------------------------------


def test_every_member_expects_and_the_evidence_stays():
    domain = FiniteDomain(points())
    members = (Member(0.15, 3.0, 0.4), Member(0.6, 1.5, 0.7))
    before = adaptive_prior(domain, kernels=effects(domain, members))
    for query, answer in (((0, 1), 1), ((1, 2), 1), ((0, 4), 0)):
        before = before.tell(query, answer)
    after = expecting(before, PENDING["duels"])
    np.testing.assert_array_equal(after.evidence, before.evidence)
    np.testing.assert_array_equal(after.difference(ALL, ALL), before.difference(ALL, ALL))
    assert float(after.utility_beta) == float(before.utility_beta)
    assert np.all(np.asarray(after.width(ALL, ALL)) <= np.asarray(before.width(ALL, ALL)))
    for k in range(2):
        alone = jax.tree.map(lambda x, k=k: x[k] if eqx.is_array(x) else x, before.members)
        ours = jax.tree.map(lambda x, k=k: x[k] if eqx.is_array(x) else x, after.members)
        expected = expecting(alone, PENDING["duels"])
        for one, other in zip(*map(jax.tree.leaves, (ours, expected)), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("feedback", ["duels", "ratings"])
def test_the_prequential_region_shrinks_for_asking_only(feedback, oracles):
    before = guaranteed_cases.make(np.float64, feedback)
    for query, answer in zip(*guaranteed_cases.history(oracles, feedback, count=12), strict=True):
        before = before.tell(query, answer)
    query = (0, 4) if feedback == "duels" else (4,)
    after = before.expecting(query)
    p, q = (float(function(*query)) for function in (before.preference, before.forecast))
    surprise = -p * np.log(q) - (1 - p) * np.log(1 - q)
    expected = float(before.forecast_loss) + surprise
    assert float(after.forecast_loss) == pytest.approx(expected, abs=1e-12)
    assert np.all(np.asarray(after.region.upper) <= np.asarray(before.region.upper))
    assert float(after.width(*query)) < float(before.width(*query))
    np.testing.assert_array_equal(after.utility(ALL), before.utility(ALL))
    assert eqx.tree_equal(after.table, before.table.expecting(query))


# ---- direct feedback -------------------------------------------------------------------------


def test_ridge_regression_expects_its_estimate(oracles):
    """The estimate may leave [0, 1]; the variance is that of four more noisy values."""
    before = ridge_prior(FiniteDomain(points()), KERNEL, noise=0.1, mean=-0.4)
    for x in (0, 1, 1):
        before = before.tell((x,), 0)
    assert float(before.utility(5)) < 0
    after = expecting(before, PENDING["ratings"])
    gram = oracles.rbf(SCALE)(points(), points())
    asked = np.bincount([0, 1, 1, *(x for (x,) in PENDING["ratings"])], minlength=N)
    expected = np.linalg.inv(np.linalg.inv(gram) + np.diag(asked / 0.1))
    np.testing.assert_allclose(after.covariance, expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(after.values, before.values)
    told = dataclasses.replace(after, count=jnp.int32(15)).tell((2,), 1)  # renews from the counts
    expected = np.linalg.inv(np.linalg.inv(gram) + np.diag((asked + np.eye(N)[2]) / 0.1))
    np.testing.assert_allclose(told.covariance, expected, rtol=0, atol=1e-10)


def test_an_independent_action_expects_its_mean():
    before = independent_prior(FiniteDomain(points()), scale=0.5)
    for answer in (1, 1, 0):
        before = before.tell((0,), answer)
    after = expecting(before, [(0,), (5,)])
    np.testing.assert_allclose(after.probabilities, before.probabilities, rtol=1e-15)
    assert float(after.width(0)) == 0.25
    assert float(after.width(5)) == 0.5
    assert np.isinf(after.width(1))


def test_log_ucb1_expects_its_estimate():
    before = log_ucb1_prior(FiniteDomain(points()), lam=0.3, bound=2.0)
    for x, answer in ((0, 1), (1, 0), (1, 1)):
        before = before.tell((x,), answer)
    after = expecting(before, PENDING["ratings"])
    x = points() / np.linalg.norm(points(), axis=1).max()
    noise = float(before.constants.noise)
    every = x[[0, 1, 1, *(i for (i,) in PENDING["ratings"])]]
    inverse = np.linalg.inv(every.T @ every + noise * np.eye(2))
    expected = np.sqrt(noise * np.sum(x @ inverse * x, axis=1))
    np.testing.assert_allclose(after.widths, expected, rtol=1e-10)
    np.testing.assert_array_equal(after.probabilities, before.probabilities)
    assert float(after.beta) == float(before.beta)
    problem = after.tell((0,), Logistic().probability(after.answers.features[0] @ after.fit.f))
    np.testing.assert_allclose(problem.fit.f, before.fit.f, rtol=0, atol=1e-6)


# ---- arguments -------------------------------------------------------------------------------

BELIEFS = {
    "prior": lambda d: prior(d, KERNEL),
    "point_prior": lambda d: point_prior(d, KERNEL),
    "adaptive_prior": adaptive_prior,
    "guaranteed_prior": lambda d: guaranteed_cases.make(np.float64, n=N),
    "ridge_prior": lambda d: ridge_prior(d, KERNEL),
    "independent_prior": independent_prior,
    "log_ucb1_prior": log_ucb1_prior,
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", BELIEFS)
def test_refuses_what_is_no_query(name):
    belief = BELIEFS[name](FiniteDomain(points()))
    alone = name in {"ridge_prior", "independent_prior", "log_ucb1_prior"}
    rest = () if alone else (0,)
    with pytest.raises(ValueError, match="query: expected action numbers from 0 to 6, got 7"):
        belief.expecting((*rest, 7))
    with pytest.raises(TypeError, match="query: expected action numbers, which are integers"):
        belief.expecting((*rest, 1.5))
    with pytest.raises(ValueError, match="query: expected a tuple of"):
        belief.expecting((*rest, 0, 0))
