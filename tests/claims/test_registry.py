"""A second way to each wrong or corrected claim that was computed says what the check says.

Rows of arithmetic need none: test_figures.py tests the rule that judges them. Exact fractions,
numpy, torch's own counter of operations, SDPA, and Hugging Face's configurations; none of them
calls what the check calls.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModel, BertConfig, GPT2Config, LlamaConfig

from course_utils.claims import ledger, recompute
from course_utils.claims.figures import ROWS
from course_utils.claims.finding import checks


def part(numerator: int, denominator: int) -> float:
    return float(Fraction(numerator, denominator))


def softmax(*scores: float) -> np.ndarray:
    powers = np.exp(np.array(scores) - max(scores))
    return powers / powers.sum()


def counted(*products: tuple[int, int, int]) -> int:
    """Return the FLOPs that torch counts in matrix products of these sizes."""
    with FlopCounterMode(display=False) as counter:
        for a, b, c in products:
            torch.empty(a, b, device="meta") @ torch.empty(b, c, device="meta")
    return int(counter.get_total_flops())


def attention(n: int, d: int) -> int:
    """Return the FLOPs of SDPA on one head, by torch's own formula."""
    with FlopCounterMode(display=False) as counter:
        x = torch.empty(1, 1, n, d, device="meta")
        F.scaled_dot_product_attention(x, x, x)
    return int(counter.get_total_flops())


def parameters(config: Any) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in AutoModel.from_config(config).parameters())


def bert() -> BertConfig:
    return BertConfig()  # BERT-base's sizes


LAYER = [counted((512, 768, 768)) * 3, counted((512, 768, 768)), 12 * attention(512, 64)]
FEED = counted((512, 768, 3072), (512, 3072, 768))
SMALL = (
    np.array([[0.5, -0.3, 0.2], [0.4, 0.6, -0.1]]),
    np.array([[0.3, 0.5, 0.2], [-0.2, 0.4, 0.6]]),
)
WORDS = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1.0]])


def worked(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([np.tanh(a @ np.full(3, 0.5) + b @ h) @ np.array([1, 0.8]) for h in WORDS])


def row(numbers: np.ndarray, digits: int = 3) -> str:
    return "[" + ", ".join(f"{number:.{digits}f}" for number in numbers) + "]"


SAME = 50 * np.log2(30_000)
ENTROPY = -(softmax(0.8, 2.1, 0.5) * np.log(softmax(0.8, 2.1, 0.5))).sum() / np.log(3)
SECOND: dict[str, list[str]] = {
    "01-04": [f"{np.dtype('f4').itemsize * 8 * 512:,}", f"{SAME:.0f}"],
    "01-07": ["50 steps", f"{np.ones((32, 50)).sum():.0f}"],
    "02-09": [f"{ENTROPY:.0%}"],
    "02-16": [row(worked(*SMALL)), row(worked(*SMALL[::-1]))],
    "02-17": [row(softmax(*worked(*SMALL)))],
    "03-10": [f"{2 * torch.nn.Linear(512, 64, bias=False).weight.numel():,}"],
    "03-17": [f"{12.3 / math.sqrt(64):.2f} sigma", f"{8 * math.sqrt(2 / math.pi):.1f}"],
    "03-19": [f"{12.3 / 8:.2f} and {35.2 / 512**0.5:.2f}"],
    "03-20": [f"{part(9997 + 9, 10_000):.4f}"],
    "03-27": [row(softmax(20, 18, -15, -18)), "0.105"],
    "03-28": [
        f"{softmax(2.5, 2.25, -1.875, -2.25)[0]:.3f}, {softmax(2.5, 2.25, -1.875, -2.25)[1]:.3f}"
    ],
    "04-08": [f"{LAYER[2] / sum(LAYER):.0%}", f"{LAYER[2] / (sum(LAYER) + FEED):.0%}"],
    "05-17": [f"{{{sum(p.numel() for p in torch.nn.MultiheadAttention(64, 8).parameters())}}}"],
    "08-32": [f"{8 * 1024**2:,}"],
    "10-09": [
        f"{2 * 24 * torch.empty(2048, 2048, dtype=torch.half, device='meta').nbytes / 2**20:.0f}"
    ],
    "13-16": [f"{part(1, 50):.2f}"],
}


@pytest.mark.parametrize("name", SECOND)
def test_a_second_way_gives_what_the_check_says(name: str) -> None:
    measured = recompute(name).measured
    assert [told for told in SECOND[name] if told not in measured] == [], measured


def test_every_computed_claim_that_does_not_hold_has_a_second_way_or_a_row() -> None:
    checks()
    amiss = {
        claim["id"]
        for claim in ledger()
        if claim["how"] == "computed" and claim["verdict"] in ("wrong", "corrected")
    }
    assert set(SECOND) == amiss - set(ROWS)


def test_sizes_of_published_models_are_hugging_faces() -> None:
    large = GPT2Config(n_embd=1600, n_layer=48, n_head=25)
    assert f"{parameters(large):,}" in recompute("12-18").measured
    assert f"{parameters(bert()):,}" in recompute("04-09").measured
    small, base, llama = (
        config.hidden_size // config.num_attention_heads
        for config in (GPT2Config(), bert(), LlamaConfig())
    )
    said = f"BERT and GPT-2 {base}, GPT-3 175B 128, LLaMA {llama}"
    assert (small, said) == (base, recompute("05-13").measured)
