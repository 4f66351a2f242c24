"""Right answers to the exercises of chapter 09 in other styles: what is moved."""

import math

from tests.exercises.right_ways_ch09_backward import RIGHT_WAYS_BACKWARD
from tests.exercises.right_ways_ch09_kernel import RIGHT_WAYS_CH09_KERNEL
from tests.exercises.right_ways_ch09_online import RIGHT_WAYS_ONLINE
from tests.exercises.right_ways_ch09_tiled import RIGHT_WAYS_TILED

# hbm_traffic


def traffic_by_ceil(num_tokens, d, sram_elements):
    width = math.ceil(sram_elements / (4 * d))
    blocks = math.ceil(num_tokens / width)
    standard = 4 * num_tokens * d + 4 * num_tokens * num_tokens
    return standard, 2 * num_tokens * d + blocks * (3 * num_tokens * d + 4 * num_tokens)


def traffic_with_divmod(n, d, m):
    b = (m + 4 * d - 1) // (4 * d)
    t, rest = divmod(n, b)
    t += rest > 0
    return [4 * n * (d + n), n * (2 * d + t * (3 * d + 4))]


def traffic_block_by_block(n, d, m):
    width = -(-m // (4 * d))
    flash = 0
    for start in range(0, n, width):
        flash += 2 * (min(start + width, n) - start) * d + 3 * n * d + 4 * n
    return sum((3 * n * d, n * n, n * n, n * n, n * n, n * d)), flash


def traffic_max_one(n, d, m):
    blocks = (n - 1) // max(1, -(m // -(4 * d))) + 1
    return 4 * n * d + (2 * n) ** 2, 2 * n * d + blocks * n * (3 * d + 4)


RIGHT_WAYS_CH09 = {
    **RIGHT_WAYS_CH09_KERNEL,
    **RIGHT_WAYS_TILED,
    **RIGHT_WAYS_BACKWARD,
    **RIGHT_WAYS_ONLINE,
    "hbm_traffic": (
        traffic_by_ceil,
        traffic_with_divmod,
        traffic_block_by_block,
        traffic_max_one,
    ),
}
