"""The mixture over kernels against its members, dense formulas in NumPy, and cases by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
import tinygp

from duelist.belief import (
    AdaptiveBelief,
    FixedBeta,
    GrowingBeta,
    Member,
    adaptive_prior,
    effects,
    prior,
    steepness,
)
from duelist.belief import _adaptive as module
from duelist.domains import ALL, Box, Categorical, FiniteDomain, Real, mixed_domain
from duelist.links import Logistic, Probit

N = 6
MEMBERS = (Member(0.15, 3.0, 0.4), Member(0.6, 1.5, 0.7))
HISTORY = [
    (0, 1, 1.0),
    (1, 2, 1.0),
    (0, 2, 1.0),
    (3, 3, 1.0),
    (0, 1, 0.0),
    (4, 0, 0.0),
    (2, 5, 1.0),
]
# Enough for both kinds of evidence: Laplace's at the 16th answer, forecasts after it.
LONG = HISTORY * 3


def points(dtype=np.float64):
    return np.random.default_rng(7).uniform(size=(N, 2)).astype(dtype)


def domain_of(dtype=np.float64):
    return FiniteDomain(jnp.asarray(points(dtype)))


def told(history, feedback="duels", dtype=np.float64, **settings):
    domain = domain_of(dtype)
    start = adaptive_prior(domain, feedback, kernels=effects(domain, MEMBERS), **settings)
    return tell(start, history)


def tell(belief, history):
    for *actions, answer in history:
        query = tuple(jnp.asarray(x, jnp.int32) for x in actions)
        belief = belief.tell(query, jnp.asarray(answer, belief.evidence.dtype))
    return belief


@pytest.fixture(scope="module")
def double():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def long(double) -> AdaptiveBelief:
    return told(LONG)


@pytest.fixture(scope="module")
def singles(double):
    """The members on their own, told the same."""
    domain = domain_of()
    alone = [
        prior(domain, kernel, width="laplace", space="utility", tolerance=1e-5)
        for kernel in effects(domain, MEMBERS)
    ]
    return [tell_single(belief, LONG) for belief in alone]


@eqx.filter_jit
def _tell(belief, query, answer):
    return belief.tell(query, answer)


def tell_single(belief, history):
    for *actions, answer in history:
        query = tuple(jnp.asarray(x, jnp.int32) for x in actions)
        belief = _tell(belief, query, jnp.asarray(answer, belief.gram.dtype))
    return belief


# ---- kernels ---------------------------------------------------------------------------------


def dense(members, x):
    """`Effects` by its definition, one entry at a time."""
    span = x.max(axis=0) - x.min(axis=0)
    table = np.empty((len(x), len(x)))
    for i, a in enumerate(x):
        for j, b in enumerate(x):
            z = (a - b) / (span * members.length_scale)
            main = np.mean([np.exp(-(t**2) / 2) for t in z])
            rest = np.exp(-np.sum(z**2) / 2 / max(len(z) / 2, 1))
            share = members.interaction
            table[i, j] = members.variance * ((1 - share) * main + share * rest)
    return table


@pytest.mark.parametrize("features", [1, 2, 5])
def test_effects_are_main_effects_and_the_rest(double, features):
    x = np.random.default_rng(features).uniform(-3, 9, size=(7, features))
    kernel = effects(FiniteDomain(jnp.asarray(x)), [MEMBERS[0]])[0]
    np.testing.assert_allclose(kernel(x, x), dense(MEMBERS[0], x), rtol=1e-12)
    table = kernel.broadcast(jnp.asarray(x)[:, None], jnp.asarray(x)[None])
    np.testing.assert_allclose(table, dense(MEMBERS[0], x), rtol=1e-12)


def test_units_and_constant_features_make_no_difference(double):
    x = points()
    other = np.column_stack([x * [1e3, 1e-4] + [5, -7], np.full(N, 2.0)])
    with_constant = np.column_stack([x, np.full(N, 0.0)])
    first, second = (
        effects(FiniteDomain(jnp.asarray(z)), [MEMBERS[1]])[0](z, z) for z in (other, with_constant)
    )
    np.testing.assert_allclose(first, second, rtol=1e-9)


# ---- evidence --------------------------------------------------------------------------------


def test_evidence_is_laplace_then_forecasts(long, singles):
    """At answer 16 Laplace's, by a dense determinant; then s averaged by adaptive quadrature."""
    domain = domain_of()
    for k, member in enumerate(MEMBERS):
        gram = dense(member, points())
        single = tell_single(
            prior(
                domain,
                effects(domain, [member])[0],
                width="laplace",
                space="utility",
                tolerance=1e-5,
            ),
            LONG[:16],
        )
        expected = laplace_evidence(gram, np.asarray(single.fit.f), LONG[:16])
        for t in range(16, len(LONG)):
            i, j, answer = LONG[t]
            h = float(single.difference(i, j))
            deviation = float(single.deviation(i, j))
            expected += log_forecast(h, deviation, answer) if i != j else 0
            single = tell_single(single, LONG[t : t + 1])
        np.testing.assert_allclose(float(long.evidence[k]), expected, atol=2e-4)


