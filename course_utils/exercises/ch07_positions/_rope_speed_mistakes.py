"""What goes wrong in RoPE's frequencies: how fast each pair turns."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch07_positions._rope_inputs import other_angles
from course_utils.exercises.ch07_positions._rope_wrong import build, powers, product

Speed = Callable[[Tensor, float], Tensor]


def _pairs(x: Tensor) -> Tensor:
    return torch.arange(x.shape[-1] // 2, dtype=torch.float64)


def _raised(exponent: Callable[[Tensor, int], Tensor]) -> Speed:
    """Return frequencies with another exponent, from the pair's number and the width."""
    return lambda x, base: torch.as_tensor(float(base)).double() ** exponent(_pairs(x), x.shape[-1])


def _width_from(axis: int) -> Speed:
    return lambda x, base: float(base) ** (-2 * _pairs(x) / x.shape[axis])


def speed_mistakes(pairing: str) -> tuple[Misconception, ...]:
    """Return mistakes in how fast each pair turns."""

    def at(name: str, says: str, speed: Speed, *also: Speed) -> Misconception:
        versions = tuple(build(pairing, speed=version) for version in also)
        return Misconception(name, build(pairing, speed=speed), says, also=versions)

    return (
        at(
            "one frequency",
            "All pairs turn equally fast. Then a head cannot tell near from far: how does the "
            "angle depend on the number of the pair?",
            lambda x, base: torch.ones_like(_pairs(x)),
            lambda x, base: torch.full_like(_pairs(x), 1 / base),
            lambda x, base: torch.full_like(_pairs(x), base ** (-2 / x.shape[-1])),
            _raised(lambda i, d: -(2 * i // d)),
            lambda x, base: powers(x, base)[-1:].expand(x.shape[-1] // 2),
        ),
        at(
            "exponent i instead of 2i",
            "The frequencies fall too slowly from pair to pair. With i the number of the pair, the "
            "exponent is 2i/d_k: the last pair is nearly at 1/base.",
            _raised(lambda i, d: -i / d),
        ),
        at(
            "exponent 4i instead of 2i",
            "The frequencies fall too fast. `arange(0, d_k, 2)` is 2i already; and d_k/2 below "
            "doubles it as well.",
            _raised(lambda i, d: -4 * i / d),
        ),
        at(
            "exponent not divided by the width",
            "The frequencies fall by a whole power of the base from pair to pair: what divides 2i?",
            _raised(lambda i, d: -2 * i),
            _raised(lambda i, d: -i),
        ),
        at(
            "pairs counted from 1",
            "The first pair turns by less than 1 radian a position. Which power of the base is 1?",
            _raised(lambda i, d: -2 * (i + 1) / d),
            _raised(lambda i, d: -(2 * i + 1) / d),
        ),
        at(
            "divided by the width less 2",
            "The frequencies fall too fast: 2i was divided by less than the whole width, so that "
            "the last pair comes to 1/base. The exercise divides by d_k.",
            _raised(lambda i, d: -2 * i / max(d - 2, 1)),
            _raised(lambda i, d: -2 * i / max(d - 1, 1)),
        ),
        at(
            "one pair never turned",
            "One of the pairs stays as it is at every position: its frequency is 0, or it was left "
            "out of the loop. How many pairs are there?",
            lambda x, base: powers(x, base) * (_pairs(x) < x.shape[-1] // 2 - 1),
            lambda x, base: powers(x, base) * (_pairs(x) > 0),
        ),
        at(
            "positive exponent",
            "The pairs turn faster and faster. Which sign has the exponent of the base?",
            _raised(lambda i, d: 2 * i / d),
        ),
        at(
            "frequencies in reverse",
            "The first pair turns slowest. Pair 0 should turn by 1 radian a position.",
            lambda x, base: powers(x, base).flip(0),
        ),
        at(
            "width of another axis",
            "The exponent is divided by the size of another axis than the features'.",
            _width_from(-2),
            _width_from(1),
            _width_from(0),
        ),
        at(
            "no power of the base",
            "The frequencies are no powers of the base: from pair to pair they must fall by a "
            "constant factor.",
            lambda x, base: 1 / (1 + _pairs(x)),
            lambda x, base: 1 / (base * (2 * _pairs(x) / x.shape[-1]).clamp(min=1 / base)),
            lambda x, base: 1 - 2 * _pairs(x) / x.shape[-1],
            lambda x, base: torch.exp(-2 * _pairs(x) / x.shape[-1]),
            lambda x, base: torch.exp2(-2 * _pairs(x) / x.shape[-1] * math.log(base)),
        ),
        at(
            "angles in whole turns or degrees",
            "The angles are off by one constant factor for all pairs. They are radians: nothing "
            "multiplies position times frequency.",
            lambda x, base: powers(x, base) * 2 * math.pi,
            lambda x, base: powers(x, base) * math.pi,
            lambda x, base: powers(x, base) * math.pi / 180,
            lambda x, base: powers(x, base) * 180 / math.pi,
            lambda x, base: powers(x, base) / 2,
        ),
        Misconception(
            "base hard-coded",
            build(pairing, base=lambda base: 10000.0),
            "Every base gives the same result. Where is the argument used?",
        ),
        Misconception(
            "base inside the power",
            build(
                pairing,
                angle=lambda place, speed, base: (
                    (place.double() / base).unsqueeze(-1).abs()
                    ** (2 * torch.arange(len(speed)).double() / (2 * len(speed)))
                ),
            ),
            "The position stands under the power together with the base. Only the base is raised; "
            "the angle is proportional to the position.",
            also=(
                build(
                    pairing,
                    angle=lambda place, speed, base: place.double().unsqueeze(-1).abs() ** speed,
                ),
            ),
        ),
        Misconception(
            "other angles than position times frequency",
            build(pairing, angle=lambda p, speed, base: product(p, speed, base).square()),
            "The right pairs are turned, but by other angles than position · base^(-2i/d_k). Print "
            "the angles of a token at position 1: pair 0 turns by 1 radian there.",
            also=(
                build(pairing, angle=lambda p, speed, base: product(p, speed, base).tanh()),
                build(pairing, angle=lambda p, speed, base: p.double().unsqueeze(-1) + speed),
            ),
            fits=other_angles(pairing),
        ),
    )
