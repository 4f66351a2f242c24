"""Exercise: positions pressed into the range that a model was trained on."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.checking.exercise import Case, Law, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import left_in, other_kinds, overwritten
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

_DTYPE = (
    "The numbers are right, but not their dtype: real positions keep theirs, whatever it is. Which line makes all of "
    "them float32 or float64?"
)
_DTYPES = ("real = positions.float()", "real = positions.double()")


def _another_factor(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether more than two positions have one factor, above 0 and another than the right one."""
    before, after = args[0].double().flatten(), got.detach().double().flatten()
    factor = float((before * after).sum() / before.square().sum()) if args[2] > args[1] else 0.0
    alike = torch.allclose(after, factor * before, rtol=1e-5, atol=1e-6)
    right = abs(factor * args[2] / args[1] - 1) < 2e-2  # a matter of digits
    return int((before != 0).sum()) > 2 and factor > 0 and alike and not right


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
            "pressed = (real * factor).round()", "pressed = (real * factor).ceil()",
            "pressed = (real * factor).to(positions.dtype)", "pressed = (real * factor).round().to(positions.dtype)"),
    mistake("the factor cut to a whole number", "The factor, or the number that divides, is a whole one: 0 for 4 / 8, "
            "or 1 or 2 for 6 / 4. Where are its fractions lost?",
            "factor = trained_length // target_length", "pressed = real / (target_length // trained_length)",
            "pressed = real / round(target_length / trained_length)",
            "factor = 1 / math.ceil(target_length / trained_length)"),
    mistake("clamped at the end of the trained range", "All positions beyond the trained range became its last one, "
            "and can no longer be told apart. Interpolation moves every position.",
            "pressed = real.clamp(max=trained_length - 1)", "pressed = real.clamp(max=trained_length)"),
    mistake("cut off after pressing",
            "The positions were pressed together and then cut off below the trained length, so "
            "that the last ones fall together. Where does the last of the target's positions land without that?",
            "pressed = (real * factor).clamp(max=trained_length - 1)"),
    mistake("other positions than were given",
            "As many positions came back as were trained, not as many as were given. "
            "Every token keeps a position: what is multiplied by what?",
            "pressed = real.flatten()[:trained_length] * factor",
            "pressed = torch.arange(trained_length, dtype=real.dtype)",
            "size = min(trained_length, real.numel())\n"
            "pressed = F.interpolate(real.reshape(1, 1, -1).double(), size, mode='linear', align_corners=True)[0, 0]"),
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
            "factor = min(1.0, trained_length / (real.shape or (1,))[-1])",
            "factor = min(1.0, trained_length / max(real.numel(), 1))",
            "factor = min(1.0, trained_length / (float(real.max()) + 1))",
            "factor = min(1.0, trained_length / (int(real.max()) + 1))",
            "factor = min(1.0, (trained_length - 1) / max(float(real.max()), 1.0))",
            "is_longer = target_length > trained_length and real.max() >= trained_length"),
    mistake("one of the two lengths left out", "Only one of the two lengths is used: positions became shares of it, or "
            "multiples. What brings the target length to the trained one?",
            "factor = 1 / target_length", "factor = 1 / trained_length", "factor = trained_length"),
    mistake("the root of the factor", "The positions are pressed by less than the factor trained/target.",
            "factor = math.sqrt(trained_length / target_length)",
            "factor = 1 - math.log(target_length / trained_length) / 4"),
    mistake("another factor",
            "All positions were multiplied by the same number, but not by the exercise's. What should "
            "position 8 of 8 become, if 4 were trained?", "factor = 1 - trained_length / target_length",
            "factor = trained_length / (trained_length + target_length)", matches=_another_factor),
    mistake(
        "pressed twice",
        "The positions are pressed by the square of the factor. Where is it applied a second time?",
        "factor = (trained_length / target_length) ** 2",
    ),
    mistake("made anew and counted from 0", "The values of `positions` are not used: the result counts up from 0, "
            "wherever they begin.",
            "real = positions if positions.is_floating_point() else positions.float()\n"
            "real = torch.arange(real.numel(), dtype=real.dtype).view(real.shape)",
            "counted = torch.arange((real.shape or (1,))[-1], dtype=real.dtype).expand(real.shape or 1)\n"
            "pressed = counted.view(real.shape) * factor",
            "counted = torch.linspace(0, trained_length - 1, (real.shape or (1,))[-1], dtype=real.dtype)\n"
            "pressed = counted.expand(real.shape or 1).clone().view(real.shape)",
            "counted = torch.linspace(0, trained_length, (real.shape or (1,))[-1], dtype=real.dtype)\n"
            "pressed = counted.expand(real.shape or 1).clone().view(real.shape)"),
    mistake("the first position treated apart", "The first of the given positions was taken away from all, or stays "
            "where it is while the others come closer. After a cache the first one is not 0: what is each of them "
            "multiplied by?",
            "pressed = (real - real[..., :1] if real.dim() else 0 * real) * factor",
            "start = real[..., :1] if real.dim() else 0 * real\npressed = start + (real - start) * factor"),
    mistake("changed where the target is not longer", "Where the target is not longer than the trained length, "
            "positions must stay as they are.",
            "kept = torch.zeros_like(real)", "kept = real * (target_length / trained_length)", "kept = real + 1",
            "kept = real.clamp(max=target_length - 1)"),
    mistake("the sign of positions lost", "Negative positions come out as positive, or as 0. One factor serves all of "
            "them: where is the sign lost?", "pressed = real.abs() * factor", "pressed = real.clamp(min=0) * factor"),
    mistake("the factor returned", "This is the factor alone. What is to become of the positions?",
            "return min(1.0, factor)", "return factor"),
    mistake("other axes", "The positions are right, but they have lost their axes. They may have any shape, and the "
            "result has the same.", "return out.flatten()"),
    overwritten("out = real.mul_(factor) if is_longer else kept", "pressed = real.mul_(factor)"),
    left_in("return out{}"),
    *(replace(one, says=_DTYPE, versions=(*one.versions, *_DTYPES)) if one.name == "another dtype" else one
      for one in other_kinds("out")),
    mistake("digits lost", "The positions are right to two or three digits only. Did they go through a type of 16 "
            "bits, or was the factor rounded?", "pressed = (real.bfloat16() * factor).to(real.dtype)",
            "pressed = (real.half() * factor).to(real.dtype)", "factor = round(trained_length / target_length, 3)",
            "factor = round(trained_length / target_length, 2)", "factor = round(trained_length / target_length, 4)",
            "pressed = (real * factor).round(decimals=2)", "pressed = (real * factor).round(decimals=3)"),
)


