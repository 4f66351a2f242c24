"""Exercise: weights counted where they speak for a class, added up over the layers."""

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import adding, mistake
from course_utils.exercises.shared.layers import HEADS, LAYERS, side_by_side
from course_utils.interpretability import gradient_attention
from torch import Tensor

RIGHT = """
def gradient_attention(layers, gradients):
    own = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    found = [own.expand(len(layers[0]), -1, -1)]
    order = range(len(layers))
    for number in order:
        weights = layers[number]
        slope = gradients[number]
        product = slope * weights
        each = product.clamp(min=0)
        averaged = each.mean(1)
        below = found[-1]
        passed = averaged @ below
        above = below + passed
        found.append(above)
    result = found[-1]
    return result
"""


def written_over(relevance: Tensor, layer: Tensor, by_entries: bool) -> Tensor:
    """Add what a layer passes on in place, row by row, or entry by entry."""
    made = relevance.clone()
    for i in range(layer.shape[-1]):
        if not by_entries:
            made[:, i] = made[:, i] + (layer[:, i, None] @ made)[:, 0]
            continue
        for j in range(layer.shape[-1]):
            made[:, i] = made[:, i] + layer[:, i, j, None] * made[:, j]
    return made


def _made(n: int, *shape: int, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make n layers (B, H, L, L) of weights, and as many of gradients."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        layers = normal(g, n, *shape, shape[-1], size=1.5).softmax(-1)
        return layers.to(dtype), normal(g, n, *shape, shape[-1], size=size, dtype=dtype)

    return make


def _causal(g: torch.Generator) -> tuple[Tensor, Tensor]:
    layers, gradients = _made(3, 2, 2, 5)(g)
    layers = layers.tril()
    return layers / layers.sum(-1, keepdim=True), gradients


def _signed(sign: int) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        layers, gradients = _made(2, 2, 3, 4)(g)
        return layers, sign * gradients.abs()

    return make


def _opposed(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make two heads that speak for and against the class by the same amount, nearly."""
    layers, gradients = _made(2, 2, 1, 4)(g)
    return layers.expand(-1, -1, 2, -1, -1).clone(), torch.cat([gradients, -0.9 * gradients], 2)


def _strided(g: torch.Generator) -> tuple[Tensor, Tensor]:
    layers, gradients = _made(2, 2, 3, 6)(g)
    return layers.mT.contiguous().mT, gradients.transpose(1, 2).contiguous().transpose(1, 2)


def _below_the_identity(args: tuple[Tensor, ...], result: Tensor) -> str | None:
    length = args[0].shape[-1]
    low = (result.detach().double() - torch.eye(length)).min().item() if result.numel() else 0.0
    return None if low >= -1e-6 else f"The smallest relevance, less the identity's, is {low:.4g}."


EXERCISE = exercise(
    gradient_attention,
    right=RIGHT,
    asks="Per layer, average the positive part of gradient times weight over the heads; add it up along the layers.",
    minutes=12,
    difficulty=3,
    importance=4,
    cases=tuple(case(name, make, run=side_by_side) for name, make in (
        ("one layer, 2 heads, 3 tokens", _made(1, 2, 2, 3)),
        ("two layers, one head", _made(2, 3, 1, 4)),
        ("3 layers, 4 heads", _made(3, 2, 4, 5)),
        ("heads for and against", _opposed),
        ("causal layers", _causal),
        ("no gradient against", _signed(1)),
        ("every gradient against", _signed(-1)),
        ("gradients of 1e-4", _made(2, 2, 3, 4, size=1e-4)),
        ("gradients of 30", _made(3, 2, 2, 4, size=30.0)),
        ("gradients of 0", lambda g: (_made(2, 2, 3, 4)(g)[0], torch.zeros(2, 2, 3, 4, 4, dtype=torch.float64))),
        ("one token", _made(2, 3, 2, 1)),
        ("one sequence, one head", _made(2, 1, 1, 4)),
        ("every size is 3", _made(3, 3, 3, 3)),
        ("non-contiguous inputs", _strided),
        ("float32", _made(3, 2, 3, 5, dtype=torch.float32)),
    )),
    mistakes=(
        mistake("size of the gradient", "Weights that speak against the class count as much as those that speak for "
                "it: the gradient's sign was thrown away. What should become of negative products?",
                "product = slope.abs() * weights", "each = product.square()", "product = slope.square() * weights",
                "each = product\naveraged = each.mean(1).abs()"),
        mistake("no cut at 0", "Negative products were kept, so weights for and against the class cancel each other. "
                "What should become of them?", "each = product"),
        mistake("cut after the mean over the heads", "The heads were averaged before negative products were cut off, "
                "so one head's No cancelled another one's Yes. Which comes first?",
                "each = product\naveraged = each.mean(1).clamp(min=0)"),
        mistake("heads averaged before the product", "Weights or gradients were averaged over the heads before they "
                "met. Each head has a gradient for its own weights.",
                "slope = gradients[number].mean(1, keepdim=True)", "weights = layers[number].mean(1, keepdim=True)",
                "slope = gradients[number].mean(1, keepdim=True)\nweights = layers[number].mean(1, keepdim=True)"),
        mistake("cut above as well", "Large products were cut off, too, or squeezed between 0 and 1. From which side "
                "does the formula cut?", "each = product.clamp(0, 1)", "each = product.clamp(min=0).tanh()",
                "each = product.sigmoid()"),
        mistake("cut at the wrong side", "The products that speak against the class were kept, and those that speak "
                "for it cut off.", "each = product.clamp(max=0)", "each = (-product).clamp(min=0)"),
        mistake("no identity", "There is no identity in this, or it was taken out at the end. What reaches a position "
                "through the residual alone?", "above = passed", "result = found[-1] - own",
                "above = passed if number else averaged", "result = found[-1] * (1 - own)"),
        mistake("another start than the identity", "The sum starts from zeros, where it stays, or from ones. How "
                "relevant is each token for itself before the first layer, and how relevant for the others?",
                "found = [torch.ones_like(own).expand(len(layers[0]), -1, -1)]",
                "found = [0 * own.expand(len(layers[0]), -1, -1)]"),
        mistake("the product reversed", "The new layer stands on the right of the product, or the loop begins with the "
                "last layer. A layer reads what those below it have gathered: which of the tables has the input tokens "
                "for columns?", "passed = below @ averaged", "order = range(len(layers))[::-1]"),
        *adding(LAYERS[1:], {"the caller's layers changed": ("product = layers[number].mul_(gradients[number])",
                                                             "product = gradients[number].mul_(layers[number])")}),
        mistake("R changed while it is read", "Rows of R that had been updated went into those after them. What must "
                "be kept as it is until the layer is done?", "above = written_over(below, averaged, False)",
                "above = written_over(below, averaged, True)"),
        mistake("the gradients alone", "The weights play no part. Where a weight is 0, how much does its gradient "
                "matter?", "product = slope",
                "product = slope.abs()"),
        mistake("the weights alone", "The gradients play no part. What says for which class a weight speaks?",
                "product = weights", "slope = torch.ones_like(gradients[number])"),
        mistake("added instead of multiplied", "Gradient and weight were added. A large gradient at a weight of 0 "
                "means nothing: which operation says so?", "product = slope + weights"),
        mistake("multiplied as matrices",
                "Gradient and weight met in a matrix product. Each weight has a gradient of its own.",
                "product = slope @ weights", "product = weights @ slope", "product = slope @ weights.mT",
                "product = slope.mT @ weights"),
        mistake("positive products averaged alone", "The mean was taken over the positive products alone. A head that "
                "has nothing to say for the class is still a head.",
                "averaged = each.sum(1) / (product > 0).sum(1).clamp(min=1)"),
        mistake("gradients of another layer", "A layer's weights met another layer's gradients. Which way round are "
                "the lists?", "slope = gradients[-1 - number]", "slope = gradients[0]", "slope = gradients[-1]"),
        mistake("layers added instead of multiplied", "The layers' tables were added up, as if each read the input. "
                "What does the second layer read?", "passed = averaged"),
        mistake("multiplied entry by entry", "The tables were multiplied entry by entry. Which product adds up all the "
                "ways from a token to a position?", "passed = averaged * below"),
        mistake("rows divided", "The rows were divided by their sums or their largest. These are not shares: nothing "
                "here has to sum to 1.",
                "averaged = each.mean(1) / each.mean(1).sum(-1, keepdim=True).clamp(min=1e-12)",
                "result = found[-1] / found[-1].sum(-1, keepdim=True)",
                "above = (below + passed) / (below + passed).sum(-1, keepdim=True)",
                "result = found[-1] / found[-1].amax(-1, keepdim=True)"),
        mistake("the residual halved", "The identity and the layer were mixed as in rollout. Here the layer is added "
                "to what was there.", "above = 0.5 * below + 0.5 * passed", "above = below + 0.5 * passed"),
        mistake("a softmax inside", "A softmax was taken. The weights have been through one, and gradients need none.",
                "averaged = torch.softmax(each.mean(1), -1)", "weights = torch.softmax(layers[number], -1)"),
        mistake("the table of the layer transposed", "A layer's table was turned round. Its rows are the positions "
                "above it.", "passed = averaged.mT @ below", "product = slope.mT * weights",
                "product = slope * weights.mT"),
        *HEADS,
    ),
    laws=(Law("no relevance is below the identity's", _below_the_identity),),
    hints=(
        "One layer first: which entries of gradient times weight speak for the class?",
        "Two heads, one with the product .3 and one with -.2 at the same entry. What is the mean of the positive "
        "parts, and what is the positive part of the mean?",
        "Before the first layer, each token is relevant for itself alone: that is R. A layer passes on what the "
        "positions that it reads have gathered: Ā·R.",
        "Passed on is not lost: the residual keeps what was there, so the new R is the old one and what was passed on.",
    ),
)
