"""A policy of one's own in about twenty lines, compared with MaxMinLCB.

ChampionAndRival keeps the champion, the action of the highest estimated utility, and lets the
most optimistic rival challenge it. It defines `ask`; everything else it inherits, and it runs
wherever a policy of the library does. Run it with `python examples/own_policy.py`.
"""

import jax.numpy as jnp
import jax.random as jr
import tinygp
from jaxtyping import Array, Float, PRNGKeyArray

from duelist.belief import AbstractUtilityBelief, prior
from duelist.domains import AbstractDomain, Action
from duelist.environments import grid_environment, objective
from duelist.policies import AbstractBeliefPolicy, MaxMinLCB, Query
from duelist.simulation import simulate


class ChampionAndRival(AbstractBeliefPolicy):
    """x_t = argmax f_t(x), x'_t = argmax over x' != x_t of UCB(x', x_t)."""

    domain: AbstractDomain
    belief: AbstractUtilityBelief

    def ask(self, state: AbstractUtilityBelief, key: PRNGKeyArray) -> Query:
        """The champion and its rival."""
        champion_key, rival_key = jr.split(key)
        champion = self.domain.argmax(state.utility, champion_key)

        def challenge(x: Action) -> Float[Array, "..."]:
            known = state.width(x, champion) <= 0  # the champion itself
            return jnp.where(known, -jnp.inf, state.ucb(x, champion))

        return champion, self.domain.argmax(challenge, rival_key)


def main(horizon: int = 300, seeds: int = 5) -> None:
    """Compare the two on the Ackley function, by the average dueling regret of a few seeds."""
    judge = grid_environment(objective("ackley"))
    belief = prior(judge.domain, tinygp.kernels.ExpSquared(0.2))
    print(f"Ackley, 100 actions, {horizon} duels, {seeds} seeds")
    print(f"{'policy':<18}{'cumulative regret':>18}{'of the last duel':>18}")
    for policy in (ChampionAndRival(judge.domain, belief), MaxMinLCB(judge.domain, belief)):
        regret = simulate(policy, judge, horizon=horizon, seeds=seeds).regret.dueling
        total, last = jnp.sum(regret, axis=1), regret[:, -1]
        print(f"{type(policy).__name__:<18}{jnp.mean(total):>18.1f}{jnp.mean(last):>18.3f}")


if __name__ == "__main__":
    main()
