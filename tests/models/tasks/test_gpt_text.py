import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import QuantizedCache
from course_utils.data import ALPHABET, CharacterText, character_text, decode, encode
from course_utils.models import (
    GPT,
    ModelCache,
    TokenText,
    from_gpt2,
    from_llama,
    next_token_loss,
    to_gpt2,
    to_llama,
    token_text,
    train_gpt,
)

LENGTH = 16


def small(num_tokens: int) -> GPT:
    torch.manual_seed(0)
    return GPT(
        num_tokens, d_model=16, num_heads=2, num_layers=1, max_length=LENGTH, positions="rope"
    )


@pytest.fixture(scope="module")
def text() -> TokenText:
    whole = character_text()
    return token_text(CharacterText(whole.train[:15000], whole.validation[:4000]), 160)


def test_both_parts_are_cut_into_the_tokens_of_the_first(text) -> None:
    whole = character_text()
    assert len(text.tokenizer) == 160
    assert text.tokenizer.decode(text.train) == decode(whole.train[:15000].tolist())
    assert text.tokenizer.decode(text.validation) == decode(whole.validation[:4000].tolist())
    assert text.characters_per_token == 4000 / len(text.validation) > 1.2


def test_it_learns_and_a_seed_decides_what(text) -> None:
    model, other = small(160), small(160)
    before = next_token_loss(model, text.validation, LENGTH)
    how = {"steps": 25, "length": LENGTH, "batch": 4}
    losses = train_gpt(model, text.train, seed=0, **how)
    assert losses == train_gpt(other, text.train, seed=0, **how)
    assert losses != train_gpt(small(160), text.train, seed=1, **how)
    assert next_token_loss(model, text.validation, LENGTH) < before - 0.3


def test_the_loss_is_that_of_every_token_in_its_window(text) -> None:
    model, tokens = small(160), text.validation[: 3 * LENGTH + 5]
    losses = [
        F.cross_entropy(model.logits(tokens[None, start:stop])[0, -1], tokens[stop])
        for start in range(0, 3 * LENGTH, LENGTH)
        for stop in range(start + 1, start + LENGTH + 1)
    ]
    want = torch.stack(losses).mean().item()
    assert next_token_loss(model, tokens, LENGTH) == pytest.approx(want, rel=1e-5)


def test_a_cache_does_not_change_the_loss_but_a_rounded_one_does_a_little(text) -> None:
    model = small(160)
    plain = next_token_loss(model, text.validation, LENGTH)
    kept = next_token_loss(model, text.validation, LENGTH, model.new_cache)
    rounded = next_token_loss(
        model, text.validation, LENGTH,
        lambda batch: ModelCache([QuantizedCache(batch, 2, LENGTH, 8)]),
    )  # fmt: skip
    assert kept == pytest.approx(plain, rel=1e-6)
    assert 0 < abs(rounded - plain) < 0.01


def test_a_text_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(ValueError, match="the text must have more than 16 tokens, got 16"):
        next_token_loss(small(len(ALPHABET)), encode("a" * 16), LENGTH)


@pytest.mark.parametrize("rename", [from_gpt2, to_gpt2, from_llama, to_llama])
def test_weights_of_another_model_are_refused(rename) -> None:
    with pytest.raises(ValueError, match=r"of the model to rename, got also 'encoder.weight'"):
        rename({"encoder.weight": torch.zeros(1)})


def test_a_llama_with_biases_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"without biases, got 'model.layers.0.self_attn.q_proj.bias'"
    ):
        from_llama({"model.layers.0.self_attn.q_proj.bias": torch.zeros(1)})
