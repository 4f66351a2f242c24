"""Load balance: the query-key pairs that each rank multiplies at each step of a ring."""

import torch
from jaxtyping import Int64
from torch import Tensor

from course_utils.distributed.ring import ring_schedule
from course_utils.validation import check_integers


def ring_work(positions: Int64[Tensor, "P n_per_rank"]) -> Int64[Tensor, "P P"]:
    """Return how many pairs rank r multiplies at step t of a causal ring, in entry [r, t].

    Whole blocks are multiplied, as in `ring_attention_step`: the queries that see some key of the
    block, times the keys that some query sees; not only the visible pairs.

    Args:
        positions: The positions of each rank's tokens.

    Raises:
        ValueError: There is not exactly one row per rank.
    """
    check_integers("P n_per_rank", positions=positions)
    if not positions.numel():
        raise ValueError(f"every rank must hold a token, got {tuple(positions.shape)}")
    ranks = len(positions)
    source = torch.tensor([ring_schedule(ranks, rank) for rank in range(ranks)])
    first, last = positions.amin(1), positions.amax(1)
    queries = positions.unsqueeze(1) >= first[source].unsqueeze(-1)
    keys = positions[source] <= last[:, None, None]
    return queries.sum(-1) * keys.sum(-1)
