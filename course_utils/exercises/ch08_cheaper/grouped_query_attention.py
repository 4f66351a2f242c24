"""Exercise: query heads that share heads of keys and values, which are never copied."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from course_utils.attention import grouped_query_attention
from course_utils.checking.exercise import Case, Cost, Exercise
from course_utils.checking.inputs import normal, strided, visible
from course_utils.exercises.ch08_cheaper._averages import IS_AVERAGE
from course_utils.exercises.ch08_cheaper._counting import largest_above
from course_utils.exercises.ch08_cheaper._grouped_way_mistakes import (
    GQA_FLAG,
    MISCONCEPTIONS,
    REPEATED,
)

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    heads: tuple[int, int],
    sizes: tuple[int, int, int, int, int] = (2, 4, 5, 7, 3),
    mask: tuple[int, ...] = (),
    size: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> Make:
    """Make (H, H_kv) heads of the sizes (B, L, S, d_k, d_v), and a mask of a shape if asked for."""
    batch, length, num_keys, d_k, d_v = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, batch, heads[0], length, d_k, size=size, dtype=dtype)
        key = normal(g, batch, heads[1], num_keys, d_k, size=size, dtype=dtype)
        value = normal(g, batch, heads[1], num_keys, d_v, dtype=dtype)
        return (query, key, value, visible(g, *mask)) if mask else (query, key, value)

    return make


def _empty_row(g: torch.Generator) -> tuple[Any, ...]:
    *given, mask = _made((6, 2), mask=(2, 6, 4, 5))(g)
    mask[1, 4, 2] = False
    mask[0, 1, 3] = False
    return (*given, mask)


def _against_the_mask(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value = _made((4, 2), (2, 3, 6, 4, 5))(g)
    mask = torch.tensor([True, False, True, True, False, False])
    key = key + torch.where(mask, -1e4, 1e4).double().unsqueeze(-1)
    return query.abs() + 1.0, key, value, mask.expand(3, 6).clone()


def _strided(g: torch.Generator) -> tuple[Tensor, ...]:
    query, key, value = _made((6, 3), (3, 5, 4, 6, 2))(g)
    return query.transpose(1, 2).contiguous().transpose(1, 2), strided(key), strided(value)


class _Flag(TorchFunctionMode):
    """Notes whether torch's attention was asked to share heads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        self.seen = self.seen or bool((kwargs or {}).get("enable_gqa"))
        return func(*args, **(kwargs or {}))


def _flag_used(fn: Callable[..., Any], *args: Any) -> bool:
    with _Flag() as mode:
        fn(*args)
        fn(*args[:3])
    return bool(mode.seen)


def _decoding(heads: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made((heads, 2), (2, 2, 32, 64, 64), mask=(2, 32), dtype=torch.float32)(g)


def _largest(fn: Callable[..., Any], *args: Any) -> int:
    """Count the largest tensor with the mask and without it."""
    return max(_above_copies(fn, *args), _above_copies(fn, *args[:3]))


# Keys and values side by side are one copy of each, whatever the number of queries.
_above_copies = largest_above(lambda query, key, *rest: 2 * int(key.numel()))


EXERCISE = Exercise(
    name="grouped_query_attention",
    chapter=8,
    signature="grouped_query_attention(query, key, value, attn_mask=None)",
    asks="Attend with H query heads to H_kv heads of keys and values, without copying those.",
    reference=grouped_query_attention,
    minutes=20,
    difficulty=4,
    importance=5,
    cases=(
        Case("6 query heads, 2 of keys and values", _made((6, 2)), gradient="equal"),
        Case("6 query heads, 3 of keys and values", _made((6, 3), (3, 5, 2, 4, 6))),
        Case("8 query heads, 2 of keys and values", _made((8, 2), (2, 3, 6, 5, 4))),
        Case("one head of keys and values: multi-query", _made((4, 1), (2, 3, 5, 6, 7))),
        Case("as many heads of keys and values as of queries", _made((3, 3), (2, 5, 4, 6, 7))),
        Case("4 queries, 4 keys, all widths 4", _made((4, 2), (4, 4, 4, 4, 4))),
        Case("scores of thousands", _made((4, 2), (2, 3, 6, 9, 4), size=60.0)),
        Case("one query, as in decoding", _made((6, 2), (3, 1, 7, 4, 5))),
        Case("a mask of shape (4, 5) for all", _made((6, 2), mask=(4, 5)), gradient="equal"),
        Case("a mask of shape (2, 1, 1, 5), one a sequence", _made((6, 2), mask=(2, 1, 1, 5))),
        Case("a mask of shape (6, 4, 5), one a head", _made((6, 2), mask=(6, 4, 5))),
        Case("a mask of shape (2, 6, 4, 5)", _made((6, 3), mask=(2, 6, 4, 5)), gradient="equal"),
        Case("hidden keys with by far the best scores", _against_the_mask),
        Case("queries that may see nothing", _empty_row, gradient="equal"),
        Case("one of everything", _made((1, 1), (1, 1, 1, 3, 2))),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made((6, 2), dtype=torch.float32), tolerance=1e-4),
        Case("bfloat16, with a mask", _made((6, 2), mask=(4, 5), dtype=torch.bfloat16)),
        Case(
            "whether `enable_gqa` was used",
            _made((6, 2), mask=(6, 4, 5)),
            run=_flag_used,
            says=GQA_FLAG.says,
        ),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(IS_AVERAGE,),
    costs=(
        Cost(
            "the largest tensor",
            _largest,
            (4, 32),
            _decoding,
            0.3,
            REPEATED.says,
            REPEATED,
        ),
    ),
    hints=(
        "For H = 6 and H_kv = 2, write down which head of keys each of the six query heads reads. "
        "Those that read the same one stand side by side.",
        "A copy of the keys for every query head gives the right values and saves nothing. The "
        "queries are the small ones: what if they are rearranged to fit the keys?",
        "`unflatten(1, (H_kv, H // H_kv))` splits the heads of the query into groups. The queries "
        "of a group, all their positions too, can stand as rows of one longer table.",
        "A product that broadcasts copies what it broadcasts. With queries (B, H_kv, rows, d_k) "
        "and keys (B, H_kv, S, d_k) there is nothing left to broadcast.",
        "The mask belongs to the H query heads: broadcast it to (B, H, L, S) and group it as the "
        "queries. At the end, ungroup the output.",
    ),
)
