"""Exercise: positions pressed into the range that a model was trained on."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, Law, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.positions import interpolate_positions
from torch import Tensor

RIGHT = """
def interpolate_positions(positions, trained_length, target_length):
    real = positions if positions.is_floating_point() else positions.to(torch.get_default_dtype())
    is_longer = target_length > trained_length
    factor = trained_length / target_length
    pressed = real * factor
    kept = real.clone()
    out = pressed if is_longer else kept
    return out
"""

MISTAKES = (
    mistake("factor upside down", "Positions are spread out instead of squeezed together. The last of target_length "
            "positions must land inside the trained range.", "factor = target_length / trained_length",
            "is_longer = target_length < trained_length\nkept = real * (target_length / trained_length)"),
    mistake("positions left alone where the target is longer", "Nothing changes for some target that is longer than "
            "the trained length. From which target length on are positions squeezed together?",
            "pressed = real.clone()", "is_longer = target_length >= 2 * trained_length",
            "is_longer = target_length % trained_length == 0 and target_length > trained_length",
            "is_longer = target_length > 2 * trained_length"),
    mistake("spread out where the target is shorter", "A shorter target needs nothing: its positions were all seen in "
            "training. The factor counts only where it is below 1.", "is_longer = True"),
    mistake("the condition the wrong way round", "Positions change where the target is shorter, and stay where it is "
            "longer.", "is_longer = target_length < trained_length"),
    mistake("the two lengths exchanged", "The two lengths were mistaken for each other. In which order do the "
            "arguments come?",
            "pressed = real.clone()\nkept = real * (target_length / trained_length)"),
    mistake("a factor written into the code", "The factor is the same for all lengths. Compute it from the two that "
            "are given.", "factor = 1 / 2", "factor = 1 / 4"),
    mistake("cut to whole numbers", "The results are whole numbers, so neighbours fall together. RoPE accepts "
            "positions between whole ones: that is the point.", "pressed = (real * factor).floor()",
            "pressed = (real * factor).round()", "pressed = (real * factor).ceil()"),
    mistake("the factor cut to a whole number", "The factor was made by a whole-number division: 0 of 4 // 8, or 1 of "
            "6 // 4.", "factor = trained_length // target_length", "pressed = real / (target_length // trained_length)",
            "factor = 1 / math.ceil(target_length / trained_length)"),
    mistake("clamped at the end of the trained range", "All positions beyond the trained range became its last one, "
            "and can no longer be told apart. Interpolation moves every position.",
            "pressed = real.clamp(max=trained_length - 1)", "pressed = real.clamp(max=trained_length)"),
    mistake("wrapped around", "Positions beyond the trained range begin again at 0, so two tokens are at one place.",
            "pressed = real % trained_length", "pressed = real % target_length"),
    mistake("moved instead of pressed together", "A constant is subtracted from all positions: neighbours keep their "
            "distance, and the first ones become negative.", "pressed = real - (target_length - trained_length)",
            "pressed = (real - (target_length - trained_length)).clamp(min=0)"),
    mistake("only positions beyond the trained range pressed", "Positions inside the trained range stay, so the "
            "spacing changes in the middle of the sequence. All are multiplied by one factor.",
            "pressed = torch.where(real < trained_length, real, real * factor)",
            "pressed = torch.where(real < trained_length, real, trained_length + (real - trained_length) * factor)"),
    mistake("one too many or too few in the factor", "The factor is (trained - 1)/(target - 1), which maps the last "
            "position to the last, or there is a 1 too many or too few in one of the lengths. The exercise's factor is "
            "trained/target.",
            "factor = (trained_length - 1) / (target_length - 1)", "factor = (trained_length - 1) / target_length",
            "factor = trained_length / (target_length - 1)", "factor = trained_length / (target_length + 1)"),
    mistake("position 0 moved", "Position 0 does not stay at 0: something was added before scaling and subtracted "
            "after it, as is done for the centres of pixels. Here positions are only multiplied.",
            "pressed = (real + 0.5) * factor - 0.5", "pressed = (real + 1) * factor - 1"),
    mistake("scaled by the largest position", "The factor depends on which positions are given. It must be the same "
            "for one token as for the whole sequence.", "factor = trained_length / max(float(real.max()), 1.0)",
            "factor = (trained_length - 1) / max(float(real.max()), 1.0)",
            "factor = trained_length / (float(real.max()) + 1)",
            "factor = trained_length / real.shape[-1] if real.dim() else 1",
            "is_longer = target_length > trained_length and real.max() >= trained_length"),
    mistake("one of the two lengths left out", "Only one of the two lengths is used: positions became shares of it, or "
            "multiples. What brings the target length to the trained one?",
            "factor = 1 / target_length", "factor = 1 / trained_length", "factor = trained_length"),
    mistake("the root of the factor", "The positions are pressed by less than the factor trained/target.",
            "factor = math.sqrt(trained_length / target_length)",
            "factor = 1 - math.log(target_length / trained_length) / 4"),
    mistake(
        "pressed twice",
        "The positions are pressed by the square of the factor. Where is it applied a second time?",
        "factor = (trained_length / target_length) ** 2",
    ),
    mistake("made anew and counted from 0", "The values of `positions` are not used: the result always counts 0, 1, 2, "
            "...",
            "real = positions if positions.is_floating_point() else positions.float()\n"
            "real = torch.arange(real.numel(), dtype=real.dtype).view(real.shape)",
            "counted = torch.arange((real.shape or (1,))[-1], dtype=real.dtype).expand(real.shape or 1)\n"
            "pressed = counted.view(real.shape) * factor",
            "pressed = (real - real[..., :1] if real.dim() else 0 * real) * factor"),
    mistake("changed where the target is not longer", "Where the target is not longer than the trained length, "
            "positions must stay as they are.",
            "kept = torch.zeros_like(real)", "kept = real * (target_length / trained_length)", "kept = real + 1",
            "kept = real.clamp(max=target_length - 1)"),
    mistake("the sign of positions lost", "Negative positions come out as positive, or as 0. One factor serves all of "
            "them: where is the sign lost?", "pressed = real.abs() * factor", "pressed = real.clamp(min=0) * factor"),
)


def _any_dtype(fn: Function, positions: Tensor, trained: int, target: int) -> Any:
    """Whole positions may become real in any precision, and stay whole where they stay."""
    got = fn(positions, trained, target)
    return got.double() if isinstance(got, Tensor) else got


def _long(name: str, positions: Any, trained: int, target: int) -> Case:
    make = lambda generator: (torch.tensor(positions), trained, target)  # noqa: E731
    return case(name, make, tolerance=1e-5, run=_any_dtype)


def _real(name: str, positions: Any, trained: int, target: int, gradient: str = "") -> Case:
    make = lambda generator: (torch.tensor(positions, dtype=torch.float64), trained, target)  # noqa: E731
    return case(name, make, tolerance=1e-5, gradient=gradient)


def _outside(args: tuple[Any, ...], out: Tensor) -> str | None:
    positions, trained, target = args
    if not positions.numel() or float(positions.max()) >= target or float(positions.min()) < 0:
        return None
    high = out.double().max().item()
    if high <= max(trained, target if target <= trained else 0):
        return None
    return f"A position became {high:.4g}, where {trained} positions were trained."


EXERCISE = exercise(
    interpolate_positions,
    right=RIGHT,
    asks="Squeeze positions into the trained range where the target is longer; otherwise leave them.",
    minutes=5,
    difficulty=1,
    importance=3,
    cases=(
        _long("8 positions, trained on 4", list(range(8)), 4, 8),
        _long("a target shorter than trained", list(range(6)), 8, 6),
        _long("a target as long as trained", list(range(5)), 5, 5),
        _long("a factor that is not a whole number: 4 to 6", [0, 1, 2, 3, 4, 5], 4, 6),
        _long("positions in the middle, out of order", [70, 3, 95, 41], 32, 100),
        _long("positions of shape (2, 3)", [[0, 1, 2], [9, 5, 7]], 4, 10),
        _long("positions inside the trained range, a longer target", [0, 1, 2], 4, 16),
        _long("a single number", 7, 4, 16),
        _real("real positions", [0.5, 1.25, 6.75, 11.0], 5, 12, gradient="equal"),
        _real("real positions, a shorter target", [0.5, 1.25, 6.75], 12, 7, gradient="equal"),
        _real("negative positions", [-6.0, -1.5, 0.0, 7.5], 4, 9),
        _real("real positions of shape (1, 2, 2)", [[[0.0, 8.5], [3.25, 1.0]]], 3, 9),
        _long("thousands of positions", [0, 2047, 2048, 8191], 2048, 8192),
        case("float32", lambda generator: (torch.tensor([0.0, 3.0, 17.5]), 8, 20), gradient="equal"),
    ),
    mistakes=MISTAKES,
    laws=(Law("positions below the target come into the trained range", _outside),),
    hints=(
        "A model trained on 4 positions is to read 8. Where should position 7 be moved to?",
        "One factor serves all positions: which length is divided by which, so that it is below 1?",
        "Whole positions need not stay whole: 1 becomes 0.5.",
        "Two branches: the target is longer, or it is not.",
    ),
)
