"""What goes wrong in one recurrent step: each mistake as something to run."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch01_bottleneck._rnn_bend_mistakes import BEND
from course_utils.exercises.ch01_bottleneck._rnn_wrong import build


def _turned(a: Tensor, b: Tensor) -> Tensor:
    return a @ b.mT


def _left(a: Tensor, b: Tensor) -> Tensor:
    return b @ a


def _matrices_swapped(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Tensor:
    return torch.tanh(x @ W_hh + h @ W_xh + b)


PRODUCTS = (
    Misconception(
        "weight matrix transposed",
        build(inward=_turned, onward=_turned),
        "A matrix is used with its rows and columns swapped, as `F.linear` would have it. `W_xh` "
        "has a row for each feature of the input: which product of a row and a matrix runs "
        "over those rows?",
        also=(build(inward=_turned), build(onward=_turned)),
    ),
    Misconception(
        "matrix on the left of a batch",
        build(inward=_left, onward=_left),
        "With the matrix on the left, the product runs over the sequences of the batch and mixes "
        "them. Where do the features of `x` stand, in its rows or in its columns?",
        also=(
            build(inward=_left),
            build(onward=_left),
            build(inward=lambda a, m: (m @ a).mT, onward=lambda a, m: (m @ a).mT),
        ),
    ),
    Misconception(
        "the two matrices swapped",
        _matrices_swapped,
        "Each matrix meets the wrong vector. Read their names: `W_xh` leads from x to h. From "
        "where does the other lead?",
    ),
    Misconception(
        "one vector for both matrices",
        lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_xh + x @ W_hh + b),
        "The same vector met both matrices. Which of the two is each of them for?",
        also=(
            lambda x, h, W_xh, W_hh, b: torch.tanh(h @ W_xh + h @ W_hh + b),
            lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_xh + h @ W_xh + b),
            lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_hh + h @ W_hh + b),
        ),
    ),
    Misconception(
        "added before the matrices",
        lambda x, h, W_xh, W_hh, b: torch.tanh((x + h) @ (W_xh + W_hh) + b),
        "Input and state were added first. They need not even have the same width: what does each "
        "meet before it is added?",
        also=(
            lambda x, h, W_xh, W_hh, b: torch.tanh((x + h) @ W_xh + b),
            lambda x, h, W_xh, W_hh, b: torch.tanh((x + h) @ W_hh + b),
        ),
    ),
    Misconception(
        "one matrix after the other",
        lambda x, h, W_xh, W_hh, b: torch.tanh((x @ W_xh + h) @ W_hh + b),
        "What came in went through both matrices. There are two ways into the sum, each with one "
        "matrix.",
        also=(
            lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_xh @ W_hh + b),
            lambda x, h, W_xh, W_hh, b: torch.tanh((h @ W_hh + x) @ W_xh + b),
            lambda x, h, W_xh, W_hh, b: torch.tanh((x @ W_xh + b + h) @ W_hh),
            lambda x, h, W_xh, W_hh, b: torch.tanh((h + x @ W_xh + b) @ W_hh + b),
            lambda x, h, W_xh, W_hh, b: torch.tanh(torch.tanh(x @ W_xh + b) @ W_hh),
            lambda x, h, W_xh, W_hh, b: torch.tanh(torch.tanh(x @ W_xh + b) @ W_hh + h),
        ),
    ),
    Misconception(
        "product entry by entry",
        build(inward=lambda a, m: a * m, onward=lambda a, m: a * m),
        "`*` multiplies entries that stand in the same place. Which operator sums over the "
        "features, as a matrix product does?",
        also=(
            build(inward=lambda a, m: a * m),
            build(onward=lambda a, m: a * m),
            build(onward=lambda a, m: a * m.diagonal()),
            build(inward=lambda a, m: a * m.diagonal()),
            build(inward=lambda a, m: a * m.diagonal(), onward=lambda a, m: a * m.diagonal()),
        ),
    ),
    Misconception(
        "the old state forgotten",
        build(join=lambda new, old: new),
        "The next state hangs on the input alone: the network forgets everything at once. Where "
        "does `h` enter?",
        also=(build(join=lambda new, old: new + old.mean() * 0),),
    ),
    Misconception(
        "the input forgotten",
        build(join=lambda new, old: old),
        "The next state hangs on the old one alone, whatever is read. Where does `x` enter?",
    ),
    Misconception(
        "the old state without its matrix",
        build(onward=lambda h, m: h),
        "The old state is passed on as it is. What stands between h and the sum?",
    ),
    Misconception(
        "the input without its matrix",
        build(inward=lambda x, m: x),
        "The input is added as it is. It need not even have the width of the state: what brings "
        "it there?",
    ),
    Misconception(
        "the parts multiplied",
        build(join=lambda new, old: new * old),
        "What comes in and what is remembered were multiplied. The formula adds them: what would "
        "a state of zero do to a product?",
    ),
    Misconception(
        "the parts averaged",
        build(join=lambda new, old: (new + old) / 2),
        "The sum was divided by something. A recurrent step takes its sum as it is: what does "
        "your code divide by?",
        also=(
            build(join=lambda new, old: (new + old) / old.shape[-1] ** 0.5),
            build(join=lambda new, old: (new + old) / old.shape[-1]),
            build(bias=lambda t, b: (t + b) / b.shape[0] ** 0.5),
        ),
    ),
    Misconception(
        "the old state with the wrong sign",
        build(join=lambda new, old: new - old),
        "One of the two parts was subtracted. Which signs stand in the formula?",
        also=(build(join=lambda new, old: old - new),),
    ),
    Misconception(
        "the old state added again",
        build(finish=lambda out, x, h: out + h),
        "The old state is mixed in once more after tanh, as in a residual or a gated network. What "
        "does a plain step give back?",
        also=(
            build(finish=lambda out, x, h: (out + h) / 2),
            build(finish=lambda out, x, h: out * h),
            build(join=lambda new, old: new, finish=lambda out, x, h: out + h),
        ),
    ),
    Misconception(
        "normalised at the end",
        build(finish=lambda out, x, h: out / out.norm(dim=-1, keepdim=True)),
        "The new state was normalised. tanh keeps it small enough: what does a plain step give "
        "back?",
        also=(
            build(finish=lambda out, x, h: torch.nn.functional.layer_norm(out, out.shape[-1:])),
            build(finish=lambda out, x, h: out.softmax(-1)),
        ),
    ),
    Misconception(
        "two results",
        build(finish=lambda out, x, h: (out, out)),
        "Two tensors came back, as from `torch.nn.RNN`. One step gives one state.",
        also=(build(finish=lambda out, x, h: (h, out)), build(finish=lambda out, x, h: (out, h))),
    ),
    Misconception(
        "one sequence for all",
        build(finish=lambda out, x, h: out[:1].expand_as(out)),
        "One sequence of the batch was used for all. Each has its own input and its own state.",
        also=(
            build(finish=lambda out, x, h: out[0]),
            build(finish=lambda out, x, h: out[-1]),
            build(onward=lambda a, m: a[:1] @ m),
            build(inward=lambda a, m: a[:1] @ m),
            build(onward=lambda a, m: a.mean(0, keepdim=True) @ m),
        ),
    ),
    Misconception(
        "averaged over the batch",
        build(finish=lambda out, x, h: out.mean(0)),
        "The sequences of the batch were averaged or summed. Which of them knows of the others?",
        also=(
            build(finish=lambda out, x, h: out.sum(0)),
            build(finish=lambda out, x, h: out.mean(0).expand_as(out)),
        ),
    ),
    Misconception(
        "the state cut off from its past",
        lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_xh + h.detach() @ W_hh + b),
        "The values are right, but no gradient reaches `h`: training would never learn what an "
        "earlier step should remember. What cuts it?",
        also=(lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_xh + h.data @ W_hh + b),),
    ),
)

MISCONCEPTIONS = (*BEND, *PRODUCTS)
