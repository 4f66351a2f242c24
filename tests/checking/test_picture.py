"""The grid of an answer's own numbers: what differs is marked, the right numbers stay hidden."""

import re

import pytest
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from course_utils.checking.judge import judge
from course_utils.checking.picture import MOST, picture
from course_utils.exercises import find


def mask() -> Bool[Tensor, "L S"]: ...
def weights() -> Float[Tensor, "*batch L S"]: ...
def out() -> Float[Tensor, "*batch L d_v"]: ...
def positions() -> Int[Tensor, " n"]: ...
def anything() -> Shaped[Tensor, "L S"]: ...
def both() -> tuple[Float[Tensor, "L d_v"], Float[Tensor, "L S"]]: ...


def test_a_mask_is_drawn_with_the_cells_that_differ_in_brackets() -> None:
    got = torch.tensor([[True, False, True], [False, True, True]])
    want = torch.tensor([[True, False, False], [False, True, True]])
    drawn = picture(mask, got, want)
    assert str(drawn) == (
        "What your function returned. 1 of 6 cells differ, in brackets or marked ✗: row 0 at 2.\n"
        " T  F [T]\n F  T  T "
    )
    page = drawn.html()
    assert page.count("✗") == 2  # once in the caption
    assert page.count('aria-label="differs"') == 1
    assert page.count("<td") == 7


def test_the_first_table_that_differs_is_drawn_and_in_part_if_it_is_large() -> None:
    want = torch.zeros(2, 3, 40, 30)
    got = want.clone()
    got[1, 2, 35, 17] = 0.25
    drawn = picture(weights, got, want)
    assert "at index [1, 2], in part" in drawn.words
    assert (len(drawn.rows), len(drawn.columns)) == (MOST, MOST)
    assert "[0.25]" in str(drawn)
    assert sum(map(sum, drawn.wrong)) == 1


@pytest.mark.parametrize(
    ("reference", "got", "want", "shown"),
    [
        (out, torch.zeros(2, 3), torch.ones(2, 3), False),
        (weights, torch.zeros(2, 3), torch.zeros(2, 3), False),
        (weights, torch.zeros(3, 2), torch.zeros(2, 3), False),
        (weights, [1.0], torch.zeros(2, 3), False),
        (anything, torch.zeros(2, 3), torch.ones(2, 3), False),
        (positions, torch.tensor([1, 2]), torch.tensor([1, 3]), True),
        (both, (torch.ones(2, 3), torch.ones(2, 3)), (torch.ones(2, 3), torch.zeros(2, 3)), True),
        (both, torch.ones(2, 3), (torch.ones(2, 3), torch.zeros(2, 3)), False),
    ],
)
def test_masks_weights_biases_and_positions_are_drawn(reference, got, want, shown) -> None:
    assert (picture(reference, got, want) is not None) == shown


def test_a_report_shows_the_answer_s_numbers_and_never_the_right_ones() -> None:
    exercise = find("causal_mask")
    report = judge(exercise, lambda q, k, offset=0: torch.ones(q, k, dtype=torch.bool))
    assert set("".join(cell for row in report.picture.cells for cell in row)) == {"T"}
    assert "marked" in str(report)
    assert re.search(r"<table.*</table>", report._repr_html_())


def test_of_several_tables_the_one_drawn_is_named() -> None:
    got, want = (torch.ones(2, 3), torch.ones(2, 3)), (torch.ones(2, 3), torch.zeros(2, 3))
    assert picture(both, got, want, ("out", "weights")).words.startswith(
        "What your function returned as weights. "
    )
