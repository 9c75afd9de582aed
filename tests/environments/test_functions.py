"""The test functions against the paper's formulas, hand-computed values and published optima."""

import itertools
import math

import equinox as eqx
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from duelist.environments._functions import OBJECTIVES, Objective, objective, scale_utilities

NAMES = [
    *("branin", "matyas", "rosenbrock", "ackley", "eggholder", "hoelder", "michalewicz"),
    *("levy", "hartmann6"),
]
CASES = [
    *((name, "released", None) for name in NAMES),
    *(("eggholder", "printed", None), ("michalewicz", "printed", None)),
    *(("ackley", "released", 1), ("ackley", "released", 7), ("levy", "released", 1)),
    *(("levy", "released", 4), ("rosenbrock", "released", 5)),
    *(("michalewicz", "printed", 5), ("michalewicz", "released", 5)),
]
SMOOTH = [case for case in CASES if case[0] not in ("ackley", "eggholder")]
PLANE = [case for case in CASES if case[2] is None and case[0] != "hartmann6"]


def oracle(made: Objective, points: np.ndarray) -> np.ndarray:
    """The negated formulas of the paper's appendix in NumPy's double precision."""
    x = np.asarray(points, dtype=np.float64)
    minimised = {
        "ackley": paper_ackley,
        "branin": paper_branin,
        "eggholder": paper_eggholder,
        "hoelder": paper_hoelder,
        "levy": library_levy,
        "hartmann6": library_hartmann,
        "matyas": lambda x: 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1],
        "michalewicz": lambda x: paper_michalewicz(x, 5 if made.variant == "released" else 10),
        "rosenbrock": paper_rosenbrock,
    }[made.name]
    return -minimised(np.moveaxis(x, -1, 0))


def paper_ackley(x: np.ndarray) -> np.ndarray:
    d = len(x)
    square = sum(x[i] ** 2 for i in range(d)) / d
    wave = sum(np.cos(2 * np.pi * x[i]) for i in range(d)) / d
    return -20 * np.exp(-0.2 * np.sqrt(square)) - np.exp(wave) + 20 + np.exp(1)


def paper_branin(x: np.ndarray) -> np.ndarray:
    inner = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return inner**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10


def paper_eggholder(x: np.ndarray) -> np.ndarray:
    first = -(x[1] + 47) * np.sin(np.sqrt(np.abs(x[1] + x[0] / 2 + 47)))
    return first - x[0] * np.sin(np.sqrt(np.abs(x[0] - (x[1] + 47))))


def paper_hoelder(x: np.ndarray) -> np.ndarray:
    lift = np.exp(np.abs(1 - np.sqrt(x[0] ** 2 + x[1] ** 2) / np.pi))
    return -np.abs(np.sin(x[0]) * np.cos(x[1]) * lift)


def paper_michalewicz(x: np.ndarray, m: int) -> np.ndarray:
    terms = (np.sin(x[i]) * np.sin((i + 1) * x[i] ** 2 / np.pi) ** (2 * m) for i in range(len(x)))
    return -sum(terms, np.zeros(x.shape[1:]))


def paper_rosenbrock(x: np.ndarray) -> np.ndarray:
    pairs = itertools.pairwise(x)
    return sum((100 * (b - a**2) ** 2 + (a - 1) ** 2 for a, b in pairs), np.zeros(x.shape[1:]))


def library_levy(x: np.ndarray) -> np.ndarray:
    w = [1 + (coordinate - 1) / 4 for coordinate in x]
    total = np.sin(np.pi * w[0]) ** 2
    for v in w[:-1]:
        total = total + (v - 1) ** 2 * (1 + 10 * np.sin(np.pi * v + 1) ** 2)
    return total + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)


def library_hartmann(x: np.ndarray) -> np.ndarray:
    sharp = np.array(
        [
            *(10, 3, 17, 3.5, 1.7, 8, 0.05, 10, 17, 0.1, 8, 14),
            *(3, 3.5, 1.7, 10, 17, 8, 17, 8, 0.05, 10, 0.1, 14),
        ]
    )
    centre = 1e-4 * np.array(
        [
            *(1312, 1696, 5569, 124, 8283, 5886, 2329, 4135, 8307, 3736, 1004, 9991),
            *(2348, 1451, 3522, 2883, 3047, 6650, 4047, 8828, 8732, 5743, 1091, 381),
        ]
    )
    total = np.zeros(x.shape[1:])
    for i, weight in enumerate((1.0, 1.2, 3.0, 3.2)):
        terms = range(6 * i, 6 * i + 6)
        far = sum(sharp[k] * (x[k % 6] - centre[k]) ** 2 for k in terms)
        total = total - weight * np.exp(-far)
    return total


