"""What goes wrong when query heads share heads of keys and values."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._grouped import build, by_index, right

_modulo = by_index(lambda h, heads, shared: h % shared)


def _by_other_size(h: Tensor, heads: int, shared: int) -> Tensor:
    return torch.div(h, shared, rounding_mode="floor")


def _pooled(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Any:
    group = query.shape[1] // key.shape[1]
    pooled = query.unflatten(1, (-1, group)).mean(2, keepdim=True).expand(-1, -1, group, -1, -1)
    return build()(pooled.flatten(1, 2), key, value, attn_mask)


def _across(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Any:
    """Let each group of queries share one softmax."""
    group, d_k = query.shape[1] // key.shape[1], query.shape[-1]
    scores = (query @ right(key, query.shape[1]).mT) / d_k**0.5
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    together = scores.unflatten(1, (-1, group)).transpose(2, 3).flatten(3)
    weights = together.softmax(-1).nan_to_num().unflatten(-1, (group, -1)).transpose(2, 3)
    return weights.flatten(1, 2) @ right(value, query.shape[1])


def _mixed_rows(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Any:
    """Reshape the queries of a group as if positions came before heads."""
    batch, heads, length, d_k = query.shape
    shape = (batch, key.shape[1], -1, d_k)
    if attn_mask is not None:
        full = attn_mask.expand(batch, heads, length, key.shape[2])
        attn_mask = full.reshape(batch, key.shape[1], -1, key.shape[2])
    mixed = query.transpose(1, 2).reshape(shape)
    out = scaled_dot_product_attention(mixed, key, value, attn_mask)
    return out.reshape(batch, heads, length, value.shape[-1])


def _first_of_group(mask: Tensor, heads: int, shared: int) -> Tensor:
    if mask.dim() < 3 or mask.shape[-3] == 1:
        return mask
    return mask[..., :: heads // shared, :, :].repeat_interleave(heads // shared, -3)


def _mask_by_modulo(mask: Tensor, heads: int, shared: int) -> Any:
    if mask.dim() < 3 or mask.shape[-3] == 1:
        return mask
    return mask.unflatten(-3, (-1, shared)).transpose(-4, -3).flatten(-4, -3)


def _shared_masks(mask: Tensor, heads: int, shared: int) -> Tensor:
    if mask.dim() < 3 or mask.shape[-3] == 1:
        return mask
    return mask[..., :shared, :, :].repeat_interleave(heads // shared, -3)


def _regrouped(out: Tensor, shared: int) -> Any:
    return out.unflatten(1, (shared, -1)).transpose(1, 2).flatten(1, 2)


SHARING = (
    Misconception(
        "heads grouped by modulo, as `repeat` does",
        build(_modulo),
        "Query head h reads the key head h mod H_kv, as `repeat` lays copies one after another: "
        "0, 1, 0, 1. Heads of a group stand side by side: 0, 0, 1, 1. Which arithmetic gives that?",
        also=(
            lambda q, k, v, m=None: build(lambda x, heads: x.repeat(1, heads // x.shape[1], 1, 1))(
                q, k, v, m
            ),
        ),
    ),
    Misconception(
        "values grouped otherwise than keys",
        build(values=_modulo),
        "A query head compares itself with one key head and takes the values of another. Which "
        "two belong together?",
        also=(
            build(keys=_modulo, values=right),
            build(values=by_index(lambda h, heads, shared: 0 * h)),
            build(keys=by_index(lambda h, heads, shared: 0 * h), values=right),
        ),
    ),
    Misconception(
        "one head for all",
        build(by_index(lambda h, heads, shared: 0 * h)),
        "Every query head reads the same head of keys and values: that is multi-query attention. "
        "Here there are H_kv of them: which one does head h read?",
        also=(
            build(by_index(lambda h, heads, shared: 0 * h + shared - 1)),
            build(lambda x, heads: x[:, :1]),
        ),
    ),
    Misconception(
        "shared heads averaged",
        build(lambda x, heads: x.mean(1, keepdim=True)),
        "The heads of keys and values were averaged into one. Each group keeps a head of its own: "
        "what does head h read?",
        also=(build(lambda x, heads: x.sum(1, keepdim=True)),),
    ),
    Misconception(
        "divided by the number of shared heads",
        build(by_index(_by_other_size)),
        "Query head h reads head h // H_kv. H_kv is the number of groups: how many heads are in "
        "one of them?",
        also=(build(by_index(lambda h, heads, shared: _by_other_size(h, heads, shared) % shared)),),
    ),
    Misconception(
        "groups counted from the last head",
        build(by_index(lambda h, heads, shared: shared - 1 - h // (heads // shared))),
        "The first query heads read the last head of keys and values. Which group is head 0 in?",
    ),
    Misconception(
        "groups moved by one head",
        build(by_index(lambda h, heads, shared: (h + 1) // (heads // shared))),
        "The groups begin one head too early or too late. For H = 6 and H_kv = 2, which heads are "
        "in the first group?",
        also=(
            build(by_index(lambda h, heads, shared: (h - 1).clamp(min=0) // (heads // shared))),
            build(by_index(lambda h, heads, shared: ((h + 1) // (heads // shared)) % shared)),
        ),
    ),
    Misconception(
        "only the first heads grouped",
        build(by_index(lambda h, heads, shared: h)),
        "The first query heads read a head each, and all others the last one. The heads are shared "
        "out evenly: how many query heads does each serve?",
    ),
    Misconception(
        "queries of a group averaged",
        _pooled,
        "All query heads of a group give the same. They share keys and values, but each asks its "
        "own question: what was averaged?",
    ),
    Misconception(
        "one softmax for a group",
        _across,
        "The query heads of a group share 1 out among themselves. They became rows of one table: "
        "each row is still a query of its own. Over what must it sum to 1?",
    ),
    Misconception(
        "heads and positions mixed",
        _mixed_rows,
        "Queries of other heads and positions stand where these should: axes were cut anew instead "
        "of cut in their order. Which two axes lie side by side when a group's rows are joined?",
    ),
    Misconception(
        "output heads in another order",
        build(finish=_regrouped),
        "The right heads come out at the wrong places: group and place in the group are "
        "exchanged. Which of them changes faster as h counts up?",
        also=(build(finish=lambda out, shared: out.flip(1)),),
    ),
    Misconception(
        "output with another shape",
        build(finish=lambda out, shared: out.unflatten(1, (shared, -1))),
        "The values are right, but the output must have the axes (B, H, L, d_v). Which axes are "
        "still to be joined, or joined too much?",
        also=(
            build(finish=lambda out, shared: out.unflatten(1, (shared, -1)).flatten(2, 3)),
            build(finish=lambda out, shared: out.transpose(1, 2)),
            build(finish=lambda out, shared: out.transpose(1, 2).flatten(2)),
        ),
    ),
    Misconception(
        "the mask of one head for its group",
        build(lay=_first_of_group),
        "All query heads of a group use the mask of the first of them. Keys are shared, masks are "
        "not: the mask has an axis for H heads.",
    ),
    Misconception(
        "masks in another order than heads",
        build(lay=_mask_by_modulo),
        "A query head got another head's mask: the heads of the mask were grouped by modulo. How "
        "is the mask of head h found, if the heads are?",
        also=(build(lay=_shared_masks),),
    ),
)
