"""The belief that decides among kernels by what they make of the answers."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import tinygp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from duelist._checks import as_nonnegative, check_choice, check_instance
from duelist.belief._answers import as_answer
from duelist.belief._base import AbstractUtilityBelief
from duelist.belief._beta import AbstractBeta, GrowingBeta
from duelist.belief._bounds import AbstractFittedBelief, FeedbackKind, next_refresh, safe_root
from duelist.belief._constants import Constants
from duelist.belief._family import default_family
from duelist.belief._point_prior import point_prior
from duelist.belief._prequential import averaged
from duelist.belief._stake import expected_gain
from duelist.belief._table import TableBelief, prior
from duelist.domains import AbstractDomain, Action, FiniteDomain
from duelist.links import AbstractLink

_TOLERANCE = {jnp.dtype("float64"): 1e-5, jnp.dtype("float32"): 1e-4}


class AdaptiveBelief(AbstractUtilityBelief):
    """A Bayesian mixture of beliefs that differ in their kernel; made by `adaptive_prior`.

    Each member learns from every answer. Its weight is its evidence, the probability it gave to
    the answers: Laplace's approximation at growing intervals, and the forecasts of its Laplace
    posterior in between. Bounds are on differences of utilities. They are the members' own,
    averaged by weight: the mean of h_k - beta_t sigma_k, with the widths of `width`.

    They are calibrated by measurement (docs/defaults.md) and promise no probability; a belief of
    `guaranteed_prior` does.

    Attributes:
        members: beliefs with a leading axis [k] on all arrays.
        evidence: log of the probability of the answers under each member.
        beta_rule: the rule for beta_t.
        caution: how much an expected gain must exceed its cost, see `stake`.
    """

    members: AbstractFittedBelief
    evidence: Float[Array, " k"]
    beta_rule: AbstractBeta
    caution: Float[Array, ""]
    next_refresh: Int[Array, ""]

    # ---- learning ----------------------------------------------------------------------------

    def tell(self, query: tuple[Action, ...], answer: Any) -> "AdaptiveBelief":
        """Let every member forecast the answer, weigh it by that, and learn it."""
        query = self._first.as_query(query)
        answer = as_answer(answer, self.evidence.dtype)
        return _told(self.with_room(), query, answer)

    def expecting(self, query: tuple[Action, ...]) -> "AdaptiveBelief":
        """Every member expects the query; the evidence, which is what was answered, stays."""
        return _expecting(self.with_room(), self._first.as_query(query))

    def with_room(self, answers: int = 1) -> "AdaptiveBelief":
        """The same belief with room for so many more answers, see the members'."""
        return dataclasses.replace(self, members=self.members.with_room(answers))

    @property
    def weights(self) -> Float[Array, " k"]:
        """The posterior probability of each member; equal before any answer."""
        return jax.nn.softmax(self.evidence)

    # ---- bounds ------------------------------------------------------------------------------

    @property
    def level(self) -> float:
        """0: the bounds are on differences of utilities."""
        return 0.0

    @property
    def utility_beta(self) -> Float[Array, ""]:
        """beta_t / L, the coefficient of the width."""
        return self.beta_rule(self) / self.constants.lipschitz

    def lcb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """h_t - beta_t / L times the width."""
        return self.difference(x, x2) - self.utility_beta * self.width(x, x2)

    def ucb(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """h_t + beta_t / L times the width."""
        return self.difference(x, x2) + self.utility_beta * self.width(x, x2)

    def width(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The members' deviations, averaged by weight; for duels divided by `steepness`."""
        return self._mixed(self._deviations(x, x2)) * self._narrowing(x, x2)

    @property
    def doubts(self) -> bool:
        """True: the bounds are calibrated on the whole, which does not keep out every error."""
        return True

    def stake(self, x: Action, leader: Action) -> Float[Array, "..."]:
        """t L E[gain] - caution (s(|h|) - 1/2)/2 for actions that the bounds rule out, else 0.

        The gain of one answer is `expected_gain` of x over the leader, the members' mean; it would
        be made at every step, and with the horizon unknown as many are expected as were taken. The
        cost is the regret of the duel, if the leader is the best.
        """

        def gain(member: AbstractFittedBelief) -> Float[Array, "..."]:
            return expected_gain(
                self.link, member.difference(x, leader), member.deviation(x, leader)
            )

        h = self.difference(x, leader)
        steps = self.count.astype(h.dtype)
        cost = (self.link.probability(jnp.abs(h)) - 0.5) / 2
        worth = steps * self.constants.lipschitz * self._mixed(self._each(gain))
        return jnp.where(self.ucb(x, leader) < 0, worth - self.caution * cost, 0)

    def _narrowing(self, x: Action, x2: Action) -> Float[Array, "..."]:
        """1/sqrt(r + (1 - r) rho(h)), see `steepness`; 1 for direct feedback.

        r is the share of its prior variance that is left to the less known of both actions. What
        the prior says of them is as wide as ever; the rest comes from answers.
        """
        h = self.difference(x, x2)
        if x2 is None:
            return jnp.ones_like(h)
        first, second = self._paired(self._remaining, x, x2)
        share = jnp.maximum(first, second)
        return 1 / jnp.sqrt(share + (1 - share) * steepness(self.link, h))

    def _remaining(self, x: Action) -> Float[Array, "..."]:
        left = self._mixed(self._each(lambda m: m.laplace_variance(x) / m.prior_variance(x)))
        return jnp.minimum(left, 1)

    # ---- predictions -------------------------------------------------------------------------

    def utility(self, x: Action) -> Float[Array, "..."]:
        """f_t(x), the mean over the members."""
        return self._mixed(self._each(lambda m: m.utility(x)))

    def utilities(self, x: Action, x2: Action) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """f_t(x) and f_t(x2), shaped so that arithmetic on them gives a table if both are ALL."""
        return self._paired(self.utility, x, x2)

    def difference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """h_t(x, x2), the mean over the members."""
        if x2 is None:
            return self.utility(x)
        first, second = self.utilities(x, x2)
        return first - second

    def preference(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The forecast of the answer: s averaged over the members' Laplace posteriors."""

        def forecast(member: AbstractFittedBelief) -> Float[Array, "..."]:
            return averaged(self.link, member.difference(x, x2), member.deviation(x, x2))

        return self._mixed(self._each(forecast))

    def deviation(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """The standard deviation of the mixture: the members' own, and that between them."""
        h = self._each(lambda m: m.difference(x, x2))
        between = (h - self._mixed(h)[None]) ** 2
        return safe_root(self._mixed(self._deviations(x, x2) ** 2 + between))

    def information(self, x: Action, x2: Action = None) -> Float[Array, "..."]:
        """log(1 + s'(h_t) Var), twice the expected gain of asking (x, x2), the members' mean."""

        def gained(member: AbstractFittedBelief) -> Float[Array, "..."]:
            curvature = self.link.curvature(member.difference(x, x2))
            return jnp.log1p(curvature * member.deviation(x, x2) ** 2)

        return self._mixed(self._each(gained))

    def sample(self, key: PRNGKeyArray) -> Callable[[Action], Float[Array, "..."]]:
        """One utility function: of a member drawn by weight, from its Laplace posterior."""
        member_key, sample_key = jr.split(key)
        number = jr.categorical(member_key, self.evidence)
        return _member(self.members, number).sample(sample_key)

    def compared(self) -> tuple[Float[Array, "m p"], Float[Array, " m"]] | None:
        """The points that the members keep, and the mean of their utility there."""
        known = self._first.compared()
        if known is None:
            return None
        utilities = eqx.filter_vmap(lambda m: m.compared()[1])(self.members)
        return known[0], jnp.where(jnp.isfinite(known[1]), self._mixed(utilities), -jnp.inf)

    # ---- what the members share --------------------------------------------------------------

    @property
    def link(self) -> AbstractLink:
        """s."""
        return self.members.link

    @property
    def constants(self) -> Constants:
        """lambda, B, kappa and L of the first member; only L is used."""
        return self._first.constants

    @property
    def gain(self) -> Float[Array, ""]:
        """The realised information gain, the members' mean."""
        return self._mixed(self.members.gain)

    @property
    def count(self) -> Int[Array, ""]:
        """The answers told, duels of an action with itself included."""
        return self.members.count[0]

    @property
    def _first(self) -> AbstractFittedBelief:
        return _member(self.members, 0)

    def _each(self, function: Callable[[Any], Float[Array, "..."]]) -> Float[Array, "k ..."]:
        return eqx.filter_vmap(function)(self.members)

    def _mixed(self, values: Float[Array, "k ..."]) -> Float[Array, "..."]:
        if isinstance(self.members, TableBelief):
            return jnp.tensordot(self.weights, values, axes=1)
        # Term by term: the reduction would be fused with what it sums, in slow loops.
        terms = [self.weights[k] * values[k] for k in range(values.shape[0])]
        return sum(terms[1:], terms[0])

    def _deviations(self, x: Action, x2: Action) -> Float[Array, "k ..."]:
        return self._each(lambda m: m.deviation(x, x2))

    def _paired(
        self, function: Callable[[Action], Array], x: Action, x2: Action
    ) -> tuple[Array, Array]:
        """function(x) and function(x2), shaped to give a table where both are ALL."""
        first, second = function(x), function(x2)
        if isinstance(x, slice) and isinstance(x2, slice):
            return first[:, None], second[None, :]
        return first, second


def steepness(link: AbstractLink, h: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """rho(h) = 2 KL(s(h) || 1/2) / (h^2 I(h)), with I the Fisher information of one answer; >= 1.

    After N answers that put the estimate at h, the log-likelihood there exceeds that at 0 by
    N KL(s(h) || 1/2), where the quadratic of Laplace's method sees N I(h) h^2 / 2, too little by
    this factor: the link is flat where a duel is lopsided. A width divided by sqrt(rho) makes the
    bound touch 0 when the likelihood ratio says so (its signed root; Barndorff-Nielsen 1986).
    """
    size = jnp.abs(h)
    small = size < _SMALL
    safe = jnp.where(small, 1, size)
    ratio = 2 * link.divergence(safe) / (safe**2 * link.fisher(safe))
    return jnp.where(small, 1, jnp.maximum(ratio, 1))


_SMALL = 0.05
"""Below it rho is 1 to three digits, and its formula would cancel."""


@eqx.filter_jit
def _told(
    belief: AdaptiveBelief, query: tuple[Action, ...], answer: Float[Array, ""]
) -> AdaptiveBelief:
    arrays, rest = eqx.partition(belief.members, eqx.is_array)

    def learn(one: AbstractFittedBelief) -> tuple[AbstractFittedBelief, Float[Array, ""]]:
        member = eqx.combine(one, rest)
        forecast = _log_forecast(belief.link, member, query, answer)
        told = eqx.filter(member.tell(query, answer), eqx.is_array)
        return jax.tree.map(lambda new, old: None if new is old else new, told, one), forecast

    # One after the other, so that none waits for the slowest fit of all.
    changed, forecasts = jax.lax.map(learn, arrays)
    arrays = eqx.combine(changed, arrays)
    members = eqx.combine(arrays, rest)
    due = members.count[0] >= belief.next_refresh
    evidence = jax.lax.cond(
        due,
        lambda: jax.lax.map(lambda one: eqx.combine(one, rest).log_evidence(), arrays),
        lambda: belief.evidence + forecasts,
    )
    following = jnp.where(due, next_refresh(members.count[0]), belief.next_refresh)
    return dataclasses.replace(belief, members=members, evidence=evidence, next_refresh=following)


@eqx.filter_jit
def _expecting(belief: AdaptiveBelief, query: tuple[Action, ...]) -> AdaptiveBelief:
    members = eqx.filter_vmap(lambda member: member.expecting(query))(belief.members)
    return dataclasses.replace(belief, members=members)


def _log_forecast(
    link: AbstractLink,
    member: AbstractFittedBelief,
    query: tuple[Action, ...],
    answer: Float[Array, ""],
) -> Float[Array, ""]:
    """log of the probability that the member gave to the answer; 0 for a duel with itself."""
    x, x2 = query if len(query) == 2 else (query[0], None)
    h, deviation = member.difference(x, x2), member.deviation(x, x2)
    yes, no = averaged(link, h, deviation), averaged(link, -h, deviation)
    log = answer * jnp.log(yes) + (1 - answer) * jnp.log(no)
    # Where nothing is unknown of a duel it is one of an action with itself.
    return log if x2 is None else jnp.where(deviation > 0, log, 0)


def _member(members: Any, number: Any) -> Any:
    return jax.tree.map(lambda x: x[number] if eqx.is_array(x) else x, members)


def adaptive_prior(
    domain: AbstractDomain,
    feedback: FeedbackKind = "duels",
    *,
    kernels: Sequence[tinygp.kernels.Kernel] | None = None,
    link: AbstractLink | None = None,
    beta: AbstractBeta | None = None,
    caution: Any = 1.0,
    tolerance: Any = None,
) -> AdaptiveBelief:
    """The belief before any answer, with hyper-parameters that set themselves.

    Args:
        domain: the actions; of a finite domain tables are kept, of any other the points compared.
        feedback: "duels" for queries (x, x'), "ratings" for direct feedback on (x,).
        kernels: covariances of the utility to decide among, of one kind but with other parameters;
            their variance is that of the utility, for lambda is 1. By default `effects(domain)`, or
            `contextual_effects(domain)` if features of a context are among those of the actions.
        link: s, logistic by default.
        beta: the rule for beta_t, `GrowingBeta(0.65)` by default.
        caution: how many times its cost an expected gain must be for MaxMinLCB to ask about an
            action that the bounds rule out, see `AdaptiveBelief.stake`.
        tolerance: the error of f to fit to (default: 1e-5 in float64, 1e-4 in float32).

    Raises:
        TypeError, ValueError: an argument is of the wrong kind or out of range; the message names
            it.
    """
    check_instance("domain", domain, AbstractDomain)
    check_choice("feedback", feedback, ("duels", "ratings"))
    beta = GrowingBeta(0.65) if beta is None else beta
    kernels = default_family(domain) if kernels is None else kernels
    if not kernels:
        raise ValueError("kernels: expected at least one, got none")
    dtype = domain.probes().dtype
    settings: dict[str, Any] = {
        "link": link,
        "beta": beta,
        "width": "laplace",
        "space": "utility",
        "tolerance": _TOLERANCE[dtype] if tolerance is None else tolerance,
    }
    members = [
        prior(domain, kernel, feedback, **settings)
        if isinstance(domain, FiniteDomain)
        else point_prior(domain, kernel, feedback, **settings)
        for kernel in kernels
    ]
    stacked = jax.tree.map(lambda *xs: jnp.stack(xs) if eqx.is_array(xs[0]) else xs[0], *members)
    evidence = jnp.zeros(len(members), dtype)
    caution = as_nonnegative("caution", caution, dtype)
    return AdaptiveBelief(stacked, evidence, beta, caution, next_refresh(jnp.zeros((), jnp.int32)))
