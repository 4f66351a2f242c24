"""Messages of chapter 05's exercises beyond the laws that hold for all."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import merge_heads, split_heads
from course_utils.checking.judge import judge
from course_utils.exercises import find


def test_a_number_in_the_wrong_place_is_named_with_both_places() -> None:
    def every_second_feature(x: Tensor, num_heads: int) -> Tensor:
        heads = split_heads(x, num_heads)
        return torch.cat([heads[..., ::2], heads[..., 1::2]], -1)

    report = judge(find("split_heads"), every_second_feature)
    assert report.status == "broken_property"
    assert "At [0, 0, 0, 1] of the heads should be the number at [0, 0, 1]" in report.says
    assert "it is the one at [0, 0, 2]" in report.says


def test_a_number_that_was_not_given_is_named() -> None:
    report = judge(find("merge_heads"), lambda heads: merge_heads(heads) + 1.0)
    assert "a number that the input does not hold" in report.says


def test_torch_s_attention_may_be_used_in_the_heads_but_not_for_all_of_them() -> None:
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
    assert report.misconception == "matrices transposed"


def _by_one_block(x: Tensor, weight: Tensor, num_heads: int) -> Tensor:
    d_k = x.shape[-1] // num_heads
    return split_heads(x, num_heads) @ weight[:d_k, :d_k]


def _by_own_blocks(x: Tensor, weight: Tensor, num_heads: int) -> Tensor:
    d_k = x.shape[-1] // num_heads
    own = [slice(h * d_k, (h + 1) * d_k) for h in range(num_heads)]
    return torch.stack([x[..., at] @ weight[at, at] for at in own], 1)


@pytest.mark.parametrize("project", [_by_one_block, _by_own_blocks])
def test_a_projection_of_slices_is_named(project: Callable[..., Tensor]) -> None:
    def split_first(q, k, v, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):  # type: ignore[no-untyped-def]
        parts = (project(x, w, num_heads) for x, w in ((q, W_q), (k, W_k), (v, W_v)))
        return merge_heads(F.scaled_dot_product_attention(*parts, attn_mask=attn_mask)) @ W_o

    report = judge(find("multi_head_attention"), split_first)
    assert report.misconception == "streams split before the projections"


@pytest.mark.thorough
def test_two_mistakes_at_once_are_both_named() -> None:
    def wrong(q, k, v, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):  # type: ignore[no-untyped-def]
        q, k, v = (split_heads(x @ w, num_heads) for x, w in ((q, W_q), (k, W_k), (v, W_v)))
        return merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask, scale=1.0)) @ W_o.T

    report = judge(find("multi_head_attention"), wrong)
    assert set(report.misconceptions) == {"matrices transposed", "no scale"}


def test_streams_cut_differently_from_one_another_are_named() -> None:
    def wrong(q, k, v, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):  # type: ignore[no-untyped-def]
        q, k, v = q @ W_q, k @ W_k, v @ W_v
        keys = k.view(len(k), num_heads, k.shape[1], -1)
        q, v = split_heads(q, num_heads), split_heads(v, num_heads)
        return merge_heads(F.scaled_dot_product_attention(q, keys, v, attn_mask)) @ W_o

    report = judge(find("multi_head_attention"), wrong)
    assert report.misconception == "cut without a transpose"


def test_numpy_in_a_split_is_explained_by_the_gradient() -> None:
    def through_numpy(x: Tensor, num_heads: int) -> Tensor:
        array = x.detach().numpy().reshape(*x.shape[:2], num_heads, -1)
        return torch.from_numpy(array.transpose(0, 2, 1, 3))

    report = judge(find("split_heads"), through_numpy)
    assert "no gradient can flow through numpy" in report.says


@pytest.mark.parametrize("number", [0.05, 0.7, 2.0])
def test_any_other_scale_is_named(number: float) -> None:
    def scaled(q, k, v, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):  # type: ignore[no-untyped-def]
        q, k, v = (split_heads(x @ w, num_heads) for x, w in ((q, W_q), (k, W_k), (v, W_v)))
        return merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask, scale=number)) @ W_o

    report = judge(find("multi_head_attention"), scaled)
    assert report.misconception == "another scale than 1/√d_k"


def test_a_position_that_no_head_may_fill_must_be_zero() -> None:
    law = find("multi_head_attention").laws[0]
    case = next(c for c in find("multi_head_attention").cases if "empty row" in c.name)
    args = case.arguments(0)
    assert law.broken(args, torch.zeros_like(args[0])) is None
    assert "At [0, 3] no head may see a key" in str(law.broken(args, torch.ones_like(args[0])))
