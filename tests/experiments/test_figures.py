"""What is drawn, read back from the figures themselves; the choices of the three arms."""

import io
import math
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb
from PIL import Image
from tests.experiments.synthetic import constant, decaying, everything

from duelist.experiments import _paper
from duelist.experiments._figures import (
    _style,
    action_selection,
    confidence_sets,
    distribution,
    figures,
    kinds_of_regret,
    regret_curves,
    three_arms,
    write_figures,
)
from duelist.experiments._figures._curves import drawn_steps
from duelist.experiments._figures._style import looks, rendered
from duelist.experiments._paper import algorithm_name


@pytest.fixture(scope="module")
def results():
    return everything(horizon=500)


@pytest.fixture(autouse=True)
def settings_stay():
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before


def of(results, function, variant="", feedback=None):
    return [
        r
        for r in results
        if (r.function, r.variant) == (function, variant) and feedback in (None, r.feedback)
    ]


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def check_curves(ax, results, quantity):
    """Each line is the mean over seeds, each band one standard error, at the drawn steps."""
    assert list(lines(ax)) == [algorithm_name(result.algorithm) for result in results]
    assert len(ax.collections) == len(results)
    for result, band in zip(results, ax.collections, strict=True):
        line = lines(ax)[algorithm_name(result.algorithm)]
        at = line.get_xdata().astype(int) - 1
        values = quantity(result)[:, at]
        mean = values.sum(0) / len(values)
        error = np.sqrt(((values - mean) ** 2).sum(0) / (len(values) - 1) / len(values))
        np.testing.assert_allclose(line.get_ydata(), mean)
        outline = band.get_paths()[0].vertices
        for number, step in enumerate(at + 1):
            own = outline[outline[:, 0] == step, 1]
            assert own.min() == pytest.approx(mean[number] - error[number])
            assert own.max() == pytest.approx(mean[number] + error[number])
        assert to_hex(line.get_color()) == to_hex(band.get_facecolor()[0][:3])


def test_regret_curves_have_both_kinds_of_feedback(results):
    figure = regret_curves(of(results, "ackley"))
    logistic, preference = figure.axes
    check_curves(
        logistic,
        of(results, "ackley", feedback="ratings"),
        lambda r: np.add.accumulate(r.regret["logistic"], axis=1),
    )
    check_curves(
        preference,
        of(results, "ackley", feedback="duels"),
        lambda r: np.add.accumulate(r.regret["dueling"], axis=1),
    )
    assert (logistic.get_yscale(), preference.get_yscale()) == ("log", "linear")
    assert preference.get_ylim()[0] == 0
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "Logistic feedback",
        "Preference feedback",
    ]
    assert figure.get_suptitle() == "Ackley"
    for ax in figure.axes:
        assert (ax.get_xlabel(), ax.get_xlim()) == ("step t", (0, 500))
        assert "cumulative regret" in ax.get_ylabel()
        assert [t.get_text() for t in ax.get_legend().get_texts()] == list(lines(ax))


def test_the_real_world_figure_has_one_panel(results):
    (panel,) = regret_curves(of(results, "movielens")).axes
    assert list(lines(panel)) == [algorithm_name(algorithm) for algorithm in _paper.DUELS]


def test_the_legend_does_not_cover_the_axes(results):
    figure = regret_curves(of(results, "ackley"))
    figure.draw_without_rendering()
    for ax in figure.axes:
        legend = ax.get_legend().get_window_extent()
        assert legend.y1 <= ax.xaxis.get_tightbbox().y0 + 1
        assert legend.y0 >= 0


def test_curves_of_two_problems_are_refused(results):
    with pytest.raises(ValueError, match=r"results: expected those of one problem, got \['Ackley'"):
        regret_curves(results)


def test_kinds_of_regret(results):
    own = of(results, "eggholder", "printed", "duels")
    weak, strong, instant, simple = kinds_of_regret(own).axes
    check_curves(weak, own, lambda r: np.add.accumulate(r.regret["weak"], axis=1))
    check_curves(strong, own, lambda r: np.add.accumulate(r.regret["strong"], axis=1))
    window = 500 // 40

    def recent(kind):
        def mean(r):
            steps = range(1, r.horizon + 1)
            parts = [r.regret[kind][:, max(0, t - window) : t].mean(1) for t in steps]
            return np.stack(parts, axis=1)

        return mean

    check_curves(instant, own, recent("dueling"))
    check_curves(simple, own, recent("simple"))
    assert instant.get_ylabel() == "regret, mean of 12 steps"
    assert (instant.get_xscale(), weak.get_xscale()) == ("log", "linear")


