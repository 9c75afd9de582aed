"""How much of a time went into compiling."""

import time

import jax
import jax.numpy as jnp
import pytest

from duelist.experiments._compilation import _covered, timed


def test_the_first_call_compiles_and_the_second_does_not():
    @jax.jit
    def fresh(x):
        return jnp.sin(x) @ jnp.cos(x)

    x = jnp.ones((3, 3))
    _, seconds, compiling = timed(lambda: fresh(x).block_until_ready())
    assert 0 < compiling <= seconds
    result, seconds, compiling = timed(lambda: fresh(x).block_until_ready())
    assert compiling == 0 < seconds
    assert result.shape == (3, 3)


def test_what_is_not_compiled_here_does_not_count():
    result, seconds, compiling = timed(lambda: time.sleep(0.02) or "done")
    assert (result, compiling) == ("done", 0)
    assert seconds >= 0.02


def test_an_error_goes_through_and_ends_the_listening():
    with pytest.raises(ZeroDivisionError):
        timed(lambda: 1 / 0)
    jax.jit(lambda x: x + 2)(1.0)
    assert timed(lambda: None)[2] == 0


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0),
        ([(1, 3)], 2),
        ([(1, 3), (5, 6)], 3),
        ([(1, 4), (2, 3)], 3),  # nested
        ([(2, 5), (1, 3)], 4),  # overlapping, out of order
        ([(1, 2), (2, 3)], 2),
    ],
)
def test_nested_and_overlapping_intervals_count_once(intervals, length):
    assert _covered([(float(a), float(b)) for a, b in intervals]) == length
