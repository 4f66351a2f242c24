"""Chapter 07: positional encodings, one exercise a file."""

from course_utils.exercises.ch07_positions import (
    alibi_bias,
    alibi_slopes,
    interpolate_positions,
    is_permutation_equivariant,
    rope_interleaved,
    rope_interleaved_attention,
    rope_split_halves,
    shaw_scores,
    shift_matrix,
    sinusoidal_encoding,
    t5_bucket,
)

EXERCISES = (
    is_permutation_equivariant.EXERCISE,
    sinusoidal_encoding.EXERCISE,
    shift_matrix.EXERCISE,
    shaw_scores.EXERCISE,
    t5_bucket.EXERCISE,
    rope_interleaved.EXERCISE,
    rope_split_halves.EXERCISE,
    rope_interleaved_attention.EXERCISE,
    alibi_slopes.EXERCISE,
    alibi_bias.EXERCISE,
    interpolate_positions.EXERCISE,
)
