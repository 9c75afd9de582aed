"""The choice between the two sets whose bounds hold with a stated probability."""

import jax
import jax.numpy as jnp
import pytest
import tinygp
from tests.belief.guaranteed_cases import DELTA, FLOAT32, SCALE, history, make, points

from duelist.belief import PrequentialBelief, TableBelief, guaranteed_prior
from duelist.domains import FiniteDomain
from duelist.links import CustomLink


def test_the_papers_set_is_the_theorem_around_the_projected_estimate(double, oracles, tell_all):
    queries, answers = history(oracles, "duels")
    belief = tell_all(make(double, confidence_set="paper"), queries, answers)
    assert isinstance(belief, TableBelief)
    assert belief.projection is not None
    lam, bound, _, kappa, lipschitz = (float(c) for c in belief.constants)
    expected = oracles.beta(lam, bound, kappa, lipschitz, float(belief.gain), DELTA)
    assert float(belief.beta) == pytest.approx(expected, rel=1e-9)
    assert lam == 1


def test_lambda_follows_the_bound_unless_given(x64):
    assert isinstance(make(x64), PrequentialBelief)
    assert float(make(x64, bound=2.0).constants.lam) == pytest.approx(10 / 4)
    assert float(make(x64, lam=0.7).constants.lam) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bound": 0.0}, ValueError, "bound: expected a number greater than 0"),
        ({"delta": 1.0}, ValueError, "delta: expected a number between 0 and 1"),
        ({"delta": 0.0}, ValueError, "delta: expected a number between 0 and 1"),
        ({"lam": -1.0}, ValueError, "lam: expected a number greater than 0"),
        ({"confidence_set": "best"}, ValueError, "confidence_set: expected one of paper, preq"),
        ({"feedback": "votes"}, ValueError, "feedback: expected one of"),
    ],
)
def test_bad_arguments_are_named(options, error, message, unchecked):
    with pytest.raises(error, match=message):
        make(FLOAT32, **options)


def prequential_with(link):
    domain = FiniteDomain(jnp.asarray(points(), jnp.float32))
    kernel = tinygp.kernels.ExpSquared(jnp.float32(SCALE))
    return guaranteed_prior(domain, kernel, bound=1.0, link=link)


def test_a_link_without_a_proof_is_refused(unchecked):
    custom = CustomLink(jax.nn.sigmoid)
    with pytest.raises(TypeError, match="link: expected Logistic or Probit, got CustomLink"):
        prequential_with(custom)
    with pytest.raises(TypeError, match="link: expected Logistic, got Probit"):
        make(FLOAT32, link="probit", confidence_set="paper")


def test_the_papers_set_wants_the_unit_kernel():
    domain = FiniteDomain(jnp.asarray(points(), jnp.float32))
    kernel = 2.0 * tinygp.kernels.ExpSquared(jnp.float32(SCALE))
    with pytest.raises(ValueError, match=r"kernel: expected k\(x, x\) <= 1 for the paper's set"):
        guaranteed_prior(domain, kernel, bound=1.0, confidence_set="paper")
    guaranteed_prior(domain, kernel, bound=1.0)


@pytest.mark.parametrize(
    ("query", "answer", "message"),
    [
        ((0,), 1, "query: expected a tuple of 2"),
        ((0, 9), 1, "query: expected action numbers from 0 to 4"),
        ((0, 1), 2.0, "answer: expected a number from 0 to 1"),
    ],
)
def test_bad_queries_and_answers_are_named(query, answer, message, unchecked):
    with pytest.raises(ValueError, match=message):
        make(FLOAT32).tell(query, answer)
