"""The dueling kernel, Proposition 2 for explicit features, tinygp's kernels, units and factors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial.distance
import tinygp

from duelist.belief import prior
from duelist.domains import ALL, FiniteDomain
from duelist.kernels import (
    DuelingKernel,
    PerContext,
    factor,
    gram,
    largest_difference,
    largest_value,
    to_unit,
)

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-1, 1, size=(7, 2))
EUCLIDEAN = tinygp.kernels.L2Distance()


def euclid(a, b):
    return scipy.spatial.distance.cdist(a, b)


def manhattan(a, b):
    return scipy.spatial.distance.cdist(a, b, "cityblock")


# name -> (tinygp's kernel for a scale in the dtype, the formula in NumPy for scale 0.7)
KERNELS = {
    "rbf": (tinygp.kernels.ExpSquared, lambda a, b: np.exp(-(euclid(a, b) ** 2) / 0.98)),
    "matern12": (
        lambda s: tinygp.kernels.Exp(s, distance=EUCLIDEAN),
        lambda a, b: np.exp(-euclid(a, b) / 0.7),
    ),
    "matern32": (
        lambda s: tinygp.kernels.Matern32(s, distance=EUCLIDEAN),
        lambda a, b: matern32(euclid(a, b) / 0.7),
    ),
    "matern52": (
        lambda s: tinygp.kernels.Matern52(s, distance=EUCLIDEAN),
        lambda a, b: matern52(euclid(a, b) / 0.7),
    ),
    "matern12 in the default distance": (
        tinygp.kernels.Exp,
        lambda a, b: np.exp(-manhattan(a, b) / 0.7),
    ),
    "rational quadratic": (
        lambda s: tinygp.kernels.RationalQuadratic(s, distance=EUCLIDEAN, alpha=s),
        lambda a, b: (1 + (euclid(a, b) / 0.7) ** 2 / 1.4) ** -0.7,
    ),
    "linear": (lambda s: s * tinygp.kernels.DotProduct(), lambda a, b: 0.7 * a @ b.T),
    "polynomial": (
        lambda s: tinygp.kernels.Polynomial(order=jnp.full_like(s, 2), scale=s, sigma=s),
        lambda a, b: (a @ b.T / 0.49 + 0.49) ** 2,
    ),
    "periodic": (
        lambda s: tinygp.transforms.Subspace(0, tinygp.kernels.ExpSineSquared(s, gamma=s)),
        lambda a, b: np.exp(-0.7 * np.sin(np.pi * (a[:, :1] - b[None, :, 0]) / 0.7) ** 2),
    ),
    "sum": (
        lambda s: s * tinygp.kernels.ExpSquared(s) + s * tinygp.kernels.DotProduct(),
        lambda a, b: 0.7 * np.exp(-(euclid(a, b) ** 2) / 0.98) + 0.7 * a @ b.T,
    ),
    "product": (
        lambda s: tinygp.kernels.ExpSquared(s) * tinygp.kernels.DotProduct(),
        lambda a, b: np.exp(-(euclid(a, b) ** 2) / 0.98) * (a @ b.T),
    ),
    "a scale per axis": (
        lambda s: tinygp.transforms.Linear(
            jnp.array([1, 4], s.dtype), tinygp.kernels.ExpSquared(s)
        ),
        lambda a, b: np.exp(-(euclid(a * [1, 4], b * [1, 4]) ** 2) / 0.98),
    ),
}


def matern32(r):
    return (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)


def matern52(r):
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


def kernel_of(name, dtype):
    return KERNELS[name][0](jnp.asarray(0.7, dtype))


@pytest.fixture
def promoting():
    """JAX's own promotion: tinygp multiplies by NumPy's scalars, as its users know it."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.parametrize("name", KERNELS)
def test_tinygps_kernels_as_they_are(x64, promoting, name):
    """The Gram matrix is the formula's, its factor's square, and a belief can be made of it."""
    points = jnp.asarray(POINTS, x64)
    matrix = gram(kernel_of(name, x64), points)
    assert matrix.dtype == x64
    atol = {"float32": 3e-6, "float64": 1e-13}[x64.name]
    np.testing.assert_allclose(matrix, KERNELS[name][1](POINTS, POINTS), atol=5 * atol)
    np.testing.assert_array_equal(matrix, matrix.T)
    root = factor(matrix)
    np.testing.assert_allclose(root @ root.T, matrix, atol=10 * atol)
    belief = prior(FiniteDomain(points), kernel_of(name, x64))
    squares = np.diag(matrix)[:, None] + np.diag(matrix)[None, :] - 2 * np.asarray(matrix)
    width = np.asarray(belief.width(ALL, ALL), float)
    np.testing.assert_allclose(width**2, squares, atol=10 * atol)


