"""The heatmap's twin for print draws the same values, heads and tokens."""

from pathlib import Path

import numpy as np
import pytest

from course_utils.widgets import heatmap_figure


def test_every_head_is_drawn_with_one_colour_scale() -> None:
    weights = np.random.default_rng(0).random((5, 3, 4))
    figure = heatmap_figure(weights, list("abc"), list("wxyz"), title="Weights")
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in panels] == [f"Head {i}" for i in range(5)]
    for axes, values in zip(panels, weights, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), values.astype(np.float32))
        assert axes.images[0].get_clim() == (0.0, 1.0)
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["a", "b", "c"]


def test_a_layer_is_chosen() -> None:
    figure = heatmap_figure(np.arange(24.0).reshape(2, 1, 3, 4), layer=1)
    assert figure.axes[0].images[0].get_array()[0, 0] == 12
    with pytest.raises(ValueError, match=r"layer must be in 0..1, got 2"):
        heatmap_figure(np.zeros((2, 1, 3, 4)), layer=2)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (9, 2, 60)])
def test_any_shape_is_printed(tmp_path: Path, shape: tuple[int, ...]) -> None:
    values = np.full(shape, 0.25)
    values.flat[0] = np.nan
    heatmap_figure(values).savefig(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_nothing_but_nan_and_dollar_signs_are_printed(tmp_path: Path) -> None:
    figure = heatmap_figure([[np.nan, np.nan]], ["$x$"], ["$", "_"], title="none")
    figure.savefig(tmp_path / "figure.png")
    assert figure.axes[0].images[0].get_clim() == (0.0, 1.0)


def test_long_token_lists_are_thinned() -> None:
    tokens = [f"t{i}" for i in range(200)]
    figure = heatmap_figure(np.eye(200), tokens, tokens)
    assert len(figure.axes[0].get_xticks()) <= 24


def test_two_stacks_are_drawn_with_their_difference() -> None:
    before, after = np.random.default_rng(1).random((2, 2, 3, 4)).astype(np.float32)
    figure = heatmap_figure(before, other=after, pair_names=("before", "after"))
    panels = [axes for axes in figure.axes if axes.images]
    kinds = ("before", "after", "after − before")
    assert [axes.get_title() for axes in panels] == [
        f"Head {head}: {kind}" for head in range(2) for kind in kinds
    ]
    shown = [before[0], after[0], after[0] - before[0], before[1], after[1], after[1] - before[1]]
    for axes, values in zip(panels, shown, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), values)
    low, high = panels[2].images[0].get_clim()
    assert low == -high == -np.abs(after - before).max()
    assert [axes.images[0].get_cmap().name for axes in panels[:3]] == ["viridis", "viridis", "PuOr"]
    assert len(figure.axes) == 6 + 2


def test_equal_stacks_of_one_head_are_printed(tmp_path: Path) -> None:
    figure = heatmap_figure(np.eye(3), list("abc"), list("abc"), other=np.eye(3), title="same")
    assert [axes.get_title() for axes in figure.axes[:3]] == ["first", "second", "second − first"]
    figure.savefig(tmp_path / "figure.svg")