def laplace_evidence(gram, f, history):
    """-loss - f'K^-1 f / 2 - log det(I + K H) / 2, dense."""
    hessian, loss = np.zeros((N, N)), 0.0
    for i, j, answer in history:
        if i == j:
            continue
        row = np.eye(N)[i] - np.eye(N)[j]
        p = scipy.special.expit(row @ f)
        loss -= answer * np.log(p) + (1 - answer) * np.log(1 - p)
        hessian += p * (1 - p) * np.outer(row, row)
    penalty = f @ np.linalg.solve(gram, f) / 2
    return -loss - penalty - np.linalg.slogdet(np.eye(N) + gram @ hessian)[1] / 2


def log_forecast(h, deviation, answer):
    def weighed(z):
        return scipy.special.expit(h + deviation * z) * scipy.stats.norm.pdf(z)

    yes = scipy.integrate.quad(weighed, -12, 12)[0]
    return answer * np.log(yes) + (1 - answer) * np.log(1 - yes)


def test_weights_are_the_posterior_of_the_members(long):
    odds = np.exp(np.asarray(long.evidence) - np.max(long.evidence))
    np.testing.assert_allclose(long.weights, odds / odds.sum(), rtol=1e-12)


def test_a_kernel_that_explains_the_answers_wins(double):
    """Utilities that alternate along a line: a smooth kernel forecasts them badly."""
    x = np.linspace(0, 1, 8)[:, None]
    domain = FiniteDomain(jnp.asarray(x))
    f = np.where(np.arange(8) % 2 == 0, 2.0, -2.0)
    start = adaptive_prior(domain, kernels=effects(domain, [Member(0.05, 4), Member(0.8, 4)]))
    rng = np.random.default_rng(0)
    pairs = rng.integers(8, size=(60, 2))
    history = [(i, j, float(rng.uniform() < scipy.special.expit(f[i] - f[j]))) for i, j in pairs]
    weights = np.asarray(tell(start, history).weights)
    assert weights[0] > 0.99


# ---- predictions -----------------------------------------------------------------------------


def test_predictions_are_means_over_the_members(long, singles):
    weights = np.asarray(long.weights)

    def mean(values):
        return sum(w * np.asarray(v) for w, v in zip(weights, values, strict=True))

    h = [b.difference(ALL, ALL) for b in singles]
    deviations = [np.asarray(b.deviation(ALL, ALL)) for b in singles]
    np.testing.assert_allclose(long.utility(ALL), mean(b.utility(ALL) for b in singles), atol=1e-9)
    np.testing.assert_allclose(long.difference(ALL, ALL), mean(h), atol=1e-9)
    spread = mean(d**2 + (np.asarray(x) - mean(h)) ** 2 for d, x in zip(deviations, h, strict=True))
    np.testing.assert_allclose(long.deviation(ALL, ALL) ** 2, spread, atol=1e-9)
    slopes = [scipy.special.expit(x) * scipy.special.expit(-np.asarray(x)) for x in h]
    gains = mean(np.log1p(s * d**2) for s, d in zip(slopes, deviations, strict=True))
    np.testing.assert_allclose(long.information(ALL, ALL), gains, atol=1e-9)
    forecast = np.asarray(long.preference(ALL, ALL))
    np.testing.assert_allclose(forecast + forecast.T, 1, rtol=1e-12)


