"""Count what attention moves between a GPU's large memory (HBM) and its fast one (SRAM).

Source: Dao et al. 2022, FlashAttention, algorithms 0 and 1 and theorem 2,
    https://arxiv.org/abs/2205.14135
Ours / theirs: num_tokens = N;  sram_elements = M
Differs: the paper gives orders of growth; here every load and store is counted.
"""

from course_utils.validation import check_at_least


def hbm_traffic(num_tokens: int, d: int, sram_elements: int) -> tuple[int, int]:
    """Return how many elements plain and flash attention move, forward, for one head.

    Plain attention reads Q, K and V and writes O (4Nd), and writes and reads N × N scores, then
    weights (4N²). Flash, algorithm 1, holds ⌈M/4d⌉ keys and values at a time, and for each such
    block reads Q, reads and writes O (3Nd), and reads and writes ℓ and m (4N); K and V are read
    once (2Nd).

    Args:
        num_tokens: How many queries and keys there are.
        d: Width of a query, key and value.
        sram_elements: How many elements the fast memory holds.
    """
    check_at_least(1, num_tokens=num_tokens, d=d, sram_elements=sram_elements)
    keys_a_block = -(-sram_elements // (4 * d))
    blocks = -(-num_tokens // keys_a_block)
    standard = 4 * num_tokens * d + 4 * num_tokens**2
    flash = 2 * num_tokens * d + blocks * (3 * num_tokens * d + 4 * num_tokens)
    return standard, flash