def uniform(made: Objective, count: int, seed: int = 0) -> np.ndarray:
    low, high = np.array(made.box).T
    return np.random.default_rng(seed).uniform(low, high, size=(count, made.dim))


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_the_formula_on_random_points(case, x64):
    made = objective(*case)
    x = uniform(made, 2000).astype(x64)
    expected = oracle(made, x)
    values = made(jnp.asarray(x))
    assert values.dtype == x64
    # Rounding of the largest terms, not of the result, limits what differences of them can do.
    tolerance = 40 * np.finfo(x64).eps * np.abs(expected).max()
    assert_allclose(values, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("case", "point", "expected"),
    [
        (("ackley",), [1, 1], 20 * math.exp(-0.2) - 20),
        (("ackley", "released", 1), [0.5], 20 * math.exp(-0.1) + math.exp(-1) - 20 - math.e),
        (("branin",), [0, 0], -56 + 10 / (8 * math.pi)),
        (("eggholder",), [0, math.pi**2 / 4 - 47], math.pi**2 / 4),
        (("eggholder", "printed"), [0, 0], 47 * math.sin(math.sqrt(47))),
        (("hoelder",), [math.pi / 2, 0], math.exp(0.5)),
        (("matyas",), [1, 2], -0.34),
        (("michalewicz", "released"), [math.pi / 2, math.pi / 2], 1 + 2**-5),
        (("michalewicz", "printed"), [math.pi / 2, math.pi / 2], 1 + 2**-10),
        (("rosenbrock",), [0, 0], -1),
        (("rosenbrock",), [2, 3], -101),
        (("rosenbrock", "released", 3), [1, 2, 3], -100 - 101),
        (("levy",), [5, 1], -1 - 10 * math.sin(1) ** 2),
        (("levy",), [1, 3], -0.25),
        (("levy", "released", 1), [3], -1.25),
    ],
)
def test_hand_computed_values(case, point, expected, x64):
    value = objective(*case)(jnp.asarray(point, dtype=x64))
    assert_allclose(value, expected, rtol=20 * np.finfo(x64).eps)


@pytest.mark.parametrize(
    ("case", "maximum", "maximisers"),
    [
        (("ackley",), 0, [(0, 0)]),
        (("branin",), -0.397887, [(-3.14159, 12.275), (3.14159, 2.275), (9.42478, 2.475)]),
        (("eggholder", "printed"), 959.6407, [(512, 404.2319)]),
        (("hoelder",), 19.2085, itertools.product((-8.05502, 8.05502), (-9.66459, 9.66459))),
        (("matyas",), 0, [(0, 0)]),
        (("michalewicz", "printed"), 1.8013, [(2.20, 1.57)]),
        (("michalewicz", "printed", 5), 4.687658, None),
        (("michalewicz", "printed", 10), 9.66015, None),
        (("rosenbrock", "released", 3), 0, [(1, 1, 1)]),
        (("levy", "released", 3), 0, [(1, 1, 1)]),
        (("hartmann6",), 3.32237, [(0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)]),
    ],
)
def test_optimum_is_the_published_one(case, maximum, maximisers):
    """Jamil & Yang (2013); Surjanovic & Bingham for Michalewicz, Levy and Hartmann."""
    optimum = objective(*case).optimum
    digits = len(str(maximum).partition(".")[2])
    assert_allclose(optimum.maximum, maximum, rtol=0, atol=0.6 * 10.0**-digits)
    if maximisers is not None:
        coarse = 5e-3 if case[0] == "michalewicz" else 2e-4
        assert_allclose(optimum.maximisers, list(maximisers), rtol=0, atol=coarse)