def test_one_member_is_its_table(double, singles):
    domain = domain_of()
    alone = tell(
        adaptive_prior(domain, kernels=effects(domain, MEMBERS[:1]), beta=FixedBeta(0.2)), LONG
    )
    np.testing.assert_allclose(alone.difference(ALL, ALL), singles[0].difference(ALL, ALL))
    np.testing.assert_allclose(alone.deviation(ALL, ALL), singles[0].deviation(ALL, ALL))
    assert float(alone.weights[0]) == 1


def test_bounds_by_the_formula(long, singles):
    """Mean of h_k - beta sigma_k / sqrt(r + (1 - r) rho), one pair at a time."""
    weights, beta = np.asarray(long.weights), 0.65 * np.sqrt(np.log(2 + len(LONG)))
    left = [
        np.diagonal(np.asarray(b.metric.covariance)) / np.diagonal(np.asarray(b.gram))
        for b in singles
    ]
    remaining = np.minimum(sum(w * share for w, share in zip(weights, left, strict=True)), 1)
    for i in range(N):
        for j in range(N):
            h = sum(w * float(b.difference(i, j)) for w, b in zip(weights, singles, strict=True))
            sd = sum(w * float(b.deviation(i, j)) for w, b in zip(weights, singles, strict=True))
            share = max(remaining[i], remaining[j])
            width = sd / np.sqrt(share + (1 - share) * ratio(h))
            np.testing.assert_allclose(float(long.width(i, j)), width, rtol=2e-4)
            np.testing.assert_allclose(float(long.lcb(i, j)), h - beta * width, atol=1e-3)
            np.testing.assert_allclose(float(long.ucb(i, j)), h + beta * width, atol=1e-3)


def ratio(h):
    """rho of the logistic link."""
    if h == 0:
        return 1.0
    p = scipy.special.expit(h)
    divergence = scipy.special.rel_entr(p, 0.5) + scipy.special.rel_entr(1 - p, 0.5)
    return 2 * divergence / (h**2 * p * (1 - p))


def test_what_is_at_stake_by_the_formula(long, singles):
    """t L E[gain] - caution cost, one action at a time, where the bounds rule it out."""
    weights, caution, steps = np.asarray(long.weights), 0.3, len(LONG)
    belief = eqx.tree_at(lambda b: b.caution, long, jnp.asarray(caution))
    stakes = np.asarray(belief.stake(ALL, 0))
    ruled_out = np.asarray(long.ucb(ALL, 0)) < 0
    assert 0 < ruled_out.sum() < N
    for x in range(N):
        parts = [(float(b.difference(x, 0)), float(b.deviation(x, 0))) for b in singles]
        gain = sum(w * gain_of(h, sd) for w, (h, sd) in zip(weights, parts, strict=True))
        cost = (scipy.special.expit(abs(float(long.difference(x, 0)))) - 0.5) / 2
        expected = steps / 4 * gain - caution * cost if ruled_out[x] else 0
        np.testing.assert_allclose(stakes[x], expected, atol=1e-9)


def gain_of(h, sd):
    """E[max(h, 0)] times the share of the variance that an answer resolves, in NumPy."""
    if sd == 0:
        return 0.0
    normal = scipy.stats.norm
    c = np.sqrt(1 + np.pi / 8 * sd**2)
    v = sd**2 * scipy.special.expit(h / c) * scipy.special.expit(-h / c) / c
    return (h * normal.cdf(h / sd) + sd * normal.pdf(h / sd)) * v / (1 + v)


