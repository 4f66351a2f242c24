"""Time the released model beside transformers', both on its weights in float32, and in four bits.

Ours is the course's `generate`, theirs LlamaForCausalLM's with its dynamic cache; both greedy, from
the same prompt, with equal text. Each has its matrices in the layout that it makes for itself.
In four bits the text may differ, and is not compared. A round times each once, in a new order; a
ratio is their time / our time in one round, and the record holds its median, least and largest.
One thread: CPU time, in which waiting for other programs does not count. Several: the clock, which
says something on an idle machine alone.
A share of products is the time of a token's products alone over that of all it takes.
The roof is the bytes that a token reads over what a product of a matrix and a vector, larger than
the caches, reads per second, timed in the same rounds. Without the model's file it ends at once.

    python -m benchmarks.chapters.ch19.chapter_19_decode                   some five minutes
    python -m benchmarks.chapters.ch19.chapter_19_decode --threads 1 2     on two threads, too
"""

import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import torch

from benchmarks.peers.transformers_llama import transformers_model, written_by_theirs
from benchmarks.recording import Row, Script, apart
from benchmarks.timing import Call
from course_utils.model_file import ModelFileError, required_model
from course_utils.models import generate
from course_utils.models.gpt.layer import laid_out
from course_utils.models.released.gguf.four_bits import FourBits, four_bit_model
from course_utils.models.released.gguf.gguf_file import GGUFFile, read_gguf
from course_utils.models.released.gguf.gguf_model import Released, from_gguf
from course_utils.models.released.llama import Llama

PROMPT = "The capital of France is"
PROBE = (49_152, 576)  # the matrix whose product with a vector gives the bandwidth
PRODUCTS = 32  # of them
RATIOS = {
    "theirs / ours": ("theirs", "ours"),
    "theirs / ours, reading": ("theirs, read", "ours, read"),
    "ours / four bits": ("ours", "four bits"),
    "ours / four bits, reading": ("ours, read", "four bits, read"),
    "ours / four bits, products": ("ours, products", "four bits, products"),
}


def calls(
    file: GGUFFile, ours: Released, packed: Llama | None, written: int, read: int
) -> dict[str, Call]:
    """Return what is timed, by name; texts are equal, or it raises."""
    model, tokenizer = ours
    prompt = tokenizer.encode(PROMPT).unsqueeze(0)
    long = prompt.repeat(1, read)[:, :read]
    theirs = transformers_model(file, model)
    found: dict[str, Call] = {
        "ours": partial(generate, model, prompt, written, temperature=0.0),
        "theirs": partial(written_by_theirs, theirs, prompt, written),
        "ours, read": partial(generate, model, long, 1, temperature=0.0),
        "theirs, read": partial(written_by_theirs, theirs, long, 1),
        "ours, products": products(model, prompt, written),
    }
    for one, other in (("ours", "theirs"), ("ours, read", "theirs, read")):
        if not torch.equal(found[one](), found[other]()):  # type: ignore[arg-type]
            raise AssertionError(f"{one} and {other} must write the same text")
    if packed is not None:
        found["four bits"] = partial(generate, packed, prompt, written, temperature=0.0)
        found["four bits, read"] = partial(generate, packed, long, 1, temperature=0.0)
        found["four bits, products"] = products(packed, prompt, written)
    matrix, vector = laid_out(torch.randn(PROBE)), torch.randn(PROBE[1])
    found["probe"] = lambda: [torch.mv(matrix, vector) for _ in range(PRODUCTS)]
    return found


def products(model: Llama, prompt: torch.Tensor, written: int) -> Call:
    """Return a call that makes the products of so many tokens, and nothing else."""
    made: list[tuple[torch.nn.Module, torch.Tensor]] = []
    hooks = [
        one.register_forward_hook(lambda part, given, _: made.append((part, given[0])))
        for one in model.modules() if isinstance(one, torch.nn.Linear | FourBits)
    ]  # fmt: skip
    model(prompt[:, :1])
    for hook in hooks:
        hook.remove()
    return lambda: [part(x) for _ in range(written) for part, x in made]


