"""Models that train in a second, for symptoms that only a trained model shows."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import causal_mask
from course_utils.models import GPT, SmallTransformer, greedy_decode
from course_utils.models.training import descend

_WORDS, _LENGTH = 8, 16


def _fit(
    draw: Callable[[torch.Generator], Tensor], *, masked: bool = True, shift: int = 1, steps: int
) -> tuple[SmallTransformer, float]:
    """Train a small Transformer to predict the token `shift` places on; return it and its loss."""
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = SmallTransformer(_WORDS, d_model=32, num_heads=2, num_layers=2, max_length=_LENGTH)
    mask = causal_mask(_LENGTH, _LENGTH, 0) if masked else None

    def draw_loss() -> Tensor:
        tokens = draw(generator)
        targets = tokens[:, shift : shift + _LENGTH]
        scores = model(tokens[:, :_LENGTH], mask)[:, : targets.shape[1]]
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten())

    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = descend(model, draw_loss, optimiser, steps=steps, learning_rate=1e-2)
    return model, sum(losses[-10:]) / 10


def trained_loss(*, masked: bool, steps: int = 100) -> float:
    """Return the loss on the next of symbols that are independent and equally likely."""
    return _fit(
        lambda g: torch.randint(_WORDS, (32, _LENGTH), generator=g), masked=masked, steps=steps
    )[1]


def cyclic(*, shift: int, steps: int = 80) -> SmallTransformer:
    """Return a model trained on texts that count 0, 1, … 7, 0, …, each from its own start."""
    return _fit(lambda g: _counting(g, torch.tensor(1)), shift=shift, steps=steps)[0]


def striding(*, masked: bool, steps: int = 150) -> SmallTransformer:
    """Return a model trained on texts that count on by 1, 3, 5 or 7, modulo 8."""

    def draw(generator: torch.Generator) -> Tensor:
        return _counting(generator, 2 * torch.randint(4, (32, 1), generator=generator) + 1)

    return _fit(draw, masked=masked, steps=steps)[0]


def _counting(generator: torch.Generator, stride: Tensor) -> Tensor:
    first = torch.randint(_WORDS, (32, 1), generator=generator)
    return (first + stride * torch.arange(_LENGTH + 1)) % _WORDS


@torch.no_grad()
def follows(model: SmallTransformer, stride: int = 1, masked: bool = True) -> float:
    """Let a model write twelve tokens after four; return the share that counts on."""
    text = (stride * torch.arange(4) % _WORDS).expand(1, -1)
    for _ in range(_LENGTH - 4):
        length = text.shape[1]
        mask = causal_mask(length, length, 0) if masked else None
        chosen = model(text, mask)[:, -1:].argmax(-1)
        text = torch.cat([text, chosen], dim=1)
    steps = (text[:, 1:] - text[:, :-1]) % _WORDS
    return float((steps[:, 3:] == stride).double().mean())


@torch.no_grad()
def generated(*, cached: bool, count: int = 12) -> float:
    """Return the share of equal tokens after two prompts with the same end, in an untrained GPT."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        gpt = GPT(64, d_model=32, num_heads=2, num_layers=2, max_length=32, positions="rope")
    for name, weight in gpt.named_parameters():
        if ".attention." in name:
            weight.mul_(3)  # untrained attention is weak
    prompts = torch.randint(64, (2, 8), generator=torch.Generator().manual_seed(0))
    prompts[1, -1] = prompts[0, -1]

    def step(tokens: Tensor, cache: object) -> tuple[Tensor, object]:
        return gpt(tokens, cache) if cached else (gpt.logits(tokens[:, -1:]), None)

    texts = greedy_decode(step, prompts, count)
    return float((texts[0] == texts[1]).double().mean())
