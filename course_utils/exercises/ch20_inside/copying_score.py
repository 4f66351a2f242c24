"""Exercise: whether a head copies what it reads, from its weights alone."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import torch
from course_utils.checking.exercise import Cost, Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten, writing
from course_utils.interpretability import copying_score
from course_utils.measure import largest_tensor
from torch import Tensor

RIGHT = """
def copying_score(source, W_V, W_O, unembed):
    tokens = source
    words = unembed
    seen = tokens - tokens.mean(0)
    counted = words - words.mean(0)
    into = W_V
    back = W_O
    read = seen @ into
    written = back @ counted.mT
    table = written @ read
    values = torch.linalg.eigvals(table)
    parts = values.real
    sizes = values.abs()
    above = parts.sum()
    below = sizes.sum()
    zero = not below
    score = 0.0 if zero else (above / below).item()
    return score
"""


def _made(
    tokens: int, d: int, d_v: int, shared: float = 0.5, dtype: torch.dtype = torch.float64, shift: float = 1.0,
) -> Make:  # fmt: skip
    """Make token vectors that are not centred, and an unembedding that shares some of them."""

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        source = normal(g, tokens, d) + shift * normal(g, d)
        unembed = shared * source + normal(g, tokens, d) + shift * normal(g, d)
        W_V, W_O = normal(g, d, d_v), normal(g, d_v, d)
        return tuple(one.to(dtype) for one in (source, W_V, W_O + shared * W_V.mT, unembed))

    return make


def _copies(sign: float) -> Make:
    """Make a head that raises, or lowers, each token that it reads, and no other eigenvalues."""

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        source, W_V, _, _ = _made(9, 4, 3)(g)
        return source, W_V, sign * W_V.mT, source + 2.0

    return make


def _turned(g: torch.Generator) -> tuple[Tensor, ...]:
    """Make a head that turns what it reads: its eigenvalues are in pairs that are not real."""
    source, W_V, _, _ = _made(8, 4, 4)(g)
    turn = torch.tensor([[0.3, 1, 0, 0], [-1, 0.3, 0, 0], [0, 0, -0.1, 2], [0, 0, -2, -0.1]], dtype=torch.float64)
    return source, W_V, turn @ W_V.mT, source - 1.0


def _nothing(which: int) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        given = list(_made(6, 4, 3)(g))
        given[which] = torch.zeros_like(given[which])
        return tuple(given)

    return make


def _strided(g: torch.Generator) -> tuple[Tensor, ...]:
    return tuple(map(strided, _made(9, 5, 3)(g)))


def _outside(args: tuple[Any, ...], got: float) -> str | None:
    return None if abs(got) <= 1 + 1e-6 else f"The score is {got:.4g}, outside [-1, 1]."


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(length, 6, 4)(g)


def largest(fn: Callable[..., object], *args: object) -> int:
    """Count the numbers in the largest tensor, or in what numpy holds at a time, whichever are more."""
    tensors = largest_tensor(fn, *args)
    tracemalloc.start()
    try:
        fn(*args)
        arrays = tracemalloc.get_traced_memory()[1] // 8
    finally:
        tracemalloc.stop()
    return max(tensors, arrays)


_PAIRS = (
    "The value is right, but a table of all tokens by all tokens was made: with 49,152 of them it has 2.4 billion "
    "numbers. The eigenvalues of A·B that are not 0 are those of B·A: which product is small?"
)
_TABLE = "table = read @ written"
_CHANNELS = "seen = tokens - tokens.mean(-1, keepdim=True)\ncounted = words - words.mean(-1, keepdim=True)"
_SQUARE = "table = seen @ into @ back @ counted.mT"

EXERCISE = exercise(
    copying_score,
    right=RIGHT,
    asks="Say how far a head raises the tokens that it reads, from the eigenvalues of its map of tokens to tokens.",
    minutes=8,
    difficulty=3,
    importance=4,
    cases=(
        case("5 tokens, width 3, a head of 2", _made(5, 3, 2), absolute=1e-6),
        case("9 tokens, width 5, a head of 3", _made(9, 5, 3), absolute=1e-6),
        case("12 tokens, width 4, a head of 6", _made(12, 4, 6), absolute=1e-6),
        case("a head that copies", _copies(1.0), absolute=1e-6),
        case("a head that does the opposite", _copies(-1.0), absolute=1e-6),
        case("eigenvalues that are not real", _turned, absolute=1e-6),
        case("values of 0", _nothing(1)),
        case("an output matrix of 0", _nothing(2)),
        case("an unembedding of 0", _nothing(3)),
        case("one token", _made(1, 4, 3)),
        case("2 tokens", _made(2, 5, 1), absolute=1e-6),
        case("fewer tokens than the head is wide", _made(3, 7, 5), absolute=1e-6),
        case("a head of width 1", _made(8, 4, 1), absolute=1e-6),
        case("width 1", _made(7, 1, 1), absolute=1e-6),
        case("every size is 4", _made(4, 4, 4), absolute=1e-6),
        case("far from the origin", _made(10, 5, 4, shift=30.0), absolute=1e-5),
        case("matrices of 1e-5", lambda g: tuple(1e-5 * one for one in _made(9, 5, 3)(g)), absolute=1e-6),
        case("60 tokens, width 8, a head of 4", _made(60, 8, 4), absolute=1e-6),
        case("non-contiguous inputs", _strided, absolute=1e-6),
        case("float32", _made(20, 6, 4, dtype=torch.float32), absolute=1e-3),
    ),
    mistakes=(
        NOTHING,
        mistake("not centred", "The means over the tokens were left in: they say what every token is raised by. What "
                "is subtracted from each row first?", "seen = tokens\ncounted = words"),
        mistake("centred over the channels", "Each token lost the mean of its own features. Over which axis is the "
                "mean taken?", _CHANNELS,
                "seen = tokens - tokens.mean(-1, keepdim=True)", "counted = words - words.mean(-1, keepdim=True)",
                "seen = F.layer_norm(tokens, tokens.shape[-1:])\ncounted = F.layer_norm(words, words.shape[-1:])"),
        mistake("one mean for all", "The mean of all numbers was subtracted. Each feature has a mean of its own over "
                "the tokens.", "seen = tokens - tokens.mean()\ncounted = words - words.mean()"),
        mistake("the other one's mean", "The mean of one of the two was subtracted from the other. Each has its own.",
                "counted = words - tokens.mean(0)\nseen = tokens - words.mean(0)"),
        mistake("divided by the spread", "The rows or the features were divided by their size, too. Centred is all "
                "that "
                "they are to be.", "seen = F.normalize(tokens - tokens.mean(0), dim=-1)",
                "counted = F.normalize(words - words.mean(0), dim=-1)",
                "seen = F.normalize(tokens - tokens.mean(0), dim=-1)\n"
                "counted = F.normalize(words - words.mean(0), dim=-1)",
                "seen = (tokens - tokens.mean(0)) / (tokens.std(0) + 1e-9)\n"
                "counted = (words - words.mean(0)) / (words.std(0) + 1e-9)",
                "seen = F.rms_norm(tokens, tokens.shape[-1:])\nseen = seen - seen.mean(0)",
                "seen = F.normalize(tokens, dim=-1)\nseen = seen - seen.mean(0)"),
        mistake("centred later", "The means were subtracted from something made of the vectors, not from the vectors: "
                "the result is another.", "seen = tokens\ncounted = words\n"
                "table = written @ read - (written @ read).mean(0)", "seen = tokens\ncounted = words\n"
                "table = written @ read - (written @ read).mean()", "seen = tokens\ncounted = words\n"
                "table = written @ read - (written @ read).mean(-1, keepdim=True)",
                "table = written @ read\ntable = table - table.mean(0)"),
        mistake("singular values", "Singular values, and sizes, have no sign: above as below, they give 1 for every "
                "head. Whose real part says whether a token is raised or lowered?", "parts = values.abs()",
                "below = parts.sum()", "values = torch.linalg.svdvals(table)",
                "sizes = torch.linalg.svdvals(table)", "sizes = torch.linalg.svdvals(read @ written)",
                "values = torch.linalg.svdvals(read @ written)", "parts = torch.linalg.svdvals(table)",
                "values = torch.linalg.svdvals(into @ back)", "below = torch.linalg.matrix_norm(table, 'nuc')",
                "below = torch.linalg.matrix_norm(read @ written, 'nuc')"),
        mistake("another norm of the matrix", "The sum was divided by a norm of the matrix, or by the largest "
                "eigenvalue. What is summed below?", "below = table.norm()", "below = (read @ written).norm()",
                "below = sizes.max()", "below = sizes.square().sum().sqrt()", "below = table.abs().sum()",
                "below = (read @ written).abs().sum()", "below = read.norm() * written.norm()",
                "below = torch.linalg.matrix_norm(table, 2)"),
        mistake("how many are positive", "The eigenvalues were counted, not added up. What weighs a large one more "
                "than a small one?", "score = (parts > 0).double().mean().item()",
                "score = (parts.sign()).mean().item()", "above = (parts > 0).sum()\nbelow = parts.numel()",
                "above = (parts > 0).double().sum() - (parts < 0).double().sum()\n"
                "below = torch.tensor(float(parts.numel()))",
                "score = ((parts > 1e-9).sum() / parts.numel()).item()", "parts = values.real.sign()\nbelow = "
                "torch.tensor(float(len(tokens)))", "score = ((parts > 0).sum() / len(tokens)).item()"),
        mistake("each eigenvalue by itself", "Each real part was divided by its own size, and the mean taken. What "
                "weighs a large one more than a small one?", "score = (parts / sizes.clamp(min=1e-12)).mean().item()",
                "score = (parts / sizes).mean().item()", "score = (parts / sizes).sum().item()",
                "parts = values.angle().cos()",
                "score = (parts / sizes.clamp(min=1e-12)).sum().item()"),
        mistake("the positive share", "This is what the positive eigenvalues hold, from 0 to 1. What do the negative "
                "ones do to the sum?", "above = parts.clamp(min=0).sum()", "parts = values.real.relu()\n"
                "sizes = values.real.abs()", "above = sizes[values.real > 0].sum()"),
        mistake("the real parts alone below", "The sum below is of |Re λ|: an eigenvalue that only turns what is read "
                "counts for nothing. What is the size of a complex number?", "sizes = values.real.abs()"),
        mistake("the size of the real parts above", "The sum above has no signs: a head that lowers what it reads "
                "looks like one that copies.", "parts = values.real.abs()", "above = parts.sum().abs()"),
        mistake("the size of the sum below", "The sum below is of the eigenvalues themselves, and its size was taken "
                "afterwards, or not at all: they cancel. What comes first?", "below = values.sum().abs()",
                "below = parts.sum().abs()"),
        mistake("squared sizes below", "The sum below is of |λ|², or of both parts' sizes.",
                "sizes = values.abs().square()", "sizes = values.real.abs() + values.imag.abs()",
                "parts = values.real.square()\nsizes = values.abs().square()",
                "parts = values.real * values.abs()\nsizes = values.abs().square()"),
        mistake("a sum that is always 0", "The sum above is 0 for every head: imaginary parts come in pairs, and the "
                "entries of a centred table cancel. Which numbers say whether a token is raised or lowered?",
                "parts = values.imag", "values = read @ written", "values = (read @ written).flatten()"),
        mistake("the imaginary parts", "The sum above is of the imaginary parts. Which part says whether a token is "
                "raised or lowered?", "parts = values.imag.abs()"),
        mistake("eigvalsh", "`eigvalsh` is for symmetric matrices, and reads one half of the matrix only. Is this one "
                "symmetric?", "values = torch.linalg.eigvalsh(table)", "values = torch.linalg.eigvalsh(table, "
                "UPLO='U')",
                "values = torch.linalg.eigvalsh(read @ written)", "values = torch.linalg.eigvalsh((table + table.mT) / "
                "2)",
                "half = written @ read\ntable = half + half.mT",
                "values = torch.linalg.eigvalsh((read @ written + (read @ written).mT) / 2)",
                "values = torch.linalg.eigvalsh(into @ back)", "values = torch.linalg.eigvalsh(read @ written, "
                "UPLO='U')"),
        mistake("source for the unembedding", "One of the two tables of tokens was used twice. As what does the head "
                "see a token, and as what does the output count it?", "words = source", "tokens = unembed",
                "table = seen.mT @ seen @ into @ back", "table = into @ back @ counted.mT @ counted"),
        mistake("source and unembedding swapped", "The head read the unembedding and wrote to the source's tokens. "
                "Which of them does a head see?", "tokens = unembed\nwords = source",
                "into = W_O.mT\nback = W_V.mT"),
        mistake("the weights alone", "The eigenvalues are those of W_V·W_O, without the tokens. What does the map "
                "begin with, and what does it end with?", "table = into @ back", "table = back @ into",
                "table = (into @ back).mT"),
        mistake("the head left out", "The head's own matrices are not in the map, or only one of them.",
                "table = seen.mT @ counted", "table = counted.mT @ seen", "into = W_O.mT", "back = W_V.mT",
                "table = read.mT @ read", "table = written @ written.mT"),
        mistake("the diagonal", "The sum is over the diagonal of the map. Only the sum of the eigenvalues is the sum "
                "of the diagonal: their sizes are not those of its entries.",
                "values = torch.complex(table.diagonal(), 0 * table.diagonal())",
                "values = (read * written.mT).sum(-1)", "values = (read @ written).diagonal()",
                "values = table.diagonal()", "below = table.diagonal().abs().sum()",
                "below = (read @ written).diagonal().abs().sum()"),
        mistake("the entries of the table", "The sums are over entries of a table, not over eigenvalues.",
                "values = table"),
        mistake("how often a token raises itself most", "The tokens were counted whose own entry is the largest, or "
                "positive, or above the mean. That is another score: eigenvalues are asked for.",
                "score = ((read @ written).argmax(-1) == torch.arange(len(tokens))).double().mean().item()",
                "score = ((read * written.mT).sum(-1) > 0).double().mean().item()",
                "score = ((read @ written).argmax(0) == torch.arange(len(tokens))).double().mean().item()"),
        mistake("a matrix transposed", "One of the matrices was transposed where shapes allow it, or the wrong ones "
                "were multiplied. Row vectors come from the left: source · W_V · W_O · unembedᵀ.",
                "into = W_V.mT", "back = W_O.mT", "table = written @ read.mT",
                "counted = words - words.mean(0)\nwritten = back @ counted",
                "into = W_V.reshape(W_O.shape).mT", "back = W_O.reshape(W_V.shape).mT",
                "into = W_V.reshape(W_O.shape).mT\nback = W_O.reshape(W_V.shape).mT"),
        mistake("NaN where the map is 0", "Where the map is 0, the score is 0 / 0. What should it be there?",
                "zero = False", "score = float('nan') if zero else (above / below).item()",
                "values = torch.linalg.eigvals(table).numpy()\nparts = torch.from_numpy(values.real.copy())\n"
                "sizes = torch.from_numpy(abs(values))\nzero = False"),
        mistake("another score where the map is 0", "Where the map is 0, the head copies nothing and lowers nothing: "
                "the score is 0.0.", "score = 1.0 if zero else (above / below).item()",
                "score = -1.0 if zero else (above / below).item()", "score = 0.5 if zero else (above / below).item()"),
        mistake("something added below", "Something small was added to the sum below, or small sums count as none: "
                "where all numbers are small, the score shrinks.",
                *(f"below = sizes.sum() + {one}" for one in ("1e-3", "1e-6", "1e-8", "1e-9", "1e-10", "1e-12")),
                *(f"below = sizes.sum().clamp(min={one})" for one in ("1e-6", "1e-8", "1e-9", "1e-10", "1e-12")),
                *(f"zero = below < {one}" for one in ("1e-6", "1e-8", "1e-9", "1e-10", "1e-12"))),
        mistake("not divided", "This is the sum of the real parts. By what is it divided, so that it is at most 1?",
                "score = above.item()", "below = torch.tensor(float(len(tokens)))", "score = parts.mean().item()",
                "below = torch.tensor(float(values.numel()))"),
        mistake("sign", "The sign is the opposite one: a head that copies should be near 1.",
                "parts = -values.real", "score = 0.0 if zero else -(above / below).item()"),
        mistake("moved to 0 … 1", "The score was moved. It lies between -1 and 1.",
                "score = 0.5 if zero else ((above / below + 1) / 2).item()",
                "score = 0.0 if zero else ((above / below + 1) / 2).item()",
                "score = 0.0 if zero else (above / below).clamp(min=0).item()"),
        mistake("upside down", "The sum of sizes was divided by that of the real parts.",
                "score = 0.0 if zero else (below / above).item()"),
        mistake("one eigenvalue only", "Only one eigenvalue was looked at, such as the largest.",
                "values = torch.linalg.eigvals(table)[:1]",
                "chosen = torch.linalg.eigvals(table)\nvalues = chosen[chosen.abs().argmax()]",
                "values = torch.linalg.eigvals(table)[-1:]",
                "chosen = torch.linalg.eigvals(table)\nvalues = chosen[chosen.real.argmax()]"),
        mistake("only real eigenvalues", "The eigenvalues that are not real were left out. They count: below with "
                "their size, and above with their real part.",
                "found = torch.linalg.eigvals(table)\nvalues = found[found.imag.abs() < 1e-9]"),
        mistake("a tensor", "The score came as a tensor, where Python's `float` is asked for: which call makes one?",
                "return torch.tensor(score)", "return torch.tensor([score])", "return values", "return parts / sizes",
                "return torch.tensor(score, dtype=source.dtype)", "return torch.tensor(score, dtype=torch.float64)"),
        mistake("another kind of result", "One number is asked for, and nothing else.", "return [score]",
                "return score, values", "return str(score)", "return complex(score)", "return score, score",
                "return values.sum().item()", "return 0.0 if zero else (values.sum() / below).item()",
                "return {'score': score}"),
        mistake("rounded", "The score lost its digits. Give it as it is.", "return round(score, 2)",
                "return round(score, 3)", "return round(score, 4)"),
        overwritten(*writing(copying_score, 0, 1, 2, 3), "seen = source.sub_(source.mean(0))",
                    "counted = unembed.sub_(unembed.mean(0))",
                    "seen = source.sub_(source.mean(0))\ncounted = unembed.sub_(unembed.mean(0))"),
        mistake("N × N", _PAIRS, _TABLE, _SQUARE, "table = written.mT @ read.mT",
                "centre = torch.eye(len(tokens), dtype=tokens.dtype) - 1 / len(tokens)\nseen = centre @ tokens\n"
                "counted = centre @ words"),
    ),
    laws=(Law("the score lies between -1 and 1", _outside),),
    costs=(Cost("the largest table", largest, (128, 512), _long, 1.3, _PAIRS, "N × N"),),
    hints=(
        "Centre both tables of tokens first: a mean over the tokens is one vector, subtracted from every row.",
        "The map of tokens to tokens is a product of four matrices, and has N × N numbers. It passes through the d_v "
        "numbers of the head: A·B and B·A have the same eigenvalues, but for zeros. Which of them is d_v × d_v?",
        "The eigenvalues are complex numbers: `torch.linalg.eigvals`. Add up the real parts above and the sizes below. "
        "When is the sum below 0?",
    ),
)
