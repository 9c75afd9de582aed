"""The belief on the points compared against tables, dense formulas and quadrature.

On twenty actions the points are a subset of a table's, so that `TableBelief` is an oracle for
everything; largest difference measured after 60 answers in float64: 1.5e-13.
"""

import dataclasses
import itertools
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.integrate
import tinygp

from duelist.belief import TheoremBeta, point_prior, prior
from duelist.domains import ALL, FiniteDomain
from duelist.environments import TableEnvironment
from duelist.links import Logistic, Probit
from duelist.policies import MaxMinLCB, Sparring
from duelist.simulation import simulate

N, LAM, BOUND, SCALE = 20, 0.5, 1.5, 0.3
OPTIONS = {"lam": LAM, "bound": BOUND, "beta": TheoremBeta(0.05)}
LINKS = {"logistic": Logistic(), "probit": Probit()}
PREDICTIONS = (
    "utility", "difference", "preference", "width", "variance", "laplace_variance", "deviation",
    "information", "lcb", "ucb",
)  # fmt: skip


class Rows(FiniteDomain):
    """Actions that are their own features, as those of a box are."""

    @property
    def size(self):
        return None

    def as_action(self, name, value):
        return jnp.asarray(value)

    def features(self, action):
        return action


def points_of(n=N, dtype=np.float64):
    return np.random.default_rng(0).uniform(size=(n, 2)).astype(dtype)


def make(kind, domain, feedback="duels", scale=SCALE, **options):
    kernel = tinygp.kernels.ExpSquared(scale)
    places = {"capacity": 16} if kind is point_prior else {}
    return kind(domain, kernel, feedback, **(OPTIONS | places | options))


def predict(belief, name, *actions):
    """A prediction by one compiled program; slices cannot be passed to it before Python 3.12."""
    return _predict(belief, name, [None if isinstance(x, slice) else x for x in actions])


@eqx.filter_jit
def _predict(belief, name, actions):
    return getattr(belief, name)(*(ALL if x is None else x for x in actions))


def history(count, arity=2, n=N, seed=0):
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, n, (count, arity)).astype(np.int32)
    h = np.linspace(-1, 1, n)[queries] @ [1, -1][:arity]
    return queries, (rng.uniform(size=count) < 1 / (1 + np.exp(-3 * h))).astype(float)


def told(belief, queries, answers):
    """One answer after the other, as callers do; places are added when they run out."""
    for query, answer in zip(queries, answers, strict=True):
        belief = belief.tell(tuple(query), jnp.asarray(answer, belief.gram.dtype))
    return belief


@eqx.filter_jit
def told_in_one(belief, queries, answers):
    def step(belief, pair):
        query, answer = pair
        return belief.tell(tuple(query), answer), None

    arrays, rest = eqx.partition(belief, eqx.is_array)

    def body(arrays, pair):
        belief, _ = step(eqx.combine(arrays, rest), pair)
        return eqx.filter(belief, eqx.is_array), None

    arrays, _ = jax.lax.scan(body, arrays, (queries, answers))
    return eqx.combine(arrays, rest)


@pytest.fixture(
    scope="module",
    params=[("duels", "probit"), ("ratings", "logistic")],
    ids="-".join,
)
def pair(request):
    """Both beliefs after the same sixty answers, some of them on an action against itself."""
    feedback, link = request.param
    arity = 2 if feedback == "duels" else 1
    queries, answers = history(60, arity)
    assert arity == 1 or np.any(queries[:, 0] == queries[:, 1])
    options = {"link": LINKS[link], "tolerance": 1e-12}
    with jax.enable_x64(True):
        domain = FiniteDomain(points_of())
        begin = make(prior, domain, feedback, **options)
        table = told_in_one(begin, queries, answers)
        points = told(make(point_prior, domain, feedback, **options), queries, answers)
        yield table, points, arity


# ---- the same as a table ---------------------------------------------------------------------


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predicts_what_a_table_predicts(pair, name):
    table, points, arity = pair
    actions = (ALL,) * (1 if name == "utility" else arity)
    expected = predict(table, name, *actions)
    np.testing.assert_allclose(predict(points, name, *actions), expected, rtol=0, atol=1e-8)


