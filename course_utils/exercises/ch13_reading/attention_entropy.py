"""Exercise: how widely each query spreads its attention."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import cut_off, left_in, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.precision import rounded_off
from course_utils.interpretability import attention_entropy
from torch import Tensor

RIGHT = """
def attention_entropy(weights):
    given = weights
    safe = torch.where(given > 0, given, 1.0)
    logs = safe.log()
    terms = given * logs
    total = terms.sum(-1)
    entropy = -total
    return entropy
"""


def _weights(*shape: int, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    return lambda g: (normal(g, *shape, size=size).softmax(-1).to(dtype),)


def _given(*rows: tuple[float, ...]) -> Make:
    return lambda g: (torch.tensor(rows, dtype=torch.float64),)


def _causal(g: torch.Generator) -> tuple[Tensor]:
    scores = normal(g, 2, 5, 5)
    return (scores.masked_fill(torch.ones(5, 5).triu(1) > 0, -torch.inf).softmax(-1),)


def _some_empty(g: torch.Generator) -> tuple[Tensor]:
    weights = _weights(2, 4, 3)(g)[0]
    weights[0, 1] = weights[1, 3] = 0.0
    return (weights,)


def _dropped(g: torch.Generator) -> tuple[Tensor]:
    """Scale the rows, as dropout and cut windows do."""
    return (_weights(2, 3, 4)(g)[0] * torch.linspace(0.4, 1.1, 3, dtype=torch.float64).unsqueeze(-1),)


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether something small, but larger than 1e-9, was added to every weight."""
    weights, right = args[0], attention_entropy(args[0])
    if got.shape != right.shape or not 0 < float((got - right).abs().max()) < 1:
        return False
    sizes = [one * 10.0**power for power in range(-8, -1) for one in (1, 2, 3, 5)] + [0.1]
    more = [weights + size for size in sizes]
    sums = [-(times * one.log()).sum(-1) for one in more for times in (weights, one)]
    sums += [-(weights * weights.clamp(min=size).log()).sum(-1) for size in sizes]
    return any(torch.allclose(one, got, rtol=1e-6, atol=1e-12) for one in sums)


def _negative(args: tuple[Any, ...], entropy: Tensor) -> str | None:
    low = entropy.detach().min().item() if entropy.numel() and args[0].max() <= 1 else 0.0
    return f"The smallest entropy is {low:.4g}, below 0." if low < -1e-6 else None


