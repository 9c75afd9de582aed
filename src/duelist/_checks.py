"""Checks of what a caller passes in: a failure names the argument, what came, what was expected.

Values are looked at only when they are concrete. Inside `jit` or `vmap` an argument is a tracer
without a value, so only its shape and dtype are checked there.
"""

from collections.abc import Collection, Sequence
from typing import Any

import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def is_concrete(value: Any) -> bool:
    """Whether `value` holds numbers that can be looked at now (it is not a tracer)."""
    return not isinstance(value, jax.core.Tracer)


def as_floats(name: str, value: Any, ndim: int, dtype: Any = None) -> Array:
    """`value` as a floating array of `ndim` axes, all entries finite.

    Integers become JAX's default float; a floating input keeps its dtype unless `dtype` is given.

    Raises:
        TypeError: `value` is not numeric.
        ValueError: it has another number of axes, or holds NaN or infinity.
    """
    array = _as_array(name, value)
    if array.ndim != ndim:
        raise ValueError(
            f"{name}: expected an array with {ndim} axes, got shape {tuple(array.shape)}"
        )
    if dtype is None and not jnp.issubdtype(array.dtype, jnp.floating):
        dtype = jnp.result_type(float)
    array = array if dtype is None else array.astype(dtype)
    if is_concrete(array) and not bool(jnp.all(jnp.isfinite(array))):
        bad = int(jnp.sum(~jnp.isfinite(array)))
        raise ValueError(f"{name}: expected finite numbers, got {bad} that are NaN or infinite")
    return array


def as_square(name: str, value: Any) -> Array:
    """`value` as a square matrix; see `as_floats` for the dtype and the other errors."""
    matrix = as_floats(name, value, 2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: expected a square matrix, got shape {tuple(matrix.shape)}")
    return matrix


def _as_array(name: str, value: Any) -> Array:
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: expected numbers, got {type(value).__name__}") from error
    if array.dtype == bool or not (
        jnp.issubdtype(array.dtype, jnp.floating) or jnp.issubdtype(array.dtype, jnp.integer)
    ):
        raise TypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
    return array


def as_positive(name: str, value: Any, dtype: Any = None) -> Array:
    """`value` as a scalar greater than zero; see `as_floats` for the dtype and the errors."""
    scalar = as_floats(name, value, 0, dtype)
    if is_concrete(scalar) and not bool(scalar > 0):
        raise ValueError(f"{name}: expected a number greater than 0, got {float(scalar)!r}")
    return scalar


def as_nonnegative(name: str, value: Any, dtype: Any = None) -> Array:
    """`value` as a scalar of at least zero; see `as_floats` for the dtype and the errors."""
    scalar = as_floats(name, value, 0, dtype)
    if is_concrete(scalar) and not bool(scalar >= 0):
        raise ValueError(f"{name}: expected a number of at least 0, got {float(scalar)!r}")
    return scalar


def as_fraction(name: str, value: Any, dtype: Any = None) -> Array:
    """`value` as a scalar strictly between zero and one; see `as_floats` for the errors."""
    scalar = as_floats(name, value, 0, dtype)
    if is_concrete(scalar) and not bool((scalar > 0) & (scalar < 1)):
        raise ValueError(f"{name}: expected a number between 0 and 1, got {float(scalar)!r}")
    return scalar


def as_index(name: str, value: Any, size: int) -> Array:
    """`value` as an integer scalar from 0 to `size` - 1.

    Raises:
        TypeError: `value` is not an integer.
        ValueError: it is out of range, or an array with axes.
    """
    index = _as_array(name, value)
    if not jnp.issubdtype(index.dtype, jnp.integer):
        raise TypeError(f"{name}: expected action numbers, which are integers, got {value!r}")
    if index.ndim != 0:
        raise ValueError(f"{name}: expected single action numbers, got shape {index.shape}")
    if is_concrete(value) and not 0 <= int(value) < size:
        raise ValueError(f"{name}: expected action numbers from 0 to {size - 1}, got {int(value)}")
    return index.astype(jnp.int32)


def check_count(name: str, value: Any, at_least: int = 1) -> int:
    """`value` as a Python integer of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an integer, got {value!r}")
    if value < at_least:
        raise ValueError(f"{name}: expected at least {at_least}, got {value}")
    return int(value)


def check_seeds(seeds: Sequence[int] | int) -> list[int]:
    """The seeds as Python integers; 0, ..., seeds - 1 if a number of them is given.

    Raises:
        TypeError, ValueError: there are none, or one is no integer from 0 to 2^32 - 1.
    """
    if isinstance(seeds, (int, np.integer)):
        return list(range(check_count("seeds", seeds)))
    numbers = [check_count("seeds", seed, at_least=0) for seed in seeds]
    if not numbers:
        raise ValueError("seeds: expected at least one seed, got none")
    if max(numbers) >= 2**32:
        raise ValueError(f"seeds: expected numbers below 2^32, got {max(numbers)}")
    return numbers


def check_choice(name: str, value: str, choices: Collection[str]) -> str:
    """`value` if it is one of `choices`; the error lists them."""
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(sorted(choices))}, got {value!r}")
    return value


def check_instance(name: str, value: Any, kind: type | tuple[type, ...]) -> None:
    """Raise a `TypeError` that names the argument unless `value` is a `kind`."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(k.__name__ for k in kinds)
        raise TypeError(f"{name}: expected {expected}, got {type(value).__name__}")
