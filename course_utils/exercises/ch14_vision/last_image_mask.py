"""Exercise: text reads the last image before it."""

from typing import Any

import torch
from course_utils.attention import last_image_mask
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, strided
from course_utils.checking.mistakes import adding, mistake, saying
from course_utils.exercises.shared.kinds import overwritten, squeezed, writing
from course_utils.exercises.shared.masks import AXES, KINDS, left_out, rows_tell

RIGHT = """
def last_image_mask(marks, num_images, tokens_per_image):
    counted = marks.long()
    seen = counted.cumsum(1)
    last = seen - 1
    images = torch.arange(num_images)
    owner = images.repeat_interleave(tokens_per_image)
    mask = last.unsqueeze(-1) == owner
    return mask
"""


def _told(*rows: str, num_images: int, tokens: int) -> Make:
    """Return a maker of marks written as text: `i` is an image, `.` a word."""
    return lambda g: (torch.tensor([[one == "i" for one in row] for row in rows]), num_images, tokens)


def _apart(g: torch.Generator) -> tuple[Any, ...]:
    marks = torch.tensor([[one == "i" for one in row] for row in (".i..i.", "i.i.i.")])
    return strided(marks), 3, 2


EXERCISE = exercise(
    last_image_mask,
    right=RIGHT,
    asks="Let each position of a text see the tokens of the last image at or before it, and of no other.",
    minutes=8,
    difficulty=3,
    importance=3,
    cases=(
        case("2 texts with up to 3 images of 2 tokens", _told(".i..i.", "i.i..i", num_images=3, tokens=2)),
        case("one image, then two words", _told("i..", num_images=1, tokens=2)),
        case("words before the first image", _told("...i.", "..i..", num_images=2, tokens=3)),
        case("images that never come", _told("i...", "..i.", "....", num_images=3, tokens=2)),
        case("no image at all", _told("...", "...", num_images=2, tokens=2)),
        case("images side by side", _told(".ii.", "iii.", num_images=3, tokens=2)),
        case("nothing but images", _told("iii", num_images=3, tokens=4)),
        case("one token an image", _told(".i.i", "i..i", num_images=2, tokens=1)),
        case("one key in all", _told(".i..", "i...", num_images=1, tokens=1)),
        case("room for one image", _told(".i...", "i....", num_images=1, tokens=3)),
        case("an image at the end", _told("....i", "i...i", num_images=2, tokens=3)),
        case("one position, an image", _told("i", ".", num_images=2, tokens=3)),
        case("one text", _told("..i.i..", num_images=2, tokens=5)),
        case("every size is 4", _told("i.i.", ".i.i", "..ii", "i..i", num_images=4, tokens=4)),
        case("9 positions, 4 images of 3 tokens", _told("i.i..i.i.", ".i..i.i..", num_images=4, tokens=3)),
        case("as many positions as keys", _told(".i.i..", "i.i.i.", num_images=3, tokens=2)),
        case("non-contiguous marks", _apart),
    ),
    mistakes=(
        *KINDS,
        mistake("all images so far", "A position sees every image before it. Only one of them is meant: which?",
                "mask = last.unsqueeze(-1) >= owner"),
        mistake("every image of the text", "Every position sees all images of its text, those after it as well. Only "
                "one of them is meant: which?", "mask = owner < seen[:, -1:].unsqueeze(-1)",
                "mask = (owner < seen[:, -1:].unsqueeze(-1)).expand(*marks.shape, -1)"),
        mistake("mark sees the image before", "The position at which an image stands still sees the image before it. "
                "Is the mark itself one of the positions that read its image?", "last = seen - counted - 1"),
        mistake("image 0 for early text", "Text before the first image sees that image: an index below 0 was set to 0. "
                "What has it seen so far?", "last = (seen - 1).clamp(min=0)",
                "last = seen.where(seen == 0, seen - 1)"),
        mistake("the last of all images for early text", "Text before the first image sees the last image of all: -1 "
                "counts from the end in Python. What has it seen so far?", "last = (seen - 1) % num_images"),
        mistake("all images for early text", "Text before the first image sees everything. A row without any key is a "
                "legal mask: what has that text seen so far?",
                "mask = (last.unsqueeze(-1) == owner) | (last.unsqueeze(-1) < 0)",
                "mask = (last.unsqueeze(-1) == owner) | (last == -1).all(1).view(-1, 1, 1)"),
        mistake("the image counted from 1", "Every position sees the image after its own: the first image has number "
                "0. How many images has it seen when it first sees number 0?", "last = seen",
                "last = seen.clamp(max=num_images - 1)"),
        mistake("`repeat` for `repeat_interleave`", "The tokens of the images are interleaved. Image m has its tokens "
                "side by side: which keys are they for m = 1 and T = 3?",
                "owner = images.repeat(tokens_per_image)"),
        mistake("images and tokens exchanged", "The keys were cut into the wrong number of blocks. How many blocks are "
                "there, and how long is each?",
                "owner = torch.arange(tokens_per_image).repeat_interleave(num_images)",
                "owner = torch.arange(num_images * tokens_per_image) // num_images"),
        mistake("one token of the image", "Only one token of the image is seen. How many keys has it?",
                "inside = torch.arange(len(owner)) % tokens_per_image\nmask = (last.unsqueeze(-1) == owner) & "
                "(inside == 0)",
                "inside = torch.arange(len(owner)) % tokens_per_image\nmask = (last.unsqueeze(-1) == owner) & "
                "(inside == tokens_per_image - 1)",
                "mask = last.unsqueeze(-1) == torch.arange(len(owner))"),
        mistake("one token too many or too few", "A block of keys begins or ends one off. Image m has the keys m·T up "
                "to (m + 1)·T - 1.",
                "start = last.unsqueeze(-1) * tokens_per_image\nplace = torch.arange(len(owner))\n"
                "mask = (last.unsqueeze(-1) >= 0) & (place >= start) & (place <= start + tokens_per_image)",
                "start = last.unsqueeze(-1) * tokens_per_image\nplace = torch.arange(len(owner))\n"
                "mask = (last.unsqueeze(-1) >= 0) & (place > start) & (place < start + tokens_per_image)",
                "start = last.unsqueeze(-1) * tokens_per_image\nplace = torch.arange(len(owner))\n"
                "mask = (last.unsqueeze(-1) >= 0) & (place >= start) & (place < start + tokens_per_image - 1)",
                "start = last.unsqueeze(-1) * tokens_per_image\nplace = torch.arange(len(owner))\n"
                "mask = (place >= start) & (place <= start + tokens_per_image)"),
        mistake("the last two images", "A position sees the image before its own as well. How many images does it "
                "read?", "mask = (last.unsqueeze(-1) == owner) | (last.unsqueeze(-1) - 1 == owner)"),
        mistake("as many columns as images that came", "The number of columns follows from the marks. Images that "
                "never come have columns too: which arguments say how many there are?",
                "images = torch.arange(int(seen.max()))"),
        mistake("the next image instead of the last", "A position sees the image that follows. Which way does a text "
                "look?", "last = seen - counted",
                "last = seen - counted\nmask = (last.unsqueeze(-1) == owner) & (last.unsqueeze(-1) < "
                "seen[:, -1:].unsqueeze(-1))"),
        mistake("images to come seen", "A position sees images that come after it as well.",
                "mask = last.unsqueeze(-1) <= owner", "mask = torch.ones_like(last.unsqueeze(-1) == owner)",
                "mask = (last.unsqueeze(-1) >= 0).expand(-1, -1, len(owner)).clone()"),
        mistake("counted from the end", "The images were counted from the end of the text, or backwards. Which image "
                "has number 0?", "seen = counted.flip(1).cumsum(1).flip(1)", "owner = images.flip(0)"
                ".repeat_interleave(tokens_per_image)"),
        mistake("counted along the batch", "The marks were counted from text to text. Along which axis does a text "
                "run?", "seen = counted.cumsum(0)", "seen = counted.flatten().cumsum(0).view_as(counted)"),
        mistake("the last image of the whole text", "Every position sees the image that comes last in the text, even "
                "before it has come. How many marks stand at or before a position?",
                "seen = counted.sum(1, keepdim=True).expand_as(counted)"),
        mistake("not counted at all", "The number of an image is its mark, 1 or 0, or a place in the text. How many "
                "marks stand at or before a position?", "seen = counted",
                "last = torch.arange(marks.shape[1]).expand_as(marks)",
                "place = torch.arange(marks.shape[1])\nlast = place.where(marks, -1).cummax(1).values"),
        mistake("only the marks see", "Only the positions where an image stands see it. Who else reads it, until the "
                "next one comes?", "mask = (last.unsqueeze(-1) == owner) & marks.unsqueeze(-1)"),
        mistake("the marks do not see", "The position at which an image stands sees nothing. It is the first that "
                "reads it.", "mask = (last.unsqueeze(-1) == owner) & ~marks.unsqueeze(-1)"),
        mistake("only the first image", "Once the first image is there, nothing but it is seen.",
                "last = seen.clamp(max=1) - 1", "seen = counted.cummax(1).values"),
        mistake("the marks of one text for all", "All texts were given the images of one. Each has marks of its own.",
                "last = (seen - 1)[:1].expand_as(seen)"),
        mistake("images that never come seen", "Keys of images that the text does not have are seen.",
                "mask = (last.unsqueeze(-1) == owner) | (owner > last[:, -1:].unsqueeze(-1))",
                "mask = (last.unsqueeze(-1) == owner) | (owner > last.max())"),
        mistake("transposed", "The table has a row for each key. Which axis counts the positions of the text?",
                "return mask.mT"),
        mistake("a mask of images, not of their tokens", "There is a column for each image. How many keys has one?",
                "return last.unsqueeze(-1) == images", "return last"),
        *saying(adding((AXES,), {"axes added or missing": ("return mask.unsqueeze(1)",)}), {"axes added or "
                "missing": "There are other axes than (B, L, keys): an axis for heads, for "
                "instance, or tokens and images apart."}),
        mistake("images and their tokens apart", "The keys have two axes, images and tokens. The mask needs them in "
                "one, in the order of the keys.", "return mask.unflatten(-1, (num_images, tokens_per_image))"),
        left_out(),
        squeezed("return mask{}"),
        overwritten(*writing(last_image_mask, 0)),
    ),
    laws=rows_tell("a position sees the keys of the last image at or before it, and no others", last_image_mask),
    hints=(
        "Take the marks 0 1 0 0 1 0. How many images has each position seen, itself included?",
        "`cumsum` counts along the text. The last image seen has a number one less than that count: what does a count "
        "of 0 give?",
        "Each key belongs to an image: with T = 2 these are 0, 0, 1, 1, 2, 2, … Which function makes that row?",
        "Position and key meet where the two numbers are equal. -1 is no image's number, so nothing need be said of "
        "early text.",
    ),
)
