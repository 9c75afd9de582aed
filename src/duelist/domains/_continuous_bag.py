"""A multiset of actions of a continuous domain."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, PRNGKeyArray

from duelist.domains._base import AbstractBag, Action

_CAPACITY = 1024


class Bag(AbstractBag):
    """The last 1024 actions added, each as often as it was.

    Attributes:
        rows: the actions; only the first min(count, 1024) rows mean anything.
        count: how many were added.
    """

    rows: Float[Array, "capacity d"]
    count: Int[Array, ""]

    @staticmethod
    def of(d: int, dtype: jnp.dtype) -> "Bag":
        """An empty one for actions of d coordinates."""
        return Bag(jnp.zeros((_CAPACITY, d), dtype), jnp.zeros((), jnp.int32))

    def add(self, action: Action) -> "Bag":
        """Add the action, in the place of the oldest one if there is no room."""
        return Bag(self.rows.at[self.count % _CAPACITY].set(action), self.count + 1)

    def draw(self, key: PRNGKeyArray) -> Action:
        """One of the actions; a row of zeros if there is none."""
        held = jnp.clip(self.count, 1, _CAPACITY)
        return self.rows[jr.randint(key, (), 0, held, dtype=jnp.int32)]
