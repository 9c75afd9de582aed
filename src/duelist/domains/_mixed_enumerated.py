"""A mixed domain of few actions, all of them listed and searched exhaustively."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from duelist.domains._base import AbstractDomain, Action, PairScore, Plausible, Score
from duelist.domains._continuous_bag import Bag
from duelist.domains._finite import FiniteDomain
from duelist.domains._mixed_check import as_mixed_action
from duelist.domains._mixed_encoding import Encoding, Values


class EnumeratedDomain(AbstractDomain):
    """The listed actions of a mixed domain; made by `mixed_domain`.

    Actions are vectors, as those of any mixed domain. Searches are exact.

    Attributes:
        encoding: between values and actions.
        rows: all actions, [n, d].
        finite: the same by number.
    """

    encoding: Encoding
    rows: Float[Array, "n d"]
    finite: FiniteDomain

    def __init__(self, encoding: Encoding, rows: Float[Array, "n d"]) -> None:
        self.encoding, self.rows = encoding, rows
        self.finite = FiniteDomain(encoding.features(rows))

    @property
    def search(self) -> str:
        """How the domain is searched."""
        return "enumerated"

    @property
    def size(self) -> int:
        """n, the number of actions."""
        return self.finite.size

    def action_of(self, values: Values) -> Float[Array, " d"]:
        """The action with these values."""
        return self.as_action("values", self.encoding.encode(values))

    def values_of(self, action: Action) -> dict[str, Any]:
        """The values of an action, by name."""
        return self.encoding.decode(self.as_action("action", action))

    def as_action(self, name: str, value: Any) -> Action:
        """`value` as a vector that belongs to the domain."""
        return as_mixed_action(self, name, value)

    def categorical(self) -> Bool[Array, " d"]:
        """Those of the categories and switches."""
        return self.encoding.category

    def features(self, action: Action) -> Float[Array, "*batch d"]:
        """What the kernel compares."""
        return self.encoding.features(action)

    def probes(self) -> Float[Array, "n d"]:
        """All features."""
        return self.finite.points

    def argmax(
        self, score: Score, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None
    ) -> Action:
        """The action of the highest score."""
        return self.rows[self.finite.argmax(self._single(score), key, within)]

    def argmax_pair(
        self, score: PairScore, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None
    ) -> tuple[Action, Action]:
        """The pair of the highest score."""
        first, second = self.finite.argmax_pair(self._pair(score), key, within)
        return self.rows[first], self.rows[second]

    def maxmin(
        self,
        score: PairScore,
        key: PRNGKeyArray,
        within: Bool[Array, " n"] | None = None,
        *,
        distinct: bool = False,
    ) -> tuple[Action, Action]:
        """Leader and follower of the game, by its whole table."""
        leader, follower = self.finite.maxmin(self._pair(score), key, within, distinct=distinct)
        return self.rows[leader], self.rows[follower]

    def plausible(self, ucb: PairScore, level: float, utility: Score) -> Plausible:
        """M_t as a mask over `rows`."""
        return self.finite.plausible(self._pair(ucb), level, self._single(utility))

    def sample(self, key: PRNGKeyArray, within: Bool[Array, " n"] | None = None) -> Action:
        """An action drawn uniformly from the domain or from `within`."""
        return self.rows[self.finite.sample(key, within)]

    def contains(self, action: Action) -> Bool[Array, ""]:
        """Whether `action` is one of the rows."""
        x = jnp.asarray(action, self.rows.dtype)
        if x.shape != self.rows.shape[1:]:
            return jnp.array(False)
        return jnp.any(jnp.all(self.rows == x[None, :], axis=1))

    def bag(self) -> Bag:
        """An empty multiset, which keeps the last 1024 actions."""
        return Bag.of(self.rows.shape[1], self.rows.dtype)

    def _single(self, score: Score) -> Callable[[Any], Float[Array, "..."]]:
        return lambda number: score(self.rows[number])

    def _pair(self, score: PairScore) -> Callable[[Any, Any], Float[Array, "..."]]:
        """The score by number; its whole table where both are `ALL`."""

        def pair(number: Any, number2: Any) -> Float[Array, "..."]:
            x, x2 = self.rows[number], self.rows[number2]
            whole = isinstance(number, slice) and isinstance(number2, slice)
            return score(x[:, None, :], x2[None, :, :]) if whole else score(x, x2)

        return pair