def test_knows_what_a_table_knows(pair):
    table, points, _ = pair
    assert int(points.count) == int(table.count) == 60
    assert bool(points.fit.converged)
    assert int(points.fit.steps) == int(table.fit.steps)
    for name in ("gain", "beta", "utility_beta", "level"):
        assert float(getattr(points, name)) == pytest.approx(float(getattr(table, name)), abs=1e-8)
    for name in ("objective", "norm"):
        expected = float(getattr(table, name)())
        assert float(getattr(points, name)()) == pytest.approx(expected, abs=1e-8)
    assert jax.tree.map(float, points.constants) == jax.tree.map(float, table.constants)


def test_keeps_every_point_once_and_the_rest_empty(pair):
    _, points, arity = pair
    m, queries = int(points.number), history(60, arity)[0]
    asked = queries[queries[:, 0] != queries[:, -1]] if arity == 2 else queries
    assert m == len(np.unique(asked))
    assert points.capacity == 32
    kept = np.asarray(points.points)
    assert len(np.unique(kept[:m], axis=0)) == m
    for table in (points.gram, points.explained, points.metric.explained):
        assert not np.any(np.asarray(table)[m:])
        np.testing.assert_array_equal(table, np.asarray(table).T)
    assert not np.any(kept[m:])
    assert not np.any(np.asarray(points.fit.w)[m:])


def test_utility_space_and_laplace_widths(pair):
    table, points, arity = pair
    actions = (ALL,) * arity
    for change in ({"space": "utility"}, {"width_rule": "laplace"}):
        one, other = (dataclasses.replace(belief, **change) for belief in (table, points))
        expected = predict(one, "lcb", *actions)
        np.testing.assert_allclose(predict(other, "lcb", *actions), expected, rtol=0, atol=1e-8)


def test_leading_axes_broadcast(pair):
    table, points, arity = pair
    if arity == 1:
        pytest.skip("about pairs")
    rows, columns = jnp.arange(7)[:, None], jnp.arange(3, 12)[None, :]
    for name in ("difference", "variance"):
        every = np.asarray(predict(table, name, ALL, ALL))
        ours = partial(predict, points, name)
        np.testing.assert_allclose(ours(rows, columns), every[:7, 3:12], rtol=0, atol=1e-8)
        np.testing.assert_allclose(ours(ALL, jnp.int32(4)), every[:, 4], rtol=0, atol=1e-8)
        np.testing.assert_allclose(ours(jnp.int32(4), ALL), every[4], rtol=0, atol=1e-8)
        many = ours(jnp.arange(5), jnp.arange(5, 10))
        np.testing.assert_allclose(many, every[range(5), range(5, 10)], rtol=0, atol=1e-8)


