"""Mistakes when a stream is cut into heads, and when heads become a stream again.

The lines of `SPLIT` and `SPLIT_SHAPES` speak of the stream `x` (B, L, d_model) and of `num_heads`,
which exist when `cut` is set, and of the steps

    cut = x.reshape(*x.shape[:2], num_heads, -1)
    heads = cut.transpose(1, 2)

Those of `MERGE` and `MERGE_SHAPES` speak of the heads `out` (B, H, L, d_k), which exist when
`turned` is set, and of

    turned = out.transpose(1, 2)
    merged = turned.flatten(-2)

`SPLIT` and `MERGE` keep the shape, so that what follows can be computed; what is in `SPLIT_SHAPES`
and `MERGE_SHAPES` changes the shape or the kind. Those of `MIX` speak of a matrix `W_o` too, in

    mixed = merged @ W_o

those of `AMONG` of scores (B, H, L, S) and of `value`, in

    weights = stable_softmax(scores)
    out = weights @ value

and those of `MASKS`, besides, of `query`, `num_heads`, `scaled`, `merged` and `W_o`, in

    allowed = attn_mask
    scores = scaled.masked_fill(~allowed, -torch.inf)
    mixed = merged @ W_o

Some names are in several of these: `joined` makes one mistake of those with the same name.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.checking.exercise import Law
from course_utils.checking.mistakes import Mistake, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import viewed

_GRADIENT = (
    "The values are right, but no gradient can flow back to the input. What cuts the thread: `.detach()`, `.data`, "
    "numpy, or a fresh tensor made of numbers?"
)
_INTERLEAVED = (
    "The heads are interleaved: head h took every H-th feature, starting at h. Head h owns neighbours: which of H "
    "and d_k runs faster along the width?"
)
_SHIFTED = (
    "Every head's slice begins one feature too late, or too early. Which number has the first feature of head 0, and "
    "which one is the first that a slice leaves out?"
)
_HEADS = "(x.shape[0], num_heads, x.shape[1], -1)"
_STREAM = "(out.shape[0], out.shape[2], -1)"
# What keeps all heads but one, or one alone.
_ONE = ("!= out.shape[1] - 1", "!= 0", "== 0", "== out.shape[1] - 1")
_EACH = "(out @ W_o.view(out.shape[1], -1, len(W_o)))"
# Where these numbers do not divide the width, the right number of heads is used.
_COUNTS = tuple(f"num_heads if x.shape[-1] % {n} else {n}" for n in (8, 2, 3, 4, 6, 12))
_WIDTHS = tuple(f"num_heads if x.shape[-1] % {n} else x.shape[-1] // {n}" for n in (2, 4, 8, 16, 32, 64))

SPLIT = (
    mistake("cut without a transpose", "The shape is right, but the numbers are shuffled: a head got whole positions "
            "instead of its own slice of every position. `view` reads numbers in the order in which memory holds "
            "them; which comes first there, position or head?", f"heads = x.reshape{_HEADS}"),
    mistake("heads interleaved", _INTERLEAVED, "cut = x.reshape(*x.shape[:2], -1, num_heads).mT"),
    mistake("reshaped after the wrong transpose", "The shape is right, but the numbers are shuffled: the stream was "
            "transposed before its width was cut. Which of the two steps comes first?",
            f"heads = x.transpose(1, 2).reshape{_HEADS}", f"heads = x.transpose(0, 1).reshape{_HEADS}",
            "heads = x.reshape(x.shape[0], num_heads, -1, x.shape[1]).mT",
            "heads = x.reshape(num_heads, *x.shape[:2], -1).transpose(0, 1)",
            "heads = x.reshape(x.shape[1], x.shape[0], num_heads, -1).permute(1, 2, 0, 3)",
            f"heads = cut.permute(0, 2, 3, 1).reshape{_HEADS}", f"heads = cut.permute(2, 0, 1, 3).reshape{_HEADS}"),
    mistake("the same slice for every head", "All heads hold the same features. Where does the slice of head h begin?",
            "heads = cut[:, :, :1].transpose(1, 2).expand(-1, num_heads, -1, -1)",
            "heads = cut[:, :, -1:].transpose(1, 2).expand(-1, num_heads, -1, -1)"),
    mistake("slices that overlap", "Two heads start too close together, so that they share features and the last "
            "features are in no head. How far apart do two heads start?",
            "heads = x.unfold(-1, cut.shape[-1], 1)[:, :, :num_heads].transpose(1, 2)",
            "step = num_heads if num_heads**2 <= x.shape[-1] else cut.shape[-1]\n"
            "heads = x.unfold(-1, cut.shape[-1], step)[:, :, :num_heads].transpose(1, 2)"),
    mistake("heads in the wrong order", "The heads are the right slices in another order. Which slice is head 0's?",
            "heads = cut.flip(2).transpose(1, 2)", "heads = cut.roll(1, 2).transpose(1, 2)"),
    mistake("features in the wrong order", "Features or positions were reversed. What reversed them?",
            "heads = cut.flip(-1).transpose(1, 2)", "heads = cut.flip(1).transpose(1, 2)"),
    mistake("the numbers changed", "The numbers were scaled or changed on the way. Splitting and merging only move "
            "them: what else happened?",
            "heads = cut.transpose(1, 2) * cut.shape[-1] ** -0.5", "heads = cut.transpose(1, 2) / num_heads",
            "heads = cut.transpose(1, 2) * cut.shape[-1] ** -0.25", "heads = cut.transpose(1, 2).softmax(-1)"),
    mistake("one sequence for all", "Every sequence got the heads of one of them. Which axis tells the sequences "
            "apart?", "heads = cut[:1].transpose(1, 2).expand(len(x), -1, -1, -1)",
            "heads = cut[-1:].transpose(1, 2).expand(len(x), -1, -1, -1)"),
    mistake("slices off by one", _SHIFTED, "cut = x.roll(-1, -1).reshape(*x.shape[:2], num_heads, -1)",
            "cut = x.roll(1, -1).reshape(*x.shape[:2], num_heads, -1)"),
    mistake("cut off from the gradient", _GRADIENT, "heads = cut.detach().transpose(1, 2)"),
)

SPLIT_SHAPES = (
    mistake("heads interleaved", _INTERLEAVED, "heads = x.reshape(*x.shape[:2], -1, num_heads)",
            "heads = x.reshape(*x.shape[:2], -1, num_heads).transpose(1, 3)"),
    mistake("heads left behind the positions", "The width is cut as it should be, but the axes are still (B, L, H, "
            "d_k). Which axis must come before which, so that a matrix product sees one table (L, d_k) per head?",
            "heads = cut", f"heads = x.reshape{_HEADS}.transpose(1, 2)",
            "heads = cut.transpose(1, 2).reshape(cut.shape)"),
    mistake("num_heads taken for the width of a head", "There are d_k heads of width H instead of H heads of width "
            "d_k. `split` takes the size of a piece, `chunk` the number of pieces: which of them is `num_heads`?",
            "cut = x.reshape(*x.shape[:2], -1, num_heads)"),
    mistake("heads as the first axis", "The heads come first and the sequences second. The batch stays the first axis: "
            "where do the heads belong?", "heads = cut.permute(2, 0, 1, 3)", "heads = cut.permute(2, 1, 0, 3)"),
    mistake("read as (L, B, d_model)", "The first axis was taken for the positions. Here the batch comes first: (B, L, "
            "d_model).", "heads = cut.permute(1, 2, 0, 3)", "heads = cut.flatten(1, 2).transpose(0, 1)"),
    mistake("other axes swapped", "The width is cut as it should be, but other axes were swapped than heads and "
            "positions. The last two must stay position and feature, as (L, d_k).",
            "heads = cut.permute(0, 2, 3, 1)", "heads = cut.permute(0, 1, 3, 2)", "heads = cut.permute(0, 3, 2, 1)",
            "heads = cut.permute(0, 3, 1, 2)", "heads = cut.permute(2, 0, 3, 1)", "heads = cut.permute(1, 0, 2, 3)"),
    mistake("heads folded into the batch", "Sequences and heads share one axis. Four axes are asked for: (B, H, L, "
            "d_k).", "heads = cut.transpose(1, 2).flatten(0, 1)", "heads = torch.cat(cut.unbind(2), 0)",
            "heads = torch.cat(cut.unbind(2), 1)"),
    mistake("a tuple of heads", "The heads come as separate tensors. One tensor with an axis for the heads is asked "
            "for: what joins equal tensors along a new axis?", "heads = cut.unbind(2)"),
    mistake("positions shared out instead of features", "Each head got some of the positions with their whole width. "
            "Every head sees every position: what is shared out among them?",
            "heads = x.reshape(x.shape[0], num_heads, -1, x.shape[2])", "heads = torch.stack(x.chunk(num_heads, 1), 1)",
            "heads = x.reshape(x.shape[0], -1, num_heads, x.shape[2]).transpose(1, 2)",
            "heads = torch.stack([x[:, h::num_heads] for h in range(num_heads)], 1)",
            "heads = torch.stack([x[:, h::num_heads] for h in range(num_heads)], dim=1)"),
    mistake("slices off by one", _SHIFTED,
            "d_k = cut.shape[-1]\n"
            "heads = torch.stack([x[..., h * d_k + 1 : (h + 1) * d_k + 1] for h in range(num_heads)], 1)"),
    mistake("the whole width for every head", "Every head got all of the features. They share the width: how wide is "
            "one head?", "heads = x.unsqueeze(1).expand(-1, num_heads, -1, -1)", "heads = x.unsqueeze(1)"),
    mistake("a head or a feature lost", "One head is missing, or one feature of every head. Where does a `range` begin "
            "and end, and which place does a slice leave out?",
            "heads = cut.transpose(1, 2)[:, 1:]", "heads = cut.transpose(1, 2)[:, :-1]",
            "heads = cut.transpose(1, 2)[..., :-1]", "heads = cut.transpose(1, 2)[..., 1:]"),
    mistake("squeeze takes too many axes", "An axis of size 1 is gone: one sequence, one head or one position still "
            "has its axis. What removes axes without being asked which?", "heads = cut.transpose(1, 2).squeeze()",
            *(f"heads = cut.transpose(1, 2).squeeze({axis})" for axis in (0, 1, 2, -1))),
    mistake("a fixed number of heads", "The number of heads is not the one that was given. Where does the number in "
            "the code come from?", *(f"cut = x.reshape(*x.shape[:2], {count}, -1)" for count in (*_COUNTS, *_WIDTHS))),
)

MERGE = (
    mistake("merged without transposing back", "The shape is right, but the numbers are shuffled: a position got "
            "features of other positions. In memory head comes before position; which order does (B, L, d_model) need?",
            f"merged = out.reshape{_STREAM}", f"merged = out.reshape(turned.shape).transpose(1, 2).reshape{_STREAM}"),
    viewed("merged = turned.view(*turned.shape[:2], -1)"),
    mistake("heads interleaved", "The features of the heads are interleaved: first one of every head, then the next of "
            "every head. Head h's features are neighbours: which of head and feature runs faster?",
            "turned = out.permute(0, 2, 3, 1)"),
    mistake("heads summed instead of concatenated", "The heads were added up, so one width d_k is left of all of them. "
            "They stand side by side in the stream: how wide is it?", "merged = out.sum(1).repeat(1, 1, out.shape[1])"),
    mistake("heads averaged", "The heads were averaged, so one width d_k is left of all of them. They stand side by "
            "side in the stream: how wide is it?", "merged = out.mean(1).repeat(1, 1, out.shape[1])"),
    mistake("the largest of the heads", "Of all heads only the largest number was kept, as pooling does. They stand "
            "side by side in the stream: how wide is it?", "merged = out.amax(1).repeat(1, 1, out.shape[1])"),
    mistake("heads lost", "Heads are missing in the stream: one is left, or one is lost. Where do the others go?",
            "merged = out[:, 0].repeat(1, 1, out.shape[1])", "merged = out[:, -1].repeat(1, 1, out.shape[1])",
            *(f"merged = (turned * (torch.arange(out.shape[1]) {which}).unsqueeze(-1)).flatten(-2)" for which in _ONE)),
    mistake("other axes swapped", "The numbers are shuffled: other axes were swapped than heads and positions. Which "
            "two of the four must stand last before they become one?",
            f"merged = out.permute(0, 1, 3, 2).reshape{_STREAM}", f"merged = out.permute(0, 3, 2, 1).reshape{_STREAM}",
            f"merged = out.permute(0, 3, 1, 2).reshape{_STREAM}", f"merged = out.permute(1, 0, 2, 3).reshape{_STREAM}",
            f"merged = out.permute(1, 2, 0, 3).reshape{_STREAM}", f"merged = out.permute(2, 0, 1, 3).reshape{_STREAM}",
            f"merged = out.permute(2, 1, 0, 3).reshape{_STREAM}", f"merged = out.permute(3, 1, 2, 0).reshape{_STREAM}",
            f"merged = out.permute(3, 2, 1, 0).reshape{_STREAM}"),
    mistake("heads in the wrong order", "The heads stand side by side, but in another order. Which one comes first?",
            "turned = out.flip(1).transpose(1, 2)", "turned = out.roll(1, 1).transpose(1, 2)",
            "turned = out.roll(-1, 1).transpose(1, 2)"),
    mistake("features in the wrong order", "The features or the positions are in another order than they came in. What "
            "turned them round?", "merged = turned.flip(-1).flatten(-2)", "merged = turned.flatten(-2).flip(-1)",
            "merged = turned.flatten(-2).flip(1)"),
    mistake("the numbers changed", "The numbers were scaled or changed on the way. Splitting and merging only move "
            "them: what else happened?", "merged = turned.flatten(-2) / turned.flatten(-2).shape[-1] ** 0.5",
            "merged = turned.flatten(-2) / out.shape[1]", "merged = turned.flatten(-2) / out.shape[1] ** 0.5",
            "merged = turned.flatten(-2) / out.shape[-1] ** 0.5", "merged = turned.flatten(-2).softmax(-1)",
            "merged = turned.flatten(-2) - turned.flatten(-2).mean(-1, keepdim=True)"),
    mistake("one sequence for all", "Every sequence got the heads of one of them. Which axis tells the sequences "
            "apart?", "merged = turned[:1].flatten(-2).expand(len(out), -1, -1)",
            "merged = turned[-1:].flatten(-2).expand(len(out), -1, -1)"),
    mistake("cut off from the gradient", _GRADIENT, "merged = turned.flatten(-2).detach()"),
)

MERGE_SHAPES = (
    mistake("heads summed instead of concatenated", "The heads were added up, so one width d_k is left of all of them. "
            "They stand side by side in the stream: how wide is it?", "merged = out.sum(1)"),
    mistake("heads averaged", "The heads were averaged, so one width d_k is left of all of them. They stand side by "
            "side in the stream: how wide is it?", "merged = out.mean(1)"),
    mistake("the largest of the heads", "Of all heads only the largest number was kept, as pooling does. They stand "
            "side by side in the stream: how wide is it?", "merged = out.amax(1)"),
    mistake("heads lost", "Heads are missing in the stream: one is left, or one is lost. Where do the others go?",
            "merged = out[:, 0]", "merged = out[:, -1]", "merged = turned[:, :, 1:].flatten(-2)",
            "merged = turned[:, :, :-1].flatten(-2)"),
    mistake("transposed but not merged", "Heads and positions changed places, but there are still four axes. Which two "
            "become one?", "merged = turned", "merged = turned.mT", "merged = out.mT"),
    mistake("joined along the positions", "The heads were put one after the other along the positions, as if the "
            "sequence were H times longer. Along which axis are they neighbours in the stream?",
            "merged = out.flatten(1, 2)", "merged = turned.flatten(1, 2)"),
    mistake("joined along the batch", "The heads were joined with the sequences, as if there were H times more of "
            "them. Along which axis are they neighbours in the stream?",
            "merged = out.flatten(0, 1)", "merged = torch.cat(out.unbind(1), 0)"),
    mistake("sequences joined", "The sequences of the batch were joined with each other: an axis is gone, or as wide "
            "as the whole batch. The batch stays the first axis; which two axes meet?",
            "merged = turned.flatten(-2).flatten(0, 1)", "merged = torch.cat(out.unbind(0), -1)",
            "merged = torch.cat(out.unbind(0), 1)"),
    mistake("positions joined with the features", "Each head's positions and features became one axis. Which axis of a "
            "head goes into d_model, and which one stays?", "merged = out.flatten(2)", "merged = out.flatten(1)",
            "merged = turned.flatten(1)", "merged = turned.reshape(*out.shape[:2], -1)",
            "merged = turned.reshape(len(out), -1, out.shape[1] * out.shape[2])"),
    mistake("features before positions", "The heads are merged, but the last two axes are swapped: (B, d_model, L). "
            "Which comes last in a stream?", "merged = turned.flatten(-2).mT"),
    mistake("positions as the first axis", "The positions come first and the sequences second. The batch stays the "
            "first axis.", "turned = out.permute(2, 0, 1, 3)"),
    mistake("squeeze takes too many axes", "An axis of size 1 is gone: one sequence, one position or one feature still "
            "has its axis. What removes axes without being asked which?", "merged = turned.flatten(-2).squeeze()",
            *(f"merged = turned.flatten(-2).squeeze({axis})" for axis in (0, 1, -1))),
    mistake("a tuple of heads", "The heads come as separate tensors. One tensor is asked for, with all heads side by "
            "side in its last axis.", "merged = out.unbind(1)"),
)

MIX = (
    mistake("matrices transposed", "A matrix was transposed. Matrices are applied as x @ W here; `nn.Linear` and "
            "`F.linear` keep the transpose. Which one is the wrong way round?", "mixed = merged @ W_o.mT"),
    mistake("no W_o", "The heads were merged, but nothing mixes them: the last step is missing. What does W_o do?",
            "mixed = merged", "mixed = merged * W_o.diagonal()"),
    mistake("heads summed instead of concatenated", "The heads were added up before W_o, so all of them meet the same "
            "rows of it. Each head has rows of its own: how do the heads stand next to each other?",
            "merged = out.sum(1)\nmixed = merged @ W_o[: merged.shape[-1]]"),
    mistake("heads averaged", "The heads were averaged. W_o learns how much each head counts: how do the heads stand "
            "next to each other when they meet it?", "merged = out.mean(1)\nmixed = merged @ W_o[: merged.shape[-1]]"),
    mistake("heads lost", "Not every head has a part in the output. Does the loop, or the slice, reach them all, and "
            "does each add to what was there before?", "merged = out[:, 0]\nmixed = merged @ W_o[: merged.shape[-1]]",
            "merged = out[:, -1]\nmixed = merged @ W_o[: merged.shape[-1]]",
            "merged = torch.cat(out.unbind(1)[:-1], -1)\nmixed = merged @ W_o[: merged.shape[-1]]"),
    mistake("W_o for each head's own channels", "Each head was mixed within its own channels only. W_o mixes all heads "
            "into all channels: which columns does one head write to?",
            "own = torch.arange(len(W_o)) // out.shape[-1]\nmixed = merged @ (W_o * (own == own.unsqueeze(-1)))"),
    mistake("not merged", "What each head adds to the output is there, but not added up: the output still has an axis "
            "for the heads.", f"mixed = {_EACH}", f"mixed = {_EACH}.transpose(1, 2).flatten(-2)", "mixed = out"),
)

AMONG = (
    mistake("softmax over the heads", "For one pair of query and key, the weights of all heads sum to 1. Each head has "
            "1 of its own to give, and gives it to keys: which axis, counted from the end?",
            "weights = torch.softmax(scores, 1)"),
    mistake("softmax over the sequences", "The weights sum to 1 over the sequences of the batch, which have nothing to "
            "do with each other: which axis holds the keys, counted from the end?",
            "weights = torch.softmax(scores, 0)"),
    mistake("one weight table for all heads", "All heads use the same weights. Each head has weights of its own: that "
            "is why there are several.", "out = weights.mean(1, keepdim=True) @ value",
            "weights = torch.softmax(scores, -1)[:, :1]", "weights = torch.softmax(scores.mean(1, keepdim=True), -1)",
            "weights = torch.softmax(scores.sum(1, keepdim=True), -1)"),
)

MASKS = (
    mistake("a head's mask read as a sequence's", "A mask of shape (H, L, S) was given one axis more in the middle, so "
            "it is read as (B, 1, L, S): each sequence got a head's mask. Shapes line up from the right: which axis "
            "of the scores does the first of three meet?",
            "allowed = attn_mask.unsqueeze(1) if attn_mask.dim() == 3 else attn_mask",
            "allowed = attn_mask.unsqueeze(1) if attn_mask.dim() == 3 and len(attn_mask) == len(query) else attn_mask"),
    mistake("a sequence's mask read as a head's", "A mask of shape (B, 1, L, S) lost its axis of size 1, so what is "
            "left is read as (H, L, S): each head got a sequence's mask. What is that axis good for?",
            "allowed = attn_mask.squeeze(1) if attn_mask.dim() == 4 else attn_mask"),
    mistake("the first head's mask for all", "All heads use the mask of the first one. A mask (H, L, S) has one for "
            "each.", "allowed = attn_mask[..., :1, :, :] if attn_mask.dim() > 2 else attn_mask",
            "allowed = attn_mask[:, :1] if attn_mask.dim() == 4 else attn_mask"),
    mistake("the heads' masks merged", "All heads use one mask, made of all of theirs. Each head may see something "
            "else.", "allowed = attn_mask.expand(scaled.shape).any(1, keepdim=True)",
            "allowed = attn_mask.expand(scaled.shape).all(1, keepdim=True)"),
    mistake("masks of another sequence or head", "Sequences and heads were folded into one axis, one way for the "
            "scores and the other way for the mask: pairs got the mask of other pairs. Which of the two runs faster? "
            "`repeat` and `repeat_interleave` differ in just this.",
            "allowed = attn_mask.expand(scaled.shape).transpose(0, 1).reshape(scaled.shape)",
            "allowed = attn_mask.expand(scaled.shape).reshape(num_heads, -1, *scaled.shape[2:]).transpose(0, 1)"),
    mistake(
        "an axis added to every mask",
        "Every mask was given more axes, whatever axes it had. Shapes line up from the right, and the missing axes "
        "on the left are added automatically: which mask needs help?",
        "allowed = attn_mask.unsqueeze(1)",
        "allowed = attn_mask.unsqueeze(1).repeat(1, num_heads, 1, 1)",
        "allowed = attn_mask.unsqueeze(1).expand(-1, num_heads, -1, -1)",
        "allowed = attn_mask.unsqueeze(0)",
        "allowed = attn_mask[None, None]",
        # The course's own merge says by itself that there is an axis too many.
        "allowed = attn_mask.unsqueeze(0)\nmerged = merge_heads(out)",
        "allowed = attn_mask[None, None]\nmerged = merge_heads(out)",
        "allowed = attn_mask.unsqueeze(-2)",
        "allowed = attn_mask.repeat(num_heads, 1, 1)",
    ),
    mistake(
        "the mask indexed by head, whatever its axes",
        "The mask of head h was taken by an index. Only some masks have an axis for the heads, and not always the "
        "first: what lines the others up?",
        *(
            f"size = len(query), *scaled.shape[2:]\n"
            f"allowed = torch.stack([attn_mask[{index}].expand(size) for h in range(num_heads)], 1)"
            for index in ("h", ":, h", "0, h")
        ),
    ),
    mistake("causal in place of the given mask", "If a mask is given, each query sees the keys up to its own position, "
            "whatever the mask says. `is_causal` takes no notice of `attn_mask`.",
            "allowed = torch.ones(scaled.shape[2:], dtype=torch.bool).tril()",
            "allowed = attn_mask & torch.ones(scaled.shape[2:], dtype=torch.bool).tril()"),
    mistake("emptiness asked along the wrong axis", "Rows that may see nothing were looked for along the queries. A "
            "query is empty if no key is left: which axis is that, counted from the end?",
            "scores = scaled.masked_fill(~allowed, -1e9)\n"
            "weights = stable_softmax(scores) * allowed.any(-2, keepdim=True)"),
    mistake(
        "a mask with more than two axes ignored",
        "A mask of shape (L, S) works; one with more axes changes nothing. What is done with it?",
        *(
            f"allowed = attn_mask if attn_mask.dim() {axes} else torch.ones(1, 1, dtype=torch.bool)"
            for axes in ("== 2", "> 2", "!= 3", "!= 4")
        ),
    ),
    mistake("one head masked only", "The mask reaches one head only; the others see everything.",
            "allowed = attn_mask | (torch.arange(num_heads) != 0)[:, None, None]",
            "allowed = attn_mask | (torch.arange(num_heads) != num_heads - 1)[:, None, None]"),
    mistake("a position silenced for one empty head", "A position where one head may see nothing became zero in all of "
            "them: what the other heads found is lost. NaN that W_o spreads and that is replaced afterwards does this "
            "too. Where do the zeros belong?",
            "mixed = merged @ W_o * allowed.expand(scaled.shape).any(-1).all(1).unsqueeze(-1)",
            "weights = torch.softmax(scores, -1)\nmixed = (merged @ W_o).nan_to_num()"),
)


def joined(*groups: tuple[Mistake, ...]) -> tuple[Mistake, ...]:
    """Return all mistakes, those of the same name as one that has the words of the first."""
    found: dict[str, Mistake] = {}
    for one in (one for group in groups for one in group):
        first = found.setdefault(one.name, one)
        if first is not one:
            found[one.name] = replace(first, versions=(*first.versions, *one.versions))
    return tuple(found.values())


def in_its_place(reference: Function, source: str, result: str) -> Law:
    """Return the law that each number comes to its own place, for a reference that only moves those of `source`."""

    def broken(args: tuple[Any, ...], got: Tensor) -> str | None:
        given = args[0]
        numbered = torch.arange(given.numel(), dtype=torch.float64).view(given.shape)
        home = reference(numbered, *args[1:]).long()
        wrong = (got.detach() != given.flatten()[home]).nonzero()
        if not len(wrong):
            return None
        here = tuple(wrong[0].tolist())
        right = [int(i) for i in np.unravel_index(int(home[here]), given.shape)]  # torch's own loads sympy first
        found = (given == got[here]).nonzero()
        if not len(found):
            return f"At {list(here)} of the {result} there is a number that the input does not hold."
        return (
            f"At {list(here)} of the {result} should be the number at {right} of the input; "
            f"it is the one at {found[0].tolist()}."
        )

    return Law(f"each number of `{source}` comes to its own place", broken)
