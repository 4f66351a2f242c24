"""Measure what a server gains: rows that share the weights, rows that are not wasted, shared pages.

Method: one thread, float32. Calls are compared as `timing.py` says.

`runs` is decoding by batch size, each sequence with a cache of its own: a whole step, and its
matrix products with weights alone. FLOPs and bytes are counts: the weights, read once a step, and
the keys and values, read once a sequence. `roofs` are the machine's: a large matrix product, and a
product of a large matrix and a vector. `ridge` is the batch size at which both roofs meet.

`batching` answers the same requests in static batches, padded on the left, and in a server with
the same memory. `pages` gives that server less and less memory. `prefixes` serves prompts that
begin alike. All check that every answer is that of the request alone.

It takes some minutes on one core:

    python -m benchmarks.chapters.ch10.chapter_10_serving
"""

import math
import random
import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.recording import Row, Script
from benchmarks.timing import Call, in_rounds, milliseconds, ratio
from course_utils.measure import count_flops
from course_utils.models import GPT
from course_utils.serving import Prefixes, Request, Server, static_batches

BATCHES = (1, 2, 4, 8, 16, 32, 64)
LARGE = {"d_model": 512, "num_heads": 8, "num_layers": 8, "max_length": 256}
SMALL = {"d_model": 256, "num_heads": 8, "num_layers": 4, "max_length": 256}
TOKENS, PAST, ROOF = 1000, 128, 2048
REQUESTS, ROWS, PAGE = 32, 8, 16
BUDGETS = (8, 64, 256)
PAGES = (96, 48, 32, 24)
BEGINNING, READERS = 96, 16


def step_of(model: GPT, batch: int) -> Call:
    """Return a decoding step for a number of sequences, each of which holds `PAST` tokens."""
    cache = model.new_cache(batch, PAST + 1)
    with torch.inference_mode():
        model(torch.randint(TOKENS, (batch, PAST)), cache)
    tokens = torch.randint(TOKENS, (batch, 1))

    def step() -> None:
        cache.crop(PAST)
        with torch.inference_mode():
            model(tokens, cache)

    return step


def products_of(model: GPT, batch: int) -> Call:
    """Return the step's products with weights, on rows of their own."""
    linears = [one for one in model.modules() if isinstance(one, nn.Linear)]
    rows = {one.in_features: torch.randn(batch, one.in_features) for one in linears}

    def products() -> None:
        with torch.inference_mode():
            for one in linears:
                F.linear(rows[one.in_features], one.weight)

    return products


def by_batch(rounds: int) -> tuple[list[Row], list[Row]]:
    """Return the cost of a token by batch size, and the machine's roofs."""
    torch.manual_seed(0)
    model = GPT(TOKENS, **LARGE)
    square, row = torch.randn(ROOF, ROOF), torch.randn(ROOF)
    tall = torch.randn(16 * ROOF, ROOF)
    calls: dict[str, Call] = {
        "arithmetic": partial(torch.mm, square, square), "reading": partial(torch.mv, tall, row),
    }  # fmt: skip
    for batch in BATCHES:
        calls[f"step {batch}"] = step_of(model, batch)
        calls[f"products {batch}"] = products_of(model, batch)
    seconds = in_rounds(calls, rounds)
    peak = 2 * ROOF**3 / (1e-3 * milliseconds(seconds["arithmetic"]))
    bandwidth = tall.nbytes / (1e-3 * milliseconds(seconds["reading"]))
    weights = sum(one.weight.nbytes for one in model.modules() if isinstance(one, nn.Linear))
    kept = model.new_cache(1, PAST + 1).num_bytes
    rows = []
    for batch in BATCHES:
        step, products = seconds[f"step {batch}"], seconds[f"products {batch}"]
        flops = count_flops(calls[f"products {batch}"]) // batch
        one = seconds["products 1"]
        rows.append({
            "batch": batch, "step_ms_a_token": round(milliseconds(step) / batch, 4),
            "products_ms_a_token": round(milliseconds(products) / batch, 4),
            "products_to_batch_1": ratio(products, one),
            "step_to_batch_1": ratio(step, seconds["step 1"]),
            "products_gflops_a_second": round(flops * batch / milliseconds(products) / 1e6, 2),
            "weight_flops_a_token": flops, "weight_bytes_a_token": weights // batch,
            "cache_bytes_a_token": kept, "flop_per_weight_byte": flops * batch / weights,
        })  # fmt: skip
    ridge = {
        "gflops_a_second": round(peak / 1e9, 2), "gigabytes_a_second": round(bandwidth / 1e9, 2),
        "flop_per_byte": round(peak / bandwidth, 2),
        "ridge": round(peak / bandwidth * weights / rows[0]["weight_flops_a_token"], 1),
    }  # fmt: skip
    return rows, [ridge]


def readers() -> list[Request]:
    """Return requests whose prompts and answers are of many lengths, most of them short."""
    choose = random.Random(0)

    def length(middle: float, most: int) -> int:
        return max(2, min(most, round(choose.lognormvariate(math.log(middle), 0.8))))

    made = []
    for _ in range(REQUESTS):
        prompt = [choose.randrange(TOKENS) for _ in range(length(24, 96))]
        made.append(Request(prompt, length(24, 96)))
    return made


