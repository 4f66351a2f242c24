import pytest
import torch

from course_utils.attention import causal_mask
from course_utils.models import PositionedTransformer, SmallTransformer
from course_utils.positions import (
    AlibiPositions,
    DebertaPositions,
    LearnedPositions,
    PositionScheme,
    RotaryPositions,
    ShawPositions,
    SinusoidalPositions,
    T5Positions,
    is_permutation_equivariant,
    rope_frequencies,
)

RELATIVE = {
    "DeBERTa": lambda: DebertaPositions(4, 6, 5),
    "Shaw": lambda: ShawPositions(6, 4),
    "T5": lambda: T5Positions(4, bidirectional=True),
    "RoPE": lambda: RotaryPositions(6),
    "RoPE, interleaved": lambda: RotaryPositions(6, pairing="interleaved"),
    "ALiBi": lambda: AlibiPositions(4),
}
ABSOLUTE = {
    "sinusoidal": lambda: SinusoidalPositions(),
    "learned": lambda: LearnedPositions(30, 24, std=1.0),
}
ALL = RELATIVE | ABSOLUTE
SIZES = {"d_model": 24, "num_heads": 4, "num_layers": 2}
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])


def model(scheme: PositionScheme | None) -> PositionedTransformer:
    torch.manual_seed(0)
    return PositionedTransformer(10, **SIZES, positions=scheme).double()


@pytest.mark.parametrize("name", ALL)
def test_every_scheme_is_learned_through_and_answers_in_shape(name) -> None:
    made = model(ALL[name]())
    out = made(TOKENS, causal_mask(7, 7))
    assert out.shape == (2, 7, 10)
    out.square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in made.parameters())


@pytest.mark.parametrize("name", RELATIVE)
def test_relative_schemes_do_not_notice_where_a_sequence_begins(name) -> None:
    made = model(RELATIVE[name]())
    moved = made(TOKENS, positions=torch.arange(7) + 20)
    torch.testing.assert_close(made(TOKENS), moved)


@pytest.mark.parametrize("name", ABSOLUTE)
def test_absolute_schemes_notice_where_a_sequence_begins(name) -> None:
    made = model(ABSOLUTE[name]())
    moved = made(TOKENS, positions=torch.arange(7) + 20)
    assert (made(TOKENS) - moved).abs().max() > 0.01


@pytest.mark.parametrize("name", ALL)
def test_each_sequence_may_have_positions_of_its_own(name) -> None:
    made = model(ALL[name]())
    places = torch.stack((torch.arange(7), torch.arange(7) * 2 + 3))
    both = made(TOKENS, positions=places)
    for row in range(2):
        alone = made(TOKENS[row : row + 1], positions=places[row])
        torch.testing.assert_close(both[row : row + 1], alone)


@pytest.mark.parametrize("name", [None, *ALL])
def test_only_a_model_without_positions_is_blind_to_order(name) -> None:
    made = model(ALL[name]() if name else None)
    shuffled = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    numbers = TOKENS.double().unsqueeze(-1)
    same = is_permutation_equivariant(lambda x: made(x[..., 0].long()), numbers, shuffled)
    assert same is (name is None)


@pytest.mark.parametrize("name", ALL)
def test_a_causal_mask_holds_under_every_scheme(name) -> None:
    made = model(ALL[name]())
    changed = TOKENS.clone()
    changed[:, 5:] = 0
    mask = causal_mask(7, 7)
    torch.testing.assert_close(made(TOKENS, mask)[:, :5], made(changed, mask)[:, :5])


def test_with_learned_positions_it_is_the_small_transformer() -> None:
    torch.manual_seed(1)
    peer = SmallTransformer(10, **SIZES, max_length=30).double()
    made = model(LearnedPositions(30, 24))
    renamed = {
        name.replace("position.weight", "positions.table.weight"): weight
        for name, weight in peer.state_dict().items()
    }
    made.load_state_dict(renamed)
    mask = causal_mask(7, 7)
    torch.testing.assert_close(made(TOKENS, mask), peer(TOKENS, mask))
    torch.testing.assert_close(made.weights(TOKENS, mask), peer.weights(TOKENS, mask))


def test_weights_sum_to_1_and_hide_what_the_mask_hides() -> None:
    for weights in model(ShawPositions(6, 4)).weights(TOKENS, causal_mask(7, 7)):
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 7, dtype=torch.float64))
        assert not weights.triu(1).any()
        assert not weights.requires_grad


def test_the_scheme_may_be_exchanged_after_training() -> None:
    made = model(RotaryPositions(6))
    before = made(TOKENS, positions=torch.arange(7) / 4)
    made.positions = RotaryPositions(6, frequencies=rope_frequencies(6) / 4)
    torch.testing.assert_close(made(TOKENS), before)
