"""MaxMinLCB, the paper's algorithm, and its mirror game."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import PRNGKeyArray

from duelist._checks import check_instance
from duelist.belief import AbstractUtilityBelief
from duelist.domains import AbstractDomain
from duelist.policies._base import AbstractBeliefPolicy, Query, guided
from duelist.policies._plausible import plausible


class MaxMinLCB(AbstractBeliefPolicy):
    """Algorithm maxmin: the equilibrium of the Stackelberg game on the lower confidence bound.

    x_t = argmax_x LCB(x, x'(x)) with x'(x) = argmin_x' LCB(x, x'), and x'_t = x'(x_t).

    Neither the leader against itself nor two actions that are nearly as good ever teach anything
    about an action that the bounds rule out. A belief with doubts is therefore asked for a rival
    among those, which takes the follower's place where there is more to gain than to lose
    (`AdaptiveBelief.stake`, docs/defaults.md); the beliefs of the paper have none.

    Args:
        domain: where the actions live.
        belief: the belief before any answer.
        restrict: whether both players choose from M_t only, as the theorem wants; the experiments
            of the paper run without.
    """

    domain: AbstractDomain
    belief: AbstractUtilityBelief
    restrict: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_instance("restrict", self.restrict, bool)

    def ask(self, state: AbstractUtilityBelief, key: PRNGKeyArray) -> Query:
        """Leader and follower."""
        domain = guided(self.domain, state)
        within: Any = plausible(domain, state).members if self.restrict else None
        leader, follower = domain.maxmin(state.lcb, key, within)
        if not state.doubts:
            return leader, follower
        rival_key = jr.fold_in(key, 1)
        rival = domain.argmax(lambda x: state.stake(x, leader), rival_key, within)
        return leader, jnp.where(state.stake(rival, leader) > 0, rival, follower)


class MaxMinUCB(AbstractBeliefPolicy):
    """The game of optimists: x_t = argmax_x min_{x' != x} UCB(x, x').

    The leader is as good as it may be, the follower the rival it is least likely to beat. The
    follower must differ from the leader: UCB(x, x) = 1/2 would else be the value of every x in
    M_t, and all duels would be of an action with itself. (The other reading of the mirror,
    min_x' max_x UCB(x, x'), is MaxMinLCB with the roles swapped, since
    UCB(x, x') = 1 - LCB(x', x).)
    """

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def ask(self, state: AbstractUtilityBelief, key: PRNGKeyArray) -> Query:
        """Leader and follower."""
        return guided(self.domain, state).maxmin(state.ucb, key, distinct=True)
