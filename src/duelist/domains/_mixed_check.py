"""What every kind of mixed domain refuses as an action."""

from typing import Any, Protocol

from jaxtyping import Array, Bool, Float

from duelist._checks import as_floats, is_concrete
from duelist.domains._mixed_encoding import Encoding


class _Mixed(Protocol):
    @property
    def encoding(self) -> Encoding: ...

    def contains(self, action: Any) -> Bool[Array, ""]: ...


def as_mixed_action(domain: Any, name: str, value: Any) -> Float[Array, " d"]:
    """`value` as a vector that belongs to a mixed domain.

    Raises:
        TypeError, ValueError: it is none; the message says why.
    """
    mixed: _Mixed = domain
    x = as_floats(name, value, 1, mixed.encoding.low.dtype)
    if x.shape != mixed.encoding.low.shape:
        raise ValueError(
            f"{name}: expected a vector of {mixed.encoding.low.size} numbers, got shape {x.shape}"
        )
    if is_concrete(x) and not bool(mixed.contains(x)):
        raise ValueError(
            f"{name}: expected an action of the domain, got {x}, which is out of range, between "
            "levels or excluded by the constraint"
        )
    return x
