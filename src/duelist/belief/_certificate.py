"""Certificates: what is proved about an action after the answers so far.

They are as good as the bounds they are made of: with a belief of `guaranteed_prior` everything
stated at any time is true with probability 1 - delta, however that time was chosen.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from duelist._checks import as_fraction, as_index, as_positive, check_instance
from duelist.belief._answers import Ratings
from duelist.belief._exact import Extreme, Sublevel, inner_point, maximise
from duelist.belief._prequential import PrequentialBelief
from duelist.belief._table import TableBelief
from duelist.domains import ALL, Action
from duelist.links import AbstractLink, Logistic

_TOLERANCE = 1e-3


@runtime_checkable
class Bounded(Protocol):
    """A belief about n actions with a link, and with bounds on utilities or probabilities."""

    @property
    def link(self) -> AbstractLink: ...
    @property
    def level(self) -> float: ...
    def lcb(self, x: Action, x2: Action = None) -> Float[Array, "..."]: ...
    def ucb(self, x: Action, x2: Action = None) -> Float[Array, "..."]: ...


class Certificate(NamedTuple):
    """What is known about an action, the leader, and its rivals.

    Attributes:
        action: the leader.
        margin: epsilon.
        upper: for every action the most that the probability of its being preferred to the leader
            can be; 1/2 for the leader itself.
        holds: whether that is at most 1/2 + epsilon for all of them.
        excluded: the actions that are certain to be worse than some other one.
    """

    action: Int[Array, ""]
    margin: Float[Array, ""]
    upper: Float[Array, " n"]
    holds: Bool[Array, ""]
    excluded: Bool[Array, " n"]


def certificate(
    belief: Bounded, action: Action, margin: Any = 0.1, *, refine: bool | None = None
) -> Certificate:
    """Is `action` as good as any other, up to `margin` in probability, and what is excluded?

    Args:
        belief: whose bounds to trust.
        action: the leader, usually the action of the highest estimated utility.
        margin: epsilon, between 0 and 1.
        refine: whether to solve the convex programme `exact_ucb` for every rival, which bounds it
            more closely than the ellipsoid but costs O(n^4). By default where there is one.

    Raises:
        TypeError, ValueError: an argument is of the wrong kind or out of range, or `refine` is
            asked of a belief other than a `PrequentialBelief`; the message names it.
    """
    check_instance("belief", belief, Bounded)
    exact = isinstance(belief, PrequentialBelief)
    if refine and not exact:
        raise TypeError(
            "refine: expected a PrequentialBelief, which has a convex programme, "
            f"got {type(belief).__name__}"
        )
    upper = preference_upper(belief)
    action = as_index("action", action, upper.shape[0])
    margin = as_fraction("margin", margin, upper.dtype)
    rivals = upper[:, action]
    if isinstance(belief, PrequentialBelief) and refine is not False:
        rivals = jnp.minimum(rivals, _refined(belief, action))
    excluded = jnp.any(upper < 0.5, axis=1) | (rivals < 0.5)
    return Certificate(action, margin, rivals, jnp.all(rivals <= 0.5 + margin), excluded)


def preference_upper(belief: Bounded) -> Float[Array, "n n"]:
    """Upper bounds on P(x beats x') over all pairs; one less the transpose are the lower ones.

    They are s of bounds on utilities, or bounds on probabilities clipped to [0, 1]. Those on the
    probabilities of ratings are combined: the odds of x are at most u (1 - l') / ((1 - u) l').

    Raises:
        TypeError: the latter, and the link is not logistic.
    """
    if belief.level == 0:
        return belief.link.probability(belief.ucb(ALL, ALL))
    if not (isinstance(belief, TableBelief) and isinstance(belief.answers, Ratings)):
        return jnp.clip(belief.ucb(ALL, ALL), 0, 1)
    if not isinstance(belief.link, Logistic):
        raise TypeError(
            "belief: expected the logistic link to compare bounds on the probabilities of ratings "
            f"by, got {type(belief.link).__name__}; use space='utility'"
        )
    lower, upper = jnp.clip(belief.lcb(ALL), 0, 1), jnp.clip(belief.ucb(ALL), 0, 1)
    most, least = upper[:, None] * (1 - lower)[None, :], (1 - upper)[:, None] * lower[None, :]
    unknown = most + least <= 0
    odds = jnp.where(unknown, 1, most / jnp.where(unknown, 1, most + least))
    return jnp.where(jnp.eye(odds.shape[0], dtype=bool), 0.5, odds)


def exact_ucb(
    belief: PrequentialBelief, x: Action, x2: Action = None, *, tolerance: Any = _TOLERANCE
) -> Extreme:
    """The largest f(x) - f(x2), or f(x), over C_t itself and not over an ellipsoid around it.

    Args:
        belief: the answers, and with them the set.
        x: an action.
        x2: another one, or None for x_null. -exact_ucb(belief, x2, x) is the smallest difference.
        tolerance: the error to accept, in utility.

    Returns:
        A bound that holds whatever the status says, and a value that some member attains.
    """
    check_instance("belief", belief, PrequentialBelief)
    n, dtype = belief.gram.shape[0], belief.gram.dtype
    direction = jnp.zeros(n, dtype).at[as_index("x", x, n)].add(1)
    if x2 is not None:
        direction = direction.at[as_index("x2", x2, n)].add(-1)
    tolerance = as_positive("tolerance", tolerance, dtype)
    return jax.tree.map(lambda rows: rows[0], _solve_all(belief, direction[None, :], tolerance))


def _refined(belief: PrequentialBelief, leader: Int[Array, ""]) -> Float[Array, " n"]:
    """The exact bounds of all rivals against the leader, as probabilities."""
    eye = jnp.eye(belief.gram.shape[0], dtype=belief.gram.dtype)
    tolerance = jnp.asarray(_TOLERANCE, eye.dtype)
    return belief.link.probability(_solve_all(belief, eye - eye[leader][None, :], tolerance).value)


@eqx.filter_jit
def _solve_all(
    belief: PrequentialBelief, directions: Float[Array, "m n"], tolerance: Float[Array, ""]
) -> Extreme:
    level = Sublevel(belief.problem, belief.allowed_loss, belief.constants.bound)
    start, found = inner_point(level, belief.problem.factor.T @ belief.table.fit.w)
    return jax.lax.map(lambda d: maximise(level, d, start, found, tolerance), directions)
