"""Masks, weights and code that Python and the mask playground must agree on."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_utils import attention, measure

USUAL = {
    "tokens": ["a", "b", "c", "d", "e", "f", "g"], "on": ["causal"], "num_queries": 7, "offset": 0,
    "window": 3, "pads": 2, "left": False, "prefix": 3, "second": 4, "third": 7,
}  # fmt: skip
CHANGES: list[dict[str, Any]] = [
    {},
    {"on": []},
    {"offset": 2},
    {"offset": -3},
    {"num_queries": 2},
    {"num_queries": 2, "offset": 5},
    {"num_queries": 4, "offset": 3, "on": ["window"]},
    {"on": ["causal", "window"], "window": 1, "offset": 1},
    {"on": ["prefix"]},
    {"on": ["causal", "prefix"]},
    {"on": ["causal", "window", "prefix"], "window": 2},
    {"on": ["causal", "prefix"], "prefix": 0},
    {"on": ["padding"]},
    {"on": ["causal", "padding"], "left": True},
    {"on": ["padding"], "pads": 7},
    {"on": ["documents"], "second": 1},
    {"on": ["causal", "documents"], "num_queries": 5, "offset": 2},
    {"on": ["causal", "window", "padding", "prefix", "documents"], "num_queries": 6, "offset": 1},
    {"on": ["documents"], "second": 2, "third": 5},
    {"on": ["causal", "documents"], "second": 3, "third": 6, "num_queries": 4, "offset": 3},
    {"on": ["documents"], "second": 5, "third": 2},
]


def scores_of(num_queries: int, num_keys: int) -> Tensor:
    """The fixed scores of the last queries, as the playground's words say them."""
    place = torch.arange(num_keys)[-num_queries:, None]
    key = torch.arange(num_keys)
    whole = (5 * place**2 + 3 * key**2 + 7 * place * key + 2 * key) % 13
    return whole.double() / 3 - 2


def loop_mask(view: dict[str, Any]) -> Tensor:
    """The mask by the definition of each rule, pair by pair."""
    keys, on = len(view["tokens"]), view["on"]
    mask = torch.zeros(view["num_queries"], keys, dtype=torch.bool)
    for i in range(view["num_queries"]):
        place, end = i + keys - view["num_queries"], i + view["offset"]
        for j in range(keys):
            real = j >= view["pads"] if view["left"] else j < keys - view["pads"]
            past = j <= end or not {"causal", "window"} & set(on)
            near = "window" not in on or j > end - view["window"]
            open_to_all = "prefix" in on and j < view["prefix"]
            together = all((j < view[at]) == (place < view[at]) for at in ("second", "third"))
            mask[i, j] = (
                ((past and near) or open_to_all)
                and (real or "padding" not in on)
                and (together or "documents" not in on)
            )
    return mask


def packing(view: dict[str, Any]) -> dict[str, Any]:
    """The documents' lengths, and the pairs that three layouts multiply, as counted."""
    keys = len(view["tokens"])
    ends = sorted({0, view["second"], view["third"], keys})
    lengths = torch.tensor(ends).diff()

    def pairs(attend: Any, *given: Tensor) -> int:
        return measure.count_flops(attend, *given) // 4  # one head of width 1, two products

    one = partial(torch.zeros, dtype=torch.float64)
    padded = one(len(lengths), 1, int(lengths.max()), 1)
    row, packed = one(1, 1, keys, 1), one(keys, 1, 1)
    return {
        "lengths": lengths.tolist(),
        "own": pairs(attention.packed_attention, packed, packed, packed, lengths),
        "padded": pairs(attention.scaled_dot_product_attention, padded, padded, padded),
        "row": pairs(attention.scaled_dot_product_attention, row, row, row),
    }


def run(code: str, shape: tuple[int, int]) -> Tensor:
    """Run the code that the playground shows, and return its mask."""
    names: dict[str, Any] = {"torch": torch, **vars(attention)}
    exec(code, names)
    return torch.broadcast_to(names["mask"], shape)


def cases() -> list[dict[str, Any]]:
    made = []
    for changes in CHANGES:
        view = USUAL | changes
        mask = loop_mask(view)
        weights = attention.masked_softmax(scores_of(*mask.shape), mask)
        numbers = {"mask": mask.int().tolist(), "weights": weights.tolist()}
        made.append({"view": view, **numbers, "packing": packing(view)})
    return made
