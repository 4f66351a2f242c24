"""Exercise: ask a scaling law how to spend a budget."""

import math
from typing import Any

from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.measure import compute_optimal

RIGHT = """
def compute_optimal(flops, A, B, alpha, beta, E):
    per_pair = 6
    pairs = flops / per_pair
    ratio = (alpha * A) / (beta * B)
    power = 1 / (alpha + beta)
    balance = ratio**power
    share = beta / (alpha + beta)
    num_parameters = balance * pairs**share
    num_tokens = pairs / num_parameters
    from_size = A / num_parameters**alpha
    from_data = B / num_tokens**beta
    loss = E + from_size + from_data
    return num_parameters, num_tokens, loss
"""
# Hoffmann et al. 2022 as rounded in print, with unrounded exponents, and as fitted anew by Besiroglu et al. 2024
_ROUNDED = (406.4, 410.7, 0.34, 0.28, 1.69)
_UNROUNDED = (406.4, 410.7, 0.3392, 0.2849, 1.69)
_REFIT = (482.01, 2085.43, 0.3478, 0.3658, 1.8172)


def _case(name: str, flops: float, *law: float) -> Case:
    return case(name, given(flops, *law), tolerance=1e-4, absolute=0.0)


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-4)


def _another_count(args: tuple[Any, ...], got: tuple[Any, ...]) -> bool:
    """Whether the optimum is that of another budget: N · D is some other share of it."""
    pairs = got[0] * got[1]
    right = compute_optimal(6 * pairs, *args[1:])
    return not _close(6 * pairs, args[0]) and all(_close(*both) for both in zip(got, right, strict=True))


def _not_the_minimum(args: tuple[Any, ...], got: tuple[Any, ...]) -> bool:
    """Whether the budget is spent and the loss is the law's, but not its least."""
    flops, A, B, alpha, beta, E = args
    own = E + A / got[0] ** alpha + B / got[1] ** beta
    return _close(6 * got[0] * got[1], flops) and _close(got[2], own)


