"""Time what published texts say is faster: a fused projection, shared heads, no tanh.

Method: one thread, CPU time, float32, in rounds; the median of the ratio over the rounds. A batch
of 8, width 512, 8 heads of 64. `times` says how many times as long the first of the two takes. It
takes about a minute on one core.

    python -m benchmarks.chapters.ch18.chapter_18_claims
"""

from functools import partial

import torch
from torch import Tensor

from benchmarks.recording import Row, Script
from benchmarks.timing import Call, in_rounds, milliseconds, ratio
from course_utils.attention import (
    additive_score,
    dot_score,
    grouped_query_attention,
    split_heads,
)

BATCH, WIDTH, HEADS = 8, 512, 8


def full_pass(x: Tensor, W_q: Tensor, W_kv: Tensor, W_o: Tensor, kv_heads: int) -> Tensor:
    """Attend once over a whole text, without a cache, with the given number of key/value heads."""
    narrow = kv_heads * WIDTH // HEADS
    key, value = (x @ W_kv[:, : 2 * narrow]).split(narrow, dim=-1)
    out = grouped_query_attention(
        split_heads(x @ W_q, HEADS), split_heads(key, kv_heads), split_heads(value, kv_heads)
    )
    return out.transpose(1, 2).reshape(x.shape) @ W_o


def calls(tokens: int) -> dict[str, tuple[Call, Call]]:
    """Return two calls for each claim."""
    x = torch.randn(BATCH, tokens, WIDTH)
    W_q, W_o = torch.randn(WIDTH, WIDTH), torch.randn(WIDTH, WIDTH)
    W_kv, W_qkv = torch.randn(WIDTH, 2 * WIDTH), torch.randn(WIDTH, 3 * WIDTH)
    apart = [part.contiguous() for part in W_qkv.chunk(3, dim=1)]
    W_a, v = torch.randn(64, 64), torch.randn(64)
    query, key = torch.randn(2, BATCH, tokens, 64)
    passes = {heads: partial(full_pass, x, W_q, W_kv, W_o, heads) for heads in (8, 4, 1)}
    return {
        "three projections over one": (lambda: [x @ W for W in apart], lambda: x @ W_qkv),
        "a full pass with 8 key/value heads over 4": (passes[8], passes[4]),
        "a full pass with 8 key/value heads over 1": (passes[8], passes[1]),
        "additive over dot-product scores": (
            partial(additive_score, query, key, W_a, W_a, v),
            partial(dot_score, query, key),
        ),
    }


def compare(tokens: int, rounds: int) -> list[Row]:
    """Time both of each two calls at one length."""
    runs = []
    for what, (slow, fast) in calls(tokens).items():
        measured = in_rounds({"slow": slow, "fast": fast}, rounds)
        runs.append({
            "what": what, "tokens": tokens, "times": ratio(measured["slow"], measured["fast"]),
            "milliseconds": {name: milliseconds(taken) for name, taken in measured.items()},
        })  # fmt: skip
        print(runs[-1], flush=True)
    return runs


def main() -> None:
    """Time all and write one JSON file."""
    script = Script(__file__, __doc__, rounds=7, lengths=[256, 512])
    torch.manual_seed(0)
    runs = [
        run for tokens in script.options.lengths for run in compare(tokens, script.options.rounds)
    ]
    script.record(
        what="what published texts say is faster: how many times as long the first takes",
        settings={"batch": BATCH, "width": WIDTH, "heads": HEADS, "dtype": "float32"},
        runs=runs,
    )  # fmt: skip


if __name__ == "__main__":
    main()
