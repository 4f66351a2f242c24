"""Exercise: every place of an image reads every other."""

from typing import Any

import torch
from course_utils.attention import non_local_block
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.laws import is_other
from course_utils.checking.mistakes import mistake, saying, without
from course_utils.exercises.shared.kinds import (
    batch_mixed,
    cut_off,
    other_kinds,
    overwritten,
    squeezed,
    viewed,
    writing,
)
from course_utils.exercises.shared.lookup import AVERAGES, PRODUCTS, SHARES, UNMASKED
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.projections import projections
from course_utils.exercises.shared.scale import some_scale
from course_utils.exercises.shared.softmax import RANDOM, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES
from torch import Tensor

RIGHT = """
def non_local_block(x, W_theta, W_phi, W_g, W_out):
    W_q, W_k, W_v = W_theta, W_phi, W_g
    places = x.flatten(2).mT
    query = places @ W_q
    key = places @ W_k
    value = places @ W_v
    default = 1.0
    products = query @ key.mT
    scaled = products * default
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value
    read = out @ W_out
    image = read.mT.reshape(x.shape)
    result = x + image
    return result
"""


def _made(*shape: int, d: int, d_g: int, size: float = 1.0, dtype: str = "float64", spread: bool = False) -> Make:
    """Return a maker of x (B, C, h, w) and four matrices."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        channels = shape[1]
        x = normal(g, *shape, size=size, dtype=kind)
        sizes = ((channels, d), (channels, d), (channels, d_g), (d_g, channels))
        matrices = [normal(g, *one, size=one[0] ** -0.5, dtype=kind) for one in sizes]
        return tuple(map(strided, (x, *matrices))) if spread else (x, *matrices)

    return make


def _channels_last(g: torch.Generator) -> tuple[Any, ...]:
    x, *matrices = _made(2, 3, 4, 5, d=2, d_g=4)(g)
    return (x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2), *matrices)


def _closed(g: torch.Generator) -> tuple[Any, ...]:
    x, *matrices, W_out = _made(2, 3, 2, 4, d=4, d_g=5)(g)
    return (x, *matrices, torch.zeros_like(W_out))


def _scores(x: Tensor, W_theta: Tensor, W_phi: Tensor) -> Tensor:
    places = x.flatten(2).mT
    return (places @ W_theta) @ (places @ W_phi).mT


def _added(args: tuple[Any, ...], got: Tensor) -> Tensor:
    """Return what was added to x, place by place."""
    return (got.detach() - args[0]).flatten(2).mT


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    if got.shape != args[0].shape or not is_other(got - args[0], non_local_block(*args) - args[0]):
        return False
    value, scores = args[0].flatten(2).mT @ args[3] @ args[4], _scores(*args[:3])
    return some_scale(lambda scale: torch.softmax(scores * scale, -1) @ value, _added(args, got))


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    right = _added(args, non_local_block(*args))
    return got.shape == args[0].shape and some_epsilon(_scores(*args[:3]), right, _added(args, got))


def _first(*changes: str) -> tuple[str, ...]:
    """Return versions that change the places before they are projected."""
    return tuple(f"places = {change}" for change in changes)


_GRID = "mine = torch.arange(scores.shape[-1])\n"
EXERCISE = exercise(
    non_local_block,
    right=RIGHT,
    asks="Let each place of an image read all places, its own too, without a scale; add what is read to x.",
    minutes=10,
    difficulty=3,
    importance=3,
    cases=(
        case("an image of 3 channels and 3 × 1 places, all widths 3", _made(3, 3, 3, 1, d=3, d_g=3), gradient="equal"),
        case("2 images, 3 channels, 2 × 4 places", _made(2, 3, 2, 4, d=5, d_g=4), gradient="equal"),
        case("W_out of zeros: nothing changes", _closed, gradient="equal"),
        case("d above the number of channels", _made(2, 2, 3, 4, d=6, d_g=3)),
        case("d = 1", _made(2, 4, 3, 2, d=1, d_g=5)),
        case("every size is 4", _made(4, 4, 4, 4, d=4, d_g=4)),
        case("one channel", _made(3, 1, 2, 5, d=2, d_g=3)),
        case("one place: it reads itself", _made(2, 3, 1, 1, d=4, d_g=2)),
        case("one image", _made(1, 3, 4, 2, d=2, d_g=5)),
        case("scores of thousands", _made(2, 3, 2, 3, d=4, d_g=5, size=50.0), gradient="finite"),
        case("an image that holds the channels last in memory", _channels_last),
        case("non-contiguous tensors", _made(2, 3, 4, 2, d=5, d_g=4, spread=True)),
        case("float32", _made(2, 5, 3, 4, d=3, d_g=4, dtype="float32")),
        case("bfloat16", _made(2, 3, 2, 4, d=4, d_g=2, dtype="bfloat16"), tolerance=0.2),
    ),
    mistakes=(
        mistake("a scale", "The scores were scaled. The block's function is exp(θ·φ) over its sum, as the "
                "paper has it: what stands in front of the product there?", "default = 1 / math.sqrt(query.shape[-1])",
                "default = 1 / query.shape[-1]", "default = 1 / math.sqrt(x.shape[1])", "default = 1 / x.shape[1]",
                "default = 1 / math.sqrt(query.shape[1])", "default = 1 / query.shape[1]",
                "default = math.sqrt(query.shape[-1])", "default = 2.0", matches=_some_scale),
        mistake("nothing added", "x comes back as it was, whatever is read. Does a factor in front begin at 0, or was "
                "a line left out?", lambda x, *matrices: x.clone()),
        mistake("no residual", "What is read replaced the image. The block is meant to be put into a trained network "
                "without harm: what should come out while W_out is zero?", "result = image"),
        mistake("the stream added twice", "x counts more or less than once. How often does it go round the block?",
                "result = 2 * x + image", "result = x + (x + image)", "result = (x + image) / 2",
                "out = weights @ value + value",
                "weights = stable_softmax(scores) + torch.eye(scores.shape[-1], dtype=x.dtype)"),
        mistake("not added", "What is read was multiplied with x, subtracted or set beside it. A residual adds.",
                "result = x * image", "result = x - image", "result = torch.cat([x, image], 1)",
                "result = x * torch.sigmoid(image)", "result = x * (1 + image)"),
        mistake("reshaped without a permute", "Numbers of different places and channels were mixed: `view` and "
                "`reshape` cut memory anew, and in memory the channels come before the places. What swaps two axes?",
                "places = x.reshape(len(x), -1, x.shape[1])", "image = read.reshape(x.shape)",
                "places = x.reshape(len(x), -1, x.shape[1])\nimage = read.reshape(x.shape)"),
        mistake("rows and columns of the image exchanged", "The image came back mirrored at its diagonal, or its "
                "places in another order than they went in.",
                "image = read.mT.reshape(*x.shape[:2], x.shape[3], x.shape[2]).mT", "places = x.mT.flatten(2).mT",
                "image = read.mT.flip(-1).reshape(x.shape)"),
        mistake("only square images accepted", "The places were laid back on a square grid. An image need not be "
                "square: which sizes has x?", "image = read.mT.reshape(*x.shape[:2], x.shape[2], x.shape[2])",
                "image = read.mT.reshape(*x.shape[:2], x.shape[3], x.shape[3])"),
        viewed("places = x.view(x.shape[0], x.shape[1], -1).mT"),
        mistake("channels instead of places", "Channels attended to channels, as in chapter 08's cross-covariance. "
                "Here every place reads places: how many rows has the table of weights?",
                "out = value @ stable_softmax(query.mT @ key).mT if query.shape == value.shape else value"),
        mistake("divided by the number of places instead of a softmax", "Scores were divided by the number of places, "
                "as the paper's dot-product version does. The embedded Gaussian divides exponentials by what?",
                "weights = scores / scores.shape[-1]", "weights = scores.relu() / scores.shape[-1]",
                "weights = scores.exp() / scores.shape[-1]"),
        mistake("own place left out", "A place does not read itself. Over which places does the sum run?",
                f"{_GRID}weights = stable_softmax(scores.masked_fill(mine == mine.unsqueeze(-1), -torch.inf))",
                f"{_GRID}weights = stable_softmax(scores).masked_fill(mine == mine.unsqueeze(-1), 0.0)"),
        mistake("not all places read", "A place does not read the whole image: only the places beside it, or what was "
                "left after pooling, as the paper does to save work. Which places are meant?",
                f"{_GRID}here = mine // x.shape[3]\n"
                "weights = stable_softmax(scores.masked_fill(here != here.unsqueeze(-1), -torch.inf))",
                f"{_GRID}here = mine % x.shape[3]\n"
                "weights = stable_softmax(scores.masked_fill(here != here.unsqueeze(-1), -torch.inf))",
                "small = F.max_pool2d(x, 2) if min(x.shape[2:]) > 1 else x\n"
                "key = small.flatten(2).mT @ W_k\nvalue = small.flatten(2).mT @ W_v",
                "pooled = [F.max_pool2d((places @ W).mT.unflatten(2, x.shape[2:]), 2) if min(x.shape[2:]) > 1\n    "
                "else (places @ W).mT for W in (W_k, W_v)]\nkey = pooled[0].flatten(2).mT\nvalue = "
                "pooled[1].flatten(2).mT",
                f"{_GRID}far = (mine - mine.unsqueeze(-1)).abs() > 1\n"
                "weights = stable_softmax(scores.masked_fill(far, -torch.inf))"),
        mistake("W_out forgotten", "What is read was added as it is. Which matrix brings it back to the channels?",
                "read = out if out.shape[-1] == x.shape[1] else out.mean(-1, keepdim=True).expand_as(places)"),
        mistake("W_out on the wrong side of the residual", "x itself went through the last matrix. What goes round the "
                "block unchanged?", "square = W_out.shape[0] == W_out.shape[1]\n"
                "read = (out + places) @ W_out if square else out @ W_out + places"),
        mistake("W_out transposed", "The last matrix was transposed or read in another order. Its rows belong to what "
                "is read already.", "square = W_out.shape[0] == W_out.shape[1]\n"
                "read = out @ (W_out.mT if square else W_out.mT.reshape(W_out.shape))"),
        mistake("bent or normalised at the end", "Something more was done to the result: an activation or a norm. The "
                "block ends with the sum.", "result = (x + image).relu()", "result = x + image.relu()",
                "result = x + F.layer_norm(read, read.shape[-1:]).mT.reshape(x.shape)",
                "result = F.layer_norm(x + image, x.shape[1:])", "result = x + image.tanh()"),
        *without(projections("places", "places", "places"), "normalised"),
        *epsilon(_epsilon),
        RANDOM,
        *without(COMPARED, "query and key swapped", "the wrong two compared"),  # named as matrices, above
        *PRODUCTS,
        *saying(without(UNMASKED, "weights = torch.softmax(scores, 1)", "weights = torch.softmax(scores, 2)"), {
            "softmax over the queries": "The shares of a place were taken among those that ask, not among those that "
                "are read. For one place i, over which index does the sum run?",
            "softmax over an axis counted from the front": "The weights sum to 1 over the images of the batch. Which "
                "axis holds the places that are read, counted from the end?",
        }),
        *without(SHARES, "zeros taken for padding"),
        *without(VALUES, "the root of the width of the values", "something added to the average",
                 "divided by the number of keys", "keys averaged instead of values"),
        *without(AVERAGES, "queries averaged instead of values"),
        *saying((batch_mixed(*_first(
            "x[:1].expand_as(x).flatten(2).mT", "x.flip(0).flatten(2).mT", "x.mean(0, keepdim=True).expand_as(x)"
            ".flatten(2).mT"), "key = (places @ W_k).roll(1, 0)",
            "key = places.flatten(0, 1).unsqueeze(0) @ W_k\nvalue = places.flatten(0, 1).unsqueeze(0) @ W_v"),), {
            "the sequences of a batch mixed": "Images of the batch were mixed, or one was used for all. A place reads "
            "the places of its own image."}),
        mistake("places left as they are", "Places, not an image, came back. The result goes into the next "
                "convolution: which shape does that want?", "return (places + read)",
                "return (x + image).flatten(2)", "return (places + read).unflatten(1, x.shape[2:])"),
        squeezed("return result{}"),
        cut_off("result = x.detach() + image", "weights = stable_softmax(scores).detach()", "result = x + image."
                "detach()", "products = query @ key.detach().mT", "out = weights @ value.detach()",
                "places = x.detach().flatten(2).mT",
                "places = x.detach().flatten(2).mT\nresult = x.detach() + image",
                *(f"{one} = places @ {matrix}.detach()" for one, matrix in (("query", "W_q"), ("key", "W_k"),
                                                                            ("value", "W_v")))),
        overwritten(*writing(non_local_block, 0, 1, 2, 3, 4)),
        *other_kinds("result", "weights"),
        lower_precision(non_local_block, "read = (out.float() @ W_out.float()).to(x.dtype)"),
    ),
    hints=(
        "A place is a vector of C channels. How do (B, C, h, w) become (B, h·w, C), so that matrices can meet them?",
        "`flatten(2)` joins the last two axes; the channels must then change places with them. On the way back, the "
        "same two steps in reverse.",
        "Three products make query, key and value of all places. The weights are the softmax of query · key, over the "
        "places that are read, without any factor.",
        "What is read goes through W_out, back into the shape of x, and is added to x.",
    ),
)
