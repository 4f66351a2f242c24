"""Exercise: the frequencies with which Llama 3.1 reads further than it was trained."""

import math
from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import left_in, other_kinds, overwritten
from course_utils.positions import llama3_frequencies, rope_frequencies

RIGHT = """
def llama3_frequencies(frequencies, factor, low_freq_factor, high_freq_factor, trained_length):
    low, high = low_freq_factor, high_freq_factor
    wavelength = 2 * math.pi / frequencies
    shortest = trained_length / high
    longest = trained_length / low
    slowed = frequencies / factor
    smooth = (trained_length / wavelength - low) / (high - low)
    mixed = (1 - smooth) * slowed + smooth * frequencies
    is_kept = wavelength < shortest
    is_slowed = wavelength > longest
    out = torch.where(is_kept, frequencies, torch.where(is_slowed, slowed, mixed))
    return out
"""

_TURNS = (
    "turns = {}\nsmooth = (turns - low) / (high - low)\n"
    "mixed = (1 - smooth) * slowed + smooth * frequencies\nis_kept = turns > high\nis_slowed = turns < low"
)
_WHERE = "out = torch.where({}, frequencies, torch.where({}, slowed, mixed))"

def _nearly(args: tuple[Any, ...], got: torch.Tensor) -> bool:
    right = llama3_frequencies(*args)
    return bool(((got - right).abs() <= 1e-2 * right).all())


SPECTRUM = (
    mistake("ends of the spectrum swapped", "Fast pairs were slowed and slow ones kept. Which end saw whole turns in "
            "training, and has nothing new to show at a greater distance?",
            "is_kept = wavelength > longest\nis_slowed = wavelength < shortest",
            "out = torch.where(is_slowed, frequencies, torch.where(is_kept, slowed, mixed))"),
    mistake("frequencies compared with the bounds of wavelengths", "A frequency was compared with a length. The bounds "
            "are numbers of positions: which property of a pair is a number of positions too?",
            "is_kept = frequencies > 1 / shortest\nis_slowed = frequencies < 1 / longest"),
    mistake("2π missing", "A wavelength is the number of positions of a whole turn. A pair turns f radians per "
            "position: how many radians are there in a whole turn?",
            "wavelength = 1 / frequencies",
            "smooth = (trained_length * frequencies - low) / (high - low)"),
    mistake("2π on the wrong side", "A pair turns f radians per position, and a whole turn is 2π radians. After how "
            "many positions is it back: is 2π multiplied by f, or divided?",
            "wavelength = 1 / (2 * math.pi * frequencies)"),
    mistake("turns upside down", "What is compared with the two factors is not the number of turns that a pair made in "
            "training: it grows where a pair turns more slowly. Which of the two lengths stands above, the trained one "
            "or the wave's?",
            _TURNS.format("wavelength / trained_length"), _TURNS.format("wavelength")),
    mistake("half a turn for a whole one", "After π/f positions a pair has made half a turn. How many "
            "positions does a whole one take?", "wavelength = math.pi / frequencies"),
    mistake("2π rounded", "Everything is right except for the digits of 2π. Which constant gives it to the last digit?",
            *(f"wavelength = {turn} / frequencies\nsmooth = (trained_length / wavelength - low) / (high - low)"
              for turn in ("6", "6.28", "6.283", "2 * 3.14", "2 * 3.1416"))),
    mistake("all pairs divided", "Every pair turns slower by the factor, which is position interpolation: neighbours "
            "can no longer be told apart. Which pairs must stay as they are? Is it their wavelength that you compare?",
            "out = slowed", "is_kept = wavelength < 0\nis_slowed = wavelength > 0",
            "is_kept = frequencies > shortest\nis_slowed = frequencies < longest"),
    mistake("nothing divided", "The frequencies came back as they were. What happens to pairs whose wave is longer "
            "than the trained range? Is it their wavelength, 2π/f positions, that you compare with it?",
            "out = frequencies.clone()", "slowed = frequencies.clone()",
            "is_kept = frequencies < shortest\nis_slowed = frequencies > longest",
            "wavelength = frequencies / (2 * math.pi)", "wavelength = 2 * math.pi * frequencies"),
    mistake("the slow pairs not divided", "Between the two bounds all is right, but the pairs with the longest waves "
            "kept their frequency. Which pairs have angles that training never showed?",
            "is_kept = (wavelength < shortest) | (wavelength > longest)"),
    mistake("bounds multiplied", "A pair is kept whose wave fits `high_freq_factor` times into the trained range. How "
            "long may such a wave be?",
            "shortest = trained_length * high\nlongest = trained_length * low",
            "shortest = trained_length * low\nlongest = trained_length * high"),
)

