"""Exercise: the part of the weights that reaches the output."""

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import left_in, other_kinds, overwritten, squeezed, writing
from course_utils.interpretability import effective_attention
from torch import Tensor

RIGHT = """
def effective_attention(weights, value):
    table = weights
    columns = value
    inverse = torch.linalg.pinv(columns)
    onto = columns @ inverse
    effective = table @ onto
    return effective
"""


def _made(*shape: int, rank: int | None = None, dtype: torch.dtype = torch.float64) -> Make:
    """Make weights (..., L, S) and values (..., S, d_v) from the sizes (..., L, S, d_v)."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        *batch, queries, keys, d_v = shape
        weights = normal(g, *batch, queries, keys).softmax(-1)
        value = normal(g, *batch, keys, d_v)
        if rank is not None:
            value = normal(g, *batch, keys, rank) @ normal(g, *batch, rank, d_v)
        return weights.to(dtype), value.to(dtype)

    return make


def _scaled(size: float) -> Make:
    """Make values whose features differ in size, by a factor in all."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        weights, value = _made(2, 3, 6, 3)(g)
        return weights, value * torch.tensor([1.0, size**0.5, size], dtype=torch.float64)

    return make


def _larger(size: float) -> Make:
    """Make values of rank 2 and width 4 of this size: what rounding leaves of a direction is of a size of its own."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        weights, value = _made(2, 3, 7, 4, rank=2)(g)
        return weights, size * value

    return make


def _twice(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make two features that are equal and one that is 0."""
    weights, value = _made(4, 6, 2)(g)
    return weights, torch.stack([value[:, 0], value[:, 1], value[:, 0], 0 * value[:, 1]], -1)


