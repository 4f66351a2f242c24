import pytest
import torch

from course_utils.data import CharacterText, character_text, random_windows
from course_utils.models import (
    CharacterModel,
    next_character_loss,
    train_character_model,
    weight_on_previous,
)


def small_model(seed: int = 0, d_k: int = 24, length: int = 8, **options: object) -> CharacterModel:
    torch.manual_seed(seed)
    return CharacterModel(num_characters=11, length=length, d_k=d_k, d_model=20, **options)  # type: ignore[arg-type]


def cyclic_text() -> CharacterText:
    tokens = torch.arange(2000) % 11
    return CharacterText(train=tokens[:1500], validation=tokens[1500:])


def test_logits_have_one_row_for_each_position() -> None:
    assert small_model()(torch.zeros(3, 7, dtype=torch.long)).shape == (3, 7, 11)


def test_a_later_character_changes_nothing_before_it() -> None:
    model = small_model()
    tokens = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(1))
    changed = tokens.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 11
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(after[:, :5], before[:, :5])
    assert not torch.allclose(after[:, 5:], before[:, 5:])


def test_weights_are_those_the_output_uses() -> None:
    model = small_model()
    tokens = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(1))
    weights = model.weights(tokens)
    stream, query, key = model._read(tokens)
    value = model.value(model.norm_in(stream))
    torch.testing.assert_close(weights @ value, model._attend(query, key, value))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 8))
    assert torch.equal(weights, weights.tril())


@pytest.mark.parametrize(("start", "spread"), [("unit variance", 1.0), ("gpt", 0.02 * 64**0.5)])
def test_queries_and_keys_start_with_the_spread_that_is_said(start: str, spread: float) -> None:
    torch.manual_seed(0)
    model = CharacterModel(num_characters=96, length=16, d_k=256, start=start)  # type: ignore[arg-type]
    tokens, _ = random_windows(character_text().train, 16, 64, torch.Generator().manual_seed(0))
    _, query, key = model._read(tokens)
    assert query.std().item() == pytest.approx(spread, rel=0.05)
    assert key.std().item() == pytest.approx(spread, rel=0.05)


def test_start_changes_the_query_and_key_matrices_and_nothing_else() -> None:
    unit, small = small_model(), small_model(start="gpt")
    other = {
        name for name, tensor in unit.state_dict().items()
        if not torch.equal(tensor, small.state_dict()[name])
    }  # fmt: skip
    assert other == {"query.weight", "key.weight"}


def test_scale_multiplies_the_scores() -> None:
    tokens = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(1))
    default, explicit = small_model(), small_model(scale=24**-0.5)
    torch.testing.assert_close(default.weights(tokens), explicit.weights(tokens))
    flat = small_model(scale=0.0).weights(tokens)
    torch.testing.assert_close(flat[0, 3, :4], torch.full((4,), 0.25))


@pytest.mark.thorough
def test_training_learns_a_text_that_has_a_rule() -> None:
    model, text = small_model(), cyclic_text()
    before = next_character_loss(model, text.validation, windows=20)
    losses = train_character_model(model, text, steps=60, seed=0, batch=16)
    assert len(losses) == 60
    assert next_character_loss(model, text.validation, windows=20) < 0.1 < before


def test_training_is_the_same_for_the_same_seed_and_leaves_the_global_one_alone() -> None:
    runs = []
    for _ in range(2):
        model = small_model()
        state = torch.get_rng_state()
        runs.append(train_character_model(model, cyclic_text(), steps=5, seed=3, batch=4))
        assert torch.equal(torch.get_rng_state(), state)
    assert runs[0] == runs[1]


def test_progress_sees_every_step() -> None:
    seen: list[int] = []
    model = small_model()
    train_character_model(
        model,
        cyclic_text(),
        steps=4,
        seed=0,
        batch=2,
        progress=lambda steps: (seen.append(step) or step for step in steps),  # type: ignore[func-returns-value]
    )
    assert seen == [0, 1, 2, 3]


def test_an_untrained_model_knows_nothing_much() -> None:
    loss = next_character_loss(small_model(), cyclic_text().validation, windows=20)
    assert loss > 2.0  # a uniform guess over 11 characters costs log 11 = 2.40


def test_an_unknown_start_is_refused() -> None:
    with pytest.raises(ValueError, match=r"start must be one of .*, got 'small'"):
        small_model(start="small")


def test_a_text_with_too_few_windows_is_refused() -> None:
    with pytest.raises(ValueError, match="70 windows need 561 characters, got 500"):
        next_character_loss(small_model(), cyclic_text().validation, windows=70)


def test_flat_weights_put_on_the_previous_character_what_is_left_for_each() -> None:
    model = small_model(scale=0.0)
    expected = sum(1 / seen for seen in range(2, 9)) / 7
    assert weight_on_previous(model, cyclic_text().validation, 20) == pytest.approx(expected)
