"""Arguments that `tile_stepper` accepts and refuses."""

import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from course_utils.measure import hbm_traffic
from course_utils.widgets import tile_stepper
from tests.widgets.tile_stepper import tile_stepper_cases


def test_the_cases_end_in_sdpa() -> None:
    for one in tile_stepper_cases.cases():
        tensors = [torch.tensor(one[name]).double() for name in ("query", "key", "value")]
        wanted = F.scaled_dot_product_attention(*tensors, is_causal=one["is_causal"])
        tiles = -(-len(one["key"]) // one["block_k"])
        if one["is_causal"]:
            tiles = -(-min(len(one["key"]), len(one["query"])) // one["block_k"])
        end = one["states"][-1]
        if tiles and one["block_q"] >= len(one["query"]):
            out = torch.tensor(end["acc"]) / torch.tensor(end["l"])[:, None]
            torch.testing.assert_close(out.double(), wanted, rtol=1e-6, atol=1e-6)


def test_keys_outside_move_what_the_formula_of_algorithm_1_says() -> None:
    n, d, block = 7, 4, 3
    moved = tile_stepper_cases.moved((n, n, d, d), (2, block), False)[1]
    rows = math.ceil(n / 2)
    assert rows > 1
    assert moved == hbm_traffic(n, d, 4 * d * block)[1]


def test_it_opens_after_two_steps() -> None:
    widget = tile_stepper()
    assert repr(widget) == "TileStepper(7 queries, 8 keys, tiles of 3 x 3, queries outside)"
    assert widget.step == 2
    assert repr(tile_stepper(is_causal=True)).endswith("queries outside, causal)")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query": [[1.0]] * 9}, "1 to 8 rows of one width"),
        ({"key": []}, "1 to 8 rows of one width"),
        ({"value": [[1.0], [1.0, 2.0]]}, "1 to 8 rows of one width"),
        ({"query": [[1.0, 2.0]]}, "keys must be as wide as queries"),
        ({"value": [[1.0]]}, "as many as values"),
        ({"query": [[1.0, 2.0, 3.0, math.nan]]}, "must be finite"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        tile_stepper(**arguments)
