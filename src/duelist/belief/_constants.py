"""The constants of the confidence sequences: lambda, B, kappa and L, and the range they hold on."""

from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import jax.numpy as jnp
from jaxtyping import Array, Float

from duelist._checks import as_positive, check_choice, is_concrete
from duelist.kernels import largest_difference, largest_value
from duelist.links import AbstractLink

RangeRule: TypeAlias = Literal["general", "nonnegative", "domain"]


class Constants(NamedTuple):
    """lambda, B, the radius of the link's argument, and kappa and L on that radius."""

    lam: Float[Array, ""]
    bound: Float[Array, ""]
    radius: Float[Array, ""]
    kappa: Float[Array, ""]
    lipschitz: Float[Array, ""]

    @property
    def noise(self) -> Float[Array, ""]:
        """lambda kappa, the noise variance in eq. def_sigma."""
        return self.lam * self.kappa


def constants(
    link: AbstractLink,
    gram: Float[Array, "n n"],
    lam: Any,
    bound: Any,
    *,
    duels: bool,
    rule: RangeRule = "general",
) -> Constants:
    """kappa and L for utilities with ||f||_k <= bound under this kernel.

    The link's argument is f(x) for direct feedback, at most B max sqrt(k(x, x)), and f(x) - f(x')
    for duels, at most B times
    - `general`: 2 max sqrt(k(x, x)), true for every kernel (2B under the unit kernel);
    - `nonnegative`: sqrt(2) max sqrt(k(x, x)), true where k >= 0;
    - `domain`: max ||k(x, .) - k(x', .)||, the exact supremum over the domain, the narrowest.

    Raises:
        ValueError: `lam` or `bound` is not a finite number above zero, `lam` is too small for
            the rounding of the dtype (below 6.4e-6 in float32 for the unit kernel), `rule` is
            unknown, or "nonnegative" is claimed of a kernel with negative values.
    """
    check_choice("range_rule", rule, get_args(RangeRule))
    largest = largest_value(gram)
    return constants_on(
        link, lam, bound, largest, distance_within(largest, gram, rule) if duels else largest
    )


def constants_on(
    link: AbstractLink,
    lam: Any,
    bound: Any,
    largest: Float[Array, ""],
    reach: Float[Array, ""],
) -> Constants:
    """kappa and L where |argument of the link| <= B `reach`; `largest` is max sqrt(k(x, x)).

    Raises:
        ValueError: as `constants`.
    """
    lam = _resolved(as_positive("lam", lam, largest.dtype), largest)
    bound = as_positive("bound", bound, largest.dtype)
    radius = bound * reach
    return Constants(lam, bound, radius, link.kappa(radius), link.lipschitz(radius))


def _resolved(lam: Float[Array, ""], largest: Float[Array, ""]) -> Float[Array, ""]:
    """`lam`, refused below eps^(3/4) max k(x, x), where rounding swamps fit and widths."""
    if is_concrete(lam) and is_concrete(largest):
        eps = float(jnp.finfo(largest.dtype).eps)
        least = eps**0.75 * float(largest) ** 2
        if float(lam) < least:
            raise ValueError(
                f"lam: expected at least {least:.2g} in {largest.dtype}, got {float(lam):.2g}"
            )
    return lam


def distance_within(
    largest: Float[Array, ""], gram: Float[Array, "n n"], rule: RangeRule
) -> Float[Array, ""]:
    """The bound on ||k(x, .) - k(x', .)|| by `rule`, from the largest norm of k(x, .) or `gram`."""
    if rule == "domain":
        return largest_difference(gram)
    if rule == "general":
        return 2 * largest
    if is_concrete(gram) and bool(jnp.any(gram < 0)):
        raise ValueError(
            "range_rule: expected a kernel without negative values for 'nonnegative', got one "
            f"with {float(jnp.min(gram)):.3g}; use 'general' or 'domain'"
        )
    return jnp.sqrt(2.0).astype(gram.dtype) * largest
