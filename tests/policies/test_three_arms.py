"""One step on three arms, by hand: the situation of the paper's Figure action_selection.

Arms 1, 2, 3 of the paper are 0, 1, 2 here. The centre is f = (0, -ln(11/9), -ln 3), the widths are
sigma(0, 1) = .1, sigma(0, 2) = .28, sigma(1, 2) = .3, beta = 1. With s(ln(11/9)) = 11/20 = .55,
s(ln 3) = 3/4 and s(ln(27/11)) = 27/38 = .7105:

    LCB(x, x')                      UCB(x, x')
       x'  0      1       2            x'  0      1       2
    x                               x
    0     .5     .45     .47        0     .5     .65    1.03
    1     .35    .5      .4105      1     .55    .5     1.0105
    2    -.03   -.0105   .5         2     .53    .5895   .5

- The least of each row of LCB is .45, .35, -.03: MaxMinLCB leads with 0, its follower is 1.
- No UCB is below .5, so M_t holds all arms and restricting changes nothing.
- Optimism over pairs takes the largest UCB, 1.03 at (0, 2).
- MaxInP takes the largest width, .3 between 1 and 2.
- The optimistic challenger of 0 is 1 (.55 against .53), that of 1 is 0, that of 2 is 0 (1.03
  against 1.0105): RUCB asks (1, 0), (0, 1) or (0, 2), MultiSBM the same the other way round.
- MaxMinUCB: without itself the least of each row of UCB is .65, .55, .53: 0 against 1.
- If the centre is the truth, the dueling regret of (0, 1) is (0 + .05)/2 = .025, that of (0, 2) is
  (0 + .25)/2 = .125 and that of (1, 2) is (.05 + .25)/2 = .15.

IDS with lambda kappa = 1 and L = 1/4, so that its coefficient is 4: the greedy arm is 0; u is the
larger of -ln(11/9) + 4 (.1) = .19933 (arm 1) and -ln 3 + 4 (.28) = .02139 (arm 2). For arm 1
h(0, 1) = .20067 exceeds u, so p = u/h = .99332 and the ratio is 4 (.19933)(.20067)/ln 1.01 = 16.08.
For arm 2 h(0, 2) = 1.09861, so p = .18144 and the ratio is 4 (.19933)(1.09861)/ln 1.0784 = 11.605.
It asks (0, 2) with probability .18144, else (0, 0).
"""

import dataclasses
import math

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from tests.policies import cases

from duelist.domains import ALL
from duelist.environments import TableEnvironment
from duelist.policies import IDS, RUCB, MaxInP, MaxMinLCB, MaxMinUCB, MultiSBM
from duelist.policies._ids import information_ratio
from duelist.policies._multisbm import MultiSBMState
from duelist.simulation import regret

F = [0.0, -math.log(11 / 9), -math.log(3)]
LCB = [[0.5, 0.45, 0.47], [0.35, 0.5, 27 / 38 - 0.3], [-0.03, 11 / 38 - 0.3, 0.5]]
UCB = [[0.5, 0.65, 1.03], [0.55, 0.5, 27 / 38 + 0.3], [0.53, 11 / 38 + 0.3, 0.5]]

pytestmark = pytest.mark.usefixtures("x64_mode")


@pytest.fixture(scope="module")
def domain(x64_mode):
    return cases.domain_of(3)


@pytest.fixture(scope="module")
def state(domain):
    made = cases.state_of(domain, F, widths=[0.1, 0.28, 0.3], beta=1.0)
    unit_noise = made.constants._replace(lam=jnp.asarray(1.0), kappa=jnp.asarray(1.0))
    return dataclasses.replace(made, constants=unit_noise)


def test_the_bounds_are_those_of_the_table(state):
    np.testing.assert_allclose(state.lcb(ALL, ALL), LCB, atol=1e-12)
    np.testing.assert_allclose(state.ucb(ALL, ALL), UCB, atol=1e-12)


def test_maxminlcb_asks_the_two_good_arms(domain, state):
    assert cases.ask(MaxMinLCB(domain, state), state) == (0, 1)
    assert cases.ask(MaxMinLCB(domain, state, restrict=True), state) == (0, 1)


def test_optimism_over_pairs_asks_a_bad_arm(domain, state):
    pair = domain.argmax_pair(state.ucb, jr.key(0))
    assert tuple(map(int, pair)) == (0, 2)


def test_maxinp_asks_the_worst_pair(domain, state):
    assert cases.unordered([cases.ask(MaxInP(domain, state), state)]) == [(1, 2)]


def test_maxminucb_asks_the_two_good_arms(domain, state):
    assert cases.ask(MaxMinUCB(domain, state), state) == (0, 1)


def test_rucb_asks_an_arm_against_its_optimistic_challenger(domain, state):
    asked = {tuple(pair) for pair in cases.asks_often(RUCB(domain, state), state, 100).tolist()}
    assert asked == {(1, 0), (0, 1), (0, 2)}


@pytest.mark.parametrize(("last", "challenger"), [(0, 1), (1, 0), (2, 0)])
def test_multisbm_asks_the_last_arm_against_its_optimistic_challenger(
    domain, state, last, challenger
):
    policy = MultiSBM(domain, state)
    assert cases.ask(policy, MultiSBMState(state, jnp.int32(last))) == (last, challenger)


def test_ids_prefers_the_informative_arm_with_its_probability(domain, state):
    asked = cases.asks_often(IDS(domain, state), state, 4000)
    explored = int(np.sum(asked[:, 1] == 2))
    assert np.all(asked[:, 0] == 0)
    assert np.all((asked[:, 1] == 0) | (asked[:, 1] == 2))
    assert scipy.stats.binomtest(explored, 4000, 0.18144).pvalue > 1e-3


@pytest.mark.parametrize(
    ("arm", "ratio"),
    [(1, 4 * 0.19933 * 0.20067 / math.log(1.01)), (2, 4 * 0.19933 * 1.09861 / math.log(1.0784))],
)
def test_the_information_ratios_are_those_of_the_hand(state, arm, ratio):
    u = jnp.asarray(0.4 - math.log(11 / 9))
    made = information_ratio(u, state.difference(0, arm), state.information(0, arm))
    assert float(made) == pytest.approx(ratio, rel=1e-4)


@pytest.mark.parametrize(("query", "loss"), [((0, 1), 0.025), ((0, 2), 0.125), ((1, 2), 0.15)])
def test_the_pair_of_maxminlcb_costs_least_regret(domain, query, loss):
    judge = TableEnvironment(domain, F)
    assert float(regret(judge, query, 0).dueling) == pytest.approx(loss, abs=1e-12)