def _of_two_ranks(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make a batch in which one matrix of values has rank 3, and the other rank 1."""
    weights, value = _made(2, 3, 6, 3)(g)
    value[1] = value[1, :, :1] * torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    return weights, value


def gram_schmidt(columns: Tensor) -> Tensor:
    """Return an orthonormal basis of the columns if they are independent; where one is not, NaN."""
    basis: list[Tensor] = []
    for column in columns.unbind(-1):
        for one in basis:
            column = column - (column * one).sum(-1, keepdim=True) * one
        basis.append(column / column.norm(dim=-1, keepdim=True))
    return torch.stack(basis, -1)


def _another_output(args: tuple[Tensor, ...], got: Tensor) -> str | None:
    weights, value = args
    if got.shape != weights.shape or got.dtype != weights.dtype:
        return None
    out = weights @ value
    moved = (got.detach() @ value - out).abs().max().item()
    size = out.abs().max().item()
    return f"The output moves by {moved:.3g}." if not moved <= 1e-3 * size + 1e-9 else None


def _ridge(args: tuple[Tensor, ...], got: Tensor) -> bool:
    """Return whether some other number on the diagonal of VᵀV explains a result."""
    weights, value = args
    own, square = torch.eye(value.shape[-1], dtype=value.dtype), value.mT @ value
    sizes = (one * 10.0**power for power in range(-9, 2) for one in (1, 2, 5))
    made = (weights @ value @ torch.linalg.inv(square + size * own) @ value.mT for size in sizes)
    return any(torch.allclose(one, got, rtol=1e-9, atol=1e-12) for one in made)


def _fewer(args: tuple[Tensor, ...], got: Tensor) -> bool:
    """Return whether some of the directions of the values, the weakest, were left out."""
    weights, value = args
    basis, sizes, _ = torch.linalg.svd(value, full_matrices=False)
    rank = (sizes > 1e-10 * sizes.amax(-1, keepdim=True)).sum(-1)
    rooms = [(weights @ basis[..., :k] @ basis[..., :k].mT - got).abs().amax((-2, -1)) < 1e-7
             for k in range(1, sizes.shape[-1] + 1)]
    kept = torch.stack([near * (k + 1) for k, near in enumerate(rooms)]).amax(0)
    return bool((kept > 0).all()) and bool((kept < rank).any())


def _rounding(args: tuple[Tensor, ...], got: Tensor) -> bool:
    """Return whether an answer is wrong where the rank is small and the digits are few: nothing else is new there."""
    value = args[1]
    return value.dtype == torch.float32 and bool((torch.linalg.matrix_rank(value) < min(value.shape[-2:])).any())


_RIDGE = """ridge = {} * torch.eye(columns.shape[-1], dtype=columns.dtype)
inverse = torch.linalg.inv(columns.mT @ columns + ridge) @ columns.mT"""
_BASIS = "onto = basis @ basis.mT"

EXERCISE = exercise(
    effective_attention,
    right=RIGHT,
    asks="Project each row of weights onto the column space of the values.",
    minutes=12,
    difficulty=4,
    importance=3,
    cases=(
        case("2 queries, 3 keys, values of width 1", _made(2, 3, 1)),
        case("a batch of shape (2, 3): 4 queries, 7 keys, width 3", _made(2, 3, 4, 7, 3)),
        case("equal features, and one that is 0", _twice),
        case("fewer keys than features: nothing is lost", _made(2, 3, 4, 6)),
        case("as many keys as features", _made(2, 4, 5, 5)),
        case("values of rank 2 and width 4", _made(2, 3, 7, 4, rank=2)),
        case("fewer keys than features, rank 2", _made(3, 4, 6, rank=2)),
        case("values that are all 0", lambda g: (_made(2, 3, 5, 2)(g)[0], torch.zeros(2, 5, 2, dtype=torch.float64))),
        case("features of very different size", _scaled(1e-4), tolerance=1e-5),
        case("values of thousands", lambda g: (_made(2, 3, 6, 3)(g)[0], normal(g, 2, 6, 3, size=5e3))),
        case("values of thousands, rank 2", _larger(1e4), tolerance=1e-6),
        case("values of a millionth, rank 2", _larger(1e-6), tolerance=1e-6),
        case("one key", _made(2, 3, 1, 2)),
        case("one query", _made(2, 1, 5, 2)),
        case("every size is 4, rank 2", _made(4, 4, 4, 4, rank=2)),
        case("one sequence", _made(1, 3, 5, 2)),
        case("a batch of values of rank 3 and of rank 1", _of_two_ranks),
        case("three leading axes", _made(2, 1, 3, 4, 6, 2)),
        case("non-contiguous inputs", lambda g: tuple(map(strided, _made(2, 4, 6, 3)(g)))),
        case("float32", _made(2, 3, 7, 3, dtype=torch.float32), tolerance=1e-4),
        case("float32, rank 2", _made(2, 3, 7, 4, rank=2, dtype=torch.float32), tolerance=1e-4),
    ),
    mistakes=(
        mistake("the lost part instead",
                "This is the part that changes no output. Which of the two parts is asked for?",
                "effective = table - table @ onto"),
        mistake("nothing removed", "The weights came back as they were. There are rows of weights that give the output "
                "0: how much of them is in each row?", "onto = torch.eye(columns.shape[-2], dtype=columns.dtype)",
                "basis = torch.linalg.svd(columns, full_matrices=True)[0]\n" + _BASIS,
                "basis = torch.linalg.qr(columns, mode='complete')[0]\n" + _BASIS),
        mistake("nothing left", "Zeros came back. Some rows of weights give the output 0, but not these: what became "
                "of the part that reaches it?", "effective = 0.0 * table", "effective = table @ onto - table @ onto"),
        mistake("the inverse of VᵀV", "VᵀV has no inverse where the columns of the values are not independent: with "
                "fewer keys than features, or a feature that others hold already. Which inverse exists for every "
                "matrix?",
                "inverse = torch.linalg.inv(columns.mT @ columns) @ columns.mT",
                "inverse = torch.linalg.solve(columns.mT @ columns, columns.mT)",
                "small = torch.linalg.inv(columns.mT @ columns)\neffective = table @ columns @ small @ columns.mT",
                "inverse = torch.linalg.inv_ex(columns.mT @ columns).inverse @ columns.mT"),
        mistake("something added to VᵀV", "Something small was added to VᵀV to make it invertible, and it shows in the "
                "result. Is there an inverse that needs nothing?",
                *map(_RIDGE.format, (1e-6, 1e-4, 1e-3)), matches=_ridge),
        mistake("unit columns taken for orthogonal ones", "The columns were made to have length 1, but they are still "
                "not perpendicular. What makes an orthonormal basis of them?",
                "basis = F.normalize(columns, dim=-2)\n" + _BASIS),
        mistake("not a projection", "Do it once more, and the result changes again: a projection does not. With VVᵀ, "
                "or its inverse alone, rows are scaled by the size of the values. What must stand between V and Vᵀ?",
                "onto = columns @ columns.mT", "onto = torch.linalg.pinv(columns @ columns.mT)",
                *(f"square = columns @ columns.mT\nonto = square / square.{size}" for size in (
                    "norm()", "norm(dim=(-2, -1), keepdim=True)", "sum(-1, keepdim=True)", "abs().amax()",
                    "diagonal(0, -2, -1).sum(-1)[..., None, None]")),
                *(f"basis, sizes, _ = torch.linalg.svd(columns, full_matrices=False)\nonto = (basis * sizes{power}"
                  ".unsqueeze(-2)) @ basis.mT" for power in ("", ".square()", ".clamp(min=1e-9).reciprocal()")),
                "onto = torch.softmax(columns @ columns.mT, -1)"),
        mistake("a vector of length 0 made a unit vector", "A column that those before it hold already leaves nothing "
                "when they are taken out, and nothing was divided by its length, 0. What should such a column add to "
                "the basis?", "basis = gram_schmidt(columns)\n" + _BASIS),
        mistake("unit rows", "Each key's value was made to have length 1. Which axis of the values spans the space "
                "that the weights are projected onto?", "basis = F.normalize(columns, dim=-1)\n" + _BASIS),
        mistake("rows made to sum to 1 again", "The rows were made to sum to 1 again, so the output is different. "
                "What is left of a row need not be an average.",
                "return effective / effective.sum(-1, keepdim=True)", "return torch.softmax(effective, -1)",
                "return F.normalize(effective, p=1, dim=-1)",
                "return effective + (table - effective).sum(-1, keepdim=True) / table.shape[-1]"),
        mistake("the mean taken out of the rows", "The mean of each row was subtracted, so the output is different. "
                "The projection may have any sum.", "return effective - effective.mean(-1, keepdim=True)",
                "table = weights - weights.mean(-1, keepdim=True)"),
        mistake("negative entries cut off", "Negative entries were made positive or 0, so the output is different. "
                "Does a projection know that weights are positive?", "return effective.relu()",
                "return effective.abs()",
                "return effective.relu() / effective.relu().sum(-1, keepdim=True)"),
        mistake("the row sums kept", "One direction too many was kept: the one that holds a row's sum. No output shows "
                "the sum of a row.", "columns = torch.cat([value, torch.ones_like(value[..., :1])], -1)"),
        mistake("values centred first", "The mean value was subtracted first. That changes which directions no output "
                "shows.", "columns = value - value.mean(-2, keepdim=True)"),
        mistake("the basis cut at the width, not at the rank", "There are as many directions in the basis as the "
                "values have features or keys. Where features repeat, some of those stand for nothing but rounding: "
                "which singular values say so?", "basis = torch.linalg.qr(columns)[0]\n" + _BASIS,
                "basis = torch.linalg.svd(columns, full_matrices=False)[0]\n" + _BASIS,
                "left, sizes, _ = torch.linalg.svd(columns, full_matrices=False)\n"
                "basis = left * (sizes > 0).unsqueeze(-2)\n" + _BASIS),
        mistake("one rank for all", "As many directions were kept for each of the matrices. Every sequence and head "
                "has values of its own: must they have the same rank?",
                *("left, sizes, _ = torch.linalg.svd(columns, full_matrices=False)\nbasis = left[..., : int((sizes > "
                  f"1e-5 * sizes.amax()).sum(-1).{which})]\n" + _BASIS
                  for which in ("max()", "min()", "flatten()[0]", "flatten()[-1]"))),
        mistake("small directions cut off too", "A feature with small values was treated as if it were absent. However "
                "small it is, it shows in the output: how small is rounding?",
                "inverse = torch.linalg.pinv(columns, rtol=0.1)", "inverse = torch.linalg.pinv(columns, rtol=1e-2)",
                "inverse = torch.linalg.pinv(columns, rtol=1e-3)", "inverse = torch.linalg.pinv(columns, atol=1e-2)",
                matches=_fewer),
        mistake("rounding taken for a direction", "Where the values have fewer directions than columns, their smallest "
                "singular values are rounding, and float32 rounds more than float64. Here something took them for "
                "directions, as numpy's `pinv` does: compared with what is a singular value small?",
                "inverse = torch.linalg.pinv(columns, rtol=1e-15)", matches=_rounding),
        mistake("one direction alone", "Only the values' strongest direction was kept. How many directions do "
                "independent features span?", "basis = torch.linalg.svd(columns, full_matrices=False)[0][..., :1]\n"
                + _BASIS, "columns = value.mean(-1, keepdim=True)", "columns = value.sum(-1, keepdim=True)",
                "columns = value[..., :1]"),
        mistake("the space of the features", "The projection is one of feature vectors: V⁺V. A row of weights has an "
                "entry for each key: which order of the two gives a table of keys by keys?", "onto = inverse @ columns",
                "effective = inverse @ columns"),
        mistake("the columns of the weights projected", "The table was projected from the left, across the queries. "
                "What is projected, rows or columns?", "effective = onto @ table"),
        mistake("the output", "This is the output itself, or its shape. How does one get from it back to a row of "
                "weights?", "effective = table @ columns"),
        mistake("weights times lengths", "Each weight was multiplied by the length of its value. That measures how "
                "much a key adds; what is asked for is the part of the row that reaches the output.",
                "effective = table * columns.norm(dim=-1).unsqueeze(-2)"),
        mistake("output with other axes", "The values are right, but the result must have the axes (..., L, S).",
                "return effective.mT"),
        mistake("the coefficients instead of the row", "These are the numbers that the columns of the values are to be "
                "multiplied by. What do they make when they are?", "effective = inverse @ table.mT",
                "effective = (inverse @ table.mT).mT", "effective = table @ inverse.mT"),
        mistake("one table of values for all", "All heads or sequences were projected by the values of one, or of "
                "their mean.", "columns = value.reshape(-1, *value.shape[-2:])[0]",
                "columns = value.mean(0, keepdim=True).expand(value.shape)",
                "columns = value[:1].expand(value.shape)", "columns = value.flatten(0, -3).mean(0)"),
        mistake("weights transposed", "Columns of the weights were taken for rows. Which axis holds the keys?",
                "table = weights.mT"),
        mistake("a softmax first", "A softmax was taken of the weights. They have been through one.",
                "table = torch.softmax(weights, -1)"),
        mistake("more taken away than is lost", "The lost part was taken away twice, or mixed in again: the output is "
                "right, but the rows still hold something that it does not show.",
                "effective = 2 * (table @ onto) - table", "effective = (table + table @ onto) / 2"),
        overwritten(*writing(effective_attention, 0, 1)),
        squeezed("return effective{}"), left_in("return effective{}"),
        *other_kinds("effective"),
    ),
    laws=(Law("the output stays as it is", _another_output),),
    hints=(
        "With values of width 1, (1, 1, 0)ᵀ: which rows of weights give the output 0? What is left of (.2, .5, .3) "
        "when all of that is taken out?",
        "out = weights·V. The rows that give 0 are perpendicular to every column of V. So what remains is the "
        "projection onto the columns.",
        "With an orthonormal basis of the columns the projection is easy to write. V has none yet, and may have "
        "columns that others hold already.",
        "`torch.linalg.pinv` gives V⁺ for any rank. Which product with V is a table of keys by keys?",
    ),
)
