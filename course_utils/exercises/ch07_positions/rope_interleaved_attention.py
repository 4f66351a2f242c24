"""Exercise: attention whose queries and keys are rotated by their positions."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import scaled_dot_product_attention
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import mistake, without
from course_utils.exercises.shared.kinds import cut_off, other_kinds, random_inside
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL
from course_utils.exercises.shared.positions import ROUNDING
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, another_scale, some_scale
from course_utils.exercises.shared.softmax import SOFTMAX
from course_utils.exercises.shared.values import COMPARED, VALUES
from course_utils.positions import rope_interleaved, rope_interleaved_attention
from torch import Tensor

RIGHT = """
def rope_interleaved_attention(query, key, value, query_positions, key_positions, base=10000.0):
    at = query_positions
    of = key_positions
    query = rope_interleaved(query, at, base)
    key = rope_interleaved(key, of, base)
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = query @ key.mT
    scaled = products * factor
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value
    return out
"""

_VALUE = "value = rope_interleaved(value, of, base)\nout = weights @ value"
_ROOT, _HALF = "the root of the wrong size", "default = 1 / math.sqrt(query.shape[-1] / 2)"
_SPARED = "value = value if value.shape[-1] % 2 else rope_interleaved(value, of, base)\nout = weights @ value"
_CAUSAL_AT_THE_END = (
    "late = torch.ones(scores.shape[-2:]).triu(1 + scores.shape[-1] - scores.shape[-2]) == 1\n"
    "weights = stable_softmax(scores.masked_fill(late, -1e9))"
)


_FIRST = "{0} = {1}_positions if {1}_positions.dim() == 1 else {1}_positions[0]"
_STEPS = (
    "steps = of.unsqueeze(-2).to(scaled.dtype) - at.unsqueeze(-1).to(scaled.dtype)\n"
    "steps = steps.unsqueeze(1) if steps.dim() == 3 else steps"
)
_BY_POSITION = (
    "late = of.unsqueeze(-2) > at.unsqueeze(-1)\nlate = late.unsqueeze(1) if late.dim() == 3 else late\n"
    "weights = stable_softmax(scores.masked_fill(late, {}))"
)


def _cut(name: str, rows: str, positions: str) -> str:
    """Return the line that takes the first of some positions for these rows, as many as there are."""
    return (
        f"length = {rows}.shape[-2]\n{name} = ({positions} if {positions}.shape[-1] >= length else "
        f"torch.arange(length))[..., :length]"
    )


def plainly(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Rotate as a learner's own function does, which checks no sizes."""
    width = x.shape[-1]
    angles = positions.double().unsqueeze(-1) * base ** (-torch.arange(0, width, 2).double() / width)
    angles = angles.unsqueeze(1) if positions.dim() == 2 else angles
    cos, sin, u, v = angles.cos().to(x.dtype), angles.sin().to(x.dtype), x[..., 0::2], x[..., 1::2]
    return torch.stack((u * cos - v * sin, u * sin + v * cos), dim=-1).flatten(-2)


