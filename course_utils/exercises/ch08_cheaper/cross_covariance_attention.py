"""Exercise: attention between features instead of tokens."""

from typing import Any

import torch
import torch.nn.functional as F
from course_utils.attention import cross_covariance_attention
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, only, saying, without
from course_utils.exercises.shared.heads import AMONG
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES
from torch import Tensor

# Turned, the features are the rows that ask and answer, so that the lines about tokens speak of them.
RIGHT = """
def cross_covariance_attention(query, key, value, temperature):
    query = F.normalize(query, dim=-2).mT
    key = F.normalize(key, dim=-2).mT
    value = value.mT
    factor = temperature
    products = query @ key.mT
    scaled = products * factor
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value
    return out.mT
"""
_UNIT = "query = F.normalize(query, dim=-2).mT"

# It has a scale of its own instead of the temperature.
_TURNED = "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value"


def _both(norm: str) -> str:
    """Return the lines that bring X, queries and keys, to another length."""
    return f"query = ({norm.replace('X', 'query')}).mT\nkey = ({norm.replace('X', 'key')}).mT"


def _tokens(scores: str) -> str:
    return f"tokens = torch.softmax({scores}, -1) @ value\n{_UNIT}\nreturn tokens"


def _each(change: str) -> str:
    """Return the line that changes a temperature for each head, and leaves a number as it is."""
    return f"factor = temperature{change} if isinstance(temperature, Tensor) else temperature"


