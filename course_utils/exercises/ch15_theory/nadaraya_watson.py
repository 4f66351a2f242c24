"""Exercise: kernel regression, an average by nearness."""

from typing import Any

import torch
from course_utils.attention import nadaraya_watson, stable_softmax
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.laws import is_other
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, writing
from course_utils.exercises.shared.lookup import AVERAGES, SHARES, UNMASKED
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import some_scale
from course_utils.exercises.shared.softmax import RANDOM, epsilon, some_epsilon
from course_utils.exercises.shared.values import VALUES, average_law
from torch import Tensor

RIGHT = """
def nadaraya_watson(query, key, value, bandwidth):
    difference = query.unsqueeze(-2) - key.unsqueeze(-3)
    squared = difference.square().sum(-1)
    width = 2 * bandwidth**2
    scaled = -squared / width
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value
    return out
"""


def _far_away(g: torch.Generator) -> tuple[Any, ...]:
    """Make queries a thousand bandwidths from keys that are so close together that several count."""
    query, key = normal(g, 2, 3, 4) + 250.0, normal(g, 2, 5, 4, size=1e-3)
    return query, key, normal(g, 2, 5, 6), 0.5


def _far_and_sharp(g: torch.Generator) -> tuple[Any, ...]:
    return normal(g, 4, 3) - 60.0, normal(g, 6, 3), normal(g, 6, 2), 0.06


def _on_the_keys(g: torch.Generator) -> tuple[Any, ...]:
    key = normal(g, 5, 3)
    return key[:4].clone(), key, normal(g, 5, 2), 0.9


def _squared(query: Tensor, key: Tensor) -> Tensor:
    return (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)


