"""Exercise: the padding mask, from the length of each sequence."""

from typing import Any

import torch

from course_utils.attention import padding_mask
from course_utils.checking.exercise import Case, Exercise
from course_utils.exercises.ch06_masks._mask_kinds import rows_tell
from course_utils.exercises.ch06_masks._padding_mistakes import MISCONCEPTIONS


def _case(name: str, lengths: list[int], num_keys: int) -> Case:
    return Case(name, lambda g: (torch.tensor(lengths, dtype=torch.long), num_keys))


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return torch.tensor([3, 9, 0, 9, 5, 9, 2, 9])[::2], 6


EXERCISE = Exercise(
    name="padding_mask",
    chapter=6,
    signature="padding_mask(lengths, num_keys)",
    asks="Say which keys of each sequence are real: key j where j < lengths[b].",
    reference=padding_mask,
    minutes=6,
    difficulty=1,
    importance=5,
    cases=(
        _case("3 sequences, 5 keys", [3, 5, 2], 5),
        _case("4 sequences, 4 keys", [2, 4, 1, 3], 4),
        _case("5 sequences, 3 keys, not sorted", [2, 3, 1, 1, 3], 3),
        _case("more keys than the longest sequence has", [2, 3], 7),
        _case("a sequence of length 0", [4, 0, 2], 6),
        _case("nothing but padding", [0, 0], 3),
        _case("no padding", [4, 4], 4),
        _case("one sequence", [2], 5),
        _case("one key", [1, 0, 1], 1),
        Case("lengths that do not lie side by side in memory", _strided),
        _case("2 sequences, 300 keys", [299, 256], 300),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(rows_tell("key j is real when j < lengths[b], and no other is", padding_mask),),
    hints=(
        "For a single sequence of length 3 and 5 keys the answer is T T T F F. What is compared "
        "with 3?",
        "`torch.arange(num_keys)` are the places of the keys, (S,). The lengths are (B,). Which of "
        "the two needs a new axis so that a comparison gives (B, S)?",
        "Scores are (B, H, L, S). A padding mask says the same for every head and every query: "
        "two axes of size 1 stand between B and S.",
    ),
)
