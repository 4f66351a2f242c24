"""Chapter 05: multi-head attention, one exercise a file."""

from course_utils.exercises.ch05_multi_head import (
    ablate_heads,
    merge_heads,
    mha_parameters,
    multi_head_attention,
    split_heads,
)

EXERCISES = (
    split_heads.EXERCISE,
    merge_heads.EXERCISE,
    multi_head_attention.EXERCISE,
    mha_parameters.EXERCISE,
    ablate_heads.EXERCISE,
)
