"""Chapter 10: the KV cache, one exercise a file."""

from course_utils.exercises.ch10_kv_cache import (
    append_kv,
    cache_fits,
    decode_step,
    greedy_decode,
    paged_gather,
    quantize_kv,
    rolling_cache_positions,
)

EXERCISES = (
    append_kv.EXERCISE,
    decode_step.EXERCISE,
    greedy_decode.EXERCISE,
    rolling_cache_positions.EXERCISE,
    paged_gather.EXERCISE,
    quantize_kv.EXERCISE,
    cache_fits.EXERCISE,
)