BAND = (
    mistake("no band between", "Every pair is either kept or divided, so the frequencies jump. What happens between "
            "the two bounds? Does `high_freq_factor` make the shorter of the two lengths?",
            "mixed = frequencies.clone()", "mixed = slowed.clone()",
            "shortest = trained_length / low\nlongest = trained_length / high",
            "low, high = high_freq_factor, low_freq_factor",
            "mixed = torch.where(wavelength > (shortest + longest) / 2, slowed, frequencies)"),
    mistake("smoothing reversed", "In the band the shares are exchanged: at its fast end the pairs should be kept, at "
            "its slow end divided. The frequencies jump at both ends. What is the share at "
            "`high_freq_factor` turns?",
            "mixed = smooth * slowed + (1 - smooth) * frequencies",
            "smooth = (high - trained_length / wavelength) / (high - low)"),
    mistake("the band without its ends", "The mixture is applied to every pair. Outside the band the share is below 0 "
            "or above 1: what should it be there?", "out = mixed"),
    mistake("no bound below", "Below the band the share is negative, and the slowest pairs turn more slowly than f "
            "divided by the factor, or "
            "backwards. Where must the share stop falling?", _WHERE.format("is_kept", "wavelength < 0")),
    mistake("no bound above", "Above the band the share exceeds 1, and the fastest pairs turn faster than "
            "ever. Where must the share stop rising?",
            _WHERE.format("wavelength < 0", "is_slowed")),
    mistake("smooth along the wavelength", "The share is linear in the wavelength. In which quantity should it be "
            "linear: the wavelength, or the turns made in training?",
            "smooth = (longest - wavelength) / (longest - shortest)"),
    mistake("smooth along the logarithm", "The share is linear in a logarithm, as it would be in the index of the "
            "pair. In which quantity is the exercise's linear?",
            "smooth = torch.log(longest / wavelength) / math.log(longest / shortest)"),
    mistake("an S in place of the straight line", "The share has the right ends, but a curve between them. In which "
            "quantity should it be a straight line?",
            "smooth = (trained_length / wavelength - low) / (high - low)\nsmooth = smooth * smooth * (3 - 2 * smooth)",
            "smooth = ((trained_length / wavelength - low) / (high - low)).square()",
            "smooth = 0.5 * (1 - torch.cos(math.pi * (trained_length / wavelength - low) / (high - low)))"),
    mistake("the lower bound left out of the share", "At the slow end of the band, where trained_length / "
            "wavelength is `low_freq_factor`, a pair is simply divided. What should the share be there, and what is "
            "yours?",
            "smooth = trained_length / wavelength / (high - low)", "smooth = trained_length / wavelength / high"),
    mistake("the share divided by the upper bound", "The share must be 1 at the fast end of the band. How far is it "
            "from one end to the other?", "smooth = (trained_length / wavelength - low) / high",
            "smooth = trained_length / wavelength - low"),
    mistake("wavelengths mixed for frequencies", "In the band the wavelengths were averaged, and then converted to "
            "frequencies. Which of the two does the exercise average?",
            "mixed = 2 * math.pi / ((1 - smooth) * wavelength * factor + smooth * wavelength)",
            "mixed = frequencies / ((1 - smooth) * factor + smooth)"),
    mistake("mixed by a power", "In the band the frequency is divided by a power of the factor. Which two "
            "shares does the exercise add?", "mixed = frequencies / factor ** (1 - smooth)"),
    mistake("one share without its other", "The mixture needs two shares that sum to 1: one of them is missing. Which?",
            "mixed = slowed + smooth * frequencies", "mixed = (1 - smooth) * slowed",
            "mixed = smooth * frequencies", "mixed = (1 - smooth) * slowed + frequencies"),
    mistake("half of each in the band", "All pairs in the band got the same mixture. How far into the band is each "
            "one?",
            "mixed = (slowed + frequencies) / 2"),
)

