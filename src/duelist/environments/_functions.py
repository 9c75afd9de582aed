"""Test functions of global optimisation, negated: utilities to be maximised.

The seven functions of the paper's appendix ("Test Environments"), and Levy and Hartmann-6 for boxes
of higher dimension. `objective` builds one by name; `Objective.grid` is the uniform mesh of the
paper's experiments and `scale_utilities` the affine map to [-3, 3].

Formulas are written for one point and mapped over leading axes. At a kink (a square root or a
modulus at zero) the derivative of that term is taken to be zero, so gradients are never NaN.
"""

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, final, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Array, Float, Real

from duelist._checks import as_floats, check_choice, check_count

Variant = Literal["printed", "released"]
"""`printed`: as the paper states it; `released`: as the authors' experiments ran it."""

Box = tuple[tuple[float, float], ...]
"""The (lower, upper) bound of each coordinate."""

Evaluate = Callable[[Float[Array, "*batch d"]], Float[Array, "*batch"]]
"""Utility of every point, unscaled."""

JAMIL_YANG = (
    "M. Jamil, X.-S. Yang: A literature survey of benchmark functions for global optimisation "
    "problems, Int. J. Math. Modelling and Numerical Optimisation 4(2), 2013"
)
SURJANOVIC_BINGHAM = (
    "S. Surjanovic, D. Bingham: Virtual Library of Simulation Experiments, Optimization Test "
    "Problems, 2013"
)


class Optimum(NamedTuple):
    """The maximisers of a utility in its box, its value there, and where they come from."""

    maximisers: tuple[tuple[float, ...], ...]
    maximum: float
    source: str


@final
class Objective(eqx.Module):
    """A utility function on a box.

    Everything is static: equal objectives hash equally, so a compiled function that takes one is
    not compiled again, and bounds are exact in whichever precision is asked for.
    """

    name: str = eqx.field(static=True)
    variant: Variant = eqx.field(static=True)
    box: Box = eqx.field(static=True)
    evaluate: Evaluate = eqx.field(static=True)
    optimum: Optimum = eqx.field(static=True)

    def __check_init__(self) -> None:
        for low, high in self.box:
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(f"box needs finite bounds, lower < upper; got {self.box}")
        if not self.box or any(len(x) != self.dim for x in self.optimum.maximisers):
            raise ValueError(f"box has {self.dim} coordinates; optimum is {self.optimum}")

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return len(self.box)

    @property
    def lower(self) -> Float[Array, " d"]:
        """Lower corner of the box, in JAX's default precision."""
        return jnp.asarray([low for low, _ in self.box])

    @property
    def upper(self) -> Float[Array, " d"]:
        """Upper corner of the box, in JAX's default precision."""
        return jnp.asarray([high for _, high in self.box])

    def __call__(self, x: Real[ArrayLike, "*batch d"]) -> Float[Array, "*batch"]:
        """Utility of each point, in the dtype of x. Points outside the box are not refused.

        Raises:
            TypeError: x is not numeric.
            ValueError: the last axis of x is not of length d, or x holds NaN or infinity.
        """
        points = as_floats("x", x, np.ndim(x))
        if points.shape[-1:] != (self.dim,):
            raise ValueError(f"x: expected shape (..., {self.dim}), got {points.shape}")
        return self.evaluate(points)

    def grid(self, per_axis: int = 10, dtype: DTypeLike | None = None) -> Float[Array, "n d"]:
        """The uniform mesh of n = per_axis**d points that includes both ends of every axis.

        Rows are in lexicographic order: the last coordinate varies fastest.

        Args:
            per_axis: points on each axis, at least 2.
            dtype: a floating dtype; JAX's default precision if None.

        Raises:
            TypeError: per_axis is not an integer, or dtype not floating.
            ValueError: per_axis < 2, or dtype is float64 while JAX's 64-bit mode is off.
        """
        per_axis = check_count("per_axis", per_axis, at_least=2)
        kind = _available_floating(jnp.result_type(float) if dtype is None else dtype)
        # This form of interpolation hits both ends exactly and is exactly symmetric about the
        # centre of a symmetric box, so that points tied in theory are tied in arithmetic.
        share = np.arange(per_axis) / (per_axis - 1)
        axes = [low * share[::-1] + high * share for low, high in self.box]
        mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        return jnp.asarray(mesh.reshape(-1, self.dim), dtype=kind)


