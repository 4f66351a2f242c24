import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    MultiHeadAttention,
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
)
from tests.support import assert_same_function, draw, draw_mask

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


def inputs() -> tuple[Tensor, ...]:
    streams = draw(B, L, D), draw(B, S, D), draw(B, S, D, seed=1)
    return *streams, *(draw(D, D, seed=i) for i in range(4))


def mask_of(shape: tuple[int, ...] | None) -> Tensor | None:
    return None if shape is None else draw_mask(shape)


@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
def test_loop_and_batched_form_are_the_same_function(shape: tuple[int, ...] | None) -> None:
    batched, loop = (lambda *x, form=form: form(*x, H, mask_of(shape)) for form in FORMS)
    assert_same_function(batched, loop, inputs())


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


def test_causal_attention_takes_no_mask_and_as_many_queries_as_keys() -> None:
    x, module = draw(B, L, D), MultiHeadAttention(D, H).double()
    with pytest.raises(ValueError, match="is_causal needs attn_mask to be None"):
        module(x, attn_mask=torch.ones(L, L).bool(), is_causal=True)
    with pytest.raises(ValueError, match=f"as many queries as keys, got {L} and {S}"):
        module(x, draw(B, S, D), is_causal=True)
