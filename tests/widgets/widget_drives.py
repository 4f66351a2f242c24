"""For every widget: what a reader does, and what Python says that the page must then show.

A drive reads the widget as it was made, so it fits a chapter's own as well as the ones made here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_utils import widgets
from course_utils.claims import ledger, timeline
from course_utils.guessing.question import Question
from course_utils.measure import read_record
from course_utils.widgets.guess_card.guess_card import guess_card
from tests.widgets import widget_expectations as said
from tests.widgets.explanation_graph import explanation_graph_cases
from tests.widgets.widget_hands import Step, cell, click_at, pick, press, slide, tick, typed

Widget = Any


@dataclass(frozen=True)
class Drive:
    """A drive: what is done with one kind of widget, and what must come of it."""

    make: Callable[[], Widget]
    steps: Callable[[Widget], list[Step]]
    says: Callable[[Widget], list[str]]
    traits: dict[str, Any] = field(default_factory=dict)


def _weights(*shape: int) -> np.ndarray:
    powers = np.exp(np.random.default_rng(0).normal(size=shape))
    return powers / powers.sum(-1, keepdims=True)


def _heatmap() -> Widget:
    before, after = _weights(2, 3, 4, 5)
    return widgets.heatmap(before, other=after, pair_names=("before", "after"), view="first")


def _head_grid() -> Widget:
    parts = np.random.default_rng(1).normal(size=(3, 4, 6))
    return widgets.head_grid(_weights(3, 4, 5), contributions=parts)


def _length() -> Widget:
    written = [("12", "12", "12"), ("34", "3", "34"), ("5" * 14, "5" * 9, "5" * 14)]
    samples = [(source, {"fixed": a, "attention": b}) for source, a, b in written]
    curves = {"fixed": {2: [0.8]}, "attention": {2: [1.0]}}
    return widgets.length_explorer(samples, curves, trained=10)


def _extrapolation() -> Widget:
    curves = {"none": {64: [2.0, 2.2], 128: [2.3]}, "RoPE": {64: [1.5], 128: [3.0, 3.5]}}
    return widgets.extrapolation_explorer({"text": ("loss", curves)}, {"all": list(curves)})


def _guess(truth: Any, **asked: Any) -> Callable[[], Widget]:
    """Return what makes the card of a guess whose answer may be shown."""
    about = {"name": "03.x", "asks": "How many?", "reads": "{}", "low": 0, "high": 10, **asked}
    return lambda: guess_card(Question(**about), truth, ran=True)


def _draw_a_flat_line() -> Step:
    """Along the bottom, from the first place to the last; or a 0 for each of them."""

    def drag(page: Any, first: Any) -> None:
        box = first.locator("xpath=..").locator("svg").bounding_box()
        at = [box["y"] + box["height"] * 182 / 222, box["x"] + box["width"] * 70 / 480]
        page.mouse.move(at[1], at[0])
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 454 / 480, at[0], steps=20)
        page.mouse.up()

    grip = lambda root: root.locator(".acw-grip").first  # noqa: E731
    return Step(grip, drag, typed("0", "0", "0"))


def _first_open_row(root: Any) -> Any:
    return root.locator("tbody tr:not([hidden]) button").first


def _drag_first_row_of_w_key() -> Step:
    """From (1, 0) to (-1.5, 0.5); a panel reaches 3.6 to each side, larger steps are 0.5."""

    def drag(page: Any, handle: Any) -> None:
        plane = handle.locator("xpath=ancestor::figure").locator(".acw-plane")
        box = plane.bounding_box()
        unit = box["width"] / 7.2
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.move(middle[0] + unit, middle[1])
        page.mouse.down()
        page.mouse.move(middle[0] - 1.5 * unit, middle[1] - 0.5 * unit, steps=5)
        page.mouse.up()
        page.mouse.move(0, 0)

    return Step(
        lambda root: root.get_by_role("slider", name="W_K, row 1"),
        drag,
        typed(*["Shift+ArrowLeft"] * 5, "Shift+ArrowUp"),
    )


def _sixth_character() -> Step:
    """The arrow keys start from the character that has the focus, the first."""
    return Step(
        lambda root: root.locator(".acw-target button").first,
        lambda page, first: first.locator("xpath=..").locator("button").nth(5).click(),
        typed(*["ArrowRight"] * 5),
    )


def _another_date() -> Step:
    """Type over what is there."""
    text = "15. kesäkuuta 1968"

    def type_over(page: Any, _: Any) -> None:
        page.keyboard.press("Control+A")
        page.keyboard.type(text)

    return Step(
        lambda root: root.get_by_role("textbox"), lambda _, found: found.fill(text), type_over
    )


def _last_written_sign() -> Step:
    """The arrow keys start from the sign that has the focus, the chosen one."""
    return Step(
        lambda root: root.locator('.acw-written button[aria-pressed="true"]'),
        lambda page, chosen: chosen.locator("xpath=..").locator("button").last.click(),
        typed("End"),
    )


def _last_output() -> Step:
    """The arrow keys start from the output that has the focus, the first."""
    return Step(
        lambda root: root.locator(".acw-outputs button").first,
        lambda page, first: first.locator("xpath=..").locator("button").last.click(),
        typed("End"),
    )


def _third_tab() -> Step:
    """Tab leads to the open one, the first; the arrow keys open the others."""
    return Step(
        lambda root: root.get_by_role("tab").first,
        lambda page, first: first.locator("xpath=..").get_by_role("tab").last.click(),
        typed("ArrowRight", "ArrowRight"),
    )


def _fourth_place() -> Step:
    """The arrow keys start from the place on show, the third."""
    return Step(
        lambda root: root.locator('.acw-text button[aria-pressed="true"]'),
        lambda page, third: third.locator("xpath=..").locator("button").nth(3).click(),
        typed("ArrowRight"),
    )


def _start_at_the_left() -> Step:
    """From (0.3, 0.4) to (-0.7, 0.4), by two large steps or a click; the plane reaches 2.2."""

    def click(page: Any, handle: Any) -> None:
        click_at(page, handle.locator("xpath=.."), (1 - 0.7 / 2.2) / 2, (1 - 0.4 / 2.2) / 2)

    return Step(
        lambda root: root.get_by_role("slider", name="state ξ"),
        click,
        typed(*["Shift+ArrowLeft"] * 2),
    )


THREE = ("first", "second", "third")
DRIVES = {
    "Guess of a number": Drive(
        _guess(4.0, kind="number"),
        lambda _: [
            Step(
                lambda root: root.get_by_role("textbox"),
                lambda _, found: found.fill("7"),
                typed("7"),
            ),
            press(lambda root: root.get_by_role("button", name="Guess", exact=True)),
        ],
        lambda _: ["You guessed 7.00. It is 4.00: 3.00 too high."],
        {"given": 7},
    ),
    "Guess of a choice": Drive(
        _guess("third", kind="choice", options=dict.fromkeys(THREE, ""), take="printed"),
        lambda _: [press(lambda root: root.get_by_role("button", name="second"))],
        lambda _: ["You guessed “second”. It is “third”.", "second (your guess)", "third (right)"],
        {"given": "second"},
    ),
    "Guess of an order": Drive(
        _guess(list(THREE), kind="order", options=dict.fromkeys(THREE, ""), take="ascending"),
        lambda _: [
            press(lambda root, name=name: root.get_by_role("button", name=name))
            for name in ("second", "first", "third")
        ],
        lambda _: ["1 of 3 pairs the wrong way round."],
        {"given": ["second", "first", "third"]},
    ),
    "Guess of a curve": Drive(
        _guess([5.0, 5.0, 5.0], kind="curve", x=[1, 2, 4], across="tokens"),
        lambda _: [
            _draw_a_flat_line(),
            press(lambda root: root.get_by_role("button", name="Guess", exact=True)),
        ],
        lambda _: ["On average 50% of the axis away from what was measured."],
        {"given": [0, 0, 0]},
    ),
    "Heatmap": Drive(
        _heatmap,
        lambda widget: [pick("View", "difference"), cell(".acw-plot", widget.shape, 1, 2)],
        said.difference_of_maps,
        {"view": "difference", "cell": [1, 2]},
    ),
    "HeadGrid": Drive(
        _head_grid,
        lambda widget: [
            cell(".acw-grid", widget.shape, 1, 2),
            press(lambda root: root.locator(".acw-head button").first),
        ],
        said.without_the_first_head,
        {"off": [[0, 0]], "cell": [1, 2]},
    ),
    "ScaleExplorer": Drive(
        widgets.scale_explorer,
        lambda _: [slide("d_k", "End"), tick("divide by √d_k")],
        said.largest_width_scaled,
        {"d_k": 1024, "scaled": True},
    ),
    "LengthExplorer": Drive(
        _length, lambda _: [slide("source length", "End")], said.longest_copy, {"example": 0}
    ),
    "OverwritingStepper": Drive(
        lambda: widgets.overwriting_stepper(read_record("chapter_01_overwriting")),
        lambda _: [
            press(lambda root: root.locator(".acw-presets button").last),
            slide("symbol", "End"),
        ],
        said.last_source_read_to_its_end,
        {"example": 3, "step": 20},
    ),
    "AlignmentExplorer": Drive(
        lambda: widgets.alignment_explorer(read_record("chapter_02_alignments")),
        lambda _: [pick("Score", "dot"), _sixth_character()],
        said.sixth_character_with_dot,
        {"score": 0, "place": 5},
    ),
    "DateWriter": Drive(
        widgets.date_writer,
        lambda _: [_another_date(), _last_written_sign()],
        said.day_of_a_finnish_date,
        {"text": "15. kesäkuuta 1968", "place": 9},
    ),
    "ProjectionToy": Drive(
        widgets.projection_toy,
        lambda _: [_drag_first_row_of_w_key()],
        said.keys_with_another_row,
        {"w_key": [[-1.5, 0.5], [0.0, 1.0]]},
    ),
    "MaskPlayground": Drive(
        widgets.mask_playground,
        lambda _: [tick("window")],
        said.causal_window,
        {"on": ["causal", "window"]},
    ),
    "RopeClock": Drive(
        widgets.rope_clock,
        lambda _: [slide("query is at", "End")],
        said.query_at_the_end,
        {"query_position": 63},
    ),
    "ExtrapolationExplorer": Drive(
        _extrapolation, lambda _: [slide("tokens read", "End")], said.longest_text
    ),
    "VariantExplorer": Drive(
        widgets.variant_explorer,
        lambda _: [pick("variant", "sliding window"), slide("window", "Home")],
        said.smallest_window,
        {"variant": "window", "window": 16},
    ),
    "CostExplorer": Drive(
        widgets.cost_explorer,
        lambda _: [
            press(lambda root: root.get_by_role("button", name="GPT-3", exact=True)),
            press(lambda root: root.locator(".acw-presets").last.locator("button").first),
        ],
        said.parameters_of_gpt3,
        {"d_model": 12288, "view": "parameters"},
    ),
    "BudgetExplorer": Drive(
        widgets.budget_explorer,
        lambda _: [
            press(lambda root: root.get_by_role("button", name="Chinchilla")),
            slide("budget (flop)", "End"),
        ],
        said.largest_budget_beside_chinchilla,
        {"run": "Chinchilla", "budget": 27.0},
    ),
    "DecodeStepper": Drive(
        widgets.decode_stepper,
        lambda _: [pick("kept", "one head (MQA)"), slide("step", "End")],
        said.all_generated_with_one_kept_head,
        {"kind": "mqa"},
    ),
    "TileStepper": Drive(
        widgets.tile_stepper,
        lambda _: [tick("causal"), slide("step", "End")],
        said.last_tile,
        {"is_causal": True},
    ),
    "LookStepper": Drive(
        widgets.look_stepper,
        lambda _: [slide("stage", "End"), slide("factor of the scores", "Home")],
        said.blurred_to_the_end,
        {"factor": 0.5, "step": 12},
    ),
    "WiringExplorer": Drive(
        widgets.wiring_explorer,
        lambda _: [
            _third_tab(),
            slide("padding", "End"),
            pick("wiring", "GPT: one stream, left to right"),
            _last_output(),
        ],
        said.last_output_of_gpt,
        {"wiring": "gpt", "side": "target", "view": "paths"},
    ),
    "ExplanationGraph": Drive(
        explanation_graph_cases.widget,
        lambda _: [pick("ranking", "rollout"), slide("residual's share", "Home")],
        said.rollout_without_the_residual,
        {"method": "rollout", "residual": 0},
    ),
    "HopfieldLandscape": Drive(
        widgets.hopfield_landscape,
        lambda _: [slide("patterns", "End"), _start_at_the_left()],
        said.walk_from_the_left_among_all,
        {"count": 6, "start": [-0.7, 0.4]},
    ),
    "PatchExplorer": Drive(
        lambda: widgets.patch_explorer(read_record("chapter_14_explorer")),
        lambda _: [
            pick("layer", "2"),
            press(lambda root: root.get_by_role("button", name="shuffle patches")),
            tick("positions"),
        ],
        said.shuffled_without_positions,
        {"layer": 2, "shuffle": 1, "positions": False},
    ),
    "StateExplorer": Drive(
        widgets.state_explorer,
        lambda _: [
            pick("memory", "delta rule"),
            press(lambda root: root.get_by_role("button", name="Write a again, with 6")),
            slide("width d", "End"),
        ],
        said.first_key_written_again,
        {"kind": "delta", "width": 32, "asked": 0},
    ),
    "ClaimLedger": Drive(
        lambda: widgets.claim_ledger(ledger()[:40], timeline()),
        lambda _: [pick("verdict", "wrong"), press(_first_open_row)],
        said.first_wrong_claim,
        {"verdict": "wrong"},
    ),
    "RingStepper": Drive(
        widgets.ring_stepper,
        lambda _: [slide("ranks", "End"), pick("layout", "striped"), slide("step", "End")],
        said.last_step_of_eight_striped_ranks,
        {"world_size": 8, "token_layout": "striped", "step": 7},
    ),
    "SpeculationExplorer": Drive(
        widgets.speculation_explorer,
        lambda _: [
            slide("guesses per call γ", "End"),
            slide("draft q of d", "End"),
            tick("draw from p instead of the residual"),
            press(lambda root: root.get_by_role("button", name="Run 1000")),
        ],
        said.thousand_calls_of_a_draft_that_says_one_token,
        {"gamma": 6, "draft": [0, 0, 0, 100, 0, 0, 0, 0], "from_target": True, "rounds": 1000},
    ),
    "NextTokenExplorer": Drive(
        lambda: widgets.next_token_explorer(read_record("chapter_19_next_token")),
        lambda _: [
            _fourth_place(),
            pick("text", "Python's classes"),
            slide("temperature", "End"),
            slide("top-p", "Home"),
            press(lambda root: root.get_by_role("button", name="Draw 1000")),
        ],
        said.thousand_tokens_of_the_flattest_class,
        {"place": 12, "temperature": 1.5, "top_p": 0.5, "draws": 1000, "met": [3, -1]},
    ),
    "ForwardPass": Drive(
        lambda: widgets.forward_pass(read_record("chapter_20_forward_pass")),
        lambda _: [
            pick("layer", "3"),
            press(lambda root: root.get_by_role("button", name="Show the atlas")),
            pick("prompt", "a chat turn"),
            pick("atlas", "weight on the token before"),
            slide("only heads above", "End"),
            *[press(lambda root: root.get_by_role("button", name="layer up"))] * 2,
            tick("take the first token out"),
        ],
        said.token_before_in_a_chat_turn,
        {"prompt": 5, "layer": 18, "position": 14, "measure": "previous", "times": 10},
    ),
}