def test_confidence_sets_have_a_panel_for_each_problem(results):
    figure = confidence_sets(results)
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "Ackley",
        "Eggholder (released)",
        "Eggholder (printed)",
    ]
    for ax, where in zip(
        figure.axes,
        [("ackley", ""), ("eggholder", "released"), ("eggholder", "printed")],
        strict=True,
    ):
        own = of(results, *where, "ratings")
        check_curves(ax, own, lambda r: np.add.accumulate(r.regret["logistic"], axis=1))
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == [algorithm_name(a) for a in _paper.RATINGS]


def test_no_regret_for_a_while_leaves_a_readable_logarithmic_axis():
    late = decaying("log-ucb1", "ackley", "", "ratings", horizon=400)
    late.regret["logistic"][:, :100] = 0
    own = [late, decaying("lgp-ucb", "ackley", "", "ratings", horizon=400)]
    figure = confidence_sets(own)
    figure.draw_without_rendering()
    (ax,) = figure.axes
    low, high = ax.get_ylim()
    assert 100 < high / low < 1000
    shown = [t.get_text() for t in ax.get_yticklabels() if low <= t.get_position()[1] <= high]
    assert len(shown) >= 3
    assert all(re.fullmatch(r"[135]0*|0\.[135]", text) for text in shown)
    check_curves(ax, own, lambda r: np.add.accumulate(r.regret["logistic"], axis=1))


def test_one_seed_has_no_band_but_a_line():
    figure = regret_curves([decaying("ids", "ackley", "", "duels", seeds=1)])
    assert len(figure.axes[0].collections) == 0
    assert len(figure.axes[0].get_lines()) == 1


def test_settings_of_a_sweep_have_curves_of_their_own(tmp_path):
    finals = {0.1: [3.0, 5.0], 1: [7.0, 9.0]}
    own = [
        constant("ids", x, "my data/set", settings={"lam": lam}, horizon=20)
        for lam, x in finals.items()
    ]
    (panel,) = regret_curves(own).axes
    assert {label: line.get_ydata()[-1] for label, line in lines(panel).items()} == pytest.approx(
        {"IDS, lam=0.1": 4.0, "IDS, lam=1": 8.0}
    )
    (strips,) = distribution(own, "duels").axes
    assert [t.get_text() for t in strips.get_yticklabels()] == ["IDS, lam=0.1", "IDS, lam=1"]
    assert set(figures(own)) == {
        *("action-selection", "distribution-duels"),
        *("regret-my_data_set", "kinds-my_data_set"),
    }


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_or_many_panels_have_room_for_their_legend_and_title(count):
    names = ("ackley", "branin", "matyas", "rosenbrock")[:count]
    made = [decaying(a, f, "", "ratings", 2, 20) for f in names for a in _paper.RATINGS]
    alone = [r for r in made if r.algorithm == "gp-ucb"]
    sweep = [
        constant(
            "random-rating", [4.0, 5.0], f, feedback="ratings", horizon=9, settings={"bound": b}
        )
        for f in names
        for b in (0.125, 0.25, 0.5)
    ]
    for results in (made, alone, sweep):
        for figure in (confidence_sets(results), distribution(results, "ratings")):
            figure.draw_without_rendering()
            boxes = [legend.get_window_extent() for legend in figure.legends]
            if figure.get_suptitle():
                boxes += [text.get_window_extent() for text in figure.texts]
            for box in boxes:
                assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
                assert 0 <= box.y0 < box.y1 <= figure.bbox.y1
            assert all(ax.bbox.height > 18 and ax.bbox.width > 60 for ax in figure.axes)


@pytest.mark.parametrize("horizon", [1, 2, 7, 200, 201, 2000, 100_000])
def test_drawn_steps_have_both_ends_and_are_few(horizon):
    steps = drawn_steps(horizon)
    assert (steps[0], steps[-1]) == (1, horizon)
    assert np.all(np.diff(steps) > 0)
    assert len(steps) == horizon if horizon <= 200 else 200 <= len(steps) <= 270


