"""Chapter 01: the bottleneck, one exercise a file."""

from course_utils.exercises.ch01_bottleneck import context_vector, encode, exact_match, rnn_step

EXERCISES = (
    rnn_step.EXERCISE,
    encode.EXERCISE,
    context_vector.EXERCISE,
    exact_match.EXERCISE,
)
