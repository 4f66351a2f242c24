"""Chapter 09: flash attention, one exercise a file."""

from course_utils.exercises.ch09_flash import (
    flash_forward_tile,
    hbm_traffic,
    merge_partials,
    online_softmax_step,
    tiled_attention,
    tiled_attention_backward,
)

EXERCISES = (
    online_softmax_step.EXERCISE,
    merge_partials.EXERCISE,
    tiled_attention.EXERCISE,
    tiled_attention_backward.EXERCISE,
    hbm_traffic.EXERCISE,
    flash_forward_tile.EXERCISE,
)
