"""What goes wrong in local-p attention: each mistake as something to run."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.checking.laws import is_other, monotone
from course_utils.exercises.ch02_additive_multiplicative._local_join_mistakes import JOIN
from course_utils.exercises.ch02_additive_multiplicative._local_place_mistakes import PLACE
from course_utils.exercises.ch02_additive_multiplicative._local_wrong import build, gauss, spread


def _exponent(exponent: Any) -> Function:
    """Return a version with another exponent, from the distance and sigma."""
    return build(fade=lambda far, sigma: torch.exp(exponent(far, sigma)))


def _cut(reach: float) -> Function:
    """Return a version that looks no further than so many sigmas."""
    return build(fade=lambda far, sigma: gauss(far, sigma) * (far.abs() <= reach * sigma))


def _cut_before(reach: float) -> Function:
    def wrong(scores: Tensor, centre: Tensor, sigma: float) -> Tensor:
        far = spread(scores, centre)
        inside = scores.masked_fill(far.abs() > reach * sigma, -torch.inf)
        return stable_softmax(inside) * gauss(far, sigma)

    return wrong


def _fades_with_distance(args: tuple[Any, ...], got: Tensor) -> bool:
    """Say whether the weights are a softmax times something that falls with the distance."""
    scores, centre, _ = args
    if not is_other(got, build()(*args)):
        return False
    return monotone(-spread(scores, centre).abs(), got / stable_softmax(scores))


FADE = (
    Misconception(
        "the 2 forgotten",
        _exponent(lambda far, s: -far.square() / s**2),
        "The window has another width than sigma says. What divides the squared distance, "
        "besides σ², and is the 2 squared too?",
        also=(_exponent(lambda far, s: -far.square() / (4 * s**2)),),
    ),
    Misconception(
        "sigma not squared",
        _exponent(lambda far, s: -far.square() / (2 * s)),
        "The window has another width than sigma says. At distance σ the exponent should be -1/2: "
        "what is it here?",
        also=(
            _exponent(lambda far, s: -far.square() / s),
            _exponent(lambda far, s: -far.square() / math.sqrt(2 * s)),
            _exponent(lambda far, s: -far.square() / (2 * math.sqrt(s))),
        ),
    ),
    Misconception(
        "multiplied by sigma where it divides",
        _exponent(lambda far, s: -far.square() / 2 * s**2),
        "A larger sigma makes the window narrower. In `a / 2 * b`, what is divided by what?",
        also=(
            _exponent(lambda far, s: -far.square() * 2 * s**2),
            _exponent(lambda far, s: -far.square() * s**2),
            _exponent(lambda far, s: -far.square() * s),
            _exponent(lambda far, s: -far.square() / 2 * s),
        ),
    ),
    Misconception(
        "sigma not used",
        _exponent(lambda far, s: -far.square() / 2),
        "Every sigma gives the same window. Where does it come in?",
        also=(_exponent(lambda far, s: -far.square()), _exponent(lambda far, s: -far.abs())),
    ),
    Misconception(
        "sigma taken for the half width",
        _exponent(lambda far, s: -far.square() / (2 * (s / 2) ** 2)),
        "Luong sets σ to half of the window D. Sigma is given here: is anything to be halved?",
        also=(
            _exponent(lambda far, s: -far.square() / (2 * (2 * s) ** 2)),
            _exponent(lambda far, s: -far.square() / (s / 2) ** 2),
        ),
    ),
    Misconception(
        "the distance not squared",
        _exponent(lambda far, s: -far.abs() / (2 * s**2)),
        "The window falls off like a tent, not like a bell. What happens to the distance in a "
        "Gaussian?",
        also=(
            _exponent(lambda far, s: -far.abs() / s),
            _exponent(lambda far, s: -far.abs() / (2 * s)),
            _exponent(lambda far, s: -far / (2 * s**2)),
            _exponent(lambda far, s: -far / s),
        ),
    ),
    Misconception(
        "another window than a Gaussian",
        build(fade=lambda far, s: 1 / (1 + far.square() / s**2)),
        "The weights fade with the distance, but not as a Gaussian does. What stands in the "
        "exponent, and what outside of it?",
        also=(
            build(fade=lambda far, s: torch.exp(-far.square()) / (2 * s**2)),
            build(fade=lambda far, s: torch.exp(-far.abs() / s**2)),
        ),
        fits=_fades_with_distance,
    ),
    Misconception(
        "the exponent's sign flipped",
        _exponent(lambda far, s: far.square() / (2 * s**2)),
        "Keys far from the centre gain instead of fading. Which sign has the exponent?",
    ),
    Misconception(
        "divided by sigma and the root of 2π",
        build(fade=lambda far, s: gauss(far, s) / (s * math.sqrt(2 * math.pi))),
        "This is the normal distribution's density. The factor in Luong's formula is 1 at the "
        "centre: what is it here?",
        also=(
            build(fade=lambda far, s: gauss(far, s) / math.sqrt(2 * math.pi * s)),
            build(fade=lambda far, s: gauss(far, s) / math.sqrt(2 * math.pi)),
            build(fade=lambda far, s: gauss(far, s) / s),
            build(fade=lambda far, s: gauss(far, s) / gauss(far, s).amax(-1, keepdim=True)),
        ),
    ),
    Misconception(
        "one minus the Gaussian",
        build(fade=lambda far, s: 1 - gauss(far, s)),
        "The centre gets nothing and everything else stays. What should the factor be at the "
        "centre?",
    ),
    Misconception(
        "cut off at the edge of a window",
        _cut(2.0),
        "Keys beyond some distance got exactly 0. Luong's own window ends at D = 2σ; here the "
        "Gaussian fades by itself.",
        also=(
            _cut(1.0),
            _cut(3.0),
            _cut_before(2.0),
            _cut_before(1.0),
            _cut_before(3.0),
            build(fade=lambda far, s: (far.abs() <= s).to(far.dtype)),
            build(fade=lambda far, s: (far.abs() <= 2 * s).to(far.dtype)),
            build(fade=lambda far, s: (1 - far.abs() / s).clamp(min=0)),
        ),
    ),
)

MISCONCEPTIONS = (*JOIN, *FADE, *PLACE)
