"""Exercise: an image as a sequence of patches."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, squeezed, viewed, writing
from course_utils.exercises.shared.patches import PATCHES
from course_utils.models import patchify
from torch import Tensor

RIGHT = """
def patchify(images, patch):
    batch, channels, height, width = images.shape
    is_bad = height % patch != 0 or width % patch != 0
    if is_bad:
        raise ValueError("patch must divide height and width")
    rows = height // patch
    columns = width // patch
    grid = images.reshape(batch, channels, rows, patch, columns, patch)
    turned = grid.permute(0, 2, 4, 1, 3, 5)
    patches = turned.reshape(batch, rows * columns, channels * patch * patch)
    return patches
"""


def images_of(*shape: int, patch: int, dtype: str = "float64", spread: bool = False) -> Make:
    """Return a maker of images (B, C, h, w) and the side of a patch."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        images = normal(g, *shape, dtype=getattr(torch, dtype))
        return strided(images) if spread else images, patch

    return make


def _numbered(g: torch.Generator) -> tuple[Any, ...]:
    return torch.arange(24, dtype=torch.float64).reshape(1, 1, 4, 6), 2


def _channels_last(g: torch.Generator) -> tuple[Any, ...]:
    return normal(g, 2, 4, 6, 3).permute(0, 3, 1, 2), 2


def _refused(fn: Function, images: Tensor, patch: int) -> str:
    """Return which error came, if any."""
    try:
        got = fn(images, patch)
    except Exception as error:
        return type(error).__name__
    return "None" if got is None else "no error"


