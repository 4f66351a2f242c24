"""Exercise: one step of a modern Hopfield network."""

from typing import Any

import torch
from course_utils.attention import hopfield_update, stable_softmax
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.laws import is_other
from course_utils.checking.mistakes import mistake, only, saying, without
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, squeezed, through_numpy, writing
from course_utils.exercises.shared.lookup import SHARES, SHIFTED_BY_THE_BATCH
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from torch import Tensor

RIGHT = """
def hopfield_update(state, patterns, beta):
    products = state @ patterns.mT
    factor = beta
    scaled = factor * products
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ patterns
    return out
"""


def memory(*leading: int, N: int, d: int, beta: float, size: float = 1.0, dtype: str = "float64") -> Make:
    """Return a maker of a state, patterns and beta."""
    kind = getattr(torch, dtype)
    return lambda g: (normal(g, *leading, d, size=size, dtype=kind), normal(g, N, d, size=size, dtype=kind), beta)


def ten_thousand(g: torch.Generator) -> tuple[Any, ...]:
    """Make rows of scores near 10,000 and near -10,000 that are soft within each row, and one row from end to end."""
    state, patterns = normal(g, 4, 4), normal(g, 6, 4)
    state[:, 0] = torch.tensor([500.0, -500.0, 1.0, 1.0], dtype=state.dtype)
    state[3, 1:] *= 3000.0
    patterns[:, 0] = 10.0
    return state, patterns, 2.0


def apart_in_memory(g: torch.Generator) -> tuple[Any, ...]:
    """Make inputs that are not contiguous."""
    return strided(normal(g, 2, 3, 5)), strided(normal(g, 4, 5)), 0.9


def _some_beta(args: tuple[Any, ...], got: Tensor) -> bool:
    state, patterns, _ = args
    scores = state @ patterns.mT
    other = is_other(got, hopfield_update(*args))
    return other and some_scale(lambda beta: stable_softmax(beta * scores) @ patterns, got.detach())


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    state, patterns, beta = args
    return some_epsilon(beta * state @ patterns.mT, hopfield_update(*args), got)


def walked(state: Tensor, patterns: Tensor, beta: float, steps: int) -> Tensor:
    """Return the state after so many steps."""
    for _ in range(steps):
        state = hopfield_update(state, patterns, beta)
    return state


