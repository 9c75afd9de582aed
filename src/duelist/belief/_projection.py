"""The projected estimator of the proofs, eq. def_thetap: the fit pulled back into ||f||_k <= B.

theta^P minimises ||g(theta) - g(theta_t)|| in the norm of V^-1 over ||theta|| <= B, where
g(theta) = D's(D theta'phi) + lambda theta and V = D'D + lambda kappa, both in the RKHS. With
K = F F' the Gram matrix a utility in the span of the actions is f = F u with ||f||_k = ||u||, so
that the problem is one of n unknowns: least squares in
R(u) = F'(D's(DFu) - D's(D f_t)) + lambda (u - u_t), weighted by (F'D'D F + lambda kappa I)^-1.

Gauss-Newton: the linearised problem is solved exactly in the ball, and since the ball is convex
every point on the way there is feasible. The objective need not be convex; what is found is a
stationary point, and the tests compare it with the best of many starts of another solver.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from duelist.belief._fit import Fit, FitStatus, Problem

_MAX_STEPS = 100
_MAX_HALVINGS = 30
_MAX_SECULAR_STEPS = 50
_SUFFICIENT = 1e-4
_ROUNDING = 16


class Projection(NamedTuple):
    """The projected utility and how well it solves the problem.

    Attributes:
        f: the utility of every action, ||f||_k <= B.
        norm: ||f||_k; B if the fit lies outside the ball.
        error: largest entry of the last step in f: the estimated error, 0 where there was none.
        steps: Gauss-Newton steps taken.
        status: a `FitStatus`.
    """

    f: Float[Array, " n"]
    norm: Float[Array, ""]
    error: Float[Array, ""]
    steps: Int[Array, ""]
    status: FitStatus

    @property
    def converged(self) -> Bool[Array, ""]:
        """Whether the tolerance was met."""
        return self.status == FitStatus.converged


class _Target(NamedTuple):
    """What is projected, in the coordinates u: the fit, B, lambda kappa, and D's(Df_t) there."""

    problem: Problem
    fit: Float[Array, " n"]
    pull: Float[Array, " n"]
    bound: Float[Array, ""]
    noise: Float[Array, ""]

    def residual(self, u: Float[Array, " n"]) -> Float[Array, " n"]:
        """R(u), the difference of g at u and at the fit."""
        answers, link, _, factor, lam = self.problem
        return factor.T @ (answers.expected(link, factor @ u) - self.pull) + lam * (u - self.fit)

    def jacobian(self, u: Float[Array, " n"]) -> Float[Array, "n n"]:
        """The derivative of `residual` by u."""
        answers, link, _, factor, lam = self.problem
        slope = factor.T @ answers.expected_slope(link, factor @ u) @ factor
        return slope + lam * jnp.eye(u.shape[0], dtype=u.dtype)

    def root(self) -> Float[Array, "n n"]:
        """The lower triangular R with R R' = V."""
        answers, _, _, factor, _ = self.problem
        eye = jnp.eye(factor.shape[0], dtype=factor.dtype)
        return jnp.linalg.cholesky(factor.T @ answers.square() @ factor + self.noise * eye)


class _Point(NamedTuple):
    """An iterate: u, the step in f that led to it, and whether no step helps any more."""

    u: Float[Array, " n"]
    error: Float[Array, ""]
    steps: Int[Array, ""]
    stuck: Bool[Array, ""]


def project(
    problem: Problem,
    fitted: Fit,
    bound: Float[Array, ""],
    noise: Float[Array, ""],
    tolerance: Float[Array, ""],
) -> Projection:
    """Eq. def_thetap on the actions; the fit itself, at no cost, if it lies in the ball.

    Args:
        problem: the answers, the kernel and lambda.
        fitted: the fit f_t = K w_t.
        bound: B.
        noise: lambda kappa.
        tolerance: the error of f to accept.

    Returns:
        The projection. Nothing is raised: the status tells how it ended. O(n^3) per step.
    """
    norm = jnp.sqrt(jnp.maximum(fitted.w @ fitted.f, 0))
    outside = norm > bound
    u = problem.factor.T @ fitted.w
    target = _Target(problem, u, problem.answers.expected(problem.link, fitted.f), bound, noise)
    begin = _Point(
        u * jnp.where(outside, bound / jnp.where(outside, norm, 1), 1),
        jnp.where(outside, jnp.inf, 0).astype(u.dtype),
        jnp.zeros((), jnp.int32),
        jnp.array(False),
    )

    def unfinished(point: _Point) -> Bool[Array, ""]:
        return ~point.stuck & (point.error > tolerance) & (point.steps < _MAX_STEPS)

    point = jax.lax.while_loop(unfinished, lambda point: _improve(target, point), begin)
    status = FitStatus.where(
        point.error <= tolerance,
        FitStatus.converged,
        FitStatus.where(point.stuck, FitStatus.stagnated, FitStatus.max_steps),
    )
    f = jnp.where(outside, problem.factor @ point.u, fitted.f)
    norm = jnp.where(outside, jnp.linalg.norm(point.u), norm)
    return Projection(f, norm, point.error, point.steps, status)


