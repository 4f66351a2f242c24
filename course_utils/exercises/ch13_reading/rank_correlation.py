"""Exercise: whether two rankings agree."""

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import left_in, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.precision import rounded_off
from course_utils.interpretability import rank_correlation
from torch import Tensor

RIGHT = """
def rank_correlation(a, b):
    first = shared_ranks(a)
    second = shared_ranks(b)
    one = first - first.mean(-1, keepdim=True)
    other = second - second.mean(-1, keepdim=True)
    together = (one * other).sum(-1)
    size = (one.square().sum(-1) * other.square().sum(-1)).sqrt()
    safe = torch.where(size > 0, size, 1.0)
    rho = together / safe
    return rho
"""


def shared_ranks(values: Tensor) -> Tensor:
    """Return the ranks from 1 along the last axis; equal values share the mean of theirs."""
    one, other = values.unsqueeze(-1), values.unsqueeze(-2)
    return (one > other).sum(-1).to(values.dtype) + ((one == other).sum(-1) + 1) / 2


def dense_ranks(values: Tensor) -> Tensor:
    """Return the ranks as if equal values were one."""
    rows = values.reshape(-1, values.shape[-1])
    ranks = [row.unique(return_inverse=True)[1] for row in rows]
    return torch.stack(ranks).view(values.shape).to(values.dtype)


def near_ranks(values: Tensor, by: float) -> Tensor:
    """Return the ranks as if values that differ by no more than this were equal."""
    one, other = values.unsqueeze(-1), values.unsqueeze(-2)
    near = (one - other).abs() <= by
    return ((one > other) & ~near).sum(-1).to(values.dtype) + (near.sum(-1) + 1) / 2


def in_scipys_manner(a: Tensor, b: Tensor, axis: int) -> Tensor:
    """Return what `scipy.stats.spearmanr` gives for these rows or, along axis 0, for their columns."""
    if a.dim() > 2:
        raise ValueError("spearmanr only handles 1-D or 2-D arrays")
    if axis < 0:
        raise IndexError("tuple index out of range")
    rows = torch.stack([a, b]) if a.dim() == 1 else torch.cat([a, b]) if axis else torch.cat([a, b], 1).mT
    ranks = shared_ranks(rows.double())
    apart = ranks - ranks.mean(-1, keepdim=True)
    table = apart @ apart.mT / (apart.norm(dim=-1).unsqueeze(-1) * apart.norm(dim=-1))
    return table[0, 1] if len(table) == 2 else table


def signs(values: Tensor) -> Tensor:
    """Return for each pair of values which of the two is larger."""
    return (values.unsqueeze(-1) - values.unsqueeze(-2)).sign().flatten(-2)


def _pair(*shape: int, dtype: torch.dtype = torch.float64) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        a = normal(g, *shape)
        return a.to(dtype), (0.7 * a + normal(g, *shape)).to(dtype)

    return make


def _given(a: tuple[float, ...], b: tuple[float, ...]) -> Make:
    return lambda g: (torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64))


def _tied(*shape: int, dtype: torch.dtype = torch.float64) -> Make:
    return lambda g: tuple(torch.randint(4, shape, generator=g).to(dtype) / 8 for _ in range(2))


def _one_constant(g: torch.Generator) -> tuple[Tensor, Tensor]:
    a, b = _pair(3, 6)(g)
    a[1] = 0.25
    b[2] = -3.0
    return a, b


