"""What every domain can do: be searched, sampled and asked whether it contains an action."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

ALL = slice(None)
"""In the place of an action: every action of the domain at once, in order."""

Action: TypeAlias = Any
"""One action: on a finite domain its number, an integer scalar."""

Score: TypeAlias = Callable[[Action], Float[Array, "..."]]
"""A function of an action. `score(ALL)` gives its values over a finite domain, shape [n]."""

PairScore: TypeAlias = Callable[[Action, Action], Float[Array, "..."]]
"""A function of two actions. `score(ALL, ALL)` gives its table over a finite domain, [n, n]."""


class BoundedPairScore(NamedTuple):
    """A score of pairs with a bound that large domains search by; called like any other.

    score(x, x') <= max(height(x), height(x')) + distance(x, x'), where `distance` is symmetric and
    satisfies the triangle inequality.
    """

    score: PairScore
    height: Score
    distance: PairScore

    def __call__(self, x: Action, x2: Action) -> Float[Array, "..."]:
        """The score."""
        return self.score(x, x2)


class Plausible(NamedTuple):
    """The set M_t of plausible maximisers.

    Attributes:
        members: which actions belong to it, in the domain's own form (a mask if it is finite).
        fell_back: True if no action passed the test and the leader was put in alone.
    """

    members: Any
    fell_back: Bool[Array, ""]


class AbstractBag(eqx.Module):
    """A multiset of actions."""

    @abc.abstractmethod
    def add(self, action: Action) -> "AbstractBag":
        """The multiset with one more of `action`."""

    @abc.abstractmethod
    def draw(self, key: PRNGKeyArray) -> Action:
        """One of its members, uniformly at random; each of its copies counts."""


class AbstractDomain(eqx.Module):
    """The set X of actions. Policies never loop over actions: they ask the domain to search.

    Actions come with leading axes where many are scored at once, and those of a pair broadcast.

    Every search takes a `key`, with which ties are broken uniformly at random, and an optional
    `within`, the members of a subset as `plausible` returns them.
    """

    @property
    def size(self) -> int | None:
        """The number of actions; None if they cannot be counted."""
        return None

    @property
    def distinct(self) -> int | None:
        """How many points a belief may come to know at most; None if there is no end to them."""
        return self.size

    @abc.abstractmethod
    def as_action(self, name: str, value: Any) -> Action:
        """`value` as one action of the domain.

        Raises:
            TypeError, ValueError: it is none; the message names the argument `name`.
        """

    @abc.abstractmethod
    def features(self, action: Action) -> Float[Array, "*shape d"]:
        """What a kernel compares: d features of every action given."""

    @abc.abstractmethod
    def probes(self) -> Float[Array, "q d"]:
        """Features among which k(x, x) is largest for the usual kernels, at least one.

        All of a finite domain; corners and centre of a box.
        """

    def categorical(self) -> Bool[Array, " d"]:
        """Which features are categories: equal or not, however far apart their numbers are."""
        return jnp.zeros(self.probes().shape[-1], bool)

    def rivals(self) -> Float[Array, "q d"]:
        """The probes among which a choice is made; of domains with contexts those of the present.

        All actions of a finite domain.
        """
        return self.probes()

    @abc.abstractmethod
    def argmax(self, score: Score, key: PRNGKeyArray, within: Any = None) -> Action:
        """An action that maximises `score`."""

    @abc.abstractmethod
    def argmax_pair(
        self, score: PairScore, key: PRNGKeyArray, within: Any = None
    ) -> tuple[Action, Action]:
        """Two actions that maximise `score` together."""

    @abc.abstractmethod
    def maxmin(
        self, score: PairScore, key: PRNGKeyArray, within: Any = None, *, distinct: bool = False
    ) -> tuple[Action, Action]:
        """The Stackelberg game: the leader of max_x min_x' score(x, x') and its follower.

        With `distinct` the follower must differ from the leader, unless there is no other action.
        """

    @abc.abstractmethod
    def plausible(self, ucb: PairScore, level: float, utility: Score) -> Plausible:
        """M_t: the actions x with ucb(x, x') >= level for every x'.

        If there are none it is the action of the highest `utility` alone.
        """

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, within: Any = None) -> Action:
        """An action drawn uniformly at random."""

    @abc.abstractmethod
    def contains(self, action: Action) -> Bool[Array, ""]:
        """Whether `action` belongs to the domain."""

    @abc.abstractmethod
    def bag(self) -> AbstractBag:
        """An empty multiset of actions."""

    def near(self, points: Float[Array, "m p"], utility: Float[Array, " m"]) -> "AbstractDomain":
        """The same domain, told where searches had better start.

        `points` are features of actions compared so far and `utility` their estimated utility,
        -inf for rows not in use. A domain that is searched exhaustively has no need of them.
        """
        del points, utility
        return self