def test_an_action_against_itself_or_its_twin_is_known(x64):
    domain = FiniteDomain(np.repeat(points_of(N // 2, x64), 2, axis=0))
    belief = told(make(point_prior, domain), *history(5))
    twins = np.kron(np.eye(N // 2), np.ones((2, 2))) > 0
    assert not np.any(np.asarray(predict(belief, "width", ALL, ALL))[twins])
    level = np.asarray(predict(belief, "lcb", ALL, ALL))[twins]
    np.testing.assert_array_equal(level, x64.type(0.5))


def test_a_duel_of_an_action_with_itself_teaches_nothing():
    domain = FiniteDomain(points_of())
    before = told(make(point_prior, domain), *history(5))
    after = before.tell((19, 19), 1)
    changed = dataclasses.replace(
        after, count=before.count, fit=dataclasses.replace(after.fit, steps=before.fit.steps)
    )
    assert eqx.tree_equal(changed, before)
    assert int(after.count) == 6


# ---- many answers ----------------------------------------------------------------------------


def test_no_drift(x64, oracles):
    """After 400 answers, 300 of them after the first refresh, against the whole history."""
    queries, answers = history(400)
    belief = told_in_one(
        make(point_prior, FiniteDomain(points_of(dtype=x64)), capacity=N),
        queries,
        answers.astype(x64),
    )
    kappa = 1 / oracles.Logistic.slope(2 * BOUND)
    gram = oracles.rbf(SCALE)(points_of(), points_of())
    dense = oracles.Posterior(gram, [tuple(q) for q in queries], answers, LAM, kappa)
    atol = {"float32": 1e-4, "float64": 1e-6}[x64.name]
    centred = belief.utility(ALL) - jnp.mean(belief.utility(ALL))
    np.testing.assert_allclose(centred, dense.f - dense.f.mean(), rtol=0, atol=atol)
    np.testing.assert_allclose(belief.width(ALL, ALL), dense.widths(), rtol=0, atol=atol)
    assert float(belief.gain) == pytest.approx(dense.gain(), abs=atol)


def test_compiles_once_for_each_number_of_places():
    traces = []

    class Counted(tinygp.kernels.ExpSquared):
        def evaluate(self, X1, X2):
            traces.append(1)
            return super().evaluate(X1, X2)

    domain = FiniteDomain(points_of(32, np.float32))
    belief = point_prior(domain, Counted(jnp.float32(SCALE)), capacity=16, **OPTIONS)
    seen = {}
    for query, answer in zip(*history(40, n=32), strict=True):
        before = len(traces)
        belief = belief.tell(tuple(query), answer)
        seen.setdefault(belief.capacity, []).append(len(traces) - before)
    assert list(seen) == [16, 32]
    for counts in seen.values():
        assert counts[0] > 0
        assert not any(counts[1:])


def test_without_places_left_a_compiled_loop_raises():
    queries, answers = history(8)
    belief = make(point_prior, FiniteDomain(points_of(dtype=np.float32)), capacity=4)
    with pytest.raises(eqx.EquinoxRuntimeError, match="reserve"):
        jax.block_until_ready(told_in_one(belief, queries, answers.astype(np.float32)).gain)
    enough = told_in_one(belief.with_room(8), queries, answers.astype(np.float32))
    one_by_one = told(belief, queries, answers)
    np.testing.assert_allclose(enough.utility(ALL), one_by_one.utility(ALL), atol=1e-5)


def test_simulates_as_a_table_does():
    with jax.enable_x64(True):
        domain = FiniteDomain(points_of())
        judge = TableEnvironment(domain, np.linspace(-1, 1, N))
        runs = [
            simulate(MaxMinLCB(domain, make(kind, domain, **options)), judge, horizon=30, seeds=2)
            for kind, options in ((prior, {}), (point_prior, {"capacity": 2}))
        ]
        np.testing.assert_array_equal(runs[0].queries, runs[1].queries)
        np.testing.assert_array_equal(runs[0].recommended, runs[1].recommended)


def test_the_players_of_sparring_grow_apart():
    domain = FiniteDomain(points_of(dtype=np.float32))
    policy = Sparring(domain, make(point_prior, domain, "ratings", capacity=1))
    state = policy.init(jr.key(0))
    for query, answer in (((0, 1), 1), ((2, 2), 1), ((1, 3), 0), ((4, 0), 1)):
        state = policy.tell(state, query, answer)
    assert [int(player.count) for player in state] == [4, 4]
    assert [int(player.number) for player in state] == [3, 3]


# ---- kernels whose parameters are arrays -----------------------------------------------------


def test_beliefs_stack_over_kernels():
    scales = jnp.asarray([0.1, 0.3, 1.0], jnp.float32)
    domain = FiniteDomain(points_of(dtype=np.float32))
    queries, answers = history(12)
    answers = answers.astype(np.float32)

    def run(scale):
        belief = make(point_prior, domain, scale=scale)
        return told_in_one(belief, queries, answers)

    stacked = eqx.filter_jit(eqx.filter_vmap(run))(scales)
    grown = stacked.reserve(20)
    assert grown.gram.shape == (3, 32, 32)
    evidence = eqx.filter_jit(eqx.filter_vmap(lambda b: (b.log_evidence(), b.width(ALL, ALL))))
    for k, scale in enumerate(scales):
        alone = run(scale)
        for each in (stacked, grown):
            value, width = evidence(each)
            assert float(value[k]) == pytest.approx(float(alone.log_evidence()), abs=1e-4)
            np.testing.assert_allclose(width[k], alone.width(ALL, ALL), atol=1e-4)


def prior_density(f, precision):
    """Of N(0, precision^-1)."""
    scale = np.sqrt(np.linalg.det(precision / (2 * np.pi)))
    return scale * np.exp(-f @ precision @ f / 2)


def test_the_evidence_of_one_point_by_quadrature(double):
    """Two likes and a dislike with lambda = 5; by hand Laplace's method is 1.3e-3 off."""
    begin = make(point_prior, FiniteDomain(points_of()), "ratings", lam=5.0)
    assert float(begin.log_evidence()) == 0
    belief = told(begin, [(0,)] * 3, [1.0, 1.0, 0.0])

    def integrand(f):
        likelihood = 1 / (1 + np.exp(-f)) ** 2 / (1 + np.exp(f))
        return prior_density(np.array([f]), np.array([[5.0]])) * likelihood

    exact, _ = scipy.integrate.quad(integrand, -8, 8)
    assert float(belief.log_evidence()) == pytest.approx(np.log(exact), abs=2e-3)


def test_the_evidence_of_two_points_by_quadrature(double, oracles):
    """lambda = 20, so that the integrand is nearly normal."""
    begin = make(point_prior, FiniteDomain(points_of()), "ratings", lam=20.0)
    belief = told(begin, [(0,), (0,), (1,)], [1.0, 1.0, 0.0])
    precision = 20 * np.linalg.inv(oracles.rbf(SCALE)(points_of()[:2], points_of()[:2]))

    def integrand(b, a):
        likelihood = 1 / (1 + np.exp(-a)) ** 2 / (1 + np.exp(b))
        return prior_density(np.array([a, b]), precision) * likelihood

    exact, _ = scipy.integrate.dblquad(integrand, -2, 2, -2, 2)
    assert float(belief.log_evidence()) == pytest.approx(np.log(exact), abs=5e-4)


def test_laplaces_evidence_by_its_formula(pair, oracles):
    """log p(y|f) + log N(f; 0, K/lambda) + log of the normal integral around f, by NumPy."""
    _, points, _ = pair
    m = int(points.number)
    gram, w, f = (np.asarray(x) for x in (points.gram, points.fit.w, points.fit.f))
    hessian = np.asarray(points.answers.hessian(points.link, points.fit.f))[:m, :m]
    loss = float(points.answers.loss(points.link, points.fit.f))
    sign, log_det = np.linalg.slogdet(np.eye(m) + gram[:m, :m] @ hessian / LAM)
    expected = -loss - LAM / 2 * w @ f - log_det / 2
    assert sign > 0
    assert float(points.log_evidence()) == pytest.approx(expected, abs=1e-9)


# ---- draws and derivatives -------------------------------------------------------------------


def test_draws_have_the_mean_and_the_covariance_of_the_posterior(pair):
    _, points, _ = pair
    keys = jr.split(jr.key(1), 4000)

    @eqx.filter_jit
    def draw(points, keys, support):
        return jax.vmap(lambda key: points.sample(key, support)(jnp.arange(6)))(keys)

    exact, near = (np.asarray(draw(points, keys, support)) for support in (N, 5))
    asked = {tuple(p) for p in np.asarray(points.points).tolist()}
    compared = [tuple(p) in asked for p in points_of()[:6].tolist()]
    mean = np.asarray(points.utility(jnp.arange(6)))
    variance = np.asarray(points.laplace_variance(jnp.arange(6))) / LAM
    differences = np.asarray(points.deviation(jnp.arange(6)[:, None], jnp.arange(6)[None, :]))
    for draws, kept in ((exact, slice(None)), (near, np.array(compared))):
        error = 5 * np.sqrt(variance / len(keys))
        assert np.all(np.abs(draws.mean(axis=0) - mean)[kept] < error[kept])
        np.testing.assert_allclose(draws.var(axis=0)[kept], variance[kept], rtol=0.15)
        spread = (draws[:, :, None] - draws[:, None, :]).std(axis=0)
        np.testing.assert_allclose(spread[kept][:, kept], differences[kept][:, kept], rtol=0.1)
    assert np.all(near.var(axis=0) <= 1.15 * variance)


def test_bounds_have_derivatives_also_where_both_actions_meet(double):
    """As an action's own features move: against differences, and zero width at the same point."""
    base = make(point_prior, FiniteDomain(points_of()))
    belief = told(base, *history(6))
    free = dataclasses.replace(belief, domain=Rows(points_of()))
    x, y, step = jnp.array([0.3, 0.4]), jnp.array([0.6, 0.1]), 1e-6
    gradient = jax.jit(jax.grad(free.lcb))
    lcb = partial(predict, free, "lcb")
    for k, unit in enumerate(np.eye(2)):
        rise = float(lcb(x + step * unit, y) - lcb(x - step * unit, y)) / (2 * step)
        assert float(gradient(x, y)[k]) == pytest.approx(rise, abs=1e-6)
    assert np.all(np.isfinite(gradient(x, x)))
    assert float(predict(free, "width", x, x)) == 0


# ---- arguments -------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("error", "changed", "message"),
    [
        (TypeError, {"domain": 3}, "domain: expected AbstractDomain, got int"),
        (TypeError, {"kernel": "rbf"}, "kernel: expected Kernel, got str"),
        (TypeError, {"capacity": 2.5}, "capacity: expected an integer"),
        (ValueError, {"capacity": 0}, "capacity: expected at least 1"),
        (ValueError, {"feedback": "duel"}, "feedback: expected one of duels, ratings"),
        (ValueError, {"lam": -1.0}, "lam: expected a number greater than 0"),
        (ValueError, {"range_rule": "all"}, "range_rule: expected one of"),
        (TypeError, {"beta": 1.0}, "beta: expected AbstractBeta"),
    ],
)
def test_refuses_bad_arguments(error, changed, message):
    arguments = {
        "domain": FiniteDomain(points_of(dtype=np.float32)),
        "kernel": tinygp.kernels.ExpSquared(0.3),
    }
    with pytest.raises(error, match=message):
        point_prior(**(arguments | changed))


@pytest.mark.usefixtures("unchecked")
def test_refuses_bad_queries_and_answers():
    belief = make(point_prior, FiniteDomain(points_of(dtype=np.float32)))
    for query, answer, message in (
        ((1,), 1, "query: expected a tuple of 2"),
        ((1, N), 1, f"query: expected action numbers from 0 to {N - 1}, got {N}"),
        ((0, 1), 2, "answer: expected a number from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            belief.tell(query, answer)


def test_kappa_of_large_domains_comes_from_the_largest_kernel_value():
    """k(x, x) = x^2 + 1 is largest at the end, beyond the table of the first 1024 actions."""
    domain = FiniteDomain(np.linspace(0, 2, 2000, dtype=np.float32)[:, None])
    kernel = tinygp.kernels.DotProduct() + tinygp.kernels.Constant(1.0)
    expected = {"general": 2 * np.sqrt(5), "nonnegative": np.sqrt(2) * np.sqrt(5)}
    for rule, radius in expected.items():
        belief = point_prior(domain, kernel, range_rule=rule)
        assert float(belief.constants.radius) == pytest.approx(radius, rel=1e-6)
    with pytest.raises(ValueError, match="range_rule: expected 'general' or 'nonnegative' for"):
        point_prior(domain, kernel, range_rule="domain")
    few = FiniteDomain(domain.points[::100])
    for rule, feedback in itertools.product(("general", "domain"), ("duels", "ratings")):
        one, other = (kind(few, kernel, feedback, range_rule=rule) for kind in (prior, point_prior))
        assert float(one.constants.kappa) == float(other.constants.kappa)
