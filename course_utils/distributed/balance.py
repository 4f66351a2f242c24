"""Who works when: the pairs of query and key that each rank multiplies at each step of a ring."""

import torch
from jaxtyping import Int64
from torch import Tensor

from course_utils.distributed.ring import ring_schedule
from course_utils.validation import check_integers


def ring_work(positions: Int64[Tensor, "P n_per_rank"]) -> Int64[Tensor, "P P"]:
    """Return how many pairs rank r multiplies at step t of a causal ring, in entry [r, t].

    Multiplied are whole blocks, as in `ring_attention_step`: the queries that see some key of the
    block, times the keys that some query sees; not the visible pairs alone.

    Args:
        positions: Where in the text each rank's tokens stand.

    Raises:
        TypeError: Positions are not integers.
        ValueError: There is not a row for each rank.
    """
    check_integers("P n_per_rank", positions=positions)
    if not positions.numel():
        raise ValueError(f"every rank must hold a token, got {tuple(positions.shape)}")
    first, last = positions.amin(1), positions.amax(1)
    world_size = len(positions)
    work = torch.empty(world_size, world_size, dtype=torch.long)
    for rank in range(world_size):
        for step, source in enumerate(ring_schedule(world_size, rank)):
            queries = (positions[rank] >= first[source]).sum()
            keys = (positions[source] <= last[rank]).sum()
            work[rank, step] = queries * keys
    return work
