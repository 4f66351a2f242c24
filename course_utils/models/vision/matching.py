"""Bipartite matching: each object gets a query of its own, at the smallest total cost.

Source: Carion et al. 2020, End-to-End Object Detection with Transformers (DETR), Eq. 1,
    https://arxiv.org/abs/2005.12872; the usual algorithm is Kuhn 1955, The Hungarian Method for the
    Assignment Problem, https://doi.org/10.1002/nav.3800020109
Ours / theirs: query = σ̂, cost = L_match
Differs: all assignments are tried, for the whole batch at once: with few queries that is faster
    than the Hungarian algorithm for one sequence after another
Same contract as: scipy.optimize.linear_sum_assignment on cost[b].T
"""

import functools
import itertools

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.validation import check_float

MOST_QUERIES = 8  # 8! = 40,320 assignments


def match_queries(cost: Float[Tensor, "B Q T"]) -> Int[Tensor, "B T"]:
    """Return the query that each object gets, none twice, at the least total cost.

    Args:
        cost: What it costs to give query q the object t, for each sequence of the batch.

    Raises:
        ValueError: There is no object, there are fewer queries than objects, or more than 8.
    """
    check_float("B Q T", cost=cost)
    _, queries, objects = cost.shape
    if not 1 <= objects <= queries <= MOST_QUERIES:
        raise ValueError(
            f"cost needs from 1 to {MOST_QUERIES} queries, and from 1 object to as many, "
            f"got {queries} queries and {objects} objects"
        )
    assignments = torch.from_numpy(_assignments(queries, objects)).to(cost.device)
    totals = cost[:, assignments, torch.arange(objects)].sum(-1)
    return assignments[totals.argmin(-1)]


@functools.cache
def _assignments(queries: int, objects: int) -> np.ndarray:
    """Return every way to give each object a query of its own, one per row."""
    return np.array(list(itertools.permutations(range(queries), objects)))
