"""Let a recall model read a few keys: chosen by an indexer, by blocks, by itself, or by chance.

Method: one thread. The recall model of `chapter_08_recall.py` with full attention, 600 steps, is
frozen. An indexer for each layer (2 heads of width 16) learns for 600 steps of 8 lists of 16 to 64
pairs, from the Kullback-Leibler divergence of its softmax from the mean of the layer's four tables:
the first stage of DeepSeek-V3.2's training. Then all queries of 64 lists of 64 pairs read what is
chosen, in both layers. `keys` is how many a query at the end reads, `held` how much of the full
weights lies on them, `top` how often the strongest key is among them, for each layer. "own scores"
chooses by the mean of the layer's tables. It takes three minutes on one core.

    python -m benchmarks.chapters.ch08.chapter_08_indexer
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DeepseekV32Config

from benchmarks.recording import Row, Script
from benchmarks.timing import clocked
from course_utils.attention import (
    causal_mask,
    scaled_dot_product_attention,
    select_blocks,
    split_heads,
)
from course_utils.models.tasks.recall import (
    D_MODEL,
    LAYERS,
    RecallModel,
    recall_batch,
    train_recall,
)
from course_utils.positions import choose_keys, index_scores

STEPS, LEARNT, RATE, BATCH, FEWEST = 600, 600, 3e-3, 8, 16
PAIRS, LISTS, HEADS = 64, 64, 4
INDEX_HEADS, INDEX_WIDTH, TOP_K = 2, 16, 16
BLOCKS = ((8, 3), (2, 8))  # keys in a block, blocks that are read
SIZES = (
    "index_n_heads", "index_head_dim", "index_topk", "num_attention_heads", "kv_lora_rank",
    "qk_rope_head_dim",
)  # fmt: skip
Chooser = Callable[[int, Tensor, Tensor], Tensor]


class Indexer(nn.Module):
    """Makes small queries, one key and a weight for each head from every token."""

    def __init__(self) -> None:
        super().__init__()
        wide = INDEX_HEADS * INDEX_WIDTH
        sizes = (wide, INDEX_WIDTH, INDEX_HEADS)
        self.query, self.key, self.weigh = (nn.Linear(D_MODEL, n, bias=False) for n in sizes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and weights of the heads."""
        return split_heads(self.query(x), INDEX_HEADS), self.key(x), self.weigh(x).mT


class Watched:
    """A frozen model whose layers say what they see, and read what they are told to."""

    def __init__(self, model: RecallModel) -> None:
        self.model = model.requires_grad_(False)
        self.choose: Chooser = _all
        self.streams: list[Tensor] = [torch.empty(0)] * LAYERS
        self.weights, self.masks = list(self.streams), list(self.streams)
        for number, layer in enumerate(cast(Any, model.layers)):
            layer.query.register_forward_pre_hook(self._note(number))
            layer.attend = self._attend(number)

    def _note(self, number: int) -> Callable[..., None]:
        def note(module: nn.Module, given: tuple[Tensor]) -> None:
            self.streams[number] = given[0]

        return note

    def _attend(self, number: int) -> Callable[..., Tensor]:
        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            past = causal_mask(*2 * (query.shape[-2],))
            scores = (query @ key.mT / math.sqrt(query.shape[-1])).masked_fill(~past, -torch.inf)
            self.weights[number] = scores.softmax(-1)
            mask = self.choose(number, query, key)
            self.masks[number] = (mask if mask.dim() == 4 else mask.unsqueeze(1)).expand(
                self.weights[number].shape
            )
            return scaled_dot_product_attention(query, key, value, self.masks[number])

        return attend


def _all(number: int, query: Tensor, key: Tensor) -> Tensor:
    return causal_mask(*2 * (query.shape[-2],)).expand(len(query), -1, -1)


