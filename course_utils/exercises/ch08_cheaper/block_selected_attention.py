"""Exercise: read each query's own block and the best few earlier ones, and nothing else."""

from typing import Any

import torch
from course_utils.attention import block_selected_attention
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake, only, without
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten
from course_utils.exercises.shared.linear import work
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.exercises.shared.softmax import AXES, RANDOM, SOFTMAX
from course_utils.exercises.shared.values import average_law
from course_utils.measure import largest_tensor
from torch import Tensor

# `read` are the numbers of the blocks that each query reads, its own last, and `place` those of
# their keys; a place behind the last key, or in a block that is none, is not allowed.
RIGHT = """
def block_selected_attention(query, key, value, block, top_k):
    length = query.shape[2]
    count = -(-length // block)
    i = torch.arange(length).unsqueeze(-1)
    own = i // block
    padded = F.pad(key, (0, 0, 0, count * block - length)).unflatten(2, (count, block))
    means = padded.mean(3)
    relevance = query @ means.mT
    number = torch.arange(count)
    earlier = number < own
    fit = relevance.masked_fill(~earlier, -torch.inf)
    most = min(top_k, count)
    best = fit.topk(most, -1).indices
    real = earlier.expand(fit.shape).gather(-1, best)
    read = torch.cat((best, own.expand(*best.shape[:3], 1)), -1)
    taken = F.pad(real, (0, 1), value=True)
    place = (read.unsqueeze(-1) * block + torch.arange(block)).flatten(3)
    past = place <= i
    allowed = past & taken.repeat_interleave(block, -1)
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    near = picked(key, place)
    found = picked(value, place)
    products = (near @ query.unsqueeze(-1)).squeeze(-1)
    scaled = products * factor
    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    out = (weights.unsqueeze(-2) @ found).squeeze(-2)
    return out
"""
# The queries of a block, with zeros behind the last one.
_ASKED = "asked = F.pad(query, (0, 0, 0, count * block - length)).unflatten(2, (count, block))\n"
_EACH = ".repeat_interleave(block, 2)[:, :, :length]"
_FROM_THE_END = """
shift = count * block - length
own = (i + shift) // block
padded = F.pad(key, (0, 0, shift, 0)).unflatten(2, (count, block))
place = (read.unsqueeze(-1) * block + torch.arange(block)).flatten(3) - shift
past = (place <= i) & (place >= 0)
"""
_BY_BLOCK = "tables = stable_softmax(scores.unflatten(-1, (-1, block)))\n"
_DENSE_SAYS = (
    "The values are right, but all L × L pairs are computed, or a mask of that size is made, and most of it is thrown "
    "away: a mask hides scores, it does not save them. Which keys does a query need at all, once its blocks are "
    "chosen?"
)


def picked(x: Tensor, place: Tensor) -> Tensor:
    """Return the keys or values at these places, (B, H, L, n, d); a place outside gives some other."""
    batch, heads = (torch.arange(size) for size in place.shape[:2])
    inside = place.clamp(0, x.shape[2] - 1)
    return x[batch[:, None, None, None], heads[:, None, None], inside]


def seen_by(relevance: Tensor, block: int, length: int, most: int) -> Tensor:
    """Return the mask of each query's own block and of the `most` earlier ones that fit best."""
    own = torch.arange(length).unsqueeze(-1) // block
    fit = relevance.masked_fill(torch.arange(relevance.shape[-1]) >= own, -torch.inf)
    best = fit.topk(min(most, fit.shape[-1]), -1)
    chosen = torch.zeros_like(fit, dtype=torch.bool).scatter(-1, best.indices, best.values > -torch.inf)
    chosen = chosen | (torch.arange(relevance.shape[-1]) == own)
    return chosen.repeat_interleave(block, -1)[..., :length].tril()


def keys_and_own(scores: Tensor, block: int, most: int) -> Tensor:
    """Return the mask of each query's own block and of the `most` best single keys of the earlier ones."""
    length = scores.shape[-1]
    number = torch.arange(length) // block
    fit = scores.masked_fill(number >= number.unsqueeze(-1), -torch.inf)
    best = fit.topk(min(most, length), -1)
    chosen = torch.zeros_like(fit, dtype=torch.bool).scatter(-1, best.indices, best.values > -torch.inf)
    return chosen | own_blocks(length, block)


