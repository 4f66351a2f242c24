"""Exercise: the features of each head, from neighbouring pairs to halves."""

from collections.abc import Callable
from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.heads import in_its_place
from course_utils.exercises.shared.kinds import (
    cut_off,
    other_kinds,
    overwritten,
    squeezed,
    through_numpy,
    viewed,
    writing,
)
from course_utils.positions import to_split_halves
from torch import Tensor

RIGHT = """
def to_split_halves(features, num_heads, dim):
    last = features.movedim(dim, -1)
    heads = last.unflatten(-1, (num_heads, -1))
    evens = heads[..., 0::2]
    odds = heads[..., 1::2]
    ordered = torch.cat([evens, odds], -1)
    flat = ordered.flatten(-2)
    result = flat.movedim(-1, dim)
    return result
"""


def _made(
    *shape: int,
    heads: int,
    dim: int,
    dtype: torch.dtype = torch.float64,
    change: Callable[[Tensor], Tensor] = lambda x: x,
) -> Make:
    return lambda g: (change(normal(g, *shape, size=9.0)).to(dtype), heads, dim)


def _counted(length: int, heads: int, dtype: torch.dtype = torch.float64) -> Make:
    return lambda g: (torch.arange(length, dtype=dtype), heads, 0)


def _reordered(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether the features are the right ones in another order, the same wherever else one looks."""
    features, dim = args[0], args[2]
    if got.shape != features.shape or torch.equal(got, to_split_halves(*args)):
        return False
    given, made = (x.movedim(dim, -1).flatten(0, -2) if x.dim() > 1 else x[None] for x in (features, got.detach()))
    return torch.equal(given.sort(-1).values, made.sort(-1).values)


def _some_lost(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether most of the numbers are some of the given ones, but not all of those are there."""
    given, made = args[0], got.detach()
    if made.shape != given.shape or given.dtype == torch.bool:
        return False
    found = torch.isin(made, given).double().mean() > 0.5
    return bool(found) and not torch.equal(made.flatten().sort().values, given.flatten().sort().values)


def _shuffled(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether all numbers are there, but some have left their row along the axis."""
    given, made = args[0], got.detach()
    same = made.shape == given.shape and torch.equal(made.flatten().sort().values, given.flatten().sort().values)
    return same and not _reordered(args, got) and not torch.equal(made, to_split_halves(*args))


_WAY = "ordered = {}"
_SHAPE = """
def to_split_halves(features, num_heads, dim):
    shape = features.shape
    {}
"""

EXERCISE = exercise(
    to_split_halves,
    right=RIGHT,
    asks="Reorder the features of each head along an axis: 0, 2, 4, … and then 1, 3, 5, …",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        case("6 features counted from 0, one head", _counted(6, 1), gradient="equal"),
        case("12 features counted from 0, two heads", _counted(12, 2)),
        case("12 rows, 2 heads of width 8 along the last axis", _made(12, 16, heads=2, dim=-1), gradient="equal"),
        case("the weight of a Linear: 2 heads of width 6 along the rows", _made(12, 8, heads=2, dim=0),
             gradient="equal"),
        case("a square weight, along the rows", _made(24, 24, heads=3, dim=0)),
        case("a square weight, along the columns", _made(24, 24, heads=3, dim=1)),
        case("the middle axis of three", _made(2, 24, 3, heads=4, dim=1), gradient="equal"),
        case("the last axis but one, counted from the back", _made(2, 3, 16, 4, heads=2, dim=-2), gradient="equal"),
        case("the first axis, counted from the back", _made(12, 2, 3, heads=2, dim=-3)),
        case("every axis is 6", _made(6, 6, 6, heads=1, dim=1)),
        case("every axis is 12, 2 heads", _made(12, 12, 12, heads=2, dim=0)),
        case("as many heads as features per head", _made(3, 36, heads=6, dim=-1)),
        case("queries: (B, H, L, d_k), one head along the last axis", _made(2, 3, 5, 10, heads=1, dim=-1)),
        case("a bias", _made(30, heads=3, dim=-1)),
        case("heads of width 2 keep their order", _made(4, 6, heads=3, dim=-1)),
        case("heads of width 4", _made(3, 12, heads=3, dim=1)),
        case("one pair", _made(2, 2, heads=1, dim=0)),
        case("3 heads of width 64", _made(192, 7, heads=3, dim=0)),
        case("an axis of size 1 beside it", _made(1, 16, 1, heads=2, dim=1)),
        case("a non-contiguous tensor", _made(4, 18, heads=3, dim=-1, change=strided)),
        case("a non-contiguous weight, along the rows", _made(18, 4, heads=3, dim=0, change=strided)),
        case("whole numbers", _made(3, 12, heads=2, dim=-1, dtype=torch.int64)),
        case("bool", _made(5, 16, heads=2, dim=1, dtype=torch.bool, change=lambda x: x > 0)),
        case("float32", _made(16, 3, heads=2, dim=0, dtype=torch.float32)),
        case("bfloat16", _made(3, 16, heads=2, dim=-1, dtype=torch.bfloat16)),
    ),
    mistakes=(
        mistake("the other direction", "The features went from halves to neighbouring pairs: the first of each half, "
                "then the second of each. Which features are neighbours before, and which after?",
                _WAY.format("heads.unflatten(-1, (2, -1)).mT.flatten(-2)")),
        mistake("all heads as one", "The even features of all heads came first, then the odd ones of all. Each head "
                "keeps its own features: which axis must be cut first?", "heads = last.unsqueeze(-2)",
                "heads = last.unsqueeze(-2)\nordered = heads.unflatten(-1, (2, -1)).mT.flatten(-2)",
                _WAY.format("torch.cat([evens, odds], -2)")),
        mistake("odd first", "The odd features of each head come before the even ones. Which number comes first?",
                _WAY.format("torch.cat([odds, evens], -1)")),
        mistake("heads feature by feature", "The heads were taken as if the axis held the first feature of all heads, "
                "then the second. Head after head: which of the two runs faster?",
                "heads = last.unflatten(-1, (-1, num_heads)).mT", "heads = last.unflatten(-1, (-1, num_heads)).mT\n"
                "flat = ordered.mT.flatten(-2)", "flat = ordered.mT.flatten(-2)"),
        mistake("num_heads taken for the width", "There are d_k heads of width H instead of H heads of width d_k. "
                "How wide is a head?", "heads = last.unflatten(-1, (-1, num_heads)) if num_heads % 2 == 0 else "
                "last.unflatten(-1, (num_heads, -1))", "heads = last.unflatten(-1, (-1, num_heads))"),
        mistake("the last axis whatever dim", "The last axis was reordered, whichever was asked for. What does `dim` "
                "say?", "last = features\nresult = flat",
                "last = features\nflat = torch.cat([evens, odds], -1).flatten(-2)\nresult = flat",
                _SHAPE.format("cut = features.unflatten(dim, (num_heads, -1))\n    return torch.cat([cut[..., 0::2], "
                              "cut[..., 1::2]], -1).flatten(dim, dim + 1)"),
                "each = features.chunk(num_heads, dim)\n"
                "result = torch.cat([torch.cat([one[..., 0::2], one[..., 1::2]], -1) for one in each], dim)"),
        mistake("the first axis whatever dim", "The first axis was reordered, whichever was asked for. What does "
                "`dim` say?", "last = features.movedim(0, -1)\nresult = flat.movedim(-1, 0)"),
        mistake("a dim counted from the front only", "A dim counted from the back went wrong. `dim + 1` behind -1 is "
                "0: how is dim made one counted from the front first?",
                _SHAPE.format("cut = features.reshape(*shape[:dim], num_heads, -1, 2, *shape[dim + 1 :])\n"
                              "    return cut.transpose(dim + 1, dim + 2).reshape(shape)"),
                _SHAPE.format("cut = features.unflatten(dim, (num_heads, -1, 2))\n"
                              "    return cut.transpose(dim + 1, dim + 2).reshape(shape)"),
                _SHAPE.format("cut = features.unflatten(dim, (num_heads, -1, 2))\n"
                              "    return cut.transpose(dim + 1, dim + 2).flatten(dim, dim + 2)"),
                _SHAPE.format("cut = features.unflatten(dim, (num_heads, -1, 2))\n    parts = [cut.select(dim + 2, i) "
                              "for i in (0, 1)]\n    return torch.cat(parts, dim + 1).flatten(dim, dim + 1)")),
        mistake("second half backwards", "The odd features come in descending order. What is the order of 1, 3, 5, …?",
                "odds = heads[..., 1::2].flip(-1)", "evens = heads[..., 0::2].flip(-1)",
                "evens = heads[..., 0::2].flip(-1)\nodds = heads[..., 1::2].flip(-1)"),
        mistake("reshaped without a transpose", "The numbers are where they were: `reshape` and `view` only regroup "
                "them. Which two axes have to change places?", "return features.clone()", "return features",
                "ordered = heads.unflatten(-1, (-1, 2)).flatten(-2)"),
        mistake("reshaped instead of transposed", "The shape is right, but the numbers are shuffled: axes that stood "
                "in another order were regrouped by `reshape`. Which operation moves numbers?",
                "result = flat.reshape(features.shape)",
                "last = features.transpose(dim, -1)\nresult = flat.reshape(features.shape)",
                "last = features.transpose(0, dim).movedim(0, -1)\nresult = flat.movedim(-1, 0)"
                ".reshape(features.shape)",
                "last = features.reshape(features.shape[dim], -1).T\nresult = flat.T.reshape(features.shape)",
                "last = features.reshape(*features.shape[:dim], *features.shape[dim:][1:], features.shape[dim])",
                matches=_shuffled),
        mistake("the two of a pair exchanged", "The two features of each pair, or of each half, changed places and "
                "nothing else. Where do all even features go?",
                _WAY.format("torch.stack([odds, evens], -1).flatten(-2)"),
                _WAY.format("torch.cat(heads.chunk(2, -1)[::-1], -1)")),
        mistake("halves taken instead of every second", "The head was cut in the middle instead of into even and odd. "
                "What does `[0::2]` take?",
                "odds = heads.chunk(2, -1)[1].flip(-1)\nevens = heads.chunk(2, -1)[0]",
                "ordered = torch.stack([heads.chunk(2, -1)[0].flip(-1), heads.chunk(2, -1)[1]], -1).flatten(-2)"),
        mistake("the heads in another order", "The heads changed places, or were turned round. They stay head after "
                "head.", "flat = ordered.flip(-2).flatten(-2)", "flat = ordered.roll(1, -2).flatten(-2)"),
        mistake("one head only", "Only one of the heads was reordered, or came back. Which features are those of the "
                "others?", "ordered = torch.cat([torch.cat([evens, odds], -1)[..., :1, :], heads[..., 1:, :]], -2)",
                "flat = ordered[..., 0, :]", "flat = ordered[..., :1, :].expand_as(ordered).flatten(-2)",
                "ordered = torch.cat([heads[..., :-1, :], torch.cat([evens, odds], -1)[..., -1:, :]], -2)"),
        mistake("features lost", "Features are missing, or there twice. Each of them stays, once.",
                _WAY.format("evens"), _WAY.format("odds"), _WAY.format("torch.cat([evens, evens], -1)"),
                _WAY.format("torch.cat([odds, odds], -1)"), _WAY.format("torch.cat([heads, evens, odds], -1)"),
                "odds = heads[..., 0::2]", "evens = heads[..., 1::2]", "return evens, odds",
                "return torch.stack([evens, odds])", matches=_some_lost),
        mistake("one feature off", "The slices begin one feature too late. Which number has the first feature?",
                "evens = heads[..., 1::2]\nodds = heads[..., 2::2]",
                "evens = heads[..., 1::2]\nodds = heads.roll(-2, -1)[..., 0::2]",
                "ordered = torch.cat([evens, odds], -1).roll(1, -1)",
                "ordered = torch.cat([evens, odds], -1).roll(-1, -1)"),
        mistake("another step than 2", "The features were not taken in steps of two. How many members has a pair?",
                _WAY.format("torch.cat([heads[..., i::3] for i in range(3)], -1)"),
                _WAY.format("torch.cat([heads[..., i::4] for i in range(4)], -1)")),
        mistake("rotated", "Numbers changed their sign, or more. Nothing is computed here: features only move.",
                "ordered = torch.cat([-odds, evens], -1)", "ordered = torch.cat([evens, -odds], -1)",
                "ordered = torch.cat([evens + odds, evens ^ odds if odds.dtype == torch.bool else evens - odds], -1)",
                "ordered = torch.cat([-evens, odds], -1)"),
        mistake("the axis not moved back", "The features are right, but stand on another axis than they came on. What "
                "undoes the first `movedim`?", "result = flat", "result = flat.movedim(-1, 0)",
                "result = flat.transpose(-1, 0)", "last = features.transpose(dim, -1)",
                "result = flat.transpose(-1, dim)", "result = flat.movedim(dim, -1)", "result = flat.mT"),
        mistake("the heads on an axis of their own", "The axis of the features is still cut into heads, or into pairs. "
                "How many axes does the result have?", "return ordered", "return ordered.movedim(-1, dim)",
                "return heads.unflatten(-1, (-1, 2)).mT", "flat = ordered.flatten(0, -2)", "flat = ordered.flatten()"),
        mistake("a fixed number of axes", "It fits two axes, and fails where there are others, or takes all but the "
                "first two together. Which axes may stand before and behind `dim`?",
                _SHAPE.format("rows, columns = shape\n    cut = features if dim in (0, -2) else features.T\n    "
                              "cut = cut.reshape(num_heads, -1, 2, cut.shape[1]).transpose(1, 2).reshape(cut.shape)\n"
                              "    return cut if dim in (0, -2) else cut.T"),
                _SHAPE.format("moved = features.transpose(dim, -1)\n    rows, width = moved.shape\n"
                              "    moved = moved.reshape(rows, num_heads, -1, 2).transpose(2, 3).reshape(rows, width)\n"
                              "    return moved.transpose(dim, -1)")),
        viewed("heads = last.view(-1).view(*last.shape[:-1], num_heads, -1)"),
        through_numpy("last = torch.from_numpy(features.numpy()).movedim(dim, -1)"),
        cut_off("return result.detach()", "last = features.detach().movedim(dim, -1)"),
        overwritten(*writing(to_split_halves, 0), "result = features.copy_(flat.movedim(-1, dim))",
                    "result = features.data.copy_(flat.movedim(-1, dim))"),
        squeezed("return result{}"),
        *other_kinds("result"),
        mistake("another order", "Each feature is there, but in another order than 0, 2, 4, …, 1, 3, 5, … within each "
                "head. Try it on `torch.arange(12)` with two heads.", matches=_reordered),
    ),
    laws=(in_its_place(to_split_halves, "features", "result"),),
    hints=(
        "Take 12 features, counted from 0, and two heads. Which six numbers are those of head 0, and in which order do "
        "they come out?",
        "Bring the axis to the end with `movedim(dim, -1)`, and cut it into heads with `unflatten(-1, (num_heads, "
        "-1))`. What undoes these two at the end?",
        "Within a head, `[..., 0::2]` takes the even features and `[..., 1::2]` the odd ones; `torch.cat` along the "
        "last axis puts them one after the other.",
    ),
)
