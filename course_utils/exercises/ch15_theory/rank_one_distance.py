"""Exercise: how far the tokens are from being all alike."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import adding, mistake
from course_utils.exercises.shared.kinds import left_in, other_kinds, overwritten, squeezed, writing
from course_utils.measure import rank_one_distance
from torch import Tensor

RIGHT = """
def rank_one_distance(x):
    middle = x.mean(-2, keepdim=True)
    apart = x - middle
    size = torch.linalg.vector_norm(x, dim=(-2, -1))
    safe = size.masked_fill(size == 0, 1.0)
    left = torch.linalg.vector_norm(apart, dim=(-2, -1))
    distance = left / safe
    return distance
"""


def _nearly_alike(*leading: int, L: int, d: int, by: float) -> Make:
    """Return a maker of tokens that differ by a little."""
    return lambda g: (normal(g, *leading, 1, d) + by * normal(g, *leading, L, d),)


def _alike(g: torch.Generator) -> tuple[Any, ...]:
    return (torch.tensor([[1.0, -2.0, 0.5], [4.0, 0.25, 8.0]], dtype=torch.float64).unsqueeze(1).repeat(1, 4, 1),)


def _rank_one(g: torch.Generator) -> tuple[Any, ...]:
    """Make multiples of one vector: a matrix of rank one whose rows are not equal."""
    return (normal(g, 2, 5, 1) * normal(g, 2, 1, 3),)


def _some_zero(g: torch.Generator) -> tuple[Any, ...]:
    x = normal(g, 3, 4, 5)
    x[1] = 0.0
    return (x,)


def _zeros(*shape: int) -> Make:
    return lambda g: (torch.zeros(shape, dtype=torch.float64),)


def _between(args: tuple[Any, ...], out: Tensor) -> str | None:
    got = out.detach().double()
    wrong = got[~((got >= -1e-3) & (got <= 1.0 + 1e-3))]
    return f"A distance is {wrong[0].item():.4g}." if len(wrong) else None


def _cancelled(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether tokens that are nearly alike have nearly the right distance."""
    right = rank_one_distance(*args)
    return float(right.max()) < 1e-5 and float((got - right).abs().max()) < 1e-6


