"""What goes wrong in the blocks of the shift matrix: each mistake as something to run."""

import torch
from torch import Tensor

from course_utils.exercises.ch07_positions._shift_wrong import build, of
from course_utils.exercises.ch07_positions._sinusoid_wrong import exponents
from course_utils.positions import sinusoidal_encoding


def _halves(by: int, d_model: int, base: float = 10000.0) -> Tensor:
    turned = by / torch.as_tensor(float(base)).double() ** exponents(d_model)
    cos, sin = turned.cos().diag(), turned.sin().diag()
    rows = torch.cat((cos, -sin), dim=1), torch.cat((sin, cos), dim=1)
    return torch.cat(rows).to(torch.get_default_dtype())


def _rolled(by: int, d_model: int, base: float = 10000.0) -> Tensor:
    return torch.eye(d_model).roll(by, 1)


def _overlapping(by: int, d_model: int, base: float = 10000.0) -> Tensor:
    made, right = torch.eye(d_model), build()(by, d_model, base)
    for i in range(d_model // 2):
        made[i : i + 2, i : i + 2] = right[2 * i : 2 * i + 2, 2 * i : 2 * i + 2]
    return made


def _one_pair(by: int, d_model: int, base: float = 10000.0) -> Tensor:
    made = torch.eye(d_model)
    made[:2, :2] = build()(by, d_model, base)[:2, :2]
    return made


def _outer(by: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Make the matrix that is right for position 0 alone."""
    pe = sinusoidal_encoding(abs(by) + 1, d_model, base)
    start, end = (pe[0], pe[-1]) if by >= 0 else (pe[-1], pe[0])
    made: Tensor = torch.outer(start, end) / start.square().sum()
    return made


def _anti(by: int, d_model: int, base: float = 10000.0) -> Tensor:
    made: Tensor = build()(by, d_model, base)
    return made.flip(0)


def _diagonal(by: int, d_model: int, base: float = 10000.0) -> Tensor:
    pe = sinusoidal_encoding(abs(by) + 1, d_model, base)
    return pe[-1].diag()


BLOCKS = (
    of(
        "transposed",
        "It shifts backwards: pe[p] @ M is pe[p - offset]. The exercise multiplies a row from the "
        "right; M @ pe[p] would need the transposed matrix.",
        build(lambda c, s: (c, s, -s, c)),
        build(offset=lambda by: -by),
    ),
    of(
        "identity",
        "Nothing is shifted: the matrix is the identity whatever the offset.",
        build(offset=lambda by: 0.0),
    ),
    of(
        "sin and cos swapped",
        "For offset 0 the matrix must be the identity. What are the sine and the cosine of 0?",
        build(lambda c, s: (s, -c, c, s)),
        build(lambda c, s: (s, c, -c, s)),
        build(lambda c, s: (s, c, c, -s)),
    ),
    of(
        "both sines with the same sign",
        "A block is no rotation: one of its two sines is subtracted. Write sin(a + b) and "
        "cos(a + b) out.",
        build(lambda c, s: (c, s, s, c)),
        build(lambda c, s: (c, -s, -s, c)),
    ),
    of(
        "a reflection instead of a rotation",
        "A block turns the pair over. For offset 0 both entries of its diagonal must be 1.",
        build(lambda c, s: (c, s, s, -c)),
        build(lambda c, s: (-c, s, s, c)),
        build(lambda c, s: (c, -s, -s, -c)),
        build(lambda c, s: (c, -s, s, -c)),
        build(lambda c, s: (-c, -s, s, c)),
    ),
    of(
        "blocks that overlap",
        "The blocks begin at 0, 1, 2, ... and write over each other. At which features does the "
        "block of pair i begin?",
        _overlapping,
    ),
    of(
        "only the diagonal",
        "Sine and cosine of a pair never meet. sin(a + b) needs the cosine of a as well.",
        build(lambda c, s: (c, 0 * s, 0 * s, c)),
        build(lambda c, s: (c, 0 * s, 0 * s, s)),
        build(lambda c, s: (s, 0 * s, 0 * s, c)),
        _diagonal,
    ),
    of(
        "for all sines before all cosines",
        "The matrix is right for an encoding with all sines first. Here the sine and the cosine "
        "of a pair are neighbours: the matrix has blocks of 2 × 2 along its diagonal.",
        _halves,
        lambda by, d, base=10000.0: _halves(by, d, base).mT.contiguous(),
    ),
    of(
        "rows shifted instead of angles",
        "This matrix moves features along a row. A position is shifted by turning each pair.",
        _rolled,
        lambda by, d, base=10000.0: torch.eye(d).roll(by, 0),
        lambda by, d, base=10000.0: (
            torch.diag(torch.ones(max(d - abs(by), 0)), by) if abs(by) < d else torch.zeros(d, d)
        ),
    ),
    of(
        "right for one position only",
        "The matrix takes one position to the next, but not the others. It must not depend on p.",
        _outer,
    ),
    of(
        "only the first pair turned",
        "Only features 0 and 1 are turned. How many blocks are there along the diagonal?",
        _one_pair,
    ),
    of(
        "blocks along the other diagonal",
        "The blocks stand along the wrong diagonal, or their rows are swapped.",
        _anti,
        lambda by, d, base=10000.0: build()(by, d, base).flip(1),
        build(lambda c, s: (-s, c, c, s)),
    ),
)
