"""Bad arguments of the policies' constructors are named, without the type checks of the tests."""

import jax.numpy as jnp
import pytest
import tinygp

from duelist import policies
from duelist.belief import prior
from duelist.domains import FiniteDomain

pytestmark = pytest.mark.usefixtures("unchecked")

POINTS = jnp.asarray([[0.0], [0.4], [1.0]], jnp.float32)
NAMES = (
    *("Doubler", "DoubleThompson", "EUBO", "IDS", "MaxInP", "MaxMinLCB", "MaxMinUCB"),
    *("MultiSBM", "RUCB", "RandomDuel", "RandomRating", "Sparring", "UCB"),
)


@pytest.mark.parametrize("name", NAMES)
def test_domain_and_belief_are_checked(name):
    policy, domain = getattr(policies, name), FiniteDomain(POINTS)
    kernel = tinygp.kernels.ExpSquared(jnp.float32(0.4))
    belief = prior(domain, kernel, "ratings" if name in {"Sparring", "UCB"} else "duels")
    policy(domain, belief)
    with pytest.raises(TypeError, match="domain: expected AbstractDomain, got ndarray"):
        policy(POINTS.__array__(), belief)
    with pytest.raises(TypeError, match=r"belief: expected \w+Belief, got ExpSquared"):
        policy(domain, kernel)


def test_these_are_all_policies():
    made = [name for name in dir(policies) if isinstance(getattr(policies, name), type)]
    kinds = [getattr(policies, name) for name in made]
    finals = [n for n, k in zip(made, kinds, strict=True) if issubclass(k, policies.AbstractPolicy)]
    assert {n for n in finals if not n.startswith("Abstract")} == set(NAMES)


def test_restrict_is_true_or_false():
    domain = FiniteDomain(POINTS)
    belief = prior(domain, tinygp.kernels.ExpSquared(jnp.float32(0.4)))
    with pytest.raises(TypeError, match="restrict: expected bool, got str"):
        policies.MaxMinLCB(domain, belief, "M_t")
