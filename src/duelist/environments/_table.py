"""Simulated judges on a finite domain whose utilities are known."""

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import tinygp
from jaxtyping import Array, Float, PRNGKeyArray

from duelist._checks import as_floats, as_positive, check_instance
from duelist.domains import Action, FiniteDomain
from duelist.environments._base import AbstractEnvironment
from duelist.environments._functions import Objective, scale_utilities
from duelist.kernels import gram
from duelist.links import AbstractLink, Logistic


class TableEnvironment(AbstractEnvironment):
    """A judge whose utility of every action stands in a table.

    Args:
        domain: the n actions.
        utilities: f, shape [n], in the dtype of the domain's points.
        link: s; logistic by default.

    Raises:
        TypeError: `domain` or `link` is of another kind.
        ValueError: `utilities` is not a vector of n finite numbers.
    """

    domain: FiniteDomain
    utilities: Float[Array, " n"]
    link: AbstractLink

    def __init__(
        self, domain: FiniteDomain, utilities: Any, link: AbstractLink | None = None
    ) -> None:
        check_instance("domain", domain, FiniteDomain)
        self.domain = domain
        self.utilities = as_floats("utilities", utilities, 1, domain.points.dtype)
        if self.utilities.shape != (domain.size,):
            raise ValueError(
                f"utilities: expected one number for each of the {domain.size} actions, "
                f"got {self.utilities.shape[0]}"
            )
        self.link = Logistic() if link is None else link
        check_instance("link", self.link, AbstractLink)

    def utility(self, x: Action) -> Float[Array, "..."]:
        """f(x)."""
        return self.utilities[x]

    def best(self) -> Float[Array, ""]:
        """f(x*), the highest utility."""
        return jnp.max(self.utilities)


def grid_environment(
    objective: Objective,
    per_axis: int = 10,
    *,
    unit_cube: bool = True,
    dtype: Any = None,
    link: AbstractLink | None = None,
) -> TableEnvironment:
    """A test function on a uniform grid of per_axis^d points, utilities scaled to [-3, 3].

    Args:
        objective: the function, see `objective`.
        per_axis: points per axis, both ends included; 10 in the paper.
        unit_cube: whether the features are the coordinates divided by the size of the box, or (as
            in the paper) the coordinates themselves.
        dtype: of features and utilities, JAX's default float if not given.
        link: s; logistic by default.
    """
    points = objective.grid(per_axis, dtype)
    utilities = scale_utilities(objective(points))
    if unit_cube:
        lower = jnp.asarray(objective.lower, points.dtype)[None, :]
        upper = jnp.asarray(objective.upper, points.dtype)[None, :]
        points = (points - lower) / (upper - lower)
    return TableEnvironment(FiniteDomain(points), utilities, link)


def random_environment(
    domain: FiniteDomain,
    kernel: tinygp.kernels.Kernel,
    norm: Any,
    key: PRNGKeyArray,
    link: AbstractLink | None = None,
) -> TableEnvironment:
    """A random utility of a given RKHS norm: f = K w with w normal, scaled to ||f||_k = norm.

    Raises:
        ValueError: `norm` is not a finite number greater than zero.
    """
    matrix = gram(kernel, domain.points)
    norm = as_positive("norm", norm, matrix.dtype)
    w = jr.normal(key, (domain.size,), matrix.dtype)
    f = matrix @ w
    return TableEnvironment(domain, f * norm / jnp.sqrt(w @ f), link)
