"""Checks of arguments: what passes comes back in the right dtype, what fails is named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from duelist import _checks

SCALARS = [_checks.as_positive, _checks.as_nonnegative, _checks.as_fraction]


def test_floats_keep_their_dtype_and_integers_become_floats(x64):
    assert _checks.as_floats("a", jnp.ones(3, jnp.float16), 1).dtype == jnp.float16
    assert _checks.as_floats("a", jnp.ones(3, x64), 1).dtype == x64
    assert _checks.as_floats("a", [1, 2], 1).dtype == x64
    assert _checks.as_floats("a", 1, 0, jnp.float16).dtype == jnp.float16
    np.testing.assert_array_equal(_checks.as_floats("a", [[1, 2.5]], 2), [[1, 2.5]])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("check", SCALARS)
def test_scalars_are_finite(check, value):
    with pytest.raises(ValueError, match="size: expected finite numbers, got 1"):
        check("size", value)


@pytest.mark.parametrize("value", [[0.5], [[0.5]]])
@pytest.mark.parametrize("check", SCALARS)
def test_scalars_have_no_axes(check, value):
    with pytest.raises(ValueError, match="size: expected an array with 0 axes, got shape"):
        check("size", value)


@pytest.mark.parametrize("value", ["0.5", None, True, 1j, object(), {"a": 1}])
@pytest.mark.parametrize("check", SCALARS)
def test_scalars_are_real_numbers(check, value):
    with pytest.raises(TypeError, match="size: expected"):
        check("size", value)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (_checks.as_positive, [1e-30, 1, 5.0], [0, 0.0, -1e-30, -3]),
        (_checks.as_nonnegative, [0, 1e-30, 7], [-1e-30, -3]),
        (_checks.as_fraction, [1e-6, 0.5, 0.999], [0, 1, -0.1, 1.1]),
    ],
)
def test_the_range_of_scalars(check, good, bad):
    for value in good:
        assert float(check("size", value)) == pytest.approx(value)
    for value in bad:
        with pytest.raises(ValueError, match=r"size: expected a number .*got"):
            check("size", value)


def test_arrays_tell_how_many_entries_are_bad():
    with pytest.raises(ValueError, match="table: expected finite numbers, got 2"):
        _checks.as_floats("table", [[1, np.nan], [np.inf, 0]], 2)
    with pytest.raises(
        ValueError, match=r"table: expected an array with 1 axes, got shape \(2, 1\)"
    ):
        _checks.as_floats("table", [[1], [2]], 1)
    with pytest.raises(TypeError, match="table: expected numbers, got list"):
        _checks.as_floats("table", [[1], [2, 3]], 2)


class TestIndex:
    @pytest.mark.parametrize("value", [0, 4, np.int64(3), np.uint8(2)])
    def test_integers_in_range_pass_as_int32(self, value):
        index = _checks.as_index("action", value, 5)
        assert (int(index), index.dtype) == (int(value), jnp.int32)

    @pytest.mark.parametrize("value", [-1, 5, 100])
    def test_out_of_range(self, value):
        with pytest.raises(ValueError, match=f"action: expected .* from 0 to 4, got {value}"):
            _checks.as_index("action", value, 5)

    @pytest.mark.parametrize("value", [1.0, "1", None, True])
    def test_no_integer(self, value):
        with pytest.raises(TypeError, match="action: expected"):
            _checks.as_index("action", value, 5)

    def test_axes(self):
        with pytest.raises(ValueError, match=r"action: expected .* got shape \(2,\)"):
            _checks.as_index("action", [1, 2], 5)


class TestCount:
    @pytest.mark.parametrize("value", [1, 9, np.int32(4)])
    def test_passes_as_an_int(self, value):
        assert type(_checks.check_count("horizon", value)) is int
        assert _checks.check_count("horizon", value) == value

    @pytest.mark.parametrize("value", [0, -3])
    def test_too_small(self, value):
        with pytest.raises(ValueError, match=f"horizon: expected at least 1, got {value}"):
            _checks.check_count("horizon", value)
        with pytest.raises(ValueError, match="horizon: expected at least 5"):
            _checks.check_count("horizon", 4, at_least=5)

    @pytest.mark.parametrize("value", [1.0, "3", None, True, [1]])
    def test_no_integer(self, value):
        with pytest.raises(TypeError, match="horizon: expected an integer"):
            _checks.check_count("horizon", value)


def test_choices_are_listed():
    assert _checks.check_choice("space", "a", ("b", "a")) == "a"
    with pytest.raises(ValueError, match="space: expected one of a, b, got 'c'"):
        _checks.check_choice("space", "c", ("b", "a"))


def test_instances_are_named():
    _checks.check_instance("link", 3, (str, int))
    with pytest.raises(TypeError, match="link: expected str, got int"):
        _checks.check_instance("link", 3, str)
    with pytest.raises(TypeError, match="link: expected str or float, got int"):
        _checks.check_instance("link", 3, (str, float))


def test_tracers_pass_by_shape_alone():
    """Values cannot be looked at inside `jit`, shapes and kinds are."""

    @jax.jit
    def ranged(value):
        assert not _checks.is_concrete(value)
        return _checks.as_positive("a", value), _checks.as_fraction("b", value)

    assert [float(value) for value in ranged(jnp.asarray(-1.0))] == [-1, -1]
    with pytest.raises(ValueError, match="a: expected an array with 0 axes"):
        ranged(jnp.ones(2))
    with pytest.raises(TypeError, match="action: expected"):
        jax.jit(lambda value: _checks.as_index("action", value, 5))(1.5)
    assert _checks.is_concrete(jnp.ones(2))
    assert _checks.is_concrete(3)
