"""Arguments that `next_token_explorer` accepts and refuses; its record is what Python filters."""

from itertools import product
from typing import Any

import pytest
import torch

from course_utils.measure import read_record
from course_utils.models import top_p_filter
from course_utils.widgets import next_token_explorer
from course_utils.widgets.next_token_explorer.next_token_explorer import START
from tests.widgets.next_token_explorer import next_token_explorer_cases as cases

RECORD = read_record(cases.RECORD)
OTHERS = 2000


def test_it_opens_on_a_place_that_does_not_fulfil_the_task() -> None:
    widget = next_token_explorer(RECORD)
    assert repr(widget) == "NextTokenExplorer(24 places, place=2, temperature=1.0, top_p=0.9)"
    assert 1 < cases.seen(widget, START, 1.0, 0.9)["size"] <= 50
    assert (widget.met, widget.draws, widget.shares[-1]) == ([-1, -1], 0, 1.0)


def test_some_places_fulfil_each_part_of_the_task() -> None:
    widget = next_token_explorer(RECORD)
    sizes = [cases.seen(widget, number, 1.0, 0.9)["size"] for number in range(24)]
    assert sizes.count(1) == 2
    assert sum(size > 50 for size in sizes) == 9


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"place": 24}, r"place must be in 0\.\.23, got 24"),
        ({"temperature": 0.55}, r"temperature must be one of 0\.5, .*, 1\.5, got 0\.55"),
        ({"top_p": 0.75}, r"top_p must be one of 0\.5, .*, 0\.999, 1\.0, got 0\.75"),
    ],
)
def test_settings_of_which_nothing_is_recorded_are_said(
    arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        next_token_explorer(RECORD, **arguments)


def test_sizes_within_the_recorded_tokens_are_what_python_keeps() -> None:
    """The rest is spread over others; where a sum is within 1e-3 of top-p, it may go either way."""
    widget = next_token_explorer(RECORD)
    views = [*product(range(24), widget.temperatures)]
    known = torch.stack([cases.chances(widget, *view) for view in views])
    rest = (1 - known.sum(-1, keepdim=True)).clamp_min(1e-12) / OTHERS
    logits = torch.cat([known, rest.expand(-1, OTHERS)], dim=-1).log()
    judged = 0
    for top_p in widget.shares[:-1]:
        kept = top_p_filter(logits, top_p).isfinite().sum(-1)
        sizes = torch.tensor([cases.seen(widget, *view, top_p)["size"] for view in views])
        clear = (known.cumsum(-1) - top_p).abs().amin(-1) > 1e-3
        judge = clear & (sizes <= known.shape[-1])
        assert torch.equal(kept[judge], sizes[judge])
        judged += int(judge.sum())
    assert judged > 1000


def test_sizes_grow_with_top_p_and_with_the_temperature() -> None:
    for run in RECORD["runs"]:
        sizes = torch.tensor(run["sizes"])
        assert (sizes.diff(dim=0) >= 0).all()
        assert (sizes.diff(dim=1) >= 0).all()
        assert run["log_probs"] == sorted(run["log_probs"], reverse=True)


def test_the_places_are_every_25th_token() -> None:
    for number, text in enumerate(RECORD["texts"]):
        runs = [run for run in RECORD["runs"] if run["text"] == number]
        assert [run["place"] for run in runs] == [*range(25, 301, 25)]
        assert len(text["between"]) == len(runs)
