"""Measure what one more token costs, by its position, and beside Hugging Face's generate.

Method: one thread, float32. Calls are compared as `timing.py` says; the positions have
three times as many rounds as were asked for.

`runs` has one decoding step at each position: the cache holds all tokens before it, takes one more,
and is set back after it, so that every repeat does the same. `lines` are fitted to these times, and
power laws to the counted FLOPs. `concatenated` is the cache as often published, which makes new
tensors at every token; `no cache` reads all tokens again.

`generate` has whole runs, of Hugging Face's GPT-2 with either of its caches and of ours with the
same weights: `same_tokens` says that all wrote the same. The products are the same; ours gains by
having less around them, and by the order in which the matrices are stored.

It takes five minutes on one core, and needs the extra [bench]:

    sh tools/setup.sh --extras bench
    python -m benchmarks.chapters.ch10.chapter_10_decode
"""

import os
from functools import partial
from importlib.metadata import version

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from benchmarks.recording import Row, Script
from benchmarks.timing import Call, in_rounds, milliseconds, ratio
from course_utils.attention import KVCache, grouped_query_attention
from course_utils.measure import count_flops, fit_power_law
from course_utils.models import GPT, ModelCache, from_gpt2, generate

os.environ["HF_HUB_OFFLINE"] = "1"  # the models are random: nothing is fetched
from transformers import GPT2Config, GPT2LMHeadModel

POSITIONS = (128, 256, 512, 1024, 2048, 4096)
SIZES = {"d_model": 256, "num_heads": 8, "num_layers": 4}
TOKENS = 1000
WAYS = {"MHA": 8, "GQA": 2, "MQA": 1}
PROMPT = 16
SIZE = ("d_model", "layers", "heads", "vocabulary", "batch", "new_tokens")
GENERATED = (
    (64, 2, 4, 1000, 1, 256),
    (128, 2, 4, 1000, 1, 256),
    (256, 4, 8, 1000, 1, 256),
    (256, 4, 8, 1000, 8, 128),
    (512, 8, 8, 1000, 1, 128),
    (768, 12, 12, 50257, 1, 48),
)


class Concatenated(KVCache):
    """A cache that makes longer tensors at every token."""

    def __init__(self, key: Tensor, value: Tensor) -> None:
        self.key, self.value, self._length = key, value, key.shape[2]

    def append(self, key: Tensor, value: Tensor) -> None:
        """Put the new ones behind the first `length`, in new tensors."""
        self.longer = (torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2))

    def attend(self, query: Tensor, first: None = None) -> Tensor:
        """Return what the one query finds."""
        return grouped_query_attention(query, *self.longer)


def step(model: GPT, cache: ModelCache, before: int, token: Tensor) -> None:
    """Read one token after a cached past, which stays as it was."""
    cache.crop(before)
    model(token, cache)


def steps_at(position: int) -> dict[str, Call]:
    """Return every way of reading the token at a position."""
    tokens = torch.randint(TOKENS, (1, position))
    calls: dict[str, Call] = {}
    for way, kv_heads in WAYS.items():
        torch.manual_seed(0)
        model = GPT(TOKENS, **SIZES, num_kv_heads=kv_heads, max_length=max(POSITIONS))
        cache = model.new_cache(1, position)
        model(tokens, cache)
        calls[way] = partial(step, model, cache, position - 1, tokens[:, -1:])
        if way == "MHA":
            longer = ModelCache([
                Concatenated(one.key[:, :, :-1].clone(), one.value[:, :, :-1].clone())
                for one in cache.layers
            ])  # fmt: skip
            calls["concatenated"] = partial(step, model, longer, position - 1, tokens[:, -1:])
            calls["no cache"] = partial(model.logits, tokens)
    return calls


def by_position(rounds: int) -> list[Row]:
    """Return the time and the FLOPs of one token at each position.

    All positions take turns in the same rounds: a slow minute of the machine falls on each of them.
    """
    calls = {
        f"{way}, {position}": call
        for position in POSITIONS for way, call in steps_at(position).items()
    }  # fmt: skip
    seconds = in_rounds(calls, rounds)
    rows = []
    for name, call in tqdm(calls.items(), desc="positions", ncols=80):
        way, position = name.split(", ")
        rows.append({
            "way": way, "position": int(position), "milliseconds": milliseconds(seconds[name]),
            "tokens_a_second": round(1e3 / milliseconds(seconds[name]), 1),
            "flops": count_flops(call),
        })  # fmt: skip
    return rows