def test_a_duel_with_itself_changes_nothing_but_the_count(long):
    again = tell(long, [(2, 2, 1.0)])
    np.testing.assert_allclose(again.difference(ALL, ALL), long.difference(ALL, ALL), atol=1e-6)
    np.testing.assert_array_equal(again.evidence, long.evidence)
    assert int(again.count) == int(long.count) + 1


def test_ratings(double):
    belief = told([(0, 1.0), (1, 0.0), (0, 1.0)], "ratings")
    assert float(belief.utility(0)) > 0 > float(belief.utility(1))
    width, beta = np.asarray(belief.width(ALL)), 0.65 * np.sqrt(np.log(5))
    np.testing.assert_allclose(belief.width(ALL), mean_deviation(belief, ALL), rtol=1e-12)
    np.testing.assert_allclose(belief.ucb(ALL), belief.utility(ALL) + beta * width, rtol=1e-9)


def mean_deviation(belief, x, x2=None):
    each = eqx.filter_vmap(lambda m: m.deviation(x, x2))(belief.members)
    return np.asarray(belief.weights) @ np.asarray(each)


def test_samples_have_the_moments_of_the_mixture(long):
    draws = jax.vmap(lambda key: long.sample(key)(ALL))(jr.split(jr.key(0), 4000))
    gaps = np.asarray(draws[:, 0] - draws[:, 4])
    assert abs(gaps.mean() - float(long.difference(0, 4))) < 4 * gaps.std() / np.sqrt(4000)
    np.testing.assert_allclose(gaps.std(), float(long.deviation(0, 4)), rtol=0.06)


def test_single_precision_agrees(long):
    single = told(LONG, dtype=np.float32)
    assert single.evidence.dtype == jnp.float32
    np.testing.assert_allclose(single.lcb(ALL, ALL), long.lcb(ALL, ALL), atol=2e-3)


def test_on_a_box_it_is_what_it_is_on_a_table_of_the_same_points(long, unchecked):
    """The beliefs on points mix term by term, and compute kernel values anew."""
    with jax.enable_x64(True):
        box, x = Box([0.0, 0.0], [1.0, 1.0]), jnp.asarray(points())
        belief = adaptive_prior(box, kernels=effects(domain_of(), MEMBERS))
        for first, second, answer in LONG:
            belief = belief.tell((x[first], x[second]), answer)
        first, second = x[:, None], x[None]
        for name in ("difference", "lcb", "ucb", "width", "deviation", "preference", "information"):
            one, other = getattr(belief, name)(first, second), getattr(long, name)(ALL, ALL)
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5, err_msg=name)
        one, other = belief.stake(x, x[:1]), long.stake(ALL, 0)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
        np.testing.assert_allclose(belief.weights, long.weights, rtol=0, atol=1e-5)


def test_categories_are_equal_or_not(double):
    """The third of three is as unlike the first as the second is; numbers have distances."""
    domain = mixed_domain({"shape": Categorical(["flat", "round", "long"]), "size": Real(0.0, 8.0)})
    (kernel,) = effects(domain, [Member(0.5, 2.0, 0.25)])

    def features(shape, size):
        return domain.features(domain.action_of({"shape": shape, "size": size}))

    here = features("flat", 2.0)
    for other in ("round", "long"):
        unlike = features(other, 2.0)
        expected = 2 * (0.75 * (1 + np.exp(-1)) / 2 + 0.25 * np.exp(-1))
        assert float(kernel.evaluate(here, unlike)) == pytest.approx(expected, rel=1e-12)
        assert float(kernel.broadcast(here, unlike)) == pytest.approx(expected, rel=1e-12)
    far = np.exp(-0.5)  # half of the range is one length scale
    expected = 2 * (0.75 * (1 + far) / 2 + 0.25 * far)
    assert float(kernel.evaluate(here, features("flat", 6.0))) == pytest.approx(expected, rel=1e-9)


