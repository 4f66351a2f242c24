from typing import Any

import pytest
import torch

from course_utils.attention import causal_mask
from course_utils.data import END, PAD, START, DateTokens, repeat_pairs, sample_dates
from course_utils.measure import read_record
from course_utils.models import (
    OneStream,
    Transformer,
    beam_search,
    stream_mask,
    transformer_masks,
    write_all,
)
from course_utils.models.recurrent.seq2seq_training import sequence_loss
from course_utils.models.training import descend

SOURCE = torch.tensor([[4, 5, 6, PAD], [7, PAD, 8, 9]])
TARGET = torch.tensor([[START, 5, 6, END], [START, 4, END, PAD]])
SIZES = {"d_model": 12, "num_heads": 3, "max_length": 9}
KINDS = ["whole", "bert", "gpt", "prefix"]


def model(kind: str = "whole", **options: Any) -> Any:
    torch.manual_seed(0)
    if kind == "whole":
        return Transformer(10, 11, **SIZES, **options)
    return OneStream(10, 11, kind, **SIZES, **options)


def test_the_three_masks_by_hand() -> None:
    encoder, decoder, cross = transformer_masks(SOURCE, TARGET, PAD)
    assert encoder.flatten(1).tolist() == [[True] * 3 + [False], [True, False, True, True]]
    assert torch.equal(cross, encoder)
    assert torch.equal(decoder[0, 0], causal_mask(4, 4))
    assert torch.equal(decoder[1, 0], causal_mask(4, 4) & torch.tensor([True, True, True, False]))


@pytest.mark.parametrize("kind", ["bert", "gpt", "prefix"])
def test_the_mask_of_one_stream_position_by_position(kind: str) -> None:
    mask = stream_mask(SOURCE, 3, kind, PAD)
    assert mask.shape == (2, 1, 7, 7)
    for b in range(2):
        for query in range(7):
            for key in range(7):
                later = key > query and (kind == "gpt" or (kind == "prefix" and key >= 4))
                padding = key < 4 and int(SOURCE[b, key]) == PAD
                wanted = not padding and not (later and kind != "bert")
                assert bool(mask[b, 0, query, key]) == wanted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pre_norm", [True, False])
def test_padding_has_no_influence_and_the_future_none_but_in_bert(kind, pre_norm) -> None:
    made = model(kind, pre_norm=pre_norm).double()
    logits = made(SOURCE, TARGET)
    assert logits.shape == (2, 3, 11)
    longer = torch.nn.functional.pad(SOURCE, (0, 2), value=PAD)
    if kind == "whole":  # in one stream the target's places move
        torch.testing.assert_close(made(longer, TARGET), logits)
    later = TARGET.clone()
    later[:, 2] = 9
    torch.testing.assert_close(made(SOURCE, later)[:, :2], logits[:, :2], rtol=0, atol=1e-14)
    other = SOURCE.clone()
    other[:, 0] = 3
    assert not torch.allclose(made(other, TARGET)[:, 0], logits[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_writing_is_what_teacher_forcing_says_step_by_step(kind: str) -> None:
    made = model(kind).double()
    tokens = made.write(SOURCE, 5).tokens
    assert tokens.shape[0] == 2
    fed = torch.cat((torch.full((2, 1), START), tokens), dim=1)
    likeliest = made(SOURCE, fed).argmax(-1) if tokens.shape[1] == 5 else None
    for row in range(2):
        for place, token in enumerate(tokens[row].tolist()):
            if likeliest is not None:
                assert token == int(likeliest[row, place])
            if token == END:
                break


def test_the_weights_are_the_decoder_s_look_at_the_source() -> None:
    made = model(num_layers=(1, 2))
    weights = made.weights(SOURCE, TARGET)
    assert [one.shape for one in weights] == [(2, 3, 3, 4)] * 2
    assert float(weights[0][0, :, :, 3].abs().max()) == 0.0
    assert made.write(SOURCE, 5).weights.shape[::2] == (2, 4)


def test_a_beam_of_one_writes_what_greedy_decoding_does() -> None:
    made = model().double()
    greedy = made.write(SOURCE[:1], 5).tokens[0].tolist()
    tokens, _ = beam_search(made.step(SOURCE[:1]), START, END, 1, 5)
    assert tokens == greedy
    wider, better = beam_search(made.step(SOURCE[:1]), START, END, 200, 2, 1.0)
    assert better >= beam_search(made.step(SOURCE[:1]), START, END, 1, 2, 1.0)[1]
    assert len(wider) <= 2


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_to_copy(kind: str) -> None:
    made, generator = model(kind), torch.Generator().manual_seed(0)

    def loss() -> torch.Tensor:
        pairs = repeat_pairs(torch.full((16,), 3), generator, num_symbols=6)
        return sequence_loss(made(pairs.source, pairs.target), pairs.target)

    optimiser = torch.optim.Adam(made.parameters())
    losses = descend(made, loss, optimiser, steps=150, learning_rate=6e-3)
    assert losses[-1] < 0.6 * losses[0]
    pairs = repeat_pairs(torch.full((4,), 3), generator, num_symbols=6)
    assert write_all(made, pairs).tokens.shape == (4, 4)


def test_the_parts_of_the_published_trial_are_counted() -> None:
    def count(**sizes: Any) -> int:
        made = Transformer(337, 15, d_model=64, num_heads=4, **sizes)
        return sum(parameter.numel() for parameter in made.parameters())

    assert count() == 148_687
    assert count(num_layers=(2, 2)) == 265_423


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: model(num_layers=(1, 1, 1)), ValueError, "num_layers must be two numbers"),
        (lambda: OneStream(9, 9, "t5", **SIZES), ValueError, "kind must be one of"),
        (lambda: model()(SOURCE, TARGET[:, :1]), ValueError, "START and a symbol"),
        (lambda: model("bert")(SOURCE, TARGET + 9), ValueError, "target must lie between"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()


@pytest.mark.thorough
def test_the_recorded_models_have_the_parameters_of_today() -> None:
    record = read_record("chapter_11_dates")
    settings = record["settings"]
    tokens = DateTokens.of(sample_dates(settings["pairs"], torch.Generator().manual_seed(0)))
    alphabets = len(tokens.source), len(tokens.target)
    sizes = {name: settings[name] for name in ("d_model", "num_heads", "d_ff")}
    for run in record["runs"]:
        name = run["model"]
        if "+" in name:
            layers = tuple(map(int, name.split(" + ")))
            made = Transformer(*alphabets, **sizes, num_layers=layers)
        else:
            made = OneStream(*alphabets, name, **sizes, num_layers=2)
        assert run["parameters"] == sum(one.numel() for one in made.parameters()), name