NUMBERS = (
    mistake("multiplied by the factor", "Slow pairs became faster. A longer text must show them no angle that is new: "
            "do they have to turn faster for that, or more slowly?", "slowed = frequencies * factor"),
    mistake("divided twice", "A frequency was divided by the square of the factor. Where is it divided a second time?",
            "slowed = frequencies / factor**2", "mixed = ((1 - smooth) * slowed + smooth * frequencies) / factor"),
    mistake("the longer text's length for the trained one", "The bounds were taken from factor times the trained "
            "length. Which waves did the model see whole in training?",
            "trained_length = trained_length * factor\nlow, high = low_freq_factor, high_freq_factor"),
    mistake("scores rescaled too", "All frequencies carry one more factor. YaRN multiplies its scores by such a "
            "number; Llama 3 does not, and such a factor would not go on the frequencies.",
            "out = torch.where(is_kept, frequencies, torch.where(is_slowed, slowed, mixed))\n"
            "out = out * (0.1 * math.log(factor) + 1)",
            "out = torch.where(is_kept, frequencies, torch.where(is_slowed, slowed, mixed))\n"
            "out = out * (0.1 * math.log(factor) + 1) ** 2"),
    mistake("Llama's own numbers written into the code", "An argument is not used: one of Llama 3.1's numbers "
            "stands in its place. Which one?", "slowed = frequencies / 8", "low, high = 1.0, 4.0",
            "low, high = 1.0, high_freq_factor", "low, high = low_freq_factor, 4.0",
            "shortest = 8192 / high\nlongest = 8192 / low",
            "trained_length = 8192\nlow, high = low_freq_factor, high_freq_factor"),
    mistake("ramp along the number of the pair", "The share depends on where a pair is in the list. The list may come "
            "in any order: which property of a pair should decide?",
            "smooth = 1 - torch.arange(frequencies.numel()).view(frequencies.shape) / max(frequencies.numel(), 1)",
            "smooth = torch.linspace(1, 0, frequencies.numel(), dtype=frequencies.dtype).view(frequencies.shape)\n"
            "is_kept = wavelength < 0\nis_slowed = wavelength < 0",
            "smooth = torch.linspace(1, 0, frequencies.numel(), dtype=frequencies.dtype).view(frequencies.shape)",
            "smooth = torch.linspace(0, 1, frequencies.numel(), dtype=frequencies.dtype).view(frequencies.shape)"),
    mistake("pairs taken to be in order", "From the first slow pair on all are divided, or up to the last fast one all "
            "are kept. The list may come in any order: each pair is judged by itself.",
            "late = (wavelength > longest).int().flatten().cummax(0).values.view(wavelength.shape) == 1\n"
            "is_kept = (wavelength < shortest) & ~late\nis_slowed = late"),
    mistake("whole turns only", "The turns were counted as whole numbers, so the share rises in steps. Half a turn "
            "more is half a step more.",
            "smooth = ((trained_length / wavelength).floor() - low) / (high - low)",
            "smooth = ((trained_length / wavelength).round() - low) / (high - low)"),
    mistake("sorted on the way", "The right frequencies came back in another order than they were given. What "
            "needs them sorted?",
            "out = torch.where(is_kept, frequencies, torch.where(is_slowed, slowed, mixed))\n"
            "out = out.flatten().sort(descending=True).values.view(out.shape)",
            "out = torch.where(is_kept, frequencies, torch.where(is_slowed, slowed, mixed))\n"
            "out = out.flatten().sort().values.view(out.shape)"),
    mistake("wavelengths returned", "These are wavelengths, in positions per turn. RoPE needs radians per position: "
            "what converts one into the other?",
            "out = torch.where(is_kept, frequencies, torch.where(is_slowed, slowed, mixed))\nout = 2 * math.pi / out"),
    mistake("the shares returned", "These say how much slower each pair turns, or how far it is into the band. The "
            "exercise asks for the frequencies themselves.", "return out / frequencies", "return frequencies / out",
            "return smooth", "return smooth.clamp(0, 1)"),
    mistake("the input itself returned", "The tensor that was passed in came back, so a later change to one of the two "
            "changes both. In which case is no new one made?", "return frequencies if factor == 1 else out",
            "return frequencies if bool(is_kept.all()) else out"),
    mistake("other axes", "The frequencies are right, but they have lost their axes. They may have any shape, and the "
            "result has the same.", "return out.flatten()", "return out[is_kept | is_slowed]"),
    overwritten("return frequencies.copy_(out)"),
    left_in("return out{}"),
    *other_kinds("out"),
    mistake("digits lost", "Right to two or three digits only. Is a constant rounded, or was something computed in a "
            "type of 16 bits?", "return out.bfloat16().to(out.dtype)", "return out.half().to(out.dtype)",
            matches=_nearly),
)


