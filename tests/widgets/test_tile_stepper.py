"""What tile_stepper accepts, refuses and shows, in Python and on a page without a kernel."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tile_stepper_cases
import torch
from playwright.sync_api import Page, expect
from torch.nn import functional as F
from widget_page import assert_readable

from course_utils.measure import hbm_traffic
from course_utils.widgets import tile_stepper

Show = Callable[..., Page]


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(tile_stepper_cases.PATH.read_text(encoding="utf-8"))
    fresh = json.loads(tile_stepper_cases.text())
    assert len(stored) == len(fresh)
    for kept, made in zip(stored, fresh, strict=True):
        states = [one.pop("states") for one in (kept, made)]
        assert kept == made
        for old, new in zip(*states, strict=True):
            for name in ("m", "l", "acc"):
                flat = [np.asarray(one[name], dtype=float) for one in (old, new)]
                np.testing.assert_allclose(*flat, rtol=1e-12, atol=1e-13)


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


def test_it_opens_before_the_first_step() -> None:
    widget = tile_stepper()
    assert repr(widget) == "TileStepper(7 queries, 8 keys, tiles of 3 x 3, queries outside)"
    assert widget.step == 0
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
        ({"block_q": 0}, "block_q must be from 1 to 8, got 0"),
        ({"block_k": 9}, "block_k must be from 1 to 8, got 9"),
        ({"order": "outside"}, "order must be one of .*, got 'outside'"),
        ({"step": -1}, "step must be at least 0, got -1"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        tile_stepper(**arguments)


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([tile_stepper()], over=over)
    said = page.locator(".acw-said")
    expect(said).to_contain_text("Start: 12 steps")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(said).to_contain_text("Step 1 of 12: queries 0 to 2 and keys 0 to 2.")
    page.get_by_label("causal").check()
    expect(said).to_contain_text("Start: 9 steps")
    page.get_by_label("loop").select_option("keys outside")
    page.get_by_role("button", name="End").click()
    expect(said).to_contain_text("Step 6 of 6: query 6 and keys 6 to 7.")
    page.get_by_role("button", name="Play").click()
    expect(said).to_contain_text("Step 1 of 6", timeout=5000)
    page.get_by_role("button", name="Pause").click()


@pytest.mark.browser
def test_the_keyboard_alone_walks(open_page: Show) -> None:
    page = open_page([tile_stepper()])
    page.get_by_role("slider", name="step").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator(".acw-said")).to_contain_text("Step 2 of 12: queries 0 to 2 and keys 3")
    page.get_by_label("keys per block").focus()
    page.keyboard.press("8")
    expect(page.locator(".acw-said")).to_contain_text("Start: 6 steps")


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 900), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, width: int
) -> None:
    page = open_page([tile_stepper(step=4, is_causal=True)], theme=theme, width=width)
    assert_readable(page, width)
