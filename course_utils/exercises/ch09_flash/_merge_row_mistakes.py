"""What goes wrong when two partial results are merged: rows without a key, and what comes back."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._merging import build, safe


def _as_it_is(out: Tensor, lse: Tensor) -> Tensor:
    return out


def _unguarded(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    top = torch.maximum(lse_a, lse_b)
    return (lse_a - top).exp(), (lse_b - top).exp()


def _empty(lse: Tensor) -> Tensor:
    return lse == -torch.inf


def _low(lse: Tensor) -> Tensor:
    return lse.clamp(min=-1e9)


def _by_low_numbers(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
    """Count an empty part as one of a very low weight, so that two of them are averaged."""
    return build(clean=_as_it_is)(out_a, _low(lse_a), out_b, _low(lse_b))


def _lse_kept(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
    out, lse = build()(out_a, lse_a, out_b, lse_b)
    return out, safe(lse)


def _written(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
    out, lse = build()(out_a, lse_a, out_b, lse_b)
    return out_a.copy_(out), lse_a.copy_(lse)


def _cleaned_in_place(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
    for out, lse in ((out_a, lse_a), (out_b, lse_b)):
        out.masked_fill_(_empty(lse).unsqueeze(-1), 0.0)
    return build()(out_a, lse_a, out_b, lse_b)


def _ignored_as_a_whole(out: Tensor, lse: Tensor) -> Tensor:
    """Drop a part if any of its rows saw no key."""
    return torch.zeros_like(out) if bool(_empty(lse).any()) else out


def _whole_part_dropped(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
    """Return the other part if any row of one saw no key."""
    if bool(_empty(lse_a).any()):
        return out_b.clone(), lse_b.clone()
    if bool(_empty(lse_b).any()):
        return out_a.clone(), lse_a.clone()
    return build()(out_a, lse_a, out_b, lse_b)


def _lse_of(lse_a: Tensor, lse_b: Tensor) -> Tensor:
    top = torch.maximum(lse_a, lse_b)
    return top + ((lse_a - top).exp() + (lse_b - top).exp()).log()


ROWS = (
    Misconception(
        "NaN of an empty part kept",
        build(clean=_as_it_is),
        "A part that saw no key has weight 0, but 0 · NaN is NaN. What has to happen to its output "
        "before it is multiplied?",
        also=(
            build(clean=lambda out, lse: out.nan_to_num(nan=torch.nan)),
            build(clean=_as_it_is, lse=lambda a, b: torch.stack([a, b]).logsumexp(0)),
            build(clean=_as_it_is, divide=lambda out, total: out / total),
            build(clean=_as_it_is, share=_unguarded),
            build(clean=_as_it_is, share=_unguarded, lse=_lse_of),
        ),
    ),
    Misconception(
        "NaN where both are empty",
        build(share=_unguarded, lse=_lse_of),
        "In a row where neither part saw a key, -inf is subtracted from -inf, or 0 divided by 0. "
        "The output there is zeros and lse stays -inf: what may stand in for the maximum?",
        also=(
            build(divide=lambda out, total: out / total),
            build(share=_unguarded),
            build(lse=_lse_of),
            build(divide=lambda out, total: out / total, lse=_lse_of),
        ),
    ),
    Misconception(
        "-inf replaced by a low number",
        _by_low_numbers,
        "-inf became a large negative number. Two empty parts then weigh the same and are "
        "averaged, and lse is no longer -inf: which rows should count nothing at all?",
        also=(
            lambda a, la, b, lb: build()(a, _low(la), b, _low(lb)),
            lambda a, la, b, lb: build()(
                a.nan_to_num(), la.clamp(min=-1e4), b.nan_to_num(), lb.clamp(min=-1e4)
            ),
            build(
                finish=lambda out, lse, a, la, b, lb: (
                    torch.where((_empty(la) & _empty(lb)).unsqueeze(-1), (a + b) / 2, out),
                    lse,
                )
            ),
        ),
    ),
    Misconception(
        "lse of an empty row made a number",
        _lse_kept,
        "Where neither part saw a key, lse came back as a finite number, as if something had been "
        "seen. The next merge would count it: the logarithm of an empty sum is -inf.",
        also=(
            lambda a, la, b, lb: (lambda out, lse: (out, lse.clamp(min=-1e4)))(
                *build()(a, la, b, lb)
            ),
            lambda a, la, b, lb: (lambda out, lse: (out, lse.nan_to_num()))(*build()(a, la, b, lb)),
        ),
    ),
    Misconception(
        "an empty row takes the other's place",
        build(
            finish=lambda out, lse, a, la, b, lb: (
                torch.where((_empty(la) | _empty(lb)).unsqueeze(-1), torch.zeros_like(out), out),
                lse,
            )
        ),
        "Where one part saw no key, the other's result was lost too. If only one saw anything, "
        "what is the attention over both?",
        also=(
            build(clean=_ignored_as_a_whole),
            _whole_part_dropped,
            build(
                finish=lambda out, lse, a, la, b, lb: (
                    torch.where(
                        (_empty(la) | _empty(lb)).unsqueeze(-1), torch.zeros_like(out), out
                    ),
                    lse.masked_fill(_empty(la) | _empty(lb), -torch.inf),
                )
            ),
        ),
    ),
    Misconception(
        "only one side guarded",
        lambda a, la, b, lb: build(
            finish=lambda out, lse, *given: (
                out + torch.where(_empty(lb).unsqueeze(-1), b * 0.0, 0.0),
                lse,
            )
        )(a, la, b, lb),
        "One of the two parts may be empty without harm, the other not. Either of them can be the "
        "one that saw no key.",
        also=(
            lambda a, la, b, lb: build(
                finish=lambda out, lse, *given: (
                    out + torch.where(_empty(la).unsqueeze(-1), a * 0.0, 0.0),
                    lse,
                )
            )(a, la, b, lb),
        ),
    ),
    Misconception(
        "one part returned",
        lambda a, la, b, lb: (a.clone(), la.clone()),
        "What comes back is one of the two parts as it came. What did the other one see?",
        also=(
            lambda a, la, b, lb: (b.clone(), lb.clone()),
            lambda a, la, b, lb: (a.clone(), build()(a, la, b, lb)[1]),
            lambda a, la, b, lb: (b.clone(), build()(a, la, b, lb)[1]),
        ),
    ),
    Misconception(
        "written into the parts",
        _written,
        "A part that was handed over was overwritten. Its owner may still need it: which line "
        "writes in place?",
        also=(_cleaned_in_place,),
    ),
    Misconception(
        "cut from the gradient",
        lambda *args: build()(*(x.detach() for x in args)),
        "The values are right, but no gradient flows through them, or none through the weights. "
        "lse depends on the scores: what detaches it?",
        also=(
            lambda a, la, b, lb: (
                build()(a, la.detach(), b, lb.detach())[0],
                build()(a, la, b, lb)[1],
            ),
            lambda a, la, b, lb: (
                build()(a, la, b, lb)[0],
                build()(a, la, b, lb)[1].detach(),
            ),
        ),
    ),
)
