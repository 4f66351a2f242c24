"""What goes wrong in tiled attention: the logsumexp, and what comes back."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash._online import build as online
from course_utils.exercises.ch09_flash._online import finite, powers, top
from course_utils.exercises.ch09_flash._walking import build


def _lse(turn: Any) -> Function:
    """Return tiled attention with another logsumexp, from m, l and acc."""
    return build(finish=lambda m, l, acc: (acc / l.unsqueeze(-1), turn(m, l)))


def _last_maximum(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    """Measure everything against the tile's maximum, and keep no other."""
    own = top(scores)
    fade = (m - finite(own)).exp()
    p = powers(m, own, scores)
    return own, l * fade + p.sum(-1), acc * fade.unsqueeze(-1) + p @ value


def _in_float32(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Any:
    out, lse = build()(q.float(), k.float(), v.float(), *rest)
    return out.to(q.dtype), lse.to(q.dtype)


def _detached(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Any:
    return build()(q.detach(), k.detach(), v.detach(), *rest)


def _of_one(which: int) -> Function:
    def wrong(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Any:
        results = build()(q, k, v, *rest)
        return tuple(x.detach() if i == which else x for i, x in enumerate(results))

    return wrong


RETURNED = (
    Misconception(
        "lse without m",
        _lse(lambda m, l: l.log()),
        "out is right; lse is the logarithm of the running sum alone. That sum was measured "
        "against a maximum: what was subtracted has to come back.",
    ),
    Misconception(
        "lse without the logarithm",
        _lse(lambda m, l: m + l),
        "out is right; lse is not the logarithm of the sum of exponentials. Which of m and l is a "
        "score already, and which is a sum of exponentials?",
        also=(
            _lse(lambda m, l: l),
            _lse(lambda m, l: m),
            _lse(lambda m, l: l * m.exp()),
            _lse(lambda m, l: m * l.log()),
        ),
    ),
    Misconception(
        "lse with a wrong sign",
        _lse(lambda m, l: m - l.log()),
        "out is right; in lse something is subtracted that belongs on the other side. Is the "
        "logarithm of a sum above or below the largest term's?",
        also=(_lse(lambda m, l: l.log() - m), _lse(lambda m, l: -m - l.log())),
    ),
    Misconception(
        "lse in another unit",
        _lse(lambda m, l: m + l.log2()),
        "out is right; lse has a logarithm to another base, or comes from scores without their "
        "scale. The natural logarithm of the scaled scores' exponentials is asked for.",
        also=(
            _lse(lambda m, l: (m + l.log()) / math.log(2)),
            _lse(lambda m, l: m + l.log10()),
            _lse(lambda m, l: m + l.log1p()),
            lambda q, k, v, *rest: (
                build()(q, k, v, *rest)[0],
                build(scale=lambda q, k, v, at: 1.0)(q, k, v, *rest)[1],
            ),
            lambda q, k, v, *rest: (
                build()(q, k, v, *rest)[0],
                build()(q, k, v, *rest)[1] * math.sqrt(q.shape[-1]),
            ),
            lambda q, k, v, *rest: (
                build()(q, k, v, *rest)[0],
                build()(q, k, v, *rest)[1] / math.sqrt(q.shape[-1]),
            ),
        ),
    ),
    Misconception(
        "lse with the last tile's maximum",
        build(step=lambda m, l, acc, s, v: (top(s), *online()(m, l, acc, s, v)[1:])),
        "m is the maximum of the last tile, not of all of them. What must m be at any time?",
        also=(build(step=_last_maximum),),
    ),
    Misconception(
        "powers of another base",
        build(
            step=online(
                fade_l=lambda m, n, s: torch.exp2(m - finite(n)),
                fade_acc=lambda m, n, s: torch.exp2(m - finite(n)),
                weigh=lambda m, n, s: torch.exp2(s - finite(n).unsqueeze(-1)),
            )
        ),
        "Powers of 2 were taken where powers of e are meant. They come to the same only with "
        "scores that were multiplied by log₂ e before.",
        also=(
            build(
                step=online(
                    fade_l=lambda m, n, s: torch.exp2(m - finite(n)),
                    fade_acc=lambda m, n, s: torch.exp2(m - finite(n)),
                    weigh=lambda m, n, s: torch.exp2(s - finite(n).unsqueeze(-1)),
                ),
                finish=lambda m, l, acc: (acc / l.unsqueeze(-1), m + l.log2()),
            ),
            build(
                step=online(
                    fade_l=lambda m, n, s: torch.exp2(m - finite(n)),
                    fade_acc=lambda m, n, s: torch.exp2(m - finite(n)),
                    weigh=lambda m, n, s: torch.exp2(s - finite(n).unsqueeze(-1)),
                ),
                finish=lambda m, l, acc: (acc / l.unsqueeze(-1), (m + l.log2()) * math.log(2)),
            ),
        ),
    ),
    Misconception(
        "in lower precision",
        _in_float32,
        "The sums were carried in float32, although float64 came in. Which line makes a tensor "
        "without saying of which type?",
    ),
    Misconception(
        "cut from the gradient",
        _detached,
        "out and lse are right, but no gradient flows back from one of them or both. What cuts "
        "the thread: a `detach`, a number taken out of its tensor, `no_grad`?",
        also=(_of_one(0), _of_one(1)),
    ),
)
