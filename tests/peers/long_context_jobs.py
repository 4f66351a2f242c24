"""Jobs of the comparisons' ranks, in processes that import it from here: ours and theirs.

What a job alone needs it imports itself: every process of every comparison imports this file.
"""

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F

from course_utils.distributed import (
    parallel_ring_attention,
    ring_all_reduce,
    tensor_parallel_attention,
    ulysses_attention,
)

ON_CPU = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
BACK_ON_CPU = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def our_ring(
    rank: int, world_size: int, given: tuple[Tensor, ...], positions: Tensor, is_causal: bool
) -> list[Tensor]:
    """Return output and gradients of one rank's tokens."""
    *inputs, grad_out = (x[:, :, positions[rank]].requires_grad_() for x in given)
    out = parallel_ring_attention(*inputs, positions, is_causal)
    return [out.detach(), *torch.autograd.grad(out, inputs, grad_out)]


def our_ulysses(
    rank: int, world_size: int, given: tuple[Tensor, ...], is_causal: bool
) -> list[Tensor]:
    """Return output and gradients of one rank's run of tokens."""
    *inputs, grad_out = (x.chunk(world_size, 2)[rank].clone().requires_grad_() for x in given)
    out = ulysses_attention(*inputs, is_causal)
    return [out.detach(), *torch.autograd.grad(out, inputs, grad_out)]


def our_heads(
    rank: int, world_size: int, x: Tensor, weights: list[Tensor], slope: Tensor, *heads: int
) -> list[Tensor]:
    """Return output and the input's gradient, from some heads' weights, rows as in nn.Linear."""
    *rows, w_o = weights
    own = [w.chunk(world_size, 0)[rank].T for w in rows] + [w_o.chunk(world_size, 1)[rank].T]
    x = x.clone().requires_grad_()
    out = tensor_parallel_attention(x, *own, *(h // world_size for h in heads))
    return [out.detach(), *torch.autograd.grad(out, x, slope)]


def their_exchange(rank: int, world_size: int, shards: list[Tensor]) -> Tensor:
    """Return a rank's part of a DTensor whose tokens were shared out, and whose heads now are."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    mesh = init_device_mesh("cpu", (world_size,))
    held = DTensor.from_local(shards[rank], mesh, [Shard(2)])
    return held.redistribute(placements=[Shard(1)]).to_local()


def their_ring(
    rank: int, world_size: int, given: tuple[Tensor, ...], positions: Tensor, is_balanced: bool
) -> list[Tensor]:
    """Return output and gradients of one rank's tokens, by torch's own ring with a CPU's kernel."""
    from torch.distributed.tensor.experimental._context_parallel import _attention as theirs

    theirs._cp_options.convert_to_f32 = False
    theirs._cp_options.enable_load_balance = is_balanced
    query, key, value, grad_out = (x[:, :, positions[rank]] for x in given)

    def forward(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> tuple[Tensor, ...]:
        return ON_CPU(query, key, value, 0.0, is_causal)

    def backward(grad_out, query, key, value, out, logsumexp, is_causal) -> tuple[Tensor, ...]:
        return BACK_ON_CPU(grad_out, query, key, value, out, logsumexp, 0.0, is_causal)

    group = dist.group.WORLD
    out, lse = theirs._templated_ring_attention(
        group, 2, forward, query, key, value, is_causal=True
    )
    grads = theirs._templated_ring_attention_backward(
        group, 2, backward, grad_out.contiguous(), "grad_out", query, key, value, out, lse, True
    )
    return [out, *grads[:3]]


def their_public_ring(rank: int, world_size: int, given: tuple[Tensor, ...], backend: str) -> str:
    """Return what torch says when its public context parallelism is used on CPUs."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.experimental import context_parallel
    from torch.nn.attention import SDPBackend, sdpa_kernel

    query, key, value = (x.clone() for x in given)
    mesh = init_device_mesh("cpu", (world_size,))
    shared = context_parallel(mesh, buffers=[query, key, value], buffer_seq_dims=[2, 2, 2])
    try:
        with sdpa_kernel(getattr(SDPBackend, backend)), shared:
            F.scaled_dot_product_attention(query, key, value, is_causal=True)
    except (NotImplementedError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
    return "it runs"


def llama_with_some_heads(
    rank: int, world_size: int, config: dict, weights: dict[str, Tensor], tokens: Tensor
) -> Tensor:
    """Return the logits of Hugging Face's Llama whose attention has this rank's heads alone."""
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(**config)).double().eval()
    model.load_state_dict(weights)
    for layer in model.model.layers:
        part = layer.self_attn
        for name in ("q_proj", "k_proj", "v_proj"):  # some heads' rows
            linear = getattr(part, name)
            linear.weight = torch.nn.Parameter(linear.weight.chunk(world_size, 0)[rank])
        part.o_proj.weight = torch.nn.Parameter(part.o_proj.weight.chunk(world_size, 1)[rank])
        part.o_proj.register_forward_hook(lambda module, given, out: ring_all_reduce(out))
    with torch.no_grad():
        return model(tokens).logits