def scale_utilities(
    values: Real[ArrayLike, "*shape"], low: float = -3.0, high: float = 3.0
) -> Float[Array, "*shape"]:
    """Map utilities affinely so that the smallest of all becomes low and the largest high.

    For concrete arrays, before anything is compiled: whether values can be scaled depends on them.

    Raises:
        TypeError: values are not numeric.
        ValueError: values are fewer than two, not finite or all equal (or so close or so far apart
            that their range is no positive finite number), or not low < high, both finite.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low, high: expected finite low < high, got {low} and {high}")
    array = as_floats("values", values, np.ndim(values))
    if array.size < 2:
        raise ValueError(f"values: expected at least 2, got shape {array.shape}")
    # NumPy's division is exact for span / span; compiled code may multiply by a reciprocal.
    host = np.asarray(array, dtype=np.float64)
    least, most = float(host.min()), float(host.max())
    span = most - least
    if not 0 < span < math.inf:
        raise ValueError(f"values: expected a positive finite range, got {least} to {most}")
    share = (host - least) / span
    return jnp.asarray(low * (1 - share) + high * share, dtype=array.dtype)


def _available_floating(dtype: DTypeLike) -> np.dtype:
    kind = jnp.dtype(dtype)
    if not jnp.issubdtype(kind, jnp.floating):
        raise TypeError(f"dtype: expected a floating dtype, got {kind}")
    if jax.dtypes.canonicalize_dtype(kind) != kind:
        raise ValueError(f"dtype: {kind} is not available while JAX's 64-bit mode is off")
    return kind


def _root(u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The square root of u >= 0, with derivative zero instead of infinity at u = 0."""
    zero = u == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, u)))


_over_points = partial(jnp.vectorize, signature="(d)->()")


@_over_points
def _ackley(x: Float[Array, " d"]) -> Float[Array, ""]:
    bowl = 20 * jnp.exp(-0.2 * _root(jnp.mean(x**2)))
    ripples = jnp.exp(jnp.mean(jnp.cos(2 * math.pi * x)))
    return bowl + ripples - 20 - math.e


@_over_points
def _branin(x: Float[Array, " 2"]) -> Float[Array, ""]:
    valley = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return -(valley**2) - 10 * (1 - 1 / (8 * math.pi)) * jnp.cos(x[0]) - 10


@_over_points
def _eggholder(x: Float[Array, " 2"]) -> Float[Array, ""]:
    shifted = x[1] + 47
    first = shifted * jnp.sin(_root(jnp.abs(shifted + x[0] / 2)))
    return first + x[0] * jnp.sin(_root(jnp.abs(x[0] - shifted)))


@_over_points
def _hoelder(x: Float[Array, " 2"]) -> Float[Array, ""]:
    radius = _root(jnp.sum(x**2))
    return jnp.abs(jnp.sin(x[0]) * jnp.cos(x[1]) * jnp.exp(jnp.abs(1 - radius / math.pi)))


@_over_points
def _matyas(x: Float[Array, " 2"]) -> Float[Array, ""]:
    return 0.48 * x[0] * x[1] - 0.26 * (x[0] ** 2 + x[1] ** 2)


def _michalewicz(x: Float[Array, " d"], m: int) -> Float[Array, ""]:
    i = jnp.arange(1, x.size + 1, dtype=x.dtype)
    return jnp.sum(jnp.sin(x) * jnp.sin(i * x**2 / math.pi) ** (2 * m))


# Built once, not per objective: static fields are compared by identity of their functions.
_michalewicz_5 = _over_points(partial(_michalewicz, m=5))
_michalewicz_10 = _over_points(partial(_michalewicz, m=10))


