import itertools
import math
import re

import pytest
import torch
from torch import Tensor, nn

from course_utils.data import CharacterText
from course_utils.measure import read_record
from course_utils.models import (
    LengthTask,
    PositionedTransformer,
    copy_task,
    judge_on_task,
    rescaled_rope,
    text_task,
    train_on_task,
)
from course_utils.models.gpt.named_schemes import (
    D_K,
    D_MODEL,
    NUM_HEADS,
    RESCALED,
    TRAINED,
    WINDOW,
)
from course_utils.models.tasks.length_task import IGNORED
from course_utils.positions import RotaryPositions, ntk_base, rope_frequencies, yarn_magnitude


class Oracle(nn.Module):
    """Knows the answer of the copy task, and remembers how much it was shown."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self.offset, self.seen = offset, torch.zeros(0)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        self.seen = tokens
        return 20.0 * nn.functional.one_hot(tokens.roll(self.offset, dims=1), 10)


def small_text() -> CharacterText:
    return CharacterText(torch.arange(90) % 50, torch.arange(70) % 50)


def test_a_copy_target_is_the_symbol_of_three_places_ago() -> None:
    tokens, targets = copy_task(trained=8).draw(torch.Generator().manual_seed(0))
    assert tokens.shape == targets.shape == (16, 8)
    assert (targets[:, :3] == IGNORED).all()
    assert torch.equal(targets[:, 3:], tokens[:, :-3])


def test_a_text_target_is_the_next_character_in_training_and_test() -> None:
    task = text_task(small_text(), trained=8, longest=32, windows=5)
    for tokens, targets in (task.draw(torch.Generator().manual_seed(0)), task.test):
        assert torch.equal(tokens[:, 1:], targets[:, :-1])
        assert torch.equal((tokens[:, -1] + 1) % 50, targets[:, -1])
    assert task.test[0].shape == (5, 32)
    assert (task.num_tokens, task.judged) == (96, 4)
    assert int(task.test[0][0, 0]) == 0
    assert int(task.test[1][-1, -1]) == 69 % 50


def test_the_same_last_tokens_are_judged_at_every_length() -> None:
    task, model = copy_task(trained=8, longest=40), Oracle(3)
    for length in (8, 12, 40):
        loss, right = judge_on_task(model, task, length)
        assert right == 1.0
        assert loss == pytest.approx(math.log1p(9 * math.exp(-20)), abs=1e-6)
        assert torch.equal(model.seen, task.test[0][-len(model.seen) :, -length:])


def test_a_guess_is_right_once_in_ten_times() -> None:
    loss, right = judge_on_task(Oracle(5), copy_task(), 64)
    assert 0.07 < right < 0.13
    assert loss > 15


@pytest.mark.parametrize("length", [15, 257])
def test_a_length_that_cannot_be_judged_is_said(length: int) -> None:
    with pytest.raises(ValueError, match=f"between 16 and 256, got {length}"):
        judge_on_task(Oracle(3), copy_task(), length)


def test_a_text_that_is_too_short_is_said() -> None:
    with pytest.raises(ValueError, match="must hold more than 70 characters, got 70"):
        text_task(small_text(), longest=70)


def small_model(task: LengthTask, scheme: str) -> PositionedTransformer:
    torch.manual_seed(0)
    return PositionedTransformer(
        task.num_tokens, d_model=D_MODEL, num_heads=NUM_HEADS, num_layers=1,
        positions=TRAINED[scheme](task.trained, task.test[0].shape[1]),
    )  # fmt: skip


@pytest.mark.parametrize("scheme", TRAINED)
def test_every_named_scheme_learns_and_reads_eight_times_as_much(scheme: str) -> None:
    task = copy_task(trained=20, longest=160, sequences=4)
    model = small_model(task, scheme)
    window = WINDOW.get(scheme)
    losses = train_on_task(model, task, steps=3, seed=0, window=window)
    assert len(losses) == 3
    assert all(math.isfinite(loss) for loss in losses)
    assert math.isfinite(judge_on_task(model, task, 160, window)[0])


def test_the_same_seed_trains_the_same_model_and_another_does_not() -> None:
    task = copy_task(trained=6, longest=12)
    runs = [
        train_on_task(small_model(task, "RoPE"), task, steps=2, seed=seed) for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_a_window_hides_what_lies_before_it() -> None:
    task = copy_task(trained=6, longest=48)
    model = small_model(task, "RoPE + window")
    near, far = (judge_on_task(model, task, length, window=4)[0] for length in (8, 48))
    assert near == pytest.approx(far, abs=1e-5)
    assert judge_on_task(model, task, 48)[0] != pytest.approx(far, abs=1e-5)


@pytest.mark.parametrize("name", RESCALED)
def test_nothing_is_stretched_at_the_trained_length(name: str) -> None:
    table = rescaled_rope(name, 64, 64).table
    torch.testing.assert_close(table.frequencies, rope_frequencies(D_K))
    assert table.magnitude == 1.0
    assert torch.equal(rescaled_rope(name, 64, 32).table.frequencies, table.frequencies)


def test_each_way_stretches_as_it_is_named() -> None:
    own = rope_frequencies(D_K)
    tables = {name: rescaled_rope(name, 64, 512).table for name in RESCALED}
    torch.testing.assert_close(tables["RoPE + PI"].frequencies, own / 8)
    base = ntk_base(10000.0, D_K, 8)
    torch.testing.assert_close(tables["RoPE + NTK"].frequencies, rope_frequencies(D_K, base))
    assert tables["RoPE + YaRN"].magnitude == yarn_magnitude(8)
    torch.testing.assert_close(tables["RoPE + YaRN"].frequencies[-1], own[-1] / 8)


def test_a_stretched_model_keeps_all_its_parameters() -> None:
    task = copy_task(trained=6, longest=12)
    model = small_model(task, "RoPE")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.positions = rescaled_rope("RoPE + YaRN", 6, 12)
    assert isinstance(model.positions, RotaryPositions)
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_an_unknown_way_is_said() -> None:
    with pytest.raises(ValueError, match=re.escape(f"name must be one of {RESCALED}, got 'RoPE'")):
        rescaled_rope("RoPE", 64, 128)


def test_the_record_holds_every_scheme_of_today_on_both_tasks() -> None:
    record = read_record("chapter_07_positions")
    found = [(run["task"], run["scheme"], run["seed"]) for run in record["runs"]]
    seeds = range(record["settings"]["seeds"])
    wanted = itertools.product(("text", "copy"), (*TRAINED, *RESCALED), seeds)
    assert sorted(found) == sorted(wanted)
    assert record["settings"]["trained"]["copy"] == copy_task().trained
