import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from course_utils import matrix_plotting, plotting


@pytest.fixture(autouse=True)
def _own_figures():
    with mpl.rc_context({"backend": "agg"}):
        plt.switch_backend("agg")
        plotting.use_style()
        yield
    plt.close("all")


def test_a_map_writes_the_numbers_and_the_names() -> None:
    axes = plt.figure().add_subplot()
    matrix = [[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]]
    matrix_plotting.weight_map(axes, matrix, rows=["a", "b"], columns=["x", "y", "z"])
    assert [text.get_text() for text in axes.texts] == [
        "0.25",
        "0.75",
        "0.00",
        "1.00",
        "0.00",
        "0.00",
    ]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "y", "z"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_weights_are_coloured_from_zero_to_the_top() -> None:
    axes = plt.figure().add_subplot()
    matrix_plotting.weight_map(axes, [[0.1, 0.2]], top=0.5, decimals=None)
    assert axes.collections[0].get_clim() == (0.0, 0.5)
    assert not axes.texts


def test_a_mask_has_colours_of_its_own() -> None:
    axes = plt.figure().add_subplot()
    matrix_plotting.weight_map(axes, [[True, False]], mask=True, decimals=None)
    assert axes.collections[0].get_cmap() == plotting.MASK_COLOURS
    assert axes.collections[0].get_clim() == (0.0, 1.0)


def test_zero_is_the_middle_of_a_signed_map() -> None:
    axes = plt.figure().add_subplot()
    matrix_plotting.weight_map(axes, [[-3.0, 1.0]], weights=False)
    assert axes.collections[0].get_clim() == (-3.0, 3.0)


def test_one_scale_serves_several_signed_maps() -> None:
    axes = plt.figure().add_subplot()
    matrix_plotting.weight_map(axes, [[-3.0, 1.0]], weights=False, top=5.0)
    assert axes.collections[0].get_clim() == (-5.0, 5.0)


def test_a_small_negative_number_is_not_written_as_minus_zero() -> None:
    axes = plt.figure().add_subplot()
    matrix_plotting.weight_map(axes, [[-0.01, 1.0]], weights=False, decimals=1)
    assert [text.get_text() for text in axes.texts] == ["0.0", "1.0"]


@pytest.mark.parametrize(("weights", "ends"), [(True, (0.0, 0.6)), (False, (-0.6, 0.6))])
def test_a_key_spans_the_colours_of_its_maps(weights: bool, ends: tuple[float, float]) -> None:
    axes = plt.figure().add_subplot()
    matrix_plotting.weight_map(axes, [[0.1, 0.2]], weights=weights, top=0.6, decimals=None)
    matrix_plotting.colour_key(axes, weights=weights, top=0.6, label="weight")
    key = plt.gcf().axes[-1]
    assert key.get_xlim() == axes.collections[0].get_clim() == ends
    assert key.get_xlabel() == "weight"


def test_a_matrix_with_three_axes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"matrix needs two axes, got shape \(2, 3, 4\)"):
        matrix_plotting.weight_map(plt.figure().add_subplot(), np.zeros((2, 3, 4)))


def test_a_flow_draws_every_entry_at_the_same_size() -> None:
    left, right = np.ones((3, 4)), np.ones((4, 2))
    matrix_plotting.matrix_flow([[("A", left), ("B", right), ("AB", left @ right)]], [["·", "="]])
    figure, sizes = plt.gcf(), []
    for axes, matrix in zip(figure.axes[:3], (left, right, left @ right), strict=True):
        box = axes.get_position()
        width, height = figure.get_size_inches()
        sizes += [box.width * width / matrix.shape[1], box.height * height / matrix.shape[0]]
        assert 0 <= box.x0 < box.x1 <= 1
        assert 0 <= box.y0 < box.y1 <= 1
    assert sizes == pytest.approx([sizes[0]] * 6)
    assert [axes.get_title() for axes in figure.axes[:3]] == ["A 3×4", "B 4×2", "AB 3×2"]
    assert [text.get_text() for text in figure.axes[2].texts] == ["4.0"] * 6
    assert {"below 0", "above 0"} <= {text.get_text() for text in figure.texts}


def test_a_flow_writes_weights_with_two_digits_and_names_their_colours() -> None:
    matrix_plotting.matrix_flow([[("weights", [[0.25, 0.75]])]], [[]])
    scales = [axes.images[0].get_cmap().name for axes in plt.gcf().axes[1:]]
    assert scales == [matrix_plotting.SIGNED_COLOURS, matrix_plotting.WEIGHT_COLOURS]
    assert [text.get_text() for text in plt.gcf().axes[0].texts] == ["0.25", "0.75"]
    assert {"weight 0", "weight 1"} <= {text.get_text() for text in plt.gcf().texts}


def test_a_flow_says_what_happens_between_its_rows() -> None:
    row = [("A", np.ones((2, 2))), ("B", np.ones((2, 2)))]
    matrix_plotting.matrix_flow([row, row], [["·"], ["="]], between="softmax")
    assert "↓  softmax" in [text.get_text() for text in plt.gcf().texts]


def test_a_flow_with_a_missing_sign_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the rows need \[1\] signs, got \[0\]"):
        matrix_plotting.matrix_flow([[("A", np.ones((2, 2))), ("B", np.ones((2, 2)))]], [[]])