EXERCISE = exercise(
    attention_entropy,
    right=RIGHT,
    asks="From the weights, give the entropy of each row in nats.",
    minutes=7,
    difficulty=2,
    importance=4,
    cases=(
        case("one row: .5, .25, .25", _given((0.5, 0.25, 0.25)), gradient="equal"),
        case("a batch of shape (2, 3): 4 queries, 5 keys", _weights(2, 3, 4, 5), gradient="equal"),
        case("a causal mask: weights of 0", _causal, gradient="finite", tolerance=1e-5),
        case("rows that do not sum to 1", _dropped, gradient="equal"),
        case("rows of zeros", _some_empty, gradient="finite", tolerance=1e-5),
        case("all weight on one key, and the same on all", _given((0, 1, 0, 0), (0.25,) * 4), gradient="finite",
             tolerance=1e-5),
        case("every size is 4", _weights(4, 4, 4, 4)),
        case("one key", _weights(2, 3, 1), tolerance=1e-2),
        case("one query", _weights(3, 1, 5)),
        case("one query and one key, a weight of .3", _given((0.3,))),
        case("weights down to 1e-30", _weights(3, 6, size=20.0), tolerance=1e-4),
        case("many keys", _weights(2, 3, 50)),
        case("non-contiguous inputs", lambda g: (strided(_weights(2, 4, 6)(g)[0]),)),
        case("float32", _weights(2, 3, 7, dtype=torch.float32), gradient="finite"),
    ),
    mistakes=(
        mistake("NaN at a weight of 0", "A weight of 0 gives NaN: its logarithm is -inf, and 0 times -inf is not a "
                "number. What should such a key add?", "logs = given.log()",
                "total = (given * given.log2()).sum(-1) * math.log(2)"),
        mistake("a row with a weight of 0 lost", "A row that holds a 0 has the entropy 0, whatever its other weights "
                "are: the NaN of one key had spread over the sum before it was replaced.",
                "total = (given * given.log()).sum(-1).nan_to_num(0.0)"),
        mistake("a gradient that is not finite at 0", "The values are right, but at a weight of 0 the gradient is NaN "
                "or infinite: a logarithm of 0 is still in the graph, though its result is thrown away. Where must the "
                "0 be replaced, so that the logarithm never sees it?", "terms = torch.xlogy(given, given)",
                "terms = -torch.special.entr(given)", "terms = (given * given.log()).nan_to_num(0.0)",
                "terms = torch.where(given > 0, given * given.log(), 0.0)",
                "logs = given.log().masked_fill(given == 0, 0.0)"),
        mistake("another base of the logarithm", "Every entropy is off by one factor: it is counted in bits or in "
                "digits. Which logarithm gives nats?", "logs = safe.log2()", "logs = safe.log10()"),
        mistake("summed over the queries", "The sum ran over the queries. Whose weights are a row, and which axis "
                "should disappear?", "total = terms.sum(-2)",
                "given = weights.mT\nsafe = torch.where(given > 0, given, 1.0)"),
        mistake("an axis counted from the front", "The sum runs over an axis that is the right one for some numbers of "
                "axes only. Which one holds the keys, counted from the end?",
                "total = terms.sum(0)", "total = terms.sum(1)", "total = terms.sum(2)", "total = terms.sum(3)"),
        mistake("divided by the largest entropy", "These are shares of the largest entropy that this many keys allow. "
                "That is a useful number, but here nats are asked for. What was divided by?",
                "entropy = -total / math.log(given.shape[-1])",
                "entropy = -total / max(math.log(given.shape[-1]), 1e-9)",
                "entropy = -total / math.log2(given.shape[-1])"),
        mistake("weights taken for scores", "A softmax was taken of the weights. They have been through one: what is "
                "given?", "given = torch.softmax(weights, -1)", "logs = torch.log_softmax(given, -1)"),
        mistake("rows made to sum to 1", "Rows that do not sum to 1 were made to. Dropout and cut windows leave such "
                "rows, and the weights are to be taken as they are: where do you divide?",
                "given = weights / weights.sum(-1, keepdim=True)",
                "given = weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)",
                "given = F.normalize(weights, p=1, dim=-1)",
                "entropy = -total / given.sum(-1)", "entropy = -total / given.sum(-1).clamp(min=1e-12)"),
        mistake("sign", "Every entropy is negative. Which sign does the logarithm of a share have?", "entropy = total"),
        mistake("mean instead of sum", "The terms of a row were averaged: the more keys, the smaller the result. What "
                "does the formula do with them?", "total = terms.mean(-1)"),
        mistake("the logarithms not weighted", "The logarithms were added up as they are. How often does a key with "
                "the weight w come up?", "terms = logs", "terms = logs / given.shape[-1]"),
        mistake("the logarithm forgotten", "No logarithm is in this: it is the row's sum, or its negative. What does "
                "the formula weight?", "terms = given", "terms = given * safe"),
        mistake("another measure of spread", "This is a measure of spread, but another one. Is it a logarithm, and of "
                "what?", "entropy = 1 - given.square().sum(-1)", "entropy = (-total).exp()",
                "entropy = 1 / given.square().sum(-1)", "entropy = -given.amax(-1).clamp(min=1e-12).log()",
                "entropy = 1 - given.amax(-1)", "entropy = given.amax(-1)",
                "entropy = -given.square().sum(-1).log()", "entropy = given.std(-1)", "entropy = given.var(-1)",
                "entropy = 2 ** (-total / math.log(2))",
                "terms = (1 - given) * (1 - given).clamp(min=1e-30).log()", "logs = torch.log1p(given)"),
        mistake("distance to an even spread", "A row that is spread evenly gives 0 here, and a sharp one much. Which "
                "of the two should have the largest entropy?", "entropy = math.log(given.shape[-1]) + total"),
        mistake("one number for several rows", "Rows were averaged or added up. Each query has an entropy of its own: "
                "how many should there be?", "return entropy.mean(-1)", "return entropy.mean()", "return entropy.sum()",
                "return entropy.sum(-1)", "return entropy.mean(-1, keepdim=True).expand(entropy.shape)",
                "return entropy.mean(0)", "return entropy.mean(1)"),
        mistake("heads or sequences averaged first", "The weights were averaged over a leading axis before the entropy "
                "was taken. The entropy of a mean is not the mean of entropies: who owns a row?",
                "given = weights.mean(0, keepdim=True).expand(weights.shape)", "given = weights.mean(0)",
                "given = weights.mean(1)"),
        mistake("one sequence for all", "Only one sequence or one head was looked at. Which axes tell them apart, and "
                "how many of those can there be?", "given = weights.reshape(-1, *weights.shape[-2:])[0]",
                "given = weights.reshape(-1, *weights.shape[-2:])[:1].expand(weights.shape)",
                "given = weights[0]", "given = weights[:1].expand(weights.shape)"),
        mistake("a key left out", "The sum lacks the first key or the last. Where does it begin, and where does it "
                "end?",
                "total = terms[..., :-1].sum(-1)", "total = terms[..., 1:].sum(-1)"),
        mistake("epsilon too large", "Every entropy is off by a little: something small is added inside the "
                "logarithm, or weights are lifted to it. It need only keep 0 from the logarithm: how small can it be?",
                "logs = (given + 1e-6).log()", "logs = (given + 1e-5).log()", "logs = (given + 1e-4).log()",
                "logs = given.clamp(min=1e-3).log()", "given = weights + 1e-6\nlogs = given.log()", matches=_epsilon),
        mistake("small weights left out", "Keys with a small weight add nothing here. A weight of .01 counts as much "
                "as the formula says: below which size would a weight count as 0?",
                "safe = torch.where(given > 0.1, given, 1.0)", "safe = torch.where(given > 0.05, given, 1.0)",
                "safe = torch.where(given > 0.01, given, 1.0)", "safe = torch.where(given > 1e-3, given, 1.0)"),
        overwritten("safe = given.clamp_(min=1e-12)", "safe = given.add_(1e-12)",
                    *(f"weights[weights == 0] = {size}\nsafe = weights" for size in (1e-12, 1.0)),
                    *writing(attention_entropy, 0)),
        rounded_off(attention_entropy, "return entropy.round(decimals=4)", "return entropy.round(decimals=2)"),
        squeezed("return entropy{}"), left_in("return entropy{}"),
        mistake("the logarithm cut off from the gradient", "The values are right, but the gradient is that of a sum in "
                "which one of the two factors is a constant. Which call cuts it off?", "logs = safe.log().detach()",
                "terms = given.detach() * logs"),
        cut_off("return entropy.detach()", "return torch.from_numpy(entropy.detach().numpy())"),
        *other_kinds("entropy"),
    ),
    laws=(Law("weights of at most 1 have no negative entropy", _negative),),
    hints=(
        "By hand: what does the row (.5, .5) give, and what does (1, 0)?",
        "Each key adds its weight times its logarithm. Which of the axes is summed over, and which sign makes the "
        "result positive?",
        "At a weight of 0 the logarithm is -inf. Give the logarithm another number there, one whose term vanishes: for "
        "which number is it 0?",
        "`torch.where(condition, a, b)` before the logarithm, not after it: a NaN that is replaced afterwards still "
        "spoils the gradient.",
    ),
)
