"""Chapter 06: masks, one exercise a file."""

from course_utils.exercises.ch06_masks import (
    causal_mask,
    document_mask,
    leaks_future,
    masked_softmax,
    padding_mask,
    prefix_mask,
    window_mask,
)

EXERCISES = (
    causal_mask.EXERCISE,
    padding_mask.EXERCISE,
    window_mask.EXERCISE,
    prefix_mask.EXERCISE,
    document_mask.EXERCISE,
    masked_softmax.EXERCISE,
    leaks_future.EXERCISE,
)
