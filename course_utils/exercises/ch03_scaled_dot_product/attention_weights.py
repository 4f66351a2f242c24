"""Exercise: how much each query takes from each key."""

from typing import Any

from course_utils.attention import attention_weights
from course_utils.checking.exercise import case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import cut_off, fixed_axes, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, WEIGHT_LAWS, epsilon, some_epsilon
from course_utils.exercises.shared.values import operator_inside
from torch import Tensor

RIGHT = """
def attention_weights(query, key, scale=None):
    default = 1 / math.sqrt(query.shape[-1])
    factor = default if scale is None else scale
    products = query @ key.mT
    scaled = products * factor
    scores = scaled
    weights = stable_softmax(scores)
    return weights
"""


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, scale = (*args, None)[:3]
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    return some_epsilon(scores, attention_weights(*args), got)


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key = args[:2]
    if got.shape != (*query.shape[:-1], key.shape[-2]) or key.shape[-2] < 2:
        return False
    return some_scale(lambda scale: attention_weights(query, key, scale), got.detach())


EXERCISE = exercise(
    attention_weights,
    right=RIGHT,
    asks="Score each query against each key, scale, and softmax over the keys.",
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        case("2 queries, 3 keys, width 4", L=2, S=3, d_k=4, gradient="equal"),
        case("a batch of shape (2, 3): 5 queries, 7 keys, width 6", batch=(2, 3), L=5, S=7, d_k=6, gradient="equal"),
        case("scale=0.3", batch=(2, 3), L=4, S=7, d_k=5, scale=0.3, gradient="equal"),
        case("scale=0.0: every key counts the same", batch=(2, 3), L=4, S=7, d_k=5, scale=0.0),
        case("scale=-2.0", batch=(2, 3), L=4, S=7, d_k=5, scale=-2.0),
        case("scale=1.0", batch=(2, 3), L=4, S=7, d_k=5, scale=1.0),
        case("scale=2.5", batch=(2, 3), L=4, S=7, d_k=5, scale=2.5),
        case("scale=2, a whole number", batch=(2, 3), L=4, S=7, d_k=5, scale=2),
        case("scores of thousands", batch=(2,), L=4, S=5, d_k=9, size=60.0),
        case("one query and one key", batch=(1,), L=1, S=1, d_k=4),
        case("every size is 4: a transpose keeps the shape", batch=(4,), L=4, S=4, d_k=4),
        case("one query, 6 keys, width 1", L=1, S=6, d_k=1),
        case("non-contiguous inputs", batch=(2,), L=3, S=6, d_k=8, strided=True),
        case("three leading axes", batch=(2, 1, 3), L=4, S=2, d_k=5),
        case("float32", batch=(2,), L=3, S=5, d_k=16, dtype="float32"),
        case("bfloat16", batch=(2,), L=3, S=5, d_k=4, dtype="bfloat16"),
    ),
    mistakes=(
        operator_inside(
                        "same = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1)\n"
                        "return F.scaled_dot_product_attention(query, key, same, scale=scale)"),
        mistake("distance instead of dot product", "Each pair is scored by its distance. A dot product also grows with "
                "the lengths: which operation multiplies entry by entry and adds up?",
                "products = -torch.cdist(query, key)", "products = -torch.cdist(query, key).square()"),
        mistake("features summed before the product", "The features were summed for each vector alone, and the two "
                "sums multiplied. In a dot product, which comes first: multiply or add?",
                "products = query.sum(-1, keepdim=True) * key.sum(-1).unsqueeze(-2)"),
        ALWAYS_CAUSAL,
        RANDOM,
        mistake("query and key swapped", "The table has a row for each key. Which of the two asks, and so owns a row?",
                "products = key @ query.mT", "weights = stable_softmax(scores).mT"),
        mistake("key reshaped instead of transposed", "The numbers of different keys are mixed. `view` and `reshape` "
                "cut memory anew; what swaps two axes?", "products = query @ key.reshape(key.mT.shape)"),
        mistake("axes swapped that are not the last two", "It works for some numbers of axes and fails for others: "
                "`.T`, `transpose(0, 1)` and `transpose(1, 2)` count from the front. Which two axes should swap, "
                "counted from the end?", "products = query @ key.permute(*reversed(range(key.dim())))",
                "products = query @ key.transpose(0, 1)", "products = query @ key.transpose(1, 2)"),
        mistake("cosine similarity", "The lengths of query and key play no part: these are cosines. Does a dot product "
                "divide by the lengths?",
                "default = 1.0\nproducts = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT",
                "products = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT"),
        fixed_axes("products = torch.bmm(query, key.transpose(1, 2))", "products = torch.bmm(query, key.mT)",
                   'products = torch.einsum("bld,bsd->bls", query, key)',
                   'products = torch.einsum("ld,sd->ls", query, key)',
                   'products = torch.einsum("bhld,bhsd->bhls", query, key)'),
        mistake("one maximum for the whole tensor", "Rows whose scores are far below the largest of all vanish: all "
                "their exponentials are 0. Whose maximum does a row need?",
                "powers = (scores - scores.max()).exp()\nweights = powers / powers.sum(-1, keepdim=True)"),
        *DEFAULT,
        *GIVEN,
        *epsilon(_epsilon, 1e-7),
        *another_scale(_some_scale),
        *SOFTMAX,
        cut_off("products = (query @ key.mT).detach()", "products = query.detach() @ key.mT",
                "products = query @ key.mT.detach()"),
        overwritten(*writing(attention_weights, 0, 1)),
        squeezed("return weights{}"),
        lower_precision(attention_weights, "return weights.bfloat16().to(query.dtype)"),
        *other_kinds("weights", "scores"),
    ),
    laws=WEIGHT_LAWS,
    hints=(
        "Three steps: scores, scale, softmax. What is the shape after each?",
        "Every query meets every key in one matrix product. Which of the two must have its last two axes swapped, and "
        "how do you say 'the last two' (`.mT`)?",
        "`scale` is a factor. Only when it `is None` do you compute it yourself, from the size of the last axis.",
        "The softmax runs over the axis of the keys, which is the last one of the scores. You have one that is stable "
        "already.",
    ),
)
