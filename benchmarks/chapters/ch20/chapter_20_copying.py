"""Measure whether weights say which heads of the released model copy the token that they read.

Method: copying scores of 270 heads over 1,500 words, with raw embeddings and with the stream behind
layer 0 as what a head reads, in three draws of words; the value matrix of one head with the output
matrix of another is the base line. The effect on three texts: how much a head's output from its
most attended earlier token raises that token's score over a random one's, per unit of weight. Two
minutes on one core:

    python -m benchmarks.chapters.ch20.chapter_20_copying
"""

from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch20.inside import FILE, opened
from benchmarks.recording import Row, Script, each, rounded
from course_utils.interpretability import rank_correlation

SOURCES = ("embedding", "behind layer 0", "behind layer 0, without its attention")


def effect(book: Any, tokens: Tensor) -> Tensor:
    """Return how much heads (30, 9) raise the token they attend to most, on one text."""
    _, kept = book.read(tokens[None])
    weights, values = (book.stacked(kept, part)[0] for part in ("weights", "values"))
    final = kept["state"][29][0]
    size = (final.square().mean(-1) + book.EPS).sqrt()
    unembed = book.model.out.weight * book.model.last_norm.weight
    random = tokens[torch.randperm(len(tokens), generator=torch.Generator().manual_seed(0))]
    queries = torch.arange(8, len(tokens))
    seen = weights[..., queries, :].clone()
    seen[..., 0] = 0.0
    seen[..., torch.arange(len(queries)), queries] = 0.0
    found = torch.zeros(30, 9)
    for layer in range(30):
        W_O = book.model.layers[layer].attention.out_proj.weight.mT.unflatten(0, (9, 64))
        for head in range(9):
            key = seen[layer, head].argmax(-1)
            written = values[layer, head // 3, key] @ W_O[head]
            raised = (written * (unembed[tokens[key]] - unembed[random[queries]])).sum(-1)
            found[layer, head] = (raised / size[queries]).mean()
    return found


def scored(book: Any, source: str, seed: int) -> Row:
    """Return the scores of all heads from one source, and of mismatched matrices."""
    return {
        "source": source,
        "seed": seed,
        "scores": rounded(book.copying_scores(source, seed)),
        "mismatched": rounded(book.copying_scores(source, seed, shift=1)),
    }


def correlations(row: Row, effects: Tensor) -> Row:
    """Return the rank correlation of scores and effects, of all heads and of the late ones."""
    scores = torch.tensor(row["scores"])
    return {
        "source": row["source"],
        "seed": row["seed"],
        "above 0.5": int((scores > 0.5).sum()),
        "below -0.5": int((scores < -0.5).sum()),
        "all": round(rank_correlation(scores.flatten(), effects.flatten()).item(), 3),
        "layers 16 to 29": round(
            rank_correlation(scores[16:].flatten(), effects[16:].flatten()).item(), 3
        ),
        "mismatched, deviation": round(torch.tensor(row["mismatched"]).std().item(), 3),
    }


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened("copying_scores", "sources", "words", "EPS")
    texts = book.five_texts()
    effects = [effect(book, texts[name]) for name in ("housing", "classes", "course")]
    mean = torch.stack(effects).mean(0)
    scores = each(
        lambda *case: scored(book, *case), [(one, seed) for one in SOURCES for seed in range(3)]
    )
    script.record(
        what="copying scores of the released model's heads, and what the heads do",
        settings={**FILE, "words": 1500, "effects": rounded(mean)},
        runs=[one for one in scores if not one["seed"]],
        correlations=[correlations(one, mean) for one in scores],
    )


if __name__ == "__main__":
    main()
