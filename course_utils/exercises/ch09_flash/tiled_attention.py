"""Exercise: attention a tile at a time."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import tiled_attention
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import left_in, other_parts
from course_utils.exercises.shared.online import FACTORS, SUMS
from course_utils.exercises.shared.scale import DEFAULT, another_scale, some_scale
from course_utils.exercises.shared.tiles import CAUSAL, TILES, WAYS, costs, inputs
from course_utils.exercises.shared.tiles import cases as tile_cases
from torch import Tensor

RIGHT = """
def tiled_attention(query, key, value, block_q, block_k, is_causal=False):
    def step(m, l, acc, scores, value):
        top = scores.amax(-1)
        m_new = torch.maximum(m, top)
        shift = m_new.masked_fill(m_new == -torch.inf, 0.0)
        correction = (m - shift).exp()
        powers = (scores - shift.unsqueeze(-1)).exp()
        l_new = l * correction + powers.sum(-1)
        acc_new = acc * correction.unsqueeze(-1) + powers @ value
        state = m_new, l_new, acc_new
        return state

    num_queries, num_keys = query.shape[2], key.shape[2]
    default = 1 / math.sqrt(query.shape[-1])
    causal = is_causal
    cut = lambda length, block: [(a, min(a + block, length)) for a in range(0, length, block)]
    row_tiles = cut(num_queries, block_q)
    key_tiles = cut(num_keys, block_k)
    out = query.new_zeros(*query.shape[:-1], value.shape[-1])
    lse = query.new_zeros(query.shape[:-1])
    for q0, q1 in row_tiles:
        q = query[:, :, q0:q1]
        m = torch.full_like(q[..., 0], -torch.inf)
        l = torch.zeros_like(m)
        acc = torch.zeros_like(q[..., :1] * value[:, :, :1])
        for k0, k1 in key_tiles:
            skipped = k0 > q1 - 1
            if causal and skipped:
                continue
            k = key[:, :, k0:k1]
            v = value[:, :, k0:k1]
            products = q @ k.mT
            scaled = products * default
            i, j = torch.arange(q0, q1).unsqueeze(-1), torch.arange(k0, k1)
            future = j > i
            hidden = future & causal
            scores = scaled.masked_fill(hidden, -torch.inf)
            m, l, acc = step(m, l, acc, scores, v)
        out[:, :, q0:q1] = acc / l.unsqueeze(-1)
        lse[:, :, q0:q1] = m + l.log()
    result = out, lse
    return result
"""


def _made(
    lengths: tuple[int, int],
    blocks: tuple[int, int],
    *flag: bool,
    heads: tuple[int, int] = (2, 3),
    d: int = 4,
    size: float = 1.0,
    slope: float = 0.0,
    level: float = 0.0,
    dtype: str = "float64",
    apart: bool = False,
) -> Make:
    """Make inputs of the lengths (L, S), whose scores are near `level` and rise by `slope` per key."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, *heads, lengths[0], d, size=size, dtype=kind)
        key = normal(g, *heads, lengths[1], d, size=size, dtype=kind)
        value = normal(g, *heads, lengths[1], d, dtype=kind)
        if slope or level:
            query[..., 0] = 1.0
            key[..., 0] = (slope * torch.arange(lengths[1]) + level).to(kind) * d**0.5
        if apart:
            query, value = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, value))
            key = strided(key)
        return query, key, value, *blocks, *flag

    return make


