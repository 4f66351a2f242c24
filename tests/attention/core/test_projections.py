import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.attention import project_qkv, split_fused_qkv
from tests.support import assert_same_function, draw

LEADING = [(), (2,), (2, 4)]


def inputs(leading: tuple[int, ...], length: int = 5) -> tuple[Tensor, ...]:
    shapes = ((*leading, length, 4), (4, 3), (4, 3), (4, 6))
    return tuple(draw(*shape, seed=i) for i, shape in enumerate(shapes))


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.peer(
    "04", "`project_qkv`", "`F.linear`", "float64 1e-7", "queries, keys, values, gradients"
)
def test_projections_agree_with_torch_s_linear(leading, length) -> None:
    def theirs(x: Tensor, *matrices: Tensor) -> tuple[Tensor, ...]:
        return tuple(F.linear(x, W.T) for W in matrices)

    assert_same_function(project_qkv, theirs, inputs(leading, length))


def test_one_fused_product_equals_three_separate_ones_in_every_head() -> None:
    x, (W_q, W_k, W_v) = draw(2, 5, 6), (draw(6, 6, seed=i) for i in range(3))
    fused = split_fused_qkv(x @ torch.cat([W_q, W_k, W_v], dim=1), num_heads=3)
    separate = project_qkv(x, W_q, W_k, W_v)
    for all_heads, whole in zip(fused, separate, strict=True):
        for head in range(3):
            torch.testing.assert_close(all_heads[:, head], whole[..., 2 * head : 2 * head + 2])


def test_the_split_has_the_layout_of_torch_s_in_proj_weight() -> None:
    mha = torch.nn.MultiheadAttention(6, 3, bias=False, batch_first=True, dtype=torch.float64)
    x = draw(2, 5, 6)
    query, key, value = split_fused_qkv(F.linear(x, mha.in_proj_weight), 3)
    heads = F.scaled_dot_product_attention(query, key, value)
    out = mha.out_proj(heads.transpose(1, 2).flatten(-2))
    torch.testing.assert_close(out, mha(x, x, x)[0])


def test_the_split_copies_nothing() -> None:
    qkv = draw(2, 5, 18)
    for part in split_fused_qkv(qkv, 3):
        assert part.untyped_storage().data_ptr() == qkv.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: split_fused_qkv(torch.zeros(5, 18), 4),
            ValueError,
            r"width of qkv must be a multiple of 3 \* num_heads = 12, got 18",
        ),
        (lambda: split_fused_qkv(torch.zeros(5, 0), 2), ValueError, "multiple of .* = 6, got 0"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
