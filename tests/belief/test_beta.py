"""beta_t, the information gain and the constants against their formulas and brute force."""

import itertools
from typing import NamedTuple

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
import tinygp

from duelist.belief import FixedBeta, TheoremBeta, maximum_gain, prior
from duelist.belief._constants import Constants, constants
from duelist.belief._gain import gain_of
from duelist.domains import FiniteDomain
from duelist.kernels import gram
from duelist.links import CustomLink, Logistic, Probit

POINTS = np.random.default_rng(0).uniform(size=(4, 2))


class Told(NamedTuple):
    """What a beta looks at."""

    constants: Constants
    gain: jax.Array
    count: jax.Array


def told(dtype, lam=0.5, bound=2.0, kappa=8.0, lipschitz=0.25, gain=3.0, count=5):
    numbers = (jnp.asarray(value, dtype) for value in (lam, bound, 2 * bound, kappa, lipschitz))
    return Told(Constants(*numbers), jnp.asarray(gain, dtype), jnp.int32(count))


def matrix_of(dtype, scale=0.4):
    return gram(tinygp.kernels.ExpSquared(jnp.asarray(scale, dtype)), jnp.asarray(POINTS, dtype))


class TestTheoremBeta:
    @hypothesis.given(
        lam=st.floats(1e-3, 10),
        bound=st.floats(0.1, 5),
        kappa=st.floats(4, 1e4),
        lipschitz=st.floats(0.05, 1),
        gain=st.floats(0, 100),
        delta=st.floats(0.001, 0.999),
    )
    @hypothesis.settings(max_examples=50)
    def test_is_eq_def_beta(self, lam, bound, kappa, lipschitz, gain, delta):
        # Not the fixture of oracles: hypothesis asks for fixtures of a function once only.
        from tests.belief import oracles

        with jax.enable_x64(True):
            found = TheoremBeta(delta)(told(np.float64, lam, bound, kappa, lipschitz, gain))
        expected = oracles.beta(lam, bound, kappa, lipschitz, gain, delta)
        assert float(found) == pytest.approx(expected, rel=1e-12)

    def test_by_hand(self, x64):
        """4 L B = 2 and 2 L sqrt(2 kappa/lambda (gamma + log(1/delta))) = 4 for a gain of 1."""
        found = TheoremBeta(np.exp(-1.0))(told(x64, gain=1.0))
        assert float(found) == pytest.approx(2 + 4, rel=1e-6)
        assert found.dtype == x64

    def test_grows_with_the_gain_and_the_confidence(self, x64):
        betas = [
            float(TheoremBeta(d)(told(x64, gain=g))) for d, g in [(0.1, 1), (0.1, 2), (0.01, 2)]
        ]
        assert betas == sorted(betas)
        assert len(set(betas)) == 3

    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_reads_the_gain_of_the_count_from_its_table(self, x64, count):
        table = jnp.asarray([0.0, 1.0, 1.5, 1.75], x64)
        found = TheoremBeta(0.1, table)(told(x64, gain=99.0, count=count))
        expected = TheoremBeta(0.1)(told(x64, gain=float(table[count])))
        assert float(found) == pytest.approx(float(expected), rel=1e-6)

    def test_continues_its_table_by_the_last_increment(self, x64):
        table = jnp.asarray([0.0, 1.0, 1.5, 1.75], x64)
        found = TheoremBeta(0.1, table)(told(x64, gain=99.0, count=7))
        expected = TheoremBeta(0.1)(told(x64, gain=1.75 + 4 * 0.25))
        assert float(found) == pytest.approx(float(expected), rel=1e-6)

    @pytest.mark.parametrize("delta", [0, 1, -0.1, 2, np.nan])
    def test_delta_is_a_probability(self, delta):
        with pytest.raises(ValueError, match="delta: expected"):
            TheoremBeta(delta)

    @pytest.mark.parametrize("delta", ["0.1", None, [0.1, "b"]])
    def test_delta_is_a_number(self, delta):
        with pytest.raises(TypeError, match="delta: expected"):
            TheoremBeta(delta)

    @pytest.mark.parametrize("gains", [[], [0.0], [[0.0, 1.0]], [0.0, np.nan], 1.0])
    def test_gains_are_a_table(self, gains):
        with pytest.raises(ValueError, match="gains: expected"):
            TheoremBeta(0.1, gains)


