"""Exercise: the matrix that shifts every sinusoidal encoding by an offset."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, Law, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import left_in
from course_utils.exercises.shared.positions import FREQUENCIES, IN_TURNS, ROUNDING, made_dtype
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


_ALL = _block("cosines", "-sines", "sines", "cosines")
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
_OVERLAPPING_EMPTY = _OVERLAPPING.replace("torch.eye(width", "torch.zeros(width, width")
_EVERY = """
every = places * used ** (-torch.arange(width, dtype=torch.float64) / width)
a, b = every[0::2], every[1::2]
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
    mistake("one of the two theorems left out", "One column of every block is that of a rotation, the other is 0 or "
            "leaves its feature as it was: half of the features are left behind. Which of them are new sines, which "
            "new cosines?",
            _block("cosines", "0 * sines", "sines", "0 * sines"), _block("0 * sines", "-sines", "0 * sines", "cosines"),
            _block("cosines", "0 * sines", "sines", "1 + 0 * sines"),
            _block("1 + 0 * sines", "-sines", "0 * sines", "cosines")),
    mistake("one row of every block left out", "One row of every block is that of a rotation, the other is 0 or leaves "
            "its feature as it was. A new sine needs the old sine and the old cosine: where does each of them come in?",
            _block("cosines", "-sines", "0 * sines", "0 * sines"), _block("0 * sines", "0 * sines", "sines", "cosines"),
            _block("cosines", "-sines", "0 * sines", "1 + 0 * sines"),
            _block("1 + 0 * sines", "0 * sines", "sines", "cosines")),
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
            "the block of pair i begin?", _OVERLAPPING, _OVERLAPPING_EMPTY),
    mistake("a frequency for each feature instead of each pair", "The sine and the cosine of a pair were made from "
            "different angles. Both share the frequency of their pair: how many frequencies are there?",
            _EVERY + _block("a.cos()", "-b.sin()", "a.sin()", "b.cos()"),
            _EVERY + _block("a.cos()", "-a.sin()", "b.sin()", "b.cos()")),
    mistake("the offset outside of sine and cosine", "Sine and cosine of a single step were multiplied by the offset. "
            "Two steps rotate by twice the angle: where does the offset belong?",
            "cosines = offset * frequencies.cos()\nsines = offset * frequencies.sin()",
            "cosines = frequencies.cos()\nsines = offset * frequencies.sin()"),
    mistake("the identity added", "For offset 0 the matrix is twice the identity: it was added to the rotations, or "
            "they to it. What is left of a row where nothing is rotated?",
            "matrix = torch.eye(width) + torch.block_diag(*blocks)"),
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
            "diagonal?", "angles = places.unsqueeze(-1) * frequencies * (pairs == 0)",
            f"{_ALL}\nblocks = blocks * (pairs == 0).view(-1, 1, 1)"),
    mistake("one pair never rotated", "One of the pairs has no rotation: its block is the identity, or it was left "
            "empty. Does the loop reach every pair, from the first to the last?",
            "angles = places.unsqueeze(-1) * frequencies * (pairs < len(pairs) - 1)",
            "angles = places.unsqueeze(-1) * frequencies * (pairs > 0)",
            f"{_ALL}\nblocks = blocks * (pairs < len(pairs) - 1).view(-1, 1, 1)",
            f"{_ALL}\nblocks = blocks * (pairs > 0).view(-1, 1, 1)"),
    mistake("the blocks not laid along a diagonal", "The blocks are right, but they came back one after another. Which "
            "operation lays them along the diagonal of one square matrix?",
            "matrix = blocks", "matrix = blocks.flatten(0, 1)", "matrix = torch.cat(list(blocks), dim=1)"),
    left_in("return matrix.to(torch.get_default_dtype()){}"),
    made_dtype("matrix"),
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
    turns = (rest.abs() < 1e-3).all() and (square.abs() < 1e-2).all() and (torch.det(blocks) > 0).all()
    return bool(turns) and not _nearly(args, got)


def _nearly(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the matrix is the right one to two or three digits."""
    return bool(((got - shift_matrix(*args)).abs() <= 6e-3).all())


OFFSETS = (
    mistake("offset of 1 more or less", "The shift is one place too far or too short. What should offset 0 do?",
            "places = torch.tensor(offset + 1.0, dtype=torch.float64)",
            "places = torch.tensor(offset - 1.0, dtype=torch.float64)"),
    mistake("the sign of the offset lost", "A negative offset shifts forwards too, or not at all. What does the sine "
            "of a negative angle do?", "places = torch.tensor(abs(float(offset)), dtype=torch.float64)",
            "places = torch.tensor(max(float(offset), 0.0), dtype=torch.float64)"),
    mistake("the offset ignored", "Every offset gives the same matrix. Where is the argument used?",
            "places = torch.tensor(1.0, dtype=torch.float64)"),
    mistake("offset 0 taken for none", "With offset 0 the matrix is empty. A shift by 0 places leaves every row as it "
            "is: which matrix does that? In Python 0 is false.",
            f"{_ALL}\nblocks = blocks * (offset != 0)"),
    IN_TURNS,
    mistake("other angles than offset times frequency", "The right pairs are rotated, but by angles other than offset "
            "/ base^(2i/d_model).", "places = torch.tensor(float(offset) ** 2, dtype=torch.float64)",
            "places = torch.tensor(offset / 2, dtype=torch.float64)", matches=_turns_by_other_angles),
    mistake("right to a few digits only", "The matrix is right, but to two or three digits only. Was it rounded, or "
            "kept in 16 bits, or fitted to some rows of the table?",
            "return matrix.bfloat16().to(torch.get_default_dtype())",
            "return matrix.half().to(torch.get_default_dtype())", matches=_nearly),
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
        _shift("offset 3, width 6", 3, 6),
        _shift("offset 1, width 2", 1, 2),
        _shift("offset 1, width 4", 1, 4),
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
