"""Exercise: decode from a cache of latent vectors without making keys or values of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import absorbed_latent_attention
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal, strided, unseeing, visible
from course_utils.checking.mistakes import mistake, only, without
from course_utils.exercises.shared.heads import AMONG, MASKS
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten, viewed
from course_utils.exercises.shared.linear import work
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL, EMPTY_ROWS, MASK, if_given
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.measure import largest_tensor
from torch import Tensor

# What is asked of the latent vectors, of all heads, meets the cache as the rows of one product.
RIGHT = """
def absorbed_latent_attention(query, cache, W_uk, W_uv, attn_mask=None):
    num_heads, d_latent, d_k = W_uk.shape
    about = query[..., :d_k]
    turned = query[..., d_k:]
    latent = cache[..., :d_latent]
    rotated = cache[..., d_latent:]
    asked = about @ W_uk.mT
    joined = torch.cat((asked, turned), -1)
    rows = joined.flatten(1, 2)
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = (rows @ cache.mT).unflatten(1, (num_heads, -1))
    scaled = products * factor
    allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else attn_mask
    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    mean = (weights.flatten(1, 2) @ latent).unflatten(1, (num_heads, -1))
    out = mean @ W_uv
    return out
"""
_PARTS = (
    "What each head asks of the two parts of a key is added up: q·(W_ukᵀ c) for the latent vector, and the product of "
    "the rotated parts."
)
_MADE_SAYS = (
    "The values are right, but keys or values were made of the whole cache, for every head: as many numbers as the "
    "cache of multi-head attention, anew at every step. What else can W_uk be multiplied by, of which there is little?"
)
_COPIED_SAYS = (
    "The values are right, but the cache was copied for every head: a product whose axes broadcast copies what it "
    "broadcasts, without saying so. In what shape can the queries of all heads meet one cache, so that nothing is "
    "broadcast?"
)
_EXPANDED = (
    "for_all = rotated.unsqueeze(1).expand(-1, num_heads, -1, -1)\n"
    "key = torch.cat((latent.unsqueeze(1) @ W_uk, for_all), -1)\nproducts = query @ key.mT"
)
_VALUES_MADE = "out = weights @ (latent.unsqueeze(1) @ W_uv)"
_MASK = "m = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else attn_mask\n"
_HEAD_BY_HEAD = """
def absorbed_latent_attention(query, cache, W_uk, W_uv, attn_mask=None):
    outs = []
    latent, rotated = cache.split((W_uk.shape[1], cache.shape[-1] - W_uk.shape[1]), -1)
    for h in range(len(W_uk)):
        key = torch.cat((latent @ W_uk[h], rotated), -1)
        scores = query[:, h] @ key.mT / math.sqrt(query.shape[-1])
        if attn_mask is not None:
            full = attn_mask.expand(*query.shape[:3], cache.shape[1])
            scores = scores.masked_fill(~full[:, h], -torch.inf)
        outs.append(stable_softmax(scores) @ (latent @ W_uv[h]))
    return torch.stack(outs, 1)
"""


def _made(
    *sizes: int, mask: tuple[int, ...] = (), size: float = 1.0, dtype: torch.dtype = torch.float64
) -> Make:
    """Make inputs of the sizes (B, H, L, S, r, d_k, d_rope, d_v), and a mask of a shape if asked for."""
    batch, heads, length, num_keys, r, d_k, d_rope, d_v = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        given = (
            normal(g, batch, heads, length, d_k + d_rope, size=size, dtype=dtype),
            normal(g, batch, num_keys, r + d_rope, dtype=dtype),
            normal(g, heads, r, d_k, size=r**-0.5, dtype=dtype),
            normal(g, heads, r, d_v, size=r**-0.5, dtype=dtype),
        )
        return (*given, visible(g, *mask)) if mask else given

    return make


def _against_the_mask(g: torch.Generator) -> tuple[Any, ...]:
    query, cache, W_uk, W_uv = _made(2, 3, 4, 6, 8, 5, 2, 7)(g)
    mask = torch.tensor([True, False, True, True, False, False])
    query[..., -1] = query[..., -1].abs() + 1.0
    cache[..., -1] += torch.where(mask, -1e5, 1e5)
    return query, cache, W_uk, W_uv, mask.expand(4, 6).clone()


def _strided(g: torch.Generator) -> tuple[Tensor, ...]:
    query, cache, W_uk, W_uv = _made(3, 4, 2, 6, 7, 5, 2, 3)(g)
    return query.transpose(1, 2).contiguous().transpose(1, 2), strided(cache), strided(W_uk), strided(W_uv)


def _decoding(heads: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(2, heads, 1, 1024, 16, 8, 4, 8, dtype=torch.float32)(g)


def _wide(width: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(2, 4, 1, 256, width, width, 4, width, dtype=torch.float32)(g)


def _sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Return B, H, L, S, r, d_k, d_rope and d_v."""
    query, cache, W_uk, W_uv = args[:4]
    r, d_k = W_uk.shape[1:]
    return *query.shape[:3], cache.shape[1], r, d_k, cache.shape[2] - r, W_uv.shape[2]


