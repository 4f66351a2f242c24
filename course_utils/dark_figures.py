"""A figure's dark twin: the same figure, drawn once more for a dark page.

Nothing of the figure is changed for it: colours are swapped (`dark_colours`) on their way to the
canvas. Pictures keep theirs, and so does what lies wholly on one.
"""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from PIL import Image

from course_utils.dark_colours import DARK_PAPER, contrast, swapped

MIME = "image/vnd.attention-course.dark+png"
_FREQUENT, _ALL, _APART = 96, 256, 24  # colours of a file, and how far a pixel may be from its own
_CLEARLY = 1.25  # by how much a contrast must be better to change a text's colour


def dark_twin(figure: Figure) -> bytes:
    """Return the figure as a PNG for dark pages, as large as the light one of a sharp screen.

    A text keeps its colour where that can be read, such as the number in a square of a heat map.

    Args:
        figure: It was drawn before, and so has its layout; it stays as it is.
    """
    canvas, layout, drawn = figure.canvas, figure.get_layout_engine(), BytesIO()
    # With this on, matplotlib gives a layout to a figure that has none.
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine("none")
        try:
            _DarkCanvas(figure).print_figure(
                drawn, format="png", dpi=2 * figure.dpi, facecolor="auto", bbox_inches="tight"
            )
        finally:
            figure.set_canvas(canvas)
            figure.set_layout_engine(layout)
    return _small(np.asarray(Image.open(drawn).convert("RGB")))


def _small(picture: NDArray[np.uint8]) -> bytes:
    """Return a picture as a PNG with a palette: its most frequent colours, then the farthest."""
    codes = picture.astype(np.int64) @ [1 << 16, 1 << 8, 1]
    found, where, counts = np.unique(codes, return_inverse=True, return_counts=True)
    colours = found[:, None] >> np.array([16, 8, 0]) & 255
    chosen = list(np.argsort(-counts, kind="stable")[:_FREQUENT])
    apart = np.square(colours[:, None] - colours[chosen]).sum(axis=-1)
    least, nearest = apart.min(axis=1), apart.argmin(axis=1)
    while len(chosen) < _ALL and least.max() > _APART**2:
        chosen.append(least.argmax())
        more = np.square(colours - colours[chosen[-1]]).sum(axis=-1)
        nearest[more < least] = len(chosen) - 1
        least = np.minimum(least, more)
    image, drawn = Image.fromarray(nearest.astype(np.uint8)[where].reshape(codes.shape)), BytesIO()
    image.putpalette(colours[chosen].astype(np.uint8).tobytes())
    image.save(drawn, "png", optimize=True)
    return drawn.getvalue()


def publish_twins() -> None:
    """Let IPython show every figure with its dark twin, under a MIME type that only the site reads.

    Raises:
        RuntimeError: This is not IPython.
    """
    from IPython.core.formatters import BaseFormatter
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is None:
        raise RuntimeError("twins of figures need IPython, got plain Python")
    display: Any = shell.display_formatter
    formatter: Any = BaseFormatter(parent=display)
    formatter.format_type, formatter._return_type = MIME, str
    formatter.print_method = "_repr_dark_"  # unset, it is __repr__, which all objects have
    formatter.for_type(Figure, lambda figure: b64encode(dark_twin(figure)).decode())
    display.formatters[MIME] = formatter


class _DarkCanvas(FigureCanvasAgg):
    """A canvas that swaps colours."""

    def get_renderer(self) -> RendererAgg:
        size = (*self.figure.bbox.size, self.figure.dpi)
        if getattr(self, "_size", None) != size:
            self._size, self.renderer = size, _DarkRenderer(*size)  # type: ignore[no-untyped-call]
        return self.renderer