def _changed(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether each patch is the right one, stretched and shifted."""
    right = patchify(*args).double()
    if isinstance(got, str) or got.shape != right.shape or right.shape[-1] < 4:
        return False
    one, other = (x - x.mean(-1, keepdim=True) for x in (right, got.detach().double()))
    slope = (one * other).sum(-1, keepdim=True) / one.square().sum(-1, keepdim=True)
    off = (other - slope * one).abs().amax()
    return bool(slope.all() and off <= 1e-6 * other.abs().amax())


def _lost(args: tuple[Any, ...], out: Tensor | str) -> str | None:
    if isinstance(out, str):
        return None
    images, got = args[0].detach().flatten(1).double(), out.detach().flatten(1).double()
    same = got.shape == images.shape and torch.equal(got.sort(-1).values, images.sort(-1).values)
    return None if same else "Some pixels are missing or appear in several tokens."


_REFUSE = "Where the patch does not divide height and width, a ValueError must say so, and only there."
_SAYS = (
    "Where the patches do not fit, a ValueError must say so. {} What must be checked for the height and for "
    "the width, each separately, before anything is cut?"
)
_LOOP = """
def patchify(images, patch):
    batch, channels, height, width = images.shape
    is_bad = height % patch != 0 or width % patch != 0
    if is_bad:
        raise ValueError("patch must divide height and width")
    rows, columns = height // patch, width // patch
    {}
"""
_CUT = "{0} = images[..., : height // patch * patch, : width // patch * patch]"

EXERCISE = exercise(
    patchify,
    right=RIGHT,
    asks="Cut images into square patches in reading order; a ValueError where the patch does not divide both sides.",
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        case("4 × 6 pixels numbered from 0, patches of 2 × 2", _numbered, gradient="equal"),
        case("2 images, 3 channels, 4 × 6 pixels, patches of 2 × 2", images_of(2, 3, 4, 6, patch=2), gradient="equal"),
        case("6 × 9 pixels, patches of 3 × 3", images_of(2, 2, 6, 9, patch=3)),
        case("taller than wide: 12 × 4, patches of 4 × 4", images_of(3, 2, 12, 4, patch=4)),
        case("patches of one pixel", images_of(2, 3, 4, 5, patch=1)),
        case("one channel, patches of one pixel", images_of(3, 1, 2, 4, patch=1)),
        case("one patch: the whole image", images_of(2, 3, 5, 5, patch=5)),
        case("4 images of 4 × 4, 4 channels, patches of 2 × 2: other orders keep the shape",
             images_of(4, 4, 4, 4, patch=2)),
        case("one image", images_of(1, 2, 6, 4, patch=2)),
        case("images that hold the channels last in memory", _channels_last),
        case("non-contiguous images", images_of(2, 3, 4, 6, patch=2, spread=True)),
        case("float32", images_of(2, 3, 8, 4, patch=4, dtype="float32")),
        case("bfloat16", images_of(2, 1, 4, 8, patch=2, dtype="bfloat16")),
        case("a patch of 2 in 5 × 5 pixels", images_of(2, 1, 5, 5, patch=2), run=_refused, says=_REFUSE),
        case("a patch of 2 in 4 × 5 pixels", images_of(2, 1, 4, 5, patch=2), run=_refused, says=_REFUSE),
        case("a patch of 3 in 4 × 6 pixels", images_of(1, 2, 4, 6, patch=3), run=_refused, says=_REFUSE),
        case("a patch of 4 in 2 × 8 pixels", images_of(2, 2, 2, 8, patch=4), run=_refused, says=_REFUSE),
        case("a patch of 8 in 4 × 4 pixels", images_of(2, 2, 4, 4, patch=8), run=_refused, says=_REFUSE),
    ),
    mistakes=(
        *(replace(one, matches=_changed) if one.name == "the pixels changed" else one for one in PATCHES),
        mistake("patches and features exchanged", "Rows and columns of the table are exchanged: each column is a "
                "patch, as `F.unfold` gives it. Which axis should hold the patches?", "return patches.mT"),
        mistake("patches that overlap", "There is a patch for every pixel that it could begin at. How far apart do two "
                "neighbours begin?", "return F.unfold(images, patch).mT"),
        mistake("each channel a patch of its own", "Every channel has patches of its own. A token holds all channels "
                "of its square.",
                "return grid.permute(0, 1, 2, 4, 3, 5).reshape(batch, channels * rows * columns, patch * patch)",
                "return grid.permute(0, 2, 4, 1, 3, 5).reshape(batch, rows * columns * channels, patch * patch)"),
        mistake("axes not flattened", "The numbers are right, but rows and columns of the grid, or channel, row and "
                "column of a patch, are axes of their own still. How many axes has (B, N, C·p·p)?",
                "return turned", "return patches.unflatten(1, (rows, columns))", "return turned.flatten(1, 2)",
                "return turned.flatten(3)"),
        mistake("flattened too far", "The batch was flattened too. Which axes belong together, and which stays?",
                "return patches.flatten(0, 1)", "return patches.flatten(1)"),
        mistake("the batch forgotten", "Only one image came back. What does the first axis count?",
                "return patches[0]", "return patches[:1]"),
        mistake("patches before images", "The first axis counts the patches and the second the images, as where "
                "patches of whole batches were stacked along a new first axis. Which comes first in (B, N, C·p·p)?",
                "return patches.transpose(0, 1)"),
        mistake("patches numbered by the rows of the grid", "Some patches were written over others, or beyond the "
                "end: the number of a patch was made with the number of rows. How many patches come before row i?",
                _LOOP.format("""patches = images.new_zeros(batch, rows * columns, channels * patch * patch)
    for i in range(rows):
        for j in range(columns):
            piece = images[:, :, i * patch : (i + 1) * patch, j * patch : (j + 1) * patch]
            patches[:, i * rows + j] = piece.flatten(1)
    return patches"""),
                _LOOP.format("""patches = images.new_zeros(batch, rows * columns, channels * patch * patch)
    for i in range(rows):
        for j in range(columns):
            piece = images[:, :, i * patch : (i + 1) * patch, j * patch : (j + 1) * patch]
            patches[:, (i * rows + j) % (rows * columns)] = piece.flatten(1)
    return patches""")),
        mistake("a border dropped without an error", _SAYS.format("Here the rest of the image was cut off, or filled "
                "up, and something came back all the same."), f"{_CUT.format('images')}\nis_bad = False",
                "images = F.pad(images, (0, -width % patch, 0, -height % patch))\nis_bad = False\n"
                "rows = -(-height // patch)\ncolumns = -(-width // patch)"),
        mistake("None instead of an error", _SAYS.format("Here nothing came back, so that the error shows somewhere "
                "else, later."), "if height % patch or width % patch:\n    return None\nis_bad = False"),
        mistake("an error returned instead of raised", _SAYS.format("Here the error came back as a result, and the "
                "caller goes on with it.") + " Which keyword ends a function with an error?",
                'if height % patch or width % patch:\n    return ValueError("patch must divide")\nis_bad = False'),
        mistake("another error than ValueError", _SAYS.format("Here torch complains of a shape, or an assertion of "
                "something.") + " An `assert` raises another error, and none at all under `python -O`.",
                "is_bad = False", "assert height % patch == 0 and width % patch == 0\nis_bad = False",
                'if height % patch or width % patch:\n    raise TypeError("patch must divide")\nis_bad = False',
                'if height % patch or width % patch:\n    raise Exception("patch must divide")\nis_bad = False'),
        mistake("one side not checked", _SAYS.format("One of the two was not checked, or only both together."),
                "is_bad = height % patch != 0", "is_bad = width % patch != 0",
                "is_bad = height % patch != 0 and width % patch != 0",
                "is_bad = (height * width) % (patch * patch) != 0", "is_bad = (height * width) % patch != 0",
                f"{_CUT.format('images')}\nis_bad = height % patch != 0",
                f"{_CUT.format('images')}\nis_bad = width % patch != 0",
                f"{_CUT.format('images')}\nis_bad = (height * width) % (patch * patch) != 0"),
        mistake("only a patch that is too large refused", _SAYS.format("A patch larger than the image was refused, one "
                "that leaves a remainder was not."), "is_bad = patch > height or patch > width",
                f"{_CUT.format('images')}\nis_bad = patch > height or patch > width"),
        mistake("an image that is one patch refused", "A patch as large as the image fits: once. When is it too large?",
                "is_bad = height % patch != 0 or width % patch != 0 or patch >= height",
                "is_bad = height % patch != 0 or width % patch != 0 or patch >= min(height, width)"),
        mistake("only square images accepted", "An image need not be square. What must hold for height and for "
                "width separately?", "is_bad = height % patch != 0 or height != width",
                "is_bad = height != width", "columns = rows", "rows = columns",
                "return patches.unflatten(1, (rows, columns))[:, :, :rows].flatten(1, 2)",
                "assert height == width\nis_bad = height % patch != 0",
                "assert height == width and height % patch == 0\nis_bad = False"),
        viewed("patches = turned.view(batch, rows * columns, channels * patch * patch)",
               "grid = images.view(batch, -1).view(batch, channels, rows, patch, columns, patch)"),
        squeezed("return patches{}"),
        cut_off("return patches.detach()"),
        overwritten(*writing(patchify, 0)),
        *other_kinds("patches"),
    ),
    laws=(Law("every pixel is in exactly one token", _lost),),
    hints=(
        "Take the image 0, 1, 2, … of 4 × 6 pixels. Which four numbers belong to the first patch of 2 × 2, and which "
        "to the second?",
        "Each side is two counts: which patch, and where in it. `reshape` can split an axis into two: which of the two "
        "comes first?",
        "After the split there are six axes: (B, C, h/p, p, w/p, p). Which three of them say which number of a token "
        "it is, and in which order?",
        "`permute` brings the two counts of the grid forward, just after the batch; then come channel, row, column. "
        "The last `reshape` joins two axes to N and three to C·p·p.",
    ),
)
