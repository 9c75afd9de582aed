"""Beliefs on domains with contexts, against the same beliefs on the features of both."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import tinygp

from duelist.belief import (
    FAMILY,
    RELATIONS,
    Relation,
    adaptive_prior,
    contextual_effects,
    point_prior,
    prior,
    ridge_prior,
)
from duelist.domains import ALL, Candidates, ContextualDomain, FiniteDomain
from duelist.kernels import PerContext

RBF = tinygp.kernels.ExpSquared(0.5)
KERNEL = PerContext(RBF, RBF, 0.7)
POINTS = np.random.default_rng(0).uniform(size=(6, 2))
CONTEXTS = np.linspace(0, 1, 4)[:, None]


def domain_of():
    return ContextualDomain(FiniteDomain(POINTS), CONTEXTS)


def everything():
    """All 24 pairs of a context and an action as the actions of one domain."""
    rows = [np.concatenate([POINTS, np.tile(z, (6, 1))], axis=1) for z in CONTEXTS]
    return FiniteDomain(np.concatenate(rows))


def told(belief, duels, *, flat):
    """The belief after duels (context, x, x2), under contexts or by the number of the pair."""
    for step, (z, x, x2) in enumerate(duels):
        if flat:
            belief = belief.tell((6 * z + x, 6 * z + x2), step % 2)
        else:
            belief = belief.on(domain_of().given(CONTEXTS[z])).tell((x, x2), step % 2)
    return belief


@pytest.mark.parametrize("kind", ["worst-case", "laplace"])
def test_the_belief_is_that_of_the_concatenated_features(double, kind):
    """With the table of all pairs of action and context, which another implementation keeps."""
    rng = np.random.default_rng(1)
    duels = [tuple(int(v) for v in (rng.integers(4), *rng.permutation(6)[:2])) for _ in range(9)]
    ours = told(point_prior(domain_of(), KERNEL, width=kind, tolerance=1e-11), duels, flat=False)
    table = told(prior(everything(), KERNEL, width=kind, tolerance=1e-11), duels, flat=True)
    for z, context in enumerate(CONTEXTS):
        here, rows = ours.on(domain_of().given(context)), slice(6 * z, 6 * z + 6)
        for name in ("difference", "width", "deviation"):
            expected = getattr(table, name)(ALL, ALL)[rows, rows]
            np.testing.assert_allclose(getattr(here, name)(ALL, ALL), expected, atol=1e-7)


def test_a_belief_has_room_for_every_context():
    """More points than there are actions, all of them kept."""
    duels = [(z, x, x + 1) for z in range(4) for x in (0, 2, 4)]
    belief = told(point_prior(domain_of(), KERNEL, capacity=4), duels, flat=False)
    assert (int(belief.number), belief.capacity) == (24, 32)


def test_a_draw_is_exact_on_all_actions_of_the_context(double):
    """Mean and covariance of draws under a context that no answer was given in."""
    belief = told(point_prior(domain_of(), KERNEL), [(0, 0, 1), (3, 1, 2)], flat=False)
    here = belief.on(domain_of().given([0.4]))
    drawn = eqx.filter_jit(jax.vmap(lambda key: here.sample(key)(ALL)))
    draws = np.asarray(drawn(jr.split(jr.key(0), 2000)))
    spread = np.asarray(here.deviation(ALL, ALL))
    measured = np.std(draws[:, :, None] - draws[:, None, :], axis=0)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(measured[off], spread[off], rtol=0.08)


def test_the_default_family_has_a_shared_and_an_own_part():
    """k = v((1 - b) k_x + b k_x k_z) with the effects of actions and of contexts, by hand."""
    relations = [*RELATIONS, Relation(0.5, 0.3)]
    family = contextual_effects(domain_of(), relations=relations)
    assert len(family) == len(FAMILY) * 2
    x, x2, z, z2 = POINTS[0], POINTS[3], CONTEXTS[0], CONTEXTS[2]
    a, b = (jnp.asarray(np.concatenate(pair), jnp.float32) for pair in ((x, z), (x2, z2)))
    span = np.ptp(POINTS, axis=0)
    settings = [(m, r) for m in FAMILY for r in relations]
    for kernel, (m, r) in zip(family, settings, strict=True):
        squares = ((x - x2) / (m.length_scale * span)) ** 2 / 2
        k_x = 0.5 * np.exp(-squares).mean() + 0.5 * np.exp(-squares.sum())
        k_z = np.exp(-(((z - z2) / (r.stretch * m.length_scale)) ** 2) / 2).item()
        expected = m.variance * k_x * (1 - r.share + r.share * k_z)
        np.testing.assert_allclose(kernel.evaluate(a, b), expected, rtol=1e-5)


def test_the_adaptive_belief_takes_it_where_there_are_features_of_contexts():
    with_contexts = Candidates([POINTS, POINTS[:2]], context_size=1)
    without = Candidates([POINTS, POINTS[:2]])
    kinds = {
        type(adaptive_prior(domain).members.kernel).__name__
        for domain in (domain_of(), with_contexts)
    }
    assert kinds == {"PerContext"}
    assert type(adaptive_prior(without).members.kernel).__name__ == "Effects"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: prior(domain_of(), KERNEL), TypeError, "ContextualDomain; .*point_prior"),
        (lambda: prior(Candidates([POINTS]), RBF), TypeError, "got Candidates; .*adaptive_prior"),
        (lambda: ridge_prior(domain_of(), KERNEL), TypeError, "domain: expected FiniteDomain"),
        (
            lambda: point_prior(domain_of(), KERNEL, range_rule="domain"),
            ValueError,
            "range_rule: .*contexts without end",
        ),
        (lambda: contextual_effects(FiniteDomain(POINTS)), TypeError, "domain: expected Abstract"),
        (lambda: contextual_effects(Candidates([POINTS])), ValueError, "domain: .*context_size 0"),
        (lambda: contextual_effects(domain_of(), []), ValueError, "members: expected at least"),
        (
            lambda: contextual_effects(domain_of(), relations=[]),
            ValueError,
            "relations: expected at least",
        ),
        (
            lambda: contextual_effects(domain_of(), relations=[Relation(0.0, 0.5)]),
            ValueError,
            "stretch: expected a number greater than 0",
        ),
        (
            lambda: contextual_effects(domain_of(), relations=[Relation(1.0, 1.5)]),
            ValueError,
            "share: expected a number between 0 and 1",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_errors_name_the_argument(make, error, message):
    with pytest.raises(error, match=message):
        make()
