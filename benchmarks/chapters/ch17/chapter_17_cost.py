"""Time what a token costs with a cache and with a state, and a prompt token by token and in chunks.

Processor time on one thread, the least of several calls, at 4 heads of 64 (256 channels):

    python -m benchmarks.chapters.ch17.chapter_17_cost
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.recording import Row, Script
from course_utils import attention
from course_utils.measure import fit_exponent

HEADS, WIDTH, D_STATE = 4, 64, 16
CHANNELS = HEADS * WIDTH
POSITIONS = (16, 64, 256, 1024, 4096, 16384, 65536)
LENGTHS = (512, 1024, 2048, 4096)


def least(call: Callable[[], Any], seconds: float) -> float:
    """Return the least processor time of a call, in microseconds."""
    call()
    best, end = float("inf"), time.process_time() + seconds
    while time.process_time() < end:
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best * 1e6


def heads(*length: int) -> list[Tensor]:
    """Return a query, a key of length 1 and a value for every head."""
    query, key, value = (torch.randn(1, HEADS, *length, WIDTH) for _ in range(3))
    return [query, F.normalize(key, dim=-1), value]


def token_calls() -> dict[str, tuple[Callable[[], Any], int]]:
    """Return for each mechanism one step, and how many numbers it carries along."""
    query, key, value = heads()
    state, row = torch.zeros(1, HEADS, WIDTH, WIDTH), torch.ones(1, HEADS)
    channel, decay = torch.rand(1, CHANNELS), torch.full((HEADS,), 0.97)
    hidden, rates = torch.zeros(1, CHANNELS, D_STATE), -torch.rand(CHANNELS, D_STATE)
    write = torch.rand(1, D_STATE)
    three = (torch.zeros(1, CHANNELS), torch.zeros(1, CHANNELS), torch.zeros(1, CHANNELS))

    def retention_step() -> Tensor:
        new = decay[:, None, None] * state + key.unsqueeze(-1) * value.unsqueeze(-2)
        return (query.unsqueeze(-2) @ new).squeeze(-2) / WIDTH**0.5

    def scan_step() -> Tensor:
        keep = torch.exp(channel.unsqueeze(-1) * rates)
        new = keep * hidden + (channel * channel).unsqueeze(-1) * write.unsqueeze(-2)
        return (new @ write.unsqueeze(-1)).squeeze(-1)

    linear = partial(attention.linear_attention_step, state, key, query, key, value)
    gated_delta = partial(attention.gated_delta_step, query, key, value, row, row, state)
    wkv = partial(attention.wkv_step, channel, channel, channel[0], channel[0], three)
    return {
        "linear": (linear, state.numel() + key.numel()),
        "retention": (retention_step, state.numel()),
        "gated delta": (gated_delta, state.numel()),
        f"SSM, {D_STATE} per channel": (scan_step, hidden.numel()),
        "WKV": (wkv, 3 * CHANNELS),
    }


def prompt_calls(length: int) -> dict[str, Callable[[], Any]]:
    """Return for each mechanism the whole prompt: token by token, and in chunks."""
    query, key, value = given = heads(length)
    decay, state = torch.full((HEADS,), 0.97), torch.zeros(1, HEADS, WIDTH, WIDTH)
    gate = torch.full((1, HEADS, length), 0.97)
    x, delta = torch.randn(1, length, CHANNELS), torch.rand(1, length, CHANNELS)
    scanned = (
        x, delta, -torch.rand(CHANNELS, D_STATE), torch.randn(1, length, D_STATE),
        torch.randn(1, length, D_STATE), torch.ones(CHANNELS),
    )  # fmt: skip

    def delta_steps() -> Tensor:
        past = state
        for t in range(length):
            token = (query[:, :, t], key[:, :, t], value[:, :, t], gate[..., t], gate[..., t])
            out, past = attention.gated_delta_step(*token, past)
        return out

    return {
        "retention, token by token": partial(attention.retention_recurrent, *given, decay),
        "retention, in chunks": partial(attention.retention_chunk, *given, decay, state),
        "gated delta, token by token": delta_steps,
        "gated delta, in chunks": partial(attention.gated_delta_rule, *given, gate, gate),
        "scan, token by token": partial(attention.selective_scan, *scanned),
        "scan, in chunks": partial(attention.chunked_selective_scan, *scanned),
        "softmax, fused": partial(F.scaled_dot_product_attention, *given, is_causal=True),
    }


@torch.no_grad()
def main() -> None:
    """Time everything once."""
    script = Script(__file__, __doc__, seconds=0.5)
    torch.manual_seed(0)
    tokens: list[Row] = []
    for position in POSITIONS:
        query = torch.randn(1, HEADS, 1, WIDTH)
        _, key, value = heads(position)
        call = partial(F.scaled_dot_product_attention, query, key, value)
        tokens.append(
            {"mechanism": "softmax", "position": position, "numbers": 2 * CHANNELS * position,
             "microseconds": round(least(call, script.options.seconds), 1)}
        )  # fmt: skip
    for name, (call, numbers) in token_calls().items():
        taken = round(least(call, script.options.seconds), 1)
        tokens.append({"mechanism": name, "numbers": numbers, "microseconds": taken})
    prompts: dict[str, list[float]] = {}
    for length in LENGTHS:
        for name, call in prompt_calls(length).items():
            taken = round(least(call, script.options.seconds) / 1000, 2)
            prompts.setdefault(name, []).append(taken)
    script.record(
        what="processor time of a token by what is kept, and of a prompt by form",
        settings={"heads": HEADS, "width": WIDTH, "state": D_STATE, "lengths": LENGTHS},
        runs=tokens,
        prompts=[
            {"form": name, "milliseconds": taken,
             "exponent": round(fit_exponent(list(LENGTHS), taken), 2)}
            for name, taken in prompts.items()
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
