"""What a belief keeps of every action of a catalogue: utility, variances, and kernel rows.

A search over n actions would otherwise compute n x m kernel values for every batch it looks at. The
rows k(p, .) of the points compared are kept in slabs of fixed height, so that a new point copies
one slab and the memory grows with the points.
"""

import abc
import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import tinygp
from jaxtyping import Array, Bool, Float, Int

from duelist._checks import is_concrete
from duelist.belief._broadcast import against, own

SLAB = 128
"""Rows per slab; searches compile once more for every slab."""


_BLOCK = 8192


class Step(NamedTuple):
    """How one answer changed the posterior on the points.

    Attributes:
        worst: u with M + u u' the new M of the worst-case weights.
        laplace: the same of the Laplace weights.
        renewed: whether the Laplace weights were brought up to date, so that u is not all.
    """

    worst: Float[Array, " c"]
    laplace: Float[Array, " c"]
    renewed: Bool[Array, ""]


class AbstractItems(eqx.Module):
    """Everything of length n.

    Attributes:
        prior: k(x, x).
        utility: f_t(x).
        variance: sigma_t(x)^2 with the worst-case weights.
        laplace: sigma_t(x)^2 with the Laplace weights.
    """

    prior: eqx.AbstractVar[Float[Array, " n"]]
    utility: eqx.AbstractVar[Float[Array, " n"]]
    variance: eqx.AbstractVar[Float[Array, " n"]]
    laplace: eqx.AbstractVar[Float[Array, " n"]]

    @abc.abstractmethod
    def reserve(self, places: int) -> "AbstractItems":
        """With room for at least `places` points; a leading axis of stacked items is kept."""

    @abc.abstractmethod
    def with_rows(
        self,
        kernel: tinygp.kernels.Kernel,
        features: Float[Array, "n d"],
        points: Sequence[Float[Array, " d"]],
        places: Sequence[Int[Array, ""]],
    ) -> "AbstractItems":
        """With these points at these places."""

    @abc.abstractmethod
    def combined(self, vectors: Float[Array, "q c"]) -> Float[Array, "q n"]:
        """vectors @ k(P, x) for every action x."""

    @abc.abstractmethod
    def quadratic(self, explained: Float[Array, "c c"]) -> Float[Array, " n"]:
        """k(x, P) M k(P, x) for every action x."""

    def told(
        self, step: Step, w: Float[Array, " c"], laplace: Float[Array, "c c"]
    ) -> "AbstractItems":
        """After one answer, with the coefficients and the Laplace M that it left; O(n m).

        O(n m^2) when the Laplace weights were renewed, which happens at growing intervals.
        """
        return dataclasses.replace(self, **_updated(self, step, w, laplace))

    def products(self, vectors: Float[Array, "*shape 1 c"]) -> Float[Array, "*shape n"]:
        """vectors @ k(P, x); the axis of length one before the last is that of the actions."""
        flat = jnp.reshape(vectors, (-1, vectors.shape[-1]))
        return jnp.reshape(self.combined(flat), (*vectors.shape[:-2], self.prior.shape[0]))


