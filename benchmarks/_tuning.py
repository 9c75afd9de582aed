"""The problems on which the default was chosen: none of them is one of the paper's.

Standard test functions (Jamil and Yang 2013; Surjanovic and Bingham 2013) and draws of Gaussian
processes, on grids over the unit cube, utilities scaled to [-3, 3].
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from duelist.domains import FiniteDomain
from duelist.environments import TableEnvironment


def grid(per_axis: int, dim: int) -> np.ndarray:
    """All points of the unit cube with per_axis values along each axis, both ends included."""
    axis = np.linspace(0, 1, per_axis)
    return np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1).reshape(-1, dim)


def levy(x: np.ndarray) -> np.ndarray:
    """To be minimised, as all functions here."""
    w = 1 + (x - 1) / 4
    middle = np.sum((w[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:, :-1] + 1) ** 2), axis=1)
    last = (w[:, -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[:, -1]) ** 2)
    return np.sin(np.pi * w[:, 0]) ** 2 + middle + last


def camel(x: np.ndarray) -> np.ndarray:
    """The six-hump camel."""
    a, b = x.T
    return (4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2


def griewank(x: np.ndarray) -> np.ndarray:
    """In two dimensions."""
    return np.sum(x**2, axis=1) / 4000 - np.cos(x[:, 0]) * np.cos(x[:, 1] / np.sqrt(2))


def zakharov(x: np.ndarray) -> np.ndarray:
    """In two dimensions."""
    slope = x[:, 0] / 2 + x[:, 1]
    return np.sum(x**2, axis=1) + slope**2 + slope**4


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Any, Any, int, int]] = {
    "levy": (levy, -10, 10, 10, 2),
    "levy-3d": (levy, -10, 10, 5, 3),
    "rastrigin": (lambda x: np.sum(x**2 - 10 * np.cos(2 * np.pi * x), 1), -5.12, 5.12, 10, 2),
    "styblinski-tang": (lambda x: np.sum(x**4 - 16 * x**2 + 5 * x, 1), -5, 5, 10, 2),
    "camel": (camel, np.array([-3, -2]), np.array([3, 2]), 10, 2),
    "griewank": (griewank, -10, 10, 10, 2),
    "schwefel": (lambda x: -np.sum(x * np.sin(np.sqrt(np.abs(x))), 1), -500, 500, 10, 2),
    "zakharov": (zakharov, -5, 10, 10, 2),
    "dixon-price": (
        lambda x: (x[:, 0] - 1) ** 2 + 2 * (2 * x[:, 1] ** 2 - x[:, 0]) ** 2, -10, 10, 10, 2,
    ),
}  # fmt: skip
"""Function, both ends of its box, points per axis, dimension."""

KERNELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "RBF 0.1": lambda squares: np.exp(-squares / 2 / 0.1**2),
    "RBF 0.3": lambda squares: np.exp(-squares / 2 / 0.3**2),
    "exponential 0.3": lambda squares: np.exp(-np.sqrt(squares) / 0.3),
}
"""Of the random utilities, as functions of squared distances."""


def judge(points: np.ndarray, values: np.ndarray) -> TableEnvironment:
    """A judge with these utilities, scaled to [-3, 3]."""
    share = (values - values.min()) / (values.max() - values.min())
    return TableEnvironment(FiniteDomain(points), 6 * share - 3)


def problems() -> Iterator[tuple[str, TableEnvironment]]:
    """Name and judge of each."""
    for name, (function, low, high, per_axis, dim) in FUNCTIONS.items():
        points = grid(per_axis, dim)
        yield name, judge(points, -function(low + (high - low) * points))
    points, rng = grid(10, 2), np.random.default_rng(7)
    squares = np.sum((points[:, None] - points[None]) ** 2, axis=-1)
    for name, kernel in KERNELS.items():
        root = np.linalg.cholesky(kernel(squares) + 1e-9 * np.eye(len(points)))
        yield name, judge(points, root @ rng.normal(size=len(points)))
