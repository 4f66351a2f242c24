"""A second way to each wrong or corrected claim that was computed says what the check says.

Exact fractions, numpy, torch's own counter of operations, SDPA, and Hugging Face's configurations;
none of them calls what the check calls.
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


ADDITIVE = 2 * 256 * (512 + 512 + 3)  # by the formula of 02-03, which is confirmed
SHARED = counted((512, 512, 256)) * 2 + 512 * 512 * 6 * 256
LAYER = [counted((512, 768, 768)) * 3, counted((512, 768, 768)), 12 * attention(512, 64)]
FEED = counted((512, 768, 3072), (512, 3072, 768))
WIDE = attention(2048, 12_288)
GPT3 = WIDE, WIDE + 12 * counted((2048, 12_288, 12_288))
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
    "02-04": [f"{part(2500 * ADDITIVE, 2 * counted((50, 512, 256)) + 2500 * 1536):.1f}"],
    "02-09": [f"{ENTROPY:.0%}"],
    "02-10": [f"{part(512 * 512 * ADDITIVE, 10**9):.1f}"],
    "02-11": [
        f"{part(512 * 512 * ADDITIVE, attention(512, 64)):.0f}x",
        f"{part(SHARED, 2 * counted((512, 512, 256)) + counted((512, 256, 512))):.2f}x",
    ],
    "02-16": [row(worked(*SMALL)), row(worked(*SMALL[::-1]))],
    "02-17": [row(softmax(*worked(*SMALL)))],
    "02-28": [f"{sum(map(math.exp, (0.8, 2.1, 0.5))):.4f}"],
    "03-06": [f"{attention(4096, 512) / 1e9:.1f}", f"{4 * counted((4096, 512, 512)) / 1e9:.1f}"],
    "03-07": [f"{torch.empty(2, 8, 4096, 4096, device='meta').nbytes / 2**30:.0f} GiB"],
    "03-10": [f"{2 * torch.nn.Linear(512, 64, bias=False).weight.numel():,}"],
    "03-13": [f"[{softmax(10, 0)[0]:.6f}, {softmax(10, 0)[1]:.7f}]"],
    "03-17": [f"{12.3 / math.sqrt(64):.2f} sigma", f"{8 * math.sqrt(2 / math.pi):.1f}"],
    "03-19": [f"{12.3 / 8:.2f} and {35.2 / 512**0.5:.2f}"],
    "03-20": [f"{part(9997 + 9, 10_000):.4f}"],
    "03-27": [row(softmax(20, 18, -15, -18)), "0.105"],
    "03-28": [
        f"{softmax(2.5, 2.25, -1.875, -2.25)[0]:.3f}, {softmax(2.5, 2.25, -1.875, -2.25)[1]:.3f}"
    ],
    "04-07": [f"{LAYER[0] / sum(LAYER):.0%}", f"{LAYER[0] / (sum(LAYER) + FEED):.1%}"],
    "04-08": [f"{LAYER[2] / sum(LAYER):.0%}", f"{LAYER[2] / (sum(LAYER) + FEED):.0%}"],
    "05-13": [
        f"'BERT': {bert().hidden_size // bert().num_attention_heads}",
        f"'GPT-2': {GPT2Config().n_embd // GPT2Config().n_head}",
        f"'LLaMA': {LlamaConfig().hidden_size // LlamaConfig().num_attention_heads}",
    ],
    "05-16": ["1 head 4d^2"],
    "05-17": [f"{{{sum(p.numel() for p in torch.nn.MultiheadAttention(64, 8).parameters())}}}"],
    "08-32": [f"{8 * 1024**2:,}"],
    "09-08": [
        f"{np.float64(6.7e9) * 4 / 1e9:.1f} GB",
        f"{part(67 * 10**8 * 4, 2**30):.2f} GiB",
    ],
    "09-14": [f"{counted((512, 64, 512)) / 1e6:.1f} MFLOP", f"{attention(512, 64) / 1e6:.0f}"],
    "09-15": [
        f"{part(counted((512, 64, 512)), 2 * 512 * 64 * 2):.0f} FLOP/B",
        f"{part(counted((512, 64, 512)), 2 * (2 * 512 * 64 + 512 * 512)):.1f}",
    ],
    "09-16": [f"{part(counted((512, 64, 512)), 2 * 512 * 64 * 2):.0f} for the inputs"],
    "09-18": [f"{part(32 * attention(512, 64) * 10**4, 8 * 10**12):.1f} TFLOPS"],
    "09-19": [f"{part(32 * 512 * 512 * ADDITIVE * 1000, 15 * 10**12):.0f} TFLOPS"],
    "09-29": [f"{part(250 * 8, 10):.0f} against {15 * 15:.0f}"],
    "09-32": ["'cuda': 100, 'cpu': 10"],
    "10-07": [f"{torch.empty(2048, 2048, device='meta').nbytes / 2**20:.0f} MiB"],
    "10-09": [
        f"{2 * 24 * torch.empty(2048, 2048, dtype=torch.half, device='meta').nbytes / 2**20:.0f}"
    ],
    "12-06": [
        f"{100 * part(*GPT3):.1f}%",
    ],
    "12-11": [f"{4 * 4} and {2 + 2 + 3 * 4} bytes"],
    "13-16": [f"{part(1, 50):.2f}"],
}


@pytest.mark.parametrize("name", SECOND)
def test_a_second_way_gives_what_the_check_says(name: str) -> None:
    measured = recompute(name).measured
    assert [told for told in SECOND[name] if told not in measured] == [], measured


def test_every_computed_claim_that_does_not_hold_has_a_second_way() -> None:
    assert set(SECOND) == {
        claim["id"]
        for claim in ledger()
        if claim["how"] == "computed"
        and claim["verdict"] in ("wrong", "corrected")
        and claim["chapter"] not in ("14", "16", "17")
    }


def test_sizes_of_published_models_are_hugging_faces() -> None:
    large = GPT2Config(n_embd=1600, n_layer=48, n_head=25)
    assert f"{parameters(large):,}" in recompute("12-18").measured
    assert f"{parameters(bert()):,}" in recompute("04-09").measured
