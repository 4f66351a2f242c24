"""Exercise: a dictionary that answers with a mixture of its values."""

from typing import Any

import torch
from course_utils.attention import soft_lookup, stable_softmax
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import adding, mistake, without
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.lookup import (
    AVERAGES,
    PRODUCTS,
    SHARES,
    SHIFTED_BY_THE_BATCH,
    UNMASKED,
    smaller_epsilons,
)
from course_utils.exercises.shared.scale import some_scale
from course_utils.exercises.shared.softmax import RANDOM, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law
from torch import Tensor

RIGHT = """
def soft_lookup(query, key, value, temperature):
    factor = 1 / temperature
    products = query @ key.mT
    scaled = products * factor
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value
    return out
"""


def _nearly_tied(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores that differ by hundredths, so that the choice is soft even at 0.01."""
    query, key = normal(g, 3, 4, size=0.1), normal(g, 6, 4, size=0.1)
    return query, key, normal(g, 6, 5), 0.01


def _far_apart(g: torch.Generator) -> tuple[Any, ...]:
    """Make one row of scores of about 10,000 and one of about -10,000, soft within each row."""
    query, key = normal(g, 4, 3), normal(g, 5, 3)
    query[:, 0] = torch.tensor([1e3, -1e3, 1.0, 0.0], dtype=query.dtype)
    key[:, 0] = 10.0
    return query, key, normal(g, 5, 6), 0.5


def _hundreds(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores of about 500: with half the temperature, they are too large for exp alone."""
    query, key = normal(g, 3, 4), normal(g, 5, 4)
    query[:, 0], key[:, 0] = 25.0, 20.0
    return query, key, normal(g, 5, 2), 0.5


def _equal_keys(g: torch.Generator) -> tuple[Any, ...]:
    query, key = normal(g, 3, 2), normal(g, 1, 2).repeat(4, 1)
    return query, key, normal(g, 4, 5), 0.01


def _zero_key(g: torch.Generator) -> tuple[Any, ...]:
    query, key = normal(g, 3, 4), normal(g, 5, 4)
    key[2] = 0.0
    return query, key, normal(g, 5, 6), 0.9


def _at(temperature: float, *shape: int, size: float, dtype: str = "float64") -> Any:
    """Make queries and keys of some size, and values of size 1, of the shapes L, S, d and d_v."""
    length, keys, width, d_v = shape
    kind = getattr(torch, dtype)
    return lambda g: (
        normal(g, length, width, size=size, dtype=kind),
        normal(g, keys, width, size=size, dtype=kind),
        normal(g, keys, d_v, dtype=kind),
        temperature,
    )


def _some_temperature(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, _ = args
    scores = query @ key.mT
    return len(key) > 1 and some_scale(lambda scale: stable_softmax(scores * abs(scale)) @ value, got.detach())


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, _, temperature = args
    return some_epsilon(query @ key.mT / temperature, soft_lookup(*args), got)


TEMPERATURE = (
    mistake("temperature ignored", "Whatever the temperature, the answer is the same. Where is the argument used?",
            "factor = 1.0"),
    mistake("temperature multiplies", "A low temperature makes the choice softer here. When it is low, should scores "
            "move apart or together before the softmax?", "factor = temperature"),
    mistake("scores raised to a power", "The scores were raised to a power, which is NaN for a negative score. A "
            "quotient of exponents becomes a power only after `exp`.",
            "scaled = products**factor", "scaled = products**temperature", "scaled = products.abs() ** factor"),
    mistake("temperature after the softmax", "The temperature acts on the weights, so they no longer sum to 1. At "
            "which step does it change how sharp the choice is?",
            "scaled = products\nweights = stable_softmax(scores) * factor",
            "scaled = products\nweights = stable_softmax(scores) * temperature", "return out * temperature",
            "return out / temperature"),
    mistake("weights raised, not shared out again", "A softmax raised to the power 1/temperature no longer sums to 1. "
            "Divide by the new sum, or let the temperature act before the softmax.",
            "scaled = products\nweights = stable_softmax(scores) ** factor",
            "scaled = products\nweights = stable_softmax(scores) ** temperature"),
    mistake("scaled by √d too", "The scores are divided by √d as well. That scale is attention's; here the temperature "
            "alone says how soft the choice is.", "factor = 1 / temperature / math.sqrt(query.shape[-1])",
            "factor = 1 / temperature / query.shape[-1]", "factor = 1 / math.sqrt(query.shape[-1])",
            "factor = temperature / math.sqrt(query.shape[-1])", "factor = 1 / query.shape[-1]",
            "factor = math.sqrt(query.shape[-1]) / temperature", "factor = math.sqrt(query.shape[-1])"),
    mistake("a power of the temperature", "The temperature acts twice, or only as its root. If query and key are both "
            "divided by it, by what is their product divided?",
            *(f"factor = temperature**{power}" for power in ("-2", "-0.5", "2", "0.5"))),
    mistake("low temperatures held back", "Below some temperature the answer stays the same: it is held at a floor. A "
            "softmax that subtracts the row's maximum needs none.",
            *(f"factor = 1 / max(temperature, {floor})" for floor in (0.1, 1.0, 0.05, 0.02)),
            "scores = scaled.clamp(-50, 50)"),
    mistake("high temperatures held back", "Above 1 the temperature no longer softens anything: it is held at a "
            "ceiling. What should a very high temperature give?", "factor = 1 / min(temperature, 1.0)"),
    mistake(
        "hard choice at low temperatures",
        "At a low temperature the best entry takes all, even where another comes close. It is a softmax at every "
        "temperature: what should two nearly equal keys share?",
        *(
            "best = F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype) + 0.0 * scores\n"
            f"weights = best if temperature <= {limit} else stable_softmax(scores)"
            for limit in (0.05, 1.0)
        ),
    ),
    mistake("the maximum taken before the temperature", "Cold scores overflow though a maximum was subtracted: it is "
            "that of the scores before they were divided. The maximum of which numbers keeps every exponent at or "
            "below 0?",
            "powers = (scores - products.amax(-1, keepdim=True)).exp()\n"
            "weights = powers / powers.sum(-1, keepdim=True)"),
    mistake("NaN replaced afterwards", "Where exponentials overflow, NaN was replaced by 0, so the best entry lost its "
            "weight. Which shift keeps the overflow from happening?",
            "powers = scores.exp()\nweights = (powers / powers.sum(-1, keepdim=True)).nan_to_num()"),
    mistake("the temperature rounded", "The temperature, or a score, lost its digits on the way. Which division keeps "
            "fractions?", "factor = float(1 // temperature)", "factor = 1 / max(int(temperature), 1)",
            "factor = 1 / max(round(temperature), 1)", "scaled = products // temperature"),
    mistake("another temperature than the given one", "This is a soft lookup at another temperature than the one "
            "given. What else divides or multiplies the scores?",
            "factor = 1 / (temperature + 0.1)", matches=_some_temperature),
)

# The others speak of a default scale.
COMPARED_UNSCALED = without(COMPARED, "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value",
                            "key, value = value, key\ndefault = 1 / math.sqrt(query.shape[-1])",
                            "query, value = value, query\ndefault = 1 / math.sqrt(query.shape[-1])",
                            "default = 1.0\nproducts = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT")

EXERCISE = exercise(
    soft_lookup,
    right=RIGHT,
    asks="Average the values, each weighted by softmax(query·key / temperature).",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("3 queries, 3 entries, all widths 3", L=3, S=3, d=3, d_v=3, temperature=0.6, gradient="equal"),
        case("2 queries, 5 entries, temperature 1.7", L=2, S=5, d=4, d_v=3, temperature=1.7, gradient="equal"),
        case("more queries than entries", L=7, S=3, d=5, d_v=4, temperature=0.8),
        case("temperature 1", L=3, S=5, d=4, d_v=6, temperature=1.0),
        case("temperature 0.2", L=3, S=4, d=5, d_v=2, temperature=0.2, gradient="equal"),
        case("temperature 5, a whole number", L=3, S=6, d=4, d_v=5, temperature=5),
        case("temperature 1000: nearly a plain mean", L=2, S=4, d=3, d_v=5, temperature=1e3),
        case("temperature 0.01", L=4, S=6, d=3, d_v=5, temperature=0.01, gradient="equal"),
        case("temperature 0.01, scores that nearly tie", _nearly_tied, gradient="equal"),
        case("temperature 0.01, keys that are all equal", _equal_keys),
        case("an entry whose key is zero", _zero_key),
        case("temperature 0.5, scores of about 500", _hundreds, gradient="equal"),
        case("temperature 0.01, scores of thousands", _at(0.01, 3, 5, 4, 6, size=60.0), gradient="finite"),
        case("rows of scores that are 20,000 apart", _far_apart, gradient="finite"),
        case("one query and one entry", L=1, S=1, d=4, d_v=3, temperature=0.3),
        case("one query, everything of width 1", L=1, S=5, d=1, d_v=1, temperature=0.5),
        case("non-contiguous inputs", L=4, S=6, d=3, d_v=5, temperature=0.7, strided=True),
        case("float32", L=3, S=5, d=6, d_v=4, temperature=0.4, dtype="float32"),
        case("float32 at temperature 0.01", _at(0.01, 3, 5, 4, 2, size=3.0, dtype="float32"), tolerance=1e-3),
        case("bfloat16", L=3, S=4, d=3, d_v=5, temperature=2.0, dtype="bfloat16"),
    ),
    mistakes=(
        *adding(epsilon(_epsilon), smaller_epsilons("1e-7", "1e-8", "1e-9")),
        *TEMPERATURE,
        *adding(COMPARED_UNSCALED, {"the wrong two compared": ("key, value = value, key\nproducts = query @ key.mT",)}),
        *PRODUCTS,
        # There are two axes, always.
        *without(UNMASKED, "softmax over an axis counted from the front",
                 "weights = stable_softmax(scores.flatten()).view(scores.shape)"),
        *without(SHARES, SHIFTED_BY_THE_BATCH),
        *without(VALUES, "the root of the width of the values"),
        *AVERAGES,
        RANDOM,
        mistake("one query for all", "One query was answered, or its answer given to all. How many queries ask?",
                "return out[0]",
                "return out[:1]", "return out[-1]", "return out[:1].expand_as(out)"),
        cut_off("weights = stable_softmax(scores).detach()", "products = query.detach() @ key.mT",
                "products = query @ key.mT.detach()", "out = weights @ value.detach()", "return out.detach()"),
        overwritten(*writing(soft_lookup, 0, 1, 2)),
        squeezed("return out{}"),
        *other_kinds("out", "weights"),
    ),
    laws=(average_law(lambda args: args[2]),),
    hints=(
        "Three steps: compare each query with each key, turn each row of scores into shares, mix the values with them.",
        "All comparisons are one matrix product, of shape (L, S). Which of the two must be transposed for that?",
        "The temperature acts on the scores. If it is small, must differences grow or shrink?",
        "Scores divided by 0.01 can be in the thousands. A softmax that subtracts the largest of each row survives "
        "them: torch's and yours from chapter 03 do.",
    ),
)
