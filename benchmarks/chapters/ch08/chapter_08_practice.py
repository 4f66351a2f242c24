"""Measure a decoding step from a latent cache, and attention that reads selected blocks only.

Method: one thread, float32, processor time, medians over rounds in which the calls take turns.
`steps` has one new token against a cache: latent vectors whose keys and values are made anew
("expanded") or never ("absorbed"), and a plain cache of all heads; `bytes` are kept per token.
`blocks` has whole texts beside causal SDPA; `over_sdpa` is the median of the ratios. `shares` reads
chapter 10's small GPT, trained here once more, in windows of its 64 tokens: which part of the
weights of full attention is in a query's own block and in as many earlier blocks, chosen by the
rule, at random or as the last ones, for the queries of the second half; and the loss where it reads
these alone. It takes three minutes on one core.

    python -m benchmarks.chapters.ch08.chapter_08_practice
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.chapters.ch10.chapter_10_training import LENGTH, SIZES, reading, small_gpt
from benchmarks.recording import Row, Script
from benchmarks.timing import in_rounds, milliseconds, ratio
from course_utils.attention import (
    absorbed_latent_attention,
    block_selected_attention,
    causal_mask,
    grouped_query_attention,
    latent_attention,
    masked_softmax,
    scaled_dot_product_attention,
    select_blocks,
)
from course_utils.data import character_text
from course_utils.measure import count_flops
from course_utils.models import GPT, TokenText, next_token_loss, token_text

STEP = {"heads": 16, "d_k": 64, "d_rope": 32, "latent": 128, "d_v": 64}
TOKENS, TEXTS = (512, 2048, 8192), (512, 1024, 2048, 4096, 8192, 16384)
BLOCK, TOP_K, HEADS, D_K = 32, 3, 4, 32
STEPS, WINDOWS, SHORT_BLOCK = 500, 64, 8


def step(length: int, rounds: int) -> list[Row]:
    """Return the three ways to read a cache of a length for one new token."""
    heads, d_k, d_rope, latent, d_v = STEP.values()
    width, g = d_k + d_rope, torch.Generator().manual_seed(length)
    draw = partial(torch.randn, generator=g)
    query, cache = draw(1, heads, 1, width), draw(1, length, latent + d_rope)
    given = query, cache, draw(heads, latent, d_k) / 11, draw(heads, latent, d_v) / 11
    plain = query, draw(1, heads, length, width), draw(1, heads, length, d_v)
    calls: dict[str, Callable[[], Tensor]] = {
        "expanded": partial(latent_attention, *given),
        "absorbed": partial(absorbed_latent_attention, *given),
        "plain": partial(grouped_query_attention, *plain),
    }
    measured = in_rounds(calls, rounds)
    kept = {"plain": heads * (width + d_v)}
    return [
        {
            "length": length, "way": name, "bytes": 4 * kept.get(name, latent + d_rope),
            "mflop": round(count_flops(call) / 1e6, 2),
            "milliseconds": milliseconds(measured[name]),
            "expanded_over_this": ratio(measured["expanded"], measured[name]),
        }
        for name, call in calls.items()
    ]  # fmt: skip


def text_of(length: int, rounds: int) -> Row:
    """Return what selected blocks cost for a whole text, beside causal SDPA."""
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(length))
    query, key, value = (draw(1, HEADS, length, D_K) for _ in range(3))
    calls: dict[str, Callable[[], Tensor]] = {
        "blocks": partial(block_selected_attention, query, key, value, BLOCK, TOP_K),
        "sdpa": partial(F.scaled_dot_product_attention, query, key, value, is_causal=True),
    }
    measured = in_rounds(calls, rounds)
    return {
        "length": length,
        **{f"mflop_{name}": round(count_flops(call) / 1e6, 1) for name, call in calls.items()},
        **{f"milliseconds_{name}": milliseconds(one) for name, one in measured.items()},
        "over_sdpa": ratio(measured["blocks"], measured["sdpa"]),
    }


def last_blocks(length: int, top_k: int) -> Tensor:
    """Return the mask of each query's own block and the last ones before it."""
    number = torch.arange(length) // SHORT_BLOCK
    near = number[:, None] - number <= top_k
    return near & causal_mask(length, length)


def shares(text: TokenText, model: GPT, top_k: int) -> list[Row]:
    """Return what each choice of blocks holds of full weights, and the loss through it alone."""
    g = torch.Generator().manual_seed(0)

    def random(*given: Tensor) -> Tensor:
        query, key = (torch.randn(x.shape, generator=g) for x in given)
        return select_blocks(query, key, SHORT_BLOCK, top_k + 1)

    choices: dict[str, Callable[..., Tensor]] = {
        "chosen": lambda query, key: select_blocks(query, key, SHORT_BLOCK, top_k + 1),
        "random": random,
        "last": lambda query, key: last_blocks(LENGTH, top_k),
    }
    return [
        {"top_k": top_k, "blocks": name, **held_by(choose, text, model)}
        for name, choose in choices.items()
    ]


def held_by(choose: Callable[..., Tensor], text: TokenText, model: GPT) -> Row:
    """Return what one choice of blocks holds of full weights, and the loss through it alone."""
    windows, held = text.validation[: WINDOWS * LENGTH].view(-1, LENGTH), []

    def watched(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        weights = masked_softmax(q @ k.mT / math.sqrt(q.shape[-1]), mask)
        held.append((weights * choose(q, k)).sum(-1)[..., LENGTH // 2 :].mean().item())
        return weights @ v

    def alone(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, choose(q, k))

    with torch.no_grad():
        reading(model, watched).logits(windows)
    loss = next_token_loss(reading(model, alone), text.validation)
    return {"share": [round(one, 3) for one in held], "loss": round(loss, 3)}


def main() -> None:
    """Measure everything and write one JSON file."""
    script = Script(__file__, __doc__, rounds=5)
    text = token_text(character_text())
    model = small_gpt(text, STEPS, seed=0)
    full = round(next_token_loss(model, text.validation), 3)
    found = [row for top_k in (1, 2, 3) for row in shares(text, model, top_k)]
    with torch.inference_mode():
        steps = [row for length in TOKENS for row in step(length, script.options.rounds)]
        blocks = [text_of(n, script.options.rounds) for n in TEXTS]
    script.record(
        what="a step from a latent cache, and attention to selected blocks",
        settings={"step": STEP, "block": BLOCK, "top_k": TOP_K, "heads": HEADS, "d_k": D_K,
                  "gpt": SIZES, "gpt_steps": STEPS, "window": LENGTH,
                  "gpt_block": SHORT_BLOCK, "full_loss": full},
        steps=steps,
        blocks=blocks,
        runs=found,
    )  # fmt: skip


if __name__ == "__main__":
    main()