@_over_points
def _rosenbrock(x: Float[Array, " d"]) -> Float[Array, ""]:
    return -jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (x[:-1] - 1) ** 2)


@_over_points
def _levy(x: Float[Array, " d"]) -> Float[Array, ""]:
    w = 1 + (x - 1) / 4
    inner = (w[:-1] - 1) ** 2 * (1 + 10 * jnp.sin(math.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + jnp.sin(2 * math.pi * w[-1]) ** 2)
    return -(jnp.sin(math.pi * w[0]) ** 2) - jnp.sum(inner) - last


_HARTMANN_WEIGHTS = (1.0, 1.2, 3.0, 3.2)
_HARTMANN_SHARPNESS = (
    (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
    (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
    (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
    (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
)
_HARTMANN_CENTRES = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)


@_over_points
def _hartmann6(x: Float[Array, " 6"]) -> Float[Array, ""]:
    weights, sharpness, centres = (
        jnp.asarray(constants, dtype=x.dtype)
        for constants in (_HARTMANN_WEIGHTS, _HARTMANN_SHARPNESS, _HARTMANN_CENTRES)
    )
    return jnp.sum(weights * jnp.exp(-jnp.sum(sharpness * (x[None, :] - centres) ** 2, axis=1)))


class _Definition(NamedTuple):
    """The fields of an objective and of its optimum."""

    box: Box
    evaluate: Evaluate
    maximisers: tuple[tuple[float, ...], ...]
    maximum: float
    source: str = JAMIL_YANG


class _Family(NamedTuple):
    """What a name stands for: the dimensions d that exist and, for each variant, what d gives."""

    dims: range
    released: Callable[[int], _Definition]
    printed: Callable[[int], _Definition]


def _levelled(
    least: int, bounds: tuple[float, float], evaluate: Evaluate, x: float, source: str
) -> _Family:
    """Dimensions from `least` on: equal bounds, and the maximum 0 where every coordinate is x."""

    def define(dim: int) -> _Definition:
        return _Definition((bounds,) * dim, evaluate, ((x,) * dim,), 0.0, source)

    return _Family(range(least, sys.maxsize), define, define)


def _fixed(released: _Definition, printed: _Definition | None = None) -> _Family:
    """One dimension; one definition for both variants unless `printed` is given."""
    dim = len(released.box)
    return _Family(range(dim, dim + 1), lambda _: released, lambda _: printed or released)


def _michalewicz_lobe(i: int, k: int, m: int) -> tuple[float, float]:
    """The maximum (value, x) of g(x) = sin(x) sin^2m(i x^2/pi) between its zeros k and k + 1.

    There u = i x^2/pi runs over [k pi, (k+1) pi] and log g is strictly concave, because
    (log |sin u|)'' = (2i/pi) (cot u - 2u / sin^2 u) < 0: bisect on its derivative.
    """
    low, high = math.pi * math.sqrt(k / i), math.pi * math.sqrt((k + 1) / i)
    for _ in range(60):
        x = (low + high) / 2
        slope = 1 / math.tan(x) + 4 * m * i * x / math.pi / math.tan(i * x**2 / math.pi)
        low, high = (x, high) if slope > 0 else (low, x)
    x = (low + high) / 2
    return math.sin(x) * math.sin(i * x**2 / math.pi) ** (2 * m), x


def _define_michalewicz(dim: int, m: int, upper: float, evaluate: Evaluate) -> _Definition:
    """The function is a sum over coordinates, so each of them is maximised on its own."""
    best = [max(_michalewicz_lobe(i, k, m) for k in range(i)) for i in range(1, dim + 1)]
    source = f"bisection, coordinate by coordinate; for m = 10 as in {SURJANOVIC_BINGHAM}"
    peak, maximum = tuple(x for _, x in best), math.fsum(value for value, _ in best)
    return _Definition(((0.0, upper),) * dim, evaluate, (peak,), maximum, source)


# Published maximisers are refined to double precision: roots of the gradient, or of its component
# along the edge for Eggholder, whose maximisers lie on the boundary.
_HOELDER = (8.055023475736563, 9.664590019241272)
_HARTMANN = (
    *(0.20168951100670543, 0.15001069182345797, 0.47687397422189703),
    *(0.2753324304940561, 0.31165161660011326, 0.6573005340656204),
)
_FAMILIES = {
    "ackley": _levelled(1, (-5.0, 5.0), _ackley, 0.0, JAMIL_YANG),
    "branin": _fixed(
        _Definition(
            box=((-5.0, 10.0), (0.0, 15.0)),
            evaluate=_branin,
            maximisers=((-math.pi, 12.275), (math.pi, 2.275), (3 * math.pi, 2.475)),
            maximum=-5 / (4 * math.pi),
        )
    ),
    "eggholder": _fixed(
        released=_Definition(
            box=((-100.0, 100.0),) * 2,
            evaluate=_eggholder,
            maximisers=((89.79881531051853, 100.0),),
            maximum=227.12310592055005,
            source="dense mesh of the smaller box, then the root of the derivative on its edge",
        ),
        printed=_Definition(
            box=((-512.0, 512.0),) * 2,
            evaluate=_eggholder,
            maximisers=((512.0, 404.2318051137578),),
            maximum=959.6406627208507,
        ),
    ),
    "hartmann6": _fixed(
        _Definition(
            ((0.0, 1.0),) * 6, _hartmann6, (_HARTMANN,), 3.322368011415515, SURJANOVIC_BINGHAM
        )
    ),
    "hoelder": _fixed(
        _Definition(
            box=((-10.0, 10.0),) * 2,
            evaluate=_hoelder,
            maximisers=tuple((a * _HOELDER[0], b * _HOELDER[1]) for a in (-1, 1) for b in (-1, 1)),
            maximum=19.208502567886732,
        )
    ),
    "levy": _levelled(1, (-10.0, 10.0), _levy, 1.0, SURJANOVIC_BINGHAM),
    "matyas": _fixed(_Definition(((-10.0, 10.0),) * 2, _matyas, ((0.0, 0.0),), 0.0)),
    "michalewicz": _Family(
        range(1, sys.maxsize),
        released=partial(_define_michalewicz, m=5, upper=3.14, evaluate=_michalewicz_5),
        printed=partial(_define_michalewicz, m=10, upper=math.pi, evaluate=_michalewicz_10),
    ),
    "rosenbrock": _levelled(2, (-5.0, 10.0), _rosenbrock, 1.0, JAMIL_YANG),
}

OBJECTIVES = tuple(_FAMILIES)
"""The names `objective` knows."""


def objective(name: str, variant: str = "released", dim: int | None = None) -> Objective:
    """Build a test function by name.

    Args:
        name: one of `OBJECTIVES`.
        variant: `released` or `printed`. It matters for eggholder (released on [-100, 100]^2,
            printed on [-512, 512]^2) and michalewicz (released with m = 5 up to 3.14, printed with
            m = 10 up to pi); elsewhere both mean the same.
        dim: number of coordinates; by default 2, and 6 for hartmann6.

    Raises:
        TypeError: dim is not an integer.
        ValueError: there is no such name, variant or dimension; the message lists what there is.
    """
    family = _FAMILIES[check_choice("name", name, OBJECTIVES)]
    check_choice("variant", variant, get_args(Variant))
    size = max(2, family.dims.start) if dim is None else check_count("dim", dim)
    if size not in family.dims:
        exists = "exactly" if len(family.dims) == 1 else "at least"
        raise ValueError(f"dim: expected {exists} {family.dims.start} for {name}, got {size}")
    if variant == "printed":
        return _built(name, "printed", family.printed(size))
    return _built(name, "released", family.released(size))


def _built(name: str, variant: Variant, of: _Definition) -> Objective:
    optimum = Optimum(of.maximisers, of.maximum, of.source)
    return Objective(name, variant, of.box, of.evaluate, optimum)
