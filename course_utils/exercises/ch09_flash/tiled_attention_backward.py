"""Exercise: the backward pass of attention, a tile at a time."""

import math
from typing import Any

import torch
from course_utils.attention import tiled_attention, tiled_attention_backward
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.kinds import other_parts
from course_utils.exercises.shared.scale import DEFAULT
from course_utils.exercises.shared.tiles import CAUSAL, TILES, WAYS, costs, inputs
from course_utils.exercises.shared.tiles import cases as tile_cases

RIGHT = """
def tiled_attention_backward(query, key, value, out, lse, grad_out, block_q, block_k, is_causal=False):
    num_queries, num_keys = query.shape[2], key.shape[2]
    default = 1 / math.sqrt(query.shape[-1])
    back = default
    causal = is_causal
    cut = lambda length, block: [(a, min(a + block, length)) for a in range(0, length, block)]
    row_tiles = cut(num_queries, block_q)
    key_tiles = cut(num_keys, block_k)
    delta = (grad_out * out).sum(-1, keepdim=True)
    dq, dk, dv = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
    for q0, q1 in row_tiles:
        q = query[:, :, q0:q1]
        grad = grad_out[:, :, q0:q1]
        log_sum = lse[:, :, q0:q1].unsqueeze(-1)
        average = delta[:, :, q0:q1]
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
            weights = (scores - log_sum).exp()
            grad_weights = grad @ v.mT
            through = weights * (grad_weights - average)
            grad_scores = through * back
            dq[:, :, q0:q1] += grad_scores @ k
            dk[:, :, k0:k1] += grad_scores.mT @ q
            dv[:, :, k0:k1] += weights.mT @ grad
    result = dq, dk, dv
    return result
"""