def lines(runs: list[Row]) -> list[Row]:
    """Return, for each way, how the cost of a token grows with its position."""
    rows = []
    for way in dict.fromkeys(row["way"] for row in runs):
        own = [row for row in runs if row["way"] == way]
        places = [row["position"] for row in own]
        times, flops = ([row[of] for row in own] for of in ("milliseconds", "flops"))
        slope, start = np.polyfit(places, times, 1)
        rows.append({
            "way": way, "milliseconds_at_0": round(float(start), 3),
            "milliseconds_a_1000_positions": round(1e3 * float(slope), 3),
            "exponent_of_time": round(fit_power_law(places, times).exponent, 3),
            "exponent_of_flops": round(fit_power_law(places, flops).exponent, 3),
            "flops_a_position": round(float(np.polyfit(places, flops, 1)[0]), 1),
        })  # fmt: skip
    whole = next(row for row in rows if row["way"] == "no cache")["milliseconds_a_1000_positions"]
    for row in rows:
        row["slope_below_no_cache"] = round(whole / row["milliseconds_a_1000_positions"], 1)
    return rows


def generations(
    d_model: int, layers: int, heads: int, tokens: int, batch: int, new: int
) -> dict[str, Call]:
    """Return whole runs of ours and of Hugging Face's two caches, on equal weights."""
    theirs = GPT2LMHeadModel(GPT2Config(
        vocab_size=tokens, n_embd=d_model, n_head=heads, n_layer=layers, n_positions=512,
        tie_word_embeddings=False, bos_token_id=None, eos_token_id=None,
    )).eval()  # fmt: skip
    ours = GPT(tokens, d_model=d_model, num_heads=heads, num_layers=layers, max_length=512)
    ours.load_state_dict(from_gpt2(theirs.state_dict()))
    prompt = torch.randint(tokens, (batch, PROMPT), generator=torch.Generator().manual_seed(0))
    written = partial(
        theirs.generate, prompt, max_new_tokens=new, do_sample=False, pad_token_id=0,
        attention_mask=torch.ones_like(prompt),
    )  # fmt: skip
    return {
        "ours": partial(generate, ours, prompt, new, temperature=0.0),
        "dynamic": partial(written, cache_implementation="dynamic"),
        "static": partial(written, cache_implementation="static"),
    }


def beside(rounds: int) -> list[Row]:
    """Compare whole runs with Hugging Face's."""
    rows = []
    for size in tqdm(GENERATED, desc="generate", ncols=80):
        calls, (*_, batch, new) = generations(*size), size
        same = all(
            torch.equal(call()[:, PROMPT:], calls["ours"]())  # type: ignore[index]
            for name, call in calls.items() if name != "ours"
        )  # fmt: skip
        seconds = in_rounds(calls, rounds)
        faster = min(("dynamic", "static"), key=lambda name: milliseconds(seconds[name]))
        rows.append({
            **dict(zip(SIZE, size, strict=True)), "same_tokens": same,
            "tokens_a_second": {
                name: round(1e3 * batch * new / milliseconds(one)) for name, one in seconds.items()
            },
            "faster_of_theirs": faster, "times_faster": ratio(seconds[faster], seconds["ours"]),
        })  # fmt: skip
    return rows


def main() -> None:
    """Measure everything and write one JSON file."""
    script = Script(__file__, __doc__, rounds=7)
    torch.manual_seed(0)
    with torch.inference_mode():
        whole = beside(script.options.rounds)
        runs = by_position(3 * script.options.rounds)
    script.record(
        what="the cost of a token by its position, and generation beside Hugging Face's",
        versions={"transformers": version("transformers")},
        settings={
            **SIZES, "num_kv_heads": WAYS, "vocabulary": TOKENS, "prompt": PROMPT,
            "dtype": "float32",
        },
        runs=runs,
        lines=lines(runs),
        generate=whole,
    )  # fmt: skip


if __name__ == "__main__":
    main()
