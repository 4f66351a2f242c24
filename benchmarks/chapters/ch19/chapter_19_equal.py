"""Hold chapter 19's written-out model against transformers with the same weights.

Method: one thread, three texts of 300 tokens; the largest difference of any score, with the
functions of the notebook, in float32 and in float64, and how many likeliest tokens agree. In
float64 theirs still rounds angles and norms to float32; `rounded alike` is ours when it does the
same. Two minutes on one core:

    python -m benchmarks.chapters.ch19.chapter_19_equal
"""

import torch
import transformers
from torch import Tensor
from torch.nn import functional as F

from benchmarks.chapters.ch19.model_texts import NUM_TOKENS, opened, text_tokens
from benchmarks.chapters.definitions import definitions
from benchmarks.peers.transformers_llama import transformers_model
from benchmarks.recording import Row, Script, each
from course_utils.model_file import SHA256
from course_utils.models import released

NAMES = ("RIGHT", "split", "attend", "read_tokens", "text_loss", "ported")


def rotate_rounded(x: Tensor, places: Tensor, base: float) -> Tensor:
    """Rotate neighbouring pairs by angles that are rounded to float32."""
    frequencies = 1 / base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = (places[:, None] * frequencies).float()
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack([first * cos - second * sin, second * cos + first * sin], -1).flatten(-2)


def norm_rounded(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Return RMSNorm computed in float32."""
    narrow = x.float()
    return gain * (narrow * torch.rsqrt(narrow.square().mean(-1, keepdim=True) + eps)).to(x.dtype)


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    file, weights = opened()
    wide = {name: one.double() for name, one in weights.items()}
    found = definitions("19", *NAMES)
    read, norms = found["read_tokens"], {"norm": norm_rounded, "last_norm": norm_rounded}
    as_theirs = found["ported"]({"rotate": rotate_rounded, **norms})
    theirs = transformers_model(file, released.model().model)

    def row(text: str, tokens: Tensor) -> Row:
        ours = read(tokens[None], weights)[0][0]
        exact = read(tokens[None], wide)[0][0]
        alike = read(tokens[None], wide, as_theirs)[0][0]
        other = theirs.float()(tokens[None]).logits[0]
        double = theirs.double()(tokens[None]).logits[0]
        cached, past = read(tokens[None, :40], weights)
        for token in tokens[40:64]:
            one, past = read(token.view(1, 1), weights, past=past)
            cached = torch.cat([cached, one], dim=1)

        def loss(scores: Tensor) -> float:
            return F.cross_entropy(scores[:-1].double(), tokens[1:]).item()

        return {
            "text": text, "tokens": len(tokens), "largest score": round(ours.abs().max().item(), 1),
            "to transformers": (ours - other).abs().max().item(),
            "to float64": (ours - exact).abs().max().item(),
            "float64 to transformers": (exact - double).abs().max().item(),
            "rounded alike, float64 to transformers": (alike - double).abs().max().item(),
            "cached to whole": (cached[0] - ours[:64]).abs().max().item(),
            "same likeliest": (ours.argmax(-1) == other.argmax(-1)).sum().item(),
            "losses differ by": abs(loss(ours) - loss(other)),
        }  # fmt: skip

    with torch.inference_mode():
        runs = each(row, text_tokens(file, NUM_TOKENS).items())
    script.record(
        what="largest difference between scores of two implementations of the released model",
        settings={"sha256": SHA256},
        versions={"transformers": transformers.__version__},
        runs=runs,
    )


if __name__ == "__main__":
    main()