def _made(*shape: int, temperature: float = 0.0, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make query, key and value (B, H, L, d), and a temperature: this one, or one for each head."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key = (normal(g, *shape, size=size, dtype=dtype) for _ in range(2))
        value, each = normal(g, *shape, dtype=dtype), 1 + normal(g, shape[1], 1, 1).abs()
        return query, key, value, temperature or (4 * each).to(dtype)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    *tensors, temperature = _made(2, 3, 6, 4, temperature=3.0)(g)
    return *(strided(x) for x in tensors), temperature


def _unequal(g: torch.Generator) -> tuple[Tensor, ...]:
    """Make features of very different size, and means far from 0."""
    query, key, value, temperature = _made(2, 3, 7, 5)(g)
    sizes = torch.tensor([0.1, 1.0, 10.0, 0.3, 100.0], dtype=query.dtype)
    return (query + 0.5) * sizes, (key - 1.0) * sizes.flip(0), value, temperature


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, temperature = args
    scores = F.normalize(query, dim=-2).mT @ F.normalize(key, dim=-2) * temperature
    return got.shape == value.shape and some_epsilon(scores, cross_covariance_attention(*args).mT, got.mT)


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, temperature = args
    if got.shape != value.shape or value.shape[-1] < 2:
        return False
    return some_scale(
        lambda scale: cross_covariance_attention(query, key, value, scale * temperature), got.detach(), 1.0
    )


EXERCISE = exercise(
    cross_covariance_attention,
    right=RIGHT,
    asks="Mix the features of the values by how alike the features of queries and keys are.",
    minutes=12,
    difficulty=3,
    importance=3,
    cases=(
        case("7 tokens, 4 features, temperature 2", _made(2, 3, 7, 4, temperature=2.0)),
        case("3 tokens, 5 features, temperature 6", _made(3, 2, 3, 5, temperature=6.0)),
        case("temperature 1", _made(2, 3, 5, 4, temperature=1.0), gradient="equal"),
        case("temperature 0.4", _made(2, 3, 5, 4, temperature=0.4)),
        case("a temperature for each head", _made(2, 3, 6, 4), gradient="equal"),
        case("as many sequences as heads", _made(3, 3, 6, 4)),
        case("as many tokens as features", _made(2, 4, 5, 5)),
        case("every size is 4: a transpose keeps the shape", _made(4, 4, 4, 4)),
        case("features of very different size", _unequal),
        case("large inputs", _made(2, 3, 6, 4, temperature=5.0, size=1000.0)),
        case("one feature", _made(2, 3, 4, 1)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, 3, 9, 6, dtype=torch.float32), tolerance=1e-4),
        case("bfloat16", _made(2, 3, 5, 4, temperature=1.0, dtype=torch.bfloat16), tolerance=0.2),
    ),
    mistakes=(
        RANDOM,
        mistake("softmax over tokens", "The weights are L × L: tokens attend to tokens, as anywhere else. Here "
                "features attend to features, d × d: which axis is summed over in the product?",
                _tokens("F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT * temperature"),
                _tokens("query @ key.mT * temperature"),
                _tokens("F.normalize(query, dim=-2) @ F.normalize(key, dim=-2).mT * temperature"),
                _tokens("query @ key.mT / math.sqrt(query.shape[-1])")),
        mistake("lengths over the features", "Each token was brought to length 1, as for cosines between tokens. What "
                "is compared here is a feature, over all its tokens: along which axis is its length taken?",
                _both("F.normalize(X, dim=-1)"), "query = F.normalize(query, dim=-1).mT",
                "key = F.normalize(key, dim=-1).mT"),
        mistake("lengths over the heads or the sequences", "The lengths were taken over the heads or the sequences, or "
                "over everything: an axis counted from the front? A feature is compared over all its tokens: along "
                "which axis is its length taken, counted from the end?",
                _both("F.normalize(X, dim=1)"), _both("F.normalize(X, dim=0)"),
                _both("F.normalize(X.flatten(-2), dim=-1).view(X.shape)"), _both("X / X.norm()"),
                _both("F.normalize(X)")),
        mistake("lengths kept",
                "Queries, keys or both were not brought to length 1, so the scores grow with the number of "
                "tokens. What keeps them between -1 and 1?", _both("X"), "query = query.mT", "key = key.mT",
                _both("X") + "\nfactor = temperature / math.sqrt(value.shape[-2])",
                _both("X") + "\nfactor = temperature / math.sqrt(value.shape[-1])",
                _both("X") + "\nfactor = temperature / value.shape[-1]"),
        mistake("another norm", "The columns were divided by something other than their "
            "lengths. The length is the root "
                "of the sum of squares.", _both("F.normalize(X, p=1, dim=-2)"),
                _both("X / X.square().sum(-2, keepdim=True)"), _both("X / X.amax(-2, keepdim=True)"),
                _both("X / X.std(-2, keepdim=True)"), _both("X.softmax(-2)"),
                _both("F.normalize(F.normalize(X, dim=-1), dim=-2)"),
                _both("X / X.square().mean(-2, keepdim=True).sqrt()"), _both("X / X.sum(-2, keepdim=True)"),
                _both("X / X.norm(dim=-2, keepdim=True).square()"), _both("X / X.norm(dim=-2, keepdim=True).sqrt()")),
        mistake("centred first", "The mean of each column was subtracted, as for a covariance or a layer norm. Here a "
                "column is only brought to length 1: its mean counts.",
                _both("F.normalize(X - X.mean(-2, keepdim=True), dim=-2)"), _both("X - X.mean(-2, keepdim=True)"),
                _both("(X - X.mean(-2, keepdim=True)) / X.std(-2, keepdim=True)"),
                _both("(X - X.mean(-2, keepdim=True)) / X.std(-2, keepdim=True, unbiased=False)"),
                _both("F.normalize(X - X.mean(-1, keepdim=True), dim=-2)")),
        mistake("lengths without a gradient",
                "The values are right, but the lengths count as constants on the way back. "
                "They depend on every number of their columns: which call hides that?",
                _both("X / X.norm(dim=-2, keepdim=True).detach()"),
                "query = (query / query.norm(dim=-2, keepdim=True).detach()).mT",
                "key = (key / key.norm(dim=-2, keepdim=True).detach()).mT"),
        mistake("an epsilon in the length", "Something was added to the lengths. Short columns feel it: after the "
                "division, is their length 1?",
                *(_both(f"X / (X.norm(dim=-2, keepdim=True) + {small})") for small in (1e-6, 1e-5, 1e-3)),
                *(_both(f"X / (X.square().sum(-2, keepdim=True) + {small}).sqrt()") for small in (1e-6, 1e-5))),
        mistake("divided by the temperature", "The temperature divides the scores, as in the paper's formula. Here it "
                "multiplies, as in its code: should 2 make the weights sharper or flatter?",
                "factor = 1 / temperature"),
        mistake("a temperature of one kind only",
                "The temperature may be a number, or a tensor with one for each head, and "
                "here one of the two fails. Which operations take both as they are?",
                "factor = float(temperature)", _each(".item()"),
                *(f"factor = temperature.{call}" for call in (
                    "view(-1, 1, 1)", "reshape(-1, 1, 1)", "unsqueeze(-1)", "to(query.dtype)", "dim()",
                    "expand(-1, 1, 1)", "squeeze()", "flatten()", "exp()", "clamp(max=100)", "view(1, -1, 1, 1)",
                    "view(-1)", "unsqueeze(0)", "size(0)", "ndim", "numel()", "type_as(query)"))),
        mistake("no temperature", "The temperature changes nothing. Is it used, or is it added to a whole row, and "
                "cancels?", "factor = 1.0", "scaled = products + temperature"),
        mistake("a temperature for each sequence", "The temperatures run along the batch. There is one for each head: "
                "(H, 1, 1) broadcasts to that by itself.", _each(".unsqueeze(-1)")),
        mistake("temperature of the first head", "All heads got the same temperature. There may be one for each: along "
                "which axis are they?", _each(".flatten()[0]"), _each(".mean()")),
        cut_off(_each(".detach()"), "query = F.normalize(query, dim=-2).detach().mT",
                "out = (weights @ value).detach()",
                "key = F.normalize(key, dim=-2).detach().mT", "out = weights.detach() @ value",
                "value = value.mT.detach()"),
        batch_mixed("out = weights[:1] @ value", "out = weights.mean(0, keepdim=True) @ value",
                    "out = weights @ value[:1]", "key = F.normalize(key, dim=-2).mT[:1]",
                    "products = (query @ key.mT).sum(0, keepdim=True).expand(query.shape[0], -1, -1, -1)"),
        mistake("a loop that leaves one out", "A feature or a token takes no part: the first or the last one. Which "
                "numbers does your `range` give, and where does your slice end?",
                "out = weights[..., :-1] @ value[..., :-1, :]", "out = weights[..., 1:] @ value[..., 1:, :]",
                "products = query[..., :-1] @ key[..., :-1].mT", "products = query[..., 1:] @ key[..., 1:].mT",
                "return out.mT * (torch.arange(out.shape[-2]) < out.shape[-2] - 1).to(out)",
                "return out.mT * (torch.arange(out.shape[-2]) > 0).to(out)",
                "return out.mT[:, :, :-1]", "return out.mT[..., :-1]"),
        *saying(only(DEFAULT, "scale after softmax"), {
            "scale after softmax": "The weights were multiplied by the temperature, so a row no longer sums to 1. "
                "Which numbers does it make sharper?",
        }),
        *epsilon(_epsilon, 1e-7, 1e-8),
        mistake("another scale besides",
                "The scores are multiplied by something other than the temperature, in its place "
                "or besides it. Both vectors have length 1 already: what is left for a root to do?",
                "factor = temperature / math.sqrt(query.shape[-2])", "factor = 1 / math.sqrt(query.shape[-2])",
                "factor = temperature**2", "factor = math.e**temperature", matches=_another_scale),
        *AMONG,
        *saying(
            without(adding(SOFTMAX, {"no softmax": ("weights = scores.relu()",)}),
                    "softmax over an axis counted from the front", "no shift before exp"),
            {
                "softmax over the queries": "The columns of the weights sum to 1, not the rows. Feature i of the query "
                "divides its attention among the key's features: which axis are those?"
            },
        ),
        *saying((ALWAYS_CAUSAL,), {
            ALWAYS_CAUSAL.name: "Each feature sees only those up to its own number. Features have no order, and "
                "nobody asked for a mask: where does it come from?",
        }),
        *saying(
            adding(without(VALUES, "the root of the width of the values"), {
                "the values not used": ("return weights",),
                "keys averaged instead of values": ("value = key\nout = weights @ value",),
            }),
            {
                "weights transposed": "The values are mixed by the columns of the weights. Output feature i takes its "
                "shares from row i: over which index of the weights does the sum run?"
            },
        ),
        mistake("the output turned", "The output has its axes swapped: features before tokens. Its shape is that of "
                "value.", "return out", "return out.reshape(out.mT.shape)", "return out.mT.transpose(1, 2)"),
        mistake("the values brought to length 1", "The values were brought to length 1 too. They are what is mixed, "
                "and only queries and keys are compared.",
                "value = F.normalize(value, dim=-2).mT", "value = F.normalize(value, dim=-1).mT"),
        *saying(
            adding(
                without(COMPARED, "cosine similarity", _TURNED,
                        "key, value = value, key\ndefault = 1 / math.sqrt(query.shape[-1])",
                        "query, value = value, query\ndefault = 1 / math.sqrt(query.shape[-1])"),
                {
                    "the wrong two compared": (
                        f"key, value = value, key\n{_UNIT}",
                        f"query, value = value, query\n{_UNIT}",
                    )
                },
            ),
            {
                "query and key swapped": "The key's features ask and the query's answer. Whose features own a row of "
                "the weights?"
            },
        ),
        overwritten("query = query.div_(query.norm(dim=-2, keepdim=True)).mT", "key = key.div_(key.norm(dim=-2, "
                    "keepdim=True)).mT", _both("X.div_(X.norm(dim=-2, keepdim=True))")),
        *other_kinds("out.mT", "weights"),
        lower_precision(cross_covariance_attention, "out = (weights.float() @ value.float()).to(value.dtype)"),
    ),
    hints=(
        "A feature of the query is a column: one number for each token. Two columns are compared like any two vectors, "
        "once both have length 1.",
        "Bring the columns of query and key to length 1, over the tokens, the last axis but one. Which product of them "
        "has the shape (d, d)?",
        "Multiply the scores by the temperature; (H, 1, 1) broadcasts to (B, H, d, d). A row belongs to a feature of "
        "the query: softmax along the last axis.",
        "Feature i of the output is a mixture of the value's features, with the shares of row i. The values have "
        "features in their columns: what must be transposed in the product?",
    ),
)
