"""max and min of f(x) - f(x') over {f : ||f||_k <= B, NLL(f) <= R}, with a certified error.

In coordinates u with f = F u and ||f||_k = ||u||, the convex programme

    maximise d'Fu  subject to  s(u) = R - NLL(Fu) >= 0  and  b(u) = (B^2 - u'u)/2 >= 0

is solved by a primal-dual interior-point method with multipliers mu of s and nu of b. For any u
and any positive mu and nu, u -> d'Fu + mu s(u) + nu b(u) lies above the objective on the feasible
set and is nu-strongly concave, so that every feasible value is at most

    d'Fu + mu s(u) + nu b(u) + ||F'd - mu F'grad NLL - nu u||^2 / (2 nu).

That dual value is what is reported: it bounds the maximum from outside wherever the method stopped.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int

from duelist.belief._fit import Problem

_SHRINK = 0.1
_GROWTH = 10.0
_CENTRED = 0.1
_MAX_STEPS = 100
_MAX_HALVINGS = 40
_ARMIJO = 0.01


class ExactStatus(eqx.Enumeration):
    """How a convex programme ended; its value is a bound in every case."""

    converged = "the bound is within the tolerance of a value that is attained"
    max_steps = "the largest number of Newton steps was reached before the tolerance"
    stagnated = "no step lowers the barrier any more: rounding limits this bound"
    infeasible = "no feasible utility was found: the set may be empty"


class Extreme(NamedTuple):
    """The largest value of a signed sum over the set.

    Attributes:
        value: a bound that no member exceeds.
        attained: a value that a member attains; value - attained bounds the error.
        steps: Newton steps taken, those to a first member of the set not counted.
        status: an `ExactStatus`.
    """

    value: Float[Array, "*shape"]
    attained: Float[Array, "*shape"]
    steps: Int[Array, "*shape"]
    status: ExactStatus


class Sublevel(NamedTuple):
    """The set: what NLL and F are, R and B."""

    problem: Problem
    allowed: Float[Array, ""]
    bound: Float[Array, ""]

    def slacks(self, u: Float[Array, " n"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """s(u) and b(u); both are positive inside."""
        answers, link, _, factor, _ = self.problem
        return self.allowed - answers.loss(link, factor @ u), (self.bound**2 - u @ u) / 2

    def pull(self, u: Float[Array, " n"]) -> Float[Array, " n"]:
        """F' grad NLL."""
        answers, link, _, factor, _ = self.problem
        return factor.T @ answers.gradient(link, factor @ u)

    def bend(self, u: Float[Array, " n"]) -> Float[Array, "n n"]:
        """F' D'WD F."""
        answers, link, _, factor, _ = self.problem
        return factor.T @ answers.hessian(link, factor @ u) @ factor


