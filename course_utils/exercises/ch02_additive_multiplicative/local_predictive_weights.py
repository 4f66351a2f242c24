"""Exercise: Luong's local-p weights."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import local_predictive_weights
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import normal, strided
from course_utils.checking.laws import weights_negative
from course_utils.exercises.ch02_additive_multiplicative._local_mistakes import MISCONCEPTIONS


def _made(
    batch: int,
    queries: int,
    keys: int,
    sigma: float = 1.3,
    low: float = 0.3,
    high: float | None = None,
    size: float = 1.0,
    dtype: str = "float64",
) -> Any:
    """Return a maker of scores, centre and sigma; the centres lie between `low` and `high`."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        scores = normal(g, batch, queries, keys, size=size, dtype=kind)
        top = keys - 1.3 if high is None else high
        share = torch.rand(batch, queries, generator=g, dtype=torch.float64)
        return scores, (low + (top - low) * share).to(kind), sigma

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    scores, centre, sigma = _made(3, 4, 6)(g)
    return strided(scores), strided(centre), sigma


def _padded(g: torch.Generator) -> tuple[Any, ...]:
    scores, centre, sigma = _made(2, 3, 6)(g)
    return (
        scores.masked_fill(torch.arange(6) >= torch.tensor([[[4]], [[6]]]), -torch.inf),
        centre,
        sigma,
    )


def _sums_above_one(args: tuple[Any, ...], out: Tensor) -> str | None:
    sums = out.detach().double().sum(-1)
    above = (sums > 1.05).nonzero()
    if not len(above):
        return None
    where = tuple(int(i) for i in above[0])
    return f"Row {list(where)} sums to {sums[where].item():.4g}."


EXERCISE = Exercise(
    name="local_predictive_weights",
    chapter=2,
    signature="local_predictive_weights(scores, centre, sigma)",
    asks="Damp the softmax of the scores by a Gaussian around each query's centre.",
    reference=local_predictive_weights,
    minutes=10,
    difficulty=3,
    importance=2,
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        Case("3 queries, 3 keys, sigma=1.3", _made(3, 3, 3), gradient="equal"),
        Case("a batch of 2: 4 queries, 9 keys, sigma=0.7", _made(2, 4, 9, 0.7), gradient="equal"),
        Case(
            "centres before the first key and after the last",
            _made(2, 5, 4, 1.5, -3.0, 7.0),
            gradient="equal",
        ),
        Case("a narrow window over many keys: sigma=0.5", _made(2, 3, 12, 0.5)),
        Case("a wide window: sigma=4", _made(2, 3, 7, 4)),
        Case("sigma=1", _made(2, 4, 6, 1.0)),
        Case("scores of thousands", _made(2, 3, 5, 2.0, size=2000.0)),
        Case("padding with scores of -inf", _padded),
        Case("one query, one sequence", _made(1, 1, 5)),
        Case("one key", _made(2, 3, 1, 1.1, -1.0, 1.0)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 4, 6, dtype="float32")),
        Case("bfloat16", _made(2, 3, 4, 2.0, 0.5, 2.5, dtype="bfloat16"), tolerance=0.2),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(
        Property("weights are never negative", weights_negative),
        Property("a Gaussian only takes away, so no row sums to more than 1", _sums_above_one),
    ),
    hints=(
        "There are two factors: the weights that you know, and one that fades with the distance "
        "from the centre. What is the shape of the table of distances?",
        "Key s stands at position s. `torch.arange` gives all positions; which axis does `centre` "
        "lack to be subtracted from them?",
        "Square the distance, divide by 2σ², change the sign, take exp. At distance 0 the factor "
        "is 1: what is it at distance σ?",
        "The product is the answer. Luong does not divide by the sum again: then the centre could "
        "be far off and no weight would tell.",
    ),
)
