"""The three functions of multi-head attention beside PyTorch's one."""

import pytest
import torch
from peer_support import BATCH, HEADS, LENGTHS, WIDTH, assert_same_function, draw, masks, streams
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import (
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
)


def torch_s_function(q, k, v, W_q, W_k, W_v, W_o, hidden: Tensor | None) -> Tensor:
    weights = torch.cat([W_q.T, W_k.T, W_v.T]), None
    streams = (x.transpose(0, 1) for x in (q, k, v))
    out, _ = F.multi_head_attention_forward(
        *streams, WIDTH, HEADS, *weights, None, None, False, 0.0, W_o.T, None, attn_mask=hidden
    )
    return out.transpose(0, 1)


@pytest.mark.parametrize("kind", ["none", "queries", "heads"])
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.parametrize("function", [multi_head_attention, multi_head_attention_loop])
@pytest.mark.peer(
    "05",
    "`multi_head_attention`, `multi_head_attention_loop`, `multi_head_attention_fused`",
    "`F.multi_head_attention_forward`",
    "float64 1e-7",
    "outputs, gradients",
)
def test_the_functions_agree_with_torch_s(function, num_queries, num_keys, kind) -> None:
    mask, hidden = masks(kind, num_queries, num_keys)
    weights = (0.3 * draw(WIDTH, WIDTH, seed=i) for i in range(4))
    assert_same_function(
        lambda *x: function(*x, HEADS, mask),
        lambda *x: torch_s_function(*x, hidden.get("attn_mask")),
        (*streams(num_queries, num_keys), *weights),
    )


@pytest.mark.parametrize("kind", ["none", "queries", "heads", "causal"])
@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.peer(
    "05",
    "`multi_head_attention`, `multi_head_attention_loop`, `multi_head_attention_fused`",
    "`F.multi_head_attention_forward`",
    "float64 1e-7",
    "outputs, gradients",
)
def test_the_fused_function_agrees_with_torch_s(length, kind) -> None:
    mask, hidden = masks(kind, length, length)
    assert_same_function(
        lambda *x: multi_head_attention_fused(*x, HEADS, mask),
        lambda x, W, W_o: torch_s_function(
            x, x, x, *W.chunk(3, dim=1), W_o, hidden.get("attn_mask")
        ),
        (draw(BATCH, length, WIDTH), 0.3 * draw(WIDTH, 3 * WIDTH), 0.3 * draw(WIDTH, WIDTH)),
    )
