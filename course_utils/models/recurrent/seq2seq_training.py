"""Train a sequence-to-sequence model, judge it, and trace where its gradient goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data import FIRST_SYMBOL, PAD, Pairs
from course_utils.models.recurrent.seq2seq import Seq2Seq, Written
from course_utils.models.tokens import check_known
from course_utils.models.training import Progress, descend
from course_utils.validation import check_integers

POOL = 32  # batches that are sorted by length together


def sequence_loss(logits: Float[Tensor, "B L n"], target: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """Return the mean loss in nats over the target's symbols after START; padding is left out.

    Raises:
        ValueError: A symbol has no logit.
    """
    wanted = target[:, 1:].long()
    if logits.shape[:2] != wanted.shape:
        raise ValueError(
            f"target must have one column more than logits, got {tuple(target.shape)} for "
            f"{tuple(logits.shape)}"
        )
    check_known(logits.shape[2], target=wanted)
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD)


def train_seq2seq(
    model: nn.Module,
    pairs: Pairs,
    *,
    steps: int,
    seed: int,
    batch: int = 64,
    learning_rate: float = 3e-3,
    progress: Progress = iter,
    loss: Callable[[Tensor, Tensor], Tensor] = sequence_loss,
    watch: Callable[[float], object] | None = None,
) -> list[float]:
    """Train in place with Adam, teacher forcing, a short warm-up and a cosine.

    Args:
        model: What to train: `model(source, target)` gives the logits, as `Seq2Seq` does.
        pairs: What to learn from, reshuffled in each epoch; similar lengths are batched together.
        steps: Number of updates.
        seed: Decides the order of the pairs, and nothing else.
        batch: Pairs in an update.
        learning_rate: The highest rate, reached after a tenth of the steps.
        progress: Wraps the step numbers, for example in a tqdm bar.
        loss: `loss(logits, target)`, whose target has one more column, that of START.
        watch: Called with each loss, for example to draw it.

    Returns:
        The loss of each step; it rises and falls with the length of the step's pairs, too.

    Raises:
        ValueError: There are fewer pairs than one batch needs.
    """
    if len(pairs) < batch:
        raise ValueError(f"pairs must fill a batch of {batch}, got {len(pairs)}")
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    batches = _batches(pairs.source_mask.sum(dim=1), batch, generator)

    def draw_loss() -> Tensor:
        drawn = pairs[next(batches)]
        return loss(model(drawn.source, drawn.target), drawn.target)

    return descend(
        model, draw_loss, optimiser, steps=steps, learning_rate=learning_rate, progress=progress,
        watch=watch,
    )  # fmt: skip


def _batches(lengths: Tensor, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    # A batch costs what its longest sequence costs, so each pool is sorted before it is cut.
    whole = len(lengths) // batch * batch
    while True:
        pools = torch.randperm(len(lengths), generator=generator)[:whole].split(POOL * batch)
        cut = [pool[lengths[pool].argsort(stable=True)].split(batch) for pool in pools]
        drawn = [indices for batches in cut for indices in batches]
        for number in torch.randperm(len(drawn), generator=generator).tolist():
            yield drawn[number]


@runtime_checkable
class _Writes(Protocol):
    def write(self, source: Tensor, max_length: int, /) -> Written: ...


def write_all(model: _Writes, pairs: Pairs, batch: int = 500) -> Written:
    """Write every source greedily, given as much room as the longest target takes."""
    length = pairs.target.shape[1] - 1
    parts = [model.write(some, length) for some in pairs.source.split(batch)]
    tokens = torch.cat([F.pad(part.tokens, (0, length - part.tokens.shape[1])) for part in parts])
    rows = [
        F.pad(part.weights, (0, 0, 0, length - part.weights.shape[1]))
        for part in parts
        if part.weights is not None
    ]
    return Written(tokens, torch.cat(rows) if rows else None)


def token_accuracy(predicted: Int[Tensor, "B L"], target: Int[Tensor, "B T"]) -> float:
    """Return the share of symbols that are right, START, END and padding left out."""
    check_integers("B L", predicted=predicted)
    check_integers("B T", target=target)
    wanted = target[:, 1:]
    if predicted.shape != wanted.shape:
        raise ValueError(
            f"predicted must have the shape {tuple(wanted.shape)}, one column less than target, "
            f"got {tuple(predicted.shape)}"
        )
    return (predicted == wanted)[wanted >= FIRST_SYMBOL].float().mean().item()


def source_gradients(model: Seq2Seq, pairs: Pairs, position: int = 0) -> Float[Tensor, "N S"]:
    """Return how strongly the loss of one target symbol pulls at each source symbol.

    It is the norm of the gradient that reaches the source symbol's embedding.

    Args:
        model: Trained or not.
        pairs: Sources and targets.
        position: Which target symbol, 0 being the first after START.

    Raises:
        ValueError: A target has no symbol there.
    """
    if (
        not 0 <= position < pairs.target.shape[1] - 1
        or (pairs.target[:, position + 1] == PAD).any()
    ):
        raise ValueError(f"position must lie within every target, got {position}")
    embedded = model.encoder.embed(pairs.source).detach().requires_grad_()
    target = pairs.target[:, : position + 2]
    logits = model.teach(model.encoder.read(embedded, pairs.source_mask), target)
    loss = F.cross_entropy(logits[:, position], target[:, -1], reduction="sum")
    (gradient,) = torch.autograd.grad(loss, embedded)
    return torch.linalg.vector_norm(gradient, dim=-1)


def field_mass(weights: Float[Tensor, "N L S"], mask: Bool[Tensor, "N M S"]) -> float:
    """Return the share of attention that is inside the mask, over the rows that have one.

    Args:
        weights: Alignments; only the first M rows of each are looked at.
        mask: Where it should be, as from `course_utils.data.field_mask`; empty rows are left out.
    """
    inside = (weights[:, : mask.shape[1]] * mask).sum(dim=-1)
    return inside[mask.any(dim=-1)].mean().item()