EXERCISE = exercise(
    compute_optimal,
    right=RIGHT,
    asks="Find the parameters and tokens with the least loss for a budget, and that loss.",
    minutes=10,
    difficulty=3,
    importance=4,
    parts=("num_parameters", "num_tokens", "loss"),
    cases=(
        _case("α = β and A = B: as many parameters as tokens", 6e8, 50.0, 50.0, 0.5, 0.5, 1.7),
        _case("α = β, A four times B", 6e8, 80.0, 20.0, 0.5, 0.5, 1.0),
        _case("A = B, α above β", 6e10, 30.0, 30.0, 0.5, 0.3, 0.7),
        _case("A = B, β above α", 6e10, 30.0, 30.0, 0.25, 0.4, 0.7),
        _case("a law fitted on a laptop", 3e14, 9.3, 25.6, 0.26, 0.27, 0.55),
        _case("exponents above 1", 6e6, 300.0, 200.0, 1.2, 1.5, 0.1),
        _case("nothing is left over: E = 0", 6e12, 12.0, 70.0, 0.2, 0.35, 0.0),
        _case("Hoffmann's constants, a tenth of Chinchilla's budget", 5.76e22, *_ROUNDED),
        _case("Hoffmann's constants, Chinchilla's budget", 5.76e23, *_ROUNDED),
        _case("the exponents before rounding", 5.76e23, *_UNROUNDED),
        _case("Besiroglu's refit", 5.76e23, *_REFIT),
        _case("GPT-3's budget, Besiroglu's refit", 3.14e23, *_REFIT),
        _case("a tiny budget: N and D need not be whole", 500.0, 3.0, 7.0, 0.4, 0.45, 0.9),
        _case("6 operations: one parameter, one token", 6.0, 2.0, 2.0, 0.4, 0.4, 3.0),
    ),
    mistakes=(
        mistake("6 forgotten", "Parameters times tokens make the budget itself. How many operations does a parameter "
                "take for each token, forward and backward?", "per_pair = 1"),
        mistake("another number of operations", "Parameters times tokens is not the agreed share of the budget. "
                "In training, 6 operations for each parameter and token.", "per_pair = 2", "per_pair = 3",
                "per_pair = 4", "per_pair = 8", "pairs = flops * per_pair", matches=_another_count),
        mistake("exponents swapped", "α was used where β belongs. If parameters help faster than tokens, does a larger "
                "budget go to parameters or to tokens?", "share = alpha / (alpha + beta)",
                "ratio = (beta * A) / (alpha * B)", "ratio = (beta * A) / (alpha * B)\nshare = alpha / (alpha + beta)"),
        mistake("the terms of the loss mixed up", "N and D are right, and the loss is not that of the law: a number "
                "stands in another one's place. Which constant, which exponent and which size belong together?",
                "from_size = A / num_parameters**beta\nfrom_data = B / num_tokens**alpha",
                "from_size = A * num_parameters**alpha\nfrom_data = B * num_tokens**beta",
                "from_size = A / (alpha * num_parameters)\nfrom_data = B / (beta * num_tokens)",
                "from_size = A / num_parameters\nfrom_data = B / num_tokens",
                "from_size = A / num_tokens**alpha\nfrom_data = B / num_parameters**beta",
                "from_size = B / num_parameters**alpha\nfrom_data = A / num_tokens**beta"),
        mistake("terms made equal", "What parameters and tokens leave over was made equal. At the minimum it is their "
                "slopes that balance: what does the derivative of A / N^α bring down?", "ratio = A / B"),
        mistake("the ratio upside down", "The balance is upside down: a larger A gave fewer parameters. Which of the "
                "two slopes goes in the numerator?",
                "ratio = (beta * B) / (alpha * A)", "num_parameters = pairs**share / balance"),
        mistake("A and B exchanged", "The constants have changed places. Which of the two belongs to the parameters?",
                "ratio = (alpha * B) / (beta * A)", "ratio = B / A"),
        mistake("the root of the ratio forgotten", "The balance of the two slopes says what N^α / D^β is, not what N "
                "is. Which root is still to be taken?", "power = 1", "power = alpha + beta", "power = 1 / alpha",
                "power = 1 / beta", "power = 0.5", "power = 1 / (alpha * beta)"),
        mistake("no balance", "A and B make no difference to N and D. Are both terms equally large?", "balance = 1.0"),
        mistake("half and half", "The budget's exponent was halved for both, as if α and β were equal. Which of the "
                "two grows faster with the budget?", "share = 0.5", "share = 0.5\nbalance = 1.0"),
        mistake("20 tokens for each parameter", "Tokens are 20 times the parameters whatever the law. That is a rule "
                "of thumb from one law: what does this one say?", "num_parameters = math.sqrt(pairs / 20)",
                "num_parameters = math.sqrt(flops / 20)\nnum_tokens = 20 * num_parameters"),
        mistake("E forgotten", "What is left even with endless parameters and tokens is missing from the loss.",
                "loss = from_size + from_data"),
        mistake("the three terms not added", "The loss has the right three terms, but one was subtracted, or "
                "multiplied. What stands between them in the law?", "loss = E * (from_size + from_data)",
                "loss = E - from_size - from_data", "loss = from_size + from_data - E",
                "loss = E + from_size * from_data",
                "loss = E + from_size - from_data", "loss = E * from_size * from_data"),
        mistake("only one term in the loss", "The loss has three terms: what is left in any case, what few parameters "
                "cost, and what few tokens cost.", "loss = E + from_size", "loss = E + from_data", "loss = E",
                "loss = E + max(from_size, from_data)", "loss = 0.0", "loss = from_size", "loss = from_data"),
        mistake("the slope of the loss", "The third result is not the loss itself but its logarithm, its exponential "
                "or its negative. What does the law give for N and D?", "loss = math.log(E + from_size + from_data)",
                "loss = math.exp(E + from_size + from_data)", "loss = -(E + from_size + from_data)"),
        mistake("the budget not spent", "N and D do not use the budget: 6 · N · D must be `flops`. If one of the two "
                "is known, what is the other?", "num_tokens = flops / num_parameters",
                "num_tokens = pairs**share / balance", "num_tokens = pairs**share", "num_tokens = balance * pairs ** "
                "(1 - share)"),
        mistake("parameters and tokens exchanged", "Parameters and tokens came in the wrong order, or the one was "
                "computed as the other. Which is asked for first?", "return num_tokens, num_parameters, loss",
                "num_parameters = pairs / (balance * pairs**share)"),
        mistake("the results in another order", "The loss comes last, after parameters and tokens. What came first?",
                "return loss, num_parameters, num_tokens", "return loss, num_tokens, num_parameters"),
        mistake("a result missing", "Three results are asked for: parameters, tokens, and the loss there. Which came?",
                "return num_parameters, num_tokens", "return loss", "return num_parameters, loss",
                "return num_parameters"),
        mistake("tokens for each parameter", "The second result is a ratio. How many tokens are there in all?",
                "return num_parameters, num_tokens / num_parameters, loss"),
        mistake("one exponent for both", "α and β were replaced by one number, such as their mean. Each term keeps its "
                "own: what does that do to the minimum?",
                "alpha = beta = (alpha + beta) / 2\nratio = (alpha * A) / (beta * B)",
                "alpha = beta\nratio = (alpha * A) / (beta * B)", "beta = alpha\nratio = (alpha * A) / (beta * B)",
                "middle = (alpha + beta) / 2\nratio = A / B\npower = 0.5 / middle\nshare = 0.5"),
        mistake("whole numbers", "A result was rounded. All three may be any positive number here.",
                "loss = round(E + from_size + from_data, 2)",
                "return round(num_parameters), round(num_tokens), round(loss, 2)",
                "loss = round(E + from_size + from_data)",
                "loss = round(E + from_size + from_data, 3)",
                "return round(num_parameters), round(num_tokens), loss",
                "return int(num_parameters), int(num_tokens), loss",
                "return num_parameters // 1, num_tokens // 1, loss",
                "num_parameters = math.ceil(balance * pairs**share)"),
        mistake("in billions", "N and D were given in billions, or in millions. How many parameters and tokens are "
                "these?", "return num_parameters / 1e9, num_tokens / 1e9, loss",
                "return num_parameters / 1e6, num_tokens / 1e6, loss"),
        mistake("not the minimum", "The budget is spent and the loss is the law's, but another split of the same "
                "budget has a lower one. Where along 6 · N · D = flops does the loss stop falling? A search must look "
                "finely enough, and far enough.", "num_parameters = 10 ** round(math.log10(balance * pairs**share), 1)",
                matches=_not_the_minimum),
    ),
    hints=(
        "Of N and D only one is free: put D = flops / (6 N) into the law. Which curve of N is left?",
        "At its minimum the slope is zero: a little more for parameters gains as much as it loses on tokens. Take the "
        "derivative with respect to log N; each term brings its exponent down.",
        "That gives α A / N^α = β B / D^β. Bring all powers of N to one side and take the root.",
        "Or search: along log N the curve has one valley, so repeatedly dropping a third of an interval closes in on "
        "it in a hundred steps.",
    ),
)
