"""What goes wrong in one step of the online softmax: the maximum, and rows that see nothing."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._online import build, finite, kept, top


def _unguarded(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    new = torch.maximum(m, top(scores))
    p, fade = (scores - new.unsqueeze(-1)).exp(), (m - new).exp()
    return new, l * fade + p.sum(-1), acc * fade.unsqueeze(-1) + p @ value


def _mended_after(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    new = torch.maximum(m, top(scores))
    p = (scores - new.unsqueeze(-1)).exp().nan_to_num()
    fade = (m - new).exp().nan_to_num()
    return new, l * fade + p.sum(-1), acc * fade.unsqueeze(-1) + p @ value


def _restarted(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    """Set a row that sees nothing of the tile to nothing."""
    empty = top(scores) == -torch.inf
    new, new_l, new_acc = build()(m, l, acc, scores, value)
    gone = empty.unsqueeze(-1)
    return (
        new.masked_fill(empty, -torch.inf),
        new_l.masked_fill(empty, 0.0),
        new_acc.masked_fill(gone, 0.0),
    )


def _sums_restarted(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    empty = top(scores) == -torch.inf
    new, new_l, new_acc = build()(m, l, acc, scores, value)
    return new, new_l.masked_fill(empty, 0.0), new_acc.masked_fill(empty.unsqueeze(-1), 0.0)


def _uniform(low: float) -> Any:
    """Let what is hidden count as a very low score, so that an empty row sees all keys alike."""
    return build(prepare=lambda scores, value: scores.clamp(min=low))


def _empty_row_uniform(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    """Let a row that has seen nothing see all keys alike."""
    nothing = torch.maximum(m, top(scores)) == -torch.inf
    new, new_l, new_acc = build()(m, l, acc, scores.masked_fill(nothing.unsqueeze(-1), 0.0), value)
    return new.masked_fill(nothing, -torch.inf), new_l, new_acc


def _zero_floor(m: Tensor, scores: Tensor) -> Tensor:
    return torch.maximum(m, top(scores)).clamp(min=0.0)


ROWS = (
    Misconception(
        "NaN in a row that saw nothing",
        _unguarded,
        "A row that has seen no key yet subtracts -inf from -inf, and NaN spreads through l and "
        "acc. What could be subtracted there instead, since exp(-inf) is 0 anyway?",
        also=(
            build(finish=lambda m, l, acc: (m, l, acc / acc * acc)),
            build(finish=lambda m, l, acc: (m, l.masked_fill(l == 0, torch.nan), acc)),
        ),
    ),
    Misconception(
        "NaN mended afterwards",
        _mended_after,
        "The values are right, but a NaN is made on the way and replaced: its gradient is NaN "
        "still. How can the subtraction itself be kept from infinities?",
    ),
    Misconception(
        "a row started over",
        _restarted,
        "A row that sees nothing of this tile lost what it had gathered before. What should a tile "
        "without a key for a row do to that row?",
        also=(_sums_restarted,),
    ),
    Misconception(
        "hidden keys counted",
        _uniform(-1e9),
        "A row of -inf counted every hidden key: -inf became a large negative number, and against "
        "itself that is exp(0) = 1. What must exp of a hidden score be, whatever else is in the "
        "row?",
        also=(
            _empty_row_uniform,
            _uniform(-1e4),
            _uniform(torch.finfo(torch.float32).min),
            _uniform(-100.0),
        ),
    ),
    Misconception(
        "a maximum of at least 0",
        build(highest=_zero_floor),
        "The maximum is never below 0. Where all scores are near -2,000 every exponential is then "
        "0: from which value must a running maximum start?",
        also=(build(highest=lambda m, s: torch.maximum(m.nan_to_num(neginf=0.0), top(s))),),
    ),
    Misconception(
        "m made finite",
        build(finish=lambda m, l, acc: (finite(m), l, acc)),
        "A row that has seen nothing came back with a finite m. What stands in for -inf while "
        "something is subtracted is no maximum: the next tile's scores may all be below it.",
        also=(
            build(finish=lambda m, l, acc: (m.clamp(min=-1e4), l, acc)),
            build(finish=lambda m, l, acc: (m.nan_to_num(), l, acc)),
            build(finish=lambda m, l, acc: (m.clamp(min=-1e9), l, acc)),
            build(finish=lambda m, l, acc: (m.clamp(min=-1e30), l, acc)),
        ),
    ),
    Misconception(
        "m stays the old one",
        build(finish=lambda m, l, acc: (m, l, acc), highest=lambda m, scores: m),
        "m comes back as it went in, although the tile had a higher score. What does the next "
        "step, and the logsumexp at the end, take m to be?",
        also=(
            lambda m, l, acc, s, v: (m, *build()(m, l, acc, s, v)[1:]),
            build(highest=lambda m, scores: m, fade_l=kept, fade_acc=kept),
        ),
    ),
    Misconception(
        "m of the tile returned",
        lambda m, l, acc, s, v: (top(s), *build()(m, l, acc, s, v)[1:]),
        "l and acc are right, but the m that comes back is the tile's own maximum. The next step "
        "takes it for the one that l and acc are measured against.",
    ),
    Misconception(
        "the smaller maximum",
        build(highest=lambda m, scores: torch.minimum(m, top(scores))),
        "Of the old maximum and the tile's, the smaller was kept. Which of the two keeps every "
        "exponential at or below 1?",
        also=(build(highest=lambda m, scores: torch.maximum(m, scores.amin(-1))),),
    ),
    Misconception(
        "the mean instead of the maximum",
        build(highest=lambda m, scores: torch.maximum(m, scores.mean(-1))),
        "The running number is no maximum of the scores: it is smaller. The exercise asks for the "
        "exact one, over the old maximum and every score of the tile.",
        also=(
            build(highest=lambda m, scores: torch.maximum(m, scores.detach().logsumexp(-1))),
            build(highest=lambda m, scores: m + top(scores)),
            build(highest=lambda m, scores: (m + top(scores)) / 2),
            build(highest=lambda m, scores: torch.maximum(m, scores.abs().amax(-1))),
            build(highest=lambda m, scores: torch.maximum(m, scores[..., 0])),
            build(highest=lambda m, scores: torch.maximum(m, scores[..., -1])),
            build(highest=lambda m, s: torch.logaddexp(m, s.logsumexp(-1)).detach()),
        ),
    ),
)