def learn(indexers: nn.ModuleList, watched: Watched, seed: int) -> list[float]:
    """Train the indexers in place; return the sum over layers of the divergence, for each step."""
    optimizer = torch.optim.Adam(indexers.parameters(), RATE)
    generator, losses = torch.Generator().manual_seed(seed), []
    for _ in range(LEARNT):
        number = int(torch.randint(min(FEWEST, PAIRS), PAIRS + 1, (), generator=generator))
        tokens, _ = recall_batch(number, BATCH, generator)
        watched.model(tokens)
        past, loss = causal_mask(*2 * tokens.shape[-1:]), torch.tensor(0.0)
        for one, stream, weights in zip(indexers, watched.streams, watched.weights, strict=True):
            scores = index_scores(*one(stream)).masked_fill(~past, -torch.inf)
            found = scores.log_softmax(-1).masked_fill(~past, 0.0)
            loss = loss + F.kl_div(found, weights.mean(1), reduction="none").sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def best(scores: Tensor) -> Tensor:
    """Return the mask of the best keys of each query's past."""
    past = causal_mask(*scores.shape[-2:])
    places = scores.masked_fill(~past, -torch.inf).topk(min(TOP_K, len(past)), -1).indices
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, places, True) & past


@torch.no_grad()
def judged(watched: Watched, choose: Chooser) -> Row:
    """Return what the model recalls when it reads only what is chosen, and what that holds."""
    watched.choose = choose
    tokens, wanted = recall_batch(PAIRS, LISTS, torch.Generator().manual_seed(1000 + PAIRS))
    recalled = (watched.model(tokens)[:, -PAIRS:].argmax(-1) == wanted).double().mean().item()
    pairs = [
        (mask[:, :, -PAIRS:].double(), weights[:, :, -PAIRS:])
        for mask, weights in zip(watched.masks, watched.weights, strict=True)
    ]
    top = [mask.gather(-1, weights.argmax(-1, keepdim=True)).mean() for mask, weights in pairs]
    return {
        "keys": round(pairs[0][0].sum(-1).mean().item(), 1),
        "held": [round((mask * weights).sum(-1).mean().item(), 3) for mask, weights in pairs],
        "top": [round(one.item(), 3) for one in top],
        "recalled": round(recalled, 4),
    }


def tried(seed: int) -> Iterable[Row]:
    """Train a model and its indexers, and return what it recalls in each way of reading."""
    torch.manual_seed(seed)
    model = RecallModel("full", HEADS)
    train_recall(model, steps=STEPS, seed=seed)
    watched = Watched(model)
    indexers, untrained = (nn.ModuleList(Indexer() for _ in range(LAYERS)) for _ in range(2))
    losses, seconds = clocked(learn, indexers, watched, seed)
    chance = torch.Generator().manual_seed(seed)

    def by(these: nn.ModuleList) -> Chooser:
        def choose(number: int, query: Tensor, key: Tensor) -> Tensor:
            return choose_keys(*these[number](watched.streams[number]), top_k=TOP_K)

        return choose

    def blocks(block: int, read: int, number: int, query: Tensor, key: Tensor) -> Tensor:
        return select_blocks(query, key, block, read)

    def own(number: int, query: Tensor, key: Tensor) -> Tensor:
        return best(watched.weights[number].mean(1))

    def drawn(number: int, query: Tensor, key: Tensor) -> Tensor:
        return best(torch.rand(watched.weights[number][:, 0].shape, generator=chance))

    ways: dict[str, Chooser] = {"all keys": _all, "indexer": by(indexers)}
    ways["indexer, untrained"] = by(untrained)
    for block, read in BLOCKS:
        ways[f"{read} blocks of {block}"] = partial(blocks, block, read)
    ways |= {"own scores": own, "random": drawn}
    about = {"seed": seed, "cpu_seconds": seconds, "divergence": round(sum(losses[-50:]) / 50, 3)}
    for way, choose in ways.items():
        yield {"way": way, **(about if way == "indexer" else {"seed": seed})} | judged(
            watched, choose
        )


def main() -> None:
    """Train, choose, read, and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    config = DeepseekV32Config()
    script.record(
        what="a recall model that reads a few chosen keys",
        settings={"d_model": D_MODEL, "layers": LAYERS, "heads": HEADS, "pairs": PAIRS,
                  "steps": STEPS, "learnt": LEARNT, "index_heads": INDEX_HEADS,
                  "index_width": INDEX_WIDTH, "top_k": TOP_K, "blocks": BLOCKS,
                  "DeepSeek-V3.2": {name: getattr(config, name) for name in SIZES}},
        runs=[row for seed in range(script.options.seeds) for row in tried(seed)],
    )  # fmt: skip


if __name__ == "__main__":
    main()
