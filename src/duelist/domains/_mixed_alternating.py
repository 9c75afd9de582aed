"""A mixed domain too large to list: searches alternate between continuous and discrete blocks."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from duelist._checks import check_count
from duelist.domains._base import Action
from duelist.domains._box import as_tolerance
from duelist.domains._continuous import STEPS, AbstractContinuous
from duelist.domains._continuous_ascent import Value, ascend
from duelist.domains._continuous_pool import INCUMBENTS, low_discrepancy
from duelist.domains._mixed_check import as_mixed_action
from duelist.domains._mixed_encoding import Constraint, Encoding, Values

_ROUNDS = 3
_MOVES = 8
_TRIALS = 65536
_EVERY_LEVEL = 9


class AlternatingDomain(AbstractContinuous):
    """A mixed domain with continuous parameters or many combinations; made by `mixed_domain`.

    Polishing climbs along the continuous coordinates with the discrete ones held, then takes the
    best change of a single discrete coordinate as long as there is one that helps, and so on.

    Attributes:
        encoding: between values and actions.
        constraint: which values are allowed.
        moves: changes of one discrete coordinate: which one, to which level or by how many.
    """

    encoding: Encoding
    incumbents: Float[Array, "m d"]
    base: Float[Array, "n d"]
    tolerance: Float[Array, ""]
    starts: int = eqx.field(static=True)
    constraint: Constraint | None = eqx.field(static=True)
    moves: tuple[tuple[int, int, bool], ...] = eqx.field(static=True)

    def __init__(
        self,
        encoding: Encoding,
        constraint: Constraint | None,
        candidates: int = 512,
        starts: int = 8,
        tolerance: Any = None,
    ) -> None:
        check_count("candidates", candidates, at_least=16)
        self.encoding, self.constraint = encoding, constraint
        self.starts = check_count("starts", starts, at_least=2)
        self.tolerance = as_tolerance(tolerance, encoding.low.dtype)
        self.moves = _moves(encoding)
        d, dtype = encoding.low.size, encoding.low.dtype
        self.base = jnp.asarray(low_discrepancy(candidates, d), dtype)
        trials = encoding.snapped(jnp.asarray(low_discrepancy(_TRIALS, d), dtype))
        allowed = trials[np.asarray(self.admitted(trials))][:INCUMBENTS]
        if allowed.shape[0] == 0:
            raise ValueError(f"constraint: none of {_TRIALS} combinations tried satisfies it")
        self.incumbents = jnp.resize(allowed, (INCUMBENTS, d))

    @property
    def search(self) -> str:
        """How the domain is searched."""
        return "alternating"

    # ---- actions -----------------------------------------------------------------------------

    def action_of(self, values: Values) -> Float[Array, " d"]:
        """The action with these values."""
        return self.as_action("values", self.encoding.encode(values))

    def values_of(self, action: Action) -> dict[str, Any]:
        """The values of an action, by name."""
        return self.encoding.decode(self.as_action("action", action))

    def as_action(self, name: str, value: Any) -> Action:
        """`value` as a vector that belongs to the domain."""
        return as_mixed_action(self, name, value)

    def categorical(self) -> Bool[Array, " d"]:
        """Those of the categories and switches."""
        return self.encoding.category

    def features(self, action: Action) -> Float[Array, "*batch d"]:
        """What the kernel compares."""
        return self.encoding.features(jnp.asarray(action, self.base.dtype))

    def probes(self) -> Float[Array, "q d"]:
        """The features of the first and the last level of everything, and of the incumbents."""
        ends = self.encoding.snapped(
            jnp.asarray([[0.0], [1.0]], self.base.dtype) + 0 * self.base[:2]
        )
        return self.features(self.action(jnp.concatenate([ends, self.incumbents])))

    def contains(self, action: Action) -> Bool[Array, ""]:
        """Whether the vector lies on levels within the bounds and is not excluded."""
        x = jnp.asarray(action, self.base.dtype)
        if x.shape != self.encoding.low.shape:
            return jnp.array(False)
        inside = jnp.all((x >= self.encoding.low) & (x <= self.encoding.high))
        whole = jnp.all((self.encoding.levels == 0) | (x == jnp.round(x)))
        return inside & whole & self._satisfied(x)

    # ---- the unit cube -----------------------------------------------------------------------

    def action(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The actions at points of the cube."""
        return self.encoding.action(z)

    def locate(self, features: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The points of the cube at which actions with these features are."""
        return self.encoding.locate(features)

    def snapped(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """The centres of levels."""
        return self.encoding.snapped(z)

    @property
    def constrained(self) -> bool:
        """Whether there is a constraint."""
        return self.constraint is not None

    def admitted(self, z: Float[Array, "*batch d"]) -> Bool[Array, "*batch"]:
        """What the constraint allows."""
        return self._satisfied(self.action(z))

    def _satisfied(self, action: Float[Array, "*batch d"]) -> Bool[Array, "*batch"]:
        if self.constraint is None:
            return jnp.ones(action.shape[:-1], bool)
        return self.constraint(self.encoding.view(action))

    # ---- polishing ---------------------------------------------------------------------------

    def polish(
        self, value: Value, start: Float[Array, "starts p"], steps: int = STEPS
    ) -> tuple[Float[Array, "starts p"], Float[Array, " starts"]]:
        """Continuous and discrete blocks in turn, never to a lower value."""
        points = start.shape[1] // self.dim
        free = jnp.tile(self.encoding.levels == 0, points)
        continuous = any(p.levels == 0 for p in self.encoding.varying)

        def block(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
            z, values = carry
            if continuous:
                z, values = ascend(value, z, free, steps=steps, tolerance=self.tolerance)
            return (self._stepped(value, z, values) if self.moves else (z, values)), None

        rounds = _ROUNDS if continuous and self.moves else 1
        return jax.lax.scan(block, (start, value(start)), None, length=rounds)[0]

    def _stepped(
        self, value: Value, z: Float[Array, "starts p"], values: Float[Array, " starts"]
    ) -> tuple[Float[Array, "starts p"], Float[Array, " starts"]]:
        """The best single change of a discrete coordinate, again and again while one helps."""

        def go_on(carry: tuple[Array, Array, Array, Array]) -> Array:
            _, _, helped, count = carry
            return jnp.any(helped) & (count < _MOVES)

        def move(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            z, values, _, count = carry
            trials = self._neighbours(z)
            scores = value(trials)
            best = jnp.argmax(scores, axis=0)
            score = jnp.take_along_axis(scores, best[None], axis=0)[0]
            helped = score > values + self.tolerance
            found = jnp.take_along_axis(trials, best[None, :, None], axis=0)[0]
            z = jnp.where(helped[:, None], found, z)
            return z, jnp.where(helped, score, values), helped, count + 1

        begin = (z, values, jnp.ones(z.shape[0], bool), jnp.zeros((), jnp.int32))
        z, values, _, _ = jax.lax.while_loop(go_on, move, begin)
        return z, values

    def _neighbours(self, z: Float[Array, "starts p"]) -> Float[Array, "moves starts p"]:
        """Every start after every move of every one of its points."""
        found: list[Array] = []
        for offset in range(0, z.shape[1], self.dim):
            for column, amount, relative in self.moves:
                here, levels = z[:, offset + column], self.encoding.levels[column]
                level = jnp.floor(here * levels) + amount if relative else jnp.asarray(amount)
                level = jnp.clip(level.astype(z.dtype), 0, levels - 1)
                centre = jnp.broadcast_to((level + 0.5) / levels, here.shape)
                found.append(z.at[:, offset + column].set(centre))
        return jnp.stack(found)


def _moves(encoding: Encoding) -> tuple[tuple[int, int, bool], ...]:
    """All levels of a coordinate that has few; else steps up and down by powers of two."""
    moves: list[tuple[int, int, bool]] = []
    for column, parameter in enumerate(encoding.varying):
        levels = parameter.levels
        if parameter.kind == "category" or 0 < levels <= _EVERY_LEVEL:
            moves += [(column, level, False) for level in range(levels)]
        elif levels:
            sizes = [1 << power for power in range((levels // 2).bit_length())]
            moves += [(column, sign * size, True) for size in sizes for sign in (-1, 1)]
    return tuple(moves)
