"""Every widget can be read, light and dark, wide and narrow: axe finds nothing to object to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from course_utils import widgets
from course_utils.measure import read_record
from tests.widgets.explanation_graph import explanation_graph_cases
from tests.widgets.widget_drives import DRIVES
from tests.widgets.widget_page import assert_readable

pytestmark = pytest.mark.browser
WORDS = [f"token{i}" for i in range(12)]


def _pair(view: str) -> Any:
    before, after = np.random.default_rng(0).random((2, 2, 6, 6))
    names = ("before", "after")
    return widgets.heatmap(before, WORDS[:6], WORDS[:6], other=after, pair_names=names, view=view)


def _heads() -> Any:
    weights = np.random.default_rng(0).random((2, 12, 30, 40))
    return widgets.head_grid(weights, contributions=weights, title="Two layers")


def _alignments() -> Any:
    record = read_record("chapter_02_alignments")
    return widgets.alignment_explorer(record, locales=["he_IL", "es_ES"])


def _many_pairs(kind: str) -> Any:
    return widgets.state_explorer([(key, key % 10) for key in range(24)], kind=kind, width=32)


def _next_token(place: int, **settings: float) -> Any:
    record = read_record("chapter_19_next_token")
    return widgets.next_token_explorer(record, place=place, nucleus_only=True, **settings)


def _forward_pass(**settings: int) -> Any:
    record = read_record("chapter_20_forward_pass")
    return widgets.forward_pass(record, model=object(), **settings)


def _times() -> Any:
    names, lengths = ("SDPA, causal", "sliding window"), (512, 1024, 4096)
    keys = ("what", "length", "milliseconds", "flops")
    runs = [dict(zip(keys, (name, n, n / 128, 1), strict=True)) for name in names for n in lengths]
    return widgets.variant_explorer(runs)


# What a drive does not lead to: views of another look, and what is long or crowded.
MORE: dict[str, Callable[[], list[Any]]] = {
    "Heatmap": lambda: [_pair("side"), _pair("difference")],
    "HeadGrid": lambda: [_heads()],
    "AlignmentExplorer": lambda: [_alignments()],
    "MaskPlayground": lambda: [
        widgets.mask_playground(WORDS, on=["causal", "padding", "documents"])
    ],
    "VariantExplorer": lambda: [_times()],
    "CostExplorer": lambda: [widgets.cost_explorer("Llama 3 8B", recompute=True)],
    "DecodeStepper": lambda: [
        widgets.decode_stepper(kind=kind, step=10) for kind in ("window", "gqa")
    ],
    "TileStepper": lambda: [widgets.tile_stepper(step=4, is_causal=True)],
    "LookStepper": lambda: [widgets.look_stepper(step=8)],
    "WiringExplorer": lambda: [
        widgets.wiring_explorer(pads=2, view="masks"),
        widgets.wiring_explorer(wiring="stub", view="paths"),
        widgets.wiring_explorer(WORDS[:6], WORDS[:6], wiring="bert", num_layers=6, view="paths"),
    ],
    "ExplanationGraph": lambda: [
        explanation_graph_cases.widget(method=method) for method in ("flow", "raw")
    ],
    "HopfieldLandscape": lambda: [widgets.hopfield_landscape(count=6, as_attention=True)],
    "ForwardPass": lambda: [_forward_pass(), _forward_pass(prompt=2, predicted=0)],
    "NextTokenExplorer": lambda: [_next_token(4), _next_token(13, top_p=1.0)],
    "StateExplorer": lambda: [_many_pairs("fade"), _many_pairs("softmax")],
    "RingStepper": lambda: [
        widgets.ring_stepper(8, token_layout="zigzag", step=3, view=view)
        for view in ("ring", "ulysses")
    ],
}


@pytest.mark.parametrize(
    ("theme", "scheme", "width"), [("light", "dark", 900), ("dark", "light", 390)]
)
@pytest.mark.parametrize("name", DRIVES)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Callable[..., Page], name: str, theme: str, scheme: str, width: int
) -> None:
    driven = DRIVES[name].make()
    shown = [driven, *MORE.get(name, list)()]
    page = open_page(shown, theme=theme, scheme=scheme, width=width)
    for step in DRIVES[name].steps(driven):
        step.take(page.locator(".acw").first, "mouse")
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert_readable(page, width)
