"""What the ranks of the comparisons do, in processes that import it from here."""

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._context_parallel import _attention as theirs
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.distributed import ring_all_reduce

ON_CPU = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
BACK_ON_CPU = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def their_ring(
    rank: int, world_size: int, given: tuple[Tensor, ...], positions: Tensor, is_balanced: bool
) -> list[Tensor]:
    """Return output and gradients of one rank's tokens, by torch's own ring with a CPU's kernel."""
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
