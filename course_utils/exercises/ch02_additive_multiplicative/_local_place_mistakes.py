"""What goes wrong with the places in local-p attention: the centre, the positions, the axes."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._local_wrong import build, places


def _from_one(scores: Tensor, centre: Tensor) -> Tensor:
    return places(scores) + 1 - centre.unsqueeze(-1)


def _shares(scores: Tensor, centre: Tensor) -> Tensor:
    return places(scores) / scores.shape[-1] - centre.unsqueeze(-1)


def _evenly(scores: Tensor, start: float, end: float) -> Tensor:
    return torch.linspace(start, end, scores.shape[-1], dtype=scores.dtype)


def _query_places(scores: Tensor, centre: Tensor) -> Tensor:
    return (torch.arange(scores.shape[-2], dtype=scores.dtype) - centre).unsqueeze(-1)


def _on_the_wrong_axis(scores: Tensor, centre: Tensor) -> Tensor:
    return places(scores) - centre.unsqueeze(-2)


def _without_axis(scores: Tensor, centre: Tensor) -> Tensor:
    return places(scores) - centre


def _column(scores: Tensor, centre: Tensor) -> Tensor:
    return places(scores).unsqueeze(-1) - centre.unsqueeze(-2)


def _one_for_all(scores: Tensor, centre: Tensor) -> Tensor:
    return places(scores) - centre[:1].unsqueeze(-1)


def _rounded(turn: Any) -> Any:
    """Round, and let the gradient through all the same."""
    return lambda centre, scores: centre + (turn(centre) - centre).detach()


PLACE = (
    Misconception(
        "positions from 1",
        build(far=_from_one),
        "The window lies one key too far to the left. Where does counting start, here and in "
        "`torch.arange`?",
        also=(build(aim=lambda c, s: c + 1),),
    ),
    Misconception(
        "centre rounded",
        build(aim=lambda c, s: c.round()),
        "The centre was rounded to a key. It is a real number, and only as such can a gradient "
        "move it.",
        also=(
            build(aim=lambda c, s: c.floor()),
            build(aim=lambda c, s: c.ceil()),
            build(aim=lambda c, s: c.trunc()),
            build(aim=lambda c, s: c.long()),
            build(far=lambda s, c: torch.arange(s.shape[-1]) - c.long().unsqueeze(-1)),
            build(aim=_rounded(torch.round)),
            build(aim=_rounded(torch.floor)),
        ),
    ),
    Misconception(
        "centre forced onto the keys",
        build(aim=lambda c, s: c.clamp(0, s.shape[-1] - 1)),
        "A centre outside the keys was moved to the edge. It may lie there: then all weights are "
        "small, and its gradient can bring it back.",
        also=(
            build(aim=lambda c, s: c.clamp(0, s.shape[-1])),
            build(aim=lambda c, s: c.clamp(min=0)),
            build(aim=lambda c, s: c.clamp(max=s.shape[-1] - 1)),
            build(aim=lambda c, s: c % s.shape[-1]),
            build(aim=lambda c, s: c.abs()),
        ),
    ),
    Misconception(
        "centre cut off",
        build(aim=lambda c, s: c.detach()),
        "The values are right, but no gradient reaches `centre`, so it would never learn where to "
        "look. What cuts the thread?",
        also=(build(aim=lambda c, s: c.data),),
    ),
    Misconception(
        "the scores cut off",
        lambda scores, centre, sigma: build()(scores.detach(), centre, sigma),
        "The values are right, but no gradient reaches `scores`. What cuts the thread?",
    ),
    Misconception(
        "the centre taken for a share",
        build(far=_shares),
        "Positions were divided by the number of keys, or the centre multiplied by it, as if it "
        "were a share. It counts keys already.",
        also=(
            build(far=lambda s, c: _evenly(s, 0.0, 1.0) - c.unsqueeze(-1)),
            build(far=lambda s, c: _evenly(s, -1.0, 1.0) - c.unsqueeze(-1)),
            build(far=lambda s, c: _evenly(s, 0.0, s.shape[-1]) - c.unsqueeze(-1)),
            build(aim=lambda c, s: c * s.shape[-1]),
            build(aim=lambda c, s: c * (s.shape[-1] - 1)),
            build(aim=lambda c, s: c.sigmoid() * s.shape[-1]),
            build(aim=lambda c, s: c.sigmoid() * (s.shape[-1] - 1)),
            build(aim=lambda c, s: c.sigmoid()),
        ),
    ),
    Misconception(
        "distance of the queries",
        build(far=_query_places),
        "The distances are those of the queries' own positions. Whose positions fade, the queries' "
        "or the keys'?",
    ),
    Misconception(
        "the query's own position as the centre",
        build(aim=lambda c, s: 0 * c + torch.arange(s.shape[-2], dtype=s.dtype)),
        "Each window lies around the query's own position: that is local-m. Where does local-p "
        "look?",
        also=(build(aim=lambda c, s: torch.arange(s.shape[-2], dtype=s.dtype).expand(c.shape)),),
    ),
    Misconception(
        "the centre on the wrong axis",
        build(far=_on_the_wrong_axis),
        "Each key got a centre of its own instead of each query. On which side does `centre` need "
        "a new axis?",
        also=(
            build(far=_without_axis),
            build(far=_column),
            build(far=lambda s, c: (places(s) - c).unsqueeze(1)),
        ),
    ),
    Misconception(
        "one centre for all",
        build(far=_one_for_all),
        "The centres of one sequence or query were used for all. How many centres are there?",
        also=(
            build(aim=lambda c, s: c.mean(0, keepdim=True).expand_as(c)),
            build(aim=lambda c, s: c.mean(1, keepdim=True).expand_as(c)),
            build(aim=lambda c, s: c[:, :1].expand_as(c)),
            build(aim=lambda c, s: c[:, -1:].expand_as(c)),
            build(aim=lambda c, s: c.mean().expand_as(c)),
        ),
    ),
    Misconception(
        "rows belong to the keys",
        build(finish=lambda w: w.mT),
        "The table has a row for each key. Which of the two looks, and so owns a row?",
    ),
    Misconception(
        "squeeze takes too many axes",
        build(finish=lambda w: w.squeeze()),
        "With one query, one key or one sequence, an axis is lost: `squeeze()` without a number "
        "removes every axis of size 1. Which one did you mean?",
        also=(build(finish=lambda w: w.squeeze(-1)), build(finish=lambda w: w.squeeze(1))),
    ),
)
