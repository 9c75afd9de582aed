"""Five actions, a judge who prefers the later ones, and beliefs with stated probability."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import tinygp

from duelist.belief import guaranteed_prior
from duelist.belief._region import shrink as _shrink
from duelist.domains import FiniteDomain
from duelist.links import Logistic, Probit

N = 5
SCALE = 0.5
BOUND = 1.5
DELTA = 0.1
LINKS = {"logistic": Logistic(), "probit": Probit()}
FEEDBACKS = ["duels", "ratings"]
FLOAT32 = np.dtype("float32")

TRACES = []
"""An entry for every time that `tell` was traced."""


def points(n=N):
    return np.random.default_rng(3).uniform(size=(n, 2))


def make(dtype, feedback="duels", link="logistic", bound=BOUND, n=N, **options):
    domain = FiniteDomain(jnp.asarray(points(n), dtype))
    kernel = tinygp.kernels.ExpSquared(jnp.asarray(SCALE, dtype))
    options = {"delta": DELTA, "link": LINKS[link]} | options
    return guaranteed_prior(domain, kernel, feedback, bound=bound, **options)


def history(oracles, feedback, seed=0, count=40):
    """Answers of a judge who likes later actions better, one in seven the other way round."""
    queries, _ = oracles.random_history(
        np.random.default_rng(seed), N, count, 2 if feedback == "duels" else 1
    )
    liked = oracles.signs(queries, N) @ np.linspace(-1, 1, N) > 0
    return queries, np.where(np.arange(count) % 7 == 0, ~liked, liked).astype(float)


def tell(belief, query, answer):
    """The belief after one answer, and what it had forecast."""
    numbers = tuple(jnp.asarray(x, jnp.int32) for x in query)
    return _tell(belief, numbers, jnp.asarray(answer, belief.gram.dtype))


@eqx.filter_jit
def _tell(belief, query, answer):
    TRACES.append(belief)
    return belief.tell(query, answer), belief.forecast(*query)


shrink = eqx.filter_jit(_shrink)
