"""Attention flow: the layers as a network of pipes, and how much can flow from token to position.

Source: Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers, section 3,
    https://arxiv.org/abs/2005.00928; the maximum flow by shortest augmenting paths: Edmonds and
    Karp 1972, https://doi.org/10.1145/321694.321699
Differs: the authors' code divides by the sum over all input tokens; here each flow stays as it is
Same contract as: networkx.maximum_flow_value on the same graph
"""

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from jaxtyping import Float
from torch import Tensor

from course_utils.interpretability._layers import check_layers
from course_utils.validation import check_at_least

Room = list[dict[int, float]]  # for each node, its neighbours and the residual capacity


def attention_flow(layers: Sequence[Float[Tensor, "L L"]], source: int, target: int) -> float:
    """Return the maximum flow from an input token to a position above the last layer.

    A position is another node at every level. From position j below a layer to position i above
    it, half of weights[i, j] fits through, and another half where i = j: the residual.

    Args:
        layers: The weights of each layer, heads averaged, the first layer first.
        source: The input token.
        target: The position above the last layer.

    Raises:
        ValueError: There is no layer, or a place is not in the sequence.
    """
    check_layers("L L", layers=layers)
    check_at_least(0, source=source, target=target)
    length = len(layers[0])
    if max(source, target) >= length:
        raise ValueError(
            f"source and target must be below the length {length}, got {source} and {target}"
        )
    return maximum_flow(_pipes(layers), source, len(layers) * length + target)


def maximum_flow(room: Room, start: int, end: int) -> float:
    """Return the maximum flow from one node to another, and use up the capacities.

    Args:
        room: For each node, the capacity towards each of its neighbours.
        start: The source node.
        end: The sink node, different from the source.
    """
    total = 0.0
    while path := _shortest_path(room, start, end):
        pushed = min(room[near][far] for near, far in pairwise(path))
        for near, far in pairwise(path):
            room[near][far] -= pushed
            room[far][near] = room[far].get(near, 0.0) + pushed  # may be undone later
        total += pushed
    return total


def _pipes(layers: Sequence[Tensor]) -> Room:
    """Return the graph: the nodes of level l are l·L … l·L + L - 1."""
    length = len(layers[0])
    room: Room = [{} for _ in range((len(layers) + 1) * length)]
    for level, weights in enumerate(layers):
        for above, row in enumerate(weights.detach().double().tolist()):
            for below, weight in enumerate(row):
                through = 0.5 * weight + 0.5 * (above == below)
                if through > 0:
                    room[level * length + below][(level + 1) * length + above] = through
    return room


def _shortest_path(room: Room, start: int, end: int) -> list[int]:
    """Return the nodes of a shortest path with capacity left, or an empty list."""
    came_from = {start: start}
    waiting = deque([start])
    while waiting and end not in came_from:
        node = waiting.popleft()
        for other, left in room[node].items():
            if left > 0 and other not in came_from:
                came_from[other] = node
                waiting.append(other)
    if end not in came_from:
        return []
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
