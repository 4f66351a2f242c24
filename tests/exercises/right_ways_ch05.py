"""Right answers for chapter 05 in other styles than the references: all of them must pass."""

from collections.abc import Callable

import torch
from torch import nn

from tests.exercises.right_ways_ch05_attention import MULTI_HEAD_WAYS

# split_heads


def split_by_permute(x, num_heads):
    B, L, D = x.size()
    return x.contiguous().view(B, L, num_heads, D // num_heads).permute(0, 2, 1, 3).contiguous()


def split_by_chunks(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_by_slices(x, num_heads):
    d_k = x.shape[2] // num_heads
    return torch.cat([x[:, None, :, h * d_k : (h + 1) * d_k] for h in range(num_heads)], 1)


def split_by_unflatten(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).movedim(2, 1)


def split_transposed_first(x, num_heads):
    """The width before the positions, cut there, and turned back."""
    B, L, D = x.shape
    return x.mT.reshape(B, num_heads, D // num_heads, L).mT


def split_into_a_fresh_tensor(x, num_heads):
    B, L, D = x.shape
    d_k = D // num_heads
    out = torch.zeros(B, num_heads, L, d_k, dtype=x.dtype)
    for h in range(num_heads):
        out[:, h] = x[..., h * d_k : (h + 1) * d_k]
    return out


def split_by_index(x, num_heads):
    channel = torch.arange(x.shape[-1]).view(num_heads, -1)
    return x[:, :, channel].swapaxes(1, 2)


# merge_heads


def merge_by_permute(heads):
    B, H, L, d_k = heads.shape
    return heads.permute(0, 2, 1, 3).contiguous().view(B, L, H * d_k)


def merge_by_cat(heads):
    return torch.cat(heads.unbind(1), dim=-1)


def merge_by_loop(heads):
    return torch.cat([heads[:, h] for h in range(heads.shape[1])], dim=2)


def merge_by_stack(heads):
    return torch.stack(tuple(heads.transpose(0, 1)), dim=2).flatten(2, 3)


def merge_into_a_fresh_tensor(heads):
    B, H, L, d_k = heads.shape
    out = heads.new_empty(B, L, H * d_k)
    for h in range(H):
        out[:, :, h * d_k : h * d_k + d_k] = heads[:, h]
    return out


def merge_transposed(heads):
    return heads.mT.flatten(1, 2).mT


# mha_parameters


def parameters_by_formula(d_model, num_heads, bias):
    return 4 * d_model**2 + (4 * d_model if bias else 0)


def parameters_by_heads(d_model, num_heads, bias):
    d_k = d_model // num_heads
    total = 0
    for _ in range(num_heads):
        total += 3 * (d_model * d_k + int(bias) * d_k)
    return total + num_heads * d_k * d_model + int(bias) * d_model


def parameters_of_torch(d_model, num_heads, bias):
    layer = nn.MultiheadAttention(d_model, num_heads, bias=bias)
    return sum(p.numel() for p in layer.parameters())


def parameters_of_four_layers(d_model, num_heads, bias):
    layers = [nn.Linear(d_model, d_model, bias=bias, device="meta") for _ in "qkvo"]
    return sum(p.numel() for layer in layers for p in layer.parameters())


def parameters_factored(width, heads, has_bias):
    return 4 * width * (width + has_bias)


# ablate_heads


def ablate_by_product(head_outputs, W_o, keep):
    return merge_by_permute(head_outputs * keep.view(1, -1, 1, 1)) @ W_o


def ablate_rows_of_w_o(head_outputs, W_o, keep):
    rows = keep.repeat_interleave(head_outputs.shape[-1]).unsqueeze(1)
    return merge_by_cat(head_outputs) @ (W_o * rows)


def ablate_by_adding_up(head_outputs, W_o, keep):
    B, H, L, d_k = head_outputs.shape
    out = torch.zeros(B, L, W_o.shape[1], dtype=W_o.dtype)
    for h in range(H):
        if keep[h]:
            out = out + head_outputs[:, h] @ W_o[h * d_k : (h + 1) * d_k]
    return out


def ablate_by_choosing(head_outputs, W_o, keep):
    """Heads removed together with their rows of W_o: a sum over fewer channels, and as right."""
    rows = W_o.view(keep.numel(), -1, W_o.shape[1])[keep].flatten(0, 1)
    return merge_by_cat(head_outputs)[..., keep.repeat_interleave(head_outputs.shape[-1])] @ rows


def ablate_a_copy(head_outputs, W_o, keep):
    copy = head_outputs.clone()
    copy[:, ~keep] = 0
    return merge_by_loop(copy) @ W_o


def ablate_by_einsum(head_outputs, W_o, keep):
    blocks = W_o.reshape(head_outputs.shape[1], head_outputs.shape[-1], -1)
    return torch.einsum("bhlk,hkd,h->bld", head_outputs, blocks, keep.to(W_o.dtype))


def ablate_by_where(head_outputs, W_o, keep):
    zero = torch.zeros_like(head_outputs)
    return torch.matmul(
        merge_by_permute(torch.where(keep[None, :, None, None], head_outputs, zero)), W_o
    )


def ablate_by_subtraction(head_outputs, W_o, keep):
    """All heads, less what the silent ones say."""
    silent = head_outputs * (~keep)[:, None, None]
    return merge_by_cat(head_outputs) @ W_o - merge_by_cat(silent) @ W_o


RIGHT_WAYS_CH05: dict[str, tuple[Callable[..., object], ...]] = {
    "split_heads": (
        split_by_permute,
        split_by_chunks,
        split_by_slices,
        split_by_unflatten,
        split_transposed_first,
        split_into_a_fresh_tensor,
        split_by_index,
    ),
    "merge_heads": (
        merge_by_permute,
        merge_by_cat,
        merge_by_loop,
        merge_by_stack,
        merge_into_a_fresh_tensor,
        merge_transposed,
    ),
    "multi_head_attention": MULTI_HEAD_WAYS,
    "mha_parameters": (
        parameters_by_formula,
        parameters_by_heads,
        parameters_of_torch,
        parameters_of_four_layers,
        parameters_factored,
    ),
    "ablate_heads": (
        ablate_by_product,
        ablate_rows_of_w_o,
        ablate_by_adding_up,
        ablate_by_choosing,
        ablate_a_copy,
        ablate_by_einsum,
        ablate_by_where,
        ablate_by_subtraction,
    ),
}