@pytest.mark.parametrize("case", CASES)
def test_maximum_is_attained_at_the_maximisers(case, x64):
    made = objective(*case)
    x = jnp.asarray(made.optimum.maximisers, dtype=x64)
    low, high = np.array(made.box).T
    assert np.all((low <= made.optimum.maximisers) & (made.optimum.maximisers <= high))
    tolerance = 100 * np.finfo(x64).eps * max(1.0, made.optimum.maximum)
    assert_allclose(made(x), made.optimum.maximum, rtol=0, atol=tolerance)


@pytest.mark.parametrize("case", CASES)
def test_no_point_of_a_dense_sample_is_above_the_maximum(case):
    made = objective(*case)
    assert oracle(made, uniform(made, 300_000)).max() <= made.optimum.maximum


@pytest.mark.parametrize("case", PLANE)
def test_the_best_of_a_dense_mesh_is_next_to_a_maximiser(case):
    """Which holds the stated optimum of the smaller Eggholder box to account, too."""
    made = objective(*case)
    axes = [np.linspace(low, high, 1601) for low, high in made.box]
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = oracle(made, mesh)
    best = mesh[np.unravel_index(values.argmax(), values.shape)]
    # The maximum itself may lie on the mesh, where the oracle rounds in its own way.
    assert values.max() <= made.optimum.maximum + 1e-13
    step = np.array([axis[1] - axis[0] for axis in axes])
    distances = np.abs(np.array(made.optimum.maximisers) - best) / step
    assert distances.max(axis=-1).min() <= 8


@pytest.mark.parametrize("variant", ["released", "printed"])
def test_every_coordinate_of_michalewicz_is_at_its_best(variant):
    made = objective("michalewicz", variant, 12)
    m = 5 if variant == "released" else 10
    x = np.linspace(0, made.box[0][1], 200_001)
    for i, peak in enumerate(made.optimum.maximisers[0], start=1):
        term = np.sin(x) * np.sin(i * x**2 / np.pi) ** (2 * m)
        assert abs(x[term.argmax()] - peak) < 2e-5


@pytest.mark.parametrize("case", SMOOTH)
def test_gradient_vanishes_at_the_optimum(case):
    with jax.enable_x64(True):
        made = objective(*case)
        slopes = jax.jit(jax.vmap(jax.grad(made)))(jnp.asarray(made.optimum.maximisers))
        assert_allclose(slopes, 0, atol=1e-11)


@pytest.mark.parametrize(("variant", "inside", "edge"), [("released", 0, 1), ("printed", 1, 0)])
def test_eggholder_is_highest_on_an_edge_and_rises_towards_it(variant, inside, edge):
    with jax.enable_x64(True):
        made = objective("eggholder", variant)
        (maximiser,) = made.optimum.maximisers
        slope = jax.grad(made)(jnp.asarray(maximiser))
        assert maximiser[edge] == made.box[edge][1]
        assert slope[edge] > 1
        assert abs(slope[inside]) < 1e-10


@pytest.mark.parametrize("case", CASES)
def test_gradient_agrees_with_central_differences_of_the_formula(case):
    made = objective(*case)
    x = uniform(made, 50, seed=1)
    step = 1e-5
    shifts = step * np.eye(made.dim)
    rise = oracle(made, x[:, None] + shifts) - oracle(made, x[:, None] - shifts)
    with jax.enable_x64(True):
        slopes = jax.jit(jax.vmap(jax.grad(made)))(jnp.asarray(x))
    scale = np.abs(slopes).max()
    assert_allclose(slopes, rise / (2 * step), rtol=1e-5, atol=1e-6 * scale)


@pytest.mark.parametrize(
    ("case", "kink"),
    [
        (("ackley",), [0.0, 0.0]),
        (("hoelder",), [0.0, 0.0]),
        (("eggholder",), [0.0, -47.0]),
        (("eggholder",), [40.0, -67.0]),
        (("eggholder",), [40.0, -7.0]),
    ],
)
def test_gradient_is_finite_at_kinks(case, kink, x64):
    assert np.isfinite(jax.grad(objective(*case))(jnp.asarray(kink, dtype=x64))).all()


@pytest.mark.parametrize("case", CASES[:11])
def test_leading_axes_jit_and_vmap_change_nothing(case, x64):
    made = objective(*case)
    x = jnp.asarray(uniform(made, 24), dtype=x64)
    flat = made(x)
    tolerance = 40 * np.finfo(x64).eps * np.abs(flat).max()
    for values in (
        made(x.reshape(2, 3, 4, made.dim)).ravel(),
        jax.jit(made)(x),
        jax.jit(jax.vmap(made))(x),
        [jax.jit(made)(point) for point in x],
    ):
        assert_allclose(values, flat, rtol=0, atol=tolerance)


