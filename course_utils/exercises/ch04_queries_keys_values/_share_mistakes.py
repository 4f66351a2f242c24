"""What goes wrong with a softmax that is written out, and with what goes into it.

`make` is as in `_score_mistakes`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception


def _shifted(scores: Tensor, peak: Tensor) -> Tensor:
    powers = torch.exp(scores - peak)
    return powers / powers.sum(-1, keepdim=True)


def _powers(scores: Tensor) -> Tensor:
    return torch.exp(scores - scores.amax(-1, keepdim=True))


def _best_two(scores: Tensor) -> Tensor:
    least = scores.topk(min(2, scores.shape[-1]), dim=-1).values[..., -1:]
    return stable_softmax(scores.masked_fill(scores < least, -torch.inf))


def share_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return the mistakes of a softmax that is written out, and with what goes into it."""
    return (
        Misconception(
            "shifted by another number than the row's maximum",
            make(turn=lambda s: _shifted(s, s.max())),
            "Some rows give NaN: what is subtracted before `exp` is not the row's own maximum, so "
            "that a row overflows, or all of it becomes 0. Which maximum does each row need?",
            also=(
                make(turn=lambda s: _shifted(s, s.amax(-2, keepdim=True))),
                make(turn=lambda s: _shifted(s, s.amax(0))),
                make(turn=lambda s: _shifted(s, s.mean(-1, keepdim=True))),
                make(turn=lambda s: _shifted(s, s.amin(-1, keepdim=True))),
            ),
        ),
        Misconception(
            "not divided by the row's sum",
            make(turn=lambda s: _powers(s) / _powers(s).sum()),
            "The exponentials are there, but a row of weights does not sum to 1. By the sum of "
            "which exponentials is each of them divided?",
            also=(
                make(turn=_powers),
                make(turn=lambda s: _powers(s) / _powers(s).sum(-2, keepdim=True)),
                make(turn=lambda s: stable_softmax(s) / s.shape[-2]),
                make(turn=lambda s: _powers(s) / (_powers(s).sum(-1, keepdim=True) + 1e-3)),
                make(turn=lambda s: _powers(s) / (_powers(s).sum(-1, keepdim=True) + 1e-6)),
                make(turn=lambda s: _powers(s) / (_powers(s).sum(-1, keepdim=True) + 1)),
                make(turn=lambda s: _powers(s) / s.shape[-1]),
                make(turn=lambda s: _powers(s) / _powers(s).sum(-1)),
                make(turn=lambda s: s.exp() / s.exp().sum(-1)),
            ),
        ),
        Misconception(
            "scores squashed before the softmax",
            make(turn=lambda s: stable_softmax(s.tanh())),
            "The scores were bent before the softmax: a sign or their size was lost. A softmax "
            "takes scores as they are, of any sign and size.",
            also=(
                make(turn=lambda s: stable_softmax(s.sigmoid())),
                make(turn=lambda s: stable_softmax(s.abs())),
                make(turn=lambda s: stable_softmax(s.square())),
                make(score=lambda q, k, v: (q @ k.mT).tanh()),
                make(score=lambda q, k, v: (q @ k.mT).sigmoid()),
                make(score=lambda q, k, v: (q @ k.mT).square()),
                make(score=lambda q, k, v: (q @ k.mT).exp()),
                make(score=lambda q, k, v: q.abs() @ k.mT.abs()),
                make(score=lambda q, k, v: q.relu() @ k.mT.relu()),
                make(score=lambda q, k, v: q.tanh() @ k.mT.tanh()),
            ),
        ),
        Misconception(
            "some weights cut away",
            make(turn=lambda s: stable_softmax(s).where(stable_softmax(s) > 0.5, 0.0)),
            "Small weights or negative scores were set aside. Every key gets a share, however "
            "small.",
            also=(
                make(turn=lambda s: (stable_softmax(s) > 0.5).to(s.dtype) + 0.0 * s),
                make(turn=lambda s: stable_softmax(s.masked_fill(s <= 0, -torch.inf))),
                make(turn=lambda s: torch.softmax(s.masked_fill(s <= 0, -torch.inf), -1)),
                make(turn=lambda s: stable_softmax(s.masked_fill(s <= 0, -1e9))),
                make(turn=lambda s: _best_two(s)),
            ),
        ),
        Misconception(
            "zeros taken for padding",
            make(turn=lambda s: torch.softmax(s.masked_fill(s == 0, -torch.inf), -1)),
            "A score of 0 was hidden, as if its key were padding. Nothing is masked here: what "
            "share does a score of 0 get?",
            also=(
                make(turn=lambda s: stable_softmax(s.masked_fill(s == 0, -torch.inf))),
                make(turn=lambda s: stable_softmax(s.masked_fill(s == 0, -1e9))),
            ),
        ),
    )