def _made(
    lengths: tuple[int, int],
    blocks: tuple[int, int],
    *flag: bool,
    heads: tuple[int, int] = (2, 3),
    d: int = 4,
    size: float = 1.0,
    level: float = 0.0,
    slope: float = 1.0,
    dtype: str = "float64",
    apart: bool = False,
) -> Make:
    """Make inputs of the lengths (L, S), what the forward pass made of them, and a grad_out as large as `slope`."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, *heads, lengths[0], d, size=size)
        key = normal(g, *heads, lengths[1], d, size=size)
        if level:
            top = (abs(level) * d**0.5) ** 0.5
            query[..., 0], key[..., 0] = top, math.copysign(top, level)
        value, grad = (normal(g, *heads, lengths[i], d) for i in (1, 0))
        out, lse = tiled_attention(query, key, value, *lengths, *flag)
        if apart:
            query, out, grad = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, out, grad))
            key, value = strided(key), strided(value)
        parts = (query, key, value, out, lse, slope * grad)
        return *(x.to(kind) for x in parts), *blocks, *flag

    return make


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, *blocks = inputs(length, g)
    grad = normal(g, *query.shape, dtype=torch.float32)
    return query, key, value, *tiled_attention(query, key, value, *blocks), grad, *blocks


_DQ, _DK, _DV = "dq[:, :, q0:q1]", "dk[:, :, k0:k1]", "dv[:, :, k0:k1]"
_AUTOGRAD = (
    "with torch.enable_grad():\n"
    "    given = [x.detach().requires_grad_() for x in (query, key, value)]\n"
    "    made = {}\n"
    "result = torch.autograd.grad(made, given, grad_out)"
)

OWN_WAYS = (
    mistake("PyTorch's own attention inside", "The gradients are right, but they are those of PyTorch's attention, "
            "which was given more than one tile. It goes back over the tiles internally; here that is your task. What "
            "in out and lse can a tile start from?",
            _AUTOGRAD.format("F.scaled_dot_product_attention(*given, is_causal=is_causal)")),
    mistake("every tile kept", "No tile is too large, but all of them are there at once, in a list or in autograd's "
            "memory, which keeps what every tile computed: together they are the full matrix. What can be computed "
            "again, instead of kept?", _AUTOGRAD.format("tiled_attention(*given, block_q, block_k, is_causal)[0]"),
            "kept = []\ncausal = is_causal\nkept.append(weights)\nthrough = weights * (grad_weights - average)"),
)

SOFTMAX = (
    mistake("D missing", "dv is right; dq and dk lack what the softmax takes away: within a row the gradients of the "
            "scores sum to 0, since the weights sum to 1. Which number is subtracted for each query?", "average = 0.0"),
    mistake("D of the tile alone", "The row average was taken over this tile's keys. It belongs to the whole row: "
            "which tensors that come in know the whole row already?",
            "through = weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True))"),
    mistake("D from other tensors", "dv is right; the number that is subtracted from the weights' gradients is not. It "
            "is the average of those gradients under the weights: from which two tensors can that be computed?",
            "delta = out.square().sum(-1, keepdim=True)", "delta = grad_out.square().sum(-1, keepdim=True)",
            "delta = grad_out.sum(-1, keepdim=True)", "delta = out.sum(-1, keepdim=True)",
            "delta = (grad_out * out).mean(-1, keepdim=True)", "delta = (grad_out + out).sum(-1, keepdim=True)",
            "delta = grad_out.sum(-1, keepdim=True) * out.sum(-1, keepdim=True)",
            "delta = (grad_out * out).sum(-1, keepdim=True) * default",
            "delta = (grad_out * out).sum(-2, keepdim=True).mean(-1, keepdim=True).expand(*out.shape[:-1], 1)",
            "delta = torch.ones_like(out[..., :1])",
            "delta = (grad_out * out).sum((-1, -2), keepdim=True).expand(*out.shape[:-1], 1)"),
    mistake("D with the wrong sign", "dv is right; in dq and dk the row average was added. A row of the scores' "
            "gradients must sum to 0.",
            "through = weights * (grad_weights + average)", "through = weights * (average - grad_weights)"),
    mistake("D outside of the weights", "The row average was subtracted after the product with the weights. What "
            "multiplies what in a row of the softmax's Jacobian?",
            "through = weights * grad_weights - average", "through = (grad_weights - average) - weights"),
    mistake("the weights left out of the softmax's slope", "The scores' gradient was not multiplied by the weights. A "
            "key without weight cannot change the output: what must its gradient be?",
            "through = grad_weights - average", "through = grad_weights",
            "through = weights * (1 - weights) * grad_weights", "through = weights.square() * (grad_weights - average)",
            "through = weights * (1 - weights) * (grad_weights - average)"),
    mistake("weights not normalised", "The tile's weights are exponentials that were not divided by their row's sum. "
            "Which argument holds that sum, as a logarithm?", "weights = scores.exp()",
            "weights = (scaled - scaled.amax(-1, keepdim=True)).exp().masked_fill(hidden, 0.0)",
            "weights = scores.exp() / log_sum", "weights = (scores + log_sum).exp()"),
    mistake("a softmax in every tile", "The weights of each tile sum to 1, as if there were no other. The row's sum "
            "over all tiles came in as an argument: which?", "weights = scaled.softmax(-1).masked_fill(hidden, 0.0)"),
    mistake("lse after the exponential", "The weights are right as long as the scores are small; exp of a score near "
            "2,000 is infinite. Where can lse be subtracted instead?", "weights = scores.exp() / log_sum.exp()"),
    mistake("powers of another base", "Powers of 2 were taken of natural logarithms. Either the base is e, or scores "
            "and lse are both multiplied by log₂ e before.", "weights = torch.exp2(scores - log_sum)"),
)

FACTORS = (
    mistake("no scale on the way back", "dv is right; dq and dk are √d times too large. The scores were scaled on the "
            "way there: what does the chain rule do with a factor?", "back = 1.0"),
    mistake("no scale on the way there", "The weights are made of unscaled scores, which lse does not fit. Which "
            "scores did the forward pass take the logsumexp of?", "scaled = products"),
    mistake("scaled twice", "A factor 1/√d was applied once too often, there or back. How often did it multiply the "
            "scores?", "back = default**2", "scaled = products * default**2", f"{_DQ} += grad_scores @ k * default",
            f"{_DK} += grad_scores.mT @ q * default", f"{_DV} += weights.mT @ grad * default",
            "result = dq * default, dk * default, dv * default"),
    mistake("another scale", "The factor on the way back is not the one on the way there. Over how many products does "
            "one score sum?", "back = math.sqrt(query.shape[-1])", "back = num_keys**-0.5", "back = block_k**-0.5",
            "back = block_q**-0.5", "back = query.shape[1] ** -0.5", "back = 1 / 8",
            "scaled = products * math.sqrt(query.shape[-1])", "scaled = products * num_keys**-0.5",
            "scaled = products * block_k**-0.5", "scaled = products * block_q**-0.5",
            "scaled = products * query.shape[1] ** -0.5"),
    mistake("the scale on one of the two only", "One of dq and dk is √d times too large, the other right. Both come "
            "from the same scaled scores. Was the query scaled before the loop, and used so for dk too?",
            f"{_DQ} += through @ k", f"{_DK} += through.mT @ q"),
)

BOTH_WAYS = {
    "no scale": "The weights are made of unscaled scores, which lse does not fit, and so are the gradients. Which "
    "scores did the forward pass take the logsumexp of?",
    "divided by d_k": "A factor 1/√d was applied once too often, there and back. How often did it multiply the scores?",
}

RETURNED = (
    mistake(
        "every sign flipped",
        "All gradients point the other way. Is a gradient asked for, or a step down along it?",
        "result = -dq, -dk, -dv",
    ),
    mistake("grad_out ignored", "A different grad_out gives the same answer: ones were used instead. What does the "
            "chain rule start from?",
            "grad_out = torch.ones_like(grad_out)\ndelta = (grad_out * out).sum(-1, keepdim=True)"),
    mistake("the value's gradient wrong", "dq and dk are right, dv is not. The output is weights times values and "
            "nothing else: what multiplies grad_out on the way back to the values?",
            f"{_DV} += grad_scores.mT @ grad", f"{_DV} += torch.ones_like(weights).mT @ grad",
            f"{_DV} += weights.square().mT @ grad", "result = dq, dk, torch.zeros_like(dv)"),
    mistake("query and key swapped", "The scores' gradient met the wrong side: for dq it is multiplied by the keys, "
            "for dk, transposed, by the queries.",
            f"{_DQ} += grad_scores @ q.mean(2, keepdim=True).expand_as(k)\n"
            f"{_DK} += grad_scores.mT @ k.mean(2, keepdim=True).expand_as(q)",
            "result = (dk, dq, dv) if dq.shape == dk.shape else (dq.flip(2), dk.flip(2), dv)"),
    mistake("gradients in another order", "The gradients come back in another order. In which order were their tensors "
            "given?", "result = dk, dq, dv", "result = dq, dv, dk", "result = dv, dk, dq", "result = dk, dv, dq",
            "result = dv, dq, dk"),
    mistake("the output instead of the gradients", "What came in was given back. Three gradients are asked for: how "
            "does the loss change with each entry of query, key and value?",
            "result = out.clone(), key.clone(), value.clone()"),
    *other_parts("dq", "dk", "dv"),
    mistake("in lower precision", "The gradients were summed in float32, although float64 came in. Which line makes a "
            "tensor without giving its dtype?",
            "kind = query.dtype\n"
            "query, key, value, out, lse, grad_out = (x.float() for x in (query, key, value, out, lse, grad_out))\n"
            "delta = (grad_out * out).sum(-1, keepdim=True)\nresult = dq.to(kind), dk.to(kind), dv.to(kind)"),
    mistake("another tensor in a product", "One of the products holds a tensor that does not belong there. For each of "
            "them, ask what was multiplied on the way there: the other factor meets the gradient on the way back.",
            "grad_weights = out[:, :, q0:q1] @ v.mT", "grad_weights = grad @ k.mT",
            f"{_DV} += weights.mT @ out[:, :, q0:q1]", f"{_DV} += through.mT @ grad",
            f"{_DK} += (weights * back).mT @ q"),
    mistake("the first block's lse or D", "Every block of queries met the lse, or the D, of the first block. Which "
            "rows of them belong to this block?",
            "log_sum = lse[:, :, : q1 - q0].unsqueeze(-1)", "average = delta[:, :, : q1 - q0]"),
)

PLACES = (
    mistake("dq replaced by each tile", "dq holds what the last tile gave. A query's gradient gathers from all tiles "
            "of keys that it saw: what should happen to what is there already?", f"{_DQ} = grad_scores @ k"),
    mistake("dk and dv replaced by each tile", "dk or dv holds what the last block of queries gave. A key's gradient "
            "gathers from all queries that saw it.", f"{_DK} = grad_scores.mT @ q\n{_DV} = weights.mT @ grad",
            f"{_DK} = grad_scores.mT @ q", f"{_DV} = weights.mT @ grad",
            f"{_DQ} = grad_scores @ k\n{_DK} = grad_scores.mT @ q\n{_DV} = weights.mT @ grad"),
    mistake("a ragged tail of queries dropped", "The last queries take no part: block_q does not divide L, and the "
            "short block at the end was left out. How many blocks does it take to hold all L queries?",
            "row_tiles = cut(num_queries // block_q * block_q, block_q) or [(0, num_queries)]",
            "row_tiles = cut(num_queries, block_q)[:-1] or [(0, num_queries)]"),
    mistake("the batch summed", "The gradients of all sequences or heads were added together. Each has its own inputs: "
            "over which axes may the sum run?",
            "result = tuple(x.sum(0, keepdim=True).expand_as(x).clone() for x in (dq, dk, dv))",
            "result = tuple(x.sum(1, keepdim=True).expand_as(x).clone() for x in (dq, dk, dv))"),
    mistake("written into the inputs", "The inputs were overwritten with their gradients. The caller still needs them: "
            "which line writes in place?", "result = query.copy_(dq), key.copy_(dk), value.copy_(dv)"),
    mistake("hidden weights not 0", "What is in the future got a weight that is not 0. Which score has the weight 0, "
            "and what would `masked_fill` put in the weights themselves?",
            "weights = (scores - log_sum).exp().masked_fill(hidden, 1.0)"),
)
# Here queries that are seen too often, or not at all, show too.
ROWS = {
    "tiles that overlap": (
        "row_tiles = [(max(0, b - block_q), b) for _, b in cut(num_queries, block_q)]",
        "row_tiles = [(a, min(a + block_q + 1, num_queries)) for a, _ in cut(num_queries, block_q)]",
        "back_to = lambda length, block: [(max(0, b - block), b) for _, b in cut(length, block)]\n"
        "row_tiles = back_to(num_queries, block_q)\nkey_tiles = back_to(num_keys, block_k)",
    ),
    "one tile only": (
        "row_tiles = cut(num_queries, block_q)[:1]",
        "cut = lambda length, block: [(0, min(block, length))]",
    ),
}
_WAYS = (*OWN_WAYS, *WAYS)

EXERCISE = exercise(
    tiled_attention_backward,
    right=RIGHT,
    asks="Return the gradients of query, key and value from out and lse, one tile at a time.",
    minutes=30,
    difficulty=5,
    importance=4,
    parts=("dq", "dk", "dv"),
    # No case has a row all of whose gradient is rounding: so does a saturated row's, and in causal
    # float32 the first one's.
    cases=(
        *tile_cases(_made),
        case("two tiles of queries", _made((4, 3), (2, 3), d=5)),
        case("scores of tens", _made((5, 8), (2, 3), d=6, size=2.5)),
        case("scores of tens, causal", _made((6, 8), (2, 3), True, d=6, size=2.0)),
        case("all scores near -2,000", _made((5, 6), (2, 4), d=4, level=-2000.0)),
        case("all scores near -800, causal", _made((5, 6), (2, 4), True, d=4, level=-800.0)),
        case("all scores near 2,000", _made((5, 6), (2, 4), d=4, level=2000.0)),
        case("a grad_out of thousands", _made((5, 8), (2, 3), d=6, slope=3000.0)),
        case("non-contiguous inputs", _made((7, 6), (3, 4), True, apart=True)),
        case("float32", _made((9, 7), (4, 3), d=16, dtype="float32"), tolerance=1e-4),
        case("bfloat16", _made((4, 7), (2, 3), d=8, dtype="bfloat16"), tolerance=0.6),
    ),
    mistakes=(
        *_WAYS,
        *SOFTMAX,
        *saying(without(DEFAULT, "scale after softmax"), BOTH_WAYS),
        *FACTORS,
        *RETURNED,
        *PLACES,
        *adding(TILES, ROWS),
        *adding(without(CAUSAL, "scores = scaled.masked_fill(hidden, -1e4)"), {
            "causal off by a tile": ("skipped = k0 >= q1 - 1", "skipped = k1 > q1"),
        }),
    ),
    costs=costs(_long, _WAYS),
    hints=(
        "The forward pass kept no weights. Which one number per query is enough to make a tile's weights again, "
        "without a maximum and without a second pass?",
        "In a tile it is chapter 03's backward pass: weights, their gradient, the softmax, and "
        "three products. Only the row average needs the whole row.",
        "That average, of the weights' gradients under the weights, is the sum of grad_out times "
        "out along the width: it is known before the first tile.",
        "A tile adds to three places: to the rows of dq that are its queries, and to the rows of "
        "dk and dv that are its keys. Begin all three with zeros.",
        "The scale that the scores had on the way there multiplies their gradient on the way back, "
        "for dq and dk alike. What is in the future has weight 0, and no gradient.",
    ),
)
