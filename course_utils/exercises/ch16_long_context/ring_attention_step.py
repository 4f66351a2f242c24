"""Exercise: one block of keys more, by what its queries see of it."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake, without
from course_utils.checking.recipe import Function
from course_utils.distributed import ring_attention_step
from course_utils.exercises.shared.kinds import NOTHING, batch_mixed, through_numpy
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT
from course_utils.measure import count_flops
from torch import Tensor

RIGHT = """
def ring_attention_step(out, lse, query, key, value, query_positions, key_positions):
    default = 1 / math.sqrt(query.shape[-1])
    asking, asked = query_positions.unsqueeze(1), key_positions.unsqueeze(0)
    visible = asked <= asking
    rows = visible.any(1).nonzero().flatten()
    keys = visible.any(0).nonzero().flatten()
    q, k, v = query[:, :, rows], key[:, :, keys], value[:, :, keys]
    products = q @ k.mT
    scaled = products * default
    seen = visible[rows][:, keys]
    scores = scaled.masked_fill(~seen, -torch.inf)
    own_lse = scores.logsumexp(-1)
    lse_b = own_lse
    base = lse_b.masked_fill(lse_b == -torch.inf, 0.0)
    out_b = (scores - base.unsqueeze(-1)).exp() @ v
    out_a, lse_a = out[:, :, rows], lse[:, :, rows]
    together = torch.logaddexp(lse_a, lse_b)
    shift = together.masked_fill(together == -torch.inf, 0.0)
    share_a, share_b = (lse_a - shift).exp(), (lse_b - shift).exp()
    out_rows = share_a.unsqueeze(-1) * out_a + share_b.unsqueeze(-1) * out_b
    lse_rows = together
    new_out = out.index_copy(2, rows, out_rows)
    new_lse = lse.index_copy(2, rows, lse_rows)
    return new_out, new_lse
