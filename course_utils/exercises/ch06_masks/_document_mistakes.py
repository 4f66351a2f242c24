"""What goes wrong in the mask for packed documents."""

import torch

from course_utils.attention import document_mask
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch06_masks._document_rules import by, every
from course_utils.exercises.ch06_masks._mask_kinds import wrong_axes, wrong_kinds

RULES = (
    *wrong_kinds(document_mask),
    Misconception(
        "not causal",
        by(torch.eq, every),
        "Each query sees its own document, its future included. Which second condition holds for "
        "every pair?",
    ),
    Misconception(
        "documents ignored",
        by(every),
        "This is the causal mask: a document reads the one before it. Where are the ids compared?",
    ),
    Misconception(
        "`|` for `&`",
        by(torch.eq, join=torch.logical_or),
        "A key is seen because it is in the same document or because it is in the past. Must one "
        "of the two hold, or both?",
    ),
    Misconception(
        "future instead of past",
        by(torch.eq, torch.le),
        "Each query sees its own document from itself on. On which side of the diagonal does a "
        "row's past stand?",
        also=(by(torch.eq, torch.lt),),
    ),
    Misconception(
        "own key hidden",
        by(torch.eq, torch.gt),
        "A query does not see its own key, so the first of a document sees nothing. Which "
        "comparison allows equality?",
    ),
    Misconception(
        "one key of the future seen",
        by(torch.eq, lambda i, j: j <= i + 1),
        "Each query sees the next key of its document, the one to be predicted. Which diagonal is "
        "the last one allowed?",
    ),
    Misconception(
        "other documents seen",
        by(torch.ne),
        "Each query sees the past of every document except its own. Which of `==` and `!=` says "
        "'the same'?",
        also=(by(torch.ne, every),),
    ),
    wrong_axes(
        document_mask,
        "The values are right, but the axes are not (B, 1, L, L). With (B, L, L) a batch lines up "
        "with the heads, silently where there are as many. Where does the new axis go?",
        lambda mask: mask[:, 0],
        lambda mask: mask.movedim(0, 1),
        lambda mask: mask[0, 0],
        lambda mask: mask[0],
        torch.flatten,
    ),
)
