"""What goes wrong when keys and values are rounded: the steps, and what comes back."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._quantize_wrong import build, largest, over, wrapped


def _scaled_in_place(x: Tensor) -> tuple[Tensor, Tensor]:
    scale = largest(x) / 127
    scale = torch.where(scale == 0, 1.0, scale)
    return x.div_(scale).round().to(torch.int8), scale


STEPS = (
    Misconception(
        "cut off instead of rounded",
        build(whole=torch.trunc),
        "The steps were cut off towards zero, as a cast to int8 does. That errs by up to a whole "
        "step: what errs by half of one at most?",
        also=(build(whole=lambda q: q),),
    ),
    Misconception(
        "rounded down",
        build(whole=torch.floor),
        "All steps were rounded to the same side, so that everything is shifted. The nearest whole "
        "number is asked for.",
        also=(
            build(whole=torch.ceil),
            build(whole=torch.floor, low=-128),
            build(whole=lambda q: wrapped(q.ceil()), low=-128),
            build(whole=lambda q: (q + 0.5).trunc()),
            build(whole=lambda q: q.sign() * q.abs().ceil()),
        ),
    ),
    Misconception(
        "an overflow that wraps round",
        build(steps=127, whole=lambda q: wrapped(q * 128 / 127), low=-128),
        "The largest numbers changed their sign: 128 does not fit into an int8 and became -128. "
        "How many steps are there to each side?",
        also=(
            build(steps=128, whole=wrapped, low=-128),
            build(size=over(0, 1, 2, 3), whole=lambda q: wrapped(q * 2), low=-128),
            build(size=lambda x: x.abs().mean(-1, keepdim=True), whole=wrapped, low=-128),
        ),
    ),
    Misconception(
        "steps from 0 to 255",
        build(whole=lambda q: q.round() + 128, low=0, high=255, dtype=torch.uint8),
        "The steps have no sign. An int8 holds -127 to 127, and 0 stays 0.",
        also=(
            build(whole=lambda q: q.abs().round()),
            build(dtype=torch.uint8, low=0, high=255),
        ),
    ),
    Misconception(
        "steps that still take four bytes",
        build(dtype=torch.int32),
        "The steps have another dtype than int8. The numbers are right and nothing was saved.",
        also=(
            build(dtype=torch.int64),
            build(dtype=torch.int16),
            build(dtype=torch.float64),
            build(dtype=torch.float32),
            build(finish=lambda q, scale, x: (q.to(x.dtype), scale)),
        ),
    ),
    Misconception(
        "not divided by the scale",
        build(finish=lambda q, scale, x: (x.detach().round().clamp(-127, 127).char(), scale)),
        "The numbers were rounded as they are. How many steps is each of them?",
        also=(
            build(
                finish=lambda q, scale, x: (
                    (x * scale).detach().round().clamp(-127, 127).char(),
                    scale,
                )
            ),
            build(
                finish=lambda q, scale, x: (
                    (x / (scale * 127)).detach().round().clamp(-127, 127).char(),
                    scale,
                )
            ),
        ),
    ),
)

RESULTS = (
    Misconception(
        "numbers given back instead of steps",
        build(finish=lambda q, scale, x: (q * scale, scale)),
        "The steps were multiplied by the scale again. What is kept in the cache are the steps.",
        also=(build(finish=lambda q, scale, x: q * scale),),
    ),
    Misconception(
        "scale and steps exchanged",
        build(finish=lambda q, scale, x: (scale, q)),
        "The two results are in the wrong order: the steps come first.",
    ),
    Misconception(
        "only one of the two",
        build(finish=lambda q, scale, x: q),
        "One result came back. Without its scale, a step means nothing.",
        also=(build(finish=lambda q, scale, x: (q,)), build(finish=lambda q, scale, x: scale)),
    ),
    Misconception(
        "a scale of another shape",
        build(finish=lambda q, scale, x: (q, scale.squeeze(-1))),
        "The scale must have the shape (B, H, S, 1), so that it can be multiplied by the steps.",
        also=(
            build(finish=lambda q, scale, x: (q, scale.expand_as(x))),
            build(finish=lambda q, scale, x: (q, scale.squeeze())),
            build(finish=lambda q, scale, x: (q, scale.flatten())),
            lambda x: build(lambda y: y.abs().amax((2, 3), keepdim=True))(x),
            lambda x: build(lambda y: y.abs().amax((1, 2, 3), keepdim=True))(x),
            lambda x: build(lambda y: y.abs().amax((1, 3), keepdim=True))(x),
        ),
    ),
    Misconception(
        "a scale of another dtype",
        build(finish=lambda q, scale, x: (q, scale.float())),
        "The scale must keep the dtype of x: the steps alone become bytes.",
        also=(
            build(finish=lambda q, scale, x: (q, scale.half())),
            build(finish=lambda q, scale, x: (q, scale.double())),
        ),
    ),
    Misconception(
        "x changed",
        _scaled_in_place,
        "The input was written to while it was scaled. Which line ends in an underscore?",
    ),
    Misconception(
        "cut from the graph",
        build(finish=lambda q, scale, x: (q, scale.detach())),
        "The values are right, but the scale lost its tie to x. The steps have no gradient; the "
        "scale has one.",
        also=(torch.no_grad()(build()),),
    ),
)
