"""What goes wrong in a test of equivariance: each mistake as something to run."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.exercises.ch07_positions._equivariance_part_mistakes import PART
from course_utils.exercises.ch07_positions._equivariance_wrong import (
    build,
    close,
    compared,
    of,
    reduced,
    within,
)


def _either(layer: Callable[[Tensor], Tensor], x: Tensor, permutation: Tensor) -> bool:
    """Call an invariant layer equivariant as well."""
    invariant = build(after=lambda out, p: out)
    return bool(build()(layer, x, permutation) or invariant(layer, x, permutation))


def _several(layer: Callable[[Tensor], Tensor], x: Tensor, permutation: Tensor) -> bool:
    orders = (permutation, permutation.flip(0), permutation.roll(1))
    return all(build()(layer, x, order) for order in orders)


SHUFFLE = (
    of(
        "invariance tested",
        "The output for shuffled tokens is compared with the output as it was. That is invariance: "
        "a layer that only shuffles fails it. What should happen to the second output?",
        build(after=lambda out, p: out),
        _either,
        lambda layer, x, p: not close(layer(x[:, p]), layer(x)),
    ),
    of(
        "only the output shuffled",
        "The layer never sees shuffled tokens: both calls have the same input.",
        build(before=lambda x, p: x),
    ),
    of(
        "shuffled twice instead of back",
        "The output was shuffled a second time, or the other one by the inverse. A permutation "
        "undoes itself only where it swaps pairs; `argsort` of it is what undoes it.",
        build(undo=lambda out, p: out[:, p], after=lambda out, p: out),
        build(after=lambda out, p: out[:, p.argsort()]),
        build(before=lambda x, p: x[:, p.argsort()]),
    ),
    of(
        "the batch shuffled",
        "The sequences are shuffled, not the tokens. Which axis of (B, L, d) holds the tokens?",
        build(before=lambda x, p: x[p], after=lambda out, p: out[p]),
        build(before=lambda x, p: x[p % len(x)], after=lambda out, p: out[p % len(out)]),
    ),
    of(
        "the features shuffled",
        "The features of each token are shuffled. Which axis of (B, L, d) holds the tokens?",
        build(
            before=lambda x, p: x[..., p % x.shape[-1]],
            after=lambda out, p: out[..., p % out.shape[-1]],
        ),
        build(before=lambda x, p: x[..., p], after=lambda out, p: out[..., p]),
    ),
    of(
        "another permutation than the given one",
        "The test tries an order of its own. A layer may only shuffle under one permutation and "
        "not under another; the question is about the given one.",
        build(order=lambda p: torch.arange(len(p)).flip(0)),
        build(order=lambda p: torch.arange(len(p)).roll(1)),
        build(order=lambda p: p.flip(0)),
        _several,
    ),
    of(
        "other sequences than x",
        "The layer is asked about sequences that were made up, not about x. A layer may only use "
        "the order of such as x.",
        build(batch=lambda x: torch.linspace(-1, 1, x.numel(), dtype=x.dtype).view(x.shape)),
        build(batch=torch.ones_like),
        build(batch=torch.zeros_like),
    ),
    of(
        "the layer not asked",
        "The tokens are compared, and the layer is never called. Whose behaviour is in question?",
        lambda layer, x, p: close(x[:, p], x),
        lambda layer, x, p: not close(x[:, p], x),
    ),
)

COMPARE = (
    of(
        "always True",
        "The test says True of every layer, also of one that adds positions.",
        lambda layer, x, p: True,
        reduced(lambda out: torch.tensor(float(out.dim()))),
    ),
    of(
        "always False",
        "The test says False of every layer, also of one that treats all tokens alike.",
        lambda layer, x, p: False,
        build(same=lambda a, b: a is b),
    ),
    of(
        "the answer turned round",
        "The test says True where the layer uses the order, and False where it does not.",
        build(same=lambda a, b: not close(a, b)),
    ),
    of(
        "no room for rounding",
        "Sums in another order differ in their last digits, so a right layer is called wrong. "
        "How are real numbers compared?",
        compared(torch.equal),
        compared(lambda a, b: (a == b).all()),
        within(1e-30),
    ),
    of(
        "too much room",
        "A layer that uses the order a little is called equivariant: the difference that is "
        "forgiven is far larger than rounding.",
        within(1e-2),
        within(0.1),
        within(1.0),
        compared(lambda a, b: (a - b).abs().mean() < 1e-2),
    ),
    of(
        "one equal value is enough",
        "One pair of equal values makes the answer True. All of them have to agree.",
        compared(lambda a, b: torch.isclose(a, b).any()),
    ),
    of(
        "differences with a sign",
        "Differences below zero are small numbers too: without their size a layer that lowers its "
        "outputs passes.",
        compared(lambda a, b: ((a - b) < 1e-6).all()),
        compared(lambda a, b: (a - b).max() < 1e-6),
        compared(lambda a, b: ((b - a) < 1e-6).all()),
    ),
    of(
        "differences that cancel",
        "The differences are added up before they are judged, and cancel: some are positive and "
        "others negative.",
        compared(lambda a, b: (a - b).mean().abs() < 1e-6),
        compared(lambda a, b: (a - b).sum().abs() < 1e-6),
        reduced(lambda out: out.sum()),
        reduced(lambda out: out.mean()),
        compared(lambda a, b: (a - b).sum() < 1e-5),
        compared(lambda a, b: (a - b).mean() < 1e-5),
    ),
    of(
        "tokens added up before they are compared",
        "The sum or mean over the tokens does not tell in which order they stand.",
        reduced(lambda out: out.sum(1)),
        reduced(lambda out: out.mean(1)),
    ),
    of(
        "sorted before they are compared",
        "The values were sorted before they were compared, so every order looks right. Which "
        "value must stand at which place?",
        reduced(lambda out: out.sort(1).values),
        reduced(lambda out: out.flatten().sort().values),
    ),
    of(
        "only sizes compared",
        "Only sizes are compared: two outputs of the same norm need not be the same. What is "
        "compared entry by entry?",
        reduced(lambda out: out.norm()),
        reduced(lambda out: out.norm(dim=-1)),
        reduced(lambda out: out.abs()),
    ),
    of(
        "features averaged before they are compared",
        "The features of each token were added up; one that is too large hides one that is too "
        "small.",
        reduced(lambda out: out.sum(-1)),
        reduced(lambda out: out.mean(-1)),
    ),
)

MISCONCEPTIONS = (*SHUFFLE, *COMPARE, *PART)