@pytest.mark.parametrize("name", ["rbf", "matern52", "sum", "a scale per axis"])
def test_the_dueling_kernel_by_its_definition(x64, promoting, name):
    pairs = RNG.integers(0, 7, size=(2, 9))
    first, second = (jnp.asarray(POINTS[row], x64) for row in pairs)
    found = DuelingKernel(kernel_of(name, x64))((first, second), (first, second))
    k = KERNELS[name][1]
    a, b = POINTS[pairs[0]], POINTS[pairs[1]]
    expected = k(a, a) + k(b, b) - k(a, b) - k(b, a)
    atol = {"float32": 1e-5, "float64": 1e-12}[x64.name]
    np.testing.assert_allclose(found, expected, atol=atol)
    eigenvalues = np.linalg.eigvalsh(np.asarray(found, float))
    assert eigenvalues.min() > -10 * atol


def test_the_dueling_kernel_is_antisymmetric_and_blind_to_itself(x64):
    kernel = DuelingKernel(kernel_of("rbf", x64))
    x, y, z, u = jnp.asarray(POINTS[:4], x64)
    value = float(kernel.evaluate((x, y), (z, u)))
    assert float(kernel.evaluate((y, x), (z, u))) == pytest.approx(-value, rel=1e-5)
    assert float(kernel.evaluate((z, u), (x, y))) == pytest.approx(value, rel=1e-5)
    assert float(kernel.evaluate((x, x), (z, u))) == pytest.approx(0, abs=1e-6)


class TestProposition2:
    """h(x, x') = f(x) - f(x') has the norm of f, for explicit f in a space of finite dimension.

    The norm of h in the RKHS of k^D is computed from values of h alone: it is h' (K^D)^+ h over
    enough pairs to determine h. That of f is computed from its weights on explicit features.
    """

    @staticmethod
    def norm_of_h(kernel, f):
        first, second = (np.repeat(POINTS, 7, axis=0), np.tile(POINTS, (7, 1)))
        pair = (jnp.asarray(first), jnp.asarray(second))
        matrix = np.asarray(DuelingKernel(kernel)(pair, pair))
        h = f(first) - f(second)
        solved = np.linalg.pinv(matrix, rcond=1e-10) @ h
        np.testing.assert_allclose(matrix @ solved, h, atol=1e-9)  # h lies in the space
        return np.sqrt(h @ solved)

    @pytest.mark.parametrize("weights", [[1.0, 0.0], [0.3, -2.0]])
    def test_linear(self, promoting, weights):
        with jax.enable_x64(True):
            norm = self.norm_of_h(tinygp.kernels.DotProduct(), lambda x: x @ weights)
            assert norm == pytest.approx(np.linalg.norm(weights), rel=1e-9)

    def test_polynomial(self, promoting):
        """(x'y)^2 has the features x1^2, sqrt(2) x1 x2, x2^2."""
        weights = np.array([0.5, -1.0, 2.0])

        def f(x):
            features = [x[:, 0] ** 2, np.sqrt(2) * x[:, 0] * x[:, 1], x[:, 1] ** 2]
            return np.stack(features, axis=-1) @ weights

        with jax.enable_x64(True):
            kernel = tinygp.kernels.DotProduct() * tinygp.kernels.DotProduct()
            assert self.norm_of_h(kernel, f) == pytest.approx(np.linalg.norm(weights), rel=1e-9)

    def test_a_constant_part_is_not_seen(self, promoting):
        """x'y + 1 has the feature 1, about which differences say nothing: h has a smaller norm."""
        weights = np.array([0.3, -2.0])
        with jax.enable_x64(True):
            kernel = tinygp.kernels.DotProduct() + tinygp.kernels.Constant(jnp.asarray(1.0))
            norm = self.norm_of_h(kernel, lambda x: x @ weights + 5)
            assert norm == pytest.approx(np.linalg.norm(weights), rel=1e-9)
            assert norm < np.sqrt(weights @ weights + 25)


class TestFactor:
    """F with F F' = K, also where K is singular."""

    @pytest.mark.parametrize("rank", [0, 1, 3, 7])
    def test_of_any_rank(self, x64, rank):
        root = RNG.normal(size=(7, rank))
        matrix = jnp.asarray(root @ root.T, x64)
        found = factor(matrix)
        atol = 20 * float(jnp.finfo(x64).eps) * max(1.0, float(jnp.max(jnp.abs(matrix))))
        np.testing.assert_allclose(found @ found.T, matrix, atol=atol)

    def test_an_indefinite_matrix_is_rejected(self, x64):
        with pytest.raises(ValueError, match="kernel: expected a positive semi-definite matrix"):
            factor(jnp.asarray([[1.0, 2.0], [2.0, 1.0]], x64))

    def test_a_belief_of_an_indefinite_kernel_is_rejected(self, x64):
        def evaluate(a, b):
            return jnp.sum(jnp.abs(a - b))

        with pytest.raises(ValueError, match="kernel: expected a positive semi-definite matrix"):
            prior(FiniteDomain(jnp.asarray(POINTS, x64)), tinygp.kernels.Custom(evaluate))


