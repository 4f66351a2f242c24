"""Exercise: the mask for documents packed into one sequence."""

from typing import Any

import torch

from course_utils.attention import document_mask
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import strided
from course_utils.exercises.ch06_masks._document_id_mistakes import IDS
from course_utils.exercises.ch06_masks._document_mistakes import RULES
from course_utils.exercises.ch06_masks._mask_kinds import rows_tell


def _case(name: str, *rows: list[int]) -> Case:
    return Case(name, lambda g: (torch.tensor(rows, dtype=torch.long),))


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return (strided(torch.randint(-2, 3, (3, 8), generator=g)),)


def _long(g: torch.Generator) -> tuple[Any, ...]:
    return (torch.randint(0, 6, (2, 40), generator=g),)


EXERCISE = Exercise(
    name="document_mask",
    chapter=6,
    signature="document_mask(document_ids)",
    asks="Let each query see the past of its own document, and nothing of any other.",
    reference=document_mask,
    minutes=10,
    difficulty=2,
    importance=4,
    cases=(
        _case("two documents in one sequence", [1, 1, 1, 2, 2]),
        _case("2 sequences with other documents", [1, 1, 2, 2, 2, 3], [4, 5, 5, 5, 6, 6]),
        _case("4 sequences of 4 positions", [2, 2, 2, 7], [3, 3, 4, 4], [6, 7, 8, 9], [5] * 4),
        _case("numbers neither in order nor without gaps", [7, 7, 3, 3, 12, 5], [9, 2, 2, 8, 8, 1]),
        _case("the number 0", [0, 0, 1, 1, 2], [3, 3, 0, 0, 0], [4, 0, 0, 4, 4]),
        _case("negative numbers", [-1, -1, 4, 4, -7], [5, -100, -100, -3, -3], [1, -1, 2, -2, 2]),
        _case("a document that returns later", [1, 1, 2, 1, 2, 1, 3], [4, 5, 4, 4, 5, 6, 4]),
        _case("very large numbers", [2**53, 2**53, 2**53 + 1, 2**53 + 1, 2**60]),
        _case("one document", [3, 3, 3, 3]),
        _case("every position its own document", [4, 2, 3, 1], [1, 2, 3, 4]),
        _case("sequences of one position", [2], [2], [5]),
        Case("ids that do not lie in memory row by row", _strided),
        Case("2 sequences of 40 positions, six documents mixed", _long),
    ),
    misconceptions=(*RULES, *IDS),
    properties=(
        rows_tell(
            "query i sees the keys j <= i whose id equals its own, and no other", document_mask
        ),
    ),
    hints=(
        "Two questions for each pair: does it belong to the same document, and is the key no later "
        "than the query? Answer them one by one.",
        "To compare every id of a sequence with every other, let the ids stand once as a column "
        "and once as a row. Which two new axes do that to (B, L)?",
        "The causal mask is (L, L) and broadcasts over the batch. Both must hold: which operator? "
        "Last comes an axis of size 1 for the heads: (B, 1, L, L).",
    ),
)
