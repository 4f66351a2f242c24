"""The bit tasks ask what they say, and the record is theirs."""

import pytest
import torch

from course_utils.measure import read_record
from course_utils.models.tasks import bit_tasks
from course_utils.models.tasks.bit_tasks import (
    ASK,
    bit_model,
    draw_bits,
    draw_running,
    judge_bits,
    judge_running,
    train_bits,
    train_running,
)


def test_answers_are_those_of_a_count() -> None:
    tokens, answers = draw_bits(6, 50, torch.Generator().manual_seed(3))
    for row, odd, more in zip(tokens.tolist(), *answers.values(), strict=True):
        ones = row[:-1].count(1)
        assert row[-1] == ASK
        assert len(row) == 7
        assert bool(odd) == (ones % 2 == 1)
        assert bool(more) == (ones > 3)


def test_strings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        draw_bits(0, 2, torch.Generator())


def test_the_same_seed_trains_the_same_model_and_leaves_torchs_generator_of_batches_alone() -> None:
    losses = []
    for _ in range(2):
        model = bit_model(3, 1)
        before = torch.get_rng_state()
        losses.append(train_bits(model, "parity", 3, steps=3, seed=1))
        assert torch.equal(before, torch.get_rng_state())
        judge_bits(model, "parity", 3, 8)
    assert losses[0] == losses[1]


def test_a_short_training_learns_the_majority_of_three() -> None:
    model = bit_model(3, 0)
    train_bits(model, "majority", 3, steps=60, seed=0)
    assert judge_bits(model, "majority", 3, 200) == 1.0


def test_running_parities_are_those_of_every_beginning() -> None:
    tokens, parities = draw_running(5, 40, torch.Generator().manual_seed(3))
    for row, found in zip(tokens.tolist(), parities.tolist(), strict=True):
        assert found == [row[: i + 1].count(1) % 2 for i in range(5)]


@pytest.mark.parametrize("written", [True, False])
def test_a_running_parity_is_judged_by_its_last_answer(written: bool) -> None:
    class Right(torch.nn.Module):
        """Answers rightly, and reads what it has written where that is asked."""

        def forward(self, read: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            assert not mask[0, 1:].any()
            assert (read.shape[1] > 4) == written
            if not written:
                answers = read.cumsum(dim=-1) % 2
            else:
                step = read.shape[1] - 5
                last = read[:, -1] if step else torch.zeros(len(read), dtype=torch.long)
                answers = ((last + read[:, step]) % 2)[:, None].expand_as(read)
            return torch.nn.functional.one_hot(answers, 3).float()

    assert judge_running(Right(), 4, written=written, strings=60) == 1.0  # type: ignore[arg-type]


def test_a_running_parity_is_trained_in_place_and_needs_room_for_what_it_writes() -> None:
    for written in (True, False):
        model = bit_model(3, 0, written=2 * written)
        losses = train_running(model, 3, written=written, steps=2, seed=0)
        assert len(losses) == 2
        assert model.position.num_embeddings == 4 + 2 * written


@pytest.mark.parametrize("record", ["chapter_15_parity", "chapter_15_steps"])
def test_the_record_is_of_these_tasks(record: str) -> None:
    settings = read_record(record)["settings"]
    sizes = (settings["d_model"], settings["heads"], settings["layers"])
    assert sizes == (bit_tasks.D_MODEL, bit_tasks.HEADS, bit_tasks.LAYERS)
