import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.data import END, FIRST_SYMBOL, PAD
from course_utils.models import Decoder, Encoder, FixedContext, sequence_loss, write_all
from tests.models.recurrent.small_seq2seq import (
    ALL,
    SYMBOLS,
    WIDTH,
    model,
    more_padding,
    some_pairs,
)


@pytest.mark.parametrize("kind", ALL)
def test_teacher_forcing_gives_logits_for_each_symbol_after_the_start(kind: str) -> None:
    pairs = some_pairs()
    assert ALL[kind]()(pairs.source, pairs.target).shape == (3, 7, SYMBOLS)


@pytest.mark.parametrize("kind", ALL)
def test_padding_in_source_and_target_changes_nothing(kind: str) -> None:
    pairs, seq2seq = some_pairs(), ALL[kind]()
    source, target = more_padding(pairs.source), more_padding(pairs.target)
    plain, padded = seq2seq(pairs.source, pairs.target), seq2seq(source, target)
    torch.testing.assert_close(padded[:, : plain.shape[1]], plain)
    torch.testing.assert_close(sequence_loss(padded, target), sequence_loss(plain, pairs.target))
    assert torch.equal(seq2seq.write(source, 6).tokens, seq2seq.write(pairs.source, 6).tokens)


@pytest.mark.parametrize("kind", ALL)
def test_each_sequence_of_a_batch_is_read_by_itself(kind: str) -> None:
    pairs, seq2seq = some_pairs(), ALL[kind]()
    together = seq2seq(pairs.source, pairs.target)
    for row, length in enumerate((3, 6, 1)):
        alone = seq2seq(pairs.source[row : row + 1, :length], pairs.target[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone)


@pytest.mark.parametrize("kind", ALL)
def test_a_later_target_symbol_changes_nothing_before_it(kind: str) -> None:
    pairs, seq2seq = some_pairs((6, 6)), ALL[kind]()
    changed = pairs.target.clone()
    changed[:, 4] = FIRST_SYMBOL + (changed[:, 4] - FIRST_SYMBOL + 1) % 5
    before, after = seq2seq(pairs.source, pairs.target), seq2seq(pairs.source, changed)
    torch.testing.assert_close(after[:, :4], before[:, :4])
    assert not torch.allclose(after[:, 4:], before[:, 4:])


@pytest.mark.parametrize("kind", ALL)
def test_writing_is_teacher_forcing_on_the_models_own_symbols(kind: str) -> None:
    pairs, seq2seq = some_pairs((5, 5)), ALL[kind]()
    written = seq2seq.write(pairs.source, 6).tokens
    fed = torch.cat([pairs.target[:, :1], written], dim=1)
    expected = seq2seq(pairs.source, fed).argmax(dim=-1)
    real = written != PAD
    assert torch.equal(written[real], expected[real])


def test_nothing_but_padding_is_written_after_the_end() -> None:
    class Script(Decoder):
        """Say 4, then the end for the first sequence, and 5 for the second."""

        def step(self, symbol: Tensor, carried: object, memory: object, number: int):  # type: ignore[no-untyped-def]
            said = [4, 4] if number == 0 else [END, 5] if number == 1 else [6, END]
            return F.one_hot(torch.tensor(said), SYMBOLS).float(), carried, None

    seq2seq = model(FixedContext(), decoder=Script)
    seq2seq.predict = torch.nn.Identity()  # type: ignore[assignment]
    written = seq2seq.write(some_pairs((2, 3)).source, 9)
    assert written.tokens.tolist() == [[4, END, PAD], [4, 5, END]]
    assert written.weights is None


def test_the_summary_is_the_last_real_state_of_each_direction() -> None:
    torch.manual_seed(0)
    encoder = Encoder(num_symbols=SYMBOLS, width=WIDTH, embedding=8)
    read = encoder(some_pairs().source)
    for row, length in enumerate((3, 6, 1)):
        forward, backward = read.states[row, length - 1, :6], read.states[row, 0, 6:]
        torch.testing.assert_close(read.summary[row], torch.cat([forward, backward]))
        assert torch.equal(read.states[row, length:], torch.zeros(6 - length, WIDTH))


@pytest.mark.parametrize("kind", ["dot", "additive", "luong"])
def test_alignments_have_a_row_for_each_written_symbol(kind: str) -> None:
    written = write_all(ALL[kind](), some_pairs((3, 6, 1, 4)), batch=3)
    assert written.weights is not None
    assert written.weights.shape[::2] == (4, 6)
    assert written.tokens.shape == (4, 7)
    rows = written.weights.sum(dim=-1)
    torch.testing.assert_close(rows[:, 0], torch.ones(4))
