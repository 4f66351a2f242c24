"""What goes wrong in position interpolation: each mistake as something to run."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception

Stretch = Callable[[Tensor, int, int], Tensor]


def _real(positions: Tensor) -> Tensor:
    return positions if positions.is_floating_point() else positions.float()


def build(
    stretch: Stretch,
    when: Callable[[int, int], bool] = lambda trained, target: target > trained,
    otherwise: Stretch = lambda p, trained, target: p.clone(),
) -> Function:
    """Return interpolation with one of its branches exchanged."""

    def interpolate(positions: Tensor, trained_length: int, target_length: int) -> Tensor:
        p = _real(positions)
        if when(trained_length, target_length):
            return stretch(p, trained_length, target_length)
        return otherwise(p, trained_length, target_length)

    return interpolate


def right(p: Tensor, trained: int, target: int) -> Tensor:
    """Press positions into the trained range."""
    return p * (trained / target)


def _of(name: str, says: str, *versions: Function) -> Misconception:
    return Misconception(name, versions[0], says, also=versions[1:])


def _counted(p: Tensor) -> Tensor:
    """Count along the last axis, whatever the positions are."""
    return torch.arange(p.shape[-1], dtype=p.dtype).expand(p.shape) if p.dim() else p - p


MISCONCEPTIONS = (
    _of(
        "factor upside down",
        "Positions are spread out instead of pressed together. The last of target_length positions "
        "must come to lie inside the trained range.",
        build(lambda p, trained, target: p * (target / trained)),
        build(right, when=lambda t, g: g < t, otherwise=lambda p, t, g: p * (g / t)),
    ),
    _of(
        "positions left alone where the target is longer",
        "Nothing changes for some target that is longer than the trained length. From which target "
        "on are positions pressed together?",
        build(lambda p, trained, target: p.clone()),
        build(right, when=lambda trained, target: target >= 2 * trained),
        build(right, when=lambda trained, target: target % trained == 0 and target > trained),
        build(right, when=lambda trained, target: target > 2 * trained),
    ),
    _of(
        "spread out where the target is shorter",
        "A shorter target needs nothing: its positions were all seen in training. The factor "
        "counts only where it is below 1.",
        build(right, when=lambda trained, target: True),
    ),
    _of(
        "the condition the wrong way round",
        "Positions change where the target is shorter, and stay where it is longer.",
        build(right, when=lambda trained, target: target < trained),
    ),
    _of(
        "the two lengths exchanged",
        "The trained length was taken for the target, and the target for the trained one. In which "
        "order do the arguments come?",
        build(lambda p, t, g: p.clone(), otherwise=lambda p, t, g: p * (g / t)),
    ),
    _of(
        "a factor written into the code",
        "The factor is the same for all lengths. It is made of the two that are given.",
        build(lambda p, trained, target: p / 2),
        build(lambda p, trained, target: p / 4),
    ),
    _of(
        "cut to whole numbers",
        "The results are whole numbers, so neighbours fall together. RoPE takes positions "
        "between whole ones: that is the point.",
        build(lambda p, trained, target: (p * trained / target).floor()),
        build(lambda p, trained, target: (p * trained / target).round()),
        build(lambda p, trained, target: (p * trained / target).ceil()),
    ),
    _of(
        "the factor cut to a whole number",
        "The factor was made by a whole-number division: 0 of 4 // 8, or 1 of 6 // 4.",
        build(lambda p, trained, target: p * (trained // target)),
        build(lambda p, trained, target: p / (target // trained)),
        build(lambda p, trained, target: p / math.ceil(target / trained)),
    ),
    _of(
        "clamped at the end of the trained range",
        "All positions beyond the trained range became its last one, and can no longer be told "
        "apart. Interpolation moves every position.",
        build(lambda p, trained, target: p.clamp(max=trained - 1)),
        build(lambda p, trained, target: p.clamp(max=trained)),
    ),
    _of(
        "wrapped around",
        "Positions beyond the trained range begin again at 0, so two tokens stand at one place.",
        build(lambda p, trained, target: p % trained),
        build(lambda p, trained, target: p % target),
    ),
    _of(
        "moved instead of pressed together",
        "A constant is taken away from all positions: neighbours keep their distance, and the "
        "first ones become negative.",
        build(lambda p, trained, target: p - (target - trained)),
        build(lambda p, trained, target: (p - (target - trained)).clamp(min=0)),
    ),
    _of(
        "only positions beyond the trained range pressed",
        "Positions inside the trained range stay, so the spacing changes in mid-sequence. All are "
        "multiplied by one factor.",
        build(lambda p, t, g: torch.where(p < t, p, p * t / g)),
        build(lambda p, t, g: torch.where(p < t, p, t + (p - t) * t / g)),
    ),
    _of(
        "one too many or too few in the factor",
        "The factor is (trained - 1)/(target - 1), which maps the last position to the last, or "
        "has such a 1 in one of its lengths. The exercise's is trained/target.",
        build(lambda p, trained, target: p * ((trained - 1) / (target - 1))),
        build(lambda p, trained, target: p * ((trained - 1) / target)),
        build(lambda p, trained, target: p * (trained / (target - 1))),
        build(lambda p, trained, target: p * (trained / (target + 1))),
    ),
    _of(
        "position 0 moved",
        "Position 0 does not stay at 0: something was added before the factor and taken away after "
        "it, as for the centres of pixels. Here positions are only multiplied.",
        build(lambda p, trained, target: (p + 0.5) * (trained / target) - 0.5),
        build(lambda p, trained, target: (p + 1) * (trained / target) - 1),
    ),
    _of(
        "scaled by the largest position",
        "The factor depends on which positions are given. It must be the same for one token as for "
        "the whole sequence.",
        build(lambda p, t, g: p * t / max(float(p.max()), 1.0) if p.numel() else p),
        build(lambda p, t, g: p * (t - 1) / max(float(p.max()), 1.0) if p.numel() else p),
        build(lambda p, t, g: p * t / (float(p.max()) + 1) if p.numel() else p),
        build(lambda p, t, g: p * t / max(p.shape[-1], 1) if p.dim() else p),
        lambda p, t, g: build(right)(p, t, g) if p.max() >= t else p.clone(),
    ),
    _of(
        "one of the two lengths left out",
        "Only one of the two lengths is used: positions became shares of it, or multiples. What "
        "brings the target length to the trained one?",
        build(lambda p, trained, target: p / target),
        build(lambda p, trained, target: p / trained),
        build(lambda p, trained, target: p * trained),
    ),
    _of(
        "the root of the factor",
        "The positions are pressed by less than the factor trained/target.",
        build(lambda p, trained, target: p * math.sqrt(trained / target)),
        build(lambda p, trained, target: p * (1 - math.log(target / trained) / 4)),
    ),
    _of(
        "pressed twice",
        "The positions are pressed by the square of the factor. Where is it applied a second time?",
        build(lambda p, trained, target: p * (trained / target) ** 2),
    ),
    _of(
        "made anew and counted from 0",
        "The values of `positions` are not used: the result counts 0, 1, 2, ... by itself.",
        lambda p, t, g: (
            torch.arange(p.numel(), dtype=_real(p).dtype).view(p.shape) * min(1.0, t / g)
        ),
        build(lambda p, t, g: _counted(p) * t / g),
        build(lambda p, t, g: (p - p[..., :1] if p.dim() else p - p) * t / g),
    ),
    _of(
        "changed where the target is not longer",
        "Where the target is no longer than the trained length, positions must stay as they are.",
        build(right, otherwise=lambda p, t, g: torch.zeros_like(p)),
        build(right, otherwise=lambda p, t, g: p * (g / t)),
        build(right, otherwise=lambda p, t, g: p + 1),
        build(right, otherwise=lambda p, t, g: p.clamp(max=g - 1)),
    ),
    _of(
        "the sign of positions lost",
        "Negative positions come out as positive, or as 0. One factor serves all of them: where "
        "is the sign lost?",
        build(lambda p, t, g: p.abs() * (t / g)),
        build(lambda p, t, g: p.clamp(min=0) * (t / g)),
    ),
)
