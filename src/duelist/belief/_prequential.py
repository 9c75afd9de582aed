"""The prequential likelihood-ratio confidence sequence, beside the paper's.

Let q_s be a forecast of answer s from the answers before it. With probability 1 - delta the truth
lies at all times t in

    C_t = {f : ||f||_k <= B, sum_s -log p(y_s | f) <= sum_s -log q_s(y_s) + log(1/delta)},

for prod_s q_s(y_s)/p(y_s | f) is a non-negative supermartingale under the true f (Ville 1939; see
docs/guarantees.md). Neither kappa nor an information gain enters.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from duelist.belief._answers import as_answer
from duelist.belief._base import AbstractUtilityBelief
from duelist.belief._constants import Constants
from duelist.belief._covariance import variance
from duelist.belief._fit import Problem
from duelist.belief._region import Region, shrink
from duelist.belief._rounding import of_sums
from duelist.belief._table import TableBelief
from duelist.domains import Action
from duelist.links import AbstractLink

_NODES = 20
_FLOOR = 1e-6
_PENALTIES = 4
"""Ellipsoids are made with lambda, 2 lambda, 4 lambda and 8 lambda, after one answer each."""


class PrequentialBelief(AbstractUtilityBelief):
    """A `TableBelief` with the bounds of the prequential sequence; made by `guaranteed_prior`.

    Estimates, deviations and samples are those of the table. The bounds are on differences of
    utilities; s of them bounds the probabilities (`preference_bounds`). They hold for all actions
    and all times at once with probability 1 - delta, whatever chooses the queries. What they
    exclude stays excluded: they are intersected over time. One answer costs O(n^3).

    Attributes:
        table: the fit, and both covariances of it.
        delta: the probability of failure to allow.
        forecast_loss: sum_s -log q_s(y_s).
        region: the bounds, and the last ellipsoid they came from.
    """

    table: TableBelief
    delta: Float[Array, ""]
    forecast_loss: Float[Array, ""]
    region: Region

    # ---- learning ----------------------------------------------------------------------------

    def tell(self, query: tuple[Action, ...], answer: Any) -> "PrequentialBelief":
        """Score the forecast of the answer, let the table learn it, and shrink the region."""
        answer = as_answer(answer, self.gram.dtype)
        return self._shrunk(self.table.tell(query, answer), query, answer)

    def expecting(self, query: tuple[Action, ...]) -> "PrequentialBelief":
        """The region shrunk by the answer s(h_t), which promises nothing."""
        query = self.table.as_query(query)
        x, x2 = query if len(query) == 2 else (query[0], None)
        expected = self.link.probability(self.difference(x, x2))
        return self._shrunk(self.table.expecting(query), query, expected)

    def _shrunk(
        self, table: TableBelief, query: tuple[Action, ...], answer: Float[Array, ""]
    ) -> "PrequentialBelief":
        loss = self.forecast_loss + self._surprise(query, answer)
        told = dataclasses.replace(self, table=table, forecast_loss=loss)
        turn = jnp.left_shift(1, table.count % _PENALTIES).astype(loss.dtype)
        problem = told.problem._replace(lam=turn * self.constants.lam)
        bound = self.constants.bound
        region = shrink(self.region, problem, table.fit.w, told.allowed_loss, bound)
        return dataclasses.replace(told, region=region)

    def forecast(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """q, the forecast probability of the answer yes: s averaged over the Laplace posterior."""
        return averaged(self.link, self.difference(x, x2), self.deviation(x, x2))

    def _surprise(self, query: tuple[Action, ...], answer: Float[Array, ""]) -> Float[Array, ""]:
        """-log q(answer); zero for a duel of an action with itself, which counts for nothing."""
        x, x2 = query if len(query) == 2 else (query[0], None)
        h, deviation = self.difference(x, x2), self.deviation(x, x2)
        yes, no = averaged(self.link, h, deviation), averaged(self.link, -h, deviation)
        loss = -answer * jnp.log(yes) - (1 - answer) * jnp.log(no)
        return loss if x2 is None else jnp.where(jnp.equal(x, x2), 0, loss)

    @property
    def allowed_loss(self) -> Float[Array, ""]:
        """R_t, the summed loss up to which a utility belongs to C_t, rounded up."""
        rounding = of_sums(self.table.answers, self.forecast_loss)
        return self.forecast_loss - jnp.log(self.delta) + rounding

    @property
    def problem(self) -> Problem:
        """What the fit of the table minimises."""
        table = self.table
        return Problem(table.answers, table.link, table.gram, table.factor, table.constants.lam)

    # ---- bounds ------------------------------------------------------------------------------

    @property
    def level(self) -> float:
        """0: the bounds are on differences of utilities."""
        return 0.0

    def lcb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The lower bound on f(x) - f(x2), or on f(x)."""
        return -self.region.upper.T[self._place(x), self._place(x2)]

    def ucb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The upper bound on f(x) - f(x2), or on f(x)."""
        return self.region.upper[self._place(x), self._place(x2)]

    def width(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The shape of the last ellipsoid, in units of the prior's standard deviation.

        The bounds are at most `utility_beta` times as far from the ellipsoid's centre.
        """
        return jnp.sqrt(variance(self.region.covariance, x, x2))

    @property
    def utility_beta(self) -> Float[Array, ""]:
        """The coefficient of the width on the utility scale."""
        return self.region.radius

    def _place(self, x: Action) -> Any:
        """Where `x` stands in the tables of the region: x_null last, after all actions."""
        n = self.gram.shape[0]
        if x is None:
            return n
        return slice(0, n) if isinstance(x, slice) else x

    # ---- what the table knows ----------------------------------------------------------------

    @property
    def link(self) -> AbstractLink:
        """s."""
        return self.table.link

    @property
    def constants(self) -> Constants:
        """lambda and B; kappa and L are not used."""
        return self.table.constants

    @property
    def gram(self) -> Float[Array, "n n"]:
        """K."""
        return self.table.gram

    @property
    def count(self) -> Int[Array, ""]:
        """The answers told, duels of an action with itself included."""
        return self.table.count

    def utility(self, x: Action) -> Float[Array, "..."]:
        """f_t(x), for duels up to a constant."""
        return self.table.utility(x)

    def utilities(self, x: Action, x2: Action) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """f_t(x) and f_t(x2), shaped so that arithmetic on them gives a table if both are ALL."""
        return self.table.utilities(x, x2)

    def difference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """h_t(x, x2) = f_t(x) - f_t(x2)."""
        return self.table.difference(x, x2)

    def preference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """s(h_t(x, x2))."""
        return self.table.preference(x, x2)

    def deviation(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The standard deviation of f(x) - f(x2) under the Laplace posterior."""
        return self.table.deviation(x, x2)

    def information(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """log(1 + sigma_t^2 / (lambda kappa))."""
        return self.table.information(x, x2)

    def sample(self, key: PRNGKeyArray) -> Callable[[Action], Float[Array, "..."]]:
        """A utility function drawn from the Laplace posterior."""
        return self.table.sample(key)


def averaged(
    link: AbstractLink, h: Float[Array, "*shape"], deviation: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """The mean of s(z) over z ~ N(h, deviation^2), by Gauss-Hermite quadrature.

    Whatever its error it is a probability: the weights are positive, and the values at h and at -h
    are divided by their sum. Both keep above `_FLOOR`, for an infinite loss would void the bounds.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    yes, no = jnp.full_like(h, _FLOOR), jnp.full_like(h, _FLOOR)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        z = h + float(node) * deviation
        yes = yes + float(weight) * link.probability(z)
        no = no + float(weight) * link.probability(-z)
    return yes / (yes + no)