def _slopes(tiled: Function, *args: Any) -> Tensor:
    """Return what autograd finds for the inputs, joined; NaN where nothing is tied to them.

    Where results are written into tensors that were read before, autograd cannot go back: then
    nothing is found wrong, since this chapter's backward pass is written by hand.
    """
    with torch.enable_grad():
        given = [x.detach().requires_grad_() for x in args[:3]]
        out, lse = tiled(*given, *args[3:])
        weights = torch.linspace(-1.0, 1.0, out.numel(), dtype=out.dtype).view_as(out)
        loss = (out * weights).sum() + (lse * weights[..., 0].cos()).sum()
        if not out.requires_grad or not lse.requires_grad:
            return torch.full((sum(x.numel() for x in given),), torch.nan, dtype=out.dtype)
        try:
            grads = torch.autograd.grad(loss, given, allow_unused=True, materialize_grads=True)
        except RuntimeError as error:
            if tiled is tiled_attention or "inplace operation" not in str(error):
                raise
            return _slopes(tiled_attention, *args)
    return torch.cat([grad.flatten() for grad in grads])


def _some_scale(args: tuple[Any, ...], got: tuple[Tensor, Tensor]) -> bool:
    """Return whether some scale gives both, the output and the logsumexp."""
    query, root = args[0], args[0].shape[-1] ** 0.5
    return some_scale(lambda scale: _joined(tiled_attention(query * (root * scale), *args[1:])), _joined(got))


def _joined(both: tuple[Tensor, Tensor]) -> Tensor:
    out, lse = both
    return torch.cat([out, lse.unsqueeze(-1)], dim=-1).detach()


_SOFTMAX = "acc_new = acc + stable_softmax(scores) @ value"
_COUNTED = f"l_new = l + (top > -torch.inf).to(l)\n{_SOFTMAX}"
_TWOS = "correction = torch.exp2(m - shift)\npowers = torch.exp2(scores - shift.unsqueeze(-1))\nlse[:, :, q0:q1] = "
_SUMMED = "out[:, :, q0:q1] = acc"
_WHOLE_ROWS = "row_tiles = cut(num_queries // block_q * block_q, block_q)"

OWN_WAYS = (
    mistake("PyTorch's own attention inside", "The values are right, but PyTorch's attention was given more than one "
            "tile: all the keys, or everything. It does the tiling internally; here that is your task. What does "
            "one tile see, and how do two of them become one result?",
            "result = F.scaled_dot_product_attention(query, key, value, is_causal=is_causal), lse",
            "seen = torch.ones(num_queries, num_keys, dtype=torch.bool).tril() | (not causal)\n"
            "parts = [F.scaled_dot_product_attention(query[:, :, a:b], key, value, seen[a:b]) for a, b in "
            "row_tiles]\n"
            "result = torch.cat(parts, 2), lse"),
    mistake("every tile kept", "No tile is too large, but all of them are still there at the end: together they are "
            "the full matrix. What of a tile is needed once it has been added to the sums?",
            "kept = []\ncausal = is_causal\nkept.append(scaled)\nscores = scaled.masked_fill(hidden, -torch.inf)"),
)

