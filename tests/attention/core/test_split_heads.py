import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from course_utils.attention import ablate_heads, merge_heads, split_heads
from course_utils.checking.inputs import normal


def draw(*shape: int) -> Tensor:
    return normal(torch.Generator().manual_seed(1), *shape)


def test_head_h_owns_its_own_channels_of_every_position() -> None:
    x = draw(2, 5, 12)
    heads = split_heads(x, 3)
    assert heads.shape == (2, 3, 5, 4)
    for h in range(3):
        torch.testing.assert_close(heads[:, h], x[..., 4 * h : 4 * h + 4], rtol=0, atol=0)


@given(
    st.integers(0, 3), st.integers(0, 4), st.integers(1, 4), st.integers(1, 5), st.integers(0, 99)
)
@settings(deadline=None, max_examples=50)
def test_merging_undoes_splitting(
    batch: int, length: int, num_heads: int, d_k: int, seed: int
) -> None:
    x = normal(torch.Generator().manual_seed(seed), batch, length, num_heads * d_k)
    assert torch.equal(merge_heads(split_heads(x, num_heads)), x)


def test_a_stream_that_does_not_lie_row_by_row_is_split_too() -> None:
    x = draw(12, 5, 2).permute(2, 1, 0)
    assert torch.equal(merge_heads(split_heads(x, 4)), x)


def test_all_heads_kept_is_the_plain_output_and_none_kept_is_zero() -> None:
    heads, w_o = draw(2, 3, 5, 4), draw(12, 7)
    plain = merge_heads(heads) @ w_o
    torch.testing.assert_close(ablate_heads(heads, w_o, torch.ones(3, dtype=torch.bool)), plain)
    none = ablate_heads(heads, w_o, torch.zeros(3, dtype=torch.bool))
    assert torch.equal(none, torch.zeros(2, 5, 7, dtype=torch.float64))


def test_heads_contribute_independently_of_each_other() -> None:
    heads, w_o = draw(2, 3, 5, 4), draw(12, 12)
    alone = [ablate_heads(heads, w_o, torch.arange(3) == h) for h in range(3)]
    torch.testing.assert_close(sum(alone), merge_heads(heads) @ w_o)


def test_a_head_that_is_left_out_may_hold_nan() -> None:
    heads, w_o = draw(2, 3, 5, 4), draw(12, 12)
    heads[:, 1] = torch.nan
    assert ablate_heads(heads, w_o, torch.tensor([True, False, True])).isfinite().all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: split_heads(draw(3, 4), 2), ValueError, r"axes \(B, L, d_model\), got shape"),
        (lambda: merge_heads(draw(3, 4, 5)), ValueError, r"axes \(B, H, L, d_k\)"),
        (
            lambda: ablate_heads(draw(2, 3, 5, 4), draw(4, 12), torch.ones(3).bool()),
            ValueError,
            "W_o must have 12 rows",
        ),
    ],
)
def test_bad_input_is_refused_with_what_must_hold(
    call: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()  # type: ignore[operator]
