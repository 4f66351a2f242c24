"""Mistakes with the values of attention, with what is compared, and by another way.

The lines speak of `query`, `key`, `value`, which exist when `products` is set, and of the steps

    default = 1 / math.sqrt(query.shape[-1])
    products = query @ key.mT
    weights = stable_softmax(scores)
    out = weights @ value
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Law
from course_utils.checking.mistakes import Mistake, Trace, mistake

_OPERATORS = {
    "scaled_dot_product_attention",
    "multi_head_attention_forward",
    "_native_multi_head_attention",
    "flex_attention",
}


def calls_operator(trace: Trace) -> bool:
    """Return whether PyTorch's own attention was called."""
    hidden = any("scaled_dot_product" in name for name in trace.calls)
    return hidden or bool(_OPERATORS & trace.calls)


def operator_inside(*versions: str) -> Mistake:
    """Return the mistake of calling PyTorch's own attention, as these lines do."""
    return mistake("PyTorch's own attention inside", "PyTorch's own attention did the work. The point is to write it: "
                   "which three steps does it hide?", *versions, detects=calls_operator)


def average_law(values: Callable[[tuple[Any, ...]], Tensor]) -> Law:
    """Return the law that an average never leaves the range of what is averaged.

    Args:
        values: Takes the arguments; returns what is averaged over the last axis but one, with a row
            of zeros where a query may get zeros.
    """

    def outside(args: tuple[Any, ...], out: Tensor) -> str | None:
        given, got = values(args).detach().double(), out.detach().double()
        low, high = given.amin(-2, keepdim=True), given.amax(-2, keepdim=True)
        room = 0.05 * (high - low) + 1e-6
        wrong = (~((got >= low - room) & (got <= high + room))).nonzero()  # NaN, too
        if not len(wrong):
            return None
        where = tuple(int(i) for i in wrong[0])
        return (
            f"The output at index {list(where)} is {got[where].item():.4g}, outside the range of the values "
            "that it should average."
        )

    return Law("the output is an average of values", outside)


VALUES = (
    mistake("the root of the width of the values", "The scale comes from the width of the values. Which two vectors "
            "make a score, and how wide are they?",
            "default = 1 / math.sqrt(value.shape[-1])", "default = 1 / value.shape[-1]"),
    mistake("the values not used", "These are the weights. What do they weigh?", "out = weights"),
    mistake("keys averaged instead of values", "The weights average the keys. A key says where to look; what says what "
            "is found there?", "out = weights @ key"),
    mistake("the weights not used", "Every query gets the same plain mean of the values. Where do the weights come in?",
            "out = value.mean(-2, keepdim=True).expand(*weights.shape[:-1], value.shape[-1])",
            "out = value.sum(-2, keepdim=True).expand(*weights.shape[:-1], -1)"),
    mistake("weights transposed", "The values are added up along the wrong axis of the weights: each column was taken "
            "for a query. Which axis of the weights meets the keys of the values?", "out = weights.mT @ value"),
    mistake("something added to the average", "The output is more than an average of the values: another input was "
            "added to it. A residual connection goes around attention, not inside it.",
            "out = weights @ value + query", "out = weights @ value + value", "out = weights @ value + key"),
    mistake("divided by the number of keys", "The output is an average divided once more. What do the weights of a row "
            "already sum to?", "out = weights @ value / key.shape[-2]"),
)

COMPARED = (
    mistake("query and key swapped", "The keys did the asking: scores and weights have a row for each key. Which of "
            "the two owns a row?",
            "products = key @ query.mT", "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value"),
    mistake("the wrong two compared", "The scores do not come from queries and keys: one of the three was used twice "
            "or in another's place. Which two are compared with each other?", "products = query @ query.mT",
            "products = key @ key.mT", "products = query @ value.mT", "products = value @ key.mT",
            "products = value @ value.mT", "key, value = value, key\ndefault = 1 / math.sqrt(query.shape[-1])",
            "query, value = value, query\ndefault = 1 / math.sqrt(query.shape[-1])"),
    mistake("another kind of attention", "No table of weights stands between queries and values: the product of keys "
            "and values was taken first. Where is the softmax over the keys?",
            "near, far = F.elu(query) + 1, F.elu(key) + 1\n"
            "out = near @ (far.mT @ value) / (near @ far.sum(-2).unsqueeze(-1))",
            "out = torch.softmax(query, -1) @ (key.mT @ value)", "out = query @ (key.mT @ value)",
            "out = torch.softmax(query, -1) @ (torch.softmax(key, -2).mT @ value)"),
    mistake("cosine similarity", "The lengths of query and key play no part: these are cosines. Does a dot product "
            "divide by the lengths?", "products = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT",
            "default = 1.0\nproducts = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT"),
)
