"""Exercise: attention of packed documents, each over itself, with neither a T × T table nor padding."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from course_utils.attention import packed_attention
from course_utils.checking.exercise import Cost, Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, only, saying, without
from course_utils.exercises.shared.kinds import cut_off, other_kinds
from course_utils.exercises.shared.linear import work
from course_utils.exercises.shared.masking import MASK
from course_utils.exercises.shared.masks import PAST
from course_utils.exercises.shared.refusals import SAYS, fitting, refusal
from course_utils.exercises.shared.scale import DEFAULT, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES
from course_utils.measure import largest_tensor
from torch import Tensor

RIGHT = """
def packed_attention(query, key, value, lengths, is_causal=False):
    tokens = query, key, value
    stops = lengths.cumsum(0)
    starts = stops - lengths
    fits = int(lengths.sum()) == len(query)
    if not fits:
        raise ValueError("the lengths do not sum to the number of tokens")
    whole = value.new_zeros(query.shape[1], len(query), value.shape[2])
    for query, key, value, i, j, start in documents(tokens, starts, stops):
        default = 1 / math.sqrt(query.shape[-1])
        factor = default
        products = query @ key.mT
        scaled = products * factor
        past = j <= i
        allowed = past | (not is_causal)
        scores = scaled.masked_fill(~allowed, -torch.inf)
        weights = stable_softmax(scores)
        out = weights @ value
        whole[:, start : start + out.shape[1]] = out
    packed = whole.transpose(0, 1)
    return packed
"""

Tokens = tuple[Tensor, Tensor, Tensor]


def documents(tokens: Tokens, starts: Tensor, stops: Tensor) -> Iterator[tuple[Any, ...]]:
    """Yield each document's query, key and value (H, n, d), the places in it as a column and a row, and its start."""
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        query, key, value = (x[start:stop].transpose(0, 1) for x in tokens)
        places = torch.arange(query.shape[1])
        yield query, key, value, places.unsqueeze(-1), places, start


def joined(tokens: Tokens, lengths: Tensor, is_causal: bool) -> tuple[Tensor, ...]:
    """Return scaled scores (H, T, T), values (H, T, d_v), which pairs share a document, and which are in order."""
    query, key, value = (x.transpose(0, 1) for x in tokens)
    ids = torch.arange(len(lengths)).repeat_interleave(lengths)
    same = ids.unsqueeze(-1) == ids
    past = torch.ones_like(same).tril() | (not is_causal)
    return query @ key.mT / math.sqrt(query.shape[-1]), value, same, past


def padded(tokens: Tokens, lengths: Tensor) -> Iterator[Tensor]:
    """Yield query, key and value (n, H, longest, d), and which places of a document are filled (n, longest)."""
    filled = torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)
    tables = (x.new_zeros(*filled.shape, *x.shape[1:]) for x in tokens)
    for table, x in zip(tables, tokens, strict=True):
        table[filled] = x
        yield table.transpose(1, 2)
    yield filled


def out_shape(value: Tensor) -> tuple[int, ...]:
    """Return the shape of a document's values or outputs (H, n, d_v) with tokens first."""
    return value.shape[1], value.shape[0], value.shape[2]


def _whole(*lines: str) -> str:
    """Return lines that compute all documents in one table: they set `packed` from what `joined` gives."""
    return "table, values, same, order = joined(tokens, lengths, is_causal)\n" + "\n".join(lines)


def _made(*lengths: int, causal: bool | None = None, heads: int = 2, d_k: int = 4, d_v: int = 3, size: float = 1.0,
          dtype: torch.dtype = torch.float64) -> Make:
    """Make tokens of documents of these lengths; `is_causal` is left out where it is None."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        tokens = sum(lengths)
        query, key = (normal(g, tokens, heads, d_k, size=size, dtype=dtype) for _ in range(2))
        value = normal(g, tokens, heads, d_v, dtype=dtype)
        more = () if causal is None else (causal,)
        return query, key, value, torch.tensor(lengths), *more

    return make


def _against_the_others(causal: bool) -> Make:
    """Make tokens whose best keys by far are where they may not look: in other documents, or later."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key, value, lengths = _made(3, 4, 2, heads=3, d_v=5)(g)
        high = torch.zeros(len(key), dtype=torch.bool)
        if causal:
            high[lengths.cumsum(0) - 1] = True
        else:
            high[3:7] = True
        low = torch.where(high, 0.0, -1e6).to(key.dtype)
        return query.abs() + 1.0, key + low.view(-1, 1, 1), value, lengths, causal

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, lengths, causal = _made(4, 1, 3, causal=True, heads=3)(g)
    return (strided(query), key.transpose(0, 1).contiguous().transpose(0, 1), strided(value), lengths, causal)


