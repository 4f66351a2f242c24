import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import (
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
    window_mask,
)
from tests import support
from tests.support import table

LENGTHS = [*support.LENGTHS, (0, 3), (3, 0)]
OFFSETS = [0, 1, 2, 4, 9, -1, -2, -9]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_a_causal_query_sees_keys_up_to_its_own_place(lengths, offset) -> None:
    want = table(*lengths, lambda i, j: j <= i + offset)
    assert torch.equal(causal_mask(*lengths, offset), want)


@pytest.mark.parametrize("window", [1, 2, 3, 50])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_a_window_holds_the_query_s_own_key_and_those_just_before(lengths, offset, window) -> None:
    want = table(*lengths, lambda i, j: j in range(i + offset - window + 1, i + offset + 1))
    assert torch.equal(window_mask(*lengths, window, offset), want)


def test_a_window_as_long_as_the_keys_is_the_causal_mask() -> None:
    assert torch.equal(window_mask(5, 7, 7, 2), causal_mask(5, 7, 2))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_the_first_keys_are_real_and_the_rest_is_padding(dtype) -> None:
    lengths = torch.tensor([4, 0, 2, 5], dtype=dtype)
    mask = padding_mask(lengths, 5)
    assert mask.shape == (4, 1, 1, 5)
    assert torch.equal(mask[:, 0, 0], table(4, 5, lambda b, j: j < int(lengths[b])))


def test_no_sequence_and_no_key_make_empty_masks() -> None:
    assert padding_mask(torch.zeros(0, dtype=torch.long), 3).shape == (0, 1, 1, 3)
    assert padding_mask(torch.zeros(2, dtype=torch.long), 0).shape == (2, 1, 1, 0)


@pytest.mark.parametrize("lengths", [(3, 5), (5, 5), (7, 4), (1, 6)])
def test_is_causal_of_torch_is_offset_0(lengths) -> None:
    g = torch.Generator().manual_seed(0)
    query = torch.randn(2, 3, lengths[0], 4, generator=g, dtype=torch.float64)
    key, value = torch.randn(2, 2, 3, lengths[1], 4, generator=g, dtype=torch.float64)
    with sdpa_kernel(SDPBackend.MATH):
        want = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    got = scaled_dot_product_attention(query, key, value, causal_mask(*lengths))
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: padding_mask(torch.tensor([2, 6]), 5), ValueError, "num_keys = 5, got 6"),
        (lambda: padding_mask(torch.tensor([2, -1]), 5), ValueError, "between 0 and .* got -1"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
