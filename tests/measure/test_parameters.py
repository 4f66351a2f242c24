import pytest
import torch

from course_utils.measure import mha_parameters, qkv_parameters


def learned(*modules: torch.nn.Module) -> int:
    return sum(p.numel() for module in modules for p in module.parameters())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", [(10, 3, 4, 5), (7, 1, 2, 3), (6, 4, 5, 5), (1, 1, 1, 1)])
def test_qkv_agrees_with_building_every_head(sizes, bias) -> None:
    d_model, num_heads, d_k, d_v = sizes
    heads = [
        torch.nn.Linear(d_model, width, bias=bias)
        for _ in range(num_heads)
        for width in (d_k, d_k, d_v)
    ]
    assert qkv_parameters(*sizes, bias) == learned(*heads)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("d_model", "heads"), [(12, 1), (12, 3), (12, 12), (20, 4)])
@pytest.mark.peer(
    "04", "`qkv_parameters`, `mha_parameters`", "`nn.MultiheadAttention`", "equal", "counts"
)
def test_parameters_are_those_of_torch_s_modules(d_model, heads, bias) -> None:
    whole, width = torch.nn.MultiheadAttention(d_model, heads, bias=bias), d_model // heads
    assert mha_parameters(d_model, heads, bias) == learned(whole)
    want = learned(whole) - learned(whole.out_proj)
    assert qkv_parameters(d_model, heads, width, width, bias) == want


def test_a_count_is_an_int() -> None:
    assert type(qkv_parameters(4, 2, 2, 2, True)) is int
    assert type(mha_parameters(4, 2, True)) is int


def test_bad_sizes_are_named() -> None:
    with pytest.raises(ValueError, match="divide d_model, got 4 heads and a width of 10"):
        mha_parameters(10, 4, True)
