"""Exercise: Luong's local-p weights."""

from typing import Any

import torch
from course_utils.attention import local_predictive_weights, stable_softmax
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.laws import is_other, monotone, weights_negative
from course_utils.checking.mistakes import mistake, saying, without
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, squeezed, through_numpy, writing
from course_utils.exercises.shared.softmax import SOFTMAX
from torch import Tensor

RIGHT = """
def local_predictive_weights(scores, centre, sigma):
    aim = centre
    place = torch.arange(scores.shape[-1], dtype=scores.dtype)
    far = place - aim.unsqueeze(-1)
    exponent = -far.square() / (2 * sigma**2)
    fade = torch.exp(exponent)
    weights = stable_softmax(scores)
    out = weights * fade
    return out
"""


def _made(
    batch: int,
    queries: int,
    keys: int,
    sigma: float = 1.3,
    low: float = 0.3,
    high: float | None = None,
    size: float = 1.0,
    dtype: str = "float64",
) -> Make:
    """Return a maker of scores, centre and sigma, with centres between `low` and `high`."""

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
    padding = torch.arange(6) >= torch.tensor([[[4]], [[6]]])
    return scores.masked_fill(padding, -torch.inf), centre, sigma


def _sums_above_one(args: tuple[Any, ...], out: Tensor) -> str | None:
    sums = out.detach().double().sum(-1)
    above = (sums > 1.05).nonzero()
    if not len(above):
        return None
    where = tuple(int(i) for i in above[0])
    return f"Row {list(where)} sums to {sums[where].item():.4g}."


