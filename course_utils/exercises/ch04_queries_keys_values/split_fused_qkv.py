"""Exercise: cut one fused projection into the queries, keys and values of each head."""

from collections.abc import Callable
from typing import Any

import torch
from course_utils.attention import split_fused_qkv
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import mistake, saying
from course_utils.exercises.shared.kinds import cut_off, other_parts, overwritten, squeezed, writing
from torch import Tensor

RIGHT = """
def split_fused_qkv(qkv, num_heads):
    batch, length, width = qkv.shape
    d_k = width // 3 // num_heads
    thirds = qkv.chunk(3, dim=-1)
    cut = [third.reshape(batch, length, num_heads, d_k) for third in thirds]
    heads = [part.transpose(1, 2) for part in cut]
    query, key, value = heads
    return query, key, value
"""


def _sources(args: tuple[Any, ...], got: Any) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return the sequence, position and feature that each number of each part was in the fused tensor.

    The list is empty where some number is not in it, or where two of its numbers are the same.
    """
    qkv, found = args[0], []
    numbers, order = qkv.detach().flatten().sort()
    if numbers.unique().numel() < numbers.numel():
        return []
    for part in got:
        place = torch.searchsorted(numbers, part.detach().contiguous()).clamp(max=len(numbers) - 1)
        if not bool((numbers[place] == part.detach()).all()):
            return []
        row, feature = order[place] // qkv.shape[2], order[place] % qkv.shape[2]
        found.append((row // qkv.shape[1], row % qkv.shape[1], feature))
    return found


def _axis(size: int, axis: int) -> Tensor:
    shape = [1, 1, 1, 1]
    shape[axis] = size
    return torch.arange(size).view(shape)


def _misplaced(by: Callable[..., Tensor]) -> Callable[[tuple[Any, ...], Any], bool]:
    """Return whether some number is not where it should be.

    Args:
        by: Marks them in a part, given d_k, the number of heads, the number of the part and the three sources.
    """

    def matches(args: tuple[Any, ...], got: Any) -> bool:
        num_heads = args[1]
        d_k = args[0].shape[-1] // 3 // num_heads
        return any(bool(by(d_k, num_heads, i, *each).any()) for i, each in enumerate(_sources(args, got)))

    return matches


_of_another_third = _misplaced(lambda d, H, i, row, position, f: f // (d * H) != i)
_of_another_head = _misplaced(lambda d, H, i, row, position, f: f % (d * H) // d != _axis(H, 1))


def _whole_thirds(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether each result is one whole third, cut as it should be, but not each its own."""
    num_heads, width = args[1], args[0].shape[-1] // 3
    d_k, places = width // num_heads, _sources(args, got)
    own = _axis(num_heads, 1) * d_k + _axis(d_k, 3)
    cut = (bool((f % width == own).all()) and (f // width).unique().numel() == 1 for _, _, f in places if f.numel())
    return bool(places) and all(cut) and _of_another_third(args, got)


def _whole_heads(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether each head is a whole one of its own third, but some are not in their places."""
    d_k = args[0].shape[-1] // 3 // args[1]
    whole = (bool((f // d_k == f[..., :1] // d_k).all()) for _, _, f in _sources(args, got))
    return d_k > 1 and all(whole) and _of_another_head(args, got)


def _sliced(g: torch.Generator) -> tuple[Any, ...]:
    return normal(g, 4, 6, 30)[::2, 1::2], 2


def _heads(*forms: str) -> tuple[str, ...]:
    """Return versions that make something else of each `part`, which is (B, L, H, d_k)."""
    return tuple(f"heads = [{form} for part in cut]" for form in forms)


def _swapped(*forms: str) -> tuple[str, ...]:
    """Return versions that make something else of each `part`, which is (B, H, L, d_k) already."""
    return _heads(*(form.replace("part", "part.transpose(1, 2)") for form in forms))


PLACES = (
    mistake("the sequences of the batch mixed", "A result holds numbers of another sequence of the batch. `view` and "
            "`reshape` count through memory and know no axes: which axes may be cut, and in which order are they in "
            "memory?", "heads = qkv.reshape(3, batch, num_heads, length, d_k)",
            matches=_misplaced(lambda d, H, i, row, position, f: row != _axis(len(row), 0))),
    mistake("cut without a transpose", "A head holds numbers of several positions. `view` or `reshape` to (B, H, L, "
            "d_k) only renames places in memory. In which order are a position's numbers there, and what moves an "
            "axis?", "heads = [third.reshape(batch, num_heads, length, d_k) for third in thirds]",
            matches=_misplaced(lambda d, H, i, row, position, f: position != _axis(position.shape[2], 2))),
    mistake("another order than q|k|v", "Each result is a whole third, but not its own. In which order are queries, "
            "keys and values along the last axis?", "return key, query, value", matches=_whole_thirds),
    mistake("interleaved heads in the fused split", "The layout was read as head by head, each with its own q|k|v, as "
            "some models store it. Here all queries of all heads come first. Which is cut first: thirds or heads?",
            "heads = qkv.reshape(batch, length, num_heads, 3, d_k).permute(3, 0, 2, 1, 4)"),
    mistake("query, key and value mixed", "A result holds numbers of more than one third. Where along the last axis do "
            "the queries of all heads end, and the keys begin?",
            "thirds = [qkv[..., i::3] for i in range(3)]", matches=_of_another_third),
    mistake("heads in the wrong order", "Each head is whole, but is in another's place. The first head has the first "
            "features of its third: what moved it?", *_heads("part.transpose(1, 2).flip(1)"), matches=_whole_heads),
    mistake("heads interleaved", "A head holds features that are not neighbours: they were dealt out like cards. A "
            "head's features are neighbours: which of the two new axes comes first?",
            "heads = [third.unflatten(-1, (-1, num_heads)).movedim(-1, 1) for third in thirds]",
            matches=_of_another_head),
    mistake("features in the wrong order", "Each head has its own numbers, but not in their order. Only cut and move "
            "axes: nothing within a head is rearranged.", *_heads("part.transpose(1, 2).flip(-1)"),
            matches=_misplaced(lambda d, H, i, row, position, f: f % d != _axis(d, 3))),
    mistake("the numbers changed", "The results hold numbers that are not in the input. Splitting computes nothing: "
            "where does something scale, add or round?", "return query / d_k**0.5, key, value",
            *_heads("part.transpose(1, 2) / d_k**0.5"),
            matches=lambda args, got: args[0].dtype == torch.float64 and not _sources(args, got)),
)

SHAPES = (
    mistake("heads left behind the positions", "The heads are cut, but the axis of the positions still comes before "
            "theirs: (B, L, H, d_k). Which two axes should swap, so that each head has a table of its own?",
            "heads = cut", "return query.transpose(1, 2), key, value", "return query, key.transpose(1, 2), value",
            "return query, key, value.transpose(1, 2)"),
    mistake("other axes swapped", "The axes are in another order than (B, H, L, d_k). Name the axes after each step: "
            "which two should swap?", *_swapped("part.transpose(0, 1)", "part.mT"),
            *_swapped(*(f"part.permute({order})" for order in ("0, 2, 3, 1", "0, 3, 1, 2", "0, 3, 2, 1"))),
            *_swapped(*(f"part.permute({order})" for order in ("2, 0, 1, 3", "1, 2, 0, 3", "2, 1, 0, 3")))),
    mistake("key transposed already", "The key came back as (B, H, d_k, L). The scores transpose it when they need it; "
            "here all three have the same shape.", "return query, key.mT, value"),
    mistake("num_heads taken for the width of a head", "There are d_k heads of width num_heads: the two new sizes "
            "changed places. Which of them is the argument?",
            "cut = [third.reshape(batch, length, d_k, num_heads) for third in thirds]"),
    mistake("no heads made", "The three thirds came back whole. How does an axis of d_model become two, one for the "
            "heads?", "heads = thirds", "heads = [third.unsqueeze(1) for third in thirds]",
            "heads = [third.unsqueeze(1).repeat(1, num_heads, 1, 1) for third in thirds]",
            "heads = [third.unsqueeze(1) / num_heads for third in thirds]"),
    mistake("pieces as wide as one head", "The pieces are d_k wide, so only the first heads' queries are used. How "
            "wide are the queries of all heads together?",
            "heads = [piece.unsqueeze(1) for piece in qkv.split(d_k, -1)[:3]]",
            "heads = [piece.unsqueeze(1).expand(-1, num_heads, -1, -1) for piece in qkv.split(d_k, -1)[:3]]"),
    mistake(
        "a fixed number of heads",
        "The number of heads, or their width, does not follow the arguments. Which size was written as a number?",
        *(f"cut = [third.reshape(batch, length, {n}, width // 3 // {n}) for third in thirds]" for n in (3, 2, 8, 12)),
        "cut = [third.reshape(batch, length, num_heads, 64) for third in thirds]",
    ),
    *saying((squeezed("return query{}, key{}, value{}"),), {
        "squeeze takes too many axes": "With one sequence, one head, one position or a width of 1 an axis is lost: "
            "`squeeze()` without a number removes every axis of size 1.",
    }),
    mistake("heads folded into the batch", "Batch and heads came back in one axis, as `bmm` wants them. Here both keep "
            "an axis of their own.", *_swapped("part.flatten(0, 1)")),
    mistake("stacked into one tensor", "The three came back as one tensor. Which method takes it apart along its first "
            "axis?", "return torch.stack([query, key, value])", "return torch.stack([query, key, value], 2)"),
    mistake("another axis cut into thirds", "The positions were cut into thirds, not the features. Along which axis do "
            "q, k and v stand beside each other?",
            "heads = [part.unflatten(-1, (num_heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=1)]"),
    mistake("not cut into thirds", "Each result holds query, key and value together: it is three times as wide as it "
            "should be. What is cut first?", "heads = [qkv.unflatten(-1, (num_heads, -1)).transpose(1, 2)] * 3"),
    mistake("one of the three missing", "Two results came back, or one. Query, key and value are asked for.",
            "return query, key", "return query", "return key, value"),
    cut_off("return query.detach(), key.detach(), value.detach()", *_swapped("part.detach().clone()"),
            *(f"return {', '.join(one + '.detach()' if one == cut else one for one in ('query', 'key', 'value'))}"
              for cut in ("query", "key", "value"))),
    overwritten(*writing(split_fused_qkv, 0)),
    *other_parts("query", "key", "value"),
)


def _sized(batch: int, num_heads: int, length: int, d_k: int, dtype: str = "float64", strided: bool = False) -> Any:
    return {
        "batch": (batch,),
        "L": length,
        "three_d_model": 3 * num_heads * d_k,
        "num_heads": num_heads,
        "dtype": dtype,
        "strided": strided,
    }


EXERCISE = exercise(
    split_fused_qkv,
    right=RIGHT,
    asks="Cut q|k|v into query, key and value, each of shape (B, H, L, d_k).",
    minutes=12,
    difficulty=3,
    importance=5,
    parts=("query", "key", "value"),
    cases=(
        # All sizes are equal: a mistake with axes gives numbers here, and can be named by them.
        case("3 sequences, 3 heads, 3 positions, width 3", gradient="equal", **_sized(3, 3, 3, 3)),
        case("2 sequences, 3 heads, 5 positions, width 4", gradient="equal", **_sized(2, 3, 5, 4)),
        case("more heads than positions", **_sized(3, 5, 2, 4)),
        case("more features per head than heads", **_sized(3, 2, 4, 7)),
        case("as many sequences as heads", **_sized(4, 4, 3, 2)),
        case("as many positions as heads", **_sized(2, 4, 4, 3)),
        case("one sequence", **_sized(1, 2, 3, 5)),
        case("one head", **_sized(2, 1, 4, 3)),
        case("one position", **_sized(2, 3, 1, 4)),
        case("heads of width 1", **_sized(2, 3, 4, 1)),
        case("one of everything", **_sized(1, 1, 1, 1)),
        case("the sizes of BERT-base: 12 heads of width 64", **_sized(1, 12, 2, 64)),
        case("non-contiguous input", **_sized(2, 3, 5, 4, strided=True)),
        case("every other sequence and position of a larger tensor", _sliced),
        case("float32", **_sized(2, 3, 4, 2, dtype="float32")),
        case("bfloat16", **_sized(3, 2, 4, 5, dtype="bfloat16")),
    ),
    mistakes=(*PLACES, *SHAPES),
    hints=(
        "Two cuts and one swap. Along which axis do both cuts go, and which comes first?",
        "The last axis holds three blocks of d_model numbers: all queries, all keys, all values. `chunk` cuts it into "
        "three.",
        "In each block head 0 has the first d_k numbers, head 1 the next. Which two sizes replace d_model, in which "
        "order (`view` or `unflatten`)?",
        "Now each has the axes (B, L, H, d_k). Only swapping two of them gives (B, H, L, d_k): `view` would cut memory "
        "anew.",
    ),
)
