"""RUCB against its pseudo-code: a uniform reference from M_t, its most optimistic challenger."""

import numpy as np
import pytest
import scipy.stats
from tests.policies import cases

from duelist.policies import RUCB

pytestmark = pytest.mark.usefixtures("x64_mode")


def test_challenger_is_the_optimistic_plausible_action(many):
    domain, posteriors = many
    chosen = cases.asks(RUCB(domain, posteriors.beliefs), posteriors.beliefs)
    for (challenger, reference), (_, ucb, _) in zip(chosen, posteriors.tables(), strict=True):
        members = cases.plausible_set(ucb)
        assert reference in members
        assert challenger == max(members, key=lambda x, u=ucb, r=reference: u[x, r])


def test_reference_is_uniform_on_the_plausible_set(x64_mode):
    """Of four actions M_t holds three, so a reference drawn from all of them would be noticed."""
    domain = cases.domain_of(4)
    f, covariance = np.array([1.0, 0.9, 0.8, -2.0]), np.diag([0.01, 0.02, 0.03, 0.04])
    members = cases.plausible_set(cases.table(f, covariance, 1.0)[1])
    state = cases.one(domain, f, covariance)
    references = cases.asks_often(RUCB(domain, state), state, 3000)[:, 1]
    counts = np.bincount(references, minlength=4)
    assert members == [0, 1, 2]
    assert counts[3] == 0
    assert scipy.stats.chisquare(counts[:3]).pvalue > 1e-3
