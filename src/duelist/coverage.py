"""Do the bounds hold? Simulated runs against judges whose utilities are known.

A confidence sequence promises that, with probability 1 - delta, the truth lies between its bounds
for all actions and at all times at once (Theorem func_CI, Corollary dueling_CI). Here that is
counted, together with how loose the bounds are, and the regret bound of MaxMinLCB is computed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from duelist._checks import check_count, check_instance, check_seeds
from duelist.belief import AbstractUtilityBelief, Constants
from duelist.domains import ALL
from duelist.environments import AbstractEnvironment
from duelist.policies import AbstractBeliefPolicy


class Coverage(NamedTuple):
    """How the bounds fared, after each answer: shape [runs, horizon].

    Attributes:
        factor: by what the half-width would have to be multiplied to just hold everywhere; the
            bounds hold at this step if it is at most 1, and they are loose if it is far below.
        half_width: the mean half-width over all pairs (or actions).
    """

    factor: Float[Array, "runs t"]
    half_width: Float[Array, "runs t"]

    def held(self) -> Bool[Array, " runs"]:
        """For each run, whether the bounds held for all actions at all times."""
        return jnp.all(self.factor <= 1, axis=1)


def coverage(
    policy: AbstractBeliefPolicy,
    environments: AbstractEnvironment,
    *,
    horizon: int,
    seeds: Sequence[int],
) -> Coverage:
    """Let `policy` ask and check its belief's bounds against the truth after every answer.

    Args:
        policy: what asks; its belief states the bounds, in probability or in utility space.
        environments: one judge per seed, on a finite domain (a leading axis on their arrays).
        horizon: the number of queries.
        seeds: one per run.
    """
    check_instance("policy", policy, AbstractBeliefPolicy)
    check_instance("environments", environments, AbstractEnvironment)
    check_count("horizon", horizon)
    keys = jax.vmap(jr.key)(jnp.asarray(check_seeds(seeds), jnp.uint32))
    return _compiled(policy, environments, keys, horizon)


@eqx.filter_jit
def _compiled(
    policy: AbstractBeliefPolicy,
    environments: AbstractEnvironment,
    keys: Key[Array, " runs"],
    horizon: int,
) -> Coverage:
    def run(environment: AbstractEnvironment, key: PRNGKeyArray) -> Coverage:
        def step(
            belief: AbstractUtilityBelief, key: PRNGKeyArray
        ) -> tuple[AbstractUtilityBelief, Coverage]:
            ask_key, answer_key = jr.split(key)
            query = policy.ask(belief, ask_key)
            belief = belief.tell(query, environment.answer(query, answer_key))
            return belief, check(belief, environment, duels=len(query) == 2)

        return jax.lax.scan(step, policy.belief, jr.split(key, horizon))[1]

    arrays, rest = eqx.partition(environments, eqx.is_array)
    return jax.lax.map(lambda item: run(eqx.combine(item[0], rest), item[1]), (arrays, keys))


def check(
    belief: AbstractUtilityBelief, environment: AbstractEnvironment, *, duels: bool
) -> Coverage:
    """The bounds of `belief` over all pairs (or actions) against the truth, as scalars."""
    f = environment.utility(ALL)
    truth = f[:, None] - f[None, :] if duels else f
    if belief.level == 0.5:
        truth = environment.link.probability(truth)
    other = ALL if duels else None
    lower, upper = belief.lcb(ALL, other), belief.ucb(ALL, other)
    half, miss = (upper - lower) / 2, jnp.abs(truth - (upper + lower) / 2)
    certain = half <= 0
    exact = jnp.where(miss <= 4 * jnp.finfo(f.dtype).eps, 0, jnp.inf)
    factor = jnp.where(certain, exact, miss / jnp.where(certain, 1, half))
    return Coverage(factor=jnp.max(factor), half_width=jnp.mean(half))


def regret_bound(
    constants: Constants,
    beta: Float[Array, ""],
    gain: Float[Array, ""],
    horizon: Int[Array, ""],
    *,
    duels: bool = True,
) -> Float[Array, ""]:
    """The bound C beta_T sqrt(T gamma_T) on the cumulative regret.

    For duels it is that of Theorem regret_maxmin on the dueling regret of MaxMinLCB restricted to
    M_t, C_3 = (8 + 2 kappa)/sqrt(log(1 + 4/(lambda kappa))); for direct feedback that of Corollary
    regret_kern_logistic on the logistic regret of LGP-UCB, C_L = sqrt(8/log(1 + 1/(lambda kappa))).
    With the realised `gain` it is the tighter form that the proofs give.
    """
    kappa, noise = constants.kappa, constants.noise
    if duels:
        scale = (8 + 2 * kappa) / jnp.sqrt(jnp.log1p(4 / noise))
    else:
        scale = jnp.sqrt(8 / jnp.log1p(1 / noise))
    return scale * beta * jnp.sqrt(horizon.astype(beta.dtype) * gain)