def _short(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, _ = _made(2, 3, 2)(g)
    return query, key, value, torch.tensor([2, 3])


def _long(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, _ = _made(2, 3, 2)(g)
    return query, key, value, torch.tensor([2, 3, 4])


def _all_equal(tokens: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(*[16] * (tokens // 16), d_k=8, d_v=8, dtype=torch.float32)(g)


def _one_long(tokens: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(tokens // 4, *[1] * (tokens - tokens // 4), d_k=8, d_v=8, dtype=torch.float32)(g)


def _outside(args: tuple[Any, ...], got: Tensor) -> str | None:
    """Say which token's output is not an average of its own document's values."""
    start = 0
    for number, length in enumerate(args[3].tolist()):
        own, stop = args[2][start : start + length], start + length
        if length:
            room = 0.05 * (own.amax(0) - own.amin(0)) + 1e-6
            inside = (got[start:stop] >= own.amin(0) - room) & (got[start:stop] <= own.amax(0) + room)
            if not bool(inside.all()):
                token, head, _ = (~inside).nonzero()[0].tolist()
                return (f"The output of token {start + token}, head {head}, lies outside the range of the values of "
                        f"its document, number {number}, the tokens {start} to {stop - 1}.")
        start = stop
    return None


def _seen(args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """Return the scores (H, T, T), -inf where a token may not look, and the right output (H, T, d_v)."""
    *tokens, lengths, is_causal = (*args, False)[:5]
    scaled, value, same, order = joined(tuple(tokens), lengths, is_causal)
    scores = scaled.masked_fill(~(same & order), -torch.inf)
    return scores, torch.softmax(scores, -1) @ value


def _epsilon(args: tuple[Any, ...], got: Any) -> bool:
    if not isinstance(got, Tensor) or got.dim() != 3:
        return False
    return some_epsilon(*_seen(args), got.transpose(0, 1))


def _another_scale(args: tuple[Any, ...], got: Any) -> bool:
    query, key, value, lengths, *rest = args
    if not isinstance(got, Tensor) or got.shape != value.shape or int(lengths.max()) < 2:
        return False
    wide = query * query.shape[-1] ** 0.5
    return some_scale(lambda scale: packed_attention(scale * wide, key, value, lengths, *rest), got.detach(),
                query.shape[-1] ** -0.5)


_EMPTY_SAYS = (
    "With an empty document among them the outputs are wrong, though they are right without one. Which tokens come "
    "after a document of length 0?"
)
_TABLE_SAYS = (
    "The values are right, but something is made for all pairs of all tokens, T × T, and most of it is thrown away. "
    "Which pairs does a document need, and can it be taken out of the row first?"
)
_PADDED_SAYS = (
    "The values are right, but all documents are filled up to the longest one: one long document among many short ones "
    "makes nearly all of the work padding. Which documents could share a batch without any filling, or is a batch "
    "needed at all?"
)
_CUT_ANEW = (
    "query, key, value = (x.transpose(0, 1).reshape(x.shape) for x in (query, key, value))\n"
    "default = 1 / math.sqrt(query.shape[-1])"
)
_TAKEN = "stops = {}\nstarts = {}"
_DEFINED = "def packed_attention(query, key, value, lengths, is_causal=False):\n    "
_IN_A_TABLE = f"{_DEFINED}if int(lengths.sum()) != len(query):\n        raise ValueError\n    "
_SDPA = "F.scaled_dot_product_attention"

EXERCISE = exercise(
    packed_attention,
    right=RIGHT,
    asks="Let each document attend to itself alone, where the documents follow one another.",
    minutes=20,
    difficulty=4,
    importance=5,
    cases=(
        case("two documents", _made(2, 5), gradient="equal"),
        case("two documents, causal", _made(3, 2, causal=True), gradient="equal"),
        case("one document", _made(5, heads=3)),
        case("documents of 4, 1 and 3 tokens, causal", _made(4, 1, 3, causal=True, heads=3)),
        case("every size is 4: a transpose keeps the shape", _made(4, heads=4, d_v=4, causal=True)),
        case("4 documents of 4 tokens, 4 heads", _made(4, 4, 4, 4, heads=4, d_v=4)),
        case("each token its own document", _made(1, 1, 1, 1, heads=3)),
        case("an empty document between", _made(3, 0, 2, 4), run=fitting, says=_EMPTY_SAYS),
        case("empty documents, first, between and last", _made(0, 3, 0, 0, 4, 1, 0, causal=True), run=fitting,
             says=_EMPTY_SAYS),
        case("lengths that fall, then rise", _made(5, 2, 1, 6, heads=3, d_k=3, d_v=5)),
        case("scores of thousands", _made(3, 4, size=60.0, d_k=9)),
        case("another document has by far the best keys", _against_the_others(False)),
        case("later tokens have by far the best keys, causal", _against_the_others(True)),
        case("one token", _made(1, heads=1, causal=True)),
        case("one head of width 1", _made(3, 1, 4, heads=1, d_k=1, d_v=2)),
        case("40 documents", _made(*(1 + n * n % 7 for n in range(40)), causal=True)),
        case("documents of 70 and 130 tokens", _made(70, 130, causal=True)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(3, 6, 2, d_k=16, dtype=torch.float32), tolerance=1e-4),
        case("bfloat16, causal", _made(3, 6, 2, causal=True, dtype=torch.bfloat16)),
        case("lengths that sum to less than T", _short, run=refusal, says=SAYS),
        case("lengths that sum to more than T", _long, run=refusal, says=SAYS),
    ),
    mistakes=(
        RANDOM,
        *adding(without(DEFAULT, "default = 1 / math.sqrt(query.shape[1])"), {
            "the root of the wrong size": ("default = 1 / math.sqrt(len(tokens[0]))",
                "default = 1 / math.sqrt(query.shape[0] * query.shape[-1])", "default = 1 / math.sqrt(len(lengths))"),
        }),
        *epsilon(_epsilon, 1e-7, 1e-8),
        *another_scale(_another_scale),
        mistake("documents not separated", "Every token sees the tokens of all documents: this is attention over the "
                "whole row. Where are the lengths used?", "stops = lengths.sum(0, keepdim=True)\nstarts = 0 * stops",
                _whole("packed = (torch.softmax(table.masked_fill(~order, -torch.inf), -1) @ values).transpose(0, 1)")),
        mistake("earlier documents seen", "A token sees its own document and all before it. Only the end of a document "
                "was minded: where does it begin?",
                _whole("ids = torch.arange(len(lengths)).repeat_interleave(lengths)",
                       "seen = (ids.unsqueeze(-1) >= ids) & order",
                       "packed = (torch.softmax(table.masked_fill(~seen, -torch.inf), -1) @ values).transpose(0, 1)"),
                _whole("ids = torch.arange(len(lengths)).repeat_interleave(lengths)",
                       "seen = (ids.unsqueeze(-1) <= ids) & order",
                       "packed = (torch.softmax(table.masked_fill(~seen, -torch.inf), -1) @ values).transpose(0, 1)")),
        mistake("only other documents seen", "Each token sees every document but its own. What does True mean in the "
                "mask?",
                _whole("seen = ~same & order", "hidden = table.masked_fill(~seen, -torch.inf)",
                       "packed = (stable_softmax(hidden) @ values).transpose(0, 1)"),
                _whole("seen = ~same & order", "hidden = table.masked_fill(~seen, -torch.inf)",
                       "packed = (torch.softmax(hidden, -1) @ values).transpose(0, 1)"),
                _whole("seen = ~(same & order)", "hidden = table.masked_fill(~seen, -torch.inf)",
                       "packed = (torch.softmax(hidden, -1) @ values).transpose(0, 1)")),
        mistake("one row of weights for all documents", "The weights of other documents were dropped after the "
                "softmax, or their scores set to 0, and exp(0) is 1: a token's weights on its own document no longer "
                "sum to 1. Over which keys must the softmax run?",
                _whole("shares = torch.softmax(table.masked_fill(~order, -torch.inf), -1) * same",
                       "packed = (shares @ values).transpose(0, 1)"),
                _whole("packed = (torch.softmax(table * (same & order), -1) @ values).transpose(0, 1)"),
                _whole("packed = (torch.softmax(table + (same & order), -1) @ values).transpose(0, 1)"),
                _whole("shares = torch.softmax(table, -1) * (same & order)",
                       "packed = (shares @ values).transpose(0, 1)")),
        mistake("heads attended", "The heads of a token attend to each other, and no token sees another. Which two "
                "axes must come last, so that a matrix product compares tokens?",
                f"{_DEFINED}return {_SDPA}(query, key, value)",
                f"{_DEFINED}parts = [x.split(lengths.tolist()) for x in (query, key, value)]\n"
                f"    return torch.cat([{_SDPA}(*part, is_causal=is_causal) for part in zip(*parts)])",
                f"{_DEFINED}weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)\n"
                "    return weights @ value"),
        mistake("equal lengths assumed", "The row was cut into pieces of one length. What do the lengths say of each "
                "document?",
                "longest = int(lengths.max())\nlate = torch.arange(0, len(query), longest)\n"
                "stops = (late + longest).clamp(max=len(query))\nstarts = late",
                "stops = (torch.arange(1, len(lengths) + 1) * len(query)) // len(lengths)\n"
                "starts = (torch.arange(len(lengths)) * len(query)) // len(lengths)",
                "stops = -(-torch.arange(1, len(lengths) + 1) * len(query) // len(lengths))\n"
                "starts = -(-torch.arange(len(lengths)) * len(query) // len(lengths))",
                f"{_IN_A_TABLE}n = len(lengths)\n"
                "    parts = (x.reshape(n, len(x) // n, x.shape[1], -1).transpose(1, 2) for x in (query, key, value))\n"
                f"    return {_SDPA}(*parts, is_causal=is_causal).transpose(1, 2).reshape(value.shape)",
                "first = max(int(lengths[0]), 1)\nlate = torch.arange(0, len(query), first)\n"
                "stops = (late + first).clamp(max=len(query))\nstarts = late"),
        mistake("lengths read as ends", "The lengths were taken for the places where documents end, or begin. The "
                "second document begins where the first one ends: what must be added up?",
                _TAKEN.format("lengths", "F.pad(lengths[:-1], (1, 0))"), _TAKEN.format("lengths", "0 * lengths"),
                _TAKEN.format("F.pad(lengths[:-1], (1, 0)) + lengths", "F.pad(lengths[:-1], (1, 0))"),
                _TAKEN.format("F.pad(lengths[1:], (0, 1), value=len(query))", "lengths")),
        mistake("the first document again and again", "Every document is cut out at the same place: the first tokens. "
                "What has to move on from one document to the next?",
                f"{_IN_A_TABLE}parts = []\n    for length in lengths.tolist():\n"
                "        part = (x[:length].transpose(0, 1) for x in (query, key, value))\n"
                f"        parts.append({_SDPA}(*part, is_causal=is_causal).transpose(0, 1))\n"
                "    return torch.cat(parts)"),
        mistake("a document lost", "The first or the last document got zeros. n documents have n + 1 borders, the 0 at "
                "the front among them: which pairs of neighbours does your loop take?",
                "stops = lengths.cumsum(0)[1:]\nstarts = lengths.cumsum(0)[:-1]",
                "stops = lengths.cumsum(0)[:-1]\nstarts = stops - lengths[:-1]",
                "packed = whole.transpose(0, 1)[: int(lengths[:-1].sum())]",
                "packed = whole.transpose(0, 1)[int(lengths[0]) :]"),
        mistake("stopped at an empty document", "After an empty document nothing is computed, or an empty one takes a "
                "token. What does a length of 0 mean for the documents after it?",
                "left = (lengths != 0).cumprod(0) * lengths\nstops = left.cumsum(0)\nstarts = stops - left",
                "packed = whole.transpose(0, 1)[: int(((lengths != 0).cumprod(0) * lengths).sum())]",
                "taken = lengths.clamp(min=1)\nstops = taken.cumsum(0)\nstarts = stops - taken"),
        mistake("ends off by one", "Documents begin or end one token too early or too late. In Python's slices, is the "
                "end the last token or the one after it?",
                "stops = lengths.cumsum(0) - 1\nstarts = stops + 1 - lengths",
                "stops = lengths.cumsum(0) + 1\nstarts = stops - 1 - lengths",
                "stops = lengths.cumsum(0) + 1\nstarts = stops - lengths",
                "stops = lengths.cumsum(0) - 1\nstarts = (stops - lengths).clamp(min=0)",
                "stops = lengths.cumsum(0)\nstarts = stops - lengths + 1",
                "stops = lengths.cumsum(0)\nstarts = (stops - lengths - 1).clamp(min=0)"),
        mistake("the first token counted to the document before", "The first token of a document was assigned to "
                "the one before it. Token 2, counted from 0, of documents of 2 and 3 tokens belongs to the second: "
                "which side of an end does `searchsorted` or `<=` take?",
                "kept = torch.searchsorted(lengths.cumsum(0), torch.arange(len(query))).bincount("
                "minlength=len(lengths))\nstops = kept.cumsum(0)\nstarts = stops - kept"),
        mistake("heads joined", "The heads were laid end to end, so that each token has one row of weights for all "
                "heads. Each head compares its own features: where are the heads kept apart?",
                f"{_IN_A_TABLE}outs = []\n    for part in zip(*(x.flatten(1).split(lengths.tolist()) for x in (query, "
                f"key, value))):\n        outs.append({_SDPA}(*part, is_causal=is_causal))\n"
                "    return torch.cat(outs).unflatten(1, value.shape[1:])"),
        mistake("documents in another order", "The documents come out in another order than they came in, or were cut "
                "in another: they were sorted. How does each output get back to its tokens?",
                "given = lengths.sort().values\nstops = given.cumsum(0)\nstarts = stops - given",
                "given = lengths.sort(descending=True).values\nstops = given.cumsum(0)\nstarts = stops - given",
                "given = lengths.flip(0)\nstops = given.cumsum(0)\nstarts = stops - given",
                "pieces = whole.split(lengths.tolist(), 1)\n"
                "packed = torch.cat([pieces[n] for n in lengths.argsort(stable=True)], 1).transpose(0, 1)",
                "pieces = whole.split(lengths.tolist(), 1)\n"
                "packed = torch.cat([pieces[n] for n in lengths.argsort(descending=True, stable=True)], 1)"
                ".transpose(0, 1)",
                "packed = torch.cat(whole.split(lengths.tolist(), 1)[::-1], 1).transpose(0, 1)"),
        mistake("padding attended to", "The short documents share their weights with the filling: its keys are zeros, "
                "so their scores are 0, and exp(0) is 1. Who may look at what is not there?",
                f"{_IN_A_TABLE}*tables, filled = padded((query, key, value), lengths)\n"
                f"    return {_SDPA}(*tables, is_causal=is_causal).transpose(1, 2)[filled]",
                f"{_IN_A_TABLE}*tables, filled = padded((query, key, value), lengths)\n"
                f"    return {_SDPA}(*tables).transpose(1, 2)[filled]"),
        *saying(
            adding(without(PAST, "past = torch.ones(len(i), len(j), dtype=torch.bool)", "past = j > i + 1",
                           "past = j < i - 1"),
                   {"own key hidden": ("past = j < i\nweights = torch.softmax(scores, -1)",
                                       "past = j < i\nscores = scaled.masked_fill(~allowed, -1e9)"),
                    "the future instead of the past": ("past = j > i\nweights = torch.softmax(scores, -1)",)}),
            {"own key hidden": "With `is_causal` a token does not see itself, so the first of a document sees nothing. "
                "Is a token its own future?",
             "the future instead of the past": "With `is_causal` each token sees what comes after it. On which side of "
                "the diagonal does a row's past stand?"},
        ),
        mistake("causal ignored", "`is_causal` changes nothing. Where is it used?", "scores = scaled"),
        mistake("always causal", "Tokens see only what comes before them, though `is_causal` is False. When does the "
                "causal mask apply?", "allowed = past"),
        mistake("causal the wrong way round", "With `is_causal` all is seen, without it the past alone. What does the "
                "flag ask for?", "allowed = past | is_causal"),
        mistake("one causal mask for all documents", "The mask of one document was used for all, or places were "
                "counted through the whole row on one side and in the document on the other. From where does a "
                "document count its tokens?",
                "allowed = (j <= i + start) | (not is_causal)", "allowed = (j + start <= i) | (not is_causal)",
                "allowed = (j + start <= i) | (not is_causal)\nscores = scaled.masked_fill(~allowed, -1e9)",
                "allowed = (j <= i + int(lengths.max()) - len(j)) | (not is_causal)",
                "allowed = (j <= i + int(lengths[0]) - len(j)) | (not is_causal)",
                "allowed = (j <= i + len(tokens[0]) - len(j)) | (not is_causal)"),
        *only(without(MASK, "scores = scaled - (~allowed).to(scaled.dtype)"),
              "mask added as 0 and 1", "scores multiplied by the mask", "mask after the softmax",
              "mask after the softmax, then divided again", "fill that is not low enough", "mask inverted"),
        mistake("softmax over the heads", "The weights of a pair sum to 1 over the heads. Among whom does a head share "
                "its attention out?", "weights = torch.softmax(scores, 0)"),
        *without(SOFTMAX, "softmax over an axis counted from the front"),
        mistake("one head for all", "All heads give the same, or use one table of weights. Each head asks its own "
                "question: which axis was averaged, or left out?",
                "out = weights.mean(0, keepdim=True) @ value", "out = weights[:1] @ value",
                "scores = scaled.masked_fill(~allowed, -torch.inf).sum(0, keepdim=True).expand(scaled.shape)"),
        mistake("heads and tokens mixed", "The shape is right, but tokens and heads are shuffled: `view` and `reshape` "
                "read numbers in the order of memory. Which function swaps two axes?",
                "tokens = tuple(x.reshape(x.shape[1], x.shape[0], -1).transpose(0, 1) for x in (query, key, value))",
                "packed = whole.reshape(whole.shape[1], whole.shape[0], -1)",
                "tokens = tuple(x.reshape(x.shape[1], x.shape[0], -1).transpose(0, 1) for x in (query, key, value))\n"
                "packed = whole.reshape(whole.shape[1], whole.shape[0], -1)", _CUT_ANEW,
                "out = (weights @ value).reshape(out_shape(value)).transpose(0, 1)",
                f"{_CUT_ANEW}\nout = (weights @ value).reshape(out_shape(value)).transpose(0, 1)"),
        mistake("heads first in the output", "The values are right, but tokens come first, as in the input: (T, H, "
                "d_v). Which axes are still to be swapped, or were joined?", "packed = whole",
                "packed = whole.transpose(0, 1).flatten(1)", "packed = whole.unsqueeze(0)",
                "packed = whole.transpose(0, 1).unsqueeze(0)", "packed = whole.permute(1, 2, 0)"),
        mistake("an average of each document", "All tokens of a document give the same. Each asks its own question: "
                "over what was averaged?", "out = (weights @ value).mean(1, keepdim=True).expand(*value.shape)",
                "query = query.mean(1, keepdim=True).expand(query.shape)\ndefault = 1 / math.sqrt(query.shape[-1])"),
        *adding(without(VALUES, "the weights not used"), {"keys averaged instead of values": (
            "whole = key.new_zeros(query.shape[1], len(query), key.shape[2])\nout = weights @ key",)}),
        mistake("the weights not used", "Every token gets the same plain mean of its document. Where do the weights "
                "come in?", "out = value.mean(-2, keepdim=True).expand(value.shape)"),
        *COMPARED,
        mistake("lengths that do not fit accepted", SAYS + " Before the first document is computed: what must the "
                "lengths sum to?", "fits = True", "fits = int(lengths.sum()) <= len(query)",
                "fits = int(lengths.sum()) >= len(query)", "fits = len(lengths) <= len(query)"),
        mistake("another error than ValueError", "Lengths that do not fit end in an error, but not in the ValueError "
                "that a caller expects: `split`, an index or `assert` raised one of its own. Which line should notice "
                "first that they do not fit?",
                "assert int(lengths.sum()) == len(query)\nfits = True",
                "query.split(lengths.tolist())\nfits = True"),
        mistake("empty documents refused", "A document without tokens ended in an error. A length of 0 is a length "
                "like any other: what should become of such a document?",
                "fits = int(lengths.sum()) == len(query) and bool((lengths > 0).all())",
                "assert bool((lengths > 0).all())\nfits = int(lengths.sum()) == len(query)"),
        mistake("an output as wide as the queries", "The tensor for the outputs has the width of the queries. Which of "
                "the three is averaged, and how wide is that?", "whole = torch.zeros_like(query).transpose(0, 1)",
                f"{_IN_A_TABLE}out, start = torch.zeros_like(query), 0\n    for n in lengths.tolist():\n"
                "        part = (x[start : start + n].transpose(0, 1) for x in (query, key, value))\n"
                f"        out[start : start + n] = {_SDPA}(*part, is_causal=is_causal).transpose(0, 1)\n"
                "        start += n\n    return out"),
        *adding(other_kinds("packed"), {"a list": ("return list(packed.split(lengths.tolist()))",)}),
        cut_off("packed = whole.transpose(0, 1).detach()", "out = (weights @ value).detach()",
                "out = weights.detach() @ value"),
        mistake("a T × T table, masked", _TABLE_SAYS,
                f"{_IN_A_TABLE}ids = torch.arange(len(lengths)).repeat_interleave(lengths)\n"
                "    mask = ids[:, None] == ids\n    mask = mask.tril() if is_causal else mask\n"
                f"    return {_SDPA}(*(x.transpose(0, 1) for x in (query, key, value)), mask).transpose(0, 1)",
                f"{_IN_A_TABLE}scaled, value, same, order = joined((query, key, value), lengths, is_causal)\n"
                "    scores = scaled.masked_fill(~(same & order), -torch.inf)\n"
                "    return (torch.softmax(scores, -1) @ value).transpose(0, 1)"),
        mistake("padded to the longest", _PADDED_SAYS,
                f"{_IN_A_TABLE}*tables, filled = padded((query, key, value), lengths)\n"
                "    mask = filled[:, None, None, :]\n"
                "    if is_causal:\n        mask = mask & torch.ones(len(filled[0]), len(filled[0])).tril().bool()\n"
                f"    return {_SDPA}(*tables, mask).transpose(1, 2)[filled]"),
    ),
    laws=(Law("a token's output is an average of its own document's values", _outside),),
    costs=(
        Cost("the largest tensor", largest_tensor, (128, 512), _all_equal, 1.3, _TABLE_SAYS, "a T × T table, masked"),
        Cost("the work", work, (128, 512), _all_equal, 1.3, _TABLE_SAYS, "a T × T table, masked"),
        Cost("the work", work, (32, 128), _one_long, 2.3, _PADDED_SAYS, "padded to the longest"),
    ),
    hints=(
        "Write down the first and the last token of each document for lengths 3, 0 and 2. Which sums are those?",
        "A document alone is ordinary attention of (n, H, d). Take it out of the row, and no mask is needed to keep "
        "the others away.",
        "`x.split(lengths.tolist())` cuts all three tensors along the tokens. Heads must come before tokens in a "
        "matrix product: transpose before it, and back behind it.",
        "With `is_causal` each document has a triangle of its own size. Join the outputs with `torch.cat` along the "
        "tokens; and look at the sum of the lengths before anything else.",
    ),
)
