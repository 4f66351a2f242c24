"""Exercise: the matrix that shifts every sinusoidal encoding by an offset."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, Law, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.positions import FREQUENCIES, IN_TURNS, ROUNDING
from course_utils.positions import shift_matrix
from torch import Tensor

RIGHT = """
def shift_matrix(offset, d_model, base=10000.0):
    width = d_model
    used = float(base)
    pairs = torch.arange(width // 2, dtype=torch.float64)
    exponents = 2 * pairs / width
    frequencies = used**-exponents
    places = torch.tensor(float(offset), dtype=torch.float64)
    angles = places.unsqueeze(-1) * frequencies
    cosines = angles.cos()
    sines = angles.sin()
    blocks = torch.stack((cosines, -sines, sines, cosines), dim=-1).view(-1, 2, 2)
    matrix = torch.block_diag(*blocks)
    return matrix.to(torch.get_default_dtype())
"""


def _block(*corners: str) -> str:
    """Return the line that fills each block row by row."""
    return f"blocks = torch.stack(({', '.join(corners)}), dim=-1).view(-1, 2, 2)"


_HALVES = """
upper, lower = torch.cat((cosines.diag(), -sines.diag()), 1), torch.cat((sines.diag(), cosines.diag()), 1)
matrix = torch.cat((upper, lower))
"""
_OVERLAPPING = """
matrix = torch.eye(width, dtype=torch.float64)
for i in range(width // 2):
    matrix[i : i + 2, i : i + 2] = blocks[i]
return matrix.to(torch.get_default_dtype())
"""
_ENDS = "pe = sinusoidal_encoding(abs(offset) + 1, width, used).double()\n"
_ONE_POSITION = (
    _ENDS
    + """start, end = (pe[0], pe[-1]) if offset >= 0 else (pe[-1], pe[0])
matrix = torch.outer(start, end) / start.square().sum()
"""
)

BLOCKS = (
    mistake("transposed", "It shifts backwards: pe[p] @ M is pe[p - offset]. The exercise multiplies a row from the "
            "right; M @ pe[p] would need the transposed matrix.", _block("cosines", "sines", "-sines", "cosines")),
    mistake("identity", "Nothing is shifted: the matrix is the identity whatever the offset.",
            "matrix = torch.eye(width)"),
    mistake("sin and cos swapped", "For offset 0 the matrix must be the identity. What are the sine and the cosine of "
            "0?", _block("sines", "-cosines", "cosines", "sines"), _block("sines", "cosines", "-cosines", "sines"),
            _block("sines", "cosines", "cosines", "-sines")),
    mistake("both sines with the same sign", "A block is not a rotation: one of its two sines is subtracted. Write "
            "sin(a + b) and cos(a + b) out.",
            _block("cosines", "sines", "sines", "cosines"), _block("cosines", "-sines", "-sines", "cosines")),
    mistake("a reflection instead of a rotation", "A block reflects the pair. For offset 0 both entries of its "
            "diagonal must be 1.", _block("cosines", "sines", "sines", "-cosines"),
            _block("-cosines", "sines", "sines", "cosines"), _block("cosines", "-sines", "-sines", "-cosines"),
            _block("cosines", "-sines", "sines", "-cosines"), _block("-cosines", "-sines", "sines", "cosines")),
    mistake("blocks that overlap", "The blocks begin at 0, 1, 2, ... and write over each other. At which features does "
            "the block of pair i begin?", _OVERLAPPING),
    mistake("only the diagonal", "Sine and cosine of a pair never meet. sin(a + b) needs the cosine of a as well.",
            _block("cosines", "0 * sines", "0 * sines", "cosines"),
            _block("cosines", "0 * sines", "0 * sines", "sines"), _block("sines", "0 * sines", "0 * sines", "cosines"),
            f"{_ENDS}matrix = pe[-1].diag()"),
    mistake("for all sines before all cosines", "The matrix is right for an encoding with all sines first. Here the "
            "sine and the cosine of a pair are neighbours: the matrix has blocks of 2 × 2 along its diagonal.",
            _HALVES, _HALVES + "matrix = matrix.mT"),
    mistake("rows shifted instead of angles", "This matrix moves features along a row. A position is shifted by "
            "rotating each pair.", "matrix = torch.eye(width).roll(offset, 1)",
            "matrix = torch.eye(width).roll(offset, 0)", "matrix = torch.ones(width, width).triu(offset).tril(offset)"),
    mistake("right for one position only", "The matrix takes one position to the next, but not the others. It must not "
            "depend on p.", _ONE_POSITION),
    mistake("only the first pair rotated", "Only features 0 and 1 are rotated. How many blocks are there along the "
            "diagonal?", "angles = places.unsqueeze(-1) * frequencies * (pairs == 0)"),
    mistake("blocks along the other diagonal", "The blocks run along the wrong diagonal, or their rows are swapped.",
            "matrix = torch.block_diag(*blocks).flip(0)", "matrix = torch.block_diag(*blocks).flip(1)",
            _block("-sines", "cosines", "cosines", "sines")),
)


def _turns_by_other_angles(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the matrix is made of rotations of the right pairs, by wrong angles."""
    width = args[1]
    blocks = torch.stack([got[i : i + 2, i : i + 2] for i in range(0, width, 2)]).double()
    rest = got.double() - torch.block_diag(*blocks)
    square = blocks @ blocks.mT - torch.eye(2, dtype=torch.float64)
    return bool((rest.abs() < 1e-3).all() and (square.abs() < 1e-2).all() and (torch.det(blocks) > 0).all())


OFFSETS = (
    mistake("offset of 1 more or less", "The shift is one place too far or too short. What should offset 0 do?",
            "places = torch.tensor(offset + 1.0, dtype=torch.float64)",
            "places = torch.tensor(offset - 1.0, dtype=torch.float64)"),
    mistake("the sign of the offset lost", "A negative offset shifts forwards too, or not at all. What does the sine "
            "of a negative angle do?", "places = torch.tensor(abs(float(offset)), dtype=torch.float64)",
            "places = torch.tensor(max(float(offset), 0.0), dtype=torch.float64)"),
    IN_TURNS,
    mistake("other angles than offset times frequency", "The right pairs are rotated, but by angles other than offset "
            "/ base^(2i/d_model).", "places = torch.tensor(float(offset) ** 2, dtype=torch.float64)",
            "places = torch.tensor(offset / 2, dtype=torch.float64)", matches=_turns_by_other_angles),
)


def _does_not_shift(args: tuple[Any, ...], matrix: Tensor) -> str | None:
    offset, d_model, *rest = args
    powers = (float(rest[0]) if rest else 10000.0) ** (2 * torch.arange(d_model // 2).double() / d_model)
    angle = torch.stack([(1 + shifted) / powers for shifted in (0, offset)])
    pe = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)
    got = pe[0] @ matrix.double()
    wrong = ((got - pe[1]).abs() > 1e-3).nonzero()
    if not len(wrong):
        return None
    k = int(wrong[0])
    return f"pe[1] @ M should be pe[{1 + offset}]; its feature {k} is {got[k]:.4g} and should be {pe[1, k]:.4g}."


def _shift(name: str, *numbers: float) -> Case:
    return case(name, given(*numbers), tolerance=ROUNDING)


EXERCISE = exercise(
    shift_matrix,
    right=RIGHT,
    asks="Build the matrix M with pe[p + offset] == pe[p] @ M for every position p.",
    minutes=12,
    difficulty=3,
    importance=3,
    cases=(
        _shift("offset 1, width 2", 1, 2),
        _shift("offset 1, width 4", 1, 4),
        _shift("offset 3, width 6", 3, 6),
        _shift("offset 0", 0, 4),
        _shift("offset -2", -2, 6),
        _shift("offset 5, width 8, base=100.0", 5, 8, 100.0),
        _shift("offset 2, width 4, base=10, a whole number", 2, 4, 10),
        _shift("offset 40, width 10", 40, 10),
        _shift("offset -7, width 12, base=500.0", -7, 12, 500.0),
    ),
    mistakes=(*BLOCKS, *FREQUENCIES, *OFFSETS),
    laws=(Law("M takes each position to the one offset further on", _does_not_shift),),
    hints=(
        "Look at one pair only: write sin(a + b) and cos(a + b) with sin a, cos a, sin b, cos b.",
        "The pair (sin a, cos a) is a row; it is multiplied from the right by a 2 × 2 block. Which column of the block "
        "makes the new sine?",
        "The angle b of pair i is offset / base^(2i/d_model): neither p nor the pair's own angle.",
        "The blocks run along the diagonal: `torch.block_diag`, or two strided assignments for the diagonal and two "
        "for its neighbours.",
    ),
)
