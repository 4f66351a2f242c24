"""The picture of chapter 20: a forward pass of a released model, every head and every layer."""

from collections.abc import Mapping
from typing import Any

import traitlets

from course_utils.widgets.traits import Choice, CourseWidget, Flag, Index, Items, Whole

MOST_TOKENS = 48
MEASURES = ("first", "previous", "followed", "entropy")
MOST_TIMES = 10
KEPT = ("best", "next", "lens", "entropy", "chance", "weight")
START = (16, 0)
"""The layer and the head shown first."""


class ForwardPass(CourseWidget, page="forward_pass"):
    """The widget that ``forward_pass`` makes; its traits follow the controls."""

    prompts = Items(help="For each prompt its name, its tokens, and its numbers, packed.")
    packing = traitlets.Dict(help="How many words are packed, and what numbers are multiplied by.")
    layers = Whole(1, 1, help="How many layers the model has.")
    heads = Whole(1, 1, help="How many heads a layer has.")
    resting = Items(help="How many heads of each layer rest on the first token.")
    prompt = Index(0, 0, lambda self: len(self.prompts) - 1, help="The prompt on show, from 0.")
    layer = Index(0, 0, lambda self: self.layers - 1, help="The chosen layer, from 0.")
    head = Index(0, 0, lambda self: self.heads - 1, help="The chosen head, from 0.")
    position = Index(0, 0, lambda self: self.last, help="The chosen position, from 0.")
    predicted = Index(
        -1, -1, lambda self: self.layers - 1, help="The layer that the reader named; -1 for none."
    )
    measure = Choice(MEASURES, "first", help="What the atlas shows.")
    times = Whole(0, 0, MOST_TIMES, help="The least multiple of the base rate that is shown.")
    without_first = Flag(False, help="Whether the map is shown without the first token.")
    live = Flag(False, help="Whether Python has the model.")
    asked = traitlets.Unicode(help="A text that Python is to read.")
    removed = Items(help="Prompt, layer and head that Python is to take out; or nothing.")
    without = traitlets.Dict(help="What comes next without this head.")
    told = traitlets.Unicode(help="What Python says of the text or the head.")

    _model: Any = None

    @property
    def last(self) -> int:
        """The last position of the prompt on show; 0 where there is no such prompt."""
        found = self.prompts[self.prompt : self.prompt + 1]
        return len(found[0]["tokens"]) - 1 if found else 0

    @traitlets.observe("asked")
    def _read(self, change: dict[str, Any]) -> None:
        if self._model is None or not change["new"].strip():
            return
        length = len(self._model.tokenizer.encode(change["new"]))
        if length > MOST_TOKENS:
            self.told = f"A text must have at most {MOST_TOKENS} tokens, got {length}."
            self.asked = ""
            return
        # Imported here: it needs torch, which this package must not load.
        from course_utils.widgets.forward_pass.forward_pass_data import prompt_data

        own = prompt_data(self._model, "your text", change["new"])
        recorded = [one for one in self.prompts if one["name"] != own["name"]]
        with self.hold_sync():
            self.prompts, self.prompt = [*recorded, own], len(recorded)
            self.position, self.removed, self.told, self.asked = self.last, [], "", ""

    @traitlets.observe("removed")
    def _take_out(self, change: dict[str, Any]) -> None:
        if self._model is None or not change["new"]:
            return
        from course_utils.widgets.forward_pass.forward_pass_data import without_head

        prompt, layer, head = change["new"]
        every = [one["ids"] for one in self.prompts if one["name"] != "your text"]
        found = without_head(self._model, every, self.prompts[prompt]["ids"], layer, head)
        self.without = {"removed": [prompt, layer, head], **found}

    def __repr__(self) -> str:
        return (
            f"ForwardPass({len(self.prompts)} prompts, prompt={self.prompt}, layer={self.layer}, "
            f"head={self.head}, position={self.position})"
        )


def forward_pass(
    record: Mapping[str, Any],
    *,
    model: Any = None,
    prompt: int = 0,
    layer: int = START[0],
    head: int = START[1],
    position: int | None = None,
    predicted: int | None = None,
) -> ForwardPass:
    """Show a forward pass of a released model: all heads, one head, the lens and the next words.

    Args:
        record: As ``course_utils.measure.read_record("chapter_20_forward_pass")`` returns it.
        model: What ``course_utils.models.released.model()`` returns; with it the reader may write
            a text, and take a head out.
        prompt: Which of the record's prompts is shown at first, from 0.
        layer: The chosen layer, from 0.
        head: The chosen head, from 0.
        position: The chosen position, from 0; None is the prompt's last.
        predicted: The layer from which most heads rest, as the reader named it; None asks.
    """
    settings = record["settings"]
    made = ForwardPass(
        prompts=[
            {name: run[name] for name in ("name", "ids", "tokens", "data")}
            for run in record["runs"]
        ],
        packing={name: settings[name] for name in KEPT},
        layers=settings["layers"],
        heads=settings["heads"],
        resting=settings["resting"],
        prompt=prompt,
        layer=layer,
        head=head,
        position=0,
        predicted=-1 if predicted is None else predicted,
        live=model is not None,
    )
    made.position = made.last if position is None else position
    made._model = model
    return made
