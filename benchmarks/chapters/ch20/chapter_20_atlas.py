"""Measure all 270 heads of the released model on five texts, and the first token's stream.

Method: 256 tokens of each text; shares are means over queries 32 to 255, over what equal weights
give. Entropy is divided by the logarithm of the number of keys, with and without token 0. About a
minute on one core:

    python -m benchmarks.chapters.ch20.chapter_20_atlas
"""

from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch20.inside import FILE, opened, resting
from benchmarks.recording import Row, Script, each, rounded
from course_utils.interpretability import attention_entropy, rank_correlation, without_key

CHANNELS = (507, 247, 14)
FIRST = ("<|endoftext|>", "The", " the", "\n", "a", "def", "7", "Paris")


def spread(weights: Tensor) -> Tensor:
    """Return the entropy of the rows from 32 on over that of equal weights, by head."""
    keys = torch.arange(33, weights.shape[-1] + 1)
    return (attention_entropy(weights)[..., 32:] / keys.log()).mean(-1)


def text_row(book: Any, name: str, tokens: Tensor) -> Row:
    """Measure the heads on one text."""
    _, kept = book.read(tokens[None])
    weights, values = (book.stacked(kept, part)[0] for part in ("weights", "values"))
    states, heads = book.stacked(kept, "state")[0], book.stacked(kept, "heads")[0]
    lengths, sizes = values.norm(dim=-1), states.norm(dim=-1)
    found = book.roles(weights, tokens)
    rest, wrote = weights[..., 32:, 0], heads[..., 32:, :].norm(dim=-1)
    tied = torch.stack([
        rank_correlation(one.flatten(), other.flatten())
        for one, other in zip(rest.flatten(0, 1), wrote.flatten(0, 1), strict=True)
    ])  # fmt: skip
    return {
        "text": name,
        **{role: rounded(share) for role, (share, _) in found.items()},
        "base": {role: round(base, 4) for role, (_, base) in found.items()},
        "entropy": rounded(spread(weights)),
        "entropy without token 0": rounded(spread(without_key(weights, 0))),
        "first value's length": rounded(lengths[..., 0] / lengths[..., 1:].mean(-1)),
        "first state's length": rounded(sizes[:, 0] / sizes[:, 1:].mean(-1)),
        "channels": {str(one): [round(x) for x in states[:, 0, one].tolist()] for one in CHANNELS},
        "largest elsewhere": round(states[:, 1:].abs().max().item()),
        "rest and length written": rounded(tied.view(30, 9)),
    }  # fmt: skip


def first_row(book: Any, word: str, tokens: Tensor) -> Row:
    """Measure the sink where the text begins with another token."""
    tokens = torch.cat([book.tokenizer.encode(word), tokens[1:]])
    _, kept = book.read(tokens[None])
    return {
        "first": word,
        "heads": resting(book, kept),
        "channel 507": round(kept["state"][11][0, 0, 507].item()),
    }


def neurons(book: Any, tokens: Tensor) -> list[Row]:
    """Return which neurons of layer 11 write the largest entry of the first token's stream."""
    seen = {}
    layer = book.model.layers[11].feed_forward
    hook = layer.down.register_forward_pre_hook(lambda _, given: seen.update(x=given[0][0]))
    book.read(tokens[None])
    hook.remove()
    written = seen["x"][0] * layer.down.weight[507]
    return [
        {
            "neuron": one,
            "writes": round(written[one].item()),
            "active": round(seen["x"][0, one].item()),
            "active elsewhere": round(seen["x"][1:, one].abs().max().item(), 1),
        }
        for one in written.topk(4).indices.tolist()
    ]


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened()
    texts = book.five_texts()
    script.record(
        what="what the 270 heads of the released model look at, and the stream of the first token",
        settings={**FILE, "tokens": 256, "queries": [32, 255]},
        runs=each(lambda *row: text_row(book, *row), texts.items()),
        first=each(lambda word: first_row(book, word, texts["housing"]), [(one,) for one in FIRST]),
        neurons=neurons(book, texts["housing"]),
    )


if __name__ == "__main__":
    main()
