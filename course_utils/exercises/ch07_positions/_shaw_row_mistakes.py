"""What goes wrong in which vector belongs to a pair: each mistake as something to run."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch07_positions._shaw_wrong import build, counted, of, relative


def _row(row: Callable[[Tensor, int], Tensor]) -> Function:
    return build(row=row)


def _moved(by: Callable[[int, int], int]) -> Function:
    """Move the queries' positions by a number that depends on the sizes."""

    def places(num_queries: int, num_keys: int) -> tuple[Tensor, Tensor]:
        own, place = counted(num_queries, num_keys)
        return own + by(num_queries, num_keys), place

    return build(places=places)


def _nothing_far(
    query: Tensor, key: Tensor, table: Tensor, max_distance: int, scale: float | None = None
) -> Tensor:
    """Give distances beyond max_distance a vector of zeros."""
    own, place = counted(query.shape[-2], key.shape[-2])
    far = (place - own).abs() > max_distance
    used = build(relative=lambda q, k, a: relative(q, k, a.masked_fill(far.unsqueeze(-1), 0.0)))
    made: Tensor = used(query, key, table, max_distance, scale)
    return made


ROWS = (
    of(
        "query less key",
        "The table is read backwards: a key after its query gets the vector of one before. The "
        "distance is j - i, key minus query.",
        build(steps=lambda own, place: own - place),
        _row(lambda steps, reach: (-steps).clamp(-reach, reach) + reach),
    ),
    of(
        "no clamp",
        "Distances beyond max_distance fall outside the table, or come back in at its other end. "
        "What should all of them count as?",
        _row(lambda steps, reach: steps + reach),
        _row(lambda steps, reach: (steps + reach) % (2 * reach + 1)),
        _row(lambda steps, reach: steps % (2 * reach + 1)),
    ),
    of(
        "clamped on one side only",
        "One direction is clamped, the other is not, or everything on one side got one vector.",
        _row(lambda steps, reach: steps.clamp(max=reach) + reach),
        _row(lambda steps, reach: steps.clamp(0, reach) + reach),
        _row(lambda steps, reach: steps.clamp(-reach, 0) + reach),
        _row(lambda steps, reach: (steps + reach).clamp(0, reach)),
        _row(lambda steps, reach: (steps + reach).clamp(max=2 * reach)),
    ),
    of(
        "far keys left out",
        "Distances beyond max_distance get no vector, or that of distance 0. Shaw counts them as "
        "max_distance: what does clamp do with them?",
        _row(lambda steps, reach: steps * (steps.abs() <= reach) + reach),
        _nothing_far,
    ),
    of(
        "max_distance not added",
        "Distance 0 reads row 0 of the table, and negative distances wrap to its end. Which row "
        "belongs to distance 0?",
        _row(lambda steps, reach: steps.clamp(-reach, reach)),
        _row(lambda steps, reach: steps.clamp(0, 2 * reach)),
    ),
    of(
        "off by one in the table",
        "Distance 0 should read the middle row, and the ends of the table belong to ±max_distance.",
        _row(lambda steps, reach: (steps.clamp(-reach, reach) + reach + 1).clamp(max=2 * reach)),
        _row(lambda steps, reach: (steps.clamp(-reach, reach) + reach - 1).clamp(min=0)),
        _row(lambda steps, reach: (steps.clamp(-reach, reach) + reach + 1) % (2 * reach + 1)),
        _row(lambda steps, reach: steps.clamp(-reach, reach) + reach - 1),
    ),
    of(
        "clamped one too near",
        "The first and the last row of the table are never read: the distances were clamped one "
        "too near.",
        _row(lambda steps, reach: steps.clamp(-max(reach - 1, 0), max(reach - 1, 0)) + reach),
        _row(lambda steps, reach: steps.clamp(-reach, max(reach - 1, 0)) + reach),
        _row(lambda steps, reach: steps.clamp(-max(reach - 1, 0), reach) + reach),
    ),
    of(
        "the sign of the distance lost",
        "Keys before and after a query share a vector: the distance lost its sign.",
        _row(lambda steps, reach: steps.abs().clamp(max=reach) + reach),
        _row(lambda steps, reach: steps.abs().clamp(max=reach)),
        _row(lambda steps, reach: reach - steps.abs().clamp(max=reach)),
    ),
    of(
        "the last query aligned to the last key",
        "Right with as many queries as keys. Here both count from 0, also when L is not S; the "
        "alignment at the end is ALiBi's exercise.",
        _moved(lambda queries, keys: keys - queries),
    ),
    of(
        "positions of one side from 1",
        "Queries and keys are counted from different numbers. At which distance is a query's own "
        "key?",
        _moved(lambda queries, keys: 1),
        _moved(lambda queries, keys: -1),
    ),
    of(
        "max_distance written into the code",
        "Every `max_distance` cuts at the same distance. Where is the argument used?",
        _row(lambda steps, reach: (steps.clamp(-2, 2) + 2).clamp(max=2 * reach)),
        _row(lambda steps, reach: (steps.clamp(-2, 2) + reach).clamp(0, 2 * reach)),
    ),
    of(
        "one vector for all distances",
        "All pairs get the same vector, whatever their distance. Which row of the table belongs "
        "to which?",
        _row(lambda steps, reach: torch.full_like(steps, reach)),
        _row(lambda steps, reach: torch.zeros_like(steps)),
    ),
    of(
        "the vector of the key's own position",
        "The vector depends on where the key stands, not on how far it is from the query.",
        build(steps=lambda own, place: place + 0 * own),
        build(steps=lambda own, place: own + 0 * place),
        build(steps=lambda own, place: own + place),
        build(
            steps=lambda own, place: place + 0 * own,
            row=lambda steps, reach: steps.clamp(max=2 * reach),
        ),
        build(
            steps=lambda own, place: own + 0 * place,
            row=lambda steps, reach: steps.clamp(max=2 * reach),
        ),
    ),
)
