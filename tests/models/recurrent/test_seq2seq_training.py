import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.data import END, PAD
from course_utils.models import (
    FixedContext,
    Seq2Seq,
    field_mass,
    sequence_loss,
    source_gradients,
    token_accuracy,
    train_seq2seq,
    write_all,
)
from tests.models.recurrent.small_seq2seq import ALL, SYMBOLS, model, some_pairs


def test_the_loss_is_the_mean_over_real_symbols() -> None:
    pairs, seq2seq = some_pairs(), model()
    logits = seq2seq(pairs.source, pairs.target)
    chances = logits.log_softmax(dim=-1)
    picked = [
        chances[row, place, symbol].item()
        for row, target in enumerate(pairs.target[:, 1:].tolist())
        for place, symbol in enumerate(target)
        if symbol != PAD
    ]
    assert sequence_loss(logits, pairs.target).item() == pytest.approx(-sum(picked) / len(picked))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["fixed", "dot", "luong"])
def test_training_learns_to_say_one_or_two_symbols_again(kind: str) -> None:
    seq2seq = ALL[kind]()
    pairs = some_pairs((1, 2) * 200, reverse=True)
    losses = train_seq2seq(seq2seq, pairs, steps=250, seed=0, batch=16, learning_rate=2e-2)
    fresh = some_pairs((2,) * 30, seed=1, reverse=True)
    assert sum(losses[-20:]) / 20 < 0.3 < 1.5 < losses[0]
    assert token_accuracy(write_all(seq2seq, fresh).tokens, fresh.target) > 0.85


def test_training_is_the_same_for_the_same_seed_and_leaves_the_global_one_alone() -> None:
    runs = []
    for _ in range(2):
        seq2seq, state = model(), torch.get_rng_state()
        runs.append(train_seq2seq(seq2seq, some_pairs((2, 3, 4)), steps=4, seed=1, batch=2))
        assert torch.equal(torch.get_rng_state(), state)
    assert runs[0] == runs[1]


def test_an_epoch_shows_each_pair_once() -> None:
    pairs, shown = some_pairs((1, 2, 3, 4, 5, 6)), []

    class Watching(Seq2Seq):
        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            shown.extend((source != PAD).sum(dim=1).tolist())
            return super().forward(source, target)

    watching = Watching(num_source=SYMBOLS, num_target=SYMBOLS, context=FixedContext())
    train_seq2seq(watching, pairs, steps=9, seed=0, batch=2)
    assert sorted(shown[:6]) == sorted(shown[6:12]) == [1, 2, 3, 4, 5, 6]
    assert sorted(shown[12:]) == [1, 2, 3, 4, 5, 6]


def test_progress_sees_every_step() -> None:
    seen: list[int] = []
    train_seq2seq(
        model(), some_pairs(), steps=3, seed=0, batch=2,
        progress=lambda steps: (seen.append(step) or step for step in steps),  # type: ignore[func-returns-value]
    )  # fmt: skip
    assert seen == [0, 1, 2]


def test_fewer_pairs_than_a_batch_are_refused() -> None:
    with pytest.raises(ValueError, match="pairs must fill a batch of 4, got 3"):
        train_seq2seq(model(), some_pairs(), steps=1, seed=0, batch=4)


def test_token_accuracy_counts_symbols_and_neither_marks_nor_padding() -> None:
    target = torch.tensor([[1, 5, 6, END, PAD], [1, 7, 4, 8, END]])
    predicted = torch.tensor([[5, 4, END, 9], [7, 4, 8, 8]])
    assert token_accuracy(predicted, target) == pytest.approx(4 / 5)


def test_gradients_are_those_of_finite_differences() -> None:
    seq2seq, pairs = model().double(), some_pairs((4, 4))
    strengths = source_gradients(seq2seq, pairs, position=1)
    embedded = seq2seq.encoder.embed(pairs.source).detach()

    def loss(vectors: Tensor) -> Tensor:
        read = seq2seq.encoder.read(vectors, pairs.source_mask)
        logits = seq2seq.teach(read, pairs.target[:, :3])[:, 1]
        return F.cross_entropy(logits, pairs.target[:, 2], reduction="sum")

    slopes = torch.zeros(8, dtype=torch.float64)
    for feature in range(8):
        nudge = torch.zeros_like(embedded)
        nudge[1, 2, feature] = 1e-5
        slopes[feature] = (loss(embedded + nudge) - loss(embedded - nudge)) / 2e-5
    torch.testing.assert_close(strengths[1, 2], slopes.norm(), rtol=1e-6, atol=1e-9)


def test_attention_carries_more_gradient_to_the_first_of_many_symbols() -> None:
    pairs = some_pairs((30,) * 8)
    fixed = source_gradients(model(FixedContext(), bidirectional=False), pairs)[:, 0].mean()
    attending = source_gradients(model(bidirectional=False), pairs)[:, 0].mean()
    assert attending > 10 * fixed > 0


@pytest.mark.parametrize("position", [-1, 4, 7])
def test_a_position_beyond_a_target_is_refused(position: int) -> None:
    with pytest.raises(ValueError, match=f"position must lie within every target, got {position}"):
        source_gradients(model(), some_pairs((2, 6)), position)


def test_field_mass_is_the_share_inside_over_rows_that_have_a_field() -> None:
    weights = torch.tensor([[[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]])
    mask = torch.tensor([[[True, False], [False, False]]])
    assert field_mass(weights, mask) == pytest.approx(0.25)
