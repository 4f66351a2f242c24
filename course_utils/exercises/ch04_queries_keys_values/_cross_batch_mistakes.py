"""What goes wrong in cross-attention with the batch, and with what is returned."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import equal
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch04_queries_keys_values._cross_steps import build, picked


def _scores(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    return (x @ W_q) @ (context @ W_k).mT / math.sqrt(W_q.shape[1])


def _is_multiple(args: tuple[Any, ...], got: Tensor) -> bool:
    want = build()(*args)
    top = want.abs().argmax()
    factor = (got.detach().flatten()[top] / want.flatten()[top]).item()
    return math.isfinite(factor) and factor != 0.0 and equal(got.detach(), factor * want)


def _standardised(sequence: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(sequence, sequence.shape[-1:])


BATCH = (
    Misconception(
        "the sequences of a batch mixed",
        picked(lambda x, c, *W: (x, c.flip(0), *W)),
        "A sequence reads the context of another, or one context serves all. Position i of the "
        "batch reads context i alone.",
        also=(
            picked(lambda x, c, *W: (x, c[:1].expand_as(c), *W)),
            picked(lambda x, c, *W: (x[:1].expand_as(x), c, *W)),
            picked(lambda x, c, *W: (x, c[-1:].expand_as(c), *W)),
            picked(lambda x, c, *W: (x, c.mean(0, keepdim=True).expand_as(c), *W)),
            picked(lambda x, c, *W: (x, c.flatten(0, 1), *W)),
            picked(lambda x, c, *W: (x, c.transpose(0, 1), *W)),
            picked(lambda x, c, *W: (x.transpose(0, 1), c, *W)),
            picked(lambda x, c, *W: (x.transpose(0, 1), c.transpose(0, 1), *W)),
            picked(lambda x, c, *W: (x[0], c[0], *W)),
            lambda x, c, *W: build()(x.transpose(0, 1), c.transpose(0, 1), *W).transpose(0, 1),
            build(score=lambda q, k, v: q @ k.permute(2, 1, 0)),
            build(score=lambda q, k, v: torch.einsum("bld,csd->bls", q, k)),
            build(take=lambda w, q, k, v: torch.einsum("bls,csv->blv", w, v)),
        ),
    ),
    Misconception(
        "softmax over the batch",
        build(turn=lambda scores: scores.softmax(0)),
        "The weights sum to 1 over the sequences of the batch. Which axis holds the keys, counted "
        "from the end?",
    ),
    Misconception(
        "not the whole context read",
        picked(lambda x, c, *W: (x, c[:, -1:].expand_as(c), *W)),
        "Not the whole context is read: one position stands for all of it, or only its "
        "beginning. That is the bottleneck of chapter 01; what does attention choose among?",
        also=(
            picked(lambda x, c, *W: (x, c[:, :1].expand_as(c), *W)),
            picked(lambda x, c, *W: (x, c[:, : x.shape[1]], *W)),
        ),
    ),
    Misconception(
        "the queries averaged",
        picked(lambda x, c, *W: (x.mean(1, keepdim=True).expand_as(x), c, *W)),
        "Every position of `x` gets the same answer: they were averaged, or one asks for all. Each "
        "position asks for itself.",
        also=(
            picked(lambda x, c, *W: (x[:, -1:].expand_as(x), c, *W)),
            picked(lambda x, c, *W: (x[:, :1].expand_as(x), c, *W)),
            picked(lambda x, c, *W: (x.mean(1, keepdim=True), c, *W)),
            build(after=lambda out, *given: out.mean(1)),
            build(after=lambda out, *given: out.mean(1, keepdim=True)),
        ),
    ),
    Misconception(
        "normalised",
        picked(lambda x, c, *W: (_standardised(x), _standardised(c), *W)),
        "Lengths or spreads were evened out before the projections. A layer norm stands elsewhere "
        "in the block, not inside attention.",
        also=(
            picked(lambda x, c, *W: (_standardised(x), c, *W)),
            picked(lambda x, c, *W: (x, _standardised(c), *W)),
        ),
    ),
    Misconception(
        "multiplied at the end",
        build(after=lambda out, *given: out / 3),
        "The output is the right one times a number. The weights of a row sum to 1: what else "
        "scales their average?",
        fits=_is_multiple,
    ),
    Misconception(
        "projected once more",
        build(after=lambda out, x, c, W_q, W_k, W_v: out @ W_v),
        "The output was multiplied by a matrix again. The values are projected already, and there "
        "is no output matrix here.",
        also=(
            build(after=lambda out, x, c, W_q, W_k, W_v: out @ W_v.mT),
            build(after=lambda out, x, c, W_q, W_k, W_v: out @ W_q),
            build(after=lambda out, x, c, W_q, W_k, W_v: out @ W_q.mT),
        ),
    ),
    Misconception(
        "a residual inside",
        build(after=lambda out, x, *rest: out + x),
        "Something was added to the output. The residual connection stands around attention, and "
        "the widths need not even agree.",
        also=(build(after=lambda out, x, c, *W: out + c),),
    ),
    Misconception(
        "the weights returned too",
        build(
            after=lambda out, x, c, W_q, W_k, W_v: (
                out,
                torch.softmax(_scores(x, c, W_q, W_k), dim=-1),
            )
        ),
        "Output and weights came back together, as from `nn.MultiheadAttention`. Only the output "
        "is asked for here.",
    ),
    Misconception(
        "an axis of size 1 left in",
        build(after=lambda out, *given: out.unsqueeze(1)),
        "There is an axis of size 1 too many, as if for a head. The output has the axes of `x`.",
        also=(
            build(after=lambda out, *given: out.unsqueeze(0)),
            build(after=lambda out, *given: out.unsqueeze(-1)),
        ),
    ),
    Misconception(
        "squeeze takes too many axes",
        build(after=lambda out, *given: out.squeeze()),
        "With one sequence, one query or one feature an axis is lost: `squeeze()` without a "
        "number removes every axis of size 1.",
        also=(
            build(after=lambda out, *given: out.squeeze(0)),
            build(after=lambda out, *given: out.squeeze(1)),
            build(after=lambda out, *given: out.squeeze(-1)),
        ),
    ),
)
