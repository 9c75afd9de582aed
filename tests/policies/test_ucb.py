"""UCB on direct feedback: argmax of s(f) + beta sigma, or of f + (beta/L) sigma."""

import numpy as np
import pytest
from tests.policies import cases

from duelist.policies import UCB

pytestmark = pytest.mark.usefixtures("x64_mode")


@pytest.mark.parametrize("space", ["probability", "utility"])
def test_asks_the_most_optimistic_action(x64_mode, space):
    domain = cases.domain_of()
    posteriors = cases.posteriors(domain, 60, 5, "ratings", space)
    estimate, scale = (cases.s, 1) if space == "probability" else (lambda h: h, 4)
    expected = []
    for f, covariance, beta in zip(
        posteriors.f, posteriors.covariance, posteriors.beta, strict=True
    ):
        bounds = [estimate(f[x]) + scale * beta * np.sqrt(covariance[x, x]) for x in range(cases.N)]
        expected.append((int(np.argmax(bounds)),))
    chosen = cases.asks(UCB(domain, posteriors.beliefs), posteriors.beliefs)
    assert [tuple(query) for query in chosen] == expected
    assert len(set(expected)) == cases.N