RETURNED = (
    mistake("a softmax in every tile, added", "Each tile was normalised by itself and the results were added: the "
            "weights of a query sum to the number of its tiles. How large a share of the whole does a tile have?",
            f"{_COUNTED}\n{_SUMMED}", f"{_SOFTMAX}\n{_SUMMED}"),
    mistake("the tiles' outputs averaged", "Each tile was normalised by itself and all of them count alike. A tile "
            "with one high score, or a short tile, does not count as much as the others: which number says how much it "
            "counts?",
            _COUNTED, f"{_SOFTMAX}\n{_SUMMED} / 2"),
    mistake("not divided by l", "out is the sum of exponentials times values, and nothing divided it. What should the "
            "weights of a query sum to?",
            _SUMMED, f"{_SUMMED} * l.unsqueeze(-1)", f"{_SUMMED} / (m + l.log()).exp().unsqueeze(-1)"),
    mistake("lse without m", "out is right; lse is the logarithm of the running sum alone. That sum was measured "
            "against a maximum: what was subtracted has to come back.", "lse[:, :, q0:q1] = l.log()"),
    mistake("lse without the logarithm", "out is right; lse is not the logarithm of the sum of exponentials. Which of "
            "m and l is a score already, and which is a sum of exponentials?",
            "lse[:, :, q0:q1] = m + l", "lse[:, :, q0:q1] = l", "lse[:, :, q0:q1] = m",
            "lse[:, :, q0:q1] = l * m.exp()", "lse[:, :, q0:q1] = m * l.log()"),
    mistake("lse with a wrong sign", "out is right; in lse something is subtracted that should be added. Is the "
            "logarithm of a sum above or below the largest term's?",
            "lse[:, :, q0:q1] = m - l.log()", "lse[:, :, q0:q1] = l.log() - m", "lse[:, :, q0:q1] = -m - l.log()"),
    mistake("lse in another unit", "out is right; lse has a logarithm to another base, or comes from scores without "
            "their scale. The natural logarithm of the scaled scores' exponentials is asked for.",
            "lse[:, :, q0:q1] = m + l.log2()", "lse[:, :, q0:q1] = (m + l.log()) / math.log(2)",
            "lse[:, :, q0:q1] = (m + l.log2()) * math.log(2)", "lse[:, :, q0:q1] = m + l.log10()",
            "lse[:, :, q0:q1] = m + l.log1p()",
            "late = (torch.arange(num_keys) > torch.arange(num_queries).unsqueeze(-1)) & causal\n"
            "result = out, (query @ key.mT).masked_fill(late, -torch.inf).logsumexp(-1)",
            "result = out, lse * math.sqrt(query.shape[-1])", "result = out, lse / math.sqrt(query.shape[-1])"),
    mistake("in lower precision", "The sums were carried in float32, although float64 came in. Which line makes a "
            "tensor without giving its dtype?",
            "kind = query.dtype\nquery, key, value = query.float(), key.float(), value.float()\n"
            "num_queries, num_keys = query.shape[2], key.shape[2]\nresult = out.to(kind), lse.to(kind)"),
    mistake("cut from the gradient", "out and lse are right, but no gradient flows back from one of them or both. What "
            "cuts them off: a `detach`, a number taken out of its tensor, `no_grad`?", "result = out.detach(), lse"),
    mistake("the two swapped", "lse came first. The order is out, then lse.", "result = lse, out"),
    mistake("one of the two alone", "One result came back, and two are asked for. Which of the numbers that a block "
            "of queries carried belong in the second?", "result = out", "result = lse"),
    left_in("result = out, lse{}"),
    *(replace(one, versions=tuple(str(line).replace("return", "result =") for line in one.versions))
      for one in other_parts("out", "lse")),
)

PLACES = (
    mistake("a ragged tail of queries dropped", "The last queries got no answer: block_q does not divide L, and the "
            "short block at the end was left out. How many blocks does it take to hold all L queries?",
            _WHOLE_ROWS, f"{_WHOLE_ROWS}\nlse = torch.full_like(query[..., 0], -torch.inf)",
            "done = num_queries // block_q * block_q or num_queries\nresult = out[:, :, :done], lse[:, :, :done]"),
    mistake("padding takes part", "The last tile was filled up with zeros, and they count: a key of zeros has the "
            "score 0, whose exponential is not 0. What hides a place where there is no key?",
            "key, value = (F.pad(x, (0, 0, 0, -key.shape[2] % block_k)) for x in (key, value))\n"
            "num_queries, num_keys = query.shape[2], key.shape[2]"),
    mistake("another tile's values", "The weights of a tile met the values, or the scores the keys, of another one. "
            "Both slices must begin at the tile's first key.",
            "v = value[:, :, : k1 - k0]", "v = value[:, :, num_keys - (k1 - k0) :]", "k = key[:, :, : k1 - k0]",
            "k = key[:, :, : k1 - k0]\nv = value[:, :, : k1 - k0]"),
    mistake("one head for all", "All heads, or all sequences, read the keys or values of the first one. Each has its "
            "own.",
            "k = key[:, :1, k0:k1].expand(-1, key.shape[1], -1, -1)\n"
            "v = value[:, :1, k0:k1].expand(-1, value.shape[1], -1, -1)",
            "v = value[:, :1, k0:k1].expand(-1, value.shape[1], -1, -1)",
            "k = key[:, :1, k0:k1].expand(-1, key.shape[1], -1, -1)",
            "k = key[:1, :, k0:k1].expand(len(key), -1, -1, -1)\n"
            "v = value[:1, :, k0:k1].expand(len(value), -1, -1, -1)",
            "v = value[:1, :, k0:k1].expand(len(value), -1, -1, -1)",
            "k = key[:1, :, k0:k1].expand(len(key), -1, -1, -1)"),
    mistake("scores multiplied by the mask", "What is in the future got the score 0, or its weight was removed after "
            "it had been counted. A score of 0 has the exponential 1: which score has none?",
            "scores = scaled.masked_fill(hidden, 0.0)", "skipped = False\nscores = scaled.masked_fill(hidden, 0.0)"),
)
_WAYS = (*OWN_WAYS, *WAYS)