def alike(num_tokens: int) -> list[Request]:
    """Return requests with one beginning, and prompts of their own behind it."""
    choose = random.Random(1)
    beginning = [choose.randrange(TOKENS) for _ in range(BEGINNING)]
    return [
        Request([*beginning, *(choose.randrange(TOKENS) for _ in range(8 + number))], num_tokens)
        for number in range(READERS)
    ]


def alone(model: GPT, requests: list[Request]) -> list[list[int]]:
    """Return the answers of a batch of one."""
    for _ in static_batches(model, requests, 1):
        pass
    return [one.written for one in requests]


def serve(
    model: GPT, requests: list[Request], pages: int, budget: int = 64, shared: bool = False
) -> Server:
    """Return a server at which these requests wait."""
    server = Server(
        model, num_pages=pages, page_size=PAGE, budget=budget,
        prefixes=Prefixes(PAGE) if shared else None,
    )  # fmt: skip
    for one in requests:
        server.submit(one)
    return server


def summary(steps: list[Any], requests: list[Request], want: list[list[int]]) -> Row:
    """Return what the steps did in all."""
    return {
        "steps": len(steps), "fed": sum(one.fed for one in steps),
        "most_in_a_step": max(one.fed for one in steps),
        "drawn_a_step": round(sum(one.drawn for one in steps) / len(steps), 2),
        "same_tokens": [one.written for one in requests] == want,
    }  # fmt: skip


def needed(requests: list[Request]) -> int:
    """Return how many rows the answers need if nothing is shared: no padding, nothing again."""
    return sum(len(one.prompt) - 1 + len(one.written) for one in requests)


def stepwise(way: str, model: GPT, requests: list[Request]) -> Iterator[Any]:
    """Answer the requests and yield what each call of the model did."""
    if way in ("alone", "static"):
        yield from static_batches(model, requests, 1 if way == "alone" else ROWS)
        return
    server = serve(model, requests, PAGES[0], int(way.removeprefix("continuous, budget ")))
    while not all(one.ended for one in requests):
        yield server.step()


def batching(model: GPT, rounds: int) -> list[Row]:
    """Compare static batches with a server that has the memory of one of them."""
    ways = ("alone", "static", *(f"continuous, budget {budget}" for budget in BUDGETS))
    want, rows = alone(model, readers()), []
    calls = {way: lambda way=way: [*stepwise(way, model, readers())] for way in ways}
    seconds = in_rounds(calls, rounds)
    for way in ways:
        requests, steps = readers(), []
        first: dict[Request, tuple[int, int]] = {}  # the steps and rows until the first token
        for one in stepwise(way, model, requests):
            steps.append(one)
            fed = sum(other.fed for other in steps)
            for request in requests:
                if request.written:
                    first.setdefault(request, (len(steps), fed))
        made = summary(steps, requests, want)
        rows.append({
            "way": way, **made, "needed": needed(requests),
            "wasted": round(1 - needed(requests) / made["fed"], 4),
            "steps_to_first_token": round(statistics.mean(one for one, _ in first.values()), 1),
            "rows_to_first_token": round(statistics.mean(one for _, one in first.values()), 1),
            "milliseconds": milliseconds(seconds[way]),
            "time_to_static": ratio(seconds[way], seconds["static"]),
        })  # fmt: skip
    return rows


def by_pages(model: GPT) -> list[Row]:
    """Return what the server does with less and less memory."""
    want, rows = alone(model, readers()), []
    for pages in PAGES:
        requests = readers()
        steps = serve(model, requests, pages).run()
        rows.append({
            "pages": pages, **summary(steps, requests, want), "needed": needed(requests),
            "preempted": sum(one.preempted for one in steps),
            "most_running": max(one.running for one in steps),
        })  # fmt: skip
    return rows


def prefixes(model: GPT, rounds: int) -> list[Row]:
    """Serve prompts that begin alike, with and without sharing: read alone, and answered."""
    rows = []
    for num_tokens in (1, 24):
        want = alone(model, alike(num_tokens))
        calls = {
            way: lambda shared=shared, n=num_tokens: serve(
                model, alike(n), 256, shared=shared
            ).run()
            for way, shared in (("apart", False), ("shared", True))
        }
        seconds = in_rounds(calls, rounds)
        for way, call in calls.items():
            requests = alike(num_tokens)
            steps = serve(model, requests, 256, shared=way == "shared").run()
            rows.append({
                "num_tokens": num_tokens, "way": way, **summary(steps, requests, want),
                "pages": max(one.pages for one in steps), "flops": count_flops(call),
                "milliseconds": milliseconds(seconds[way]),
                "time_to_apart": ratio(seconds[way], seconds["apart"]),
            })  # fmt: skip
    return rows


def main() -> None:
    """Measure everything and write one JSON file."""
    script = Script(__file__, __doc__, rounds=5)
    torch.manual_seed(0)
    model = GPT(TOKENS, **SMALL)
    shared = prefixes(model, script.options.rounds)
    waits, tight = batching(model, script.options.rounds), by_pages(model)
    runs, roofs = by_batch(script.options.rounds)
    script.record(
        what="decoding by batch size, continuous against static batching, and shared prefixes",
        settings={
            "by_batch": {**LARGE, "past": PAST}, "serving": SMALL, "vocabulary": TOKENS,
            "requests": REQUESTS, "static_batch": ROWS, "page": PAGE,
            "beginning": BEGINNING, "readers": READERS, "dtype": "float32",
        },
        runs=runs, roofs=roofs, batching=waits, pages=tight, prefixes=shared,
    )  # fmt: skip


if __name__ == "__main__":
    main()
