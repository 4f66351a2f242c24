"""What chapter 05's exercises say beyond the laws that hold for all."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import merge_heads, split_heads
from course_utils.checking.judge import judge
from course_utils.exercises import find


def test_a_number_in_the_wrong_place_is_told_with_both_places() -> None:
    def every_second_feature(x: Tensor, num_heads: int) -> Tensor:
        heads = split_heads(x, num_heads)
        return torch.cat([heads[..., ::2], heads[..., 1::2]], -1)

    report = judge(find("split_heads"), every_second_feature)
    assert report.status == "broken_property"
    assert "At [0, 0, 0, 1] of the heads must stand the number at [0, 0, 1]" in report.says
    assert "it is the one at [0, 0, 2]" in report.says


def test_a_number_that_was_not_given_is_told() -> None:
    report = judge(find("merge_heads"), lambda heads: merge_heads(heads) + 1.0)
    assert "a number that the input does not hold" in report.says


def test_torch_s_attention_may_stand_in_the_heads_but_not_for_all_of_them() -> None:
    def one_call(q, k, v, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):  # type: ignore[no-untyped-def]
        hidden = None
        if attn_mask is not None:
            shape = (len(q), num_heads, q.shape[1], k.shape[1])
            hidden = ~attn_mask.expand(shape).flatten(0, 1)
        out, _ = F.multi_head_attention_forward(
            *(x.transpose(0, 1) for x in (q, k, v)),
            embed_dim_to_check=len(W_q),
            num_heads=num_heads,
            in_proj_weight=torch.cat([W_q, W_k, W_v], 1).mT,
            in_proj_bias=None,
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.0,
            out_proj_weight=W_o.mT,
            out_proj_bias=None,
            need_weights=False,
            attn_mask=hidden,
        )
        return out.transpose(0, 1)

    report = judge(find("multi_head_attention"), one_call)
    assert report.misconception == "PyTorch's own multi-head attention inside"


@pytest.mark.thorough
def test_a_layer_made_inside_is_no_random_number_in_the_output() -> None:
    """`nn.Linear` draws its first weights, but here they are replaced: the transpose is named."""

    def with_layers(q, k, v, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):  # type: ignore[no-untyped-def]
        layer = torch.nn.Linear(*W_o.shape, bias=False, dtype=W_o.dtype)
        layer.weight.data = W_o
        parts = (split_heads(x @ w, num_heads) for x, w in ((q, W_q), (k, W_k), (v, W_v)))
        return layer(merge_heads(F.scaled_dot_product_attention(*parts, attn_mask=attn_mask)))

    report = judge(find("multi_head_attention"), with_layers)
    assert report.misconception == "a matrix transposed"


@pytest.mark.parametrize("number", [0.05, 0.7, 2.0])
def test_any_other_scale_is_named(number: float) -> None:
    def scaled(q, k, v, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):  # type: ignore[no-untyped-def]
        q, k, v = (split_heads(x @ w, num_heads) for x, w in ((q, W_q), (k, W_k), (v, W_v)))
        return merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask, scale=number)) @ W_o

    report = judge(find("multi_head_attention"), scaled)
    assert report.misconception == "another scale than 1/√d_k"


def test_a_position_that_no_head_may_fill_must_be_zero() -> None:
    law = find("multi_head_attention").properties[0]
    case = next(c for c in find("multi_head_attention").cases if "empty row" in c.name)
    args = case.arguments(0)
    assert law.broken(args, torch.zeros_like(args[0])) is None
    assert "At [0, 3] no head may see a key" in str(law.broken(args, torch.ones_like(args[0])))