def test_single_precision_stays_so_in_64_bit_mode():
    with jax.enable_x64(True):
        for name in NAMES:
            made = objective(name)
            single = jax.ShapeDtypeStruct((made.dim,), jnp.float32)
            assert jax.eval_shape(made, single).dtype == jnp.float32


@pytest.mark.parametrize("case", CASES[:11])
def test_objectives_made_twice_share_one_compiled_function(case):
    traces = []

    @eqx.filter_jit
    def value(made, x):
        traces.append(made.name)
        return made(x)

    for _ in range(2):
        value(objective(*case), jnp.ones(objective(*case).dim))
    assert len(traces) == 1


def test_variants_differ_exactly_where_they_should():
    for name in NAMES:
        released, printed = objective(name), objective(name, "printed")
        same = (released.box, released.evaluate) == (printed.box, printed.evaluate)
        assert same == (name not in ("eggholder", "michalewicz"))
    assert objective("eggholder").box == ((-100, 100), (-100, 100))
    assert objective("eggholder", "printed").box == ((-512, 512), (-512, 512))
    assert objective("michalewicz").box == ((0, 3.14), (0, 3.14))
    assert objective("michalewicz", "printed").box == ((0, math.pi), (0, math.pi))


@pytest.mark.parametrize(
    ("name", "dim", "low", "high"),
    [
        ("ackley", 2, (-5, -5), (5, 5)),
        ("branin", 2, (-5, 0), (10, 15)),
        ("hoelder", 2, (-10, -10), (10, 10)),
        ("matyas", 2, (-10, -10), (10, 10)),
        ("rosenbrock", 2, (-5, -5), (10, 10)),
        ("levy", 2, (-10, -10), (10, 10)),
        ("hartmann6", 6, (0,) * 6, (1,) * 6),
    ],
)
def test_domains_are_those_of_the_paper(name, dim, low, high):
    made = objective(name)
    assert made.dim == dim
    assert_array_equal(made.lower, low)
    assert_array_equal(made.upper, high)


def test_grid_is_the_uniform_mesh_in_lexicographic_order(x64):
    points = np.asarray(objective("branin").grid(4, dtype=x64))
    assert points.dtype == x64
    expected = list(itertools.product((-5, 0, 5, 10), (0, 5, 10, 15)))
    assert_allclose(points, expected, rtol=0, atol=4 * np.finfo(x64).eps)


@pytest.mark.parametrize("case", [case for case in CASES if objective(*case).dim <= 4])
@pytest.mark.parametrize("per_axis", [2, 5, 10])
def test_grid_has_every_corner_of_the_box(case, per_axis, x64):
    made = objective(*case)
    points = np.asarray(made.grid(per_axis))
    assert points.dtype == x64
    assert points.shape == (per_axis**made.dim, made.dim)
    assert len(np.unique(points, axis=0)) == len(points)
    corners = np.array(list(itertools.product(*made.box)), dtype=x64)
    assert set(map(tuple, corners)) <= set(map(tuple, points))


@pytest.mark.parametrize("per_axis", [10, 23, 50])
def test_grid_of_a_symmetric_box_is_exactly_symmetric(per_axis, x64):
    points = np.asarray(objective("ackley").grid(per_axis))
    assert_array_equal(points, -points[::-1])


def test_ackley_on_the_papers_grid_misses_the_origin_and_ties_four_arms(x64):
    made = objective("ackley")
    points = made.grid()
    utilities = scale_utilities(made(points))
    assert points.shape == (100, 2)
    assert not np.any(np.all(np.asarray(points) == 0, axis=1))
    best = np.asarray(points)[np.asarray(utilities) == 3]
    nearest = 5 / 9
    expected = list(itertools.product((-nearest, nearest), repeat=2))
    assert_allclose(best, expected, rtol=4 * np.finfo(x64).eps * 9)