def _own(fn: Function, frequencies: torch.Tensor, *numbers: Any) -> bool:
    return bool(fn(frequencies, *numbers).data_ptr() != frequencies.data_ptr())


def _pairs(name: str, given: Any, factor: float, low: float, high: float, trained: int, **more: Any) -> Case:
    """Return a case with these wavelengths."""
    dtype = more.pop("dtype", torch.float64)
    make = lambda generator: (2 * math.pi / torch.tensor(given, dtype=dtype), factor, low, high, trained)  # noqa: E731
    return case(name, make, tolerance=1e-5, **more)


def _rope(name: str, d_k: int, base: float, *numbers: float, **more: Any) -> Case:
    dtype = more.pop("dtype", torch.float64)
    return case(name, lambda generator: (rope_frequencies(d_k, base).to(dtype), *numbers), tolerance=1e-5, **more)


EXERCISE = exercise(
    llama3_frequencies,
    right=RIGHT,
    asks="Slow the pairs with long waves by the factor, keep those with short ones, and mix in between.",
    minutes=15,
    difficulty=2,
    importance=3,
    cases=(
        _pairs("wavelengths 10, 75, 110, 200 and 900 for 300 trained positions", [10.0, 75.0, 110.0, 200.0, 900.0],
               4.0, 1.0, 5.0, 300),
        _pairs("waves that are all short", [3.0, 7.0, 11.0, 19.0], 4.0, 1.0, 4.0, 100),
        _pairs("waves that are all long", [150.0, 320.0, 1000.0], 4.0, 1.0, 4.0, 100),
        _pairs("waves that are all between", [28.0, 40.0, 55.0, 80.0, 97.0], 4.0, 1.0, 4.0, 100),
        _pairs("other bounds: 2 and 3, whole numbers", [20.0, 36.0, 41.0, 47.0, 70.0, 500.0], 5, 2, 3, 100),
        _pairs("bounds below 1: 0.25 and 0.75", [60.0, 150.0, 200.0, 350.0, 500.0], 3.0, 0.25, 0.75, 100),
        _pairs("a factor that is not a whole number", [9.0, 60.0, 170.0, 410.0], 2.5, 1.0, 8.0, 256),
        _pairs("pairs out of order", [900.0, 12.0, 130.0, 70.0, 2000.0, 40.0], 8.0, 1.0, 4.0, 200),
        _pairs("frequencies of shape (2, 3)", [[5.0, 130.0, 60.0], [400.0, 90.0, 33.0]], 4.0, 1.0, 4.0, 160),
        _pairs("a single number", 70.0, 6.0, 1.0, 4.0, 128),
        _pairs("a factor of 1", [10.0, 100.0, 1000.0], 1.0, 1.0, 4.0, 200),
        _pairs("whether the result is a tensor of its own", [10.0, 20.0], 1.0, 1.0, 4.0, 200, run=_own,
               says="The tensor that was passed in came back. A later change to one of the two changes both."),
        _rope("float32", 16, 10000.0, 8.0, 1.0, 4.0, 128, dtype=torch.float32),
        _rope("Llama 3.1: base 500,000, width 128, 8,192 positions", 128, 500000.0, 8.0, 1.0, 4.0, 8192),
        _rope("Llama 3.2: a factor of 32, width 64", 64, 500000.0, 32.0, 1.0, 4.0, 8192, dtype=torch.float32),
    ),
    mistakes=(*SPECTRUM, *BAND, *NUMBERS),
    hints=(
        "A pair that turns f radians a position: after how many positions is it back where it was?",
        "First write all three results for every pair: kept, divided, mixed. Then choose for each pair.",
        "`trained_length / wavelength` is how many turns a pair made in training. The two bounds are such numbers.",
        "The share s is 0 at `low_freq_factor` turns and 1 at `high_freq_factor`. With s cut off at 0 and 1, one line "
        "holds for all pairs.",
    ),
)
