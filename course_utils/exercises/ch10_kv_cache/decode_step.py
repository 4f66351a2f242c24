"""Exercise: attention of new positions to a cache that holds their keys already."""

from typing import Any

import torch
from course_utils.attention import causal_mask, decode_step
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.caches import another_dtype, slots, tokens_first
from course_utils.exercises.shared.heads import AMONG
from course_utils.exercises.shared.kinds import NOTHING, batch_mixed, cut_off, overwritten, squeezed
from course_utils.exercises.shared.masking import MASK
from course_utils.exercises.shared.masks import PAST
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law
from torch import Tensor

# `i` says in which slot each query's own key is, as a column; `j` are the slots, as a row.
RIGHT = """
def decode_step(query, cache_key, cache_value, length):
    new = query.shape[2]
    key = cache_key[:, :, :length]
    value = cache_value[:, :, :length]
    i = torch.arange(length - new, length).unsqueeze(-1)
    j = torch.arange(key.shape[2])
    past = j <= i
    allowed = past
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = query @ key.mT
    scaled = products * factor
    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    out = weights @ value
    return out
"""


def _both(part: str, of: str = "cache_{}") -> str:
    """Return the lines that read this part of both caches, or of what else `of` says."""
    return "\n".join(f"{name} = {of.format(name)}{part}" for name in ("key", "value"))


_EVERYTHING = "past = j >= 0"
_EMPTIED = "free = torch.arange(cache_key.shape[2]).unsqueeze(-1) >= length\n" + _both(".masked_fill(free, 0.0)")
_BY_ITSELF = "i = torch.arange(new).unsqueeze(-1)"
_CHUNK = _both("[:, :, length - new : length]")
_TWO = (
    "split = length - new\n"
    "before = torch.softmax(scores[..., :split], -1) @ value[:, :, :split]\n"
    "own = torch.softmax(scores[..., split:], -1) @ value[:, :, split:]\n"
)
# Of a causal mask that the answer makes itself there is none for a batch, and its first column is always True.
_MASK = without(MASK, "mask ignored", "one mask for all batches", "queries masked instead of keys",
                "some = allowed.expand(scaled.shape).any(-2, keepdim=True)\n"
                "scores = scaled.masked_fill(~some, -torch.inf)",
                "scores = scaled.masked_fill(~allowed[..., :1, :], -torch.inf)",
                "scores = scaled.masked_fill(~allowed[..., -1:, :], -torch.inf)")


def _made(
    new: int,
    length: int,
    num_slots: int = 9,
    sizes: tuple[int, int, int] = (2, 3, 4),
    size: float = 1.0,
    dtype: torch.dtype = torch.float64,
    free: float | None = None,
) -> Make:
    """Make queries of (B, H, d) and a cache whose free slots hold numbers, or what `free` says."""
    batch, heads, width = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, batch, heads, new, width, size=size, dtype=dtype)
        return query, *slots(g, (batch, heads, num_slots, width), length, free, size, dtype), length

    return make


