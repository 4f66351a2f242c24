"""Chapter 08: cheaper attention, one exercise a file."""

from course_utils.exercises.ch08_cheaper import (
    causal_linear_attention,
    cross_covariance_attention,
    fixed_mask,
    grouped_query_attention,
    kv_cache_bytes,
    linear_attention,
    linformer_attention,
    lsh_buckets,
    positive_random_features,
    sliding_window_attention,
    strided_mask,
)

EXERCISES = (
    grouped_query_attention.EXERCISE,
    kv_cache_bytes.EXERCISE,
    sliding_window_attention.EXERCISE,
    strided_mask.EXERCISE,
    fixed_mask.EXERCISE,
    linear_attention.EXERCISE,
    causal_linear_attention.EXERCISE,
    linformer_attention.EXERCISE,
    lsh_buckets.EXERCISE,
    cross_covariance_attention.EXERCISE,
    positive_random_features.EXERCISE,
)
