"""Chapter 02: additive and multiplicative attention, one exercise a file."""

from course_utils.exercises.ch02_additive_multiplicative import (
    additive_flops,
    additive_score,
    attend,
    concat_score,
    dot_score,
    general_score,
    local_predictive_weights,
)

EXERCISES = (
    additive_score.EXERCISE,
    dot_score.EXERCISE,
    general_score.EXERCISE,
    concat_score.EXERCISE,
    attend.EXERCISE,
    local_predictive_weights.EXERCISE,
    additive_flops.EXERCISE,
)
