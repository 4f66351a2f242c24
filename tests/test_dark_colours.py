import matplotlib as mpl
import pytest

from course_utils.dark_colours import DARK_COLOURS, DARK_INK, DARK_PAPER, contrast, swapped
from course_utils.plotting import COLOURS, INK, PAPER, QUIET


@pytest.mark.parametrize("colour", [*COLOURS.values(), INK, QUIET, "black", "0.15"])
def test_text_in_every_colour_is_readable_on_a_dark_page(colour: str) -> None:
    assert contrast(swapped(colour)[:3], DARK_PAPER) >= 4.5


@pytest.mark.parametrize("name", COLOURS)
def test_a_colour_becomes_its_lighter_namesake(name: str) -> None:
    assert swapped(COLOURS[name]) == mpl.colors.to_rgba(DARK_COLOURS[name])


@pytest.mark.parametrize(("light", "dark"), [(PAPER, DARK_PAPER), (INK, DARK_INK)])
def test_paper_and_ink_change_their_places(light: str, dark: str) -> None:
    assert swapped(light) == pytest.approx(mpl.colors.to_rgba(dark))


def test_greys_between_turn_around_and_keep_their_order() -> None:
    shades = [contrast(swapped(str(level / 10))[:3], DARK_PAPER) for level in range(2, 11)]
    assert shades == sorted(shades, reverse=True)
    assert 1.2 < contrast(swapped("#E3E3E3")[:3], DARK_PAPER) < 1.5  # the grid stays faint


@pytest.mark.parametrize("colour", ["#00224E", "#FEE838", "#0B5CAD", "#F4F6F8"])
def test_values_of_a_scale_stay(colour: str) -> None:
    assert swapped(colour) == mpl.colors.to_rgba(colour)


@pytest.mark.parametrize("colour", ["#00224E", "#67001F", "#0B5CAD"])
def test_a_line_in_the_dark_end_of_a_scale_can_be_seen(colour: str) -> None:
    assert contrast(swapped(colour, line=True)[:3], DARK_PAPER) == pytest.approx(3.3, abs=0.35)


def test_a_line_that_can_be_seen_is_not_mixed() -> None:
    for colour in ("#FEE838", *COLOURS.values()):
        assert swapped(colour, line=True) == swapped(colour)
    assert swapped("#E3E3E3", line=True) == swapped("#E3E3E3")  # a grid


def test_what_is_transparent_stays_so() -> None:
    assert swapped((1.0, 1.0, 1.0, 0.3))[3] == 0.3
    assert swapped("none")[3] == 0.0


def test_contrast_is_wcags() -> None:
    assert contrast("white", "black") == contrast("black", "white") == pytest.approx(21)
    assert contrast("#777777", "white") == pytest.approx(4.48, abs=0.005)  # their own example
