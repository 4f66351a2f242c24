"""Measure the attention functions that PyTorch brings, and what a compiler makes of a written one.

Method: one thread, float32, one sequence, 8 heads of width 64. Calls are compared
as `timing.py` says. The peak is the most that torch's allocator held beyond the inputs. `fused`
says how many attentions torch.compile recognised in the code and replaced by its own. It takes two
minutes on one core and needs a C++ compiler.

    python -m benchmarks.chapters.ch09.chapter_09_production
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.utils import counters
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from benchmarks.recording import Script
from benchmarks.timing import Call, in_rounds, milliseconds, ratio
from course_utils.attention import causal_mask
from course_utils.measure import peak_memory

HEADS, WIDTH = 8, 64


def written_out(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return attention as its formula stands."""
    return torch.softmax(query @ key.mT / math.sqrt(WIDTH), dim=-1) @ value


def written_causal(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Return the same with a mask, as listings have it."""
    scores = (query @ key.mT / math.sqrt(WIDTH)).masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1) @ value


def selected(backend: SDPBackend, *tensors: Tensor) -> Tensor:
    """Return SDPA by the backend that is asked for."""
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(*tensors)


def compiled(fn: Callable[..., Tensor], *args: Any, **more: Any) -> tuple[Call, int]:
    """Return a compiled call, and how many attentions the compiler recognised in it."""
    counters.clear()
    made = partial(torch.compile(fn, dynamic=False), *args, **more)
    made()
    return made, counters["inductor"]["fuse_attention"]


def ways(length: int) -> tuple[dict[str, Call], dict[str, int]]:
    """Return every way to attend, and what the compiler recognised."""
    generator = torch.Generator().manual_seed(0)
    given = torch.randn(3, 1, HEADS, length, WIDTH, generator=generator).unbind()
    mask = causal_mask(length, length)
    blocks = torch.compile(create_block_mask)(
        lambda b, h, q, k: q >= k, None, None, length, length, device="cpu"
    )
    made = {
        "written out, compiled": compiled(written_out, *given),
        "written out, causal mask, compiled": compiled(written_causal, *given, mask),
        "FlexAttention, causal, compiled": compiled(flex_attention, *given, block_mask=blocks),
    }
    calls: dict[str, Call] = {
        "SDPA": partial(F.scaled_dot_product_attention, *given),
        "SDPA, FLASH_ATTENTION selected": partial(selected, SDPBackend.FLASH_ATTENTION, *given),
        "SDPA, MATH selected": partial(selected, SDPBackend.MATH, *given),
        "SDPA, is_causal": partial(F.scaled_dot_product_attention, *given, is_causal=True),
        "SDPA, causal mask": partial(F.scaled_dot_product_attention, *given, attn_mask=mask),
        "written out": partial(written_out, *given),
        "written out, causal mask": partial(written_causal, *given, mask),
    }
    calls |= {name: call for name, (call, _) in made.items()}
    return calls, {name: fused for name, (_, fused) in made.items()}


def main() -> None:
    """Measure and write the record."""
    script = Script(__file__, __doc__, length=2048, rounds=9)
    length, rounds = script.options.length, script.options.rounds
    with torch.inference_mode():
        calls, fused = ways(length)
        seconds = in_rounds(calls, rounds)
        runs = [
            {
                "way": name,
                "milliseconds": milliseconds(seconds[name]),
                "over_sdpa": ratio(seconds[name], seconds["SDPA"]),
                "peak_bytes": peak_memory(call),
                **({"fused": fused[name]} if name in fused else {}),
            }
            for name, call in calls.items()
        ]
    script.record(
        what="PyTorch's own attention functions, and attention that torch.compile is given",
        settings={
            "length": length, "heads": HEADS, "width": WIDTH, "rounds": rounds,
        },
        runs=runs,
    )  # fmt: skip


if __name__ == "__main__":
    main()