@pytest.mark.parametrize("case", CASES[:11])
def test_scaled_utilities_of_the_grid_span_the_papers_range(case, x64):
    made = objective(*case)
    points = made.grid(10 if made.dim == 2 else 3)
    utilities = scale_utilities(made(points))
    assert utilities.dtype == x64
    assert (float(utilities.min()), float(utilities.max())) == (-3.0, 3.0)
    assert np.argmax(utilities) == np.argmax(made(points))


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=20).filter(lambda v: len(set(v)) > 1),
    st.integers(-50, 50),
    st.integers(1, 50),
)
def test_scaling_is_affine_and_hits_both_ends(values, low, width):
    with jax.enable_x64(True):
        array = np.array(values, dtype=float)
        scaled = np.asarray(scale_utilities(array, float(low), float(low + width)))
    assert (scaled.min(), scaled.max()) == (low, low + width)
    slope = width / (array.max() - array.min())
    assert_allclose(scaled, low + slope * (array - array.min()), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([2.0, 2.0, 2.0], "values: expected a positive finite range"),
        ([1.0], "values: expected at least 2"),
        ([], "values: expected at least 2"),
        ([1.0, math.nan], "values: expected finite"),
        ([1.0, math.inf], "values: expected finite"),
    ],
)
def test_scaling_refuses_values_without_a_range(values, message):
    with pytest.raises(ValueError, match=message):
        scale_utilities(jnp.asarray(values, dtype=jnp.float32))


def test_scaling_refuses_a_range_that_overflows():
    with jax.enable_x64(True), pytest.raises(ValueError, match="positive finite range"):
        scale_utilities(np.array([-1.7e308, 1.7e308]))


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (0.0, math.inf)])
def test_scaling_refuses_a_range_that_is_none(ends):
    with pytest.raises(ValueError, match="low, high: expected finite low < high"):
        scale_utilities(jnp.asarray([0.0, 1.0]), *ends)


def test_unknown_names_and_variants_list_what_exists():
    assert sorted(OBJECTIVES) == sorted(NAMES)
    with pytest.raises(ValueError, match=r"name: expected one of ackley.*rosenbrock, got 'sphere'"):
        objective("sphere")
    with pytest.raises(ValueError, match="variant: expected one of printed, released, got 'new'"):
        objective("branin", "new")


@pytest.mark.parametrize(
    ("name", "dim", "message"),
    [
        ("branin", 3, "dim: expected exactly 2 for branin, got 3"),
        ("hartmann6", 2, "dim: expected exactly 6 for hartmann6, got 2"),
        ("rosenbrock", 1, "dim: expected at least 2 for rosenbrock, got 1"),
        ("levy", 0, "dim: expected at least 1, got 0"),
    ],
)
def test_dimensions_that_do_not_exist_are_refused(name, dim, message):
    with pytest.raises(ValueError, match=message):
        objective(name, dim=dim)


def test_dimension_must_be_an_integer():
    with pytest.raises(TypeError, match="dim"):
        objective("ackley", dim=True)


def test_points_of_the_wrong_kind_are_refused():
    made = objective("branin")
    with pytest.raises(ValueError, match=r"x: expected shape \(\.\.\., 2\), got \(4, 3\)"):
        made(jnp.zeros((4, 3)))
    with pytest.raises(ValueError, match="x: expected finite numbers"):
        made(jnp.asarray([0.0, math.nan]))
    with pytest.raises(TypeError, match="x"):
        made(jnp.asarray([True, False]))


def test_integer_points_count_as_floats():
    assert_allclose(objective("matyas")(jnp.asarray([1, 2])), -0.34, rtol=1e-6)


def test_grids_of_the_wrong_kind_are_refused():
    made = objective("branin")
    with pytest.raises(ValueError, match="per_axis: expected at least 2, got 1"):
        made.grid(1)
    with pytest.raises(TypeError, match="per_axis"):
        made.grid(True)
    with pytest.raises(TypeError, match="dtype: expected a floating dtype, got int32"):
        made.grid(2, dtype=jnp.int32)
    with pytest.raises(ValueError, match="dtype: float64 is not available"):
        made.grid(2, dtype=np.float64)


@pytest.mark.parametrize("box", [(), ((0.0, 0.0),) * 2, ((0.0, math.inf),) * 2, ((0.0, 1.0),) * 3])
def test_objectives_with_an_impossible_box_are_refused(box):
    made = objective("matyas")
    with pytest.raises(ValueError, match="box"):
        Objective("own", "printed", box, made.evaluate, made.optimum)
