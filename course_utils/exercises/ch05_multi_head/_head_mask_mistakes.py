"""What goes wrong with a mask that several heads share, or that each of them has."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention
from course_utils.exercises.ch03_scaled_dot_product._attention import torch_softmax
from course_utils.exercises.ch05_multi_head._multi_head import Shape, build


def _as_sequence(mask: Tensor, shape: Shape) -> Tensor:
    """Read three axes as (B, L, S)."""
    return mask.unsqueeze(1) if mask.dim() == 3 else mask


def _as_sequence_where_it_fits(mask: Tensor, shape: Shape) -> Tensor:
    """Do so only where there are as many sequences as heads."""
    return _as_sequence(mask, shape) if len(mask) == shape[0] else mask


def _as_head(mask: Tensor, shape: Shape) -> Tensor:
    """Drop the axis of size 1 of (B, 1, L, S), so that what is left is read as (H, L, S)."""
    return mask.squeeze(1) if mask.dim() == 4 else mask


def _first_head(mask: Tensor, shape: Shape) -> Tensor:
    return mask[..., :1, :, :] if mask.dim() > 2 else mask


def _over_heads(how: Any) -> Function:
    """Merge the masks of the heads into one."""
    return build(lay=lambda mask, shape: how(mask.expand(shape), 1))


def _folded(mask: Tensor, shape: Shape) -> Tensor:
    """Fold (sequence, head) one way for the scores and the other way for the mask."""
    full = mask.expand(shape)
    return full.transpose(0, 1).reshape(shape)


def _folded_otherwise(mask: Tensor, shape: Shape) -> Tensor:
    """Do so the other way round."""
    return mask.expand(shape).reshape(shape[1], shape[0], *shape[2:]).transpose(0, 1)


def _by_index(pick: Any) -> Function:
    """Take the mask of head h by an index, whatever axes the mask has."""

    def lay(mask: Tensor, shape: Shape) -> Tensor:
        own = [pick(mask, h).expand(shape[0], *shape[2:]) for h in range(shape[1])]
        return torch.stack(own, 1)

    return build(lay=lay)


def _causal(mask: Tensor, shape: Shape) -> Tensor:
    return torch.ones(shape[2:], dtype=torch.bool).tril()


def _two_axes_only(mask: Tensor, shape: Shape) -> Tensor:
    return mask if mask.dim() == 2 else torch.ones((), dtype=torch.bool)


def _one_head_only(index: int) -> Function:
    def lay(mask: Tensor, shape: Shape) -> Tensor:
        full = torch.ones(shape, dtype=torch.bool)
        full[:, index] = mask.expand(shape)[:, index]
        return full

    return build(lay=lay)


def _zero_rows(out: Tensor, query: Tensor, mask: Tensor | None) -> Tensor:
    """Set a position to zero wherever the mask has an empty row, in whichever head."""
    if mask is None:
        return out
    empty = ~mask.any(-1, keepdim=True)
    while empty.dim() < 4:
        empty = empty.unsqueeze(0)
    return out.masked_fill(empty.any(1), 0.0)


_nan = attention(turn=torch_softmax)
_by_columns = attention(
    hide=lambda scores, mask: scores.masked_fill(~mask, -1e9),
    after=lambda weights, mask: weights * mask.any(-2, keepdim=True),
)

HEAD_MASKS = (
    Misconception(
        "a head's mask read as a sequence's",
        build(lay=_as_sequence),
        "A mask of shape (H, L, S) was given one axis more in the middle, so it is read as (B, 1, "
        "L, S): each sequence got a head's mask. Shapes line up from the right: which axis of the "
        "scores does the first of three meet?",
        also=(build(lay=_as_sequence_where_it_fits),),
    ),
    Misconception(
        "a sequence's mask read as a head's",
        build(lay=_as_head),
        "A mask of shape (B, 1, L, S) lost its axis of size 1, so what is left is read as (H, L, "
        "S): each head got a sequence's mask. What is that axis good for?",
    ),
    Misconception(
        "the first head's mask for all",
        build(lay=_first_head),
        "All heads use the mask of the first one. A mask (H, L, S) has one for each.",
        also=(build(lay=lambda mask, shape: mask[:, :1] if mask.dim() == 4 else mask),),
    ),
    Misconception(
        "the heads' masks merged",
        _over_heads(lambda mask, axis: mask.any(axis, keepdim=True)),
        "All heads use one mask, made of all of theirs. Each head may see something else.",
        also=(_over_heads(lambda mask, axis: mask.all(axis, keepdim=True)),),
    ),
    Misconception(
        "masks of another sequence or head",
        build(lay=_folded),
        "Sequences and heads were folded into one axis, one way for the scores and the other way "
        "for the mask: pairs got the mask of other pairs. Which of the two runs faster? `repeat` "
        "and `repeat_interleave` differ in just this.",
        also=(build(lay=_folded_otherwise),),
    ),
    Misconception(
        "an axis added to every mask",
        build(lay=lambda mask, shape: mask.unsqueeze(1)),
        "Every mask was given more axes, whatever axes it had. Shapes line up from the right, and "
        "the missing axes on the left are added by themselves: which mask needs help?",
        also=(
            build(lay=lambda mask, shape: mask.unsqueeze(1).repeat(1, shape[1], 1, 1)),
            build(lay=lambda mask, shape: mask.unsqueeze(1).expand(-1, shape[1], -1, -1)),
            build(lay=lambda mask, shape: mask.unsqueeze(0)),
            build(lay=lambda mask, shape: mask[None, None]),
            build(lay=lambda mask, shape: mask.unsqueeze(-2)),
            build(lay=lambda mask, shape: mask.repeat(shape[1], 1, 1)),
        ),
    ),
    Misconception(
        "the mask indexed by head, whatever its axes",
        _by_index(lambda mask, h: mask[h]),
        "The mask of head h was taken by an index. Only some masks have an axis for the heads, and "
        "not always the first: what lines the others up?",
        also=(_by_index(lambda mask, h: mask[:, h]), _by_index(lambda mask, h: mask[0, h])),
    ),
    Misconception(
        "causal in place of the given mask",
        build(lay=_causal),
        "If a mask is given, each query sees the keys up to its own position, whatever the mask "
        "says. `is_causal` takes no notice of `attn_mask`.",
        also=(build(lay=lambda mask, shape: mask & _causal(mask, shape)),),
    ),
    Misconception(
        "emptiness asked along the wrong axis",
        build(attend=_by_columns),
        "Rows that may see nothing were looked for along the queries. A query is empty if no key "
        "is left: which axis is that, counted from the end?",
    ),
    Misconception(
        "a mask with more than two axes ignored",
        build(lay=_two_axes_only),
        "A mask of shape (L, S) works; one with more axes changes nothing. What is done with it?",
        also=(
            build(lay=lambda m, shape: m if m.dim() > 2 else torch.ones((), dtype=torch.bool)),
            build(lay=lambda m, shape: m if m.dim() != 3 else torch.ones((), dtype=torch.bool)),
            build(lay=lambda m, shape: m if m.dim() != 4 else torch.ones((), dtype=torch.bool)),
        ),
    ),
    Misconception(
        "one head masked only",
        _one_head_only(0),
        "The mask reaches one head only; the others see everything.",
        also=(_one_head_only(-1),),
    ),
    Misconception(
        "a position silenced for one empty head",
        build(finish=_zero_rows),
        "A position where one head may see nothing became zero in all of them: what the other "
        "heads found is lost. NaN that W_o spreads and that is replaced afterwards does this too. "
        "Where do the zeros belong?",
        also=(
            build(attend=_nan, finish=lambda out, query, mask: out.nan_to_num()),
            build(attend=_nan, finish=lambda out, query, mask: out.masked_fill(out.isnan(), 0.0)),
        ),
    ),
)