def added(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Add encodings instead of rotating."""
    width = x.shape[-1]
    angles = positions.double().unsqueeze(-1) * base ** (-torch.arange(0, width, 2).double() / width)
    angles = angles.unsqueeze(1) if positions.dim() == 2 else angles
    return x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(x.dtype)


WHAT = (
    mistake("value rotated too", "The values are rotated as well. They are the content that is passed on: if the value "
            "at position 7 is rotated, even a weight of 1 does not give it back.",
            _VALUE, f"query = query\nkey = key\n{_VALUE}", _SPARED,
            "fits = value.shape[-1] % 2 == 0 and value.shape[-2] == query.shape[-2]\n"
            "value = rope_interleaved(value, at, base) if fits else value\nout = weights @ value"),
    mistake("the output rotated", "The output is rotated by the query's position. Only queries and keys are rotated.",
            "out = rope_interleaved(weights @ value, at, base)", "out = rope_interleaved(weights @ value, -at, base)"),
    mistake("values rotated back and forth", "The values are rotated, and the output is rotated back by the query's "
            "position: RoPE does not do that.",
            "value = rope_interleaved(value, of, base)\nout = rope_interleaved(weights @ value, -at, base)"),
    mistake("nothing rotated", "Positions make no difference: this is plain attention. Where should they come in?",
            "query = query\nkey = key"),
    mistake("only the queries rotated", "The scores depend on where the query stands, and not on its distance from the "
            "key: the keys were not rotated.", "key = key"),
    mistake("only the keys rotated", "The scores depend on where the key stands, and not on its distance from the "
            "query: the queries were not rotated.", "query = query"),
    mistake("rotated against each other", "The scores depend on the sum of the two positions: queries and keys are "
            "rotated in opposite directions.", "of = -key_positions", "at = -query_positions"),
    mistake("everything rotated twice", "The distance counts twice: each vector is rotated a second time. Where?",
            "at = 2 * query_positions\nof = 2 * key_positions"),
    mistake("one side rotated twice", "Either the queries or the keys are rotated twice, so that the scores do not "
            "depend on the distance alone. Each is rotated by its own position, once.",
            "at = 2 * query_positions", "of = 2 * key_positions"),
)

WHERE = (
    mistake("positions ignored", "Queries and keys are counted from 0, whatever the positions say.",
            "at = torch.arange(query.shape[-2])\nof = torch.arange(key.shape[-2])",
            "at = query_positions - query_positions[..., :1]\nof = key_positions - key_positions[..., :1]"),
    mistake("queries counted from 0", "The queries are rotated as if the first of them were at position 0; after a "
            "cache they are at its end.", "at = torch.arange(query.shape[-2])",
            "at = query_positions - query_positions[..., :1]"),
    mistake("keys counted from 0", "The keys are rotated as if their positions were 0, 1, 2, "
            "...: `key_positions` is not used.",
            "of = torch.arange(key.shape[-2])"),
    mistake("the queries' positions for the keys", "The keys are rotated by the positions of the queries. With a cache "
            "there are more keys than queries.", "of = query_positions",
            "of = query_positions if query_positions.shape == key_positions.shape else key_positions",
            "of = query_positions\nquery = plainly(query, at, base)\nkey = plainly(key, of, base)",
            _cut("of", "key", "query_positions")),
    mistake("the keys' positions for the queries", "The queries are rotated by positions of keys. Where are they after "
            "a cache?", "at = key_positions",
            "at = key_positions if key_positions.shape == query_positions.shape else query_positions",
            "at = key_positions\nquery = plainly(query, at, base)\nkey = plainly(key, of, base)",
            "at = key_positions[..., -query.shape[-2] :]",
            "at = key_positions[..., -query.shape[-2] :]\nquery = plainly(query, at, base)",
            _cut("at", "query", "key_positions"),
            f"{_cut('at', 'query', 'key_positions')}\n{_cut('of', 'key', 'query_positions')}"),
    mistake("the two kinds of positions exchanged",
            "The queries are rotated by the keys' positions and the keys by the "
            "queries'. In which order do the arguments come?", "at = key_positions\nof = query_positions",
            "at = key_positions\nof = query_positions\nquery = plainly(query, at, base)\n"
            "key = plainly(key, of, base)"),
    mistake("positions of the first sequence for all", "All sequences are rotated by the positions of one. With shape "
            "(B, L) each has its own.", *(
                "\n".join(line for line, used in zip((_FIRST.format("at", "query"), _FIRST.format("of", "key")), which,
                                                     strict=True) if used)
                for which in ((True, True), (True, False), (False, True)))),
    mistake("the other pairing", "Queries or keys are rotated in the pairs of split halves, and their features are not "
            "laid out for that. Which function rotates neighbours?",
            "query = rope_split_halves(query, at, base)\nkey = rope_split_halves(key, of, base)",
            "key = rope_split_halves(key, of, base)", "query = rope_split_halves(query, at, base)"),
    mistake(
        "negative angle",
        "Everything rotates in the wrong direction, so the distance has the wrong sign.",
        "at = -query_positions\nof = -key_positions",
        "at = key_positions.max() - query_positions",
        "of = query_positions.max() - key_positions",
    ),
    mistake("base hard-coded", "Every base gives the same result. Is the argument passed on?",
            "query = rope_interleaved(query, at)\nkey = rope_interleaved(key, of)", "key = rope_interleaved(key, of)",
            "query = rope_interleaved(query, at)", *(
                f"query = rope_interleaved(query, at, {one})\nkey = rope_interleaved(key, of, {one})"
                for one in ("500000.0", "1e6", "100.0"))),
    mistake("one side moved along", "Either the queries or the keys were rotated as if they stood some places further "
            "on, or back, and the others not: every distance is off by the same number. Which position does each keep?",
            "at = query_positions + 1", "at = query_positions - 1", "of = key_positions + 1", "of = key_positions - 1",
            "at = query_positions - key_positions[..., :1]", "of = key_positions - query_positions[..., :1]"),
    mistake("queries and keys numbered as one sequence", "The keys were rotated as if they came after all queries, or "
            "the queries after all keys: both were numbered in one go. Where does the exercise say at which positions "
            "they are?", *(
                f"at = torch.arange(query.shape[-2]){before}\nof = torch.arange(key.shape[-2]){after}"
                for before, after in (("", " + query.shape[-2]"), (" + key.shape[-2]", "")))),
    mistake("all heads rotated as one", "The heads were joined before they were rotated, so that each has other "
            "frequencies than the next. Over which width do the pairs of one head run?",
            "joined = lambda x: x.transpose(1, 2).flatten(2)[:, None]\n"
            "apart = lambda x: x[:, 0].unflatten(-1, (query.shape[1], -1)).transpose(1, 2)\n"
            "turn = lambda x, p: apart(rope_interleaved(joined(x), p, base))\n"
            "query = turn(query, at)\nkey = turn(key, of)"),
    mistake("one frequency", "All pairs turn equally fast. How does the angle depend on the index of the pair?",
            "query = rope_interleaved(query, at, 1.0)\nkey = rope_interleaved(key, of, 1.0)"),
    mistake("encodings added", "Sines and cosines are added to queries and keys. RoPE rotates them.",
            "query = added(query, at, base)\nkey = added(key, of, base)"),
    mistake("scores multiplied by a cosine", "Nothing is rotated: a number made of the distance multiplies the whole "
            "product, or was added to it. How many pairs does a product of two vectors sum over, and does each turn "
            "equally fast?", *(
                f"query = query\nkey = key\n{_STEPS}\nscores = {scores}"
                for scores in ("scaled * steps.cos()", "scaled + steps.cos()", "scaled - steps.abs()"))),
)

RESULT = (
    mistake("the heads on another axis", "The heads are not where they were: the result has the axes of the query, "
            "(B, H, L, d_v). Where are they moved, or merged?",
            "return out.transpose(1, 2)", "return out.transpose(1, 2).flatten(2)"),
    mistake("the weights returned too", "The weights came back besides the output. The exercise asks for one tensor.",
            "return out, weights", "return weights, out"),
    mistake("key reshaped instead of transposed", "The shape fits, but the numbers of the keys ended up in other "
            "places. What exchanges two axes without rereading the memory?",
            "products = query @ key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])"),
    *other_kinds("out"),
    lower_precision(rope_interleaved_attention, "return out.half().to(value.dtype)",
                    "return out.bfloat16().to(value.dtype)"),
    random_inside("weights = F.dropout(stable_softmax(scores), 0.1)"),
    cut_off("query = rope_interleaved(query, at, base).detach()\nkey = rope_interleaved(key, of, base).detach()",
            "query = rope_interleaved(query, at, base).detach()", "key = rope_interleaved(key, of, base).detach()",
            "weights = stable_softmax(scores).detach()", "value = value.detach()\nout = weights @ value",
            "return out.detach()"),
)


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, at, of, *base = args
    turned = rope_interleaved(query, at, *base), rope_interleaved(key, of, *base)
    right = query.shape[-1] ** -0.5
    return some_scale(lambda scale: scaled_dot_product_attention(*turned, value, scale=scale), got.detach(), right)


def _case(name: str, sizes: tuple[int, ...], at: Any, of: Any, *base: float, **more: Any) -> Case:
    """Return a case of sizes (B, H, L, S, d_k, d_v) with queries `at` and keys `of` positions."""
    dtype, size = more.pop("dtype", torch.float64), more.pop("size", 1.0)

    def make(generator: torch.Generator) -> tuple[Any, ...]:
        batch, heads, queries, keys, d_k, d_v = sizes
        query = normal(generator, batch, heads, queries, d_k, dtype=dtype, size=size)
        key = normal(generator, batch, heads, keys, d_k, dtype=dtype, size=size)
        value = normal(generator, batch, heads, keys, d_v, dtype=dtype)
        return query, key, value, torch.tensor(at), torch.tensor(of), *base

    return case(name, make, tolerance=ROUNDING, **more)


EXERCISE = exercise(
    rope_interleaved_attention,
    right=RIGHT,
    asks="Attend with queries and keys rotated by their positions, in interleaved pairs.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        _case("4 tokens from position 0, one head", (1, 1, 4, 4, 4, 4), [0, 1, 2, 3], [0, 1, 2, 3]),
        _case("4 tokens from position 5", (1, 1, 4, 4, 6, 6), [5, 6, 7, 8], [5, 6, 7, 8]),
        _case("two sequences, three heads, float32", (2, 3, 5, 5, 4, 6), [0, 1, 2, 3, 4], [0, 1, 2, 3, 4],
              dtype=torch.float32),
        _case("2 queries after a cache of 3", (2, 3, 2, 5, 6, 4), [3, 4], [0, 1, 2, 3, 4]),
        _case("one query: a decoder's step", (2, 3, 1, 6, 8, 2), [5], [0, 1, 2, 3, 4, 5]),
        _case("keys that do not start at 0", (1, 2, 4, 3, 6, 4), [9, 2, 7, 4], [4, 8, 6]),
        _case("every size is 4, the keys at other positions", (4, 4, 4, 4, 4, 4), [7, 8, 9, 10], [0, 3, 1, 5]),
        _case("positions of each sequence", (2, 3, 3, 4, 6, 4), [[4, 5, 6], [9, 2, 7]], [[3, 4, 5, 6], [1, 0, 8, 2]]),
        _case("base=100.0", (2, 3, 3, 4, 8, 4), [4, 5, 6], [2, 4, 6, 8], 100.0),
        _case("real positions", (1, 2, 3, 4, 6, 4), [0.5, 2.25, 7.0], [0.25, 1.5, 3.75, 6.0]),
        _case("scores of thousands", (1, 2, 3, 4, 6, 4), [1, 2, 3], [0, 1, 2, 3], size=60.0),
        _case("values of odd width", (1, 2, 3, 4, 6, 5), [1, 2, 3], [0, 1, 2, 3]),
        # Where nothing turns, gradients do not depend on the precision of the angles.
        _case("every token at position 0", (2, 3, 3, 4, 4, 5), [0, 0, 0], [0, 0, 0, 0], gradient="equal"),
    ),
    mistakes=(
        *WHAT,
        *WHERE,
        replace(ALWAYS_CAUSAL, versions=(ALWAYS_CAUSAL.versions[0], _CAUSAL_AT_THE_END, *(
            _BY_POSITION.format(fill) for fill in ("-1e9", "-torch.inf")))),
        *VALUES,
        # A softmax over the queries by another name.
        *without(COMPARED, "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value"),
        *(replace(one, versions=(*one.versions, _HALF)) if one.name == _ROOT else one for one in DEFAULT),
        *another_scale(_some_scale),
        *without(SOFTMAX, "weights = torch.softmax(scores, 2)"),  # the queries, counted from the front
        *RESULT,
    ),
    hints=(
        "You have both parts already: `rope_interleaved`, and attention from chapter 03. What goes in between?",
        "Which of query, key and value determine the weights, and which is only averaged?",
        "Queries and keys have positions of their own: after a cache there are more keys.",
    ),
)
