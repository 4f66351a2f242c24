import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from course_utils import plotting


@pytest.fixture(autouse=True)
def _own_figures():
    with mpl.rc_context({"backend": "agg"}):
        plt.switch_backend("agg")
        plotting.use_style()
        yield
    plt.close("all")


def contrast_on_paper(colour: str) -> float:
    """WCAG 2.2: (lighter + 0.05) / (darker + 0.05) of the relative luminances."""

    def luminance(name: str) -> float:
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in mpl.colors.to_rgb(name)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    return (luminance(plotting.PAPER) + 0.05) / (luminance(colour) + 0.05)


@pytest.mark.parametrize("colour", [*plotting.COLOURS.values(), plotting.INK, plotting.QUIET])
def test_text_in_every_colour_is_readable_on_the_background(colour: str) -> None:
    assert contrast_on_paper(colour) >= 4.5


def test_the_background_is_opaque_so_that_it_stays_readable_on_a_dark_page() -> None:
    axes = plotting.new_figure("Finding", "x", "y")
    assert axes.figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert mpl.rcParams["savefig.facecolor"] == plotting.PAPER


def test_letters_are_at_least_nine_pixels_high_on_a_phone() -> None:
    pixels_an_inch = 350 / plotting.WIDTH  # a page of 390 px less its margins
    axes = plotting.new_figure("Finding", "x", "y")
    for text in (axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels()):
        assert text.get_fontsize() / 72 * pixels_an_inch > 9


def test_a_figure_states_its_finding_and_names_its_axes() -> None:
    axes = plotting.new_figure("Twice is twice", "width", "height (m)")
    assert axes.figure.get_suptitle() == "Twice is twice"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("width", "height (m)")


def test_panels_share_the_horizontal_axis_and_name_it_once() -> None:
    first, second = plotting.new_panels("Finding", "width", ["a", "b"])
    first.set_xlim(2, 5)
    assert second.get_xlim() == (2, 5)
    assert [panel.get_xlabel() for panel in (first, second)] == ["", "width"]
    assert [panel.get_ylabel() for panel in (first, second)] == ["a", "b"]


@pytest.mark.parametrize("which", ["x", "y"])
def test_a_power_axis_is_logarithmic_with_just_the_ticks_that_were_asked(which: str) -> None:
    axes = plotting.new_figure("Finding", "x", "y")
    plotting.line(axes, [16, 1024], [16, 1024], "law", "blue")
    plotting.power_axis(axes, [16, 1024], which)
    axes.figure.canvas.draw()
    axis = axes.xaxis if which == "x" else axes.yaxis
    assert axis.get_scale() == "log"
    assert [label.get_text() for label in axis.get_ticklabels()] == ["16", "1,024"]
    assert len(axis.get_minorticklocs()) == 0


def test_an_unknown_axis_is_refused() -> None:
    with pytest.raises(ValueError, match='which must be "x" or "y", got \'z\''):
        plotting.power_axis(plotting.new_figure("Finding", "x", "y"), [1, 2], "z")


def test_a_line_is_named_in_its_own_colour() -> None:
    axes = plotting.new_figure("Finding", "x", "y")
    plotting.line(axes, [0, 1], [2, 3], "scaled", "green", (0.5, 2.0), "o--")
    (drawn,), (name,) = axes.lines, axes.texts
    assert drawn.get_color() == name.get_color() == plotting.COLOURS["green"]
    assert (name.get_text(), name.get_position()) == ("scaled", (0.5, 2.0))
    assert list(drawn.get_ydata()) == [2, 3]


def test_a_line_without_a_place_for_its_name_writes_none() -> None:
    axes = plotting.new_figure("Finding", "x", "y")
    plotting.line(axes, [0, 1], [2, 3], "scaled", "green")
    assert not axes.texts


def test_a_colour_that_is_not_the_courses_is_refused() -> None:
    axes = plotting.new_figure("Finding", "x", "y")
    with pytest.raises(ValueError, match=r"colour must be one of blue, .*, got 'red'"):
        plotting.line(axes, [0], [0], "name", "red")


def test_a_band_goes_from_the_lowest_to_the_highest_run_around_their_mean() -> None:
    axes = plotting.new_figure("Finding", "x", "y")
    plotting.band(axes, [1, 2], [[1.0, 3.0, 8.0], [2.0, 2.0, 5.0]], "runs", "blue")
    assert list(axes.lines[0].get_ydata()) == [4.0, 3.0]
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (1.0, 8.0)