class TestFixedBeta:
    def test_is_the_same_whatever_was_told(self, x64):
        beta = FixedBeta(1.5)
        assert float(beta(told(x64, gain=0.0))) == float(beta(told(x64, gain=50.0))) == 1.5
        assert beta(told(x64)).dtype == x64
        assert float(FixedBeta()(told(x64))) == 1.0

    @pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, [1.0]])
    def test_is_not_negative(self, value):
        with pytest.raises(ValueError, match="value: expected"):
            FixedBeta(value)

    def test_is_a_number(self):
        with pytest.raises(TypeError, match="value: expected"):
            FixedBeta("one")


class TestGain:
    def test_adds_up_to_the_log_determinant(self, double, oracles, tell_all):
        queries, answers = oracles.random_history(np.random.default_rng(1), 4, 30, 2)
        domain = FiniteDomain(jnp.asarray(POINTS))
        belief = tell_all(prior(domain, tinygp.kernels.ExpSquared(0.4)), queries, answers)
        noise = float(belief.constants.noise)
        rows = oracles.signs(queries, 4)
        scaled = np.eye(30) + rows @ np.asarray(matrix_of(double)) @ rows.T / noise
        assert float(belief.gain) == pytest.approx(np.linalg.slogdet(scaled)[1] / 2, rel=1e-12)

    def test_of_one_observation(self, x64):
        found = gain_of(jnp.asarray([0.0, 3.0], x64), jnp.asarray(1.0, x64))
        np.testing.assert_allclose(found, [0, np.log(2)], rtol=1e-6)

    @pytest.mark.parametrize("duels", [True, False])
    @pytest.mark.parametrize("noise", [0.1, 2.0])
    def test_the_bound_on_the_maximum_by_brute_force(self, double, oracles, duels, noise):
        """All sequences of up to three queries over four actions."""
        gram = np.asarray(matrix_of(double))
        found = maximum_gain(jnp.asarray(gram), noise, 3, duels=duels)
        arity = 2 if duels else 1
        queries = list(itertools.product(range(4), repeat=arity))
        assert float(found[0]) == 0
        for count in (1, 2, 3):
            best = max(
                self.gain(oracles, gram, chosen, noise)
                for chosen in itertools.combinations_with_replacement(queries, count)
            )
            assert best <= float(found[count]) <= best / (1 - np.exp(-1)) * (1 + 1e-9)

    @staticmethod
    def gain(oracles, gram, queries, noise):
        rows = oracles.signs(queries, 4)
        scaled = np.eye(len(rows)) + rows @ gram @ rows.T / noise
        return np.linalg.slogdet(scaled)[1] / 2

    def test_its_increments_fall(self, x64):
        """The property that makes the last increment an upper bound on those after it."""
        gains = np.asarray(maximum_gain(matrix_of(x64), 0.5, 40, duels=True))
        assert gains.shape == (41,)
        assert gains.dtype == x64
        assert np.all(np.diff(np.diff(gains)) <= 1e-5)
        assert np.all(np.diff(gains) > 0)

    def test_a_table_continued_bounds_the_longer_table(self, x64):
        short = maximum_gain(matrix_of(x64), 0.5, 10, duels=True)
        long = maximum_gain(matrix_of(x64), 0.5, 40, duels=True)
        beta = TheoremBeta(0.1, short)
        for count in (9, 10, 11, 25, 40):
            exact = TheoremBeta(0.1)(told(x64, gain=float(long[count])))
            assert float(beta(told(x64, count=count))) >= float(exact) * (1 - 1e-6)

    @pytest.mark.parametrize("noise", [0.0, -1.0, np.nan])
    def test_noise_is_positive(self, x64, noise):
        with pytest.raises(ValueError, match="noise: expected"):
            maximum_gain(matrix_of(x64), noise, 3, duels=True)

    def test_the_gram_matrix_is_square(self, unchecked):
        with pytest.raises(ValueError, match=r"gram: expected a square matrix, got shape \(2, 3\)"):
            maximum_gain(jnp.ones((2, 3)), 1.0, 3, duels=True)

    def test_the_horizon_is_a_count(self, x64):
        with pytest.raises(ValueError, match="horizon: expected at least 1, got 0"):
            maximum_gain(matrix_of(x64), 1.0, 0, duels=True)

    def test_the_horizon_is_an_integer(self, x64, unchecked):
        with pytest.raises(TypeError, match="horizon: expected an integer"):
            maximum_gain(matrix_of(x64), 1.0, 2.5, duels=True)


