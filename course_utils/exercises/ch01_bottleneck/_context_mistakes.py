"""What goes wrong in a weighted sum of states: each mistake as something to run."""

import math

import torch
from torch import Tensor

from course_utils.attention import context_vector
from course_utils.checking.exercise import Misconception
from course_utils.checking.laws import is_other, monotone
from course_utils.exercises.ch01_bottleneck._context_axis_mistakes import AXES
from course_utils.exercises.ch01_bottleneck._context_wrong import products, then, weighing


def _one_hot(weights: Tensor) -> Tensor:
    hot = torch.nn.functional.one_hot(weights.argmax(-1), weights.shape[-1])
    return hot.to(weights.dtype) + 0.0 * weights


def _other_weights(args: tuple[Tensor, ...], got: Tensor) -> bool:
    """Say whether the result is a sum of the states with weights that rise with the given ones."""
    weights, states = args
    enough = len(weights) > 1 and states.shape[2] >= states.shape[1]
    if not enough or not is_other(got, context_vector(weights, states)):
        return False
    used = torch.linalg.lstsq(states.double().mT, got.double().unsqueeze(-1)).solution.squeeze(-1)
    return all(monotone(*rows) for rows in zip(weights, used, strict=True))


WEIGHTS = (
    Misconception(
        "softmax of the weights",
        weighing(lambda w: torch.softmax(w, -1)),
        "A softmax was applied to the weights. They are weights already, not scores: what does a "
        "second softmax do to them?",
        also=(weighing(lambda w: torch.softmax(w, 0)),),
    ),
    Misconception(
        "weights divided by their sum",
        weighing(lambda w: w / w.sum(-1, keepdim=True)),
        "Weights that do not sum to 1 were made to. Here they are used as given: who is to "
        "decide how much is taken in all?",
        also=(
            weighing(lambda w: w / w.sum(-1, keepdim=True).clamp(min=1e-9)),
            weighing(lambda w: w / (w.sum(-1, keepdim=True) + 1e-9)),
            weighing(lambda w: w / w.abs().sum(-1, keepdim=True)),
            weighing(
                lambda w: (
                    w.nan_to_num() / w.sum(-1, keepdim=True).masked_fill(w.sum(-1, True) == 0, 1)
                )
            ),
        ),
    ),
    Misconception(
        "divided by the number of states",
        lambda w, s: products(w, s).mean(1),
        "The sum was divided by S, as a mean is. What do the weights of a row already say about "
        "each one's share?",
    ),
    Misconception(
        "the weights not used",
        lambda w, s: s.mean(1) + 0.0 * w.sum(),
        "Every state counts the same. Where do the weights come in?",
        also=(
            lambda w, s: s.mean(1),
            lambda w, s: s.sum(1),
            lambda w, s: s.mean(1) * w.mean(1, keepdim=True),
            lambda w, s: s.sum(1) * w.sum(1, keepdim=True),
            lambda w, s: s.sum(1) * w.mean(1, keepdim=True),
        ),
    ),
    Misconception(
        "the state with the largest weight alone",
        weighing(_one_hot),
        "One state was taken and the others left. A context vector is a mixture: how much do the "
        "other states give?",
        also=(
            lambda w, s: s[torch.arange(len(s)), w.argmax(-1)],
            lambda w, s: weighing(_one_hot)(w, s) * w.amax(-1, keepdim=True),
        ),
    ),
    Misconception(
        "the weights changed first",
        weighing(torch.exp),
        "The states were added up with other weights than the given ones, though in the same "
        "order. What happened to the weights?",
        also=(weighing(torch.sigmoid),),
        fits=_other_weights,
    ),
    Misconception(
        "weights beside their states",
        weighing(lambda w: w.flip(1)),
        "The weights are shifted or reversed: weight 0 does not meet state 0. What lines the two "
        "up?",
        also=(weighing(lambda w: w.roll(1, 1)), weighing(lambda w: w.roll(-1, 1))),
    ),
    Misconception(
        "one state left out",
        lambda w, s: context_vector(w[:, :-1], s[:, :-1]),
        "The first or the last state does not count. Over which steps does the sum run?",
        also=(lambda w, s: context_vector(w[:, 1:], s[:, 1:]),),
    ),
    Misconception(
        "the states changed first",
        lambda w, s: context_vector(w, s.tanh()),
        "Something was applied to the states before the sum. They are taken as they are.",
        also=(
            lambda w, s: context_vector(w, s.relu()),
            lambda w, s: context_vector(w, s.softmax(-1)),
            lambda w, s: context_vector(w, torch.nn.functional.normalize(s, dim=-1)),
        ),
    ),
    Misconception(
        "maximum instead of sum",
        lambda w, s: products(w, s).amax(1),
        "For each feature the largest product was kept. Which operation mixes all of them?",
        also=(lambda w, s: products(w, s).prod(1),),
    ),
    Misconception(
        "the last state",
        lambda w, s: s[:, -1] + 0.0 * w.sum(),
        "The result is one fixed state, whatever the weights are: that is the bottleneck itself. "
        "What should the weights change?",
        also=(
            lambda w, s: s[:, -1],
            lambda w, s: s[:, 0],
            lambda w, s: s[:, -1] * w[:, -1:],
            lambda w, s: s[:, 0] * w[:, :1],
        ),
    ),
    Misconception(
        "weights added to the states",
        lambda w, s: (w.unsqueeze(-1) + s).sum(1),
        "The weights were added to the states. What makes a state count half as much?",
        also=(lambda w, s: (w.unsqueeze(-1) + s).mean(1),),
    ),
    Misconception(
        "negative weights lost",
        weighing(torch.relu),
        "A negative weight counts as another number here. The weights are used as given.",
        also=(
            weighing(torch.abs),
            weighing(lambda w: w.clamp(0.0, 1.0)),
            weighing(torch.square),
        ),
    ),
    Misconception(
        "scaled",
        then(lambda c, s: c / math.sqrt(s.shape[-1])),
        "The result was divided by something that grows with a size. Does a weighted sum have a "
        "scale besides its weights?",
        also=(
            then(lambda c, s: c / s.shape[-1]),
            then(lambda c, s: c / math.sqrt(s.shape[1])),
            then(lambda c, s: c / s.shape[0]),
            then(lambda c, s: torch.nn.functional.normalize(c, dim=-1)),
        ),
    ),
    Misconception(
        "tanh of the result",
        then(lambda c, s: c.tanh()),
        "Something was applied to the sum. A context vector is the sum itself.",
        also=(then(lambda c, s: c.softmax(-1)), then(lambda c, s: c.sigmoid())),
    ),
    Misconception(
        "the weights cut off",
        weighing(lambda w: w.detach()),
        "The values are right, but no gradient reaches `weights`: attention would never learn "
        "where to look. What cuts the thread?",
        also=(weighing(lambda w: w.data),),
    ),
    Misconception(
        "the states cut off",
        lambda w, s: context_vector(w, s.detach()),
        "The values are right, but no gradient reaches `states`: the encoder would never learn. "
        "What cuts the thread?",
    ),
)

MISCONCEPTIONS = (*AXES, *WEIGHTS)
