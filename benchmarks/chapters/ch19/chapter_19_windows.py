"""Count the loss of a text in windows, rightly and wrongly, and the size of nuclei on it.

Method: one thread, the first 1,200 tokens of the text "sklearn"; a share of windows in which what
was counted before is counted again, or in which every window's mean counts alike, is the mistake of
the exercise. The nuclei are those of 600 places of the text. A minute on one core:

    python -m benchmarks.chapters.ch19.chapter_19_windows
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.chapters.ch19.model_texts import opened, text_tokens
from benchmarks.recording import Row, Script, each
from course_utils.measure import windowed_loss
from course_utils.model_file import SHA256
from course_utils.models import released, top_p_filter

NUM_TOKENS, NUM_PLACES = 1200, 600
WINDOWS = ((128, 64), (128, 32), (256, 128), (512, 256))
SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)


def losses(scores: Tensor, tokens: Tensor) -> Tensor:
    """Return the loss of every token but the first."""
    return F.cross_entropy(scores[:-1], tokens[1:], reduction="none")


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    model = released.model().model
    tokens = text_tokens(opened()[0], NUM_TOKENS)["sklearn"]

    def row(window: int, stride: int) -> Row:
        starts = range(0, len(tokens) - window + stride, stride)
        parts = [tokens[start : start + window] for start in starts]
        each_window = [losses(model.logits(part[None])[0], part) for part in parts]
        return {
            "window": window, "stride": stride,
            "right": round(windowed_loss(model.logits, tokens, window, stride), 3),
            "mean of the windows' means": round(
                torch.stack([one.mean() for one in each_window]).mean().item(), 3
            ),
            "overlaps counted again": round(torch.cat(each_window).mean().item(), 3),
        }  # fmt: skip

    with torch.inference_mode():
        scores = model.logits(tokens[None])[0]
        whole = losses(scores, tokens)
        chances = scores[:NUM_PLACES].softmax(-1)
        right = scores[: NUM_PLACES - 1].argmax(-1) == tokens[1:NUM_PLACES]
        kept = {p: top_p_filter(scores[:NUM_PLACES], p).isfinite().sum(-1) for p in SHARES}
        runs = each(row, WINDOWS)
    nuclei = [
        {
            "top_p": share, "median": int(size.median()), "largest": int(size.max()),
            "ninth decile": int(size.double().quantile(0.9)),
            "one alone": round((size == 1).double().mean().item(), 3),
        }
        for share, size in kept.items()
    ]  # fmt: skip
    script.record(
        what="loss (nats per token) of a text in windows, and tokens kept by top-p",
        settings={
            "sha256": SHA256, "tokens": NUM_TOKENS, "places": NUM_PLACES,
            "in one pass": round(whole.mean().item(), 3),
            "first 300 in one pass": round(whole[:299].mean().item(), 3),
            "likeliest is right": round(
                right.double().mean().item(), 3
            ),
            "likeliest claims": round(chances.amax(-1).mean().item(), 3),
        },
        runs=runs,
        nuclei=nuclei,
    )  # fmt: skip


if __name__ == "__main__":
    main()