def test_the_distribution_shows_every_seed_the_mean_and_the_paper():
    finals = {"maxminlcb": [50.0, 54.0, 58.0], "ids": [101.0, 90.0, 97.0]}
    own = [constant(a, values) for a, values in finals.items()]
    figure = distribution([*own, constant("lgp-ucb", [3.0, 4.0], feedback="ratings")], "duels")
    (ax,) = figure.axes
    dots = [c for c in ax.collections if isinstance(c, PathCollection)]
    for place, (cloud, values) in enumerate(zip(dots, finals.values(), strict=True)):
        np.testing.assert_allclose(cloud.get_offsets()[:, 0], values)
        assert np.all(np.abs(cloud.get_offsets()[:, 1] - place) < 0.5)
    ours, paper = ax.containers[0::2], ax.containers[1::2]
    assert [bar.lines[0].get_xdata()[0] for bar in ours] == pytest.approx([54.0, 96.0])
    assert [bar.lines[0].get_xdata()[0] for bar in paper] == [56, 111]
    ends = ours[0].lines[2][0].get_segments()[0][:, 0]
    np.testing.assert_allclose(ends, [54 - 4 / math.sqrt(3), 54 + 4 / math.sqrt(3)])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["MaxMinLCB", "IDS"]
    assert figure.get_suptitle() == "Cumulative dueling regret at T = 2000"
    assert [t.get_text() for t in figure.legends[0].get_texts()] == [
        *("a seed", "mean ± standard error", "the paper's")
    ]


def test_the_distribution_of_ratings_is_logarithmic(results):
    figure = distribution(results, "ratings")
    assert [ax.get_xscale() for ax in figure.axes] == ["log"] * 3
    assert figure.get_suptitle() == "Cumulative logistic regret at T = 500"


def test_algorithms_look_the_same_everywhere_and_differ_in_grey():
    alone = looks(["rucb"])["rucb"]
    assert looks(["maxminlcb", "mine", "rucb"])["rucb"] == alone
    for columns in (_paper.DUELS, _paper.RATINGS, ("mine", *"abcdefghij")):
        made = looks(list(columns)).values()
        assert len({(look.colour, look.dashes, look.marker) for look in made}) == len(columns)
    for columns in (_paper.DUELS, _paper.RATINGS):
        made = looks(list(columns)).values()
        assert len({look.dashes for look in made}) == len({look.marker for look in made})
        assert len({look.dashes for look in made}) == len(columns)


# ---- the three arms: worked out by hand in tests/policies/test_three_arms.py -------------------


def test_the_three_arms_have_the_bounds_of_the_hand():
    arms = three_arms()
    lcb = [[0.5, 0.45, 0.47], [0.35, 0.5, 27 / 38 - 0.3], [-0.03, 11 / 38 - 0.3, 0.5]]
    np.testing.assert_allclose(arms.lcb, lcb, atol=1e-6)
    np.testing.assert_allclose(arms.ucb, 1 - np.transpose(lcb), atol=1e-6)
    np.testing.assert_allclose(arms.estimate, (arms.lcb + arms.ucb) / 2, atol=1e-6)


def test_the_three_arms_are_chosen_by_the_policies():
    """By their definitions on the table of bounds, searched in NumPy."""
    arms = three_arms()
    chosen = {choice.rule: choice for choice in arms.choices}
    leader = int(np.argmax(arms.lcb.min(axis=1)))
    assert chosen["MaxMinLCB"].pair == (leader, int(np.argmin(arms.lcb[leader]))) == (0, 1)
    best = np.unravel_index(np.argmax(arms.ucb), (3, 3))
    assert chosen["Optimism"].pair == tuple(map(int, best)) == (0, 2)
    widest = np.unravel_index(np.argmax(arms.ucb - arms.lcb), (3, 3))
    assert sorted(chosen["Max Info"].pair) == sorted(map(int, widest)) == [1, 2]
    losses = [chosen[rule].regret for rule in ("MaxMinLCB", "Optimism", "Max Info")]
    assert losses == pytest.approx([0.025, 0.125, 0.15], abs=1e-6)