EXERCISE = exercise(
    tiled_attention,
    right=RIGHT,
    asks="Compute exact attention and its logsumexp, one tile of scores at a time.",
    minutes=30,
    difficulty=4,
    importance=5,
    parts=("out", "lse"),
    cases=(
        *tile_cases(_made),
        case("causal, tiles of one score", _made((4, 4), (1, 1), True, d=3)),
        case("scores of thousands", _made((5, 8), (2, 3), d=6, size=40.0)),
        case("scores that rise by 300 per key", _made((4, 7), (3, 2), d=5, slope=300.0)),
        case("scores that fall by 300 per key", _made((4, 7), (3, 2), True, d=5, slope=-300.0)),
        case("all scores near -20,000, causal", _made((5, 6), (2, 4), True, d=4, level=-2e4)),
        case("all scores near 2,000", _made((5, 6), (2, 4), d=4, level=2000.0)),
        case("non-contiguous inputs", _made((7, 6), (3, 4), True, apart=True)),
        case("what autograd finds", _made((5, 7), (2, 3), d=4), run=_slopes,
             says="out and lse are right, but the gradients that autograd finds through them are "
                  "not, or one of them is cut off from query, key and value. What cuts it off "
                  "(`.detach()`, `.item()`, `torch.no_grad()`, numpy)?"),
        case("float32", _made((9, 7), (4, 3), d=16, dtype="float32"), tolerance=1e-4),
        case("float32, causal", _made((7, 9), (4, 3), True, d=8, dtype="float32"), tolerance=1e-4),
        case("bfloat16", _made((4, 7), (2, 3), d=8, dtype="bfloat16"), tolerance=0.4),
    ),
    mistakes=(
        *_WAYS,
        *RETURNED,
        *without(DEFAULT, "scale after softmax"),
        *another_scale(_some_scale),
        *adding(FACTORS, {"powers of another base": (_TWOS + "m + l.log2()", _TWOS + "(m + l.log2()) * math.log(2)")}),
        *saying(SUMS, {
            "m of the tile returned": "m is the maximum of the last tile, not of all of them. What must m be at any "
                "time?",
        }),
        *PLACES,
        *TILES,
        *adding(CAUSAL, {"causal off by one": ("future = j >= i\nshift = m_new",)}),
    ),
    costs=costs(inputs, _WAYS),
    hints=(
        "Two loops: over blocks of queries, and inside over blocks of keys. What must a block of "
        "queries remember from one tile of keys to the next?",
        "The step of the online softmax does all of it: begin with -inf, 0 and 0, hand it each "
        "tile's scaled scores and its values, and divide once at the end.",
        "A slice that runs past the end is simply shorter in Python: a last tile needs no padding. "
        "The loop over keys runs to S, the one over queries to L.",
        "For a causal tile compare the positions themselves, counted from the start of the sequence. "
        "When does even the last query of a block not see the first key of a tile?",
        "The logsumexp is the running maximum plus the logarithm of the running sum, as they are after the last tile.",
    ),
)
