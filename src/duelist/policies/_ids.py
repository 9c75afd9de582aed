"""Information-directed sampling with preference feedback."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from duelist.belief import AbstractUtilityBelief
from duelist.domains import AbstractDomain, Action
from duelist.policies._base import AbstractBeliefPolicy, Query, guided


class IDS(AbstractBeliefPolicy):
    """Algorithm kernel_ids: a greedy action against the one with the best regret per information.

    With x1 = argmax f_t, u = max_x h_t(x, x1) + (beta_t/L) sigma_t(x, x1) and the estimated gap
    Delta(x) = u + h_t(x1, x), it minimises over x and p
    ((1 - p) u + p Delta(x))^2 / (p log(1 + sigma_t(x1, x)^2 / (lambda kappa)))
    and asks (x1, x) with probability p, (x1, x1) otherwise. For a given x the minimum is at
    p = min(1, u / (Delta(x) - u)), so nothing is searched over p.
    """

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def ask(self, state: AbstractUtilityBelief, key: PRNGKeyArray) -> Query:
        """The greedy action, and with probability p the informative one, else itself again."""
        greedy_key, optimist_key, informative_key, draw_key = jr.split(key, 4)
        domain = guided(self.domain, state)
        greedy = domain.argmax(state.utility, greedy_key)

        def optimism(x: Action) -> Float[Array, "..."]:
            return state.difference(x, greedy) + state.utility_beta * state.width(x, greedy)

        u = optimism(domain.argmax(optimism, optimist_key))

        def ratio(x: Action) -> Float[Array, "..."]:
            return information_ratio(u, state.difference(greedy, x), state.information(greedy, x))

        informative = domain.argmax(lambda x: -ratio(x), informative_key)
        excess = state.difference(greedy, informative)
        p = jnp.where(excess > u, u / jnp.where(excess > u, excess, 1), 1)
        explores = jr.uniform(draw_key, dtype=p.dtype) < p
        return greedy, jnp.where(explores, informative, greedy)


def information_ratio(
    u: Float[Array, ""], excess: Float[Array, "..."], information: Float[Array, "..."]
) -> Float[Array, "..."]:
    """min over p of (u + p excess)^2 / (p information), where excess = Delta(x) - u >= 0.

    At p = u/excess it is 4 u excess / information, where that p is below one, and
    (u + excess)^2 / information at p = 1 elsewhere. Infinite where there is nothing to learn.
    """
    regret = jnp.where(excess > u, 4 * u * excess, (u + excess) ** 2)
    known = information <= 0
    return jnp.where(known, jnp.inf, regret / jnp.where(known, 1, information))
