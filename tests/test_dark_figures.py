import subprocess
import sys
from collections.abc import Callable
from io import BytesIO

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from course_utils import matrix_plotting, plotting
from course_utils.dark_colours import DARK_COLOURS, DARK_PAPER
from course_utils.dark_figures import MIME, dark_twin, publish_twins

Picture = NDArray[np.float64]  # (height, width, 3), from 0 to 1


@pytest.fixture(autouse=True)
def _own_figures():
    with mpl.rc_context({"backend": "agg"}):
        plt.switch_backend("agg")
        plotting.use_style()
        yield
    plt.close("all")


def pixels(png: bytes) -> Picture:
    return np.asarray(Image.open(BytesIO(png)).convert("RGB")) / 255


def light(figure: Figure) -> bytes:
    drawn = BytesIO()
    figure.canvas.print_figure(drawn, format="png", dpi=200, bbox_inches="tight")
    return drawn.getvalue()


def bare() -> Axes:
    """Return axes that fill their figure and show nothing but what is drawn on them."""
    mpl.rcParams["figure.constrained_layout.use"] = False
    axes = plt.figure(figsize=(2, 2)).add_axes((0, 0, 1, 1), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    return axes


def inside(png: bytes) -> Picture:
    """Return the 400 by 400 pixels of bare axes."""
    return pixels(png)[20:-20, 20:-20]


def bar(axes: Axes) -> None:
    axes.bar([0.5], [0.8], color="none", edgecolor="black", hatch="//")


def framed(axes: Axes) -> None:
    axes.spines[:].set_visible(True)
    axes.set(position=(0.2, 0.2, 0.7, 0.7), title="title", xlabel="x", xticks=[0, 0.5, 1])
    axes.grid(visible=True)


def key(axes: Axes) -> None:
    matrix_plotting.colour_key(axes, label="weights")


def apart(first: Picture, second: Picture) -> float:
    """Return the largest difference; the twin's file has the nearest of its frequent colours."""
    return float(np.abs(first - second).max())


INKED: dict[str, Callable[[Axes], object]] = {
    "text": lambda axes: axes.text(0.2, 0.5, "word"),
    "formula": lambda axes: axes.text(0.2, 0.5, r"$\sqrt{d_k}$"),
    "turned text": lambda axes: axes.text(0.2, 0.2, "word", rotation=60),
    "line": lambda axes: axes.plot([0, 1], [0, 1], color=plotting.QUIET),
    "markers": lambda axes: axes.plot([0.5], [0.5], "o", color="black", markeredgecolor="white"),
    "points": lambda axes: axes.scatter([0.3, 0.6], [0.5, 0.5], color=plotting.INK),
    "points of two sizes": lambda axes: axes.scatter([0.3, 0.6], [0.5, 0.5], [40, 90], color="k"),
    "arrows": lambda axes: axes.quiver([0.2], [0.2], [1], [1], scale=3),
    "arrow": lambda axes: axes.annotate("", (0.9, 0.9), (0.1, 0.1), arrowprops={"width": 2}),
    "hatch": bar,
    "legend": lambda axes: axes.legend(handles=axes.plot([0, 1], [0, 1], "k", label="line")),
    "frame": framed,
}


@pytest.mark.parametrize("kind", INKED)
def test_what_is_drawn_in_ink_is_light_on_dark(kind: str) -> None:
    axes = bare()
    INKED[kind](axes)
    drawn, paper = pixels(dark_twin(axes.figure)), np.array(mpl.colors.to_rgb(DARK_PAPER))
    assert drawn[0, 0] == pytest.approx(paper, abs=0.02)
    assert (drawn >= paper - 0.02).all()
    assert drawn.max() > 0.55


@pytest.mark.parametrize("name", plotting.COLOURS)
def test_lines_have_the_dark_page_s_colours(name: str) -> None:
    axes = bare()
    plotting.line(axes, [0, 1], [0, 1], "rule", name, linewidth=12)
    middle = inside(dark_twin(axes.figure))[200, 200]
    assert middle == pytest.approx(mpl.colors.to_rgb(DARK_COLOURS[name]), abs=0.02)


@pytest.mark.parametrize("grey", ["gray_r", "cividis"])
def test_a_heat_map_s_pixels_are_the_light_figure_s(grey: str) -> None:
    table = np.linspace(0, 1, 16).reshape(4, 4)
    for draw in ("imshow", "pcolormesh"):
        axes = bare()
        getattr(axes, draw)(table, cmap=grey)
        assert apart(inside(dark_twin(axes.figure)), inside(light(axes.figure))) < 0.02


def test_numbers_stay_in_their_squares_and_are_light_on_paper() -> None:
    axes = bare()
    matrix_plotting.weight_map(axes, [[0.0, 1.0], [np.nan, 0.5]])
    axes.text(0.2, 1.5, "none")
    light_one, dark_one = inside(light(axes.figure)), inside(dark_twin(axes.figure))
    for square in (np.s_[20:180, 20:180], np.s_[20:180, 220:380], np.s_[220:380, 220:380]):
        assert apart(dark_one[square], light_one[square]) < 0.1
    assert dark_one[220:380, 20:180].max() > 0.8
    assert dark_one[220:380, 20:180].min() > 0.06


def test_marks_on_a_picture_keep_their_colours() -> None:
    axes = bare()
    axes.imshow([[0.0, 1.0], [1.0, 0.0]], cmap="gray_r")
    axes.plot([0], [0], "o", color="white", markeredgecolor="black", markersize=20)
    axes.plot([0.8, 1.2], [0, 0], color=plotting.COLOURS["blue"])
    assert apart(inside(dark_twin(axes.figure)), inside(light(axes.figure))) < 0.1


def test_boxes_along_a_picture_s_edge_keep_theirs_and_its_frame_does_not() -> None:
    axes = bare()
    axes.set(position=(0.25, 0.25, 0.5, 0.5))
    axes.spines[:].set(visible=True, color="black", linewidth=4)
    axes.imshow([[0.0, 1.0]], cmap="gray_r", aspect="auto", extent=(0, 2, 0, 1))
    axes.add_patch(plt.Rectangle((0, 0.5), 0.5, 0.5, fill=False, color="black", linewidth=4))
    drawn = pixels(dark_twin(axes.figure))
    height, width, _ = drawn.shape
    assert drawn[height // 2, :30].max() > 0.8  # the frame
    assert drawn[:, width // 4].min() < 0.02  # the box's lower side


def test_a_rare_colour_is_not_lost() -> None:
    axes = bare()
    axes.imshow(np.linspace(0, 0.5, 160_000).reshape(400, 400), cmap="cividis", vmin=0, vmax=1)
    axes.imshow([[1.0]], cmap="cividis", vmin=0, vmax=1, extent=(10, 14, 10, 14))
    axes.set(xlim=(0, 400), ylim=(400, 0))
    assert apart(inside(dark_twin(axes.figure)), inside(light(axes.figure))) < 0.1


def full() -> Figure:
    """Return a figure with everything in it."""
    figure, ((lines, table), (shades, bars)) = plt.subplots(2, 2)
    plotting.headline(figure, "A finding")
    plotting.line(lines, [0, 1], [0, 1], "line", "blue", (0.0, 1.0))
    plotting.band(lines, [0, 1], [[0.0, 1.0], [1.0, 2.0]], "band", "orange")
    lines.legend()
    matrix_plotting.weight_map(table, [[0.2, 0.8]], title="weights")
    key(table)
    shades.imshow([[0.0, 1.0]], cmap="gray_r")
    bar(bars)
    bars.annotate("here", (0.5, 0.5), (0.1, 0.9), arrowprops={"arrowstyle": "->"})
    return figure


def test_the_figure_is_as_it_was() -> None:
    figure = full()
    for _ in range(4):  # until it has found its layout
        canvas, before = figure.canvas, light(figure)
    twin = dark_twin(figure)
    assert figure.canvas is canvas
    assert light(figure) == before
    assert dark_twin(figure) == twin


def test_a_twin_is_as_large_on_the_page_and_a_smaller_file() -> None:
    figure = full()
    before, twin = light(figure), dark_twin(figure)
    assert pixels(twin).shape == pixels(before).shape
    assert len(twin) < 0.6 * len(before)


def test_a_figure_without_a_layout_gets_none() -> None:
    matrix_plotting.matrix_flow([[("query", [[1.0, 0.0]])]], [[]], title="Flow")
    figure = plt.gcf()
    light(figure)
    layout = figure.get_layout_engine()
    assert dark_twin(figure) == dark_twin(figure)  # and no warning
    assert figure.get_layout_engine() is layout


SHOWN = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
from course_utils import plotting
plotting.use_style()
for shown in (plotting.new_figure("Finding", "x", "y").figure, "a text"):
    print(*sorted(shell.display_formatter.format(shown)[0]))
"""


@pytest.mark.parametrize("asked", ["1", ""])
def test_ipython_shows_the_twin_only_where_it_is_asked_for(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(plotting.WANTS_TWINS, asked)
    monkeypatch.setenv("MPLBACKEND", "agg")
    command = [sys.executable, "-c", SHOWN]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figure, text = done.stdout.splitlines()
    assert figure.split() == ["image/png", *[MIME] * bool(asked), "text/plain"]
    assert text == "text/plain"


def test_without_ipython_nothing_can_be_published() -> None:
    with pytest.raises(RuntimeError, match="twins of figures need IPython, got plain Python"):
        publish_twins()
