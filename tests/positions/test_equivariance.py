import pytest
import torch
from torch import nn

from course_utils.attention import MultiHeadAttention
from course_utils.positions import is_permutation_equivariant, sinusoidal_encoding
from tests.support import draw

SHUFFLED = torch.tensor([3, 0, 4, 1, 2])


@pytest.fixture
def attention() -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(8, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_attention_without_positions_only_shuffles(attention, dtype) -> None:
    assert is_permutation_equivariant(attention.to(dtype), draw(3, 5, 8, dtype=dtype), SHUFFLED)


def test_a_causal_mask_makes_a_difference(attention) -> None:
    mask = torch.ones(5, 5).tril().bool()
    x = draw(3, 5, 8, dtype=torch.float32)
    assert not is_permutation_equivariant(lambda y: attention(y, attn_mask=mask), x, SHUFFLED)


def test_positions_added_along_the_right_axis_make_a_difference(attention) -> None:
    x, pe = draw(3, 5, 8, dtype=torch.float32), sinusoidal_encoding(9, 8)
    assert not is_permutation_equivariant(lambda y: attention(y + pe[:5]), x, SHUFFLED)


def test_positions_added_along_the_batch_go_unnoticed_by_the_model(attention) -> None:
    x, pe = draw(3, 5, 8, dtype=torch.float32), sinusoidal_encoding(9, 8)
    assert is_permutation_equivariant(lambda y: attention(y + pe[: len(y), None]), x, SHUFFLED)


@pytest.mark.parametrize("layer", [nn.Identity(), lambda x: x.mean(1, keepdim=True).expand_as(x)])
def test_layers_that_treat_all_tokens_alike_pass(layer) -> None:
    assert is_permutation_equivariant(layer, draw(2, 5, 3), SHUFFLED)


@pytest.mark.parametrize(
    "layer", [lambda x: x.sort(1).values, lambda x: x.cumsum(1), lambda x: x.roll(1, 1)]
)
def test_layers_that_use_the_order_fail(layer) -> None:
    assert not is_permutation_equivariant(layer, draw(2, 5, 3), SHUFFLED)


def test_the_given_permutation_is_the_one_tried() -> None:
    shifted = torch.arange(5).roll(2)
    assert is_permutation_equivariant(lambda x: x + x.roll(1, 1), draw(2, 5, 3), shifted)


def test_the_answer_is_python_s_bool() -> None:
    assert is_permutation_equivariant(nn.Identity(), draw(2, 5, 3), SHUFFLED) is True
    assert is_permutation_equivariant(lambda x: x.cumsum(1), draw(2, 5, 3), SHUFFLED) is False


@pytest.mark.parametrize(
    ("x", "permutation", "error", "says"),
    [
        (torch.zeros(2, 4, 3), SHUFFLED, ValueError, "each of 0 to 3 once, got"),
        (torch.zeros(2, 5, 3), torch.tensor([0, 0, 1, 2, 3]), ValueError, "each of 0 to 4 once"),
    ],
)
def test_wrong_arguments_are_refused(x, permutation, error, says) -> None:
    with pytest.raises(error, match=says):
        is_permutation_equivariant(nn.Identity(), x, permutation)
