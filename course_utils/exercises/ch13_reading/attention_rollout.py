"""Exercise: attention rollout, the layers' weights multiplied with what the residual carries."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.layers import HEADS, LAYERS, listed
from course_utils.interpretability import attention_rollout
from torch import Tensor

RIGHT = """
def attention_rollout(layers, residual=0.5):
    share = residual
    own = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    found = [own.expand(len(layers[0]), -1, -1)]
    order = range(len(layers))
    for number in order:
        each = layers[number]
        averaged = each.mean(1)
        mixed = share * own + (1 - share) * averaged
        total = mixed.sum(-1, keepdim=True)
        divided = mixed / torch.where(total == 0, 1.0, total)
        below = found[-1]
        above = divided @ below
        found.append(above)
    result = found[-1]
    return result
"""


def _made(
    n: int, *shape: int, residual: float | None = None, whole: bool = True, dtype: torch.dtype = torch.float64
) -> Make:
    """Make n layers (B, H, L, L); not whole: the rows sum to other numbers than 1."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        layers = normal(g, n, *shape, shape[-1], size=1.5).softmax(-1)
        if not whole:
            layers = layers * torch.rand(*layers.shape[:-1], 1, generator=g, dtype=torch.float64)
        return (layers.to(dtype),) if residual is None else (layers.to(dtype), residual)

    return make


def _causal(g: torch.Generator) -> tuple[Tensor]:
    scores = normal(g, 3, 2, 2, 5, 5)
    return (scores.masked_fill(torch.ones(5, 5).triu(1) > 0, -torch.inf).softmax(-1),)


def _empty(residual: float) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, float]:
        layers = _made(2, 2, 3, 4)(g)[0]
        layers[0, :, :, 1] = layers[1, 1, :, 3] = 0.0
        return layers, residual

    return make