class TestConstants:
    """The radius of the link's argument, and kappa and L on it."""

    @pytest.mark.parametrize(
        ("duels", "rule", "factor"),
        [
            (False, "general", 1.0),
            (False, "domain", 1.0),
            (True, "general", 2.0),
            (True, "nonnegative", np.sqrt(2)),
            (True, "domain", None),
        ],
    )
    def test_range_rules(self, x64, duels, rule, factor):
        matrix = matrix_of(x64)
        if factor is None:
            dense = np.asarray(matrix, float)
            factor = np.sqrt(max(2 - 2 * dense[i, j] for i in range(4) for j in range(4)))
        found = constants(Logistic(), matrix, 0.3, 1.5, duels=duels, rule=rule)
        radius = 1.5 * factor
        rel = {"float32": 1e-5, "float64": 1e-10}[x64.name]
        assert float(found.radius) == pytest.approx(radius, rel=rel)
        assert float(found.kappa) == pytest.approx(2 + 2 * np.cosh(radius), rel=rel)
        assert float(found.lipschitz) == pytest.approx(0.25, rel=rel)
        assert float(found.noise) == pytest.approx(0.3 * float(found.kappa), rel=rel)
        assert all(value.dtype == x64 for value in found)

    @hypothesis.given(w=st.lists(st.floats(-3, 3), min_size=4, max_size=4))
    @hypothesis.settings(max_examples=30)
    def test_every_function_of_that_norm_stays_in_the_range(self, w):
        with jax.enable_x64(True):
            matrix = np.asarray(matrix_of(np.float64))
            f = matrix @ np.asarray(w)
            norm = max(np.sqrt(max(w @ f, 0)), 1e-9)
            gaps = np.abs(f[:, None] - f[None, :]).max()
            for rule in ("general", "nonnegative", "domain"):
                found = constants(Logistic(), jnp.asarray(matrix), 1.0, norm, duels=True, rule=rule)
                assert gaps <= float(found.radius) * (1 + 1e-9) + 1e-9
            rated = constants(Logistic(), jnp.asarray(matrix), 1.0, norm, duels=False)
            assert np.abs(f).max() <= float(rated.radius) * (1 + 1e-9) + 1e-9

    def test_of_other_links(self, x64):
        rel = {"float32": 1e-5, "float64": 1e-10}[x64.name]
        probit = constants(Probit(), matrix_of(x64), 1.0, 1.0, duels=True)
        assert float(probit.kappa) == pytest.approx(1 / scipy.stats.norm.pdf(2.0), rel=rel)
        assert float(probit.lipschitz) == pytest.approx(scipy.stats.norm.pdf(0.0), rel=rel)
        double = CustomLink(lambda a: jax.nn.sigmoid(2 * a))
        custom = constants(double, matrix_of(x64), 1.0, 1.0, duels=True)
        assert float(custom.kappa) == pytest.approx((2 + 2 * np.cosh(4.0)) / 2, rel=1e-4)
        assert float(custom.lipschitz) == pytest.approx(0.5, rel=rel)

    def test_a_larger_variance_widens_the_range(self, x64):
        found = constants(Logistic(), matrix_of(x64) * 4, 1.0, 1.0, duels=True)
        assert float(found.radius) == pytest.approx(4, rel=1e-6)

    def test_nonnegative_is_not_claimed_of_a_negative_kernel(self, x64):
        matrix = jnp.asarray([[1.0, -0.5], [-0.5, 1.0]], x64)
        with pytest.raises(ValueError, match="range_rule: expected a kernel without negative"):
            constants(Logistic(), matrix, 1.0, 1.0, duels=True, rule="nonnegative")

    def test_a_lambda_below_the_rounding_is_rejected(self, x64):
        least = float(np.finfo(x64).eps) ** 0.75
        constants(Logistic(), matrix_of(x64), least * 1.01, 1.0, duels=True)
        with pytest.raises(ValueError, match=f"lam: expected at least .* in {x64.name}"):
            constants(Logistic(), matrix_of(x64), least * 0.99, 1.0, duels=True)
