"""Measure where each head of chapter 10's small GPT looks, compared with chance.

Method: one thread. The model, text and training are those of chapter 10 (500 steps). The weights
are read on windows of 64 tokens from topics held out, for the queries from the eighth on. `entropy`
is a share of ln(number of keys seen), `distance` is in tokens. The other figures are the weight on
certain keys: the previous token, the query's own, blanks (tokens of spaces and line ends alone),
the rarest token seen so far (the fewest times in the training text) and the first of the window;
`base` has the share of such keys among all that a query sees, which even weights would give. It
takes two minutes on one core.

    python -m benchmarks.chapters.ch13.chapter_13_heads
"""

import math

import torch
from torch import Tensor

from benchmarks.chapters.ch10.chapter_10_training import LENGTH, SIZES, reading, small_gpt
from benchmarks.recording import Row, Script
from course_utils.attention import masked_softmax
from course_utils.data import character_text
from course_utils.interpretability import attention_distance, attention_entropy
from course_utils.models import TokenText, next_token_loss, token_text

STEPS, WINDOWS, FIRST_QUERY = 500, 64, 8


def keys_of_interest(text: TokenText, windows: Tensor) -> dict[str, Tensor]:
    """Return for each window, query and key whether it is one: (N, L, L), the future left out."""
    seen = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    count = torch.bincount(text.train, minlength=len(text.tokenizer))
    known = [text.tokenizer.decode([token]) for token in range(len(text.tokenizer))]
    blank = torch.tensor([not word.strip() for word in known])
    often = count[windows][:, None].expand(-1, LENGTH, -1).masked_fill(~seen, count.max() + 1)
    place = torch.arange(LENGTH)
    every = {
        "previous": place == place[:, None] - 1,
        "itself": place == place[:, None],
        "blanks": blank[windows][:, None],
        "rarest": often == often.amin(dim=-1, keepdim=True),
        "first": place == 0,
    }
    return {name: (keys & seen).expand(len(windows), -1, -1) for name, keys in every.items()}


def trained(text: TokenText, windows: Tensor, seed: int) -> Row:
    """Train one model, and return what its heads look at."""
    layers: list[Tensor] = []

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), mask)
        layers.append(weights.detach())
        return weights @ value

    model = small_gpt(text, STEPS, seed)
    loss = next_token_loss(model, text.validation)
    with torch.no_grad():
        reading(model, attend).logits(windows)
    many = torch.arange(1, LENGTH + 1).log()[FIRST_QUERY:]
    keys = keys_of_interest(text, windows)
    heads = []
    for layer, weights in enumerate(layers):
        entropy = (attention_entropy(weights)[..., FIRST_QUERY:] / many).mean(dim=(0, 2))
        distance = attention_distance(weights).mean(dim=0)
        for head in range(weights.shape[1]):
            on = {
                name: (weights[:, head] * which).sum(dim=-1)[:, FIRST_QUERY:].mean().item()
                for name, which in keys.items()
            }
            measured = {"entropy": entropy[head].item(), "distance": distance[head].item(), **on}
            rounded = {name: round(one, 3) for name, one in measured.items()}
            heads.append({"layer": layer + 1, "head": head + 1, **rounded})
    return {"seed": seed, "loss": round(loss, 4), "heads": heads}


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    text = token_text(character_text())
    windows = text.validation[: WINDOWS * LENGTH].view(-1, LENGTH)
    seen = torch.arange(1, LENGTH + 1)
    base = {
        name: round((which.sum(dim=-1) / seen)[:, FIRST_QUERY:].mean().item(), 3)
        for name, which in keys_of_interest(text, windows).items()
    }
    script.record(
        what="what the heads of a small GPT look at, beside base rates",
        settings={**SIZES, "length": LENGTH, "steps": STEPS, "windows": WINDOWS,
                  "first_query": FIRST_QUERY},
        base=[base],
        runs=[trained(text, windows, seed) for seed in range(script.options.seeds)],
    )  # fmt: skip


if __name__ == "__main__":
    main()
