"""Exercise: cut one fused projection into the queries, keys and values of each head."""

from typing import Any

import torch

from course_utils.attention import split_fused_qkv
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch03_scaled_dot_product._attention_inputs import Make
from course_utils.exercises.ch04_queries_keys_values._split_mistakes import PLACES
from course_utils.exercises.ch04_queries_keys_values._split_shape_mistakes import SHAPES


def _made(batch: int, num_heads: int, length: int, d_k: int, dtype: str = "float64") -> Make:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        width = 3 * num_heads * d_k
        return normal(g, batch, length, width, dtype=getattr(torch, dtype)), num_heads

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    qkv, num_heads = _made(2, 3, 5, 4)(g)
    return strided(qkv), num_heads


def _sliced(g: torch.Generator) -> tuple[Any, ...]:
    qkv, num_heads = _made(4, 2, 6, 5)(g)
    return qkv[::2, 1::2], num_heads


EXERCISE = Exercise(
    name="split_fused_qkv",
    chapter=4,
    signature="split_fused_qkv(qkv, num_heads)",
    asks="Cut q|k|v into query, key and value, each of shape (B, H, L, d_k).",
    reference=split_fused_qkv,
    minutes=12,
    difficulty=3,
    importance=5,
    parts=("query", "key", "value"),
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        Case("3 sequences, 3 heads, 3 positions, width 3", _made(3, 3, 3, 3), gradient="equal"),
        Case("2 sequences, 3 heads, 5 positions, width 4", _made(2, 3, 5, 4), gradient="equal"),
        Case("more heads than positions", _made(3, 5, 2, 4)),
        Case("heads wider than they are many", _made(3, 2, 4, 7)),
        Case("as many sequences as heads", _made(4, 4, 3, 2)),
        Case("as many positions as heads", _made(2, 4, 4, 3)),
        Case("one sequence", _made(1, 2, 3, 5)),
        Case("one head", _made(2, 1, 4, 3)),
        Case("one position", _made(2, 3, 1, 4)),
        Case("heads of width 1", _made(2, 3, 4, 1)),
        Case("one of everything", _made(1, 1, 1, 1)),
        Case("the sizes of BERT-base: 12 heads of width 64", _made(1, 12, 2, 64)),
        Case("an input that does not lie in memory row by row", _strided),
        Case("every other sequence and position of a larger tensor", _sliced),
        Case("float32", _made(2, 3, 4, 2, dtype="float32")),
        Case("bfloat16", _made(3, 2, 4, 5, dtype="bfloat16")),
    ),
    misconceptions=(*PLACES, *SHAPES),
    hints=(
        "Two cuts and one swap. Along which axis do both cuts go, and which comes first?",
        "The last axis holds three blocks of d_model numbers: all queries, all keys, all values. "
        "`chunk` cuts it into three.",
        "In each block head 0 has the first d_k numbers, head 1 the next. Which two sizes replace "
        "d_model, in which order (`view` or `unflatten`)?",
        "Now each has the axes (B, L, H, d_k). Only swapping two of them gives (B, H, L, d_k): "
        "`view` would cut memory anew.",
    ),
)
