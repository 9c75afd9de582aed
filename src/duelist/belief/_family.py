"""The kernels among which the adaptive belief decides: main effects and their interaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import tinygp
from jaxtyping import Array, Bool, Float

from duelist._checks import as_fraction, as_positive, check_instance
from duelist.belief._broadcast import BroadcastingKernel
from duelist.domains import AbstractContextual, AbstractDomain
from duelist.kernels import PerContext


class Effects(BroadcastingKernel):
    """v ((1 - a) mean_i k_i(x_i, x'_i) + a k(x, x')): main effects of each feature, and the rest.

    k_i is the squared exponential of the i-th feature with length scale l spans, k that of all
    features with l sqrt(max(d / 2, 1)) spans, so that points do not become strangers to each other
    because the features are many. A functional analysis of variance with two terms (Durrande et
    al. 2012; Duvenaud et al. 2011): with a > 0 it is universal, but a sum of functions of one
    feature is learnt from far fewer answers.

    A category is equal to another or not: unlike ones are sqrt(2) length scales apart.

    Attributes:
        span: the range of each feature over the domain, the unit of l.
        categorical: which features are categories.
        length_scale: l.
        variance: v, k(x, x).
        interaction: a.
    """

    span: Float[Array, " d"]
    categorical: Bool[Array, " d"]
    length_scale: Float[Array, ""]
    variance: Float[Array, ""]
    interaction: Float[Array, ""]

    def evaluate(self, X1: Any, X2: Any) -> Array:
        """The value for two feature vectors, a scalar."""
        squares = self._squares(X1 - X2, self.span, self.categorical)
        several = max(squares.shape[-1] / 2, 1)
        main, rest = jnp.mean(jnp.exp(-squares)), jnp.exp(-jnp.sum(squares) / several)
        return self.variance * ((1 - self.interaction) * main + self.interaction * rest)

    def broadcast(self, a: Float[Array, "... d"], b: Float[Array, "... d"]) -> Float[Array, "..."]:
        """The values, one feature after the other: a short last axis makes for slow loops."""
        d = a.shape[-1]
        squares = [
            self._squares(a[..., i] - b[..., i], self.span[i], self.categorical[i])
            for i in range(d)
        ]
        main = sum(jnp.exp(-square) for square in squares) / d
        rest = jnp.exp(-sum(squares) / max(d / 2, 1))
        return self.variance * ((1 - self.interaction) * main + self.interaction * rest)

    def _squares(self, difference: Array, span: Array, categorical: Array) -> Array:
        """Half of the squared distance along a feature, in length scales."""
        squares = (difference / (self.length_scale * span)) ** 2 / 2
        return jnp.where(categorical, (difference != 0).astype(squares.dtype), squares)


class Member(NamedTuple):
    """The settings of one kernel of a family, see `Effects`."""

    length_scale: float
    variance: float
    interaction: float = 0.5


FAMILY: tuple[Member, ...] = (Member(0.05, 2.5), Member(0.1, 3), Member(0.2, 4), Member(0.4, 6))
"""What `adaptive_prior` decides among unless told otherwise (docs/defaults.md)."""


class Relation(NamedTuple):
    """How far what is learnt in one context holds in others, see `PerContext`.

    The kernel of contexts is an `Effects` of variance one and `stretch` times the length scale of
    the actions' kernel, each in units of its own range.
    """

    stretch: float
    share: float


RELATIONS: tuple[Relation, ...] = (Relation(1.0, 0.9),)
"""What `adaptive_prior` decides among on domains with contexts (docs/contexts.md)."""


def default_family(domain: AbstractDomain) -> Sequence[tinygp.kernels.Kernel]:
    """What `adaptive_prior` decides among: `effects`, and of contexts `contextual_effects`."""
    if isinstance(domain, AbstractContextual) and domain.context_size > 0:
        return contextual_effects(domain)
    return effects(domain)


def effects(domain: AbstractDomain, members: Sequence[Member] = FAMILY) -> list[Effects]:
    """The kernels of a family on a domain, in units of the range of its features.

    A feature that is the same everywhere gets the range 1 and makes no difference.

    Raises:
        ValueError: there is no member, or a setting of one is out of range; the message names it.
    """
    return _effects(_span(domain), domain.categorical(), members)


def contextual_effects(
    domain: AbstractContextual,
    members: Sequence[Member] = FAMILY,
    relations: Sequence[Relation] = RELATIONS,
) -> list[PerContext]:
    """The kernels of a family on a domain with contexts: every member with every relation.

    Raises:
        TypeError: `domain` has no contexts.
        ValueError: no feature is the context's; there is no member or no relation, or a setting of
            one is out of range; the message names it.
    """
    check_instance("domain", domain, AbstractContextual)
    size = domain.context_size
    if size == 0:
        raise ValueError("domain: expected one with features of the context, got context_size 0")
    if not relations:
        raise ValueError("relations: expected at least one, got none")
    span = _span(domain)
    both = [(member, relation) for member in members for relation in relations]
    scales = [float(as_positive("stretch", r.stretch)) * m.length_scale for m, r in both]
    kinds = domain.categorical()
    contexts = _effects(span[-size:], kinds[-size:], [Member(scale, 1.0) for scale in scales])
    actions = _effects(span[:-size], kinds[:-size], [member for member, _ in both])
    return [
        PerContext(of_actions, alike, as_fraction("share", relation.share, span.dtype), size)
        for of_actions, alike, (_, relation) in zip(actions, contexts, both, strict=True)
    ]


def _span(domain: AbstractDomain) -> Float[Array, " d"]:
    """The range of every feature, 1 where it is the same everywhere."""
    probes = domain.probes()
    span = jnp.max(probes, axis=0) - jnp.min(probes, axis=0)
    return jnp.where(span > 0, span, 1)


def _effects(
    span: Float[Array, " d"], categorical: Bool[Array, " d"], members: Sequence[Member]
) -> list[Effects]:
    if not members:
        raise ValueError("members: expected at least one kernel, got none")
    return [
        Effects(
            span,
            categorical,
            as_positive("length_scale", member.length_scale, span.dtype),
            as_positive("variance", member.variance, span.dtype),
            as_fraction("interaction", member.interaction, span.dtype),
        )
        for member in members
    ]