"""
_SIZES = {"B": 2, "H": 3, "d_k": 5, "d_v": 4}


def _made(
    queries: list[int], keys: list[int], *, before: list[int] | None = None, size: float = 1.0,
    dtype: str = "float64", apart: bool = False, low: bool = False, **sizes: int,
) -> Make:  # fmt: skip
    """Make a block at these positions; `before` are the positions of a block that was seen already."""
    B, H, d_k, d_v = ({**_SIZES, **sizes}[name] for name in ("B", "H", "d_k", "d_v"))

    def make(g: torch.Generator) -> tuple[Any, ...]:
        def drawn(length: int, width: int) -> Tensor:
            return normal(g, B, H, length, width, size=size if width == d_k else 1.0, dtype=getattr(torch, dtype))

        def keyed(length: int) -> Tensor:
            return -drawn(length, d_k).abs() if low else drawn(length, d_k)

        query, places = drawn(len(queries), d_k), torch.tensor(queries)
        query = query.abs() if low else query
        out = query.new_zeros(B, H, len(queries), d_v)
        lse = query.new_full(query.shape[:3], -torch.inf)
        if before is not None:
            old = keyed(len(before)), drawn(len(before), d_v)
            out, lse = ring_attention_step(out, lse, query, *old, places, torch.tensor(before))
        given: tuple[Tensor, ...] = (out, lse, query, keyed(len(keys)), drawn(len(keys), d_v))
        given = tuple(strided(x) for x in given) if apart else given
        return (*given, places, torch.tensor(keys))

    return make


def _wastes(fn: Function, *args: Any) -> bool:
    """Return whether more is multiplied than the queries that see some key and the keys that some query sees.

    There is room for an operator that gives no logsumexp, beside the scores from which it comes.
    """
    query, value, asking, asked = args[2], args[4], *args[5:]
    visible = asked <= asking.unsqueeze(-1)
    pairs = int(visible.any(1).sum() * visible.any(0).sum() * len(query) * query.shape[1])
    needed = 2 * pairs * int(query.shape[-1] + value.shape[-1])
    return count_flops(fn, *args) > 1.8 * needed


def _two_blocks(fn: Function, *args: Any) -> Any:
    """Take the block in two halves, the later one first."""
    state, query, (key, value), places, keys = args[:2], args[2], args[3:5], args[5], args[6]
    for part in (slice(len(keys) // 2, None), slice(0, len(keys) // 2)):
        state = fn(*state, query, key[:, :, part], value[:, :, part], places, keys[part])
    return tuple(state)


def _work(name: str, queries: list[int], keys: list[int]) -> Case:
    return case(f"the work of {name}", _made(queries, keys, before=[0]), run=_wastes, says=_MULTIPLIED)


def _runs(*starts: int, length: int) -> list[int]:
    return [start + i for start in starts for i in range(length)]


_MULTIPLIED = ("More is multiplied than the queries that see some key of the block, with the keys that some query "
               "sees. Which rows and which keys can be left out before the first product?")
_ALL = "rows = torch.arange(len(query_positions))\n"
_ALL_KEYS = "keys = torch.arange(len(key_positions))\n"
_EVEN = "share_a, share_b = torch.full_like(lse_a, 0.5), torch.full_like(lse_b, 0.5)"
_SEEN = "share_a, share_b = (lse_a > -torch.inf).to(lse_a), torch.ones_like(lse_b)"
_TOP = "top = scores.amax((0, 1, -2, -1), keepdim=True) if scores.numel() else torch.zeros(1, 1, 1, 1)\n"
_OWN = "\nbase = own_lse"
_SHARED = ("k, v = key[:, :, keys], value[:, :, keys]\n"
           "q, k, v = query[:, :, rows], k[{0}].expand_as(k), v[{0}].expand_as(v)")
_BARE_LSE = "lse_b = scores.exp().sum(-1).log()"
_BARE_OUT = "out_b = scores.exp() @ v / scores.exp().sum(-1, keepdim=True)"
_BARE = "bare = lse_a.exp() + lse_b.exp()\n"
_SMALL = (1e-5, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12)
_PLACES = "asking, asked = torch.arange(query.shape[2]).unsqueeze(1), torch.arange(key.shape[2]).unsqueeze(0)"

EXERCISE = exercise(
    ring_attention_step,
    right=RIGHT,
    asks="Add a block of keys and values to attention so far; positions say who sees whom.",
    minutes=30,
    difficulty=4,
    importance=5,
    parts=("out", "lse"),
    cases=(
        case("a first block, all of it seen", _made([4, 5, 6], [0, 1]), gradient="equal"),
        case("a second block, all of it seen", _made([7, 8, 9], [0, 1], before=[2, 3, 4]), gradient="equal"),
        case("its own block", _made([4, 5, 6, 7], [4, 5, 6, 7])),
        case("some queries see none of the block", _made([0, 1, 6, 7], [2, 3, 4, 5], before=[0, 1]), gradient="equal"),
        case("a block of the future, nothing before", _made([0, 1, 2], [5, 6])),
        case("a block of the future, something before", _made([3, 4], [5, 6, 7], before=[0, 1, 2])),
        case("two runs, the first with nothing to see", _made([0, 1, 6, 7], [2, 3, 4, 5])),
        case("zig-zag", _made([2, 3, 12, 13], [0, 1, 14, 15], before=[4, 5, 10, 11])),
        case("striped", _made([1, 4, 7, 10], [2, 5, 8, 11], before=[0, 3, 6, 9])),
        case("positions in any order", _made([7, 1, 4], [9, 3, 6, 2], before=[1, 8])),
        case("a key far away in the text", _made([1000], [0, 999, 1000, 1001], before=[3])),
        case("one query, one key", _made([3], [3], d_v=1)),
        case("every size is 3", _made([3, 4, 5], [2, 3, 4], B=3, H=3, d_k=3, d_v=3, before=[0])),
        case("scores of hundreds", _made([4, 5, 6], [4, 5, 6], size=20.0, before=[0, 1])),
        case("every score far below 0", _made([4, 5, 6], [4, 5, 6], size=20.0, low=True)),
        case("non-contiguous inputs", _made([4, 5, 6], [0, 5, 6, 7], apart=True, before=[0, 1])),
        case("a block in two halves", _made([4, 5, 6, 9], [1, 5, 6, 8]), run=_two_blocks),
        case("float32", _made([4, 5, 6], [3, 5, 6, 7], dtype="float32", before=[0, 1]), tolerance=1e-4),
        case("bfloat16", _made([4, 5, 6], [3, 5, 6, 7], dtype="bfloat16", before=[0, 1]), tolerance=0.2),
        _work("a block of the future", [0, 1, 2], [5, 6, 7, 8]),
        _work("a zig-zag block from a rank before", _runs(4, 12, length=4), _runs(0, 16, length=4)),
        _work("a zig-zag block from a rank behind", _runs(0, 16, length=4), _runs(4, 12, length=4)),
        _work("its own block", [4, 5, 6, 7], [4, 5, 6, 7]),
        _work("a block of which one key is seen", [0, 1, 6], [6, 7, 8, 9]),
    ),
    mistakes=(
        NOTHING,
        mistake("future blocks multiplied", "The result is right, but a block that no query sees, or the part of a "
                "block that nobody sees, was multiplied. Which rows and which keys can be left out before?",
                _ALL + _ALL_KEYS, "some = bool(visible.any())\nrows = torch.arange(len(query_positions) * some)\n"
                "keys = torch.arange(len(key_positions) * some)"),
        mistake("queries that see nothing multiplied", "The result is right, but queries that see no key of the block "
                "were multiplied with it. In a zig-zag that is half of them: how can they be taken out?", _ALL),
        mistake("keys that nobody sees multiplied", "The result is right, but keys that no query sees were "
                "multiplied. In a zig-zag that is half of a block: how can they be taken out?", _ALL_KEYS),
        mistake("NaN where nothing was seen", "-inf - (-inf) is NaN: a query that has seen no key so far, or sees none "
                "of this block, is to keep its row. Which rows need a step at all?",
                _ALL + _ALL_KEYS + "shift = together", _ALL + _ALL_KEYS + "out_b = torch.softmax(scores, -1) @ v",
                _ALL + "shift = together", _ALL + "out_b = torch.softmax(scores, -1) @ v",
                _ALL + _ALL_KEYS + "lse_rows = together\nout_b = torch.softmax(scores, -1) @ v\nshift = together",
                "logs = lse.index_copy(2, rows, lse_rows)\n"
                "new_out = out.index_copy(2, rows, out_rows) + (logs - logs).unsqueeze(-1)",
                *(f"together = {joined}" for joined in ("lse_a + (lse_b - lse_a).exp().log1p()",
                  "lse_a + F.softplus(lse_b - lse_a)", "lse_a - F.logsigmoid(lse_a - lse_b)"))),
        mistake("-inf replaced by a low number", "A query that sees no key of the block was given the mean of its "
                "values, since a low number stands where -inf should. Which queries keep their row?",
                *(f"{_ALL}{_ALL_KEYS}scores = scaled.masked_fill(~seen, {low})"
                  for low in ("-1e9", "-1e30", "-1e4", "-1e6", "torch.finfo(scaled.dtype).min")),
                f"{_ALL}scores = scaled.masked_fill(~seen, -1e9)"),
        mistake("the mask by place in the block", "Places inside the block were compared, not positions in the text. "
                "Where in the text is the block's first key?", _PLACES,
                "asking, asked = query_positions.unsqueeze(1), torch.arange(key.shape[2]).unsqueeze(0)",
                "places = key_positions.min() + torch.arange(key.shape[2])\n"
                "asking, asked = query_positions.unsqueeze(1), places.unsqueeze(0)"),
        mistake("a strict mask", "A query does not see the key at its own position. Is a key of position j seen from "
                "position j?", "visible = asked < asking"),
        mistake("the mask off by one", "A query sees the key that comes right after it. Is that key in its past?",
                "visible = asked <= asking + 1"),
        mistake("the mask the wrong way", "The past is hidden and the future seen. Which of two positions must be the "
                "larger?", "visible = asked >= asking", "visible = asked > asking"),
        mistake("no mask", "Every query sees the whole block. What do the positions say?",
                "visible = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool)",
                "scores = scaled"),
        mistake("the block seen whole or not at all", "The block was taken or left as a whole. Inside of it each query "
                "has a limit of its own.",
                "visible = (asked.min() <= asking.max()).expand(query.shape[2], key.shape[2])",
                "visible = (asked.max() <= asking.min()).expand(query.shape[2], key.shape[2])",
                "visible = (asked.min() <= asking).expand(query.shape[2], key.shape[2])",
                *(f"visible = ({test}).expand(query.shape[2], key.shape[2])" for test in (
                  "asked[0, 0] <= asking[0, 0]", "asked[0, -1] <= asking[0, 0]", "asked[0, 0] <= asking[-1, 0]",
                  "asked.min() <= asking.min()", "asked.max() <= asking", "asked <= asking.max()",
                  "asked <= asking.min()"))),
        mistake("the positions exchanged", "The positions of the queries were taken for those of the keys. Which of "
                "the two axes of the scores belongs to `query_positions`?",
                "asking, asked = key_positions.unsqueeze(1), query_positions.unsqueeze(0)"),
        mistake("the two averaged", "Both parts count alike. Which number says how much each of them saw?", _EVEN,
                _EVEN + "\nlse_rows = torch.logaddexp(lse_a, lse_b)\n"
                "out_rows = torch.where((lse_a == -torch.inf).unsqueeze(-1), out_b, (out_a + out_b) / 2)"),
        mistake("the two added", "The two outputs were added as they are. Each is an average already: what do the "
                "weights of the sum add up to?", _SEEN, "out_rows = out_a + out_b"),
        mistake("the weights swapped", "Each part got the weight of the other. Which of the two should count more "
                "where its logsumexp is the larger?",
                "share_a, share_b = (lse_b - shift).exp(), (lse_a - shift).exp()"),
        mistake("not divided by the total", "The weights of the two parts do not add up to 1. By what are they "
                "divided?", "shift = torch.maximum(lse_a, lse_b)", "share_a, share_b = lse_a.exp(), lse_b.exp()"),
        mistake("one of the two not shrunk", "One part has its weight, the other counts in full. When the total grows, "
                "which of the two shrinks?", "share_a, share_b = torch.ones_like(lse_a), (lse_b - shift).exp()",
                "share_a, share_b = (lse_a - shift).exp(), torch.ones_like(lse_b)"),
        mistake("weighted by lse itself", "The logsumexps were taken for weights as they are. They are logarithms: "
                "what can be added instead?", "share_a, share_b = lse_a / (lse_a + lse_b), lse_b / (lse_a + lse_b)",
                "safe = lse_a.masked_fill(lse_a == -torch.inf, 0.0)\n"
                "share_a, share_b = safe / (safe + lse_b), lse_b / (safe + lse_b)"),
        mistake("exponentials without a maximum", "Scores may be in the hundreds: exp(lse) is then infinite, or 0, and "
                "its logarithm no number. Only the difference of the two counts: how can it be taken first?",
                f"{_BARE}share_a, share_b = lse_a.exp() / bare, lse_b.exp() / bare\nlse_rows = bare.log()",
                f"{_BARE}share_a, share_b = lse_a.exp() / bare, lse_b.exp() / bare", f"{_BARE}together = bare.log()",
                f"{_BARE}lse_rows = bare.log()"),
        mistake("the part with the larger lse alone", "Only the part with the larger logsumexp is left. The other saw "
                "keys too.", "share_a, share_b = (lse_a >= lse_b).to(lse_a), (lse_a < lse_b).to(lse_a)"),
        mistake("the block alone", "What was seen before is gone. How does it come into the result?",
                "out_rows = out_b\nlse_rows = lse_b", "out_rows = out_b"),
        mistake("the block forgotten", "Nothing changed, though queries see keys of the block.",
                "new_out = out.clone()\nnew_lse = lse.clone()", "out_rows = out_a"),
        mistake("the two lse added", "The logsumexps were added, which multiplies the sums behind them. What has to be "
                "added?", "lse_rows = lse_a + lse_b", "lse_rows = lse_a.nan_to_num(neginf=0.0) + lse_b"),
        mistake("the larger lse", "The new lse is one of the two as it was. The sum of both is larger than either.",
                "lse_rows = torch.maximum(lse_a, lse_b)", "lse_rows = lse_b", "lse_rows = lse_a"),
        mistake("the sum instead of its logarithm", "lse came back as a sum of exponentials. What is its logarithm?",
                "lse_rows = together.exp()", f"lse_b = own_lse.exp(){_OWN}",
                "top = torch.maximum(lse_a, lse_b)\n"
                "lse_rows = top + (lse_a - top).exp() + (lse_b - top).exp()"),
        mistake("the maximum left out of lse", "The block's lse is the logarithm of a sum that was measured against "
                "its largest score, and that one is missing. What was subtracted has to come back.",
                f"lse_b = own_lse - scores.amax(-1){_OWN}", "lse_rows = together - scores.amax(-1)"),
        mistake("the largest score for lse", "The block's lse is the largest of its scores, or their mean. What do the "
                "exponentials of the others add?", f"lse_b = scores.amax(-1){_OWN}",
                f"lse_b = own_lse - math.log(scores.shape[-1]){_OWN}",
                f"lse_b = scaled.mean(-1){_OWN}"),
        mistake("epsilon in the logarithm", "Something small was added before a logarithm, so that lse is a little too "
                "large, or far too large where all scores are low. Which sum of exponentials can be 0 here?",
                *(f"lse_rows = (together.exp() + {eps}).log()" for eps in _SMALL),
                *(f"lse_b = (own_lse.exp() + {eps}).log(){_OWN}" for eps in _SMALL),
                *(f"lse_b = own_lse.exp().clamp(min={eps}).log(){_OWN}" for eps in _SMALL),
                *(f"top = scores.amax(-1)\nlse_b = top + ((own_lse - top).exp() + {eps}).log(){_OWN}"
                  for eps in _SMALL[:2])),
        mistake("lse in another unit", "out is right; lse has another base, or comes from scores without their scale.",
                "lse_rows = together / math.log(2)", "lse_rows = together * math.sqrt(query.shape[-1])",
                f"lse_b = products.masked_fill(~seen, -torch.inf).logsumexp(-1){_OWN}",
                f"lse_b = own_lse / math.log(2){_OWN}"),
        mistake("the block not normalised", "The block's own output was not divided by the sum of its weights, before "
                "it was joined. What do the weights of a row sum to in attention?",
                "out_b = (scores - scores.amax(-1, keepdim=True)).exp() @ v", "out_b = scores.exp() @ v"),
        mistake("softmax over the queries", "In the block, keys choose among queries: the columns of the weights sum "
                "to 1, not the rows. Who shares its attention out among whom?",
                "out_b = stable_softmax(scores.mT).mT @ v"),
        mistake("hidden keys with a score of 0", "Hidden keys got the score 0, whose exponential is 1. Which score has "
                "none?", "scores = scaled.masked_fill(~seen, 0.0)", "scores = scaled * seen"),
        mistake("fill that is not low enough", "Hidden keys got a low score, but visible ones may be lower still.",
                "scores = scaled.masked_fill(~seen, -100.0)", "scores = scaled.masked_fill(~seen, -10.0)"),
        mistake("no shift before exp", "Scores in the hundreds give NaN or -inf: their exponentials overflow, or all "
                "become 0. What does a stable softmax or logsumexp subtract first?", _BARE_LSE,
                f"{_BARE_LSE}{_OWN}", f"{_BARE_LSE}{_OWN}\nshift = together", _BARE_OUT,
                f"{_BARE_LSE}\n{_BARE_OUT}", f"{_BARE_LSE}\n{_BARE_OUT}\nshift = together"),
        mistake("one maximum for all rows", "The exponentials of all rows were measured against one maximum. A row "
                "whose scores are far below it is lost to rounding: over which axis is the maximum taken?",
                *(f"{_TOP}powers = (scores - top).exp()\nlse_b = powers.sum(-1).log() + top[..., 0]{rest}"
                  for rest in ("", _OWN, "\nout_b = powers @ v / powers.sum(-1, keepdim=True)")),
                *(f"{_TOP.replace('0, 1, ', '')}powers = (scores - top).exp()\n"
                  f"lse_b = powers.sum(-1).log() + top[..., 0]{rest}"
                  for rest in ("", _OWN, "\nout_b = powers @ v / powers.sum(-1, keepdim=True)"))),
        mistake("positions taken as ascending", "Places were cut off at the last query's or from the first key's, as "
                "if positions ascended. They come in any order.",
                "keys = torch.arange(int((asked <= asking[-1]).sum()))",
                "rows = torch.arange(int((asking < asked[0, 0]).sum()), len(query_positions))",
                "keys = torch.arange(int((asked <= asking.max()).sum()))",
                "rows = torch.arange(int((asking < asked.min()).sum()), len(query_positions))",
                "keys = torch.arange(int((asked <= asking.max()).sum()))\n"
                "rows = torch.arange(int((asking < asked.min()).sum()), len(query_positions))",
                "keys = torch.arange(int((asked <= asking[-1]).sum()))\n"
                "rows = torch.arange(int((asking < asked[0, 0]).sum()), len(query_positions))",
                "before = None if asked[0, 0] <= asking[-1, 0] else 0\n"
                "rows = visible.any(1).nonzero().flatten()[:before]"),
        mistake("rows put back in the wrong place", "The rows that were computed came back at the front. Which "
                "queries were they?", "new_out = torch.cat([out_rows, out[:, :, len(rows) :]], 2)\n"
                "new_lse = torch.cat([lse_rows, lse[:, :, len(rows) :]], 2)"),
        mistake("added to the old rows", "The new rows were added to what stood in their place. They hold it already: "
                "what becomes of the old ones?", "new_out = out.index_add(2, rows, out_rows)"),
        mistake("rows that see nothing lost", "Queries that see none of the block lost what they had. They keep their "
                "row.", "new_out = torch.zeros_like(out).index_copy(2, rows, out_rows)\n"
                "new_lse = torch.full_like(lse, -torch.inf).index_copy(2, rows, lse_rows)",
                "new_out = torch.zeros_like(out).index_copy(2, rows, out_rows)"),
        mistake("only the rows that were computed", "Queries that see none of the block are missing from the result.",
                "return out_rows, lse_rows"),
        *without(DEFAULT, "scale after softmax"),
        mistake("written into the parts", "out or lse was overwritten. Its owner may still need it: which line writes "
                "in place?", "new_out = out.index_copy_(2, rows, out_rows)",
                "return out.copy_(new_out), lse.copy_(new_lse)"),
        batch_mixed(_SHARED.format(":1")),
        mistake("one head's keys for all", "All heads were given the keys, or the values, of one head. Each has its "
                "own.", _SHARED.format(":, :1"),
                "v = value[:, :, keys]\nq, k, v = query[:, :, rows], key[:, :, keys], v[:, :1].expand_as(v)"),
        mistake("lse not returned", "Only one of the two results came back. What does the next block need besides "
                "`out`?", "return new_out", "return (new_out,)", "return new_lse"),
        mistake("an axis of size 1 left in", "There is an axis of size 1 too many in lse. Which operation ends with a "
                "number for each query, and not with a vector of one?", "return new_out, new_lse.unsqueeze(-1)"),
        mistake("lse and out exchanged", "The two results came in the other order. Which of them is asked for first?",
                "return new_lse, new_out"),
        mistake("cut from the gradient", "The values are right, but no gradient flows through them, or none through "
                "the weights.", "return new_out.detach(), new_lse.detach()", "return new_out, new_lse.detach()",
                "share_a, share_b = (lse_a - shift).exp().detach(), (lse_b - shift).exp().detach()"),
        through_numpy("out, lse, query, key, value = (torch.from_numpy(x.detach().numpy()) for x in (out, lse, query, "
                      "key, value))\ndefault = 1 / math.sqrt(query.shape[-1])"),
        lower_precision(ring_attention_step, "given = out.dtype, lse.dtype\nout, lse, query, key, value = (x.float() "
                        "for x in (out, lse, query, key, value))\ndefault = 1 / math.sqrt(query.shape[-1])\n"
                        "return new_out.to(given[0]), new_lse.to(given[1])"),
    ),
    hints=(
        "Which queries see any key of this block, and which keys are seen by any query? The others need not be "
        "multiplied at all.",
        "Attention over the visible part of the block gives an output and a logsumexp; then two partial results are "
        "made one, as in chapter 09: `merge_partials` does it, for rows that see something.",
        "Rows that see nothing keep what they had: put the new rows back by their indices, into a copy.",
    ),
)