class Items(AbstractItems):
    """With the kernel rows: 4 n m bytes in float32 for m points.

    Attributes:
        rows: k(p, x) for the points p compared (in their order) and all actions x.
    """

    rows: tuple[Float[Array, "slab n"], ...]
    prior: Float[Array, " n"]
    utility: Float[Array, " n"]
    variance: Float[Array, " n"]
    laplace: Float[Array, " n"]

    def reserve(self, places: int) -> "Items":
        """With slabs for at least `places` rows."""
        more = -(-places // SLAB) - len(self.rows)
        *stacked, n = self.prior.shape
        empty = tuple(jnp.zeros((*stacked, SLAB, n), self.prior.dtype) for _ in range(more))
        return eqx.tree_at(lambda items: items.rows, self, self.rows + empty)

    def with_rows(
        self,
        kernel: tinygp.kernels.Kernel,
        features: Float[Array, "n d"],
        points: Sequence[Float[Array, " d"]],
        places: Sequence[Int[Array, ""]],
    ) -> "Items":
        """With the rows of these points at these places; a place known to be one slab copies it."""
        rows = list(self.rows)
        for point, place in zip(points, places, strict=True):
            first, last = 0, len(rows)
            if is_concrete(place):
                first = min(int(place) // SLAB, last - 1)
                last = first + 1
            rows[first:last] = [
                _with_row(kernel, slab, place - SLAB * (first + k), features, point)
                for k, slab in enumerate(rows[first:last])
            ]
        return eqx.tree_at(lambda items: items.rows, self, tuple(rows))

    def combined(self, vectors: Float[Array, "q c"]) -> Float[Array, "q n"]:
        """Slab by slab."""
        return _products(self.rows, vectors)

    def quadratic(self, explained: Float[Array, "c c"]) -> Float[Array, " n"]:
        """In blocks of actions."""
        return _quadratic(self.rows, explained)


class LinearItems(AbstractItems):
    """For the kernel x'x': its rows are products of features, so none is kept.

    Attributes:
        features: those of all actions, the array that the catalogue has.
        points: features of the points compared, in their places.
    """

    features: Float[Array, "n r"]
    points: Float[Array, "c r"]
    prior: Float[Array, " n"]
    utility: Float[Array, " n"]
    variance: Float[Array, " n"]
    laplace: Float[Array, " n"]

    def reserve(self, places: int) -> "LinearItems":
        """With zeros for points to come, as many as a slab of rows holds at a time."""
        more = -(-places // SLAB) * SLAB - self.points.shape[-2]
        if more <= 0:
            return self
        padding = [(0, 0)] * (self.points.ndim - 2) + [(0, more), (0, 0)]
        return dataclasses.replace(self, points=jnp.pad(self.points, padding))

    def with_rows(
        self,
        kernel: tinygp.kernels.Kernel,
        features: Float[Array, "n r"],
        points: Sequence[Float[Array, " r"]],
        places: Sequence[Int[Array, ""]],
    ) -> "LinearItems":
        """With these points at these places."""
        del kernel, features
        kept = self.points
        for point, place in zip(points, places, strict=True):
            kept = kept.at[place].set(point)
        return dataclasses.replace(self, points=kept)

    def combined(self, vectors: Float[Array, "q c"]) -> Float[Array, "q n"]:
        """(vectors @ P) @ features', O(n r)."""
        used = vectors[:, : self.points.shape[0]]
        few = jnp.matmul(used, self.points[: used.shape[1]], precision=jax.lax.Precision.HIGHEST)
        return jnp.matmul(few, self.features.T, precision=jax.lax.Precision.HIGHEST)

    def quadratic(self, explained: Float[Array, "c c"]) -> Float[Array, " n"]:
        """x'(P'MP)x, in blocks of actions; O(n r^2)."""
        places = min(explained.shape[0], self.points.shape[0])
        few = self.points[:places]
        inner = few.T @ explained[:places, :places] @ few
        return jax.lax.map(lambda x: x @ inner @ x, self.features, batch_size=_BLOCK)


def prior_items(kernel: tinygp.kernels.Kernel, features: Float[Array, "n d"]) -> AbstractItems:
    """Before any answer, with room for a first slab of rows; without rows if k(x, x') = x'x'."""
    prior = own(kernel, features)
    vectors = {"prior": prior, "variance": prior, "laplace": prior}
    vectors["utility"] = jnp.zeros_like(prior)
    if isinstance(kernel, tinygp.kernels.DotProduct):
        points = jnp.zeros((0, features.shape[1]), prior.dtype)
        return LinearItems(features=features, points=points, **vectors).reserve(1)
    return Items(rows=(), **vectors).reserve(1)


def items_of(
    kernel: tinygp.kernels.Kernel,
    features: Float[Array, "n d"],
    points: Float[Array, "m d"],
    *,
    w: Float[Array, " c"],
    worst: Float[Array, "c c"],
    laplace: Float[Array, "c c"],
) -> AbstractItems:
    """From scratch for the m points in use and the posterior on them; O(n m^2)."""
    items = prior_items(kernel, features)
    if points.shape[0] == 0:
        return items
    items = _filled(items, kernel, features, points)
    (utility,) = items.combined(w[None, :])
    variance, curved = (items.prior - items.quadratic(each) for each in (worst, laplace))
    return dataclasses.replace(items, utility=utility, variance=variance, laplace=curved)


def _filled(
    items: AbstractItems,
    kernel: tinygp.kernels.Kernel,
    features: Float[Array, "n d"],
    points: Float[Array, "m d"],
) -> AbstractItems:
    """With all the points there are."""
    if isinstance(items, LinearItems):
        room = items.reserve(points.shape[0])
        return dataclasses.replace(room, points=room.points.at[: points.shape[0]].set(points))
    slabs = [points[k : k + SLAB] for k in range(0, points.shape[0], SLAB)]
    rows = tuple(_slab(kernel, slab, features) for slab in slabs)
    return eqx.tree_at(lambda kept: kept.rows, items, rows)


@eqx.filter_jit
def _slab(
    kernel: tinygp.kernels.Kernel, points: Float[Array, "m d"], features: Float[Array, "n d"]
) -> Float[Array, "slab n"]:
    """k(p, x) for a slab of points, zero beyond them."""
    return jnp.pad(against(kernel, points, features), [(0, SLAB - points.shape[0]), (0, 0)])


@eqx.filter_jit
def _with_row(
    kernel: tinygp.kernels.Kernel,
    slab: Float[Array, "slab n"],
    place: Int[Array, ""],
    features: Float[Array, "n d"],
    point: Float[Array, " d"],
) -> Float[Array, "slab n"]:
    """The slab with k(point, .) as its row `place`; as it was if it has no such row."""
    here = jnp.arange(slab.shape[0], dtype=jnp.int32) == place
    row = against(kernel, features, point[None, :])[:, 0]
    return jnp.where(here[:, None], row[None, :], slab)


@eqx.filter_jit
def _updated(
    items: AbstractItems, step: Step, w: Float[Array, " c"], laplace: Float[Array, "c c"]
) -> dict[str, Float[Array, " n"]]:
    """Utility and both variances."""
    worst, curved, utility = items.combined(jnp.stack([step.worst, step.laplace, w]))
    renewed = jax.lax.cond(
        step.renewed,
        lambda: items.prior - items.quadratic(laplace),
        lambda: items.laplace - jnp.square(curved),
    )
    variance = items.variance - jnp.square(worst)
    return {"utility": utility, "variance": variance, "laplace": renewed}


def _products(
    rows: tuple[Float[Array, "slab n"], ...], vectors: Float[Array, "q c"]
) -> Float[Array, "q n"]:
    """vectors @ rows, slab by slab; places beyond the slabs are not in use."""
    parts = [vectors[:, k * SLAB : (k + 1) * SLAB] for k in range(len(rows))]
    terms = [
        jnp.matmul(part, slab[: part.shape[1]], precision=jax.lax.Precision.HIGHEST)
        for part, slab in zip(parts, rows, strict=True)
        if part.shape[1] > 0
    ]
    return sum(terms[1:], terms[0])


@eqx.filter_jit
def _quadratic(
    rows: tuple[Float[Array, "slab n"], ...], explained: Float[Array, "c c"]
) -> Float[Array, " n"]:
    """k(x, P) M k(P, x) for every action, in blocks of actions."""
    n = rows[0].shape[1]
    block = min(n, _BLOCK)

    def add(k: Array, total: Float[Array, " n"]) -> Float[Array, " n"]:
        # The last block overlaps the one before it, for no slice reaches beyond the end.
        begin = jnp.minimum(k * block, n - block)
        part = tuple(jax.lax.dynamic_slice_in_dim(slab, begin, block, axis=1) for slab in rows)
        values = jnp.concatenate(part)[: explained.shape[0]]
        few = explained[: values.shape[0], : values.shape[0]]
        squares = jnp.sum(values * (few @ values), axis=0)
        return jax.lax.dynamic_update_slice_in_dim(total, squares, begin, axis=0)

    return jax.lax.fori_loop(0, -(-n // block), add, jnp.zeros(n, explained.dtype))