EXERCISE = exercise(
    rank_one_distance,
    right=RIGHT,
    asks="Give ‖x - 1mᵀ‖_F / ‖x‖_F: how far the tokens are from being all equal to their mean.",
    minutes=6,
    difficulty=2,
    importance=3,
    cases=(
        case("every size is 3, in a batch of 3", batch=(3,), L=3, d=3),
        case("4 tokens of width 6", L=4, d=6),
        case("leading axes (2, 3), 5 tokens of width 4", batch=(2, 3), L=5, d=4),
        case("more features than tokens", batch=(2,), L=3, d=8),
        case("tokens that are nearly alike", _nearly_alike(4, L=6, d=3, by=0.01)),
        case("tokens that differ by a millionth", _nearly_alike(2, L=5, d=4, by=1e-6), tolerance=1e-5),
        case("all tokens equal", _alike),
        case("multiples of one vector", _rank_one),
        case("one sequence of zeros among others", _some_zero),
        case("zeros alone", _zeros(3, 2)),
        case("one token", batch=(2,), L=1, d=5),
        case("one token of zeros", _zeros(1, 4)),
        case("two tokens of width 1", batch=(3,), L=2, d=1),
        case("one sequence, with an axis of its own", batch=(1,), L=4, d=3),
        case("small numbers", batch=(2,), L=5, d=4, size=1e-4),
        case("large numbers", batch=(2,), L=4, d=5, size=1e5),
        case("non-contiguous input", batch=(3,), L=4, d=6, strided=True),
        case("float32", batch=(2,), L=6, d=5, dtype="float32"),
    ),
    mistakes=(
        mistake("mean over the features", "Each token lost the mean of its own numbers, as in a layer norm. Which axis "
                "holds the tokens, whose common vector is taken away?", "middle = x.mean(-1, keepdim=True)"),
        mistake("the mean's axis lost", "The mean has lost the axis of the tokens, so that each sequence, or each "
                "token, met the mean of another. What keeps an axis of size 1 in its place?", "middle = x.mean(-2)"),
        mistake("one mean for everything", "The mean was taken over other axes than that of the tokens: over the "
                "batch, or over all numbers. How many numbers does m have, for each sequence?",
                "middle = x.mean((-2, -1), keepdim=True)",
                "middle = x.mean()", "middle = x.mean(0, keepdim=True)",
                "middle = x.mean(tuple(range(x.dim() - 1)), keepdim=True)"),
        mistake("an axis counted from the front", "The mean or the norm runs over an axis that is the right one for "
                "some numbers of axes only. Which axis holds the tokens, counted from the end?",
                "middle = x.mean(1, keepdim=True)",
                "left = torch.linalg.vector_norm(apart, dim=(1, 2))\nsize = torch.linalg.vector_norm(x, dim=(1, 2))",
                "middle = x.mean(1, keepdim=True)\nleft = torch.linalg.vector_norm(apart, dim=(1, 2))\n"
                "size = torch.linalg.vector_norm(x, dim=(1, 2))"),
        mistake("another centre than the mean", "What was taken from every token is not their mean. Which vector m "
                "makes the distance smallest?", "middle = x[..., :1, :]", "middle = x[..., -1:, :]",
                "middle = x.median(-2, keepdim=True).values", "middle = x.sum(-2, keepdim=True)",
                "middle = x.sum(-2, keepdim=True) / (x.shape[-2] + 1)", "middle = x.amax(-2, keepdim=True)",
                "middle = x.mean(-2, keepdim=True) / 2", "middle = x.sum(-2, keepdim=True) / max(x.shape[-2] - 1, 1)"),
        mistake("distances between pairs", "The tokens were compared with each other, pair by pair. With which one "
                "vector does the formula compare all of them?",
                "left = torch.cdist(x, x).square().sum((-2, -1)).sqrt() / x.shape[-2]",
                "left = torch.cdist(x, x).mean((-2, -1))", "left = torch.cdist(x, x).amax((-2, -1))",
                "left = torch.cdist(x, x).sum((-2, -1))", "left = torch.cdist(x, x).square().sum((-2, -1)).sqrt()",
                "left = torch.cdist(x, x).square().mean((-2, -1)).sqrt()"),
        mistake("nothing subtracted", "This is the norm of x, or the ratio of two equal norms. What does x lose before "
                "the norm is taken?", "apart = x"),
        mistake("the nearest matrix of rank one", "This is the distance to the nearest matrix of rank one, by the "
                "singular values. Rows that are multiples of each other have rank one as well: to which narrower set "
                "of matrices should the distance be?",
                "left = torch.linalg.vector_norm(torch.linalg.svdvals(x.double())[..., 1:], dim=-1).to(x.dtype)",
                "values = torch.linalg.svdvals(x.double()).to(x.dtype)\n"
                "left = (size.square() - values[..., 0].square()).clamp(min=0).sqrt()",
                "values = torch.linalg.svdvals(x.double()).to(x.dtype)\n"
                "safe = values[..., 0].masked_fill(values[..., 0] == 0, 1.0)\n"
                "left = values[..., min(1, values.shape[-1] - 1)] * (values.shape[-1] > 1)"),
        mistake("not relative", "The distance grows when x is multiplied by a number. What is it divided by?",
                "distance = left", "distance = left / x.shape[-2]", "distance = left / math.sqrt(x.shape[-2])",
                "distance = left / math.sqrt(x.shape[-2] * x.shape[-1])", "distance = left / x.shape[-1]",
                "distance = left / math.sqrt(x.shape[-1])", "distance = left / (x.shape[-2] * x.shape[-1])"),
        mistake("squared", "The squares of the norms were divided, and no root taken, or one root was lost. Which "
                "power is a length?", "distance = left.square() / safe.square()", "distance = left.square() / safe",
                "distance = left / safe.square()", "distance = (left / safe).sqrt()", "distance = left.square()"),
        mistake("divided by another norm", "The distance is relative to something other than x. What has the norm that "
                "it should be divided by?", "size = torch.linalg.vector_norm(middle.expand_as(x), dim=(-2, -1))",
                "size = torch.linalg.vector_norm(middle, dim=(-2, -1))",
                "safe = size + torch.linalg.vector_norm(apart, dim=(-2, -1))", "size = x.abs().sum((-2, -1))",
                "size = torch.linalg.vector_norm(x, dim=-1).mean(-1)",
                "size = torch.linalg.vector_norm(x, dim=-1).sum(-1)",
                "size = torch.linalg.vector_norm(x, dim=-1).amax(-1)", "size = x.abs().amax((-2, -1))"),
        mistake("norm over the batch", "All sequences of the batch went into one norm, or into one mean. Each sequence "
                "has a distance of its own: over which two axes does the norm run?",
                "left = torch.linalg.vector_norm(apart).expand(x.shape[:-2])",
                "size = torch.linalg.vector_norm(x).expand(x.shape[:-2])",
                "left = torch.linalg.vector_norm(apart).expand(x.shape[:-2])\n"
                "size = torch.linalg.vector_norm(x).expand(x.shape[:-2])",
                "return torch.linalg.vector_norm(apart) / torch.linalg.vector_norm(x)", "return distance.mean()",
                "return distance.mean().item()", "return float(torch.linalg.vector_norm(apart) / "
                "torch.linalg.vector_norm(x))"),
        mistake("a distance for each token", "Each token, or each feature, has a distance of its own, or their mean "
                "was returned. ‖·‖_F of a matrix is one root of one sum: of which squares?",
                "return torch.linalg.vector_norm(apart, dim=-1) / torch.linalg.vector_norm(x, dim=-1)",
                "return (torch.linalg.vector_norm(apart, dim=-1) / torch.linalg.vector_norm(x, dim=-1)).mean(-1)",
                "distance = (torch.linalg.vector_norm(apart, dim=-1)\n"
                "            / torch.linalg.vector_norm(x, dim=-1).clamp(min=1e-300)).mean(-1)",
                "return torch.linalg.vector_norm(apart, dim=-2) / torch.linalg.vector_norm(x, dim=-2)"),
        mistake("another norm than Frobenius's", "The sizes are measured by another norm. Which one takes the root of "
                "the sum of all squares?",
                "left = apart.abs().sum((-2, -1))\nsize = x.abs().sum((-2, -1))",
                "left = apart.abs().amax((-2, -1))\nsize = x.abs().amax((-2, -1))",
                "left = torch.linalg.matrix_norm(apart.double(), 2).to(x.dtype)\n"
                "size = torch.linalg.matrix_norm(x.double(), 2).to(x.dtype)",
                "left = torch.linalg.matrix_norm(apart.double(), 'nuc').to(x.dtype)\n"
                "size = torch.linalg.matrix_norm(x.double(), 'nuc').to(x.dtype)",
                "left = torch.linalg.vector_norm(apart, dim=-1).mean(-1)\n"
                "size = torch.linalg.vector_norm(x, dim=-1).mean(-1)",
                "left = torch.linalg.vector_norm(apart, dim=-1).amax(-1)\n"
                "size = torch.linalg.vector_norm(x, dim=-1).amax(-1)",
                "left = (apart.abs().sum(-2).amax(-1) * apart.abs().sum(-1).amax(-1)).sqrt()\n"
                "size = (x.abs().sum(-2).amax(-1) * x.abs().sum(-1).amax(-1)).sqrt()"),
        mistake("a standard deviation above", "Above stands a standard deviation, below a norm: the number of tokens, "
                "or one less, divides one of the two only. By what is ‖·‖_F divided?",
                "left = x.std(-2, correction=0).square().sum(-1).sqrt()", "left = x.std((-2, -1), correction=0)",
                "left = apart.square().mean((-2, -1)).sqrt()", "left = x.var(-2, correction=0).sum(-1)",
                "left = x.var(-2, correction=min(1, x.shape[-2] - 1)).sum(-1).sqrt()",
                "left = x.var(-2, correction=min(1, x.shape[-2] - 1)).sum(-1)"),
        mistake("n beside n - 1", "A variance over n - 1 was multiplied by n. By how many does `var` divide unless it "
                "is told otherwise?", "left = (x.var(-2).sum(-1) * x.shape[-2]).sqrt()",
                "left = (x.var(-2, correction=min(1, x.shape[-2] - 1)).sum(-1) * x.shape[-2]).sqrt()",
                "left = x.std(-2).norm(dim=-1) * math.sqrt(x.shape[-2])"),
        mistake("NaN for one token", "The variance of a single number over n - 1 is 0/0. What is the distance of one "
                "token?", "left = (x.var(-2).sum(-1) * (x.shape[-2] - 1)).sqrt()"),
        mistake("upside down", "The norm of x is above and the distance below. Which of the two should vanish where "
                "all tokens are equal?", "distance = size / left.clamp(min=1e-12)", "distance = safe / left"),
        mistake("digits lost in a difference", "Right as algebra, but two squares that are nearly equal were "
                "subtracted: where tokens are nearly alike, few digits are left of the difference. What can be "
                "subtracted before anything is squared?",
                "left = (size.square() - x.shape[-2] * middle.square().sum((-2, -1))).clamp(min=0).sqrt()",
                "spread = (x.square().mean(-2) - middle.squeeze(-2).square()).sum(-1)\n"
                "left = (x.shape[-2] * spread).clamp(min=0).sqrt()",
                "share = x.shape[-2] * middle.square().sum((-2, -1)) / safe.square()\n"
                "distance = (1 - share).clamp(min=0).sqrt() * (size > 0)", matches=_cancelled),
        mistake("likeness instead of distance", "1 means here that all tokens are alike. Which end is 0?",
                "distance = 1 - left / safe", "left = torch.linalg.vector_norm(middle.expand_as(x), dim=(-2, -1))"),
        mistake("cosines instead of distances", "The angles between tokens were averaged: their lengths play no part. "
                "Do two tokens of one direction and different lengths count as equal here?",
                "distance = 1 - (F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT).mean((-2, -1))",
                "distance = (F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT).mean((-2, -1))"),
        mistake("NaN for zeros", "A sequence of zeros gives 0/0. Its tokens are all alike: what should come out, and "
                "which number may be the divisor?", "safe = size"),
        mistake("another value for zeros", "A sequence of zeros gets a number of its own. Its tokens are all alike: "
                "how far apart are they?", "distance = torch.where(size > 0, left / safe, 1.0)"),
        mistake("epsilon in the denominator", "Something was added to the norm of x, or it was held at a floor. Where "
                "x is small itself, that is not small compared with it. What may the norm be replaced by, and only "
                "where it is 0?", "safe = size + 1e-6", "safe = size + 1e-8", "safe = size.clamp(min=1e-2)",
                "safe = size + 1e-5", "safe = size + 1e-3", "safe = size.clamp(min=1.0)",
                "safe = (size.square() + 1e-6).sqrt()", "safe = (size.square() + 1e-8).sqrt()", "safe = size + 1.0"),
        overwritten("apart = x.sub_(middle)", *writing(rank_one_distance, 0)),
        squeezed("return distance{}"),
        *adding((left_in("return distance{}"),),
                {"an axis of size 1 left in": ("return distance.unsqueeze(-1).unsqueeze(-1)",)}),
        *other_kinds("distance"),
    ),
    laws=(Law("a distance is between 0 and 1", _between),),
    hints=(
        "The matrix with equal rows that lies nearest to x has the mean of the tokens in every row. Subtract it.",
        "The tokens are on the last axis but one. `keepdim=True` lets the mean be subtracted from each.",
        "The Frobenius norm runs over the last two axes: the root of the sum of all squares, one number for each "
        "sequence.",
        "Where x is all zeros the norm below is 0. Put any other number in its place: the one above is 0 as well.",
    ),
)
