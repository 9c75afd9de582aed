"""Domains with a context: features by hand, searches of the base, and nothing compiled again."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from duelist.domains import (
    ALL,
    Box,
    Candidates,
    Catalogue,
    Categorical,
    ContextualDomain,
    FiniteDomain,
    Integer,
    in_context,
    mixed_domain,
)

POINTS = np.arange(8.0).reshape(4, 2)
CONTEXTS = [[0.5, -1.0, 2.0], [1.5, 3.0, 2.0]]


def domain_of(dtype=np.float32):
    return ContextualDomain(FiniteDomain(POINTS.astype(dtype)), CONTEXTS)


def test_the_context_follows_the_features_of_the_action(x64):
    domain = domain_of(x64).given([7.0, 8.0, 9.0])
    rows = np.concatenate([POINTS, np.tile([7.0, 8.0, 9.0], (4, 1))], axis=1)
    assert domain.features(ALL).dtype == x64
    np.testing.assert_array_equal(domain.features(ALL), rows)
    np.testing.assert_array_equal(domain.features(2), rows[2])
    np.testing.assert_array_equal(domain.features(jnp.array([[1], [3]])), rows[[[1], [3]]])
    np.testing.assert_array_equal(domain.rivals(), rows)
    assert (domain.size, domain.distinct, domain.context_size) == (4, None, 3)


@pytest.mark.usefixtures("unchecked")
def test_vectors_and_mixed_actions_have_contexts_too():
    box = ContextualDomain(Box([0.0], [4.0]), CONTEXTS)
    np.testing.assert_allclose(box.features(jnp.array([1.0])), [0.25, 0.5, -1, 2])
    near = box.near(jnp.array([[0.75, 9.0, 9.0, 9.0]]), jnp.array([1.0]))
    np.testing.assert_allclose(near.base.incumbents[0], [0.75])
    mixed = mixed_domain({"n": Integer(0, 2), "c": Categorical(["a", "b"])})
    action = mixed.action_of({"n": 1, "c": "b"})
    given = ContextualDomain(mixed, CONTEXTS)
    expected = [*np.asarray(mixed.features(action)), *CONTEXTS[0]]
    np.testing.assert_array_equal(given.features(action), expected)
    np.testing.assert_array_equal(given.categorical(), [False, True, False, False, False])


@pytest.mark.parametrize(
    "base",
    [FiniteDomain(POINTS), Box([0.0, 0.0], [6.0, 7.0], candidates=64, starts=2), Catalogue(POINTS)],
    ids=lambda base: type(base).__name__,
)
def test_searches_see_the_scores_under_the_context(base):
    """The best action follows the context: f = -|x - z|^2, by the distances themselves."""
    domain = ContextualDomain(base, [[0.0, 0.0]])

    @eqx.filter_jit
    def best(domain):
        def score(x):
            features = domain.features(x)
            x, z = features[..., :2], features[..., 2:]
            return -jnp.sum((x - z) ** 2, axis=-1)

        return domain.base.features(domain.argmax(score, jr.key(0)))

    targets = POINTS[[3, 0]] if base.size else np.array([[0.3, 0.9], [0.5, 0.2]])
    for target in targets:
        np.testing.assert_allclose(best(domain.given(target)), target, atol=2e-3)


def test_a_change_of_context_compiles_nothing():
    traces = []

    @eqx.filter_jit
    def total(domain):
        traces.append(1)
        return jnp.sum(domain.features(ALL))

    sums = [float(total(domain_of().given([z, z, z]))) for z in (0.0, 1.0, 2.0)]
    assert sums == [28.0, 40.0, 52.0]
    assert len(traces) == 1


def test_the_probes_hold_every_action_and_every_typical_context():
    for contexts in (CONTEXTS, np.arange(18.0).reshape(6, 3)):
        rows = np.asarray(ContextualDomain(FiniteDomain(POINTS), contexts).probes())
        assert {tuple(row) for row in rows[:, :2]} == {tuple(row) for row in POINTS}
        assert {tuple(row) for row in rows[:, 2:]} == {tuple(row) for row in np.asarray(contexts)}


def test_in_context_changes_all_domains_with_contexts_and_nothing_else():
    stacked = jax.tree.map(lambda x: jnp.stack([x, x]), domain_of())
    plain = FiniteDomain(POINTS)
    tree = in_context({"one": domain_of(), "two": stacked, "three": plain}, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(tree["one"].context, [1, 2, 3])
    np.testing.assert_array_equal(tree["two"].context, [[1, 2, 3]] * 2)
    assert tree["three"].points is plain.points


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ContextualDomain("grid", CONTEXTS), TypeError, "base: expected AbstractDomain"),
        (lambda: ContextualDomain(domain_of(), CONTEXTS), TypeError, "base: .*ContextualDomain"),
        (
            lambda: ContextualDomain(Candidates([POINTS]), CONTEXTS),
            TypeError,
            "base: .*got Candidates",
        ),
        (lambda: ContextualDomain(FiniteDomain(POINTS), [1.0]), ValueError, "contexts: .*2 axes"),
        (
            lambda: ContextualDomain(FiniteDomain(POINTS), np.zeros((0, 2))),
            ValueError,
            "contexts: expected at least one",
        ),
        (lambda: domain_of().given([1.0, 2.0]), ValueError, "context: expected a vector of 3"),
        (lambda: domain_of().given([1.0, 2.0, np.nan]), ValueError, "context: expected finite"),
        (lambda: domain_of().given("prompt"), TypeError, "context: expected numbers"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_errors_name_the_argument(make, error, message):
    with pytest.raises(error, match=message):
        make()
