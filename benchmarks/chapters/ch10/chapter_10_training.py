"""Train the small GPT of chapter 10 longer than its notebook may, and say what an int8 cache costs.

Method: one thread. Byte pairs and weights are trained on the topics of Python's help; the loss is
that of every token of the topics held out, in windows of the trained length: without a cache, and
read through a cache of each kind, of which `bytes` are those for one window. `loss_at` has longer
windows too, for all tokens and for a rolling cache that holds the trained length; the sample is
written through that one. `cpu_seconds` are of training alone. It takes three minutes on one core.

    python -m benchmarks.chapters.ch10.chapter_10_training
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks.recording import Row, Script, bar, each
from benchmarks.timing import clocked
from course_utils.attention import QuantizedCache, RollingCache
from course_utils.data import character_text
from course_utils.models import (
    GPT,
    ModelCache,
    TokenText,
    generate,
    next_token_loss,
    token_text,
    train_gpt,
)

SIZES = {"d_model": 96, "num_heads": 4, "num_layers": 2, "max_length": 256}
LENGTH, SHORT, LONG = 64, 500, 1300
HEADS, D_K = SIZES["num_heads"], SIZES["d_model"] // SIZES["num_heads"]
READ_AT = (LENGTH, 2 * LENGTH, 4 * LENGTH)
PROMPT = "The "


def int8_cache(batch: int) -> ModelCache:
    """Return a rounded cache for windows of the trained length."""
    return ModelCache(
        [QuantizedCache(batch, HEADS, LENGTH, D_K) for _ in range(SIZES["num_layers"])]
    )


def rolling_cache(batch: int) -> ModelCache:
    """Return a cache of the trained length for texts of any length."""
    return ModelCache(
        [RollingCache(batch, HEADS, D_K, window=LENGTH) for _ in range(SIZES["num_layers"])]
    )


def small_gpt(text: TokenText, steps: int, seed: int) -> GPT:
    """Return a model after its training."""
    torch.manual_seed(seed)
    model = GPT(len(text.tokenizer), positions="rope", **SIZES)
    progress = bar(f"{steps} steps, seed {seed}")
    train_gpt(model, text.train, steps=steps, seed=seed, progress=progress)
    return model


def reading(model: GPT, attend: Callable[..., Tensor]) -> GPT:
    """Return the same model with another attention."""
    other = GPT(model.token.num_embeddings, positions="rope", attend=attend, **SIZES)
    other.load_state_dict(model.state_dict())
    return other


def trained(text: TokenText, steps: int, seed: int) -> Row:
    """Train one model and return what it costs, what it lost, and what it writes."""
    model, seconds = clocked(small_gpt, text, steps, seed)
    caches: dict[str, Callable[[int], ModelCache]] = {
        "float32": partial(model.new_cache, max_length=LENGTH), "int8": int8_cache,
    }  # fmt: skip
    loss = next_token_loss(model, text.validation)
    generator = torch.Generator().manual_seed(1)
    written = generate(
        model, text.tokenizer.encode(PROMPT)[None], 160, cache=rolling_cache(1),
        temperature=0.6, top_k=20, generator=generator,
    )  # fmt: skip
    return {
        "steps": steps, "seed": seed, "cpu_seconds": seconds,
        "parameters": sum(one.numel() for one in model.parameters()), "loss": round(loss, 4),
        "bits_a_character": round(loss / text.characters_per_token / math.log(2), 4),
        "loss_through": {
            name: round(next_token_loss(model, text.validation, caches=make), 6)
            for name, make in caches.items()
        },
        "loss_at": {
            str(length): {
                "all": round(next_token_loss(model, text.validation, length), 4),
                "rolling": round(
                    next_token_loss(model, text.validation, length, rolling_cache), 4
                ),
            }
            for length in READ_AT
        },
        "bytes": {name: make(1).num_bytes for name, make in caches.items()},
        "sample": PROMPT + text.tokenizer.decode(written[0].tolist()),
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    text = token_text(character_text())
    cases = [*((text, SHORT, seed) for seed in range(script.options.seeds)), (text, LONG, 0)]
    script.record(
        what="a small GPT trained on Python's help, and its loss through caches",
        settings={
            **SIZES, "vocabulary": len(text.tokenizer), "positions": "rope", "length": LENGTH,
            "characters_a_token": round(text.characters_per_token, 3),
        },
        runs=each(trained, cases),
    )  # fmt: skip


if __name__ == "__main__":
    main()
