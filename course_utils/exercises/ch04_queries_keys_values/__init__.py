"""Chapter 04: queries, keys and values, one exercise a file."""

from course_utils.exercises.ch04_queries_keys_values import (
    cross_attention,
    matmul_intensity,
    project_qkv,
    qkv_parameters,
    soft_lookup,
    split_fused_qkv,
)

EXERCISES = (
    soft_lookup.EXERCISE,
    project_qkv.EXERCISE,
    split_fused_qkv.EXERCISE,
    cross_attention.EXERCISE,
    qkv_parameters.EXERCISE,
    matmul_intensity.EXERCISE,
)
