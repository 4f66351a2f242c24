"""Exercise: how much of what one head writes another head reads, from the weights alone."""

import math
from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten, writing
from course_utils.interpretability import composition_score
from torch import Tensor

RIGHT = """
def composition_score(W_V, W_O, W_in, W_other):
    value, output, fed, other = W_V, W_O, W_in, W_other
    writes = value @ output
    reads = fed @ other.mT
    together = writes @ reads
    top = together.norm()
    wrote = writes.norm()
    read = reads.norm()
    bottom = wrote * read
    safe = torch.where(bottom > 0, bottom, 1.0)
    score = top / safe
    return score.item()
"""

Four = tuple[Tensor, Tensor, Tensor, Tensor]


def _made(
    d: int, d_v: int, d_k: int, *, zero: int | None = None, size: float = 1.0, dtype: torch.dtype = torch.float64
) -> Make:
    """Make the four matrices, one of them 0 if it is named."""

    def make(g: torch.Generator) -> Four:
        shapes = ((d, d_v), (d_v, d), (d, d_k), (d, d_k))
        first, second, third, fourth = (
            normal(g, *shape, size=0.0 if at == zero else size).to(dtype) for at, shape in enumerate(shapes))
        return first, second, third, fourth

    return make


def _by_hand(g: torch.Generator) -> Four:
    """The earlier head writes (1, 1, 0), of which the later one reads the first feature."""
    given = ([[2.0], [0.0], [1.0]], [[1.0, 1.0, 0.0]], [[1.0], [0.0], [0.0]], [[0.0], [3.0], [0.0]])
    return tuple(torch.tensor(one, dtype=torch.float64) for one in given)  # type: ignore[return-value]


def _apart(g: torch.Generator) -> Four:
    """Make two heads of which the later one reads nothing that the earlier one writes."""
    W_V, W_O, W_in, W_other = _made(6, 2, 3)(g)
    W_O[:, 3:], W_in[:3] = 0.0, 0.0
    return W_V, W_O, W_in, W_other


def _silent(g: torch.Generator) -> Four:
    """Make an earlier head whose values its output matrix drops: neither matrix is 0, but their product is."""
    W_V, W_O, W_in, W_other = _made(5, 3, 2)(g)
    W_V[:, 1:], W_O[:1] = 0.0, 0.0
    return W_V, W_O, W_in, W_other


def _matched(g: torch.Generator) -> Four:
    """Make a head of width 1 that is read in full."""
    W_V, W_O, _, W_other = _made(5, 1, 1)(g)
    return W_V, W_O, W_O.mT.clone(), W_other


def _uneven(g: torch.Generator) -> Four:
    """Make matrices whose columns differ in size, as those of trained heads do."""
    W_V, W_O, W_in, W_other = _made(8, 3, 4)(g)
    sizes = torch.tensor([3.0, 1.0, 0.2, 0.05], dtype=torch.float64)
    return W_V * sizes[:3], W_O, W_in * sizes, W_other * sizes.flip(0)


def _between(args: tuple[Any, ...], got: Any) -> str | None:
    if isinstance(got, float) and not 0 <= got <= 1 + 1e-6:
        return f"The score is {got:.4g}, not between 0 and 1."
    return None