def _fades_with_distance(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the weights are a softmax times something that falls with the distance."""
    scores, centre, _ = args
    if not is_other(got, local_predictive_weights(*args)):
        return False
    distance = (torch.arange(scores.shape[-1], dtype=scores.dtype) - centre.unsqueeze(-1)).abs()
    return monotone(-distance, got / stable_softmax(scores))


_CUT = "weights = stable_softmax(scores.masked_fill(far.abs() > {} * sigma, -torch.inf))"
EXERCISE = exercise(
    local_predictive_weights,
    right=RIGHT,
    asks="Damp the softmax of the scores by a Gaussian around each query's centre.",
    minutes=10,
    difficulty=3,
    importance=2,
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        case("3 queries, 3 keys, sigma=1.3", _made(3, 3, 3), gradient="equal"),
        case("a batch of 2: 4 queries, 9 keys, sigma=0.7", _made(2, 4, 9, 0.7), gradient="equal"),
        case("centres before the first key and after the last", _made(2, 5, 4, 1.5, -3.0, 7.0), gradient="equal"),
        case("a narrow window over many keys: sigma=0.5", _made(2, 3, 12, 0.5)),
        case("a wide window: sigma=4", _made(2, 3, 7, 4)),
        case("sigma=1", _made(2, 4, 6, 1.0)),
        case("scores of thousands", _made(2, 3, 5, 2.0, size=2000.0)),
        case("padding with scores of -inf", _padded),
        case("one query, one sequence", _made(1, 1, 5)),
        case("one key", _made(2, 3, 1, 1.1, -1.0, 1.0)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, 4, 6, dtype="float32")),
        case("bfloat16", _made(2, 3, 4, 2.0, 0.5, 2.5, dtype="bfloat16"), tolerance=0.2),
    ),
    mistakes=(
        mistake("renormalised", "Each row was made to sum to 1 again. Luong leaves the product as it is: what would a "
                "row say whose centre is far from every key?",
                "return out / out.sum(-1, keepdim=True)", "return torch.softmax(out, -1)",
                "fade = torch.exp(exponent) / torch.exp(exponent).sum(-1, keepdim=True)"),
        mistake("the Gaussian inside the softmax", "The Gaussian was applied to the scores before the softmax. A score "
                "of 0 still gets a share: which of the two comes last?", "out = stable_softmax(scores * fade)",
                "out = stable_softmax(scores + fade)", "out = stable_softmax(scores - fade)"),
        mistake("added instead of multiplied", "The Gaussian was added to the weights, or subtracted from them. What "
                "lets a factor near 0 silence a key?",
                "out = weights + fade", "out = (weights + fade) / 2", "out = weights - fade"),
        mistake("the Gaussian alone", "The scores play no part: only the place counts. What are the two factors?",
                "out = fade + 0.0 * weights", "out = stable_softmax(fade)"),
        mistake("the scores alone", "The centre plays no part: this is global attention. What are the two factors?",
                "out = weights + 0.0 * fade"),
        *saying(without(SOFTMAX, "weights = torch.softmax(scores, 1)", "weights = torch.softmax(scores, 2)"), {
            "softmax over an axis counted from the front": "The softmax ran over the sequences of the batch. Along "
                "which axis does a query choose?",
            "no softmax": "The Gaussian damps the raw scores. What makes shares of them first?",
        }),
        mistake("scaled", "The scores were divided by something before the softmax. They are taken as given here.",
                "weights = stable_softmax(scores / math.sqrt(scores.shape[-1]))",
                "weights = stable_softmax(scores / scores.shape[-1])"),
        mistake("the 2 forgotten", "The window has another width than sigma says. What divides the squared distance, "
                "besides σ², and is the 2 squared too?",
                "exponent = -far.square() / sigma**2", "exponent = -far.square() / (2 * sigma) ** 2"),
        mistake("sigma not squared", "The window has another width than sigma says. At distance σ the exponent should "
                "be -1/2: what is it here?",
                "exponent = -far.square() / (2 * sigma)", "exponent = -far.square() / sigma",
                "exponent = -far.square() / math.sqrt(2 * sigma)", "exponent = -far.square() / (2 * math.sqrt(sigma))"),
        mistake("multiplied by sigma where it divides", "A larger sigma makes the window narrower. In `a / 2 * b`, "
                "what is divided by what?", "exponent = -far.square() / 2 * sigma**2",
                "exponent = -far.square() * 2 * sigma**2", "exponent = -far.square() * sigma**2",
                "exponent = -far.square() * sigma", "exponent = -far.square() / 2 * sigma"),
        mistake("sigma not used", "Every sigma gives the same window. Where does it come in?",
                "exponent = -far.square() / 2", "exponent = -far.square()", "exponent = -far.abs()"),
        mistake("sigma taken for the half width", "Luong sets σ to half of the window D. Sigma is given here: is "
                "anything to be halved or doubled?", "exponent = -far.square() / (2 * (sigma / 2) ** 2)",
                "exponent = -far.square() / (2 * (2 * sigma) ** 2)", "exponent = -far.square() / (sigma / 2) ** 2"),
        mistake("the distance not squared", "The window is no bell: it falls off like a tent, or it keeps growing on "
                "one side. What happens to the distance in a Gaussian?", "exponent = -far.abs() / (2 * sigma**2)",
                "exponent = -far.abs() / sigma",
                "exponent = -far.abs() / (2 * sigma)", "exponent = -far / (2 * sigma**2)", "exponent = -far / sigma"),
        mistake("another window than a Gaussian", "The weights fade with the distance, but not as a Gaussian does. "
                "What stands in the exponent, and what outside of it?",
                "fade = 1 / (1 + far.square() / sigma**2)", "fade = torch.exp(-far.square()) / (2 * sigma**2)",
                "exponent = -far.abs() / sigma**2", matches=_fades_with_distance),
        mistake("the exponent's sign flipped", "Keys far from the centre gain instead of fading. Which sign does the "
                "exponent have?", "exponent = far.square() / (2 * sigma**2)"),
        mistake("divided by sigma and the root of 2π", "This is the normal distribution's density, or the factor was "
                "divided by something else outside `exp`. The factor in Luong's formula is 1 at the centre: what is it "
                "here?", "fade = torch.exp(exponent) / (sigma * math.sqrt(2 * math.pi))",
                "fade = torch.exp(exponent) / math.sqrt(2 * math.pi * sigma)",
                "fade = torch.exp(exponent) / math.sqrt(2 * math.pi)", "fade = torch.exp(exponent) / sigma",
                "fade = torch.exp(exponent) / torch.exp(exponent).amax(-1, keepdim=True)"),
        mistake("one minus the Gaussian", "The centre gets nothing and everything else stays. What should the factor "
                "be at the centre?", "fade = 1 - torch.exp(exponent)"),
        mistake("cut off at the edge of a window", "Keys beyond some distance got exactly 0. Luong's own window ends "
                "at D = 2σ; here the Gaussian fades by itself.",
                *(f"fade = torch.exp(exponent) * (far.abs() <= {reach} * sigma)" for reach in (2, 1, 3)),
                *(_CUT.format(reach) for reach in (2, 1, 3)), "fade = (far.abs() <= sigma).to(far.dtype)",
                "fade = (far.abs() <= 2 * sigma).to(far.dtype)", "fade = (1 - far.abs() / sigma).clamp(min=0)"),
        mistake("positions from 1", "The window is one key too far to the left or to the right. Where does counting "
                "start, here and in `torch.arange`?", "far = place + 1 - aim.unsqueeze(-1)", "aim = centre + 1"),
        mistake("centre rounded", "The centre was rounded to a key. It is a real number, and only as such can a "
                "gradient move it.", "aim = centre.round()", "aim = centre.floor()", "aim = centre.ceil()",
                "aim = centre.trunc()", "far = torch.arange(scores.shape[-1]) - aim.long().unsqueeze(-1)"),
        mistake("centre forced onto the keys", "A centre outside the keys was moved to the edge. It may be there: then "
                "all weights are small, and its gradient can bring it back.",
                "aim = centre.clamp(0, scores.shape[-1] - 1)", "aim = centre.clamp(0, scores.shape[-1])",
                "aim = centre.clamp(min=0)", "aim = centre.clamp(max=scores.shape[-1] - 1)",
                "aim = centre % scores.shape[-1]", "aim = centre.abs()"),
        mistake("centre cut off", "The values are right, but no gradient reaches `centre`, so it would never learn "
                "where to look. What cuts the thread?", "aim = centre.detach()"),
        mistake("the scores cut off", "The values are right, but no gradient reaches `scores`. What cuts the thread?",
                "weights = stable_softmax(scores.detach())"),
        mistake(
            "the centre taken for a share",
            "Positions were divided by the number of keys, or the centre multiplied by it, as if it were a share. It "
            "counts keys already.",
            "far = place / scores.shape[-1] - aim.unsqueeze(-1)",
            *(
                f"place = torch.linspace({ends}, scores.shape[-1], dtype=scores.dtype)"
                for ends in ("0.0, 1.0", "-1.0, 1.0", "0.0, scores.shape[-1]")
            ),
            "aim = centre * scores.shape[-1]",
            "aim = centre * (scores.shape[-1] - 1)",
            "aim = centre.sigmoid() * scores.shape[-1]",
            "aim = centre.sigmoid() * (scores.shape[-1] - 1)",
            "aim = centre.sigmoid()",
        ),
        mistake("distance of the queries", "The distances are those of the queries' own positions. Whose positions "
                "fade, the queries' or the keys'?",
                "far = (torch.arange(scores.shape[-2], dtype=scores.dtype) - aim).unsqueeze(-1)"),
        mistake("the query's own position as the centre", "Each window is centred on the query's own position: that is "
                "local-m. Where does local-p look?",
                "aim = 0 * centre + torch.arange(scores.shape[-2], dtype=scores.dtype)"),
        mistake("the centre on the wrong axis", "Each key got a centre of its own instead of each query. On which side "
                "does `centre` need a new axis?", "far = place - aim.unsqueeze(-2)", "far = place - aim",
                "far = place.unsqueeze(-1) - aim.unsqueeze(-2)", "far = (place - aim).unsqueeze(1)"),
        mistake("one centre for all", "The centres of one sequence or query were used for all. How many centres are "
                "there?", "aim = centre[:1]", "aim = centre.mean(0, keepdim=True).expand_as(centre)",
                "aim = centre.mean(1, keepdim=True).expand_as(centre)", "aim = centre[:, :1].expand_as(centre)",
                "aim = centre[:, -1:].expand_as(centre)", "aim = centre.mean().expand_as(centre)"),
        mistake("rows belong to the keys", "The table has a row for each key. Which of the two looks, and so owns a "
                "row?", "return out.mT"),
        squeezed("return out{}"),
        overwritten(*writing(local_predictive_weights, 0, 1)),
        cut_off("return out.detach()"),
        through_numpy("return torch.from_numpy(out.detach().numpy())"),
        *other_kinds("out", "weights"),
    ),
    laws=(
        Law("weights are never negative", weights_negative),
        Law("a Gaussian only takes away, so no row sums to more than 1", _sums_above_one),
    ),
    hints=(
        "There are two factors: the weights that you know, and one that fades with the distance from the centre. What "
        "is the shape of the table of distances?",
        "Key s is at position s. `torch.arange` gives all positions; which axis does `centre` lack to be subtracted "
        "from them?",
        "Square the distance, divide by 2σ², change the sign, take exp. At distance 0 the factor is 1: what is it at "
        "distance σ?",
        "The product is the answer. Luong does not divide by the sum again: then the centre could be far off and no "
        "weight would tell.",
    ),
)