def _near(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw values that differ by 1e-9 only, as leave-one-out may give them."""
    a, b = _pair(2, 7)(g)
    return 0.5 + 1e-9 * a, b


def _outliers(g: torch.Generator) -> tuple[Tensor, Tensor]:
    a, b = _pair(2, 8)(g)
    return (6 * a).exp(), b.pow(5)


def _outside(args: tuple[Tensor, ...], rho: Tensor) -> str | None:
    high = rho.detach().abs().max().item() if rho.numel() else 0.0
    return None if high <= 1 + 1e-6 else f"A correlation of {high:.4g} in size."


def _epsilon(args: tuple[Tensor, ...], got: Tensor) -> bool:
    """Return whether some small number, added to what is divided by, explains a result."""
    one, other = (ranks - ranks.mean(-1, keepdim=True) for ranks in map(shared_ranks, args))
    together, size = (one * other).sum(-1), one.norm(dim=-1) * other.norm(dim=-1)
    n = args[0].shape[-1]
    sizes = (one * 10.0**power for power in range(-9, 1) for one in (1, 2, 5))
    made = (together / (size + more * times) for more in sizes for times in (1, n, n - 1))
    return bool((size > 0).any()) and any(torch.allclose(one, got, rtol=1e-9, atol=1e-12) for one in made)


def _both(line: str) -> str:
    """Write a line with the step `first` and the argument `a` once more for the other side."""
    return line.replace("{}", "first").replace("[]", "a") + "\n" + line.replace("{}", "second").replace("[]", "b")


_SHORT = "1 - 6 * (first - second).square().sum(-1) / (n * (n * n - 1))"

EXERCISE = exercise(
    rank_correlation,
    right=RIGHT,
    asks="Rank both along the last axis, equal values sharing their mean rank, and correlate the ranks.",
    minutes=15,
    difficulty=4,
    importance=3,
    cases=(
        case("5 values, no two equal", _given((0.1, 0.9, 0.4, 0.2, 0.6), (3, 4, 5, 1, 2))),
        case("a batch of shape (2, 3), 7 values", _pair(2, 3, 7)),
        case("the same order, other values", _given((1, 2, 3, 4, 5), (0.1, 0.2, 5, 60, 700))),
        case("the opposite order", _given((1, 2, 3, 4), (9, 3, 2, -7))),
        case("one pair of equal values", _given((1, 2, 2, 5, 0), (4, 1, 3, 2, 5))),
        case("many equal values", _tied(4, 9)),
        case("equal values in three leading axes", _tied(2, 1, 3, 8)),
        case("a row of equal values", _one_constant),
        case("all values equal on both sides", _given((2, 2, 2), (7, 7, 7))),
        case("all values equal, and the same on both sides", _given((2, 2, 2), (2, 2, 2))),
        case("one row, one head", _pair(1, 1, 6)),
        case("one value", _given((3,), (8,))),
        case("two values", _given((3, 1), (8, 9))),
        case("0 and -0 are equal", _given((0.0, -0.0, 1.0, 2.0), (1, 2, 4, 3))),
        case("values that differ by 1e-9", _near),
        case("outliers", _outliers),
        case("as many rows as values", _pair(6, 6)),
        case("60 values", _pair(2, 60)),
        case("non-contiguous inputs", lambda g: tuple(map(strided, _tied(5, 8)(g)))),
        case("float32", _pair(3, 8, dtype=torch.float32)),
        case("float32, equal values", _tied(3, 8, dtype=torch.float32)),
    ),
    mistakes=(
        mistake("argsort once", "An argsort says which value comes first, not which place a value has. What turns the "
                "one into the other?", _both("{} = [].argsort(-1).to([].dtype)"), "first = a.argsort(-1).to(a.dtype)",
                "second = b.argsort(-1).to(b.dtype)"),
        mistake("ties by position", "Equal values got different ranks, in the order in which they happen to stand. "
                "What should they share?",
                _both("{} = [].argsort(dim=-1, stable=True).argsort(dim=-1, stable=True).to([].dtype)"),
                "first = a.argsort(dim=-1, stable=True).argsort(dim=-1, stable=True).to(a.dtype)"),
        mistake("equal values share another rank", "Equal values share a rank, but not the mean of the ranks that they "
                "would have had: it is the lowest, the highest, or the next whole number.",
                _both("{} = ([].unsqueeze(-1) > [].unsqueeze(-2)).sum(-1).to([].dtype)"),
                _both("{} = ([].unsqueeze(-1) >= [].unsqueeze(-2)).sum(-1).to([].dtype)"),
                _both("{} = dense_ranks([])")),
        mistake("Pearson on the values", "The values themselves were correlated, on one side or on both, so one "
                "outlier decides. What takes their place?", _both("{} = []"), "first = a", "second = b"),
        mistake("the shortcut formula with ties", "1 - 6Σd²/(n(n² - 1)) is a shortcut for the correlation of the ranks "
                "where no two are equal. What does it give for a row whose values are all equal?",
                f"n = a.shape[-1]\nrho = {_SHORT}", f"n = max(2, a.shape[-1])\nrho = {_SHORT}",
                f"n = a.shape[-1]\nrho = torch.where(size > 0, {_SHORT}, 0.0)"),
        mistake("NaN for a constant row", "A row whose values are all equal gives NaN: it was divided by a spread of "
                "0. What does the exercise say for such a row?", "safe = size",
                "safe = torch.where(one.square().sum(-1) > 0, size, 1.0)",
                "safe = torch.where(other.square().sum(-1) > 0, size, 1.0)",
                "rho = together / safe if a.shape[-1] > 1 else together * torch.nan"),
        mistake("another value for a constant row", "A row whose values are all equal ranks nothing, so it agrees with "
                "nothing. Which number says that?", "rho = torch.where(size > 0, together / safe, 1.0)",
                "rho = torch.where(size > 0, together / safe, -1.0)",
                "rho = torch.where(size > 0, together / safe, 0.5)",
                "rho = together / safe if a.shape[-1] > 1 else together + 1",
                "rho = torch.where((one.square().sum(-1) > 0) | (other.square().sum(-1) > 0), together / safe, 1.0)",
                "rho = torch.where((a == b).all(-1), 1.0, together / safe)"),
        mistake("scipy's table of all pairs", "`spearmanr` is for two rows of numbers. Of a table it takes the "
                "columns, or the rows, correlates each with each, and with more axes it stops. How can it be asked for "
                "one row after another?", *(f"return in_scipys_manner(a, b, {axis})" for axis in (0, 1))),
        mistake("epsilon in the denominator", "All correlations are a little too near to 0: something small was added "
                "to what they are divided by. Which rows need help, and which are safe as they are?",
                "safe = size + 1e-3", "safe = size + 1e-6", matches=_epsilon),
        mistake("Kendall's tau", "This counts pairs that stand in the same order: Kendall's τ. Spearman's ρ is a "
                "correlation of ranks.", "rho = (signs(a) * signs(b)).mean(-1) * a.shape[-1] / max(1, a.shape[-1] - 1)",
                "both = (signs(a).abs().sum(-1) * signs(b).abs().sum(-1)).sqrt()\n"
                "rho = (signs(a) * signs(b)).sum(-1) / both.clamp(min=1)"),
        mistake("one side ranked the other way", "The sign is wrong: one of the two was ranked from the largest down.",
                "first = shared_ranks(-a)", "second = shared_ranks(-b)", "rho = -together / safe"),
        mistake("ranks not centred", "All correlations are too near to 1: ranks are positive numbers, and a cosine of "
                "positive numbers is. What does Pearson's formula subtract first?", "one = first\nother = second",
                "one = first - 1\nother = second - 1", "one = first - 0.5\nother = second - 0.5"),
        mistake("not divided by the spread", "These are covariances, which grow with the number of values. What "
                "makes them a number from -1 to 1?", "safe = torch.ones_like(size)",
                "rho = together / a.shape[-1]", "rho = together / max(1, a.shape[-1] - 1)",
                "safe = size.square().clamp(min=1)"),
        mistake("n beside n - 1", "All correlations are off by one factor: a mean over n above, a spread over n - 1 "
                "below, or the other way round.", "rho = together / safe * (a.shape[-1] - 1) / a.shape[-1]",
                "rho = together / safe * a.shape[-1] / max(1, a.shape[-1] - 1)"),
        mistake("the sign lost", "A ranking that is turned round gets the same value as the ranking itself. Which "
                "operation made everything positive?", "rho = (together / safe).abs()",
                "rho = (together / safe).square()"),
        mistake("size instead of sign and size", "The values were ranked by their size, without their sign. They are "
                "ranked as they are.", "first = shared_ranks(a.abs())\nsecond = shared_ranks(b.abs())",
                "first = shared_ranks(a.abs())", "second = shared_ranks(b.abs())"),
        mistake("ranked along another axis", "The values of different rows were ranked against each other. Along which "
                "axis does a ranking run?", _both("{} = shared_ranks([].mT).mT"),
                _both("{} = shared_ranks([].movedim(0, -1)).movedim(-1, 0)"),
                _both("{} = shared_ranks([].flatten()).view([].shape)")),
        mistake("one number for all rows", "All rows were taken together, or averaged. Each row has a correlation of "
                "its own.", "return rho.mean()", "return rho.mean(-1)", "return rho.mean(0)",
                "rho = together.sum() / (one.square().sum() * other.square().sum()).sqrt().clamp(min=1e-30)",
                "first = shared_ranks(a.flatten())\nsecond = shared_ranks(b.flatten())"),
        mistake("nearly equal values taken for equal", "Values that differ by little were given the same rank. Only "
                "values that are exactly equal share one.", _both("{} = shared_ranks([].round(decimals=6))"),
                _both("{} = shared_ranks([].to(torch.float16).to([].dtype))"),
                _both("{} = shared_ranks(([] * 1e6).round())"),
                *(_both(f"{{}} = shared_ranks([].round(decimals={places}))") for places in (1, 2, 3, 4)),
                *(_both(f"{{}} = near_ranks([], {by})") for by in (0.1, 1e-2, 1e-3, 1e-6))),
        mistake("the sorted values correlated", "Both sides were sorted, each on its own, so the pairs are lost: "
                "everything agrees with everything. What does a rank say of a value that stays in its place?",
                _both("{} = [].sort(-1).values")),
        mistake("how many ranks agree", "This is the share of values with the same rank, or a distance between ranks. "
                "A ranking that is off by one place everywhere is still a good one.",
                "rho = (first == second).to(a.dtype).mean(-1)", "rho = (first - second).abs().mean(-1)",
                "rho = (first - second).square().mean(-1)", "rho = (first - second).square().sum(-1)"),
        squeezed("return rho{}"), left_in("return rho{}"),
        rounded_off(rank_correlation, "return rho.round(decimals=3)", "return rho.round(decimals=2)"),
        overwritten(*writing(rank_correlation, 0, 1)),
        *other_kinds("rho"),
    ),
    laws=(Law("a correlation is between -1 and 1", _outside),),
    hints=(
        "Rank (.3, .1, .2) by hand. What does `argsort` give for it, and what does `argsort` of that give?",
        "The rank of a value can be counted: how many values of its row are smaller? How many are equal, itself among "
        "them?",
        "Comparing all pairs of a row takes `unsqueeze(-1)` and `unsqueeze(-2)`. A value with s smaller and e equal "
        "ones has the ranks s + 1 … s + e to share: what is their mean?",
        "Pearson: subtract each mean, multiply and sum; divide by the root of the two sums of squares. Where that "
        "root is 0, the result is 0.",
    ),
)
