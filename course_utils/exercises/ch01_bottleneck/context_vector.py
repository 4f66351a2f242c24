"""Exercise: the weighted sum of the encoder's states."""

from typing import Any

import torch
from course_utils.attention import context_vector
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.laws import is_other, monotone
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, through_numpy, writing
from torch import Tensor

RIGHT = """
def context_vector(weights, states):
    taken = weights
    given = states
    products = taken.unsqueeze(-1) * given
    context = products.sum(1)
    return context
"""


def _made(
    batch: int, steps: int, d_h: int, any_weights: bool = False, size: float = 1.0, dtype: str = "float64"
) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        kind = getattr(torch, dtype)
        weights = normal(g, batch, steps)
        weights = (weights if any_weights else weights.softmax(-1)).to(kind)
        return weights, normal(g, batch, steps, d_h, size=size, dtype=kind)

    return make


def _some_zero(g: torch.Generator) -> tuple[Tensor, Tensor]:
    weights, states = _made(3, 5, 2)(g)
    weights[1] = 0.0
    weights[2] = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    return weights, states


def _other_weights(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the result is a sum of the states with weights that rise with the given ones."""
    weights, states = args
    enough = len(weights) > 1 and states.shape[2] >= states.shape[1]
    if not enough or not is_other(got, context_vector(weights, states)):
        return False
    used = torch.linalg.lstsq(states.double().mT, got.double().unsqueeze(-1)).solution.squeeze(-1)
    return all(monotone(*rows) for rows in zip(weights, used, strict=True))


EXERCISE = exercise(
    context_vector,
    right=RIGHT,
    asks="Add the states up, each times its weight.",
    minutes=5,
    difficulty=1,
    importance=5,
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        case("3 sequences, 3 states of width 3", _made(3, 3, 3), gradient="equal"),
        case("2 sequences, 5 states of width 4", _made(2, 5, 4), gradient="equal"),
        case("weights that do not sum to 1, some negative", _made(2, 4, 3, True), gradient="equal"),
        case("a row of zeros, and all weight on one state", _some_zero, gradient="equal"),
        case("one sequence", _made(1, 4, 3)),
        case("one state", _made(3, 1, 2, True)),
        case("states of width 1", _made(2, 5, 1)),
        case("one sequence, one state of width 1", _made(1, 1, 1, True)),
        case("large states", _made(2, 6, 3, size=1e6)),
        case("non-contiguous inputs", lambda g: tuple(map(strided, _made(3, 6, 4)(g)))),
        case("float32", _made(4, 7, 5, dtype="float32")),
        case("bfloat16", _made(2, 5, 3, dtype="bfloat16")),
    ),
    mistakes=(
        mistake("mean over the batch axis", "The sum ran over the sequences of the batch: different sentences were "
                "added together. Which axis holds the states of one sentence?",
                "context = products.sum(0)", "context = products.mean(0)", "context = states.mean(0)"),
        mistake("sum over the features", "The features of each state were added up, and the states kept apart. Which "
                "axis should disappear?", "context = products.sum(-1)", "context = products.mean(-1)"),
        mistake("summed over two axes", "More was added together than one sentence's states. Which axes stay in the "
                "result?", 'context = torch.einsum("bs,csd->bd", weights, states)', "context = products.sum((0, 1))",
                "context = products.sum((1, 2))", 'context = torch.einsum("bs,csd->cd", weights, states)',
                "context = products.sum()"),
        mistake("never summed", "Each state is multiplied by its weight, and then? One vector for each sequence is "
                "asked for.", "context = products", "context = products.cumsum(1)"),
        mistake("weights on the features", "The weights multiply the features, not the states. On which side do they "
                "need a new axis?",
                "products = weights.unsqueeze(1) * states", "context = (weights.unsqueeze(-2) * states).sum(-1)",
                "context = (states @ weights.unsqueeze(-1)).squeeze(-1)"),
        mistake("weights of one sequence on another's states", "Each row of weights met the states of every sequence: "
                "`weights @ states` treats (B, S) as one table shared by all. How does a row of weights become a "
                "separate table for each sequence?",
                "context = weights @ states", "context = (weights @ states).mean(0)",
                "context = (weights @ states).mean(1)", "products = weights.unsqueeze(0).unsqueeze(-1) * states",
                "products = weights.unsqueeze(0) * states",
                "context = torch.tensordot(weights, states, dims=([1], [1]))", "taken = weights.mT"),
        mistake("the sum carried on to the next sequence", "What the sequences before gave is still in the sum. Where "
                "does the sum of a sequence begin?", "return context.cumsum(0)"),
        mistake("the first sequence for all", "All results come from one sequence's weights or states. Which axis is "
                "the batch?", "taken = weights[:1].expand_as(weights)", "context = weights[0] @ states",
                "context = weights[0] @ states[0]", "given = states[:1].expand_as(states)"),
        mistake("features before the batch", "The result has its two axes swapped. Which comes first, the sequence or "
                "the feature?", "return context.mT"),
        mistake("an axis of size 1 left in", "The axis that was summed is still there, with size 1. How many axes does "
                "one vector per sequence need?",
                "return context.unsqueeze(1)", "return context.unsqueeze(-1)", "return context.unsqueeze(0)"),
        mistake("squeeze takes too many axes", "With one sequence, or a width of 1, an axis is lost: `squeeze()` "
                "without a number removes every axis of size 1. Which one did you mean?",
                "context = (weights.unsqueeze(1) @ states).squeeze()", "return context.squeeze(0)",
                "return context.squeeze(-1)"),
        mistake("softmax of the weights", "A softmax was applied to the weights. They are weights already, not scores: "
                "what does a second softmax do to them?",
                "taken = torch.softmax(weights, -1)", "taken = torch.softmax(weights, 0)"),
        mistake("weights divided by their sum", "Weights that do not sum to 1 were rescaled to do so. Here they are "
                "used as given: who decides how much is taken in all?",
                "taken = weights / weights.sum(-1, keepdim=True)",
                "taken = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)",
                "taken = weights / (weights.sum(-1, keepdim=True) + 1e-9)",
                "taken = weights / weights.abs().sum(-1, keepdim=True)"),
        mistake("divided by the number of states", "The sum was divided by S, as a mean is. What do the weights of a "
                "row already say about each one's share?", "context = products.mean(1)"),
        mistake("the weights not used", "Every state counts the same. Where do the weights come in?",
                "context = states.mean(1)", "context = states.sum(1)",
                "context = states.mean(1) * weights.mean(1, keepdim=True)",
                "context = states.sum(1) * weights.sum(1, keepdim=True)",
                "context = states.sum(1) * weights.mean(1, keepdim=True)"),
        mistake("the state with the largest weight alone", "One state was taken and the others left. A context vector "
                "is a mixture: how much do the other states give?",
                "context = states[torch.arange(len(states)), weights.argmax(-1)]",
                "best = states[torch.arange(len(states)), weights.argmax(-1)]\n"
                "context = best * weights.amax(-1, keepdim=True)"),
        mistake("the weights changed first", "The states were added up with other weights than the given ones, though "
                "in the same order. What happened to the weights?", "taken = weights.exp()", matches=_other_weights),
        mistake("weights shifted against their states", "The weights are shifted or reversed: weight 0 does not meet "
                "state 0. What lines the two up?",
                "taken = weights.flip(1)", "taken = weights.roll(1, 1)", "taken = weights.roll(-1, 1)"),
        mistake("one state left out", "The first or the last state does not count. Over which steps does the sum run?",
                "context = products[:, :-1].sum(1)", "context = products[:, 1:].sum(1)"),
        mistake("the states changed first", "Something was applied to the states before the sum. They are taken as "
                "they are.", "given = states.tanh()", "given = states.relu()", "given = states.softmax(-1)",
                "given = F.normalize(states, dim=-1)"),
        mistake("maximum instead of sum", "For each feature the largest product was kept. Which operation mixes all of "
                "them?", "context = products.amax(1)", "context = products.prod(1)"),
        mistake("the last state", "The result is one fixed state, whatever the weights are: that is the bottleneck "
                "itself. What should the weights change?", "context = states[:, -1]", "context = states[:, 0]",
                "context = products[:, -1]", "context = products[:, 0]"),
        mistake("weights added to the states", "The weights were added to the states. What makes a state count half as "
                "much?",
                "products = weights.unsqueeze(-1) + states", "context = (weights.unsqueeze(-1) + states).mean(1)"),
        mistake("negative weights lost", "A negative weight counts as another number here. The weights are used as "
                "given.", "taken = weights.relu()", "taken = weights.abs()", "taken = weights.clamp(0.0, 1.0)",
                "taken = weights.square()"),
        mistake("scaled", "The result was divided by something that grows with a size. Does a weighted sum have a "
                "scale besides its weights?", "return context / math.sqrt(states.shape[-1])",
                "return context / states.shape[-1]", "return context / math.sqrt(states.shape[1])",
                "return context / states.shape[0]", "return F.normalize(context, dim=-1)"),
        mistake("tanh of the result", "Something was applied to the sum. A context vector is the sum itself.",
                "return context.tanh()", "return context.softmax(-1)", "return context.sigmoid()"),
        mistake("the weights cut off", "The values are right, but no gradient reaches `weights`: attention would never "
                "learn where to look. What cuts it off?", "taken = weights.detach()"),
        mistake("the states cut off", "The values are right, but no gradient reaches `states`: the encoder would never "
                "learn. What cuts it off?", "given = states.detach()"),
        cut_off("return context.detach()"),
        overwritten(*writing(context_vector, 0, 1)),
        through_numpy("return torch.from_numpy(context.detach().numpy())"),
        *other_kinds("context", "weights"),
    ),
    hints=(
        "Every state of a sequence is multiplied by one number, and the results are added. Which axis disappears?",
        "The shapes (B, S) and (B, S, d_h) do not line up for a product: where does the weights' shape lack an axis?",
        "Either give the weights a last axis of size 1 and sum over the states, or make a row of them, (B, 1, S), for "
        "a batched matrix product.",
    ),
)