def _largest(fn: Callable[..., Any], *args: Any) -> int:
    """Count the largest tensor, from what the contract allows on."""
    batch, heads, length, num_keys, r, d_k, d_rope, d_v = _sizes(args)
    allowed = max(heads * length * num_keys, num_keys * (r + d_rope), heads * r * max(d_k, d_v))
    return max(largest_tensor(fn, *args), 2 * batch * allowed)


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, cache, W_uk, _, mask = (*args, None)[:5]
    r = W_uk.shape[1]
    rotated = cache[:, None, :, r:].expand(-1, len(W_uk), -1, -1)
    key = torch.cat((cache[:, None, :, :r] @ W_uk, rotated), -1)
    scores = query @ key.mT / query.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return some_epsilon(scores, absorbed_latent_attention(*args), got)


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, W_uv = args[0], args[3]
    if got.shape != (*query.shape[:-1], W_uv.shape[-1]) or args[1].shape[1] < 2:
        return False
    wide = query * query.shape[-1] ** 0.5
    return some_scale(lambda scale: absorbed_latent_attention(scale * wide, *args[1:]), got.detach(),
                args[0].shape[-1] ** -0.5)


EXERCISE = exercise(
    absorbed_latent_attention,
    right=RIGHT,
    asks="Attend to a cache of latent vectors without making a key or a value of them.",
    minutes=20,
    difficulty=4,
    importance=4,
    cases=(
        case("every size is 4: a transpose keeps the shape", _made(4, 4, 4, 4, 4, 4, 4, 4)),
        case("no rotated part", _made(2, 3, 4, 5, 8, 6, 0, 7), gradient="equal"),
        case("a latent vector wider than a head, 2 rotated", _made(2, 3, 4, 5, 8, 6, 2, 7), gradient="equal"),
        case("a latent vector narrower than a head, 4 rotated", _made(3, 2, 5, 6, 3, 7, 4, 8)),
        case("more rotated than not", _made(2, 4, 3, 6, 5, 2, 7, 8)),
        case("one query, as in decoding", _made(3, 4, 1, 7, 6, 5, 2, 8)),
        case("scores of thousands", _made(2, 3, 4, 6, 8, 5, 2, 7, size=3e3)),
        case("a mask of shape (4, 4), and every size is 4", _made(4, 4, 4, 4, 4, 4, 4, 4, mask=(4, 4))),
        case("a mask of shape (4, 5) for all", _made(2, 3, 4, 5, 8, 6, 2, 7, mask=(4, 5)), gradient="equal"),
        case("a mask of shape (2, 1, 1, 5), one for each sequence", _made(2, 3, 4, 5, 8, 6, 2, 7, mask=(2, 1, 1, 5))),
        case("a mask of shape (3, 4, 5), one for each head", _made(3, 3, 4, 5, 8, 6, 2, 7, mask=(3, 4, 5))),
        case("a mask of shape (3, 1, 4, 5), 3 sequences and heads", _made(3, 3, 4, 5, 8, 6, 2, 7, mask=(3, 1, 4, 5))),
        case("a mask of shape (2, 3, 4, 5)", _made(2, 3, 4, 5, 6, 8, 1, 7, mask=(2, 3, 4, 5))),
        case("hidden keys with by far the best scores", _against_the_mask),
        case("queries that may see nothing",
             unseeing(_made(2, 3, 4, 5, 8, 6, 2, 7, mask=(2, 3, 4, 5)), (1, 2, 2), (0, 1, 3)), gradient="equal"),
        case("one of everything", _made(1, 1, 1, 1, 1, 1, 1, 1)),
        case("one token kept", _made(2, 3, 4, 1, 8, 6, 2, 7)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, 3, 4, 5, 8, 6, 2, 7, dtype=torch.float32), tolerance=1e-4),
    ),
    mistakes=(
        RANDOM,
        mistake("scaled by the width of the cache", "The scale comes from the width of what is compared here, r + "
                "d_rope or r alone. The scores are those of the keys that are not made: how wide would they be?",
                "default = 1 / math.sqrt(cache.shape[-1])", "default = 1 / math.sqrt(d_latent)"),
        mistake("scale without the rotated part", "The scale counts only the features without rotation. A score sums "
                "over all features of a query: how many are there?", "default = 1 / math.sqrt(d_k)"),
        mistake("scaled apart", "The two parts of a score were each divided by the root of their own width. They are "
                "one product, cut in two: how wide is it?",
                "what = asked.flatten(1, 2) @ latent.mT / math.sqrt(d_k)\n"
                "where = turned.flatten(1, 2) @ rotated.mT / math.sqrt(max(turned.shape[-1], 1))\n"
                "products = (what + where).unflatten(1, (num_heads, -1))\nfactor = 1.0"),
        mistake("only one part scaled", "One of the two parts of a score was scaled, and the other added as it is. "
                "They are one product, cut in two: after which step does the scale come?",
                "joined = torch.cat((asked / math.sqrt(query.shape[-1]), turned), -1)\nfactor = 1.0",
                "joined = torch.cat((asked, turned / math.sqrt(query.shape[-1])), -1)\nfactor = 1.0"),
        mistake("rotated part left out", f"The rotated features play no part in the scores. {_PARTS} Which of the two "
                "is missing?", "joined = torch.cat((asked, 0 * turned), -1)"),
        mistake("only the rotated part compared", f"The scores come from the rotated features alone. {_PARTS} Which of "
                "the two is missing?", "joined = torch.cat((0 * asked, turned), -1)"),
        mistake("rotated part taken first", "The rotated features were taken from the front. The content part of the "
                "query comes first, then its rotated part; and in the cache?",
                "turned = query[..., : query.shape[-1] - d_k]\nabout = query[..., query.shape[-1] - d_k :]",
                "rotated = cache[..., : cache.shape[-1] - d_latent]\nlatent = cache[..., cache.shape[-1] - d_latent :]"
                "\nproducts = (rows @ torch.cat((latent, rotated), -1).mT).unflatten(1, (num_heads, -1))",
                "turned = query[..., : query.shape[-1] - d_k]\nabout = query[..., query.shape[-1] - d_k :]\n"
                "rotated = cache[..., : cache.shape[-1] - d_latent]\nlatent = cache[..., cache.shape[-1] - d_latent :]"
                "\nproducts = (rows @ torch.cat((latent, rotated), -1).mT).unflatten(1, (num_heads, -1))",
                "joined = torch.cat((turned, asked), -1)"),
        mistake("one head's matrix for all", "All heads use the matrix of one of them. W_uk and W_uv have one for each "
                "head: which axis is that?", "asked = about @ W_uk[:1].mT", "out = mean @ W_uv[:1]",
                "asked = about @ W_uk[:1].mT\nout = mean @ W_uv[:1]", "asked = about @ W_uk[-1:].mT",
                "asked = about @ W_uk.mean(0).mT", "out = mean @ W_uv.mean(0)", "out = mean @ W_uv[-1:]"),
        mistake("heads in another order", "The matrices met the queries of other heads. Which axis of query and of W "
                "is the head's?", "asked = about @ W_uk.flip(0).mT", "out = mean @ W_uv.flip(0)",
                "asked = about @ W_uk.roll(1, 0).mT", "out = mean @ W_uv.roll(1, 0)",
                "asked = about @ W_uk.flip(0).mT\nout = mean @ W_uv.flip(0)"),
        mistake("matrices of the sequences", "The matrices were laid along the sequences. Which axis do they have in "
                "common with the query?", "asked = about @ W_uk.mT.unsqueeze(1)", "out = mean @ W_uv.unsqueeze(1)",
                "asked = torch.einsum('bhlk,brk->bhlr', about, W_uk)"),
        mistake("W_uk not moved to the query", "The query was multiplied by the latent vectors as if it were one of "
                "their kind. What turns a question about keys into one about latent vectors?",
                "asked = F.pad(about, (0, max(0, d_latent - d_k)))[..., :d_latent]"),
        mistake("W_uk transposed", "The matrix was turned the wrong way round, or cut anew. q·(W_ukᵀ c) = (W_uk q)·c: "
                "which of its axes meets the query?", "asked = about @ W_uk.reshape(num_heads, d_k, d_latent)",
                "asked = about @ (W_uk if d_k == d_latent else W_uk.mT)"),
        mistake("W_uk and W_uv exchanged", "Keys and values have a matrix each: which of the two belongs to the query, "
                "and which to the average?", "asked = about @ (W_uv if W_uv.shape == W_uk.shape else W_uk).mT",
                "out = mean @ (W_uk if W_uv.shape == W_uk.shape else W_uv)",
                "asked = about @ (W_uv if W_uv.shape == W_uk.shape else W_uk).mT\n"
                "out = mean @ (W_uk if W_uv.shape == W_uk.shape else W_uv)"),
        mistake("an average of latent vectors", "This is the average of the latent vectors, or of whole rows of the "
                "cache. What makes a head's value of it?", "out = mean",
                "out = (weights.flatten(1, 2) @ cache).unflatten(1, (num_heads, -1))"),
        mistake("the rotated key among the values", "The rotated key was averaged as if it were a part of the latent "
                "vector. Which columns of the cache become values?",
                "mean = (weights.flatten(1, 2) @ cache).unflatten(1, (num_heads, -1))[..., -d_latent:]",
                "mean = (weights.flatten(1, 2) @ cache).unflatten(1, (num_heads, -1))",
                "mean = torch.einsum('bhls,bsr->bhlr', weights, cache)"),
        mistake("a slice that ends at -0",
                "Without a rotated part a slice ends at -0, and that is 0: nothing is left, or "
                "everything is taken. Which numbers say where the parts end, counted from the front?",
                "about = query[..., : -(query.shape[-1] - d_k)]\nturned = query[..., -(query.shape[-1] - d_k) :]",
                "about = query[..., : -(query.shape[-1] - d_k)]",
                "latent = cache[..., : -(cache.shape[-1] - d_latent)]",
                "turned = query[..., -(query.shape[-1] - d_k) :]",
                "latent = cache[..., : -(cache.shape[-1] - d_latent)]\n"
                "mean = (weights.flatten(1, 2) @ latent).reshape(*query.shape[:3], d_latent)"),
        mistake("a softmax for each part",
                "The two parts of a score went through a softmax of their own, and the weights "
                "were added or multiplied. What are they before any softmax: two scores, or two parts of one?",
                *(
                    "one, two = (part.unflatten(1, (num_heads, -1)) * factor for part in (\n"
                    "    asked.flatten(1, 2) @ latent.mT, turned.flatten(1, 2) @ rotated.mT))\n"
                    f"one, two = (stable_softmax(part.masked_fill(~allowed, -torch.inf)) for part in (one, two))\n"
                    f"weights = {both}" for both in ("(one + two) / 2", "one + two", "one * two",
                                                     "one * two / (one * two).sum(-1, keepdim=True)"))),
        mistake("values scaled", "The average of the values was multiplied by the scale. What does the scale keep "
                "small?", "out = mean @ W_uv * factor"),
        mistake("one average for all heads", "All heads return the same average. Each has weights of its own.",
                "out = mean.mean(1, keepdim=True) @ W_uv", "out = mean[:, :1] @ W_uv"),
        mistake("the heads summed", "The heads were added up. Each stays separate until the output projection, which "
                "is not asked for here. Which axis was summed away?", "out = (mean @ W_uv).sum(1, "
                "keepdim=True).expand(-1, num_heads, -1, -1)",
                "out = (mean @ W_uv).mean(1, keepdim=True).expand(-1, num_heads, -1, -1)",
                "return out.sum(1)"),
        mistake("output with another shape", "The values are right, but the output must have the axes (B, H, L, d_v). "
                "Which of them were exchanged, or joined?",
                "return out.transpose(1, 2)", "return out.flatten(1, 2)", "return out.transpose(1, 2).flatten(2)"),
        mistake("heads and positions mixed", "Rows of other heads and positions appear where these should. In which "
                "order were heads and positions joined, and in which taken apart?",
                "rows = joined.transpose(1, 2).flatten(1, 2)",
                "products = (rows @ cache.mT).unflatten(1, (-1, num_heads)).transpose(1, 2)",
                "mean = (weights.transpose(1, 2).flatten(1, 2) @ latent).unflatten(1, (num_heads, -1))"),
        mistake("a mask of some shapes only",
                "A mask with other axes than expected stops it: it may have two axes, three "
                "or four, some of size 1. Which call brings all of them to (B, H, L, S)?",
                "allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else "
                "attn_mask.repeat(num_heads, 1)[: query.shape[2]]"),
        batch_mixed("cache = cache[:1].expand(len(cache), -1, -1)\nlatent = cache[..., :d_latent]",
                    "latent = cache[:1, :, :d_latent].expand(len(cache), -1, -1)",
                    "products = (rows @ cache[:1].mT).unflatten(1, (num_heads, -1))",
                    "latent = cache.roll(1, 0)[..., :d_latent]"),
        ALWAYS_CAUSAL,
        *(replace(one, versions=tuple(str(v).replace("key.shape", "cache.shape") for v in one.versions))
          for one in DEFAULT),
        *without(only(GIVEN, "scale rounded"), "factor = default if scale is None else int(scale)"),
        *without(AMONG, "out = weights.mean(1, keepdim=True) @ value"),
        *without(SOFTMAX, "softmax over an axis counted from the front"),
        *if_given(MASK),
        *(
            mistake(one.name, one.says, *(
                _MASK + v.replace("attn_mask", "m")
                for v in one.versions if isinstance(v, str)
            ))
            for one in only(MASKS, "a head's mask read as a sequence's", "a sequence's mask read as a head's",
                            "the first head's mask for all", "the heads' masks merged")
        ),
        *EMPTY_ROWS,
        cut_off("latent = cache[..., :d_latent].detach()", "asked = about @ W_uk.detach().mT",
                "out = mean @ W_uv.detach()", "weights = stable_softmax(scores).detach()",
                "products = (rows @ cache.detach().mT).unflatten(1, (num_heads, -1))",
                "latent = cache[..., :d_latent].detach()\n"
                "products = (rows @ cache.detach().mT).unflatten(1, (num_heads, -1))", "return out.detach()"),
        mistake("the cache copied for every head", _COPIED_SAYS,
                "products = joined @ cache.mT.unsqueeze(1)\nmean = weights @ latent.unsqueeze(1)",
                "products = joined @ cache.mT.unsqueeze(1)", "mean = weights @ latent.unsqueeze(1)"),
        mistake("keys and values made", _MADE_SAYS, f"{_EXPANDED}\n{_VALUES_MADE}", _EXPANDED, _VALUES_MADE,
                _HEAD_BY_HEAD),
        overwritten("default = 1 / math.sqrt(query.shape[-1])\nquery.mul_(default)\n"
                    "shared = torch.cat((query[..., :d_k] @ W_uk.mT, query[..., d_k:]), -1).flatten(1, 2)\n"
                    "products = (shared @ cache.mT).unflatten(1, (num_heads, -1))\n"
                    "factor = 1.0"),
        viewed("rows = joined.transpose(1, 2).contiguous().transpose(1, 2).view(len(query), -1, joined.shape[-1])",
               "about = query.view(len(query), -1, query.shape[-1]).unflatten(1, (num_heads, -1))[..., :d_k]",
               "mean = (weights.flatten(1, 2) @ latent).unflatten(1, (num_heads, -1))\n"
               "out = (mean @ W_uv).transpose(1, 2).view(query.shape[:3] + W_uv.shape[-1:])"),
        *other_kinds("out", "weights", "mean"),
        lower_precision(absorbed_latent_attention, "out = (mean.float() @ W_uv.float()).to(mean.dtype)"),
        *epsilon(_epsilon, 1e-7, 1e-8),
        *another_scale(_another_scale),
    ),
    costs=(
        Cost("the work", work, (16, 64), _wide, 1.4, _MADE_SAYS, "keys and values made"),
        Cost("the largest tensor", _largest, (4, 16), _decoding, 0.5, _COPIED_SAYS, "the cache copied for every head"),
    ),
    hints=(
        "A score is the sum of two products: one with the key that W_uk makes of the latent vector, one with the "
        "rotated key. Which of them needs the matrix, and where could the matrix stand instead?",
        "(W_uk q)·c is the same number as q·(W_ukᵀ c). There is one query and there are thousands of tokens: on which "
        "side is the matrix cheap?",
        "Put what is asked of the latent vector and the rotated part side by side: the cache, as it is, holds the "
        "keys. The scale stays that of the original query.",
        "All heads ask the same cache. Make the heads rows of one longer query, (B, H · L, r + d_rope), so that "
        "nothing broadcasts; separate heads and positions again after the product.",
        "Average the latent vectors with the weights in the same way, and let W_uv act on the average: one product "
        "for each head and query, whatever the length of the cache.",
    ),
)
