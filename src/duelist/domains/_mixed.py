"""Mixed domains: numbers, integers, choices and switches together, with constraints.

A domain of few actions is enumerated and searched exhaustively (`EnumeratedDomain`); in any other,
searches alternate between the continuous and the discrete coordinates (`AlternatingDomain`).
`mixed_domain` decides, and the attribute `search` says what it decided.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import tinygp
from jaxtyping import Array

from duelist._checks import check_choice, check_count, check_instance
from duelist.domains._mixed_alternating import AlternatingDomain
from duelist.domains._mixed_encoding import Constraint, Encoding
from duelist.domains._mixed_enumerated import EnumeratedDomain
from duelist.domains._mixed_parameters import AbstractParameter
from duelist.kernels import OnFeatures


def mixed_domain(
    parameters: Mapping[str, AbstractParameter],
    constraint: Constraint | None = None,
    *,
    limit: int = 1024,
    dtype: Any = None,
    **options: Any,
) -> EnumeratedDomain | AlternatingDomain:
    """The domain of all combinations of values that the constraint allows.

    Args:
        parameters: by name; see `Real`, `Integer`, `Categorical`, `Ordinal`, `boolean`, `Fixed`.
        constraint: takes a mapping from names to values of many actions at once and returns an
            array of booleans. Numbers come as arrays; choices are compared with one of them, as in
            `lambda v: (v["shape"] != "round") | (v["width"] < 3)`. It must work under `jax.jit`: no
            `if`, `and`, `or`, `not` on values, but `&`, `|`, `~`.
        limit: up to so many combinations, without continuous parameters, are enumerated.
        dtype: of actions, JAX's default float if not given.
        options: `candidates`, `starts`, `tolerance` of the alternating search, see `Box`.

    Raises:
        TypeError: a parameter is of another kind, or the constraint does not give booleans.
        ValueError: no parameter varies, or nothing satisfies the constraint.
    """
    check_count("limit", limit)
    for name, parameter in parameters.items():
        check_instance(name, parameter, AbstractParameter)
    encoding = Encoding(parameters, jnp.result_type(float) if dtype is None else dtype)
    if not encoding.varying:
        raise ValueError(f"parameters: expected one that varies, got {tuple(parameters)}")
    combinations = math.prod(p.levels for p in encoding.varying)
    if constraint is not None:
        _check_constraint(encoding, constraint)
    if not 0 < combinations <= limit:
        return AlternatingDomain(encoding, constraint, **options)
    if options:
        raise ValueError(f"{next(iter(options))}: expected nothing for a domain that is enumerated")
    rows = [np.arange(p.levels) + p.bounds[0] for p in encoding.varying]
    actions = jnp.asarray(list(itertools.product(*rows)), encoding.low.dtype)
    if constraint is not None:
        actions = actions[np.asarray(constraint(encoding.view(actions)), bool)]
    if actions.shape[0] == 0:
        raise ValueError(f"constraint: none of {combinations} combinations satisfies it")
    return EnumeratedDomain(encoding, actions)


def mixed_kernel(
    domain: EnumeratedDomain | AlternatingDomain,
    numeric: tinygp.kernels.Kernel,
    categories: tinygp.kernels.Kernel,
    combine: Literal["product", "sum"] = "product",
) -> tinygp.kernels.Kernel:
    """A kernel on the features of a mixed domain: one on numbers, the other on categories.

    Args:
        domain: the domain, which says which features are which.
        numeric: on the features of numbers, integers and ordinals, each in [0, 1].
        categories: on those of categories and switches: `Hamming` or `Overlap`.
        combine: "product", where a change of category makes all actions unlike, or "sum", half of
            either, where categories shift the utility. With one sort of parameter alone its kernel
            is taken as it is.

    Raises:
        TypeError: a kernel is not tinygp's.
        ValueError: `combine` is neither.
    """
    check_instance("numeric", numeric, tinygp.kernels.Kernel)
    check_instance("categories", categories, tinygp.kernels.Kernel)
    check_choice("combine", combine, ("product", "sum"))
    category = np.asarray(domain.encoding.category)
    parts = [
        OnFeatures(tuple(np.flatnonzero(columns).tolist()), kernel)
        for columns, kernel in ((~category, numeric), (category, categories))
        if np.any(columns)
    ]
    if len(parts) == 1:
        return parts[0]
    first, second = parts
    return first * second if combine == "product" else 0.5 * (first + second)


def _check_constraint(encoding: Encoding, constraint: Constraint) -> None:
    """Raise a TypeError unless the constraint can be traced and gives a boolean per action."""

    def allowed(actions: Array) -> Any:
        return constraint(encoding.view(actions))

    several = jnp.broadcast_to(encoding.low, (3, encoding.low.size))
    try:
        jax.eval_shape(allowed, encoding.low)
        found = jax.eval_shape(allowed, several)
    except jax.errors.TracerBoolConversionError as error:
        raise TypeError(
            "constraint: expected &, | and ~ in the place of and, or, not and if"
        ) from error
    if not isinstance(found, jax.ShapeDtypeStruct) or (found.dtype, found.shape) != (bool, (3,)):
        raise TypeError(f"constraint: expected a boolean for each action, got {found}")
