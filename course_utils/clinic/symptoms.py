"""Symptoms of faults in attention, each produced by planting its cause, and what to measure.

Every function here plants one cause, measures, repairs it, and measures again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import (
    causal_mask,
    masked_softmax,
    scaled_dot_product_attention,
    sliding_window_attention,
    tiled_attention,
    window_mask,
)
from course_utils.clinic.small_models import cyclic, follows, generated, trained_loss
from course_utils.measure import count_flops, fit_exponent, largest_tensor
from course_utils.positions import is_permutation_equivariant, rope_interleaved


@dataclass(frozen=True)
class Symptom:
    """A symptom: what is seen, what causes it, and the one measurement that reveals it.

    Attributes:
        seen: What one notices.
        cause: What was planted.
        measured: What was measured.
        before: The measurement with the cause in place.
        after: The measurement after the repair.
    """

    seen: str
    cause: str
    measured: str
    before: float
    after: float


def _draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loss_below_entropy() -> Symptom:
    """Train on random symbols, of which nothing can be predicted, with and without a mask."""
    before, after = (trained_loss(masked=masked) for masked in (False, True))
    return Symptom("loss far below the entropy of the data", "no causal mask",
                   "loss, entropy 2.08", before, after)  # fmt: skip


def not_a_number() -> Symptom:
    """Give one query nothing to see."""
    scores, mask = _draw(3, 4), torch.ones(3, 4, dtype=torch.bool)
    mask[1] = False
    plain = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    share = [
        float(w.isnan().any(-1).double().mean()) for w in (plain, masked_softmax(scores, mask))
    ]
    return Symptom(
        "NaN at one step", "a query that may see nothing", "share of rows with NaN", *share
    )


def padding_matters() -> Symptom:
    """Read three tokens alone, and followed by two of padding."""
    x = _draw(1, 5, 4)
    alone = scaled_dot_product_attention(x[:, :3], x[:, :3], x[:, :3])
    real = (torch.arange(5) < 3).expand(5, 5)
    outs = [scaled_dot_product_attention(x, x, x, mask)[:, :3] for mask in (None, real)]
    return Symptom("output changes with padding", "no padding mask", "largest change",
                   *(float((out - alone).abs().max()) for out in outs))  # fmt: skip


def ignores_the_start() -> Symptom:
    """Continue two texts with the same end, without the cache and with it."""
    before, after = (generated(cached=cached) for cached in (False, True))
    return Symptom("generation ignores its start", "the cache is not passed on",
                   "tokens alike for two prompts", before, after)  # fmt: skip


def worse_in_half() -> Symptom:
    """Scale the scores after the product, and the query before it, in float16."""
    query, key = (120 * _draw(8, 64, seed=seed).half() for seed in (0, 1))
    late, early = (query @ key.mT) / 8, (query / 8) @ key.mT
    return Symptom("worse in half precision", "products overflow before they are scaled",
                   "share of scores not finite",
                   *(float((~x.isfinite()).double().mean()) for x in (late, early)))  # fmt: skip


def _entropy(weights: Tensor) -> float:
    share = -(weights * weights.log()).sum(-1) / torch.tensor(weights.shape[-1]).log()
    return float(share.mean())


def equal_weights() -> Symptom:
    """Divide by d_k instead of its root."""
    scores = _draw(16, 64) @ _draw(16, 64, seed=1).mT
    before, after = (_entropy((scores / by).softmax(-1)) for by in (64, 8))
    return Symptom("equal weights everywhere", "divided by d_k, not by its root",
                   "entropy over its maximum", before, after)  # fmt: skip


def one_key() -> Symptom:
    """Leave the scale out."""
    scores = _draw(16, 64) @ _draw(16, 64, seed=1).mT
    before, after = (float((scores / by).softmax(-1).amax(-1).mean()) for by in (1, 8))
    return Symptom("one key takes all", "no scale", "mean of the largest weight", before, after)


def bad_beyond() -> Symptom:
    """Look up rotations in a table of 64 places, and compute them."""
    query, key = _draw(1, 1, 1, 8), _draw(1, 1, 1, 8, seed=1)

    def score(place: int, last: int) -> float:
        at = [torch.tensor([min(p, last)]) for p in (place, place - 1)]
        return float((rope_interleaved(query, at[0]) * rope_interleaved(key, at[1])).sum())

    before, after = (abs(score(64, last) - score(63, last)) for last in (63, 10**6))
    return Symptom("good at 64 and bad at 65", "positions beyond a table read its last row",
                   "change of a neighbour's score", before, after)  # fmt: skip


def cached_unlike() -> Symptom:
    """Read a text in two pieces, with a mask that starts at the first key, and at the first new."""
    x = _draw(1, 6, 4)
    whole = scaled_dot_product_attention(x, x, x, causal_mask(6, 6, 0))[:, 4:]
    outs = (scaled_dot_product_attention(x[:, 4:], x, x, causal_mask(2, 6, at)) for at in (0, 4))
    return Symptom("cached unlike uncached", "a mask without the offset", "largest difference",
                   *(float((out - whole).abs().max()) for out in outs))  # fmt: skip


def _growth(measure: Callable[..., int], way: Callable[[Tensor], Any]) -> float:
    sizes = (128, 256, 512)
    return fit_exponent(sizes, [measure(way, _draw(1, 1, n, 8)) for n in sizes])


def memory_squared() -> Symptom:
    """Count the largest tensor of attention written out, and by tiles."""
    ways: tuple[Callable[[Tensor], Any], ...] = (
        lambda x: scaled_dot_product_attention(x, x, x),
        lambda x: tiled_attention(x, x, x, 32, 32),
    )
    return Symptom("memory grows with n²", "all scores at once", "exponent of the largest tensor",
                   *(_growth(largest_tensor, way) for way in ways))  # fmt: skip


def slower_window() -> Symptom:
    """Count the FLOPs of a window applied to all scores, and of one that reads only its keys."""

    def masked(x: Tensor) -> Tensor:
        return scaled_dot_product_attention(x, x, x, window_mask(x.shape[-2], x.shape[-2], 16))

    ways = (masked, lambda x: sliding_window_attention(x, x, x, 16))
    return Symptom("no faster with a window", "the window as a mask", "exponent of the FLOPs",
                   *(_growth(count_flops, way) for way in ways))  # fmt: skip


def no_gradient() -> Symptom:
    """Choose the best key alone, and average."""

    def slope(hard: bool) -> float:
        query = _draw(3, 4).requires_grad_()
        key, value = _draw(5, 4, seed=1), _draw(5, 4, seed=2)
        weights = (query @ key.mT / 2).softmax(-1)
        chosen = F.one_hot(weights.argmax(-1), 5).double() + 0 * weights
        ((chosen if hard else weights) @ value).square().sum().backward()
        return float(query.grad.norm()) if query.grad is not None else 0.0

    return Symptom("no gradient", "argmax instead of a softmax", "norm of the query's gradient",
                   slope(True), slope(False))  # fmt: skip


def order_ignored() -> Symptom:
    """Shuffle tokens without positions, and with them."""
    x, order = _draw(1, 6, 4), torch.tensor([2, 0, 3, 5, 1, 4])
    place = _draw(6, 4, seed=1)

    def layer(x: Tensor, add: float) -> Tensor:
        x = x + add * place
        return scaled_dot_product_attention(x, x, x)

    found = [is_permutation_equivariant(partial(layer, add=add), x, order) for add in (0.0, 1.0)]
    return Symptom("order does not matter", "no positions", "equivariant (1) or not (0)",
                   *map(float, found))  # fmt: skip


def good_and_bad() -> Symptom:
    """Train on the tokens themselves, and on the ones that come next."""
    before, after = (follows(cyclic(shift=shift)) for shift in (0, 1))
    return Symptom("training good, sampling bad", "targets that are not shifted",
                   "share of right next tokens", before, after)  # fmt: skip


SYMPTOMS: tuple[Callable[[], Symptom], ...] = (
    loss_below_entropy,
    not_a_number,
    padding_matters,
    ignores_the_start,
    worse_in_half,
    equal_weights,
    one_key,
    bad_beyond,
    cached_unlike,
    memory_squared,
    slower_window,
    no_gradient,
    order_ignored,
    good_and_bad,
)
