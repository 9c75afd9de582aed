"""Bad arguments of `prior` and of what it returns: one by one, named, before any work.

Without the run-time type checks of the other tests, as users call it.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp

from duelist.belief import prior
from duelist.domains import FiniteDomain

pytestmark = pytest.mark.usefixtures("unchecked")

POINTS = np.random.default_rng(0).uniform(size=(4, 2))


def make_prior(**changed):
    arguments = {
        "domain": FiniteDomain(jnp.asarray(POINTS, jnp.float32)),
        "kernel": tinygp.kernels.ExpSquared(jnp.float32(0.4)),
    }
    return prior(**(arguments | changed))


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("domain", POINTS, "domain: expected FiniteDomain, got ndarray"),
        ("domain", None, "domain: expected FiniteDomain, got NoneType"),
        ("kernel", "rbf", "kernel: expected Kernel, got str"),
        ("kernel", tinygp.kernels.ExpSquared, "kernel: expected Kernel"),
        ("link", "logistic", "link: expected AbstractLink, got str"),
        ("beta", 1.0, "beta: expected AbstractBeta, got float"),
        ("lam", "1", "lam: expected numbers, got str"),
        ("lam", True, "lam: expected real numbers"),
        ("bound", None, "bound: expected"),
        ("bound", 1j, "bound: expected real numbers"),
        ("tolerance", "small", "tolerance: expected numbers, got str"),
    ],
)
def test_the_wrong_kind(argument, value, message):
    with pytest.raises(TypeError, match=message):
        make_prior(**{argument: value})


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, [1.0, 2.0]])
@pytest.mark.parametrize("argument", ["lam", "bound", "tolerance"])
def test_numbers_out_of_range(argument, value):
    with pytest.raises(ValueError, match=f"{argument}: expected"):
        make_prior(**{argument: value})


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("feedback", "duel", "feedback: expected one of duels, ratings, got 'duel'"),
        ("width", "bayes", "width: expected one of laplace, worst-case, got 'bayes'"),
        ("space", "log", "space: expected one of probability, utility, got 'log'"),
        ("range_rule", "all", "range_rule: expected one of domain, general, nonnegative"),
        ("lam", 1e-9, "lam: expected at least 6.4e-06 in float32, got 1e-09"),
    ],
)
def test_choices(argument, value, message):
    with pytest.raises(ValueError, match=message):
        make_prior(**{argument: value})


def test_a_kernel_that_gives_nan():
    kernel = tinygp.kernels.ExpSquared(jnp.float32(np.nan))
    with pytest.raises(ValueError, match="kernel: expected finite numbers, got 16"):
        make_prior(kernel=kernel)


@pytest.fixture(scope="module", params=["duels", "ratings"])
def begin(request):
    return make_prior(feedback=request.param), (0, 1) if request.param == "duels" else (0,)


@pytest.mark.parametrize("answer", [-0.1, 1.1, 2, -1, np.nan, np.inf, [1.0], [0, 1]])
def test_answers_out_of_range(begin, answer):
    belief, query = begin
    with pytest.raises(ValueError, match="answer: expected"):
        belief.tell(query, answer)


@pytest.mark.parametrize("answer", ["yes", None, 1j])
def test_answers_of_the_wrong_kind(begin, answer):
    belief, query = begin
    with pytest.raises(TypeError, match="answer: expected"):
        belief.tell(query, answer)


@pytest.mark.parametrize("action", [4, -1, 1000])
def test_actions_out_of_range(begin, action):
    belief, query = begin
    with pytest.raises(
        ValueError, match=f"query: expected action numbers from 0 to 3, got {action}"
    ):
        belief.tell((*query[:-1], action), 1)


@pytest.mark.parametrize("action", [1.0, "1", None, True])
def test_actions_of_the_wrong_kind(begin, action):
    belief, query = begin
    with pytest.raises(TypeError, match="query: expected"):
        belief.tell((*query[:-1], action), 1)


@pytest.mark.parametrize("length", [0, 3])
def test_queries_of_another_length(begin, length):
    belief, query = begin
    with pytest.raises(ValueError, match=f"query: expected a tuple of {len(query)} action"):
        belief.tell((0,) * length, 1)


def test_a_rating_is_no_duel_and_a_duel_no_rating(begin):
    belief, query = begin
    other = (0,) if len(query) == 2 else (0, 1)
    with pytest.raises(ValueError, match=f"query: expected a tuple of {len(query)} action"):
        belief.tell(other, 1)


def test_true_false_and_integers_are_answers(begin):
    belief, query = begin
    told = eqx.filter_jit(lambda answer: belief.tell(query, answer).preference(*query))
    for answer, likes in [(True, True), (False, False), (1, True)]:
        assert (float(told(answer)) > 0.5) == likes
