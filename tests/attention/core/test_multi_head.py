import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    MultiHeadAttention,
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
)
from course_utils.checking.inputs import normal

B, H, L, S, D = 2, 3, 4, 5, 6
FORMS = (multi_head_attention, multi_head_attention_loop)
MASKS = {
    "none": None,
    "(L, S)": (L, S),
    "a head": (H, L, S),
    "a sequence": (B, 1, L, S),
    "keys of a sequence": (B, 1, 1, S),
    "all": (B, H, L, S),
}


def draw(*shape: int, seed: int = 0) -> Tensor:
    return normal(torch.Generator().manual_seed(sum(shape) + seed), *shape)


def inputs() -> tuple[Tensor, ...]:
    streams = draw(B, L, D), draw(B, S, D), draw(B, S, D, seed=1)
    return *streams, *(draw(D, D, seed=i) for i in range(4))


def mask_of(shape: tuple[int, ...] | None) -> Tensor | None:
    if shape is None:
        return None
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) > 0.4
    mask[..., 0, :] = False  # the first query (or all of them) may see nothing
    return mask


def one_pair_at_a_time(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None,
) -> Tensor:
    """Follow the definition with Python's own numbers for the weights."""
    d_k = D // H
    seen = torch.ones(B, H, L, S).bool() if mask is None else mask.broadcast_to(B, H, L, S)
    out = torch.zeros(B, L, D, dtype=torch.float64)
    for b in range(B):
        for i in range(L):
            merged = torch.zeros(D, dtype=torch.float64)
            for h in range(H):
                own = slice(h * d_k, (h + 1) * d_k)
                q = (query[b, i] @ W_q)[own]
                keys = [j for j in range(S) if seen[b, h, i, j]]
                powers = [
                    math.exp(float(q @ (key[b, j] @ W_k)[own]) / math.sqrt(d_k)) for j in keys
                ]
                for j, power in zip(keys, powers, strict=True):
                    merged[own] += power / sum(powers) * (value[b, j] @ W_v)[own]
            out[b, i] = merged @ W_o
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
def test_each_form_follows_the_definition(form: object, shape: tuple[int, ...] | None) -> None:
    args = inputs()
    mask = mask_of(shape)
    got = form(*args, H, mask)  # type: ignore[operator]
    torch.testing.assert_close(got, one_pair_at_a_time(*args, mask))


@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
def test_loop_and_batched_form_have_the_same_gradients(shape: tuple[int, ...] | None) -> None:
    grads = []
    for form in FORMS:
        args = [part.requires_grad_() for part in inputs()]
        out = form(*args, H, mask_of(shape))
        out.square().sum().backward()
        grads.append([part.grad for part in args])
    torch.testing.assert_close(grads[0], grads[1])


@pytest.mark.parametrize("shape", [None, (L, L), (H, L, L), (B, 1, L, L), (B, 1, 1, L)])
def test_the_fused_form_is_self_attention(shape: tuple[int, ...] | None) -> None:
    x, (w_q, w_k, w_v, w_o) = draw(B, L, D), inputs()[3:]
    fused = multi_head_attention_fused(x, torch.cat([w_q, w_k, w_v], dim=1), w_o, H, mask_of(shape))
    separate = multi_head_attention(x, x, x, w_q, w_k, w_v, w_o, H, mask_of(shape))
    torch.testing.assert_close(fused, separate)


@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("roles", ["self", "cross"])
def test_the_module_is_the_function_with_its_own_weights(
    shape: tuple[int, ...] | None, roles: str
) -> None:
    module = MultiHeadAttention(D, H, bias=False).double()
    w_q, w_k, w_v = (part.mT for part in module.in_proj_weight.chunk(3))
    x, y = draw(B, L, D), draw(B, S, D)
    if roles == "self":
        y, shape = x, None if shape is None else tuple(L if n == S else n for n in shape)
    out = module(x, None if roles == "self" else y, attn_mask=mask_of(shape))
    expected = multi_head_attention(
        x, y, y, w_q, w_k, w_v, module.out_proj.weight.mT, H, mask_of(shape)
    )
    torch.testing.assert_close(out, expected)


def test_the_module_s_weights_are_those_that_it_uses() -> None:
    module = MultiHeadAttention(D, H, d_key=7, d_value=D).double()
    with torch.no_grad():
        module.v_proj_weight.copy_(torch.eye(D))
        module.out_proj.weight.copy_(torch.eye(D))
    x, y, value = draw(B, L, D), draw(B, S, 7), draw(B, S, D)
    weights = module.weights(x, y, mask_of((L, S)))
    heads = [weights[:, h] @ value[..., 2 * h : 2 * h + 2] for h in range(H)]
    torch.testing.assert_close(module(x, y, value, mask_of((L, S))), torch.cat(heads, dim=-1))


def test_the_module_leaves_heads_out() -> None:
    module = MultiHeadAttention(D, H).double()
    x = draw(B, L, D)
    none = module(x, keep=torch.zeros(H).bool())
    torch.testing.assert_close(none, module.out_proj.bias.expand(B, L, D))
    parts = [module(x, keep=torch.arange(H) == h) - none for h in range(H)]
    torch.testing.assert_close(sum(parts) + none, module(x))


def test_a_query_that_may_see_nothing_gets_zeros_and_a_finite_gradient() -> None:
    args = [part.requires_grad_() for part in inputs()]
    out = multi_head_attention(*args, H, mask_of((L, S)))
    assert torch.equal(out[:, 0], torch.zeros_like(out[:, 0]))
    out.sum().backward()
    assert all(part.grad.isfinite().all() for part in args)


def test_causal_attention_takes_no_mask_and_as_many_queries_as_keys() -> None:
    x, module = draw(B, L, D), MultiHeadAttention(D, H).double()
    with pytest.raises(ValueError, match="is_causal needs attn_mask to be None"):
        module(x, attn_mask=torch.ones(L, L).bool(), is_causal=True)
    with pytest.raises(ValueError, match=f"as many queries as keys, got {L} and {S}"):
        module(x, draw(B, S, D), is_causal=True)