def test_nothing_is_traced_again_as_answers_arrive(double, monkeypatch):
    traces = 0
    plain = module._log_forecast

    def counted(*args):
        nonlocal traces
        traces += 1
        return plain(*args)

    monkeypatch.setattr(module, "_log_forecast", counted)
    domain = FiniteDomain(jnp.asarray(np.random.default_rng(1).uniform(size=(4, 3))))
    belief = adaptive_prior(domain)
    tell(belief, [(0, 1, 1.0), (1, 2, 0.0), (3, 1, 1.0)])
    assert traces == 1


# ---- the signed root -------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.06, 0.5, 1.0, 3.0, 6.0])
def test_steepness_by_likelihoods(double, h):
    """N answers with their share of yes at s(h): twice the log-likelihood ratio over h^2 I(h) N."""
    p = scipy.special.expit(h)
    against = p * np.log(p) + (1 - p) * np.log(1 - p) - np.log(0.5)
    expected = 2 * against / (h**2 * p * (1 - p))
    np.testing.assert_allclose(float(steepness(Logistic(), jnp.asarray(h))), expected, rtol=1e-9)
    np.testing.assert_allclose(float(steepness(Logistic(), jnp.asarray(-h))), expected, rtol=1e-9)


def test_steepness_of_the_probit(double):
    p = scipy.stats.norm.cdf(1.3)
    information = scipy.stats.norm.pdf(1.3) ** 2 / (p * (1 - p))
    against = p * np.log(2 * p) + (1 - p) * np.log(2 * (1 - p))
    expected = 2 * against / (1.3**2 * information)
    np.testing.assert_allclose(float(steepness(Probit(), jnp.asarray(1.3))), expected, rtol=1e-9)


def test_steepness_is_one_where_a_duel_is_even(x64):
    values = steepness(Logistic(), jnp.asarray([0.0, 1e-6, 0.049, 0.051], x64))
    np.testing.assert_allclose(values, 1, atol=5e-4)


# ---- beta and arguments ----------------------------------------------------------------------


def test_beta_grows_with_the_root_of_the_logarithm(double):
    for count in (0, 3):
        belief = told(HISTORY[:count], beta=GrowingBeta(0.8))
        assert float(belief.utility_beta) == pytest.approx(0.8 * np.sqrt(np.log(2 + count)))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"kernels": []}, ValueError, "kernels: expected at least one"),
        ({"feedback": "stars"}, ValueError, "feedback: expected one of"),
        ({"caution": -1}, ValueError, "caution: expected a number of at least 0"),
        ({"caution": np.nan}, ValueError, "caution: expected finite numbers"),
        ({"beta": 1.0}, TypeError, "beta: expected AbstractBeta"),
        ({"tolerance": 0}, ValueError, "tolerance: expected a number greater than 0"),
    ],
)
def test_bad_arguments(unchecked, settings, error, message):
    with pytest.raises(error, match=message):
        adaptive_prior(domain_of(np.float32), **settings)


def test_no_domain(unchecked):
    with pytest.raises(TypeError, match="domain: expected AbstractDomain"):
        adaptive_prior([[0.0]])


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (Member(0, 1), "length_scale: expected a number greater than 0"),
        (Member(1, -1), "variance: expected a number greater than 0"),
        (Member(1, 1, 1.5), "interaction: expected a number between 0 and 1"),
    ],
)
def test_bad_members(member, message):
    with pytest.raises(ValueError, match=message):
        effects(domain_of(np.float32), [member])


def test_bad_queries_and_answers(long):
    with pytest.raises(ValueError, match="query: expected a tuple of 2"):
        long.tell((1,), 1.0)
    with pytest.raises(ValueError, match="query: expected action numbers from 0 to 5"):
        long.tell((1, 6), 1.0)
    with pytest.raises(ValueError, match="answer: expected a number from 0 to 1"):
        long.tell((1, 2), 2.0)


def test_a_kernel_of_ones_own(double):
    kernels = [tinygp.kernels.ExpSquared(jnp.asarray(s)) for s in (0.2, 0.5)]
    belief = tell(adaptive_prior(domain_of(), kernels=kernels), HISTORY[:3])
    assert belief.weights.shape == (2,)
