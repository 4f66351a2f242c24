"""Arguments that `forward_pass` accepts and refuses; what its record holds; answers to the reader.

The answers come from a model of two layers, read from a file of a few kB.
"""

from typing import Any

import pytest
import torch

from course_utils import model_file
from course_utils.measure import read_record
from course_utils.models.released.gguf import gguf_model
from course_utils.models.released.whole_pass import whole_pass
from course_utils.widgets import forward_pass
from course_utils.widgets.forward_pass import forward_pass_data
from tests.models.released.gguf.gguf_files import write_gguf
from tests.widgets.forward_pass import forward_pass_cases as cases

RECORD = read_record(cases.RECORD)
TEXT = "the thing in the"


@pytest.fixture
def released(tmp_path, monkeypatch):
    """Return a small model and its tokenizer."""
    path = write_gguf(tmp_path / "small.gguf")
    monkeypatch.setenv(model_file.ELSEWHERE, str(path))
    monkeypatch.setattr(model_file, "check_model_file", lambda path: None)
    return gguf_model.model()


@pytest.fixture
def record(released):
    """Return a record of the small model: of one prompt."""
    names = ("best", "next", "lens", "entropy", "chance", "weight")
    settings = {name: RECORD["settings"][name] for name in names}
    settings |= {"layers": 2, "heads": 4, "resting": [0, 3]}
    run = forward_pass_data.prompt_data(released, "one", TEXT)
    return {"settings": settings, "runs": [run]}


def test_it_opens_on_the_last_position_and_asks_first() -> None:
    widget = forward_pass(RECORD)
    assert repr(widget) == "ForwardPass(6 prompts, prompt=0, layer=16, head=0, position=13)"
    assert (widget.predicted, widget.live, widget.last) == (-1, False, 13)
    assert forward_pass(RECORD, prompt=1, position=2, predicted=5).predicted == 5


def test_the_record_is_small_and_its_prompts_are_short() -> None:
    assert sum(len(run["data"]) for run in RECORD["runs"]) < 130_000
    assert [len(run["tokens"]) for run in RECORD["runs"]] == [14, 5, 10, 8, 11, 15]
    repeated = RECORD["runs"][2]["ids"]
    assert repeated[:5] == repeated[5:]


def test_the_record_is_packed_as_it_is_read() -> None:
    for run in RECORD["runs"]:
        numbers = cases.unpacked(run, RECORD["settings"])
        length = len(run["tokens"])
        assert numbers.weights.shape == (30, 9, length, length)
        assert (numbers.weights.sum(-1) - 1).abs().max() <= length / 2 / 255 + 1e-6
        assert (numbers.lens_chances.diff(dim=-1) <= 0).all()
        # The last state under the lens is what comes next.
        best = numbers.lens_chances[-1], numbers.next_chances[:, :3]
        torch.testing.assert_close(*best, atol=6e-4, rtol=0)
        assert numbers.lens_words[-1] == [row[:3] for row in numbers.next_words]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"prompt": 6}, r"prompt must be in 0\.\.5, got 6"),
        ({"layer": 30}, r"layer must be in 0\.\.29, got 30"),
        ({"head": -1}, r"head must be in 0\.\.8, got -1"),
        ({"prompt": 1, "position": 5}, r"position must be in 0\.\.4, got 5"),
        ({"predicted": 30}, r"predicted must be in -1\.\.29, got 30"),
    ],
)
def test_what_is_not_there_is_refused_by_name(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        forward_pass(RECORD, **arguments)


def test_a_prompts_numbers_are_those_of_the_pass(released, record) -> None:
    numbers = cases.unpacked(record["runs"][0], record["settings"])
    seen = whole_pass(released.model, released.tokenizer.encode(TEXT))
    torch.testing.assert_close(numbers.weights, seen.weights, atol=0.5 / 255 + 1e-6, rtol=0)
    chances, words = seen.logits.softmax(-1).topk(10)
    torch.testing.assert_close(numbers.next_chances, chances, atol=1e-5, rtol=0)
    assert numbers.next_words[0] == [released.tokenizer.decode([one]) for one in words[0].tolist()]
    with pytest.raises(ValueError, match="text must have at least one token, got none"):
        forward_pass_data.prompt_data(released, "none", "")


def test_a_text_is_read_and_a_second_one_takes_its_place(released, record) -> None:
    widget = forward_pass(record, model=released, layer=1)
    widget.asked = "the thing"
    assert [one["name"] for one in widget.prompts] == ["one", "your text"]
    assert (widget.prompt, widget.position, widget.asked) == (1, widget.last, "")
    widget.asked = "thing"
    assert "".join(widget.prompts[1]["tokens"]) == "thing"
    assert len(widget.prompts) == 2


def test_a_text_that_is_too_long_is_said_to_be_so(released, record) -> None:
    widget = forward_pass(record, model=released, layer=1)
    widget.asked = "z" * 49
    assert widget.told == "A text must have at most 48 tokens, got 49."
    assert len(widget.prompts) == 1
    widget.asked = " "
    assert len(widget.prompts) == 1


def test_a_head_that_is_taken_out_has_its_mean_over_the_recorded_prompts(released, record) -> None:
    widget = forward_pass(record, model=released, layer=1)
    widget.asked = "thing the thing"
    widget.removed = [1, 1, 2]
    assert widget.without["removed"] == [1, 1, 2]
    kept: list[torch.Tensor] = []
    ids = torch.tensor(record["runs"][0]["ids"])
    whole_pass(released.model, ids, lambda layer, out: kept.append(out) or out)

    def edit(layer: int, outputs: torch.Tensor) -> torch.Tensor:
        if layer == 1:
            outputs = outputs.clone()
            outputs[0, 2] = kept[1][0, 2].mean(0)
        return outputs

    tokens = torch.tensor(widget.prompts[1]["ids"])
    after = whole_pass(released.model, tokens, edit).logits.softmax(-1)
    before = whole_pass(released.model, tokens).logits.topk(10).indices
    want = after.gather(-1, before)
    torch.testing.assert_close(torch.tensor(widget.without["same"]), want, atol=1e-5, rtol=0)
    assert [one[1] for one in widget.without["first"]] == [
        round(p, 5) for p in after.amax(-1).tolist()
    ]


def test_without_a_model_nothing_is_read() -> None:
    widget = forward_pass(RECORD)
    widget.asked, widget.removed = "a text", [0, 1, 2]
    assert (len(widget.prompts), widget.without) == (6, {})
