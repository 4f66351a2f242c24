"""Nuclei and draws of made-up distributions, from all of their tokens: the JavaScript must agree.

The distributions are summarised as the benchmark summarises those of the released model.
"""

from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch19.chapter_19_next_token import SHARES, TEMPERATURES, place
from course_utils.measure import read_record
from course_utils.models import top_p_filter
from course_utils.widgets import NextTokenExplorer, next_token_explorer
from tests.widgets.widget_cases import mulberry32

RECORD = "chapter_19_next_token"
VOCABULARY = 400
DRAWN = [0.03 + 0.0471 * step for step in range(21)]
SETTINGS = [(0.5, 0.5), (0.7, 0.9), (1.0, 0.5), (1.0, 0.9), (1.0, 0.98), (1.0, 1.0), (1.5, 0.999)]


def distributions() -> list[Tensor]:
    """Sure, torn between two, two widths of normals, and all tokens equally likely."""
    normal = torch.randn(2, VOCABULARY, generator=torch.Generator().manual_seed(0))
    alone = torch.zeros(3, VOCABULARY)
    alone[0, 7], alone[1, 3], alone[1, 4] = 14.0, 9.0, 8.9
    return [*alone[:2], 4 * normal[0], normal[1], alone[2]]


def widget() -> NextTokenExplorer:
    """Return the widget of the made-up distributions, as it packs what is recorded."""
    runs = [
        {"text": number % 2, "token": "x", **place(logits, true=3)}
        for number, logits in enumerate(distributions())
    ]
    runs.sort(key=lambda run: run["text"])
    texts = [{"name": name, "between": ["a "] * count} for name, count in (("A", 3), ("B", 2))]
    for run in runs:
        run["tokens"] = [f"t{token}" for token in run["tokens"]]
        run["far"] = [[rank, f"t{token}"] for rank, token in run["far"]]
    settings = {"vocabulary": VOCABULARY, "temperatures": TEMPERATURES, "shares": SHARES}
    return next_token_explorer({"settings": settings, "texts": texts, "runs": runs}, place=0)


def whole(logits: Tensor, temperature: float, top_p: float) -> dict[str, Any]:
    """Return a nucleus and some draws, from the probabilities of all tokens."""
    scores = logits / temperature
    chances = scores.double().softmax(-1).sort(descending=True, stable=True).values
    heights = chances.cumsum(-1)
    size = int(top_p_filter(scores, top_p).isfinite().sum())
    draws = [
        [u, int((heights <= u).sum()) + 1]
        for u in DRAWN if (heights - u).abs().min() > 1e-4
    ]  # fmt: skip
    return {
        "temperature": temperature, "top_p": top_p, "size": size, "kept": heights[size - 1].item(),
        "least": chances[size - 1].item(), "chances": chances[:6].tolist(),
        "beyond": chances[60:].sum().item(), "draws": draws,
    }  # fmt: skip


def numbers(text: str) -> Tensor:
    return torch.tensor([float(one) for one in text.split(" ")], dtype=torch.float64)


def chances(widget: Any, number: int, temperature: float) -> Tensor:
    """Return the probabilities of a place's recorded tokens."""
    found = widget.places[number]
    norm = numbers(found["log_norms"])[widget.temperatures.index(temperature)]
    return (numbers(found["log_probs"]) / temperature - norm).exp()


def seen(widget: Any, number: int, temperature: float, top_p: float) -> dict[str, Any]:
    """Return what is said of a place: the nucleus's size and share, and the true token."""
    found = widget.places[number]
    at = widget.temperatures.index(temperature)
    size = int(numbers(found["sizes"][at])[widget.shares.index(top_p)])
    known = chances(widget, number, temperature)
    kept = known[:size].sum().item() if size <= len(known) else top_p
    true = numbers(f"{found['log_prob']}") / temperature - numbers(found["log_norms"])[at]
    return {"size": size, "kept": kept, "true": true.exp().item(), "rank": found["rank"]}


def outside(widget: Any, number: int, temperature: float, top_p: float, draws: int) -> int:
    """Return how many of the first draws from all tokens fall outside the nucleus."""
    kept = seen(widget, number, temperature, top_p)["kept"]
    return sum(u >= kept for u in mulberry32(widget.seed, draws))


def cases() -> dict[str, Any]:
    """Made-up distributions with their nuclei; places of the record with theirs."""
    made = widget()
    order = [0, 2, 4, 1, 3]  # the first text's places, then the second's
    logits = distributions()
    real = next_token_explorer(read_record(RECORD))
    views = [(2, 1.0, 0.9), (3, 1.0, 0.9), (4, 1.0, 0.98), (8, 0.5, 0.5), (23, 1.5, 0.999)]
    names = ("texts", "places", "vocabulary", "temperatures", "shares")
    return {
        "world": {name: getattr(made, name) for name in names},
        "whole": [[whole(logits[i], *setting) for setting in SETTINGS] for i in order],
        "record": [
            {"place": view[0], "temperature": view[1], "top_p": view[2], **seen(real, *view),
             "draws": 3000, "outside": outside(real, *view, 3000)}
            for view in views
        ],
    }  # fmt: skip
