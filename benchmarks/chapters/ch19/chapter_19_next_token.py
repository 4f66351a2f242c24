"""Record what the released model says comes next, at 24 places of two texts.

Method: one thread, float32, one causal pass over each text, no token before it. The places are the
25th, 50th, … 300th token of each text, read from those before it. For each: the 60 likeliest tokens
in the order of `top_p_filter`, a few further ones by their rank, and the true one; for each setting
of temperature and top-p the number of tokens that `top_p_filter` keeps, of all 49,152. Logarithms
of probabilities are at temperature 1; with `log_norms`, a probability at temperature T is
exp(log_prob / T - log_norm). It needs the model's file, and takes 20 CPU-seconds.

    python -m benchmarks.chapters.ch19.chapter_19_next_token
"""

from importlib import resources
from importlib.metadata import version
from pydoc_data.topics import topics
from typing import Any

import torch
from torch import Tensor

from benchmarks.recording import Row, Script
from course_utils.model_file import NAME
from course_utils.models import top_p_filter
from course_utils.models.released.gguf import gguf_model

LENGTH, EVERY, KEPT = 300, 25, 60
FAR = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 40_000]
TEMPERATURES = [round(0.5 + 0.1 * step, 1) for step in range(11)]
SHARES = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.999]


def sources() -> list[Row]:
    """Return both texts, each with where it comes from."""
    housing = resources.files("sklearn.datasets.descr") / "california_housing.rst"
    return [
        {"name": "California housing", "license": "BSD-3-Clause, The scikit-learn developers",
         "source": "scikit-learn, datasets/descr/california_housing.rst",
         "text": housing.read_text(encoding="utf-8")},
        {"name": "Python's classes", "license": "PSF-2.0, Python Software Foundation",
         "source": "Python, pydoc_data.topics, class", "text": topics["class"]},
    ]  # fmt: skip


def nucleus_sizes(logits: Tensor) -> list[list[int]]:
    """Return how many tokens are kept: a row for each temperature, a number for each share."""
    return [
        [int(top_p_filter(logits / warmth, share).isfinite().sum()) for share in SHARES]
        for warmth in TEMPERATURES
    ]


def place(logits: Tensor, true: int, kept: int = KEPT) -> dict[str, Any]:
    """Return what is recorded of one next token; tokens are numbers here.

    Args:
        logits: The scores of all tokens.
        true: The token that comes next in the text.
        kept: How many of the likeliest tokens are recorded.
    """
    order = logits.softmax(-1).argsort(descending=True, stable=True)
    chances = logits.double().log_softmax(-1)
    norms = torch.stack([(chances / warmth).logsumexp(-1) for warmth in TEMPERATURES])
    return {
        "rank": int((order == true).nonzero()[0]) + 1,
        "log_prob": round(chances[true].item(), 4),
        "tokens": order[:kept].tolist(),
        "log_probs": [round(one, 4) for one in chances[order[:kept]].tolist()],
        "log_norms": [round(one, 5) for one in norms.tolist()],
        "far": [[rank, int(order[rank - 1])] for rank in FAR if kept < rank <= len(order)],
        "sizes": nucleus_sizes(logits),
    }


def read(found: gguf_model.Released, number: int, source: Row) -> tuple[Row, list[Row]]:
    """Return a text as it stands between its places, and what comes next at each of them."""
    model, tokenizer = found
    tokens = tokenizer.encode(source["text"])[:LENGTH]
    logits = model(tokens.unsqueeze(0))[0][0]
    ends = list(range(EVERY, len(tokens) + 1, EVERY))
    words = [tokenizer.decode(tokens[end - 1 : end]) for end in ends]
    between = [tokenizer.decode(tokens[end - EVERY : end - 1]) for end in ends]
    whole = "".join(before + word for before, word in zip(between, words, strict=True))
    assert whole == tokenizer.decode(tokens[: ends[-1]]), "a character was cut in two"
    runs = []
    for end, word in zip(ends, words, strict=True):
        row = place(logits[end - 2], int(tokens[end - 1]))
        row["tokens"] = [tokenizer.decode([token]) for token in row["tokens"]]
        row["far"] = [[rank, tokenizer.decode([token])] for rank, token in row["far"]]
        runs.append({"text": number, "place": end, "token": word, **row})
    kept = {name: source[name] for name in ("name", "source", "license")}
    return kept | {"between": between}, runs


@torch.no_grad()
def main() -> None:
    """Read both texts and write one JSON file."""
    script = Script(__file__, __doc__)
    found = gguf_model.model()
    pairs = [read(found, number, source) for number, source in enumerate(sources())]
    script.record(
        what="the next token of a released model at 24 places of two texts",
        settings={
            "model": NAME, "vocabulary": len(found.tokenizer), "length": LENGTH,
            "places": f"every {EVERY}th token", "kept": KEPT,
            "temperatures": TEMPERATURES, "shares": SHARES,
        },
        versions={"scikit-learn": version("scikit-learn")},
        texts=[text for text, _ in pairs],
        runs=[run for _, runs in pairs for run in runs],
    )  # fmt: skip


if __name__ == "__main__":
    main()
