"""What goes wrong by taking another way to multi-head attention than writing it."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception, Trace
from course_utils.exercises.ch05_multi_head._multi_head import inside

# Making an `nn.Linear` draws numbers too, which need not reach the output.
_LAYERS = {"kaiming_uniform_", "xavier_uniform_", "uniform_"}
_WHOLE = {"multi_head_attention_forward", "_native_multi_head_attention"}


def _torch_inside(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    attn_mask: Tensor | None = None,
) -> Tensor:
    layer = torch.nn.MultiheadAttention(
        len(W_q), num_heads, bias=False, batch_first=True, dtype=query.dtype
    )
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([W_q, W_k, W_v], 1).mT)
        layer.out_proj.weight.copy_(W_o.mT)
    if attn_mask is not None:
        full = attn_mask.expand(len(query), num_heads, query.shape[1], key.shape[1])
        attn_mask = ~full.flatten(0, 1)
    out: Tensor = layer(query, key, value, attn_mask=attn_mask, need_weights=False)[0]
    return out


def _calls_the_whole(trace: Trace) -> bool:
    return bool(_WHOLE & trace.calls)


WAY = (
    Misconception(
        "PyTorch's own multi-head attention inside",
        _torch_inside,
        "PyTorch's own multi-head attention did all of the work. The point is to write it: what "
        "happens between the projections and W_o?",
        sign=_calls_the_whole,
    ),
    Misconception(
        "random numbers inside",
        inside(turn=lambda s: torch.dropout(torch.softmax(s, -1), 0.1, True)),
        "Two calls with the same inputs differ: something random, such as dropout, happens "
        "inside. Do the weights still sum to 1 after it?",
        sign=lambda trace: trace.used_global_random and not trace.calls & _LAYERS,
        forbidden=False,
    ),
)
