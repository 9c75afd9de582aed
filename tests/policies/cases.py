"""Random posteriors for the policies to choose by, and their tables once more in NumPy.

A posterior here is a centre f and a covariance C that were drawn, not learnt: the choice of a
policy depends on nothing else, and drawn ones cover more than a short history would.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import tinygp

from duelist import policies as library
from duelist.belief import FixedBeta, TableBelief, prior
from duelist.domains import FiniteDomain

N = 8
KERNEL = tinygp.kernels.ExpSquared(0.4)
POLICIES = sorted(
    name
    for name, kind in vars(library).items()
    if isinstance(kind, type)
    and issubclass(kind, library.AbstractPolicy)
    and not name.startswith("Abstract")
)
"""The names of all of them."""


def domain_of(n: int = N, seed: int = 0, dtype=None) -> FiniteDomain:
    """n random points of the unit square."""
    points = np.random.default_rng(seed).uniform(size=(n, 2))
    return FiniteDomain(jnp.asarray(points, dtype or jnp.result_type(float)))


def with_posterior(belief: TableBelief, f, covariance, laplace=None, beta=None) -> TableBelief:
    """`belief` with another centre, another covariance and another beta."""
    laplace = covariance if laplace is None else laplace
    return dataclasses.replace(
        belief,
        fit=dataclasses.replace(belief.fit, f=f),
        covariance=covariance,
        metric=dataclasses.replace(belief.metric, covariance=laplace),
        beta_rule=belief.beta_rule if beta is None else FixedBeta(beta),
    )


class Posteriors(NamedTuple):
    """Many posteriors at once: the beliefs stacked, and what they were made of in NumPy."""

    beliefs: TableBelief
    f: np.ndarray
    covariance: np.ndarray
    laplace: np.ndarray
    beta: np.ndarray

    def tables(self):
        """(LCB, UCB, sigma) of each posterior over all pairs."""
        return [table(*case) for case in zip(self.f, self.covariance, self.beta, strict=True)]


def posteriors(
    domain: FiniteDomain, count: int, seed: int, feedback="duels", space="probability"
) -> Posteriors:
    """`count` posteriors from nearly unknown to nearly known, so that M_t has every size."""
    rng, n = np.random.default_rng(seed), domain.size
    f = rng.normal(size=(count, n)) * np.exp(rng.uniform(-1, 1.5, size=(count, 1)))
    scale = np.exp(rng.uniform(np.log(0.002), np.log(0.3), size=(count, 1, 1)))
    covariance, laplace = (random_covariance(rng, count, n) * scale for _ in range(2))
    beta = rng.uniform(0.3, 1.5, size=count)
    belief = prior(domain, KERNEL, feedback, space=space)
    stacked = eqx.filter_vmap(lambda *parts: with_posterior(belief, *parts))(
        *(jnp.asarray(part, belief.gram.dtype) for part in (f, covariance, laplace, beta))
    )
    return Posteriors(stacked, f, covariance, laplace, beta)


def random_covariance(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    """Covariances of full rank with unlike variances."""
    root = rng.normal(size=(count, n, n))
    return root @ np.swapaxes(root, 1, 2) / n


def state_of(domain: FiniteDomain, f, widths, beta: float, feedback="duels") -> TableBelief:
    """The belief over three actions with centre f and sigma of (0, 1), (0, 2) and (1, 2).

    The widths are the sides of a triangle whose corners are the actions; the covariance is the
    matrix of inner products of the corners.
    """
    near, far, across = widths
    along = (near**2 + far**2 - across**2) / (2 * near)
    corners = np.array([[0, 0], [near, 0], [along, np.sqrt(far**2 - along**2)]])
    f, covariance = jnp.asarray(f), jnp.asarray(corners @ corners.T)
    return with_posterior(prior(domain, KERNEL, feedback), f, covariance, beta=beta)


def one(domain: FiniteDomain, f, covariance, beta: float = 1.0) -> TableBelief:
    """The belief of duels with this centre and covariance."""
    belief = prior(domain, KERNEL)
    parts = (jnp.asarray(part, belief.gram.dtype) for part in (f, covariance))
    return with_posterior(belief, *parts, beta=beta)


def pick(stacked, index: int):
    """One of many stacked states."""
    return jax.tree.map(lambda x: x[index] if eqx.is_array(x) else x, stacked)


def keys(count: int, seed: int = 0):
    """`count` keys."""
    return jr.split(jr.key(seed), count)


def ask(policy, state, seed: int = 0) -> tuple[int, ...]:
    """What `policy` asks in one state."""
    return tuple(int(x) for x in asks_often(policy, state, 1, seed)[0])


def asks(policy, states, keys=None):
    """What `policy` asks in each of many states, [count, 1 or 2]: one compiled program."""
    count = jax.tree.leaves(eqx.filter(states, eqx.is_array))[0].shape[0]
    each = jr.split(jr.key(0), count) if keys is None else keys
    return np.stack(jax.device_get(_ask_each(policy, states, each)), axis=-1)


def asks_often(policy, state, count: int, seed: int = 0):
    """What `policy` asks in one state with `count` keys, [count, 1 or 2]."""
    return np.stack(jax.device_get(_ask_often(policy, state, jr.split(jr.key(seed), count))), -1)


@eqx.filter_jit
def _ask_each(policy, states, keys):
    return eqx.filter_vmap(policy.ask)(states, keys)


@eqx.filter_jit
def _ask_often(policy, state, keys):
    return jax.vmap(lambda key: policy.ask(state, key))(keys)


# ---- the paper's quantities, one entry at a time ---------------------------------------------


def s(h: float) -> float:
    """The logistic function."""
    return 1 / (1 + np.exp(-h))


def sigma(covariance: np.ndarray) -> np.ndarray:
    """sigma^D over all pairs: the deviation of f(x) - f(x')."""
    n = len(covariance)
    table = np.zeros((n, n))
    for x in range(n):
        for y in range(n):
            if x != y:
                variance = covariance[x, x] + covariance[y, y] - 2 * covariance[x, y]
                table[x, y] = np.sqrt(variance)
    return table


def table(f: np.ndarray, covariance: np.ndarray, beta: float):
    """(LCB, UCB, sigma) over all pairs in probability space."""
    n, width = len(f), sigma(covariance)
    estimate = np.array([[s(f[x] - f[y]) for y in range(n)] for x in range(n)])
    return estimate - beta * width, estimate + beta * width, width


def plausible_set(ucb: np.ndarray) -> list[int]:
    """M_t of Algorithm maxmin."""
    actions = range(len(ucb))
    return [x for x in actions if all(ucb[x, y] >= 0.5 for y in actions)]


def unordered(pairs: np.ndarray) -> list[tuple[int, int]]:
    """Each pair with its smaller number first."""
    return [(int(min(pair)), int(max(pair))) for pair in pairs]
