"""Mistakes where a kernel φ(q)·φ(k) takes the place of the softmax, and a count of all work.

The lines speak of `query`, `key`, `value`, the arguments, and of the steps

    feature = lambda x: F.elu(x) + 1
    near = feature(query)
    far = feature(key)
    mixed = value
    below = far
    sums = below.sum(-2, keepdim=True)
    top = near @ (far.mT @ mixed)
    bottom = (near * sums).sum(-1, keepdim=True)
    out = top / bottom

or, with a causal order, of running sums in `sums` and `top`: `top` for the values, `sums` and
`bottom` for the normaliser.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.checking.mistakes import Mistake, mistake
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten
from course_utils.measure import count_flops
from course_utils.measure.cost import Watching

# Products and exponentials taken number by number: a matrix product can be written with them too.
BY_NUMBER = {"mul", "mul_", "div", "div_", "exp", "exp_", "pow", "_softmax", "addcmul"}


def work(fn: Callable[..., object], *args: object) -> int:
    """Count the FLOPs of matrix products, and each product or exponential outside of them once."""
    with _ByNumber() as counter:
        flops = count_flops(fn, *args)
    return flops + counter.total


class _ByNumber(Watching):
    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        if func.overloadpacket.__name__ in BY_NUMBER and isinstance(out, Tensor):
            self.total += math.prod(out.shape)


_OTHERS = (
    "F.relu",
    "lambda x: F.relu(x) + 1",
    "torch.exp",
    "torch.sigmoid",
    "F.softplus",
    "lambda x: F.elu(x + 1)",
    "lambda x: F.elu(x) + 2",
    "lambda x: F.leaky_relu(x) + 1",
    "lambda x: F.selu(x) + 1",
    "lambda x: F.gelu(x) + 1",
    "lambda x: F.silu(x) + 1",
    "lambda x: F.celu(x, 2.0) + 1",
    "lambda x: x.tanh() + 1",
    "lambda x: x.square()",
    "lambda x: x.abs()",
    "lambda x: F.relu(x) + 1e-6",
    "lambda x: (F.elu(x) + 1).square()",
    "lambda x: F.elu(F.elu(x) + 1) + 1",
    "lambda x: F.elu(x, 0.5) + 1",
    "lambda x: F.elu(x, 2.0) + 1",
    "lambda x: F.elu(x) + 1 + 1e-6",
    "lambda x: torch.where(x > 0, x, x.exp())",
    "lambda x: torch.where(x > 0, x + 1, x.exp() - 1)",
    "lambda x: F.elu(-x) + 1",
)

FEATURES = (
    mistake("the + 1 missing", "The features can be negative, so the weights can be too, and their sum can vanish. elu "
            "never goes below -1: what makes a feature of it?",
            "feature = F.elu", "near = F.elu(query)", "far = F.elu(key)"),
    mistake("no features", "Queries and keys are used as they are. q·k can be negative, a weight cannot: what is "
            "applied to each of them first?", "feature = lambda x: x", "feature = lambda x: x\nout = top",
            "feature = lambda x: x\nout = top / math.sqrt(query.shape[-1])"),
    mistake("features of one side only", "Only queries or only keys went through φ. A weight is φ(q)·φ(k): which "
            "factor is still raw?", "far = key", "near = query"),
    mistake("other features", "The features come from another function than elu(x) + 1. What is that for x = -1, for 0 "
            "and for 2?", *(f"feature = {other}" for other in _OTHERS)),
    mistake("softmax as features", "A softmax was taken of queries or keys one by one. That is another efficient "
            "attention: here the features are elu(x) + 1.", "near = query.softmax(-1)\nfar = key.softmax(-2)",
            "feature = lambda x: x.softmax(-1)", "near = query.softmax(-1)\nfar = key.softmax(-2)\nout = top",
            "feature = lambda x: (F.elu(x) + 1).softmax(-1)"),
    mistake("scaled", "Queries or keys are divided by a root of d_k before φ. Which scale does the exercise ask for?",
            "near = feature(query / math.sqrt(query.shape[-1]))",
            "feature = lambda x: F.elu(x / math.sqrt(x.shape[-1])) + 1",
            "feature = lambda x: F.elu(x * x.shape[-1] ** -0.25) + 1", "far = feature(key / math.sqrt(key.shape[-1]))"),
    mistake("features of length 1", "Queries or keys were brought to length 1. The lengths take part in the weights: "
            "what asks for that step?", "feature = lambda x: F.normalize(F.elu(x) + 1, dim=-1)",
            "feature = lambda x: F.elu(F.normalize(x, dim=-1)) + 1", "far = F.normalize(feature(key), dim=-1)"),
    mistake("values through φ", "The values went through φ too. They are what is averaged: who compares them with "
            "anything?", "mixed = feature(value)"),
    mistake("keys averaged instead of values", "The weights average the keys. A key says where to look; what says what "
            "is found there?", "mixed = key"),
)

TOTAL = (
    mistake("normaliser missing", "The weights of a query do not sum to 1, so the output grows with the number of "
            "keys. What is it divided by?", "out = top"),
    mistake("divided by a count", "The sum is divided by a number of keys or a root. The weights of a query sum to "
            "φ(q)·Σφ(k), which differs from query to query.", "out = top / key.shape[-2]",
            "out = top / math.sqrt(key.shape[-2])", "out = top / math.sqrt(key.shape[-1])", "out = top / key.shape[-1]",
            "out = top / bottom / key.shape[-2]", "out = top / bottom / math.sqrt(query.shape[-1])",
            "out = top / torch.arange(1, top.shape[-2] + 1).unsqueeze(-1)"),
    mistake("half of the normaliser", "Only one of φ(q) and Σφ(k) is in the denominator. The sum of the weights of a "
            "query is the product of both: which one is missing?", "out = top / near.sum(-1, keepdim=True)",
            "far = feature(key) / feature(key).sum(-2, keepdim=True)\nout = top",
            "near = feature(query) / feature(query).sum(-1, keepdim=True)\n"
            "far = feature(key) / feature(key).sum(-2, keepdim=True)\nout = top",
            "out = top / far.sum((-2, -1), keepdim=True)", "out = top / far.sum()",
            "out = top * near.sum(-1, keepdim=True) / bottom"),
    mistake("a mean below", "The sum above is divided by a mean, so the weights sum to the number of keys. What do sum "
            "and mean differ by?",
            "out = top * key.shape[-2] / bottom", "bottom = (near * sums).mean(-1, keepdim=True)"),
    mistake("raw keys below", "The sum below takes keys or queries without φ, so it is not the sum of the weights "
            "above. Which features belong in both?", "below = key", "bottom = (query * sums).sum(-1, keepdim=True)",
            "below = key\nbottom = (query * sums).sum(-1, keepdim=True)"),
    mistake("multiplied instead of divided", "The sum of the weights multiplies the output. Larger weights must not "
            "make a larger average: on which side of the fraction does it belong?", "out = top * bottom"),
    mistake("normaliser cut off", "The values are right, but no gradient goes through the sum of the weights, as if it "
            "were a constant. Which call cuts it off?", "out = top / bottom.detach()"),
    cut_off("far = feature(key).detach()", "near = feature(query).detach()", "mixed = value.detach()",
            "out = (top / bottom).detach()"),
)

PLACES = (
    mistake("query and key swapped", "The keys ask and the queries answer. Which of the two is summed together with "
            "the values?", "near = feature(key)\nfar = feature(query)"),
    mistake("the wrong two compared", "The weights do not come from queries and keys: one of the three was used twice "
            "or in another's place. Which two are compared with each other?", "near = feature(value)\nmixed = query",
            "far = feature(value)\nmixed = key", "far = feature(query)", "near = feature(key)", "far = feature(value)",
            "below = near"),
)

# The values are right; it shows in the gradients of inputs so large that exp overflows.
BRANCH = mistake("NaN from the branch not taken", "The values are right, but the gradient of large inputs is NaN: "
                 "`where` computes both branches and throws one away, and on the way back 0 times infinity is NaN. "
                 "What must be done to an input before exp, where exp is not taken?",
                 "feature = lambda x: torch.where(x > 0, x + 1, x.exp())",
                 "feature = lambda x: torch.where(x >= 0, x + 1, x.exp())")
# Lines by which the sequences of a batch meet.
_FIRST = "[:1].expand_as({0}) if {0}.dim() > 2 else {0})"
TOGETHER = (
    f"far = feature(key{_FIRST.format('key')}\nmixed = (value{_FIRST.format('value')}",
    f"far = feature(key{_FIRST.format('key')}",
    f"mixed = (value{_FIRST.format('value')}",
    "far = feature(key.sum(0, True).expand_as(key) if key.dim() > 2 else key)",
)
OTHER_KINDS = (
    *other_kinds("out"),
    overwritten("near = F.elu(query, inplace=True) + 1", "far = F.elu(key, inplace=True) + 1",
                "near = F.elu(query, inplace=True) + 1\nfar = F.elu(key, inplace=True) + 1"),
)


def softmax_kept(hide: str = "") -> Mistake:
    """Return the mistake of softmax attention; `hide` is what hides the future in its scores."""
    return mistake(
        "softmax kept",
        "This is softmax attention. exp(q·k) does not come apart into a part of the query and a part of the key: what "
        "takes its place here?",
        f"scores = query @ key.mT / math.sqrt(query.shape[-1])\nout = torch.softmax(scores{hide}, -1) @ value",
        f"scores = query @ key.mT\nout = torch.softmax(scores{hide}, -1) @ value",
    )


def epsilon_below(weights: Callable[[Tensor], Tensor], reference: Callable[..., Tensor]) -> Mistake:
    """Return the mistake of anything small in the denominator, added to it or as its least value.

    Args:
        weights: What is done to the table of all weights: nothing, or `torch.tril`.
        reference: The right function.
    """

    def explains(args: tuple[Any, ...], got: Tensor) -> bool:
        right, got = reference(*args), got.detach()
        if got.shape != right.shape or not got.dtype == right.dtype == torch.float64:
            return False
        total = weights((F.elu(args[0]) + 1) @ (F.elu(args[1]) + 1).mT).sum(-1).flatten()
        rows, wanted = got.reshape(len(total), -1), right.reshape(len(total), -1)
        share = (rows * wanted).sum(-1) / wanted.square().sum(-1)
        if not bool(((rows - share.unsqueeze(-1) * wanted).abs() <= 1e-6 * rows.abs().max()).all()):
            return False
        added = total / share - total
        return any(_is_constant(x) for x in (added, (total + added)[added > 1e-6 * total]))

    return mistake("epsilon in the denominator", "Something was added to the sum of the weights, or a small sum was "
                   "lifted. Where the features are small, it is not small compared with them. The sum is positive.",
                   "out = top / (bottom + 1e-6)", "out = top / (bottom + 1)",
                   "out = top / bottom.clamp(min=1e-6)", matches=explains)


def _is_constant(x: Tensor) -> bool:
    return len(x) > 1 and 0.0 < float(x[0]) <= 10.0 and bool(((x - x[0]).abs() <= 1e-3 * x[0]).all())