def _improve(target: _Target, point: _Point) -> _Point:
    """One Gauss-Newton step, shortened until the objective falls."""
    root = target.root()
    rest = solve_triangular(root, target.residual(point.u), lower=True)
    jacobian = solve_triangular(root, target.jacobian(point.u), lower=True)
    step = in_ball(jacobian, jacobian @ point.u - rest, target.bound) - point.u

    def objective(u: Float[Array, " n"]) -> Float[Array, ""]:
        return jnp.sum(solve_triangular(root, target.residual(u), lower=True) ** 2) / 2

    scale, stuck = backtrack(objective, point.u, step, rest @ (jacobian @ step))
    error = jnp.max(jnp.abs(target.problem.factor @ step))
    return _Point(point.u + scale * step, error, point.steps + 1, stuck)


def in_ball(
    matrix: Float[Array, "n n"], vector: Float[Array, " n"], bound: Float[Array, ""]
) -> Float[Array, " n"]:
    """The u of ||u|| <= bound that minimises ||matrix u - vector||, for an invertible matrix.

    It is u(m) = (A'A + m I)^-1 A'b with m = 0, or with the m > 0 where ||u(m)|| = bound. Newton's
    method on 1/||u(m)||, which is concave, increases to that m from 0 (Conn, Gould and Toint 2000,
    section 7.3).
    """
    values, vectors = jnp.linalg.eigh(matrix.T @ matrix)
    image = vectors.T @ (matrix.T @ vector)

    def norm(shift: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.linalg.norm(image / (values + shift))

    def too_long(carry: tuple[Array, Array]) -> Bool[Array, ""]:
        shift, steps = carry
        slack = 4 * float(jnp.finfo(values.dtype).eps)
        return (norm(shift) > bound * (1 + slack)) & (steps < _MAX_SECULAR_STEPS)

    def newton(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        shift, steps = carry
        size = norm(shift)
        bend = jnp.sum(image**2 / (values + shift) ** 3)
        return shift + (size / bound - 1) * size**2 / bend, steps + 1

    begin = (jnp.zeros((), values.dtype), jnp.zeros((), jnp.int32))
    shift, _ = jax.lax.while_loop(too_long, newton, begin)
    u = vectors @ (image / (values + shift))
    return u * jnp.minimum(bound / jnp.linalg.norm(u), 1)


def backtrack(
    objective: Callable[[Float[Array, " n"]], Float[Array, ""]],
    start: Float[Array, " n"],
    step: Float[Array, " n"],
    slope: Float[Array, ""],
) -> tuple[Float[Array, ""], Bool[Array, ""]]:
    """The first of 1, 1/2, 1/4, ... that lowers the objective enough (Armijo), and if none did.

    A rise within rounding is allowed: near the optimum the objective no longer resolves steps that
    are still larger than the tolerance.
    """
    old = objective(start)
    slack = _ROUNDING * float(jnp.finfo(old.dtype).eps) * old

    def too_long(carry: tuple[Array, Array]) -> Bool[Array, ""]:
        scale, halvings = carry
        falls = objective(start + scale * step) <= old + slack + _SUFFICIENT * scale * slope
        return ~falls & (halvings < _MAX_HALVINGS)

    def halve(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        scale, halvings = carry
        return scale / 2, halvings + 1

    begin = (jnp.ones((), old.dtype), jnp.zeros((), jnp.int32))
    scale, halvings = jax.lax.while_loop(too_long, halve, begin)
    stuck = halvings >= _MAX_HALVINGS
    return jnp.where(stuck, 0, scale), stuck