class TestUnits:
    """A kernel v k with lambda and B is k with lambda/v and B sqrt(v)."""

    def test_the_same_belief_under_both(self):
        with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
            domain, kernel = FiniteDomain(POINTS), tinygp.kernels.ExpSquared(0.7)
            unit = to_unit(4.0, 0.3, 1.5)
            tell = eqx.filter_jit(lambda belief, query, answer: belief.tell(tuple(query), answer))
            one = prior(domain, 4.0 * kernel, lam=0.3, bound=1.5, tolerance=1e-12)
            other = prior(domain, kernel, lam=unit.lam, bound=unit.bound, tolerance=1e-12)
            for query, answer in [((0, 1), 1), ((2, 1), 1), ((3, 0), 0), ((0, 1), 1)]:
                told = [jnp.asarray(x) for x in query], jnp.asarray(answer, float)
                one, other = tell(one, *told), tell(other, *told)
            np.testing.assert_allclose(one.fit.f, other.fit.f, atol=1e-11)
            assert float(one.constants.kappa) == pytest.approx(float(other.constants.kappa))
            assert float(one.gain) == pytest.approx(float(other.gain), rel=1e-12)
            np.testing.assert_allclose(one.deviation(ALL, ALL), other.deviation(ALL, ALL))
            np.testing.assert_allclose(one.width(ALL, ALL), 2 * other.width(ALL, ALL), atol=1e-12)

    def test_by_hand(self, x64):
        unit = to_unit(9.0, 18.0, 2.0)
        assert (float(unit.lam), float(unit.bound)) == (2.0, 6.0)

    @pytest.mark.parametrize("position", [0, 1, 2])
    @pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
    def test_bad_numbers_are_named(self, position, bad):
        arguments = [1.0, 1.0, 1.0]
        arguments[position] = bad
        name = ("variance", "lam", "bound")[position]
        with pytest.raises(ValueError, match=f"{name}: expected"):
            to_unit(*arguments)

    @pytest.mark.parametrize("name", ["variance", "lam", "bound"])
    def test_what_is_no_number_is_named(self, name):
        arguments = {"variance": 1.0, "lam": 1.0, "bound": 1.0, name: "one"}
        with pytest.raises(TypeError, match=f"{name}: expected numbers, got str"):
            to_unit(**arguments)


def test_the_largest_norms_by_brute_force(x64):
    matrix = gram(kernel_of("rbf", x64), jnp.asarray(POINTS, x64)) * 3
    dense = np.asarray(matrix, float)
    squares = [dense[i, i] + dense[j, j] - 2 * dense[i, j] for i in range(7) for j in range(7)]
    assert float(largest_difference(matrix)) == pytest.approx(np.sqrt(max(squares)), rel=1e-6)
    assert float(largest_value(matrix)) == pytest.approx(np.sqrt(3), rel=1e-6)


def test_what_is_no_kernel_or_no_square_is_named(unchecked):
    with pytest.raises(TypeError, match="kernel: expected Kernel, got str"):
        DuelingKernel("rbf")
    with pytest.raises(ValueError, match=r"matrix: expected a square matrix, got shape \(2, 3\)"):
        factor(jnp.ones((2, 3)))


class TestGramErrors:
    def test_a_kernel_that_gives_nan_is_rejected(self, x64):
        kernel = tinygp.kernels.Custom(lambda a, b: jnp.nan * jnp.sum(a + b))
        with pytest.raises(ValueError, match="kernel: expected finite numbers, got 49"):
            gram(kernel, jnp.asarray(POINTS, x64))

    def test_a_kernel_of_another_shape_is_rejected(self, x64):
        with pytest.raises(ValueError, match="kernel"):
            gram(tinygp.kernels.Custom(lambda a, b: a + b), jnp.asarray(POINTS, x64))


# ---- kernels of actions in contexts ------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_kernel_per_context_by_its_formula(share):
    """k_x ((1 - b) + b k_z), each on its own columns; a product of both at b = 1."""
    rows = np.random.default_rng(4).normal(size=(5, 3))
    kernel = PerContext(
        tinygp.kernels.ExpSquared(0.7), tinygp.kernels.Exp(0.5, distance=EUCLIDEAN), share, 1
    )
    of_actions = np.exp(-(euclid(rows[:, :2], rows[:, :2]) ** 2) / 0.98)
    of_contexts = np.exp(-euclid(rows[:, 2:], rows[:, 2:]) / 0.5)
    expected = of_actions * (1 - share + share * of_contexts)
    points = jnp.asarray(rows, jnp.float32)
    np.testing.assert_allclose(gram(kernel, points), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("rbf", tinygp.kernels.Exp(1.0)), TypeError, "actions: expected Kernel"),
        ((tinygp.kernels.Exp(1.0), "rbf"), TypeError, "contexts: expected Kernel"),
        ((tinygp.kernels.Exp(1.0),) * 2 + (1.0, 0), ValueError, "size: expected at least 1"),
    ],
)
def test_a_kernel_per_context_names_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=message):
        PerContext(*arguments)