def test_the_arrows_point_at_what_the_rules_choose_by():
    arms, (ax,) = three_arms(), action_selection().axes
    assert len(ax.texts) == 3
    for choice, note in zip(arms.choices, ax.texts, strict=True):
        x, y = choice.pair
        labels = (label.get_text() for label in ax.get_xticklabels())
        ticks = dict(zip(labels, ax.get_xticks(), strict=True))
        middle = (arms.lcb[x, y] + arms.ucb[x, y]) / 2
        height = {"MaxMinLCB": arms.lcb[x, y], "Optimism": arms.ucb[x, y], "Max Info": middle}
        assert note.xy == pytest.approx((ticks[f"({x + 1}, {y + 1})"], height[choice.rule]))
        assert f"{choice.rule} asks ({x + 1}, {y + 1})" in note.get_text()
        assert f"{choice.regret:.3f}" in note.get_text()


def test_the_notes_stay_inside_and_apart():
    figure = action_selection()
    figure.draw_without_rendering()
    (ax,) = figure.axes
    boxes = [mpl.text.Text.get_window_extent(note) for note in ax.texts]
    for number, box in enumerate(boxes):
        assert ax.bbox.x0 < box.x0 < box.x1 < ax.bbox.x1
        assert ax.bbox.y0 < box.y0 < box.y1 < ax.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[:number])


# ---- files -------------------------------------------------------------------------------------


def test_names_of_the_figures(results):
    problems = ["ackley", "eggholder-released", "eggholder-printed", "movielens"]
    expected = {f"{kind}-{problem}" for kind in ("regret", "kinds") for problem in problems}
    expected |= {"action-selection", "confidence-sets"}
    expected |= {"distribution-duels", "distribution-ratings"}
    assert set(figures(results)) == expected
    assert set(figures([])) == {"action-selection"}


def test_files_are_pictures_of_a_sensible_size(tmp_path, results):
    names = ["regret-ackley", "distribution-duels"]
    paths = write_figures(results, tmp_path / "images", only=names)
    assert [path.name for path in paths] == [
        f"{n}.{kind}" for n in names for kind in ("png", "pdf")
    ]
    assert sorted(tmp_path.rglob("*.*")) == sorted(paths)
    for path in paths:
        assert path.stat().st_size < 200_000
        if path.suffix == ".png":
            pixels = np.asarray(Image.open(path).convert("L"))
            assert pixels.shape[1] > 800
            assert np.mean(pixels < 128) > 0.005
        else:
            assert path.read_bytes().startswith(b"%PDF")


def test_the_same_results_make_the_same_bytes(results):
    own = of(results, "movielens")
    first, second = (rendered(regret_curves(own), ("png", "pdf")) for _ in range(2))
    assert first == second
    assert Image.open(io.BytesIO(first["png"])).format == "PNG"


def test_256_colours_are_enough(results, monkeypatch):
    own = of(results, "movielens")
    small = rendered(regret_curves(own), ("png",))["png"]
    monkeypatch.setattr(_style, "_with_palette", io.BytesIO.getvalue)
    large = rendered(regret_curves(own), ("png",))["png"]
    ours, exact = (
        np.asarray(Image.open(io.BytesIO(x)).convert("RGB"), int) for x in (small, large)
    )
    assert np.mean(np.abs(ours - exact).max(axis=-1) > 16) < 0.005
    for look in looks([result.algorithm for result in own]).values():
        colour = 255 * np.array(to_rgb(look.colour))
        assert np.abs(ours - colour).max(axis=-1).min() < 1
    assert len(small) < len(large) / 2


def test_bad_arguments_are_named(tmp_path, results):
    with pytest.raises(
        ValueError, match=r"only: expected one of action-selection, .*'regret-nowhere'"
    ):
        write_figures(results, tmp_path, only=["regret-nowhere"])
    Path(tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="directory: cannot make"):
        write_figures(results, tmp_path / "file")


def test_settings_of_the_user_neither_change_nor_show(results):
    own = of(results, "movielens")
    plain = rendered(regret_curves(own), ("png",))
    with mpl.rc_context({"lines.linewidth": 9.0, "axes.facecolor": "red", "font.size": 20}):
        assert rendered(regret_curves(own), ("png",)) == plain
        assert mpl.rcParams["axes.facecolor"] == "red"