def own_blocks(length: int, block: int) -> Tensor:
    """Return the mask of each query's own block, up to itself."""
    own = torch.arange(length) // block
    return (own.unsqueeze(-1) == own).tril()


def _made(*sizes: int, block: int, top_k: int, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make query, key and value of the sizes (B, H, L, d, d_v), and the two numbers."""
    batch, heads, length, d, d_v = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, batch, heads, length, d, size=size, dtype=dtype)
        key = normal(g, batch, heads, length, d, dtype=dtype)
        return query, key, normal(g, batch, heads, length, d_v, dtype=dtype), block, top_k

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, block, top_k = _made(2, 11, 3, 5, 4, block=3, top_k=1)(g)
    return query.transpose(1, 2), key.transpose(1, 2), strided(value.transpose(1, 2)), block, top_k


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(1, 1, length, 8, 8, block=8 if length == 64 else 16, top_k=1, dtype=torch.float32)(g)


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, block, top_k = args
    if got.shape != value.shape or query.shape[2] < 2:
        return False
    mask = seen_by(query @ _means(key, block).mT, block, query.shape[2], top_k)
    scores = query @ key.mT

    def scaled(scale: float) -> Tensor:
        return torch.softmax((scale * scores).masked_fill(~mask, -torch.inf), -1) @ value

    return some_scale(scaled, got.detach(), query.shape[-1] ** -0.5)


def _means(key: Tensor, block: int) -> Tensor:
    rest = -key.shape[2] % block
    padded: Tensor = torch.nn.functional.pad(key, (0, 0, 0, rest))
    return padded.unflatten(2, (-1, block)).mean(3)


def _dense(mask: str) -> str:
    """Return a whole answer that hides pairs by a mask of all of them."""
    return (
        "def block_selected_attention(query, key, value, block, top_k):\n"
        f"    mask = {mask}\n"
        "    return scaled_dot_product_attention(query, key, value, mask)"
    )


EXERCISE = exercise(
    block_selected_attention,
    right=RIGHT,
    asks="Attend to each query's own block and the `top_k` earlier ones that suit it best, and read no more.",
    minutes=30,
    difficulty=5,
    importance=3,
    cases=(
        case("length 15, blocks of 3, 2 chosen", _made(2, 3, 15, 5, 4, block=3, top_k=2), gradient="equal"),
        case("length 14, blocks of 4, 2 chosen: the last block is short", _made(2, 2, 14, 6, 5, block=4, top_k=2),
             gradient="equal"),
        case("length 12, blocks of 3, 1 chosen", _made(2, 3, 12, 5, 4, block=3, top_k=1)),
        case("every size is 4: a transpose keeps the shape", _made(4, 4, 4, 4, 4, block=2, top_k=1)),
        case("length 17, blocks of 2, 3 chosen", _made(3, 2, 17, 4, 7, block=2, top_k=3)),
        case("nothing but its own block", _made(2, 3, 11, 4, 5, block=4, top_k=0)),
        case("one key a block, 2 chosen", _made(2, 3, 7, 4, 5, block=1, top_k=2)),
        case("one key per block, none chosen: its own value", _made(2, 3, 5, 4, 6, block=1, top_k=0)),
        case("all blocks chosen: causal attention", _made(2, 3, 10, 4, 5, block=3, top_k=4)),
        case("more to choose than there are", _made(2, 3, 10, 4, 5, block=3, top_k=50)),
        case("a block longer than the sequence", _made(2, 3, 5, 4, 6, block=9, top_k=2)),
        case("length 1", _made(2, 3, 1, 4, 5, block=2, top_k=1)),
        case("scores of thousands", _made(2, 3, 13, 9, 4, block=3, top_k=2, size=3e3)),
        case("length 40, blocks of 8, 2 chosen", _made(1, 3, 40, 6, 5, block=8, top_k=2)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, 3, 12, 16, 5, block=4, top_k=1, dtype=torch.float32), tolerance=1e-4),
    ),
    mistakes=(
        RANDOM,
        mistake("own block counted among the chosen", "Queries read one earlier block too few, as if their own block "
                "took a place among the `top_k`. It is always read; who competes for the places?",
                "most = min(max(top_k - 1, 0), count)",
                "fit = relevance.masked_fill(number > own, -torch.inf)"),
        mistake("own block chosen like the others", "Its own block is read only if its mean key is among the best. "
                "It is always read, and does not compete: among which blocks is the choice made?",
                "earlier = number <= own\nread = best\ntaken = real",
                "earlier = number <= own\nread = best\ntaken = real\nweights = torch.softmax(scores, -1)",
                "most = min(top_k + 1, count)\nearlier = number <= own\nread = best\ntaken = real"),
        mistake("no earlier block read",
                "Queries read their own block and nothing else, however many are asked for. What "
                "becomes of the chosen ones?", "real = torch.zeros_like(best, dtype=torch.bool)",
                _dense("own_blocks(query.shape[2], block)")),
        mistake("none where there are too few",
                "Queries with fewer earlier blocks than `top_k` read none of them. They "
                "read all that there are: what does `min` do here?",
                "real = earlier.expand(fit.shape).gather(-1, best) & "
                "(own >= top_k)"),
        mistake("the block before never chosen",
                "One earlier block too few can be chosen: the one just before the query's "
                "own, or a place less where there are few. Which blocks come before block 2?",
                "earlier = number < own - 1",
                "real = earlier.expand(fit.shape).gather(-1, best) & (torch.arange(most) < own - 1)"),
        mistake("more blocks asked for than there are",
                "`topk` was asked for more blocks than come before, and stopped. "
                "How many earlier blocks has the first query, and how many has the last?",
                "most = fit[..., :1].topk(top_k if count > 1 else min(top_k, 1), -1).indices.shape[-1]",
                "most = fit.topk(top_k, -1).indices.shape[-1]"),
        mistake("own block read twice", "A query's own block was chosen, and then added once more: its keys are in the "
                "softmax twice. Among which blocks is the choice made?", "earlier = number <= own",
                "real = torch.ones_like(best, dtype=torch.bool)"),
        mistake("own block not read", "Queries read the chosen blocks and nothing of their own. Where would a token "
                "find what came just before it?", "read = best\ntaken = real",
                "read = best\ntaken = real\nweights = torch.softmax(scores, -1)",
                "taken = F.pad(real, (0, 1), value=True) & ((torch.arange(most + 1) < most) | (own == 0))"),
        mistake("later blocks compete", "Blocks of the future took places among the chosen, and were hidden "
                "afterwards: some queries read too few. Between which two steps must they be ruled out?",
                "fit = relevance", "fit = relevance.masked_fill(number == own, -torch.inf)",
                "fit = relevance * earlier", "fit = relevance.masked_fill(~earlier, 0.0)"),
        mistake("the future read where blocks are too few", "The first queries have fewer earlier blocks than "
                "`top_k`, and read later ones instead: `topk` fills its places with blocks of -inf. What happens to "
                "those?", "real = torch.ones_like(best, dtype=torch.bool)\n"
                "past = ((place <= i) | (place // block != own)) & (place < length)"),
        mistake("not causal", "A query sees keys of its own block that come after it, or later blocks. Earlier blocks "
                "are seen whole; what about a query's own block?", "past = place < length",
                "earlier = number != own\npast = place < length", "earlier = number != own\npast = (place <= i) | "
                "((place // block != own) & (place < length))",
                "earlier = torch.ones(length, count, dtype=torch.bool)\n"
                "past = (torch.cat((best, own.expand(*best.shape[:3], 1) * 0 - 1), -1).repeat_interleave(block, -1) "
                ">= 0)"
                "\npast = (past | (place <= i)) & (place < length)",
                "earlier = torch.ones(length, count, dtype=torch.bool)\npast = (place <= i) | (place // block > own)"),
        mistake("the future instead of the past",
                "In its own block a query sees itself and what comes after it. On which "
                "side of the diagonal is the past?",
                "past = ((place >= i) | (place // block != own)) & (place < length)"),
        mistake("own key hidden", "A query does not see its own key, and the first query of all sees nothing. Is a "
                "token its own future?", "past = place < i", "past = place < i\nweights = torch.softmax(scores, -1)"),
        mistake("one key of the future seen", "Every query sees the next key of its block, the one to be predicted. "
                "Where does its past end?", "past = place <= (i + 1).clamp(max=length - 1)"),
        mistake("earlier blocks cut off", "An earlier block was not read whole: some of its keys are hidden, as the "
                "causal mask of a query's own block hides them. Which keys of an earlier block lie in the future?",
                "past = (place % block) <= (i % block)",
                "past = (place % block <= i % block) & (place <= i)"),
        mistake("one choice for a block of queries", "All queries of a block read the same earlier blocks. Kernels do "
                "so to read less; here every query chooses for itself. Where do the choices become one?",
                f"{_ASKED}relevance = (asked.mean(3) @ means.mT){_EACH}",
                f"{_ASKED}relevance = (asked[:, :, :, 0] @ means.mT){_EACH}",
                "last = torch.arange(count).mul(block).add(block - 1).clamp(max=length - 1)\n"
                f"relevance = (query[:, :, last] @ means.mT){_EACH}",
                f"{_ASKED}relevance = (asked @ means.unsqueeze(2).mT).amax(3){_EACH}"),
        mistake("one choice for all heads", "All heads read the same blocks. Each head asks its own question: over "
                "which axis was the choice made?", "relevance = (query @ means.mT).mean(1, keepdim=True).expand("
                "-1, query.shape[1], -1, -1)", "relevance = (query @ means.mT)[:, :1].expand(-1, query.shape[1], -1, "
                "-1)", "relevance = (query @ means.mT).amax(1, keepdim=True).expand(-1, query.shape[1], -1, -1)"),
        mistake("one choice for all sequences", "All sequences of the batch read the blocks that suit one of them. "
                "Over which axis was the choice made?",
                "relevance = (query @ means.mT)[:1].expand(query.shape[0], -1, -1, -1)",
                "relevance = (query @ means.mT).mean(0, keepdim=True).expand(query.shape[0], -1, -1, -1)"),
        mistake("one choice for all queries", "All queries prefer the same blocks. What does each of them ask?",
                "relevance = (query.mean(2, keepdim=True) @ means.mT).expand(-1, -1, length, -1)",
                "relevance = (query[:, :, -1:] @ means.mT).expand(-1, -1, length, -1)",
                "relevance = (query[:, :, :1] @ means.mT).expand(-1, -1, length, -1)"),
        mistake("pooled by maximum", "A block is judged by the largest, or smallest, entry of its keys in each "
                "feature. What does the rule take instead?", "means = padded.amax(3)", "means = padded.amin(3)",
                "means = padded.abs().amax(3)", "means = padded.median(3).values"),
        mistake("one key for its block", "A block is judged by one of its keys. What represents all of them?",
                "means = padded[:, :, :, 0]", "means = padded[:, :, :, -1]", "means = padded[:, :, :, block // 2]"),
        mistake("judged by its single scores", "A block is judged by the scores of its keys one by one: the best, or "
                "all their exponentials. That reads every key before anything is saved. What stands for a whole "
                "block, so that one product with it is enough?",
                *(f"relevance = (query @ padded.flatten(2, 3).mT * query.shape[-1] ** -0.5).unflatten(-1, (count, "
                  f"block)).{how}" for how in ("amax(-1)", "logsumexp(-1)", "exp().mean(-1)", "abs().mean(-1)")),
                "single = query @ padded.flatten(2, 3).mT * query.shape[-1] ** -0.5\n"
                "relevance = torch.softmax(single, -1).unflatten(-1, (count, block)).sum(-1)"),
        mistake("mean of length 1", "The mean keys were brought to one length, so only their directions count. The "
                "product with the query is taken as it is: what would a long mean key do to it?",
                "means = F.normalize(padded.mean(3), dim=-1)",
                "means = F.normalize(padded, dim=-1).mean(3)"),
        mistake("the nearest mean instead of the largest product", "Blocks were ranked by their distance from the "
                "query. What does a score measure?", "relevance = -torch.cdist(query, padded.mean(3))"),
        mistake("the worst blocks chosen", "The blocks with the smallest product were chosen. Which end does `topk` "
                "return, and what is at the other?", "relevance = -(query @ means.mT)"),
        mistake("size without sign", "A block counts as good if its product is large in magnitude, even if negative. "
                "Which sign does the score of a matching key have?", "relevance = (query @ means.mT).abs()",
                "relevance = (query @ means.mT).square()"),
        mistake("means of queries or values", "The blocks' means were taken of something other than their keys. What "
                "does a query compare itself with?",
                "padded = F.pad(query, (0, 0, 0, count * block - length)).unflatten(2, (count, block))",
                "wide = F.pad(value, (0, max(0, key.shape[-1] - value.shape[-1]), 0, count * block - length))\n"
                "means = wide[..., : key.shape[-1]].unflatten(2, (count, block)).mean(3)"),
        mistake("the last blocks instead of the best", "The blocks just before the query's own are read, whatever they "
                "hold: that is a window. What decides which are read?",
                "relevance = torch.arange(count).to(query.dtype).expand(*query.shape[:3], count)",
                _dense("torch.ones(query.shape[2], query.shape[2]).tril().triu(1 - (top_k + 1) * block).bool()")),
        mistake("the first blocks instead of the best", "The first blocks of the sequence are read, whatever they "
                "hold. What decides which are read?",
                "relevance = -torch.arange(count).to(query.dtype).expand(*query.shape[:3], count)"),
        mistake("top_k ignored", "All earlier blocks are read, or always as many. Where is `top_k` used?",
                "most = count", "most = min(1, count)", "most = min(2, count)"),
        mistake("one block too many", "Queries read one earlier block more than `top_k`. Does its own block need one "
                "of these places?", "most = min(top_k + 1, count)"),
        mistake("keys chosen instead of blocks", "Single keys were chosen, not blocks. Memory is read in whole blocks: "
                "what is judged, and what is then read?",
                *(
                    _dense(f"seen_by(query @ key.mT, 1, query.shape[2], {most}) | own_blocks(query.shape[2], block)")
                    for most in ("top_k", "top_k * block")
                ),
                _dense("keys_and_own(query @ key.mT, block, top_k)"),
                _dense("keys_and_own(query @ key.mT, block, top_k * block)")),
        mistake("the number of blocks taken for their size", "The sequence was cut into `block` pieces. `block` is how "
                "many keys one of them has: how many are there then?",
                "block = -(-query.shape[2] // block)\nlength = query.shape[2]"),
        mistake("blocks counted from the end", "The first block is the short one: the padding was put in front. Token "
                "i stands in block i // block: which block is short?", _FROM_THE_END),
        mistake("blocks moved by one", "The blocks begin one token too early or too late. In which block is token 0, "
                "and in which is token `block`?", "own = ((i + 1) // block).clamp(max=count - 1)",
                "own = (i - 1).clamp(min=0) // block"),
        mistake(
            "queries left over",
            "The last queries, whose block is short, got nothing. What becomes of the L mod block tokens that are left "
            "over?",
            "return out[:, :, : length // block * block]",
            "return out * (torch.arange(length) < length // block * block).to(out.dtype).unsqueeze(-1)",
        ),
        mistake("a softmax for each block", "Each block has a softmax of its own, and the results were added or "
                "averaged: a block of bad keys speaks as loudly as a block of good ones. Over what does one softmax "
                "run?", f"{_BY_BLOCK}weights = tables.flatten(-2)",
                f"{_BY_BLOCK}weights = (tables / taken.sum(-1)[..., None, None]).flatten(-2)",
                f"{_BY_BLOCK}weights = (tables / (top_k + 1)).flatten(-2)",
                *(f"far, close = (stable_softmax(part) for part in scores.tensor_split((-block,), -1))\n"
                  f"weights = torch.cat((far, close), -1){half}"
                  for half in ("", " / 2", " / torch.where(own == 0, 1, 2)"))),
        mistake("the choice weighed in", "The products by which blocks were chosen were used as weights, too, as a "
                "router of experts does. The choice says what is read: what alone makes the weights?",
                *(f"gates = F.pad({gate}(fit.gather(-1, best)), (0, 1), value=1.0)\n"
                  "weights = stable_softmax(scores) * gates.repeat_interleave(block, -1)"
                  for gate in ("torch.sigmoid", "stable_softmax")),
                "gates = F.pad(fit.gather(-1, best), (0, 1)).nan_to_num(neginf=0.0)\n"
                "scores = (scaled + gates.repeat_interleave(block, -1)).masked_fill(~allowed, -torch.inf)"),
        mistake("a gradient for the choice", "The values are right, but the products by which blocks were chosen have "
                "a gradient, as if they were weights. Which of the scores may pass one on?",
                "gates = F.pad(fit.gather(-1, best).masked_fill(~real, 0.0), (0, 1)).repeat_interleave(block, -1)\n"
                "scores = (scaled + gates - gates.detach()).masked_fill(~allowed, -torch.inf)"),
        mistake("mean keys read", "The chosen blocks were read as their mean keys. The mean only says which to read: "
                "what is then compared with the query?",
                "far, close = place.tensor_split((most * block,), -1)\n"
                "near = torch.cat((picked(means, far // block), picked(key, close)), -2)",
                "single = torch.arange((most + 1) * block)\n"
                "single = (single >= most * block) | (single % block == 0)\n"
                "allowed = past & taken.repeat_interleave(block, -1) & single\n"
                "far, close = place.tensor_split((most * block,), -1)\n"
                "near = torch.cat((picked(means, far // block), picked(key, close)), -2)\n"
                "whole = F.pad(value, (0, 0, 0, count * block - length)).unflatten(2, (count, block)).mean(3)\n"
                "found = torch.cat((picked(whole, far // block), picked(value, close)), -2)"),
        mistake("values of other keys", "The weights of some keys met the values of others. Were keys and values "
                "gathered in the same order?", "found = picked(value, place.flip(-1))",
                "found = picked(value, place.roll(block, -1))"),
        *without(DEFAULT, "default = 1 / math.sqrt(query.shape[0])"),
        *without(only(GIVEN, "scale rounded"), "factor = default if scale is None else int(scale)"),
        *without(SOFTMAX, *(one.name for one in AXES), "no shift before exp"),
        mistake("no shift before exp", "Scores in the thousands give NaN: their exponentials overflow. What does a "
                "stable softmax subtract first?", "weights = scores.exp() / scores.exp().sum(-1, keepdim=True)"),
        cut_off("near = picked(key, place).detach()", "found = picked(value, place).detach()",
                "products = (near @ query.detach().unsqueeze(-1)).squeeze(-1)",
                "weights = stable_softmax(scores).detach()", "return out.detach()",
                "near = torch.cat((picked(key.detach(), place[..., : most * block]), picked(key, place[..., most * "
                "block :])), -2)",
                "found = torch.cat((picked(value.detach(), place[..., : most * block]), picked(value, place[..., most "
                "* block :])), -2)"),
        batch_mixed("out = (weights.unsqueeze(-2) @ found).squeeze(-2)[:1].expand(query.shape[0], -1, -1, -1)",
                    "found = picked(value[:1].expand_as(value), place)",
                    "near = picked(key[:1].expand_as(key), place)\n"
                    "found = picked(value[:1].expand_as(value), place)"),
        overwritten("default = 1 / math.sqrt(query.shape[-1])\nproducts = (near @ query.mul_(default).unsqueeze(-1))"
                    ".squeeze(-1)\nfactor = 1.0"),
        *other_kinds("out", "weights", "best"),
        *another_scale(_another_scale),
        lower_precision(block_selected_attention, "out = (weights.float().unsqueeze(-2) @ found.float()).squeeze(-2)"
                        ".to(query.dtype)"),
        mistake("blocks masked but dense", _DENSE_SAYS, _dense("select_blocks(query, key, block, top_k + 1)")),
    ),
    laws=(average_law(lambda args: args[2]),),
    costs=(
        Cost("the largest tensor", largest_tensor, (64, 256), _long, 1.7, _DENSE_SAYS, "blocks masked but dense"),
        Cost("the work", work, (64, 256), _long, 1.7, _DENSE_SAYS, "blocks masked but dense"),
    ),
    hints=(
        "Token 10 is in block 10 // block. Which blocks may it choose from, and how many of them are there for "
        "token 0?",
        "Judge blocks by their mean keys: one product for each query and block. Rule out its own block and the later "
        "ones before you choose, and do not let `topk` take more than there are.",
        "Walk over the sequence block by block of queries: then all of them have the same earlier blocks to choose "
        "from, and all of these are whole.",
        "Gather the chosen blocks' keys for each query, (rows, k · block, d), by indexing keys that were cut into "
        "blocks. Its own block needs no gathering, but a causal mask.",
        "Put the scores of the gathered keys and those of its own block side by side, and take one softmax over both. "
        "Then split the weights again: each part has its own values.",
    ),
)
