"""What goes wrong with the bias and the tanh of a recurrent step."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.checking.laws import is_other, monotone
from course_utils.exercises.ch01_bottleneck._rnn_wrong import build


def _none(a: Tensor) -> Tensor:
    return a


def _late(squash: Any = torch.tanh) -> Function:
    return lambda x, h, W_xh, W_hh, b: squash(x @ W_xh + h @ W_hh) + b


def _rises_with_the_sum(args: tuple[Any, ...], got: Tensor) -> bool:
    x, h, W_xh, W_hh, b = args
    total = x @ W_xh + h @ W_hh + b
    return is_other(got, total.tanh()) and monotone(total, got)


BEND = (
    Misconception(
        "no tanh",
        build(squash=_none),
        "The state is a plain sum, and grows from step to step. What keeps every entry between -1 "
        "and 1?",
    ),
    Misconception(
        "bias per sequence",
        build(bias=lambda t, b: t + b.unsqueeze(1)),
        "Each sequence of the batch got a number of its own from `b`. Does `b` have one number for "
        "each sequence, or for each feature?",
    ),
    Misconception(
        "one bias for all features",
        build(bias=lambda t, b: t + b.sum()),
        "All features got the same number. What is the shape of `b`, and what does broadcasting "
        "do with it if nothing is summed?",
        also=(
            build(bias=lambda t, b: t + b.mean()),
            build(bias=lambda t, b: t + b[0]),
        ),
    ),
    Misconception(
        "bias forgotten",
        build(bias=lambda t, b: t),
        "With an input and a state of zero the next state is zero here. What is `b` for?",
    ),
    Misconception(
        "bias after tanh",
        _late(),
        "`b` is added to what tanh gave, so the state leaves the range from -1 to 1. What does "
        "tanh enclose?",
        also=(
            lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_xh + h @ W_hh) - b,
            lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_xh + h @ W_hh) + torch.tanh(b),
            lambda x, h, W_xh, W_hh, b: torch.tanh(x @ W_xh + h @ W_hh) * b,
        ),
    ),
    Misconception(
        "bias added twice",
        build(bias=lambda t, b: t + 2 * b),
        "The bias came in twice, once with each product. `torch.nn.RNN` has two biases; how many "
        "are there here?",
    ),
    Misconception(
        "bias with the wrong sign",
        build(bias=lambda t, b: t - b),
        "The bias was subtracted. Which sign has it in the formula?",
    ),
    Misconception(
        "bias as a factor",
        build(bias=lambda t, b: t * b),
        "The bias multiplies. Does it shift the sum, or stretch it?",
    ),
    Misconception(
        "another function than tanh",
        build(squash=torch.sigmoid),
        "The state was squashed, but not by tanh. Which values does tanh give for large negative "
        "numbers, and for zero?",
        also=(
            build(squash=torch.relu),
            build(squash=lambda t: torch.softmax(t, -1)),
            build(squash=torch.sin),
            build(squash=torch.tan),
            build(squash=lambda t: t.sigmoid() * t.tanh()),
            build(squash=torch.atan),
            build(squash=lambda t: t.clamp(-1.0, 1.0)),
            build(squash=torch.nn.functional.gelu),
            build(squash=torch.nn.functional.silu),
            build(squash=lambda t: t / (1 + t.abs())),
        ),
        fits=_rises_with_the_sum,
    ),
    Misconception(
        "tanh of each part",
        build(join=lambda new, old: new.tanh() + old.tanh(), squash=_none),
        "tanh was applied to the parts, or more than once. There is one sum and one tanh: which "
        "comes first?",
        also=(
            build(join=lambda new, old: new.tanh() + old.tanh()),
            lambda x, h, W, U, b: torch.tanh(x @ W + b) + torch.tanh(h @ U),
            lambda x, h, W, U, b: torch.tanh(x @ W) + torch.tanh(h @ U + b),
            lambda x, h, W, U, b: torch.tanh(x @ W) + torch.tanh(h @ U) + torch.tanh(b),
            lambda x, h, W, U, b: torch.tanh(x @ W) + h @ U + b,
            lambda x, h, W, U, b: torch.tanh(x @ W + b) + h @ U,
            lambda x, h, W, U, b: x @ W + torch.tanh(h @ U + b),
            lambda x, h, W, U, b: x @ W + torch.tanh(h @ U) + b,
            lambda x, h, W, U, b: torch.tanh(x @ W + torch.tanh(h @ U) + b),
            lambda x, h, W, U, b: torch.tanh(torch.tanh(x @ W + b) + h @ U),
            lambda x, h, W, U, b: torch.tanh(x @ W + torch.tanh(h) @ U + b),
            lambda x, h, W, U, b: torch.tanh(x @ W + b) + torch.tanh(h @ U + b),
            build(squash=lambda t: t.tanh().tanh()),
        ),
    ),
)