def _come_to_rest(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether many steps, stopped when little changed, explain a result."""
    state, patterns, beta = args
    rest = walked(state, patterns, beta, 300)
    return bool(((rest - got).abs() < 1e-2).all()) and is_other(got, hopfield_update(*args))


_STEP = "stable_softmax(beta * {} @ patterns.mT) @ patterns"
BETA = (
    mistake("scaled by √d too", "The scores were divided by a root as well. That scale is attention's default; here "
            "beta alone says how sharp the choice is.", "factor = beta / math.sqrt(state.shape[-1])",
            "factor = beta / state.shape[-1]", "factor = beta / math.sqrt(patterns.shape[0])",
            "factor = 1 / math.sqrt(state.shape[-1])", "factor = beta / patterns.shape[0]"),
    mistake("beta not used", "Whatever beta is, the answer is the same. Where is the argument used?", "factor = 1.0"),
    mistake("beta divides", "A large beta makes the choice softer here. It is an inverse temperature: what does it do "
            "to the differences between scores?", "scaled = products / beta",
            "factor = 1 / max(beta, 1e-9)", "factor = 1 / (1 + beta)"),
    mistake("a beta of 0 taken for none", "beta=0 was replaced by another number. In Python 0 is false: what does "
            "`beta or ...` do with it, and what should the average of equal weights be?", "factor = beta or 1.0",
            "factor = beta or 1 / math.sqrt(state.shape[-1])", "factor = max(beta, 1.0)", "factor = max(beta, 0.1)"),
    mistake("beta after the softmax", "Beta acts on the weights or on the output, so that the weights no longer sum to "
            "1. Which numbers should it push apart?", "factor = 1.0\nweights = beta * stable_softmax(scores)",
            "factor = 1.0\nout = beta * weights @ patterns", "out = beta * weights @ patterns",
            "weights = beta * stable_softmax(scores)"),
    mistake("scores raised to a power", "The scores were raised to the power beta. A factor in an exponent becomes a "
            "power only after `exp`.", "scaled = products**beta", "scaled = products.abs() ** beta",
            "scaled = products.sign() * products.abs() ** beta"),
    mistake("another beta than the given one", "This is a step at another beta than the one given. What else divides "
            "or multiplies the scores?", "factor = beta**2", "factor = 2 * beta", "factor = beta / 2",
            "factor = math.sqrt(beta)", matches=_some_beta),
)

COLUMNS = mistake("patterns taken for columns", "The features of the state met another axis of `patterns` than their "
                  "own. The paper keeps one pattern in a column, and here each is a row: which axis has d entries?",
                  "products = state @ patterns", "out = weights @ patterns.mT",
                  "products = state @ patterns\nout = weights @ patterns.mT",
                  "products = state @ patterns.reshape(patterns.mT.shape)",
                  "products = state @ patterns.reshape(patterns.mT.shape)\nout = weights @ patterns.mT")

# What the exercises of a step and of its energy are both called with.
EASY = (
    case("3 states, 3 patterns of width 3, β 0.7", memory(3, N=3, d=3, beta=0.7), gradient="equal"),
    case("one state, without leading axes", memory(N=5, d=4, beta=1.3), gradient="equal"),
    case("leading axes (2, 3), β 0.6", memory(2, 3, N=7, d=4, beta=0.6), gradient="equal"),
    case("leading axes (4, 4), 4 patterns of width 4", memory(4, 4, N=4, d=4, beta=0.8)),
    case("more features than patterns", memory(6, N=2, d=5, beta=1.6)),
    case("β = 1", memory(2, N=5, d=3, beta=1.0)),
    case("β = 3, a whole number", memory(2, N=4, d=6, beta=3)),
)
HARD = (
    case("scores of ten thousand", ten_thousand, gradient="finite"),
    case("a single state, with an axis of its own", memory(1, N=3, d=5, beta=1.1)),
    case("one pattern", memory(2, N=1, d=4, beta=2.0)),
    case("patterns of width 1", memory(3, N=4, d=1, beta=1.2)),
    case("non-contiguous inputs", apart_in_memory),
    case("float32", memory(3, N=5, d=8, beta=0.4, dtype="float32")),
    case("bfloat16", memory(2, N=4, d=3, beta=0.5, dtype="bfloat16")),
)

CLAMPED = mistake("scores held within limits", "Scores beyond some size all count as that size, so that some of the "
                  "best ones are no longer told apart. What keeps `exp` from overflowing without changing a "
                  "difference?",
                  *(f"scores = scaled.clamp({ends})" for ends in (
                      "max=80", "max=50", "max=88", "max=100", "max=30", "max=20", "max=10", "max=700", "-50, 50",
                      "-30, 30", "-20, 20", "-10, 10", "-80, 80", "-88, 88", "-100, 100", "min=-50", "max=1e3")))

EXERCISE = exercise(
    hopfield_update,
    right=RIGHT,
    asks="Move the state one step: to the average of the patterns, weighted by softmax(β · pattern·state).",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        *EASY,
        case("β = 0: the mean of the patterns", memory(2, N=5, d=3, beta=0.0)),
        case("β = 0, a whole number", memory(3, N=4, d=2, beta=0)),
        case("β = 50: nearly one pattern", memory(4, N=6, d=5, beta=50.0)),
        *HARD,
    ),
    mistakes=(
        COLUMNS,
        *BETA,
        mistake("something added to the average", "The output is more than an average of the patterns: the state, or a "
                "part of it, was kept. Where should a state that equals a pattern end up?",
                "out = state + weights @ patterns", "out = (state + weights @ patterns) / 2",
                "out = weights @ patterns - state", "out = 0.9 * state + 0.1 * weights @ patterns",
                "out = state - weights @ patterns", "out = 2 * state - weights @ patterns"),
        mistake("the classical network's step", "This is the step of the network of 1982: a sum of patterns weighted "
                "by their scores, or its sign. What takes the place of the raw scores here?",
                "out = torch.sign(products @ patterns) + 0.0 * state",
                "out = torch.sign(weights @ patterns) + 0.0 * state", "out = products @ patterns",
                "out = products @ patterns / patterns.shape[0]", "out = torch.tanh(beta * products @ patterns)",
                "out = torch.tanh(beta * products @ patterns / patterns.shape[0])",
                "hebb = patterns.mT @ patterns\nout = torch.sign(state @ (hebb - hebb.diag().diag())) + 0.0 * state",
                "out = products @ patterns / patterns.shape[1]",
                "out = torch.sign(products @ patterns / patterns.shape[0]) + 0.0 * state"),
        mistake("more than one step", "The state moved more than once. One call is one step: who decides how many "
                "follow?",
                f"out = {_STEP.format('(weights @ patterns)')}",
                f"again = {_STEP.format('(weights @ patterns)')}\nout = {_STEP.format('again')}",
                *(f"out = walked(state, patterns, beta, {steps})" for steps in (5, 10, 100)), matches=_come_to_rest),
        mistake("β = 0 treated apart", "With β = 0 something other than the average comes back. All scores are equal "
                "there: what does a softmax make of equal scores?", "out = state if beta == 0 else weights @ patterns",
                "out = weights @ patterns if beta else torch.zeros_like(state)",
                "out = weights @ patterns if beta else torch.full_like(state, torch.nan)"),
        mistake("states taken for columns", "This is the formula for one state, written as a column. Here states are "
                "rows, and there may be any axes before the last: which axis of a state meets the patterns?",
                "return patterns.mT @ torch.softmax(beta * patterns @ state, 0)",
                "return patterns.mT @ torch.softmax(beta * patterns @ state, -1)",
                "return torch.softmax(beta * patterns @ state, -1) @ patterns",
                "return torch.softmax(beta * patterns @ state, 0) @ patterns",
                "return torch.softmax(beta * patterns.mT @ state, -1) @ patterns",
                "return patterns @ torch.softmax(beta * patterns.mT @ state, 0)",
                "return torch.softmax(beta * state @ patterns.mT, -1).mT @ patterns"),
        mistake("one state for all", "Every state moved to where one of them should. Which axes tell the states apart?",
                "out = (weights.reshape(-1, weights.shape[-1])[0] @ patterns).expand(state.shape)",
                "out = weights.reshape(-1, weights.shape[-1])[0] @ patterns"),
        mistake("patterns centred first", "Something common to the patterns, or to the features of the state, was "
                "taken away before the products. They are to be compared as they are.",
                "products = (state - patterns.mean(0)) @ (patterns - patterns.mean(0)).mT",
                "products = (state - patterns.mean(0)) @ (patterns - patterns.mean(0)).mT\n"
                "out = weights @ (patterns - patterns.mean(0))",
                "products = (state - state.mean(-1, keepdim=True)) @ (patterns - patterns.mean(-1, keepdim=True)).mT"),
        mistake("cosine similarity", "The lengths of state or patterns play no part: these are cosines. What does a "
                "dot product do with the lengths?",
                "products = F.normalize(state, dim=-1) @ F.normalize(patterns, dim=-1).mT",
                "products = state @ F.normalize(patterns, dim=-1).mT",
                "products = F.normalize(state, dim=-1) @ patterns.mT"),
        mistake("normalised", "The new state was brought to length 1, or centred, or squashed. It is the average, as "
                "it is.", "out = F.normalize(weights @ patterns, dim=-1)", "out = torch.tanh(weights @ patterns)",
                "out = F.layer_norm(weights @ patterns, patterns.shape[1:])",
                "out = weights @ (patterns - patterns.mean(0))", "out = weights @ F.normalize(patterns, dim=-1)"),
        mistake("distance instead of dot product", "Each pattern is scored by its distance from the state. A dot "
                "product also grows with the lengths: which operation multiplies entry by entry and adds up?",
                "products = -(state.unsqueeze(-2) - patterns).square().sum(-1)",
                "products = -(state.unsqueeze(-2) - patterns).square().sum(-1) / 2",
                "products = -torch.linalg.vector_norm(state.unsqueeze(-2) - patterns, dim=-1)"),
        mistake("features summed before the product", "The features were summed for each vector alone, and the two "
                "sums multiplied. In a dot product, which comes first: multiply or add?",
                "products = state.sum(-1, keepdim=True) * patterns.sum(-1)"),
        mistake("the weights returned", "These are the weights. What do they weigh?", "return weights"),
        mistake("the weights not used", "Every state moves to the same place. Where do the weights come in?",
                "out = patterns.mean(0).expand_as(state) + 0.0 * state",
                "out = patterns.sum(0).expand_as(state) + 0.0 * state",
                "out = weights.mean(0, keepdim=True) @ patterns"),
        mistake("divided by the number of patterns", "The output is an average divided once more. What do the weights "
                "of a row already sum to?", "out = weights @ patterns / patterns.shape[0]"),
        *epsilon(_epsilon),
        *saying(SOFTMAX, {
            "softmax over the queries": "The weights sum to 1 over the states. Patterns compete for one state: which "
                "axis holds them?",
            "softmax over an axis counted from the front": "The weights sum to 1 over an axis that is the right one "
                "for some numbers of axes only. Which axis holds the patterns, counted from the end?",
            "one softmax over all pairs": "The whole table sums to 1. Each state has 1 of its own to give: what must "
                "the sum run over?",
            "all weight on the best key": "The best pattern is returned whole. Softmax is soft: what should the others "
                "get?",
            "sign of the scores flipped": "The pattern least alike gets the largest weight. Which sign do the scores "
                "have?",
        }),
        squeezed("return out{}"),
        mistake("an axis of size 1 left in", "A single state came back with an axis that it did not have. Which axes "
                "does the state have in front, and which does the result?",
                "return out if out.dim() > 1 else out.unsqueeze(0)", "return out.unsqueeze(0)",
                "return out.unsqueeze(-2)", "return out.unsqueeze(-1)"),
        cut_off("weights = stable_softmax(scores).detach()", "products = state @ patterns.detach().mT",
                "products = state.detach() @ patterns.mT", "out = weights @ patterns.detach()",
                "out = (weights @ patterns).detach()"),
        *saying(without(only(SHARES, "shifted by another number than the row's maximum",
                             "divided by another number than the row's sum"), SHIFTED_BY_THE_BATCH), {
            "shifted by another number than the row's maximum": "Some rows give NaN: what is subtracted before `exp` "
                "is not the state's own largest score, so that a row overflows, or all of it becomes 0. Which maximum "
                "does each state need?",
        }),
        CLAMPED,
        RANDOM,
        overwritten(*writing(hopfield_update, 0, 1)),
        through_numpy("return torch.from_numpy(out.detach().numpy())"),
        *other_kinds("out", "weights"),
        lower_precision(hopfield_update, "out = (weights.float() @ patterns.float()).to(state.dtype)",
                        *(line.replace("{}", kind) for kind in ("half", "bfloat16") for line in (
                            "scores = scaled.{}().to(scaled.dtype)",
                            "weights = torch.softmax(scores.{}(), -1).to(scores.dtype)"))),
    ),
    hints=(
        "One score for each pattern: how do all N dot products with the state come out of one matrix product?",
        "`patterns` is (N, d), one pattern per row, and the state ends with an axis of d. Which of the two axes of "
        "`patterns` must the state meet?",
        "Beta multiplies the scores; then a softmax over the patterns. With β = 0 all weights are 1/N.",
        "The weights, of shape (..., N), average the rows of `patterns`: attention with the state as query, and with "
        "keys and values that are the same.",
    ),
)