def _some_width(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, _ = args
    scores = -_squared(query, key)
    other = is_other(got, nadaraya_watson(*args))
    return other and some_scale(lambda scale: stable_softmax(scores * abs(scale)) @ value, got.detach())


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, _, bandwidth = args
    return some_epsilon(-_squared(query, key) / (2 * bandwidth**2), nadaraya_watson(*args), got)


def _kernel(powers: str) -> str:
    return f"powers = {powers}\nweights = powers / powers.sum(-1, keepdim=True)"


_NORM = "key.square().sum(-1).unsqueeze(-2)"
_OWN = "query.square().sum(-1, keepdim=True)"
_LENGTH = "torch.linalg.vector_norm(difference, dim=-1)"

BANDWIDTH = (
    mistake("the 2 forgotten", "The kernel has another width than the bandwidth says. What divides the squared "
            "distance, besides h², and is the 2 squared too?", "width = bandwidth**2", "width = (2 * bandwidth) ** 2",
            "width = bandwidth**2 / 2"),
    mistake("the bandwidth not squared", "The kernel has another width than the bandwidth says. At distance h the "
            "exponent should be -1/2: what is it here?", "width = 2 * bandwidth", "width = bandwidth",
            "width = math.sqrt(2 * bandwidth)", "width = 2 * math.sqrt(bandwidth)", "width = math.sqrt(bandwidth)"),
    mistake("multiplied by the bandwidth where it divides", "A larger bandwidth makes the average sharper. In "
            "`a / 2 * b`, what is divided by what?", "scaled = -squared / 2 * bandwidth**2",
            "scaled = -squared * bandwidth**2", "scaled = -squared * bandwidth", "scaled = -squared / 2 * bandwidth",
            "scaled = -squared * 2 * bandwidth**2"),
    mistake("the bandwidth not used", "Every bandwidth gives the same average. Where does it come in?", "width = 2",
            "width = 1.0"),
    mistake("the bandwidth after the kernel", "The bandwidth acts on the weights or the output, which it then scales. "
            "Which number says how far a distance is?", "width = 2\nout = weights @ value / bandwidth",
            "width = 2\nweights = stable_softmax(scores) / bandwidth**2", "out = weights @ value / bandwidth",
            "width = 2\nout = weights @ value / bandwidth**2",
            "out = weights @ value / (bandwidth * math.sqrt(2 * math.pi))"),
    mistake("the constants of a density", "The kernel carries the factor that makes a density of a Gaussian, and "
            "nothing divides it out again. Which sum should the weights of a row be divided by?",
            "weights = scores.exp() / (bandwidth * math.sqrt(2 * math.pi)) / key.shape[-2]",
            "weights = scores.exp() / (bandwidth * math.sqrt(2 * math.pi))",
            "weights = scores.exp() / (bandwidth * math.sqrt(2 * math.pi)) ** key.shape[-1]",
            "weights = scores.exp() / (bandwidth * math.sqrt(2 * math.pi)) ** key.shape[-1] / key.shape[-2]"),
    mistake("exponentials averaged over the keys", "The exponentials of a row were averaged over the keys, so they do "
            "not sum to 1. What is the sum that each of them should be divided by?",
            "weights = scores.exp() / key.shape[-2]",
            "weights = scores.exp() / key.shape[-1]"),
    mistake("scaled by √d too", "The squared distance was divided by the width of the vectors, or by its root. That "
            "scale is attention's: what does the bandwidth alone say here?",
            "width = 2 * bandwidth**2 * math.sqrt(query.shape[-1])",
            "width = math.sqrt(query.shape[-1])", "width = bandwidth**2 * math.sqrt(query.shape[-1])",
            "width = 2 * math.sqrt(query.shape[-1])"),
)

DISTANCE = (
    mistake("dot product instead of distance", "The scores are dot products. A key far from the query but long can "
            "beat one that lies on it. Which number is largest at the query itself?",
            "scaled = query @ key.mT / bandwidth**2", "scaled = query @ key.mT / width",
            "scaled = query @ key.mT / bandwidth", "scaled = query @ key.mT / math.sqrt(query.shape[-1])",
            "scaled = query @ key.mT", "scaled = query @ key.mT * bandwidth",
            "scaled = query @ key.mT / math.sqrt(query.shape[-1]) / bandwidth"),
    mistake("a term of the square lost", "|q - k|² was multiplied out, and one of its terms has another factor or sign "
            "than it should. Which of the three terms may be left out, since it is the same for all keys?",
            f"scaled = (query @ key.mT - {_NORM}) / bandwidth**2",
            f"scaled = (2 * query @ key.mT - {_NORM} / 2) / width", f"squared = {_OWN} + {_NORM} - query @ key.mT",
            f"squared = {_OWN} + {_NORM} + 2 * query @ key.mT", f"squared = {_OWN} - {_NORM} - 2 * query @ key.mT",
            f"squared = {_OWN} + {_NORM}", f"squared = ({_OWN} - {_NORM}).abs()", f"squared = {_OWN} - {_NORM}",
            f"scaled = (query @ key.mT + {_NORM} / 2) / bandwidth**2",
            f"scaled = query @ key.mT / bandwidth**2 - {_NORM} / 2",
            f"scaled = query @ key.mT / bandwidth**2 - {_NORM}",
            f"scaled = (query @ key.mT - {_NORM}.sqrt() / 2) / bandwidth**2",
            f"scaled = (query @ key.mT - {_NORM}.sqrt()) / bandwidth**2",
            f"scaled = 2 * query @ key.mT / bandwidth**2 - {_NORM} / width"),
    mistake("the distance not squared", "The weights fall off like a tent, not like a bell. What happens to the "
            "distance in a Gaussian?", f"squared = {_LENGTH}", f"scaled = -{_LENGTH} / bandwidth",
            f"scaled = -{_LENGTH} / (2 * bandwidth)", "squared = difference.abs().sum(-1)",
            "scaled = -difference.abs().sum(-1) / bandwidth", "scaled = -difference.abs().sum(-1) / (2 * bandwidth)"),
    mistake("squared twice", "A distance that was squared already was squared again. Which power of the length stands "
            "in the exponent?", "squared = difference.square().sum(-1).square()",
            "scaled = -(difference.square().sum(-1).square()) / (2 * bandwidth**4)"),
    mistake("features summed before the square", "Differences of opposite sign cancelled: they were added before they "
            "were squared. In a length, which comes first?", "squared = difference.sum(-1).square()",
            "squared = difference.sum(-1).abs()", "squared = difference.sum(-1)"),
    mistake("mean over the features", "The squares of a difference were averaged, or only one of them was kept, such "
            "as the first or the largest. What is the square of a length?", "squared = difference.square().mean(-1)",
            "squared = difference.square().amax(-1)", "squared = difference[..., 0].square()"),
    mistake("another length than the Euclidean one", "Differences were made positive and added up, and the sum "
            "was squared. In |q - k|², what is squared before it is added?",
            "squared = difference.abs().sum(-1).square()"),
    mistake("the wrong two compared", "The distances are not those between queries and keys. Which two are compared "
            "with each other?", "difference = query.unsqueeze(-2) - query.unsqueeze(-3)",
            "difference = key.unsqueeze(-2) - key.unsqueeze(-3)",
            "difference = query.unsqueeze(-2) - value.unsqueeze(-3)",
            "difference = value.unsqueeze(-2) - key.unsqueeze(-3)",
            "difference = query - key\nsquared = difference.square().sum(-1).unsqueeze(-2)",
            "return torch.softmax(-(query - key).square().sum(-1) / width, -1) @ value"),
    mistake("query and key swapped", "The keys did the asking: the table has a row for each key. Which of the two owns "
            "a row?", "difference = key.unsqueeze(-2) - query.unsqueeze(-3)"),
    mistake("normalised", "Lengths or spreads were evened out before the distance was taken. Keys in the same "
            "direction then count as one: is the distance to be changed?",
            "difference = F.normalize(query, dim=-1).unsqueeze(-2) - F.normalize(key, dim=-1).unsqueeze(-3)",
            "difference = query.unsqueeze(-2) - F.normalize(key, dim=-1).unsqueeze(-3)"),
    mistake("another kernel than a Gaussian", "The weights fall with the distance, but not as a Gaussian does. What "
            "stands in the exponent, and what outside of it?", _kernel("1 / (1 + squared / bandwidth**2)"),
            _kernel("1 / (1 + squared / width)"), _kernel("1 / (1 + squared)"), _kernel("1 / (squared + 1e-9)"),
            _kernel("1 / (squared.sqrt() + 1e-9)"), _kernel("(1 - squared / bandwidth**2).clamp(min=1e-30)"),
            _kernel("(squared <= bandwidth**2).to(squared.dtype).clamp(min=1e-30) + 0.0 * squared"),
            "powers = (1 - squared / bandwidth**2).clamp(min=0)\n"
            "weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)",
            *(f"weights = stable_softmax(scores.masked_fill(squared > ({reach} * bandwidth) ** 2, -torch.inf))"
              for reach in (3, 2, 1))),
    mistake("another width than 2h²", "This is a Gaussian average of another width. What else divides or multiplies "
            "the squared distance?", "width = 2 * bandwidth**2 + 1", "width = 2 * bandwidth**3",
            "width = 4 * bandwidth", matches=_some_width),
)

# Where all exponentials vanish, something else in their place; or none of them allowed to vanish.
_PATCHED = (
    *("powers = scores.exp()\ntotal = powers.sum(-1, keepdim=True)\n"
      f"weights = torch.where(total == 0, {instead},\n    powers / total.masked_fill(total == 0, 1.0))"
      for instead in ("1 / scores.shape[-1]", "F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)")),
    *(f"powers = scores.clamp(min={least}).exp()\nweights = powers / powers.sum(-1, keepdim=True)"
      for least in (-50, -30, -80, -87, -100, -500, -700)),
    *(f"powers = scores.exp().clamp(min={least})\nweights = powers / powers.sum(-1, keepdim=True)"
      for least in (1e-12, 1e-30, 1e-300)),
    *(f"powers = scores.exp()\nweights = powers / powers.sum(-1, keepdim=True).clamp(min={least})"
      for least in (1e-30, 1e-300)),
    # The queries' own squares left out, which a softmax would allow.
    "apart = (query @ key.mT - key.square().sum(-1).unsqueeze(-2) / 2) / bandwidth**2\n"
    "weights = apart.exp() / apart.exp().sum(-1, keepdim=True)",
)
_UNSHIFTED = tuple(f"powers = scores.exp()\nweights = powers / (powers.sum(-1, keepdim=True) + {size})"
                   for size in (1e-6, 1e-8, 1e-10, 1e-12, 1e-30))
EXERCISE = exercise(
    nadaraya_watson,
    right=RIGHT,
    asks="Average the values, each weighted by a Gaussian of the distance between its key and the query.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("3 queries, 3 keys, all widths 3", L=3, S=3, d=3, d_v=3, bandwidth=0.8, gradient="equal"),
        case("2 queries, 5 keys, bandwidth 1.3", L=2, S=5, d=4, d_v=3, bandwidth=1.3, gradient="equal"),
        case("a batch of shape (2, 3)", batch=(2, 3), L=4, S=6, d=5, d_v=2, bandwidth=1.7, gradient="equal"),
        case("more queries than keys, bandwidth 1", batch=(2,), L=7, S=3, d=2, d_v=4, bandwidth=1.0),
        case("every size is 3, in a batch of 3", batch=(3,), L=3, S=3, d=3, d_v=3, bandwidth=1.4),
        case("bandwidth 2, a whole number", L=3, S=6, d=4, d_v=5, bandwidth=2),
        case("bandwidth 1000: nearly a plain mean", L=2, S=4, d=3, d_v=5, bandwidth=1e3),
        case("bandwidth 0.05: nearly the nearest key", L=4, S=6, d=2, d_v=3, bandwidth=0.05),
        case("queries that lie on keys", _on_the_keys),
        case("queries 1000 bandwidths away from close keys", _far_away, gradient="finite"),
        case("queries 1000 bandwidths away, one key wins", _far_and_sharp, gradient="finite"),
        case("one query and one key", batch=(2,), L=1, S=1, d=4, d_v=3, bandwidth=0.3),
        case("numbers on a line", L=6, S=8, d=1, d_v=1, bandwidth=0.4, gradient="equal"),
        case("non-contiguous inputs", batch=(2,), L=4, S=6, d=3, d_v=5, bandwidth=1.2, strided=True),
        case("float32", batch=(2,), L=3, S=5, d=6, d_v=4, bandwidth=1.5, dtype="float32", tolerance=1e-4),
    ),
    mistakes=(
        *adding(epsilon(_epsilon, 1e-7), {"epsilon in the denominator": _UNSHIFTED}),
        *BANDWIDTH,
        *DISTANCE,
        # No score is above 0.
        *saying(adding(without(UNMASKED, "relu before the softmax"), {"no shift before exp": _PATCHED}), {
            "no shift before exp": "Far from every key all exponentials vanish, and 0/0, or whatever is put in its "
                "place, is not the average. Any number may be added to all scores of a row: which one keeps the "
                "largest exponential at 1?",
            "no softmax": "The negative distances are used as weights. What turns a row of them into shares?",
        }),
        *without(SHARES, "zeros taken for padding", "scores squashed before the softmax",
                 "weights = torch.softmax(scores.masked_fill(scores <= 0, -torch.inf), -1)",
                 "weights = stable_softmax(scores.masked_fill(scores <= 0, -torch.inf))",
                 "weights = stable_softmax(scores.masked_fill(scores <= 0, -1e9))"),
        *without(VALUES, "the root of the width of the values"),
        *AVERAGES,
        mistake("one sequence for all", "Every sequence came out as one of them. Which axes tell them apart, and how "
                "many of those can there be?", "return out.reshape(-1, *out.shape[-2:])[:1].expand(out.shape)",
                "return out.reshape(-1, *out.shape[-2:])[0]"),
        cut_off("weights = stable_softmax(scores).detach()", "out = (weights @ value).detach()",
                "out = weights @ value.detach()",
                "difference = query.detach().unsqueeze(-2) - key.unsqueeze(-3)",
                "difference = query.unsqueeze(-2) - key.detach().unsqueeze(-3)"),
        RANDOM,
        overwritten(*writing(nadaraya_watson, 0, 1, 2)),
        *other_kinds("out", "weights"),
        lower_precision(nadaraya_watson, "out = (weights.float() @ value.float()).to(value.dtype)",
                        "scores = scaled.half().to(scaled.dtype)", "scores = scaled.bfloat16().to(scaled.dtype)"),
    ),
    laws=(average_law(lambda args: args[2]),),
    hints=(
        "Three steps: a table of squared distances, weights that sum to 1 in each row, an average of the values.",
        "`query.unsqueeze(-2) - key.unsqueeze(-3)` has the shape (..., L, S, d): every query with every key.",
        "exp(-|q - k|²/(2h²)), divided by its sum over the keys, is a function that you know, of which scores?",
        "Far from all keys the exponentials vanish, and 0/0 is NaN. A softmax subtracts the largest score of a row "
        "first.",
    ),
)