class _DarkRenderer(RendererAgg):
    """A renderer that swaps colours, but for pictures and what lies wholly on one."""

    def _update_methods(self) -> None:
        super()._update_methods()  # type: ignore[no-untyped-call]
        self._pictures: list[Bbox] = []
        # The base class binds these to the renderer in C++, past a subclass's methods.
        vars(self).update(
            draw_image=self._image,
            draw_markers=self._markers,
            draw_path_collection=self._path_collection,
            draw_quad_mesh=self._quad_mesh,
        )

    def clear(self) -> None:
        super().clear()  # type: ignore[no-untyped-call]
        self._pictures.clear()

    def draw_path(self, gc: Any, path: Any, transform: Any, rgbFace: Any = None) -> None:
        if not self._on_picture(gc, path, transform):
            gc, rgbFace = self._swapped(gc), None if rgbFace is None else swapped(rgbFace)
        super().draw_path(gc, path, transform, rgbFace)  # type: ignore[no-untyped-call]

    def draw_text(self, gc: Any, *rest: Any, mtext: Any = None, **options: Any) -> None:
        ground, options["mtext"] = self._ground(mtext), mtext
        now, other = (contrast(one.get_rgb()[:3], ground) for one in (gc, self._swapped(gc)))
        gc = self._swapped(gc) if other > _CLEARLY * now else gc
        super().draw_text(gc, *rest, **options)  # type: ignore[no-untyped-call]

    def _image(self, gc: Any, x: float, y: float, image: Any, *rest: Any) -> None:
        height, width = image.shape[:2]
        self._pictures.append(_shown(gc, Bbox.from_bounds(x, y, width, height)))
        self._renderer.draw_image(gc, x, y, image, *rest)

    def _quad_mesh(self, gc: Any, transform: Any, *rest: Any) -> None:
        *shape, corners, offsets, offset_transform, faces, antialiased, edges = rest
        self._pictures.append(_shown(gc, _around(transform, np.reshape(corners, (-1, 2)))))
        if not np.array_equal(edges, faces):  # lines between the squares
            edges = _all_swapped(edges)
        places = (*shape, corners, offsets, offset_transform)
        self._renderer.draw_quad_mesh(gc, transform, *places, faces, antialiased, edges)

    def _markers(self, gc: Any, *rest: Any) -> None:
        *marker, path, transform, face = rest if len(rest) > 4 else (*rest, None)
        if not self._on_picture(gc, path, transform):
            gc, face = self._swapped(gc), None if face is None else swapped(face)
        self._renderer.draw_markers(gc, *marker, path, transform, face)

    def _path_collection(self, gc: Any, *rest: Any, hatchcolors: Any = ()) -> None:
        *places, faces, edges, widths, styles, antialiased, urls, unit = rest
        self._renderer.draw_path_collection(
            self._swapped(gc), *places, _all_swapped(faces), _all_swapped(edges, line=True),
            widths, styles, antialiased, urls, unit, hatchcolors=_all_swapped(hatchcolors),
        )  # fmt: skip

    def _swapped(self, gc: Any) -> Any:
        other = self.new_gc()
        other.copy_properties(gc)
        other.set_foreground(swapped(gc.get_rgb(), line=True), isRGBA=True)
        if gc.get_hatch() is not None:
            other.set_hatch_color(swapped(gc.get_hatch_color()))
        return other

    def _on_picture(self, gc: Any, path: Any, transform: Any) -> bool:
        if not (self._pictures and len(path.vertices)):
            return False
        box = _shown(gc, _around(transform, path.vertices))
        x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2  # of ticks and sides: on the edge
        return any(
            picture.padded(-1).contains(x, y)
            and picture.padded(2).contains(box.x0, box.y0)
            and picture.padded(2).contains(box.x1, box.y1)
            for picture in self._pictures
        )

    def _ground(self, text: Any) -> Any:
        """Return what a text stands on: the middle of all that is drawn behind it."""
        if text is not None:
            box = text.get_window_extent(self)
            left, right = (max(round(x), 0) for x in (box.x0, box.x1))
            top, bottom = (max(int(self.height) - round(y), 0) for y in (box.y1, box.y0))
            behind = np.asarray(self._renderer)[top:bottom, left:right, :3]
            if behind.size:
                return np.median(behind, axis=(0, 1)) / 255
        return DARK_PAPER


def _all_swapped(colours: Any, line: bool = False) -> Any:
    return np.array([swapped(colour, line) for colour in colours]) if len(colours) else colours


def _around(transform: Any, points: Any) -> Bbox:
    points = transform.transform(points)
    return Bbox([np.nanmin(points, axis=0), np.nanmax(points, axis=0)])


def _shown(gc: Any, box: Bbox) -> Bbox:
    """Return the part of a box that is not cut off; the whole where nothing is left."""
    clip = gc.get_clip_rectangle()
    return box if clip is None else Bbox.intersection(box, clip) or box
