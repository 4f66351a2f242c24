"""Exercise: learned queries ask an image what stands where."""

import itertools
from typing import Any

import torch
from course_utils.attention import object_query_attention
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.laws import is_other
from course_utils.checking.mistakes import mistake, saying, without
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.lookup import AVERAGES, PRODUCTS, SHARES, UNMASKED
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.projections import projections
from course_utils.exercises.shared.scale import DEFAULT, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law
from torch import Tensor

RIGHT = """
def object_query_attention(x, query_position, memory, memory_position, W_q, W_k, W_v):
    asking = x + query_position
    asked = memory + memory_position
    held = memory
    query = asking @ W_q
    key = asked @ W_k
    value = held @ W_v
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = query @ key.mT
    scaled = products * factor
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value
    return out
"""


def _made(
    batch: int, queries: int, keys: int, *widths: int,
    size: float = 1.0, dtype: str = "float64", spread: bool = False, first_layer: bool = False,
) -> Make:
    """Return a maker of the arguments; the widths are d, d_k and d_v."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        d, d_k, d_v = widths
        streams = [normal(g, *one, size=size, dtype=kind)
                   for one in ((batch, queries, d), (queries, d), (batch, keys, d), (keys, d))]
        if first_layer:
            streams[0] = torch.zeros_like(streams[0])
        tensors = [*streams, *(normal(g, d, to, size=d**-0.5, dtype=kind) for to in (d_k, d_k, d_v))]
        return tuple(map(strided, tensors)) if spread else tuple(tensors)

    return make


def _scores(x: Tensor, query_position: Tensor, memory: Tensor, memory_position: Tensor, *W: Tensor) -> Tensor:
    return ((x + query_position) @ W[0]) @ ((memory + memory_position) @ W[1]).mT


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    if args[2].shape[1] < 2 or not is_other(got, object_query_attention(*args)):
        return False
    products, value = _scores(*args), args[2] @ args[6]
    return some_scale(lambda s: torch.softmax(products * s, -1) @ value, got.detach())


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    return some_epsilon(_scores(*args) / args[4].shape[1] ** 0.5, object_query_attention(*args), got)


def _positions(*lines: str) -> tuple[str, ...]:
    """Return the lines by themselves, and every two of them."""
    return (*lines, *("\n".join(pair) for pair in itertools.combinations(lines, 2)))


_SAME = "x.shape == memory.shape"
_BY_THE_MEAN = (  # as without a shift, in these cases
    "powers = (scores - scores.mean(-1, keepdim=True)).exp()\nweights = powers / powers.sum(-1, keepdim=True)"
)
EXERCISE = exercise(
    object_query_attention,
    right=RIGHT,
    asks="Let object queries read an image: positions are added on both sides of the score, not to what is read.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        case("3 queries, 3 tokens, all sizes 3", _made(3, 3, 3, 3, 3, 3), gradient="equal"),
        case("4 queries read 6 tokens, all widths different", _made(2, 4, 6, 3, 5, 7), gradient="equal"),
        case("the first layer: x is zeros", _made(2, 3, 5, 4, 6, 2, first_layer=True), gradient="equal"),
        case("more queries than tokens", _made(3, 7, 2, 5, 4, 3)),
        case("d_k far below d", _made(2, 3, 5, 16, 2, 4)),
        case("d_k far above d", _made(2, 3, 6, 3, 24, 5)),
        case("as many queries as tokens", _made(2, 4, 4, 3, 5, 6)),
        case("as many sequences as queries and tokens", _made(4, 4, 4, 5, 2, 3)),
        case("one query", _made(2, 1, 6, 4, 3, 2)),
        case("one token", _made(2, 4, 1, 3, 6, 4)),
        case("one sequence", _made(1, 3, 5, 4, 5, 6)),
        case("every width 1", _made(2, 3, 4, 1, 1, 1)),
        case("scores of thousands", _made(2, 3, 5, 4, 6, 7, size=35.0), gradient="finite"),
        case("non-contiguous tensors", _made(2, 3, 5, 4, 8, 7, spread=True)),
        case("float32", _made(2, 3, 5, 8, 16, 4, dtype="float32")),
        case("bfloat16", _made(2, 3, 4, 3, 4, 6, dtype="bfloat16"), tolerance=0.2),
    ),
    mistakes=(
        mistake("position in the values", "What is read holds the positions of the tokens. They help to find a token; "
                "what is taken from it is its content. To which of query, key and value are they added?",
                "held = asked", "value = held @ W_v + memory_position @ W_v", "out = weights @ value + "
                "weights @ memory_position @ W_v", "held = memory + memory_position\nasked = memory"),
        mistake("positions forgotten on one side", "A position is missing where two are compared: of the object "
                "queries, of the tokens, or both. Which two sums meet in a score?",
                "asking = x", "asked = memory", "asking = x\nasked = memory"),
        mistake("the position alone", "A position was used instead of the sum, so that what the queries have read so "
                "far, or what the tokens hold, plays no part.", *_positions(
                    "asking = query_position.expand_as(x)", "asked = memory_position.expand_as(memory)",
                    "held = memory_position.expand_as(memory)")),
        mistake("positions exchanged", "The object queries got the positions of the tokens, or the other way round.",
                "fits = query_position.shape == memory_position.shape\n"
                "asking = x + (memory_position if fits else memory_position.mean(0))",
                "fits = query_position.shape == memory_position.shape\n"
                "asked = memory + (query_position if fits else query_position.mean(0))",
                "fits = query_position.shape == memory_position.shape\n"
                "asking = x + (memory_position if fits else memory_position.mean(0))\n"
                "asked = memory + (query_position if fits else query_position.mean(0))"),
        mistake("positions not added", "A position was multiplied or subtracted, or put in with a factor. Attention "
                "adds it as it is.", *_positions("asking = x * query_position", "asked = memory * memory_position"),
                *_positions("asking = x - query_position", "asked = memory - memory_position"),
                "asking = (x + query_position) / 2", "asked = (memory + memory_position) / 2",
                "asking = x * (1 + query_position)"),
        mistake("positions after the projection", "The positions were added to the projected queries or keys. As in "
                "DETR, they are added before the matrix: what should the matrix see?",
                "fits = W_q.shape[0] == W_q.shape[1]\nquery = x @ W_q + (query_position if fits else 0.0)",
                "fits = W_q.shape[0] == W_q.shape[1]\nkey = memory @ W_k + (memory_position if fits else 0.0)",
                "fits = W_q.shape[0] == W_q.shape[1]\nquery = x @ W_q + (query_position if fits else 0.0)\n"
                "key = memory @ W_k + (memory_position if fits else 0.0)"),
        mistake("one position for all", "All queries got one position. What would then tell two object queries apart?",
                "asking = x + query_position[0]", "asking = x + query_position[:1]",
                "asking = x + query_position.mean(0)"),
        mistake("positions along the batch", "The positions met the axis of the batch. Which axis of (B, Q, d) counts "
                "the queries?", "fits = len(x) == x.shape[1]\n"
                "asking = x + (query_position.unsqueeze(1) if fits else query_position)",
                "fits = len(memory) == memory.shape[1]\n"
                "asked = memory + (memory_position.unsqueeze(1) if fits else memory_position)"),
        mistake("query from memory", "The image asked the object queries, or itself. Whose rows does the result have?",
                f"query = (asked if {_SAME} else asked.mean(1, keepdim=True).expand_as(x)) @ W_q"),
        mistake("keys and values from x", "The object queries read each other. That is the self-attention of a "
                "decoder; here they read the memory.", "key = asking @ W_k\nvalue = x @ W_v"),
        mistake("a residual inside", "Something was added to the output. The residual connection stands around this.",
                "fits = out.shape == x.shape\nreturn out + (x if fits else x.mean(-1, keepdim=True))",
                "fits = out.shape == x.shape\nreturn out + (query_position if fits else 0.0)",
                "return out + query_position @ W_v"),
        mistake("content and position apart", "Content met content and position met position, but a position never "
                "met a content. How many products has (a + b)(c + d)?",
                "products = (x @ W_q) @ (memory @ W_k).mT + (query_position @ W_q) @ (memory_position @ W_k).mT",
                "products = (x @ W_q) @ (memory @ W_k).mT + (x @ W_q) @ (memory_position @ W_k).mT + (\n    "
                "(query_position @ W_q) @ (memory_position @ W_k).mT)",
                "products = (x @ W_q) @ (memory @ W_k).mT + (query_position @ W_q) @ (memory @ W_k).mT + (\n    "
                "(query_position @ W_q) @ (memory_position @ W_k).mT)"),
        *without(projections("asking", "asked", "held"), "normalised"),
        *without(DEFAULT, "default = 1 / math.sqrt(query.shape[1])"),
        mistake("scaled by the width of x", "The scale comes from a width before the projections. Which two vectors "
                "make a score, and how wide are they?", "default = 1 / math.sqrt(x.shape[-1])",
                "default = 1 / x.shape[-1]"),
        *epsilon(_epsilon),
        RANDOM,
        *another_scale(_some_scale),
        *without(COMPARED, "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value"),
        *PRODUCTS,
        *saying(without(UNMASKED, "weights = torch.softmax(scores, 1)", "weights = torch.softmax(scores, 2)"), {
            "softmax over the queries": "Each token shares itself out among the queries. Who shares its attention out "
                "among whom?",
            "softmax over an axis counted from the front": "The weights sum to 1 over the sequences of the batch. "
                "Which axis holds the tokens, counted from the end?",
        }),
        *without(SHARES, "zeros taken for padding", _BY_THE_MEAN),
        *VALUES,
        *AVERAGES,
        *saying((batch_mixed("key = asked.roll(1, 0) @ W_k\nvalue = held.roll(1, 0) @ W_v",
                             "key = asked[:1] @ W_k\nvalue = held[:1] @ W_v", "query = asking[:1] @ W_q"),), {
            "the sequences of a batch mixed": "Images of the batch were mixed, or one was used for all."}),
        mistake("the weights returned too", "Output and weights came back together. Only the output is asked for here.",
                "return out, weights"),
        squeezed("return out{}"),
        cut_off("asking = x + query_position.detach()", "asked = memory + memory_position.detach()",
                "held = memory.detach()", "asking = x.detach() + query_position", "asked = memory.detach() + "
                "memory_position", "asking = x + query_position.detach()\nasked = memory + memory_position.detach()",
                "asked = memory.detach() + memory_position\nheld = memory.detach()",
                *(f"{one} = {what} @ {one_of}.detach()" for one, what, one_of in (
                    ("query", "asking", "W_q"), ("key", "asked", "W_k"), ("value", "held", "W_v"))),
                    "weights = stable_softmax(scores).detach()", "return out.detach()"),
        overwritten(*writing(object_query_attention, 0, 1, 2, 3, 4, 5, 6), *writing(object_query_attention, 0, 2)),
        *without(other_kinds("out", "weights"), "return out, weights"),
        lower_precision(object_query_attention, "out = (weights.float() @ value.float()).to(x.dtype)"),
    ),
    laws=(average_law(lambda args: args[2] @ args[6]),),
    hints=(
        "Who asks, who is asked, what is read? Write down the three sums or streams before any matrix.",
        "An object query is a learned vector, the same for every image: it says where this query likes to look. To "
        "which of the three is it added?",
        "The positions of the tokens help the score to find a place. What is read there should be the token's content "
        "alone.",
        "(x + query_position) W_q against (memory + memory_position) W_k, scaled by 1/√d_k, softmax over the tokens, "
        "times memory W_v.",
    ),
)