def _epsilon(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether something small was added to the divisor, or it was lifted to something small."""
    W_V, W_O, W_in, W_other = args
    writes, reads = W_V @ W_O, W_in @ W_other.mT
    top, wrote, read = ((one.norm().item()) for one in (writes @ reads, writes, reads))
    sizes = [one * 10.0**power for power in range(-12, 0) for one in (1, 2, 5)]
    made = [top / bottom for size in sizes for bottom in (
        wrote * read + size, max(wrote * read, size), (wrote + size) * (read + size))]
    return isinstance(got, float) and top > 0 and any(math.isclose(one, got, rel_tol=1e-7) for one in made)


def _rounded(args: tuple[Any, ...], got: Any) -> bool:
    right = composition_score(*args)
    return isinstance(got, float) and got != 0 and any(abs(got - round(right, n)) < 1e-12 for n in range(1, 7))


_SVD = "torch.linalg.matrix_norm({}, ord={})"


def _normed(kind: str) -> str:
    """Return the lines that take another norm in all three places."""
    parts = {"top": "together", "wrote": "writes", "read": "reads"}
    return "\n".join(f"{name} = {kind.format(what)}" for name, what in parts.items())


EXERCISE = exercise(
    composition_score,
    right=RIGHT,
    asks="From the weights of two heads, compute how much of what the earlier one writes the later one reads.",
    minutes=6,
    difficulty=2,
    importance=3,
    cases=(
        case("d = 3, both heads of width 1, by hand", _by_hand),
        case("d = 6, d_v = 2, d_k = 3", _made(6, 2, 3)),
        case("d = 5, d_v = 4, d_k = 2", _made(5, 4, 2)),
        case("matrices whose columns differ in size", _uneven),
        case("W_V is 0", _made(5, 2, 3, zero=0)),
        case("W_O is 0", _made(5, 2, 3, zero=1)),
        case("W_in is 0", _made(5, 2, 3, zero=2)),
        case("W_other is 0", _made(5, 2, 3, zero=3)),
        case("the earlier head's circuit is 0, its matrices are not", _silent),
        case("the later head reads nothing of it", _apart),
        case("the later head reads all of it", _matched),
        case("as wide as the model", _made(4, 4, 4)),
        case("d_v = d_k", _made(7, 3, 3)),
        case("wider heads than the model", _made(3, 5, 4)),
        case("one feature", _made(1, 1, 1)),
        case("weights of about .02", _made(8, 2, 4, size=0.02), tolerance=1e-4),
        case("weights of about 50", _made(8, 4, 2, size=50.0)),
        case("d = 40, d_v = 8, d_k = 6", _made(40, 8, 6)),
        case("non-contiguous inputs", lambda g: tuple(map(strided, _made(6, 3, 2)(g)))),
        case("float32", _made(7, 2, 3, dtype=torch.float32), tolerance=1e-5),
        case("float32, W_O is 0", _made(7, 2, 3, zero=1, dtype=torch.float32)),
    ),
    mistakes=(
        mistake("reversed", "The later head comes first here. Row vectors are multiplied from the left: whose "
                "matrix does the stream meet first, that of the head which writes or of the one which reads?",
                "together = reads @ writes", "together = writes.mT @ reads.mT"),
        mistake("query for key", "The two matrices of the later head are exchanged: what is fed is on the other side. "
                "Which of the two meets what the earlier head writes?", "reads = other @ fed.mT",
                "value, output, fed, other = W_V, W_O, W_other, W_in", "together = writes @ reads.mT",
                "together = reads @ writes.mT"),
        mistake("the earlier head's circuit transposed", "What the earlier head writes and what it reads are "
                "exchanged. Which of its matrices is the last that a token's vector meets?",
                "writes = (value @ output).mT", "together = writes.mT @ reads", "together = reads.mT @ writes",
                "writes = output.mT @ value.mT"),
        mistake("circuits of head by head", "The matrices of a head were multiplied in an order that leaves d_v × "
                "d_v, or d_k × d_k. A circuit maps the stream to the stream: which size has it?",
                "writes = output @ value", "writes = value.mT @ output.mT", "reads = fed.mT @ other",
                "writes = output @ value\nreads = fed.mT @ other", "reads = other.mT @ fed"),
        mistake("four norms", "The divisor is made of the norms of the single matrices. Which two products stand in "
                "it?", "bottom = value.norm() * output.norm() * fed.norm() * other.norm()",
                "wrote = value.norm() * output.norm()", "read = fed.norm() * other.norm()",
                "bottom = output.norm() * fed.norm()", "bottom = value.norm() * other.norm()",
                "wrote = output.norm()", "read = fed.norm()", "wrote = value.norm()", "read = other.norm()",
                "bottom = value.norm() * (output @ fed).norm() * other.norm()"),
        mistake("in percent", "The score is in percent. It lies between 0 and 1.", "score = 100 * top / safe"),
        mistake("spectral norm", "Only the largest singular value of a matrix counts here. The Frobenius norm counts "
                "all entries: which one is it?", _normed(_SVD.format("{}", 2)), _normed("torch.linalg.svdvals({})[0]"),
                f"top = {_SVD.format('together', 2)}",
                f"wrote = {_SVD.format('writes', 2)}\nread = {_SVD.format('reads', 2)}",
                f"wrote = {_SVD.format('writes', 2)}", f"read = {_SVD.format('reads', 2)}"),
        mistake("another norm", "This is another norm than Frobenius', which is the root of the sum of all squares.",
                _normed("torch.linalg.matrix_norm({}, ord='nuc')"), _normed("{}.abs().sum()"),
                _normed("{}.abs().amax()"), _normed(_SVD.format("{}", 1)), _normed(_SVD.format("{}", "float('inf')")),
                _normed("{}.diagonal().sum().abs()"), _normed("{}.diagonal().sum()"), _normed("{}.sum()"),
                _normed("{}.sum().abs()"), _normed("{}.abs().mean()"), _normed("{}.std()"),
                _normed("{}.diagonal().norm()"), _normed("{}.norm(dim=-1).sum()"), _normed("{}.norm(dim=0).sum()"),
                "top = together.abs().sum()", "top = together.abs().amax()", "top = together.diagonal().sum()",
                "top = together.diagonal().sum().abs()",
                "top = (writes * reads.mT).sum()", "top = together.norm(dim=-1).sum()",
                f"top = {_SVD.format('together', repr('nuc'))}"),
        mistake("mean length of the rows", "The lengths of rows or columns were averaged. All entries of a matrix go "
                "into one norm.", _normed("{}.norm(dim=-1).mean()"), _normed("{}.norm(dim=0).mean()"),
                "score = (together.norm(dim=-1) / (writes.norm(dim=-1) * read).clamp(min=1e-30)).mean()",
                "score = (together.norm(dim=-1) / (writes.norm(dim=-1) * reads.norm(dim=-1))).mean()",
                "score = (together.norm(dim=0) / (writes.norm(dim=0) * reads.norm(dim=0))).mean()"),
        mistake("root mean square", "A norm is the root of a sum. With means instead of sums the factors do not "
                "cancel: there are two in the divisor.", _normed("{}.square().mean().sqrt()"),
                _normed("{}.square().mean()"), "score = top / safe * W_V.shape[0]"),
        mistake("half a circuit", "A matrix is missing in the product. The chain is W_V W_O W_in W_otherᵀ.",
                "writes = output", "reads = fed", "together = writes @ fed", "together = output @ reads",
                "together = output @ fed", "together = writes @ fed\nread = fed.norm()",
                "together = output @ reads\nwrote = output.norm()",
                "together = output @ fed\nwrote = output.norm()\nread = fed.norm()",
                "together = output @ fed\nbottom = output.norm() * fed.norm()"),
        mistake("both matrices of the later head on one side", "The earlier head's output goes through both of the "
                "later head's matrices. It meets one; the other belongs to what is not fed.",
                "together = writes @ fed @ (writes @ other).mT", "together = (output @ fed) @ (output @ other).mT"),
        mistake("squared", "This is the square of a ratio, or a ratio of squares. Is a norm the sum of the squares?",
                "score = (top / safe).square()", _normed("{}.square().sum()"), "top = together.square().sum()",
                "wrote = writes.square().sum()\nread = reads.square().sum()", "score = top**2 / safe",
                "score = top / safe**2", "top = together.square().sum()\nbottom = wrote.square() * read.square()",
                "bottom = wrote.square() + read.square()"),
        mistake("square root of the ratio", "A root too many was taken. Where does one stand in the formula?",
                "score = (top / safe).sqrt()",
                "top = together.norm().sqrt()", "bottom = (wrote * read).sqrt()"),
        mistake("not divided", "Nothing was divided by: heads with large weights have large scores. What makes the "
                "score the same for W_V and for 2 W_V?", "score = top", "safe = torch.where(bottom > 0, 1.0, 1.0)"),
        mistake("divided by one circuit alone", "One of the two norms is missing in the divisor. Double the weights of "
                "either head: should the score change?", "bottom = wrote", "bottom = read"),
        mistake("norms added instead of multiplied", "The divisor is a sum of norms, their mean or the larger of them. "
                "Double the weights of either head: should the score change?", "bottom = wrote + read",
                "bottom = (wrote + read) / 2", "bottom = torch.maximum(wrote, read)",
                "bottom = (wrote.square() + read.square()).sqrt()"),
        mistake("divided by its own norm", "The product was divided by its own norm, which gives 1, or by that of a "
                "product entry by entry.", "bottom = together.norm()", "bottom = (writes * reads).norm()",
                "together = writes @ reads / (writes @ reads).norm()\nsafe = torch.ones(())"),
        mistake("multiplied instead of divided", "The norms were multiplied with the rest. Which side of the fraction "
                "do they stand on?", "score = top * bottom", "score = top * wrote / read.clamp(min=1e-30)",
                "score = top / wrote.clamp(min=1e-30) * read"),
        mistake("the fraction upside down", "The fraction is upside down: the better two heads fit, the smaller it is.",
                "score = bottom / torch.where(top > 0, top, 1.0)", "score = safe / top"),
        mistake("cosine", "The two circuits were compared entry by entry, as for a cosine. The question is not whether "
                "they are alike, but how much of the one's output the other reads: which product is that?",
                "top = (writes * reads).sum()", "top = (writes * reads).sum().abs()", "together = writes * reads",
                "together = writes * reads.mT"),
        mistake("NaN where a circuit is 0", "0 was divided by 0. Which score is asked for where one of the circuits "
                "is 0?", "safe = bottom", "score = top / bottom"),
        mistake("an error where a circuit is 0", "Python's numbers cannot be divided by 0. Which score is asked for "
                "where one of the circuits is 0?", "score = torch.tensor(top.item() / bottom.item())",
                "score = torch.tensor(top.item() / (wrote.item() * read.item()))",
                "score = torch.tensor(top.item() / wrote.item() / read.item())",
                "score = torch.tensor(top.item() / math.sqrt(writes.square().sum() * reads.square().sum()))"),
        mistake("another score where a circuit is 0", "Where one of the circuits is 0, the score is to be 0.0, and the "
                "kind of the result is the same as elsewhere.", *(
                    f"return score.item() if bottom > 0 else {zero}" for zero in (
                        "1.0", "None", "math.inf", "-1.0", "torch.tensor(0.0)", "score",
                        "1 / math.sqrt(W_V.shape[0])"))),
        mistake("times the root of d", "The score was compared with what random matrices give. That is a good thing to "
                "look at, but the score by itself is asked for.",
                *(f"score = top / safe {how}" for how in (
                    "* math.sqrt(W_V.shape[0])", "/ math.sqrt(W_V.shape[0])", "- 1 / math.sqrt(W_V.shape[0])",
                    "/ W_V.shape[0]", "- (bottom > 0) / math.sqrt(W_V.shape[0])"))),
        mistake("scaled by the head's width", "A factor was put in that depends on the width of a head. No softmax is "
                "taken here: a factor would cancel.",
                *(f"together = writes @ reads / math.sqrt({matrix}.shape[1])" for matrix in ("W_in", "W_V")),
                *(f"score = top / safe {sign} math.sqrt({matrix}.shape[1])"
                  for sign in "*/" for matrix in ("W_V", "W_in")),
                "bottom = wrote * read * math.sqrt(W_V.shape[1] * W_in.shape[1])"),
        mistake("a softmax on the way", "A softmax was taken. This is about the weights alone: no scores, no text.",
                "reads = (fed @ other.mT).softmax(-1)", "together = (writes @ reads).softmax(-1)",
                "writes = (value @ output).softmax(-1)",
                "reads = (fed @ other.mT / math.sqrt(fed.shape[1])).softmax(-1)"),
        mistake("centred first", "A mean was taken out first. Norms and rotations, too, are left out: the matrices are "
                "used as they are.",
                "output = W_O - W_O.mean(-1, keepdim=True)\nwrites = value @ output",
                "fed = W_in - W_in.mean(0)\nreads = fed @ other.mT",
                "writes = value @ output - (value @ output).mean(0)",
                "reads = fed @ other.mT - (fed @ other.mT).mean(0)",
                "together = writes @ reads - (writes @ reads).mean()"),
        mistake("columns made to have length 1", "Rows or columns of a matrix were made to have length 1 first. What "
                "a head writes much of is to count for much.",
                *(f"value, output, fed, other = (F.normalize(one, dim={dim}) for one in (W_V, W_O, W_in, W_other))"
                  for dim in (0, 1)),
                *(f"writes = F.normalize(value @ output, dim={dim})" for dim in (0, 1)),
                *(f"reads = F.normalize(fed @ other.mT, dim={dim})" for dim in (0, 1))),
        mistake("singular vectors alone", "The matrices were replaced by bases of their columns, so every direction "
                "counts the same. What a head writes much of is to count for much.",
                "together = torch.linalg.qr(output.mT)[0].mT @ torch.linalg.qr(fed)[0]\nsafe = torch.ones(())",
                "together = torch.linalg.qr(output.mT)[0].mT @ torch.linalg.qr(fed)[0]\n"
                "safe = torch.tensor(math.sqrt(min(W_V.shape[1], W_in.shape[1])))"),
        mistake("an epsilon in the divisor", "Something small was added to the divisor, or it was lifted to it. Small "
                "weights have small circuits: where alone is a divisor needed that is not the product of the norms?",
                *(f"safe = bottom + {size}" for size in (1e-8, 1e-6, 1e-5, 1e-3)),
                *(f"safe = bottom.clamp(min={size})" for size in (1e-2, 1e-3, 1e-4)),
                "safe = (wrote + 1e-6) * (read + 1e-6)", matches=_epsilon),
        mistake("small circuits taken for 0", "Circuits with small weights have the score 0, or were not divided. Only "
                "a circuit that is 0 has none.",
                *(f"score = torch.where(bottom > {size}, top / safe, 0.0)" for size in (1e-3, 1e-4)),
                *(f"safe = torch.where(bottom > {size}, bottom, 1.0)" for size in (1e-3, 1e-4)),
                "score = torch.where(wrote < 0.01, 0.0, top / safe)"),
        mistake("one minus the score", "This is 1 minus a score, or its negative: the better two heads fit, the "
                "smaller it is.", "score = 1 - top / safe", "score = -top / safe",
                "score = (1 - (top / safe).square()).sqrt()"),
        mistake("cut off at an edge", "The score was cut off, or a logarithm taken of it.",
                "score = (top / safe).clamp(max=0.5)", "score = (top / safe).log()", "score = (top / safe).log1p()",
                "score = (top / safe).tanh()"),
        mistake("not one number", "There is a number for each row, column or entry. One norm is taken of a whole "
                "matrix: which axes does it run over?",
                "return (together.norm(dim=-1) / safe).tolist()", "return together.norm(dim=-1) / safe",
                "return together.norm(dim=0) / safe", "return together / safe", "return together",
                "return together.norm(dim=-1) / (writes.norm(dim=-1) * reads.norm(dim=-1))",
                "return together.norm(dim=-1) / (wrote * reads.norm(dim=-1))"),
        mistake("a tensor instead of a float", "A tensor of one number came back. A Python float is asked for: which "
                "method makes one of it?", "return score", "return score.reshape(1)", "return score.detach()",
                "return [score.item()]", "return (score.item(),)", "return str(score.item())"),
        mistake("rounded", "Right, but only to a few places after the point: something was rounded. Which line does "
                "that, and who asked for it?", "return round(score.item(), 4)", "return round(score.item(), 3)",
                "return round(score.item(), 2)", matches=_rounded),
        overwritten("wrote = writes.norm()\nread = reads.norm() + 0 * W_V.div_(2).sum()",
                    *writing(composition_score, 0, 1, 2, 3)),
        NOTHING,
    ),
    laws=(Law("the norm of a product is at most the product of the norms", _between),),
    hints=(
        "A token's vector, as a row, goes through the earlier head as x W_V W_O. Which of the later head's matrices "
        "does the result meet, and which of the two stands transposed at the end?",
        "`W_V @ W_O` and `W_in @ W_other.mT` are both d × d. Which three norms stand in the formula?",
        "`matrix.norm()` is the Frobenius norm, and `.item()` makes a float. Look at the divisor before you divide.",
    ),
)