def _loud_future(step: float) -> Make:
    """Let the later keys win every softmax that can see them."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key, value, length = _made(3, 6)(g)
        rising = torch.arange(9.0).double().unsqueeze(-1)
        return query.abs() + 0.5, key.abs() * 0.1 + step * rising, value, length

    return make


def _far_below(g: torch.Generator) -> tuple[Any, ...]:
    """Let all scores be lower than what is often taken for minus infinity."""
    query, key, value, length = _made(3, 6)(g)
    query[..., 0], key[..., 0] = 200.0, -200.0
    return query, key, value, length


def _tokens_first(g: torch.Generator) -> tuple[Any, ...]:
    *tensors, length = _made(2, 6, 8, (2, 5, 3))(g)
    return *map(tokens_first, tensors), length


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, cache_key, _, length = args
    scores = query @ cache_key[:, :, :length].mT / query.shape[-1] ** 0.5
    seen = causal_mask(query.shape[2], length, offset=length - query.shape[2])
    return some_epsilon(scores.masked_fill(~seen, -torch.inf), decode_step(*args), got)


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, length = args
    if got.shape != query.shape or length < 2:
        return False
    root = query.shape[-1] ** 0.5
    wide = query * root
    return some_scale(lambda scale: decode_step(scale * wide, key, value, length), got.detach(), 1 / root)


EXERCISE = exercise(
    decode_step,
    right=RIGHT,
    asks="Attend from the T newest positions to the filled slots of a cache, causally.",
    minutes=20,
    difficulty=3,
    importance=5,
    cases=(
        case("one query, 5 of 9 slots filled", _made(1, 5), gradient="equal"),
        case("3 queries, 7 of 9 slots filled", _made(3, 7), gradient="equal"),
        case("a prompt: 5 queries, 5 slots filled", _made(5, 5)),
        case("a full cache", _made(2, 9)),
        case("the very first token", _made(1, 1)),
        case("2 queries, 8 slots filled, 3 sequences, 5 heads", _made(2, 8, 11, (3, 5, 6))),
        case("4 queries, and every other size is 4, too", _made(4, 8, 12, (4, 4, 4))),
        case("one sequence, one head", _made(3, 5, 7, (1, 1, 2))),
        case("later keys with by far the best scores", _loud_future(3.0)),
        case("later keys with scores higher by tens of thousands", _loud_future(3e4)),
        case("scores of thousands", _made(2, 6, size=60.0)),
        case("all scores near -20,000", _far_below),
        case("free slots that hold NaN, one query", _made(1, 4, free=torch.nan), gradient="equal"),
        case("free slots that hold NaN, 3 queries", _made(3, 6, free=torch.nan)),
        case("free slots that hold infinity", _made(2, 5, free=torch.inf)),
        case("non-contiguous tensors", _tokens_first),
        case("one of everything", _made(1, 1, 1, (1, 1, 1))),
        case("float32", _made(3, 7, dtype=torch.float32), tolerance=1e-4),
        case("bfloat16", _made(2, 6, dtype=torch.bfloat16)),
    ),
    mistakes=(
        RANDOM,
        mistake("a chunk whose mask begins at the first key", "The first of the new queries sees only the first key of "
                "the cache, as if it were at position 0: so does `is_causal=True` where there are more keys than "
                "queries. At which position is it?", _BY_ITSELF),
        *saying(
            adding(
                without(PAST, "past = j > i", "past = j > i + 1"),
                {
                    "own key hidden": (
                        _both("[:, :, : length - 1]"),
                        f"{_both('[:, :, : length - new]')}\n{_EVERYTHING}",
                    ),
                    "one key of the future seen": (
                        f"{_both('[:, :, : length + 1]')}\npast = j <= i + 1",
                        f"{_both('[:, :, : length + new]')}\n{_EVERYTHING}",
                        f"{_both('[:, :, : length + new]')}\npast = j <= i + new",
                    ),
                    "the future instead of the past": ("past = j >= i - i[0]",),
                },
            ),
            {
                "own key hidden": "A query does not see its own key. Its keys and values are in the cache already: up "
                "to which slot may it look?",
                "one key of the future seen": "One slot more than is filled was read, or a query sees the key after "
                "its own. The last of `length` tokens is in slot `length - 1`.",
                "the future instead of the past": "The mask is reversed: queries see their own key and those after it.",
                "not causal": "The earlier of several new queries read the keys of the later ones. They came together; "
                "does the first of them know what comes next?",
                "only its own key": "Each query reads its own value and nothing else. What may it look back to?",
            },
        ),
        mistake("the whole memory read", "Slots past `length` were attended to. Memory that was allocated in advance "
                "may hold anything: which slots are filled?",
                f"{_both('')}\n{_EVERYTHING}", f"{_both('.nan_to_num(0.0)')}\n{_EVERYTHING}",
                f"{_both('')}\ni = torch.arange(key.shape[2] - new, key.shape[2]).unsqueeze(-1)"),
        mistake("free slots taken for tokens of zeros", "The free slots take part as keys of zeros. A score of 0 is a "
                "score: it gets a share of the weights. Which slots should not be there at all?",
                f"{_EMPTIED}\n{_EVERYTHING}"),
        mistake("free slots multiplied by a weight of zero", "NaN came out: the free slots are hidden by a mask, but "
                "they are still read, and 0 times NaN is NaN. How is a slot not read at all?", _both("")),
        mistake("NaN replaced in the output", "The output is 0 where NaN came out: the free slots are still read, and "
                "0 times NaN is NaN. What was to stand there is lost by then. How is a slot not read at all?",
                f"{_both('')}\nreturn out.nan_to_num()", f"{_both('')}\nreturn out.nan_to_num(0.0, 0.0, 0.0)"),
        mistake("keys and values of different lengths", "The filled slots were cut out of one of the two tables, and "
                "the other was used whole, so weights and values do not fit. To which of the two does `length` apply?",
                "value = cache_value", "key = cache_key"),
        mistake("free slots wiped in the caller's cache", "The free slots of the cache were overwritten. Reading a "
                "cache changes nothing in it: is there a way to leave them out?",
                "cache_key[:, :, length:] = 0.0\ncache_value[:, :, length:] = 0.0\nkey = cache_key[:, :, :length]"),
        mistake("only the new tokens read", "The queries see only the keys that came with them. What was the cache "
                "kept for?", f"{_CHUNK}\n{_BY_ITSELF}", f"{_CHUNK}\n{_EVERYTHING}"),
        mistake("the last slots of the memory read", "The last slots of the memory were read instead of the first. "
                "Where are the filled ones?", _both("[:, :, -length:]"), "value = cache_value[:, :, -length:]"),
        mistake("the first token lost", "The very first token is never seen. Slots count from 0.",
                "past = (j <= i) & (j > 0)", "past = (j <= i) & (j > i - i[-1])", _both("[:, :, 1 : length + 1]")),
        mistake("the mask of a prompt, backwards", "The first new query sees what the last one may see, and the other "
                "way round. Which row belongs to which position?", "past = j <= i.flip(0)", "past = (j <= i).flip(1)"),
        mistake("values of other slots than keys", "The weights meet values of other tokens. Key and value of a token "
                "are in the same slot.", "value = cache_value[:, :, :length].flip(2)",
                "value = cache_value[:, :, :length].roll(1, 2)", "value = cache_value[:, :, :length].roll(-1, 2)"),
        mistake("heads averaged", "All heads give the same output, or read the same keys. Each head reads its own keys "
                "and values, and keeps its own answer.", "return out.mean(1, keepdim=True).expand(out.shape)",
                _both("[:, :1, :length]"), _both("[:, :, :length].mean(1, keepdim=True)")),
        mistake("a cache without heads", "All heads share one softmax, as if they were a single wide one. Heads were "
                "split so that each can look elsewhere: over which axes is a score a sum?",
                "query, key, value = (x.transpose(1, 2).flatten(2).unsqueeze(1) for x in (query, key, value))\n"
                "default = 1 / math.sqrt(query.shape[-1])\n"
                "return out.squeeze(1).unflatten(-1, (cache_key.shape[1], -1)).transpose(1, 2)"),
        batch_mixed(_both("[:1, :, :length]")),
        *adding(DEFAULT, {
            "the root of the wrong size": ("default = 1 / math.sqrt(cache_key.shape[2])",
                "default = 1 / math.sqrt(query.shape[1] * query.shape[-1])"),
        }),
        *epsilon(_epsilon),
        *another_scale(_another_scale),
        *AMONG,
        *without(SOFTMAX, "softmax over an axis counted from the front"),
        mistake("two softmaxes averaged", "The past and the new tokens were attended to separately, and the two "
                "outputs put together. One softmax must sum to 1 over all of them.",
                f"{_TWO}out = (before + own) / 2 if split else own", f"{_TWO}out = before + own"),
        *saying(_MASK, {
            "mask inverted": "Each query attends to exactly what it may not see. What does True mean in your mask, "
                "and what does True mean to `masked_fill`?",
            "mask added as 0 and 1": "A mask of numbers is added to the scores: a 0 hides nothing, and a 1 raises "
                "what it should leave alone. Which dtype makes torch hide?",
            "one mask for all queries": "All of the new queries were given the mask of the first. Each of them sees "
                "one key more than the one before it: which axis was lost?",
        }),
        *without(VALUES, "the root of the width of the values"),
        *COMPARED,
        mistake("only the last query answered", "Several queries came, and one output went back. Each of them needs a "
                "row of output, or a prompt cannot be read in pieces.", "return out[:, :, -1:]", "return out[:, :, -1]",
                "return out[:, :, :1]", "return out[:, :, -1:].expand(out.shape)"),
        mistake("output with other axes", "The values are right, but the output must have the axes (B, H, T, d) of the "
                "query. Heads are merged elsewhere, and an axis of size 1 stays.",
                "return out.transpose(1, 2).flatten(2)", "return out.transpose(1, 2)", "return out.flatten(0, 1)"),
        *adding((squeezed("return out{}"),), {"squeeze takes too many axes": ("return out.squeeze(2)",)}),
        another_dtype("The output has a different dtype from the query. A model's next layer expects its own.", "out"),
        cut_off("return out.detach()", _both("[:, :, :length].detach()")),
        mistake("the weights returned too", "Output and weights came back together. Only the output is asked for here.",
                "return out, weights"),
        overwritten("factor = 1.0\nproducts = query.mul_(default) @ key.mT"),
        NOTHING,
        mistake("a running maximum without rescaling", "The exponentials were taken against the largest score so far, "
                "and added as they are. What do the earlier ones need when a larger score comes?",
                "raised = (scores - scores.cummax(-1).values).exp()\nweights = raised / raised.sum(-1, keepdim=True)"),
        lower_precision(decode_step, "query, key, value = query.float(), key.float(), value.float()\n"
                        "default = 1 / math.sqrt(query.shape[-1])\nreturn out.to(cache_key.dtype)"),
    ),
    laws=(average_law(lambda args: args[2][:, :, : args[3]]),),
    hints=(
        "With 7 filled slots and 3 queries, at which positions are the queries? Write down for each of them which "
        "slots it may see.",
        "Slots past `length` must not be read at all: a mask is too late, since 0 times NaN is NaN. What does a "
        "slice do?",
        "One query sees every filled slot and needs no mask. Several need a causal mask whose first row does not begin "
        "at slot 0: how many tokens were there before them?",
        "`causal_mask(T, length, offset=length - T)` of chapter 06 is that mask.",
    ),
)
