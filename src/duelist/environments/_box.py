"""Simulated judges on a box, whose utility is a test function."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from duelist._checks import as_floats, check_count, check_instance
from duelist.domains import Action, Box
from duelist.environments._base import AbstractEnvironment
from duelist.environments._functions import Objective
from duelist.links import AbstractLink, Logistic

LOW, HIGH = -3.0, 3.0


class BoxEnvironment(AbstractEnvironment):
    """A judge whose utility is a test function on a box, scaled affinely.

    f(x) = -3 + 6 (objective(x) - least) / (most - least), `most` being the known maximum, so that
    f(x*) = 3 exactly.

    Args:
        objective: the test function, see `objective`.
        least: the value of the function that becomes -3; lower ones lie below.
        domain: the box of the actions, by default that of the function.
        link: s; logistic by default.

    Raises:
        TypeError: `objective`, `domain` or `link` is of another kind.
        ValueError: `least` is not below the maximum, or the box has another dimension.
    """

    domain: Box
    objective: Objective = eqx.field(static=True)
    least: Float[Array, ""]
    most: Float[Array, ""]
    link: AbstractLink

    def __init__(
        self,
        objective: Objective,
        least: Any,
        domain: Box | None = None,
        link: AbstractLink | None = None,
    ) -> None:
        check_instance("objective", objective, Objective)
        self.objective = objective
        self.domain = Box(objective.lower, objective.upper) if domain is None else domain
        check_instance("domain", self.domain, Box)
        if self.domain.dim != objective.dim:
            raise ValueError(
                f"domain: expected a box of dimension {objective.dim}, got {self.domain.dim}"
            )
        dtype = self.domain.lower.dtype
        self.least = as_floats("least", least, 0, dtype)
        self.most = jnp.asarray(objective.optimum.maximum, dtype)
        if not bool(self.least < self.most):
            raise ValueError(
                f"least: expected a value below the maximum {float(self.most):.6g}, "
                f"got {float(self.least):.6g}"
            )
        self.link = Logistic() if link is None else link
        check_instance("link", self.link, AbstractLink)

    def utility(self, x: Action) -> Float[Array, "..."]:
        """f(x)."""
        share = (self.objective.evaluate(x) - self.least) / (self.most - self.least)
        return LOW + (HIGH - LOW) * share

    def best(self) -> Float[Array, ""]:
        """f(x*) = 3."""
        return jnp.asarray(HIGH, self.least.dtype)


def box_environment(
    objective: Objective,
    *,
    samples: int = 65536,
    dtype: Any = None,
    link: AbstractLink | None = None,
) -> BoxEnvironment:
    """A test function on its box, utilities scaled to [-3, 3].

    The maximum is the known one. The least value is that of a grid of at most `samples` points that
    includes both ends of every axis, polished by descent from the lowest of them.

    Args:
        objective: the function, see `objective`.
        samples: the largest number of points of the grid, at least 2^d.
        dtype: of actions and utilities, JAX's default float if not given.
        link: s; logistic by default.

    Raises:
        ValueError: `samples` is less than 2^d.
    """
    check_instance("objective", objective, Objective)
    check_count("samples", samples, at_least=2**objective.dim)
    domain = Box(objective.lower, objective.upper, dtype=dtype)
    per_axis = int(samples ** (1 / objective.dim) + 1e-9)
    least = _least(objective, domain, objective.grid(per_axis, domain.lower.dtype))
    return BoxEnvironment(objective, least, domain, link)


@eqx.filter_jit
def _least(objective: Objective, domain: Box, grid: Float[Array, "n d"]) -> Float[Array, ""]:
    """The lowest value found on the box."""
    lowest = jnp.argsort(objective.evaluate(grid))[:16]

    def depth(z: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        return -objective.evaluate(domain.action(z))

    return -jnp.max(domain.polish(depth, domain.features(grid[lowest]), 50)[1])