def inner_point(
    level: Sublevel, start: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Bool[Array, ""]]:
    """A point inside the set, and whether one was found.

    `start` pulled into the ball if that will do; else NLL falls along the central path of the ball,
    where t NLL - log b is smallest for growing t, until it is below R.
    """
    norm = jnp.linalg.norm(start)
    inside = start * jnp.minimum(1, 0.9 * level.bound / jnp.where(norm > 0, norm, 1))

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        u, _, steps = carry
        return ~(level.slacks(u)[0] > 0) & (steps < _MAX_STEPS)

    def improve(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        u, t, steps = carry
        u, arrived = _descend(level, u, t)
        return u, jnp.where(arrived, t * _GROWTH, t), steps + 1

    begin = (inside, jnp.ones((), start.dtype), jnp.zeros((), jnp.int32))
    u, _, _ = jax.lax.while_loop(unfinished, improve, begin)
    return u, level.slacks(u)[0] > 0


def _descend(
    level: Sublevel, u: Float[Array, " n"], t: Float[Array, ""]
) -> tuple[Float[Array, " n"], Bool[Array, ""]]:
    """A damped Newton step on t NLL - log b, and whether it has all but reached the minimum."""

    def barrier(u: Array) -> Array:
        slack, room = level.slacks(u)
        return jnp.where(room > 0, -t * slack - jnp.log(jnp.where(room > 0, room, 1)), jnp.inf)

    _, room = level.slacks(u)
    gradient = t * level.pull(u) + u / room
    hessian = t * level.bend(u) + _square(u / room) + jnp.eye(u.shape[0], dtype=u.dtype) / room
    step = -cho_solve((jnp.linalg.cholesky(hessian), True), gradient)
    slope, old = gradient @ step, barrier(u)
    scale, stuck = _halve(
        lambda scale: barrier(u + scale * step) <= old + _ARMIJO * scale * slope,
        jnp.ones((), u.dtype),
    )
    return u + scale * step, stuck | (-slope < _CENTRED)


class _Iterate(NamedTuple):
    """A point inside the set and the multipliers of its two constraints, all positive."""

    u: Float[Array, " n"]
    mu: Float[Array, ""]
    nu: Float[Array, ""]


class _State(NamedTuple):
    iterate: _Iterate
    value: Float[Array, ""]
    attained: Float[Array, ""]
    steps: Int[Array, ""]
    stuck: Bool[Array, ""]


def maximise(
    level: Sublevel,
    direction: Float[Array, " n"],
    start: Float[Array, " n"],
    feasible: Bool[Array, ""],
    tolerance: Float[Array, ""],
) -> Extreme:
    """The largest d'f over the set, for d = `direction`, from a `start` inside it.

    O(n^3) per Newton step. Without a start inside, the value is that of the ball alone.
    """
    goal = level.problem.factor.T @ direction
    trivial = level.bound * jnp.linalg.norm(goal)

    def unfinished(state: _State) -> Array:
        open_gap = state.value - state.attained > tolerance
        return feasible & ~state.stuck & open_gap & (state.steps < _MAX_STEPS)

    def improve(state: _State) -> _State:
        iterate, stuck = _newton(level, goal, state.iterate)
        value = jnp.minimum(state.value, _dual(level, goal, iterate))
        attained = jnp.maximum(state.attained, goal @ iterate.u)
        return _State(iterate, value, attained, state.steps + 1, stuck)

    slack, room = level.slacks(start)
    scale = jnp.where(trivial > 0, trivial, 1)
    begin = _Iterate(start, scale / slack, scale / room)
    attained = jnp.where(feasible, goal @ start, -jnp.inf)
    first = _State(begin, trivial, attained, jnp.zeros((), jnp.int32), jnp.array(False))
    state = jax.lax.while_loop(unfinished, improve, first)
    status = ExactStatus.where(
        state.value - state.attained <= tolerance,
        ExactStatus.converged,
        ExactStatus.where(state.stuck, ExactStatus.stagnated, ExactStatus.max_steps),
    )
    status = ExactStatus.where(feasible, status, ExactStatus.infeasible)
    return Extreme(state.value, state.attained, state.steps, status)


def _newton(
    level: Sublevel, goal: Float[Array, " n"], at: _Iterate
) -> tuple[_Iterate, Bool[Array, ""]]:
    """One step on the perturbed optimality conditions, and whether none helps any more.

    They are mu F'grad NLL + nu u = F'd, mu s = tau and nu b = tau, with tau below what the two
    products are now (Boyd and Vandenberghe 2004, section 11.7).
    """
    u, mu, nu = at
    (slack, room), pull = level.slacks(u), level.pull(u)
    tau = _SHRINK * (mu * slack + nu * room) / 2
    hessian = mu * level.bend(u) + mu / slack * _square(pull) + nu / room * _square(u)
    hessian = hessian + nu * jnp.eye(u.shape[0], dtype=u.dtype)
    rest = goal - tau / slack * pull - tau / room * u
    step = cho_solve((jnp.linalg.cholesky(hessian), True), rest)
    move = _Iterate(
        step,
        tau / slack - mu + mu / slack * (pull @ step),
        tau / room - nu + nu / room * (u @ step),
    )

    def along(scale: Array) -> _Iterate:
        return jax.tree.map(lambda a, b: a + scale * b, at, move)

    old = _residual(level, goal, at, tau)
    scale, stuck = _halve(
        lambda scale: _residual(level, goal, along(scale), tau) <= (1 - _ARMIJO * scale) * old,
        _longest(at, move),
    )
    return along(scale), stuck


def _residual(
    level: Sublevel, goal: Float[Array, " n"], at: _Iterate, tau: Float[Array, ""]
) -> Float[Array, ""]:
    """The norm of what is left of the optimality conditions; infinite outside the set."""
    slack, room = level.slacks(at.u)
    rest = goal - at.mu * level.pull(at.u) - at.nu * at.u
    total = rest @ rest + (at.mu * slack - tau) ** 2 + (at.nu * room - tau) ** 2
    return jnp.where((slack > 0) & (room > 0), jnp.sqrt(total), jnp.inf)


def _longest(at: _Iterate, move: _Iterate) -> Float[Array, ""]:
    """The longest step, at most 1, that leaves both multipliers a hundredth of their value."""

    def limit(value: Array, change: Array) -> Array:
        return jnp.where(change < 0, -0.99 * value / jnp.where(change < 0, change, 1), 1)

    return jnp.minimum(1, jnp.minimum(limit(at.mu, move.mu), limit(at.nu, move.nu)))


def _halve(
    accept: Callable[[Float[Array, ""]], Bool[Array, ""]], scale: Float[Array, ""]
) -> tuple[Float[Array, ""], Bool[Array, ""]]:
    """The first of scale, scale/2, ... that is accepted; zero, and True, if none is."""

    def rejected(carry: tuple[Array, Array]) -> Array:
        scale, halvings = carry
        return ~accept(scale) & (halvings < _MAX_HALVINGS)

    def halve(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        scale, halvings = carry
        return scale / 2, halvings + 1

    scale, halvings = jax.lax.while_loop(rejected, halve, (scale, jnp.zeros((), jnp.int32)))
    stuck = halvings >= _MAX_HALVINGS
    return jnp.where(stuck, 0, scale), stuck


def _dual(level: Sublevel, goal: Float[Array, " n"], at: _Iterate) -> Float[Array, ""]:
    """The bound of the module's docstring."""
    slack, room = level.slacks(at.u)
    rest = goal - at.mu * level.pull(at.u) - at.nu * at.u
    return goal @ at.u + at.mu * slack + at.nu * room + (rest @ rest) / (2 * at.nu)


def _square(vector: Float[Array, " n"]) -> Float[Array, "n n"]:
    return vector[:, None] * vector[None, :]