def rounds_of(found: dict[str, Call], rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return the seconds of each call in each round."""
    measured: dict[str, list[float]] = {name: [] for name in found}
    for number in range(rounds + 1):  # the first warms up
        for name in random.Random(number).sample(list(found), len(found)):
            start = clock()
            found[name]()
            measured[name].append(clock() - start)
    return {name: seconds[1:] for name, seconds in measured.items()}


def measured(threads: int, rounds: int, written: int, read: int) -> Row:
    """Return the figures with so many threads."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    file = read_gguf(required_model())
    ours, packed = from_gguf(file), in_four_bits(file)
    with torch.inference_mode():
        found = calls(file, ours, packed, written, read)
        clock = time.process_time if threads == 1 else time.perf_counter
        seconds = rounds_of(found, rounds, clock)
    middle = {name: statistics.median(one) for name, one in seconds.items()}
    bandwidth = PRODUCTS * PROBE[0] * PROBE[1] * 4 / middle["probe"]
    row: Row = {"threads": threads, "gigabytes_per_second": round(bandwidth / 1e9, 1)}
    models = {"ours": ours.model, "theirs": ours.model, "four bits": packed}
    for name, model in models.items():
        if model is not None:
            rate, num_bytes = written / middle[name], bytes_read(model)
            row[name] = {
                "tokens_per_second": round(rate, 1), "bytes_per_token": num_bytes,
                "share_of_roof": round(rate * num_bytes / bandwidth, 2),
                "read_tokens_per_second": round(read / middle[f"{name}, read"], 1),
            }  # fmt: skip
        if f"{name}, products" in seconds:
            shares = spread(seconds[f"{name}, products"], seconds[name])
            row[name]["share_of_products"] = shares["median"]
    for name, (one, other) in RATIOS.items():
        if other in seconds:
            row[name] = spread(seconds[one], seconds[other])
    return row


def in_four_bits(file: GGUFFile) -> Llama | None:
    """Return the model in four bits, or say what is missing."""
    try:
        return four_bit_model(file).model
    except RuntimeError as error:
        print(error)
        return None


def bytes_read(model: Llama) -> int:
    """Return the bytes of weights that a token reads: all but the rows of the embedding."""
    return sum(
        one.num_bytes if isinstance(one, FourBits)
        else sum(weight.nbytes for weight in one.parameters(recurse=False))
        for one in model.modules() if not isinstance(one, torch.nn.Embedding)
    )  # fmt: skip


def spread(one: list[float], other: list[float]) -> dict[str, float]:
    """Return the median, the least and the largest of one / other."""
    ratios = [a / b for a, b in zip(one, other, strict=True)]
    found = {"median": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__, rounds=5, threads=[1], written=32, read=256, inside=0)
    options = script.options
    sizes = (options.rounds, options.written, options.read)
    if options.inside:
        print(json.dumps(measured(options.inside, *sizes)))
        return
    try:
        required_model()
    except ModelFileError as error:
        sys.exit(str(error))
    rows = []
    for threads in options.threads:
        given = zip(("--inside", "--rounds", "--written", "--read"), (threads, *sizes), strict=True)
        rows.append(apart(__file__, *(str(word) for pair in given for word in pair)))
        print(json.dumps(rows[-1], indent=1), flush=True)
    script.record(
        what="a released model: our generate beside transformers', and with matrices in four bits",
        versions={"transformers": version("transformers")},
        settings={
            "rounds": options.rounds, "prompt": PROMPT, "written": options.written,
            "read": options.read, "note": NOTE,
        },
        machine=f"{platform.machine()}, 1 thread by CPU time, several by the clock",
        runs=rows,
    )  # fmt: skip


NOTE = (
    "llama.cpp is not a peer: its Python package comes as source, and compiling that takes longer "
    "than 25 minutes on two busy cores"
)


if __name__ == "__main__":
    main()