def _any_dtype(fn: Function, positions: Tensor, trained: int, target: int) -> Any:
    """Whole positions may become real in any precision, and stay whole where they stay."""
    got = fn(positions, trained, target)
    return got.double() if isinstance(got, Tensor) else got


def _long(name: str, positions: Any, trained: int, target: int) -> Case:
    make = lambda generator: (torch.tensor(positions), trained, target)  # noqa: E731
    return case(name, make, tolerance=1e-5, run=_any_dtype)


def _real(name: str, positions: Any, trained: int, target: int) -> Case:
    make = lambda generator: (torch.tensor(positions, dtype=torch.float64), trained, target)  # noqa: E731
    return case(name, make, tolerance=1e-5)


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
        _real("real positions", [0.5, 1.25, 6.75, 11.0], 5, 12),
        _real("real positions, a shorter target", [0.5, 1.25, 6.75], 12, 7),
        _real("negative positions", [-6.0, -1.5, 0.0, 7.5], 4, 9),
        _real("real positions of shape (1, 2, 2)", [[[0.0, 8.5], [3.25, 1.0]]], 3, 9),
        _long("thousands of positions", [0, 2047, 2048, 8191], 2048, 8192),
        case("float32", lambda generator: (torch.tensor([0.0, 3.0, 17.5]), 8, 20)),
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
