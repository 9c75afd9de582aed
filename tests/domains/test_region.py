"""M_t on a box, where it is a ball: searches within it, draws from it, and what it says of points.

With ucb(x, x') = u(x) - u(x') + w and u(x) = -|x - c|^2, M_t = {x : u(x) >= max u - w} is the ball
of radius sqrt(w) about c.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from duelist.domains import Box

CENTRE, WIDTH = np.array([0.4, 0.45]), 0.04
RADIUS = WIDTH**0.5


def utility(x):
    return -jnp.sum((x - jnp.broadcast_to(jnp.asarray(CENTRE, x.dtype), x.shape)) ** 2, -1)


def distance(x):
    return np.linalg.norm(np.asarray(x) - CENTRE, axis=-1)


class Found(NamedTuple):
    """What every search within M_t found, and which of some points belong to it."""

    fell_back: jax.Array
    leader: jax.Array
    members: jax.Array
    best: jax.Array
    pair: jax.Array
    played: jax.Array
    draws: jax.Array


@eqx.filter_jit
def search(domain, width, points, key):
    """All searches in one program: M_t depends on `width`, which is negative if nobody passes."""
    found = domain.plausible(lambda x, x2: utility(x) - utility(x2) + width, 0.0, utility)
    within = found.members

    def squared(x, x2):
        return jnp.sum((x - x2) ** 2, axis=-1)

    return Found(
        found.fell_back,
        within.leader,
        within(points),
        domain.argmax(lambda x: x[..., 0], key, within),
        jnp.stack(domain.argmax_pair(squared, key, within)),
        jnp.stack(domain.maxmin(lambda x, x2: -squared(x, x2), key, within)),
        jax.vmap(lambda key: domain.sample(key, within))(jr.split(key, 400)),
    )


POINTS = np.vstack([np.random.default_rng(0).uniform(size=(1000, 2)), [[-5.0, 0.4]]])


@pytest.fixture(scope="module")
def box():
    return Box([0.0, 0.0], [1.0, 1.0])


@pytest.fixture(scope="module")
def ball(box):
    return search(box, jnp.float32(WIDTH), jnp.asarray(POINTS, jnp.float32), jr.key(0))


def test_membership(ball):
    assert not bool(ball.fell_back)
    assert distance(ball.leader) < 1e-3
    clear = np.abs(distance(POINTS) - RADIUS) > 1e-3
    np.testing.assert_array_equal(
        np.asarray(ball.members)[clear], (distance(POINTS) < RADIUS)[clear]
    )


def test_nothing_outside_the_box_belongs(box):
    """Nor where all of the box does."""
    everyone = search(box, jnp.float32(1.0), jnp.asarray(POINTS, jnp.float32), jr.key(0))
    assert np.asarray(everyone.members).tolist() == [True] * 1000 + [False]


def test_draws_are_uniform_on_it(ball):
    away = distance(ball.draws)
    assert np.max(away) < RADIUS + 1e-3
    assert np.mean(away < RADIUS / 2) == pytest.approx(0.25, abs=0.07)
    np.testing.assert_allclose(np.mean(ball.draws, axis=0), CENTRE, atol=0.03)


def test_searches_stay_within(ball):
    """The best point by the first coordinate is on the rim; so is the widest pair, twice as far."""
    np.testing.assert_allclose(ball.best[0], CENTRE[0] + RADIUS, atol=0.02)
    assert distance(ball.best) < RADIUS + 1e-3
    assert np.max(distance(ball.pair)) < RADIUS + 1e-3
    assert np.linalg.norm(ball.pair[0] - ball.pair[1]) > 1.8 * RADIUS


def test_both_players_stay_within(ball):
    """max min of -|x - x'|^2: the leader at the centre, the follower anywhere on the rim."""
    leader, follower = distance(ball.played)
    assert leader < 0.05
    assert RADIUS - 0.05 < follower < RADIUS + 1e-3


def test_if_nobody_passes_the_leader_stands_alone(box, ball):
    points = jnp.asarray(POINTS, jnp.float32).at[7].set(ball.leader)
    alone = search(box, jnp.float32(-1.0), points, jr.key(0))
    assert bool(alone.fell_back)
    assert np.flatnonzero(alone.members).tolist() == [7]
    for found in (alone.best, alone.pair, alone.played, alone.draws):
        np.testing.assert_array_equal(found, jnp.broadcast_to(ball.leader, found.shape))


def test_a_set_too_small_to_hit_is_sampled_near_the_leader(box, ball):
    """A ball of radius 1e-3, and what the tolerance of ties adds: 1e-4 of the box."""
    small = search(box, jnp.float32(1e-6), jnp.asarray(POINTS, jnp.float32), jr.key(1))
    radius = (1e-6 + float(box.tolerance)) ** 0.5
    assert radius / 2 < np.max(distance(small.draws)) < radius + 1e-4
    assert distance(small.leader) < 1e-3
