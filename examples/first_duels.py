"""Find the best of a hundred designs from a few dozen duels: `python examples/first_duels.py`.

Nothing is tuned: the belief decides by the answers which kernel suits the features.
"""

import equinox as eqx
import jax
import numpy as np

from duelist.belief import adaptive_prior
from duelist.domains import FiniteDomain
from duelist.policies import MaxMinLCB


def main(duels: int = 60) -> float:
    """Ask a simulated judge and return the utility of what is recommended; the best is 0."""
    rng = np.random.default_rng(0)
    designs = rng.uniform([1, 0.01], [9, 0.05], size=(100, 2))  # in whatever units they come
    utility = -np.abs(designs[:, 0] - 6) - 100 * np.abs(designs[:, 1] - 0.02)

    domain = FiniteDomain(designs)
    policy = MaxMinLCB(domain, adaptive_prior(domain))
    ask = eqx.filter_jit(policy.ask)
    state = policy.init(jax.random.key(0))
    for number in range(duels):
        this, that = ask(state, jax.random.key(number))
        preferred = bool(rng.logistic() < utility[this] - utility[that])  # a person, elsewhere
        state = policy.tell(state, (this, that), preferred)

    best = int(policy.recommend(state, jax.random.key(duels)))
    gap = float(utility[best] - utility.max())
    print(f"After {duels} duels: design {best}, {designs[best]}, {-gap:.2f} below the best")
    return gap


if __name__ == "__main__":
    main()
