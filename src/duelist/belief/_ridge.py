"""GP-UCB's belief: kernel ridge regression on the answers themselves, as if they were values."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import tinygp
from jaxtyping import Array, Float, Int

from duelist._checks import as_floats, as_positive, check_instance
from duelist.belief._answers import as_answer
from duelist.belief._beta import FixedBeta
from duelist.belief._covariance import posterior_covariance, rank_one
from duelist.belief._direct import AbstractDirectBelief, only_action
from duelist.domains import Action, FiniteDomain
from duelist.kernels import factor, gram

_FIRST_REFRESH = 16
_REFRESH_GROWTH = 8


class RidgeBelief(AbstractDirectBelief):
    """The posterior of a Gaussian process on the probability of yes (Srinivas et al. 2009).

    With N the counts and b the sums of the answers, C = (K^-1 + N/rho^2)^-1 and the estimate is
    m + K w, where w = (b - N (m + K w))/rho^2. Neither knows that answers are binary: estimates
    and bounds may leave [0, 1]. Made by `ridge_prior`, moved on by `tell`.

    Attributes:
        noise: rho^2, the noise variance.
        mean: m, the estimate before any answer.
        asked: N, the answers to each action.
        yes: b, the sum of them.
        values: m + K w.
        covariance: C, kept by rank-one updates.
        count: the answers told.
    """

    gram: Float[Array, "n n"]
    factor: Float[Array, "n n"]
    noise: Float[Array, ""]
    mean: Float[Array, ""]
    beta_rule: FixedBeta
    asked: Float[Array, " n"]
    yes: Float[Array, " n"]
    weights: Float[Array, " n"]
    values: Float[Array, " n"]
    covariance: Float[Array, "n n"]
    count: Int[Array, ""]
    next_refresh: Int[Array, ""]

    def tell(self, query: tuple[Action, ...], answer: Any) -> "RidgeBelief":
        """Count the answer, update the covariance by rank one and solve for w; O(n^2)."""
        x = only_action(query, self.size)
        answer = as_answer(answer, self.gram.dtype)
        asked, yes = self.asked.at[x].add(1), self.yes.at[x].add(answer)
        count = self.count + 1
        covariance, following = self._refreshed(
            rank_one(self.covariance, (x,), self.noise), asked, count
        )
        weights = self._solved(asked, yes, covariance)
        return dataclasses.replace(
            self,
            asked=asked,
            yes=yes,
            weights=weights,
            values=self.mean + self.gram @ weights,
            covariance=covariance,
            count=count,
            next_refresh=following,
        )

    def expecting(self, query: tuple[Action, ...]) -> "RidgeBelief":
        """The covariance updated by rank one, the answer counted as the estimate; O(n^2)."""
        x = only_action(query, self.size)
        return dataclasses.replace(
            self,
            asked=self.asked.at[x].add(1),
            yes=self.yes.at[x].add(self.values[x]),
            covariance=rank_one(self.covariance, (x,), self.noise),
        )

    def _solved(
        self,
        asked: Float[Array, " n"],
        yes: Float[Array, " n"],
        covariance: Float[Array, "n n"],
    ) -> Float[Array, " n"]:
        """w after the answer: one Newton step from the last w.

        The problem is quadratic, so the step is exact but for the rounding in C, which every
        further step corrects: errors shrink instead of adding up.
        """
        residual = self.weights - (yes - asked * self.values) / self.noise
        step = covariance @ residual
        return self.weights - residual + asked * step / self.noise

    def _refreshed(
        self, covariance: Float[Array, "n n"], asked: Float[Array, " n"], count: Int[Array, ""]
    ) -> tuple[Float[Array, "n n"], Int[Array, ""]]:
        """C from scratch now and then, O(n^3) but only O(log t) times, against its drift."""
        due = count >= self.next_refresh
        covariance = jax.lax.cond(
            due,
            lambda: posterior_covariance(self.factor, jnp.diag(asked / self.noise)),
            lambda: covariance,
        )
        pace = jnp.maximum(count // _REFRESH_GROWTH, _FIRST_REFRESH)
        return covariance, jnp.where(due, count + pace, self.next_refresh)

    @property
    def size(self) -> int:
        """n, the number of actions."""
        return self.gram.shape[0]

    @property
    def probabilities(self) -> Float[Array, " n"]:
        """The ridge estimate, which may leave [0, 1]."""
        return self.values

    @property
    def widths(self) -> Float[Array, " n"]:
        """sigma, the posterior standard deviation."""
        return jnp.sqrt(jnp.maximum(jnp.diagonal(self.covariance), 0))

    @property
    def beta(self) -> Float[Array, ""]:
        """The fixed beta."""
        return self.beta_rule.value.astype(self.gram.dtype)


def ridge_prior(
    domain: FiniteDomain,
    kernel: tinygp.kernels.Kernel,
    *,
    noise: Any = 0.25,
    mean: Any = 0.0,
    beta: FixedBeta | None = None,
) -> RidgeBelief:
    """The belief of GP-UCB before any answer.

    Args:
        domain: the actions.
        kernel: a tinygp kernel on their features.
        noise: rho^2; 0.25 in the paper, the largest variance of a binary answer.
        mean: the estimate before any answer. 0 is plain ridge regression, which is what the paper
            names; 1/2 would shrink towards indifference instead of towards no.
        beta: `FixedBeta(1.0)` by default, as in the paper. No other rule is taken: the paper's
            beta_t(delta) is about the logistic estimate.

    Raises:
        TypeError, ValueError: an argument is of the wrong kind or out of range; the message names
            it. The same for an answer or a query passed to `tell`.
    """
    check_instance("domain", domain, FiniteDomain)
    beta = FixedBeta() if beta is None else beta
    check_instance("beta", beta, FixedBeta)
    matrix = gram(kernel, domain.points)
    dtype = matrix.dtype
    mean = as_floats("mean", mean, 0, dtype)
    zeros = jnp.zeros(domain.size, dtype)
    return RidgeBelief(
        gram=matrix,
        factor=factor(matrix),
        noise=as_positive("noise", noise, dtype),
        mean=mean,
        beta_rule=beta,
        asked=zeros,
        yes=zeros,
        weights=zeros,
        values=zeros + mean,
        covariance=matrix,
        count=jnp.zeros((), jnp.int32),
        next_refresh=jnp.array(_FIRST_REFRESH, jnp.int32),
    )