def _strided(g: torch.Generator) -> tuple[Tensor]:
    return (_made(2, 2, 3, 6)(g)[0].transpose(1, 2).contiguous().transpose(1, 2).mT.contiguous().mT,)


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether some small number, added to every sum, explains a result."""
    layers, share = args[0].double(), args[1] if len(args) > 1 else 0.5
    own = torch.eye(layers.shape[-1], dtype=torch.float64)
    mixed = share * own + (1 - share) * layers.mean(2)
    total = mixed.sum(-1, keepdim=True)
    sizes = (one * 10.0**power for power in range(-8, 0) for one in (1, 2, 5))
    for size in sizes:
        made = own
        for table in mixed / (total + size):
            made = table @ made
        if torch.allclose(made, got.double(), rtol=1e-9, atol=1e-12):
            return True
    return False


_RAW = "mixed = averaged"
# Once for all layers: their raw weights multiplied, and the residual mixed into the product.
_ONCE = f"{_RAW}\nresult = share * own + (1 - share) * found[-1]"

EXERCISE = exercise(
    attention_rollout,
    right=RIGHT,
    asks="Average the heads, mix in the residual's share, divide each row by its sum, and multiply the layers.",
    minutes=12,
    difficulty=3,
    importance=4,
    cases=tuple(case(name, make, run=listed) for name, make in (
        ("one layer, 2 heads, 3 tokens", _made(1, 2, 2, 3)),
        ("two layers, one head", _made(2, 3, 1, 4)),
        ("3 layers, residual .3", _made(3, 2, 3, 5, residual=0.3)),
        ("4 layers, residual .8", _made(4, 2, 3, 4, residual=0.8)),
        ("residual 0: the weights alone", _made(2, 2, 3, 4, residual=0.0)),
        ("residual 1: the stream alone", _made(2, 2, 3, 4, residual=1.0)),
        ("causal layers", _causal),
        ("rows that do not sum to 1", _made(3, 2, 2, 4, whole=False)),
        ("rows that do not sum to 1, residual .2", _made(2, 2, 3, 5, residual=0.2, whole=False)),
        ("rows of zeros", _empty(0.5)),
        ("rows of zeros, residual 0", _empty(0.0)),
        ("one token", _made(2, 3, 2, 1)),
        ("one sequence, one head", _made(2, 1, 1, 4)),
        ("every size is 3", _made(3, 3, 3, 3)),
        ("8 layers", _made(8, 2, 2, 6)),
        ("non-contiguous inputs", _strided),
        ("float32", _made(3, 2, 3, 5, dtype=torch.float32)),
    )),
    mistakes=(
        mistake("the product reversed", "The first layer stands on the left of the product, as in the code that many "
                "pages copy, or the loop begins with the last layer. Multiply a stack of two pure averages with a "
                "one-hot input by hand: which matrix meets the input first?", "above = below @ divided",
                "order = range(len(layers))[::-1]"),
        *LAYERS[1:],
        mistake("residual and weights swapped", "The residual's share went to the weights. What should be left with "
                "residual = 1?", "mixed = (1 - share) * own + share * averaged", "share = 1 - residual"),
        mistake("residual mixed in once", "The residual was mixed in once for all layers. Every layer has a residual "
                "connection of its own: where in the loop does it belong?", _ONCE,
                f"{_ONCE}\nresult = result / result.sum(-1, keepdim=True)",
                "mixed = share * own + (1 - share) * averaged if number == 0 else averaged",
                "mixed = share * own + (1 - share) * averaged if number == len(layers) - 1 else averaged"),
        mistake("no residual", "Only the weights were multiplied. What does each layer add its output to?", _RAW,
                "mixed = (1 - share) * averaged", f"{_RAW}\ndivided = mixed"),
        mistake("another start than the identity", "The product starts from zeros, where it stays, or from ones. How "
                "much of each token is in each position before the first layer?",
                "found = [0 * own.expand(len(layers[0]), -1, -1)]",
                "found = [torch.ones_like(own).expand(len(layers[0]), -1, -1)]"),
        mistake("residual not used", "The result is the same for every `residual`. Which line mixes the two halves?",
                "share = 0.5", "mixed = own + averaged"),
        mistake("another default", "Without `residual`, another share is taken than the exercise says. Which one "
                "stands in the signature?", *(RIGHT.replace("=0.5", f"={other}") for other in (1.0, 0.0, 0.9, 0.1))),
        mistake("A + I never halved", "The weights and the identity were added as they are, and never divided: with "
                "each layer the rows sum to twice as much.", "mixed = own + averaged\ndivided = mixed"),
        mistake("the residual not weighted", "One of the two parts has no share. What do the two shares sum to?",
                "mixed = share * own + averaged", "mixed = own + (1 - share) * averaged",
                "mixed = share * own + averaged\ndivided = mixed", "mixed = share * own + 0.5 * averaged",
                "mixed = 0.5 * own + (1 - share) * averaged"),
        mistake("the residual added to every entry", "The residual's share was added to every entry of the table. To "
                "which entries does the stream bring a position's own token?", "mixed = share + (1 - share) * averaged",
                "mixed = share * torch.ones_like(own) + (1 - share) * averaged"),
        mistake("rows not divided", "The rows were not divided by their sums. Where weights do not sum to 1, after "
                "dropout or on an empty row, something is lost with each layer.", "divided = mixed"),
        mistake("rows divided at the wrong place", "The rows were divided, but not those of every layer's mixture: of "
                "the weights before the mixing, or of the product at the end.",
                "divided = mixed\nresult = found[-1] / found[-1].sum(-1, keepdim=True)",
                "averaged = each.mean(1) / each.mean(1).sum(-1, keepdim=True).clamp(min=1e-12)\ndivided = mixed",
                "averaged = (each / each.sum(-1, keepdim=True).clamp(min=1e-12)).mean(1)"),
        mistake("columns divided", "The columns sum to 1 now. Along which axis is attention distributed?",
                "total = mixed.sum(-2, keepdim=True)"),
        mistake("divided by something else", "Rows were divided by a number other than their sum, or put through a "
                "softmax.", "total = mixed.amax(-1, keepdim=True)", "total = mixed.norm(dim=-1, keepdim=True)",
                "divided = torch.softmax(mixed, -1)", "total = mixed.sum((-1, -2), keepdim=True)"),
        mistake("NaN for a row of zeros", "A row of zeros was divided by its sum. With residual 0 such a row stays "
                "zeros: what can be the divisor instead of 0?", "divided = mixed / total"),
        mistake("a row of zeros filled", "A row of zeros was made the identity's, or even. With residual 0 nothing is "
                "in that position: what does the exercise say of its row?",
                "divided = torch.where(total == 0, own, mixed / torch.where(total == 0, 1.0, total))",
                "divided = torch.where(total == 0, 1 / len(own), mixed / torch.where(total == 0, 1.0, total))"),
        mistake("the axis of the sums lost", "Each table was divided by its sums, but they have lost an axis and meet "
                "another one. Which argument of `sum` keeps it?", "total = mixed.sum(-1)"),
        mistake("epsilon in the denominator", "The rows sum to a little less than 1: something small was added to "
                "every sum. Which rows need help, and which are safe as they are?", "divided = mixed / (total + 1e-6)",
                "divided = mixed / (total + 1e-5)", matches=_epsilon),
        mistake("heads rolled out apart", "Each head was multiplied by itself through the layers, and the heads "
                "averaged at the end. What one head reads, another head wrote: where must they be averaged?",
                "own = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)\nfound = [own]\naveraged = each\n"
                "result = found[-1].mean(1)",
                "own = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)\nfound = [own]\naveraged = each"),
        *HEADS,
        mistake("layers added instead of multiplied", "The layers were added or averaged. What a layer reads is what "
                "the one below it made: how are two such steps put together?", "above = below + divided",
                "above = (below + divided) / 2", "result = sum(found[1:]) / len(layers)",
                "result = sum(found) / len(found)",
                "above = divided\nresult = sum(found[1:]) / len(layers)",
                "above = divided\nresult = sum(found[1:])",
                "above = divided\nresult = torch.linalg.matrix_power(sum(found[1:]) / len(layers), len(layers))"),
        mistake("multiplied entry by entry", "The tables were multiplied entry by entry. From a token to a position "
                "there are as many ways as there are tokens between: which product adds them up?",
                "above = below * divided", "above = divided if len(found) == 1 else below * divided"),
        mistake("the table of the layer transposed", "A layer's table was turned round. Its rows are the positions "
                "above it: which axis meets the rows of the product so far?", "above = divided.mT @ below",
                "averaged = each.mean(1).mT"),
        mistake("the identity subtracted", "A position's own share was taken out at the end. It is part of what is in "
                "it.", "result = found[-1] - own", "result = found[-1] * (1 - own)",
                "rest = found[-1] * (1 - own)\nresult = rest / rest.sum(-1, keepdim=True)"),
        mistake("the product so far kept beside the new one", "What the layers below had gathered was added to the "
                "product. The residual is in the mixture already.", "above = below + divided @ below",
                "above = divided if number == 0 else below + divided @ below",
                "above = (below + divided @ below) / 2", "above = share * below + (1 - share) * divided @ below"),
    ),
    hints=(
        "Take one layer. With residual .5, how much of its own input is in position 0, and how much of token 1's?",
        "Before two layers can be multiplied, each must be one table (B, L, L) of shares. In which order do averaging "
        "the heads, mixing and dividing come?",
        "x above = A₂(A₁x). Which of the two tables stands next to the input?",
        "Start from the identity and multiply each layer's table from the left. `torch.where` keeps a sum of 0 out of "
        "the denominator.",
    ),
)
