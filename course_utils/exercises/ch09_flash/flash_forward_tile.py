"""Exercise: the inner loop's body of the flash kernel, in Triton's language."""

from typing import Any

import torch
from course_utils.attention.tiled.flash import kernels as flash_kernels
from course_utils.attention.tiled.flash.launch import Tiling, Tilings, flash_forward
from course_utils.checking.exercise import Case, Law, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.triton_interpreter import interpreted, lacking, tl
from torch import Tensor

__all__ = ["EXERCISE", "tl"]  # the lines below speak of tl

LOG2_E = 1.4426950408889634

RIGHT = """
def flash_forward_tile(m, l, acc, q, k, v, columns, limit, scale_log2):
    products = tl.dot(q, tl.trans(k))
    scaled = products * scale_log2
    hides = limit is not None
    if hides:
        seen = columns[None, :] < limit[:, None]
    scores = tl.where(seen, scaled, float("-inf")) if hides else scaled
    top = tl.max(scores, 1)
    m_new = tl.maximum(m, top)
    powers = tl.exp2(scores - m_new[:, None])
    correction = tl.exp2(m - m_new)
    l_new = l * correction + tl.sum(powers, 1)
    acc_new = acc * correction[:, None] + tl.dot(powers.to(v.dtype), v)
    state = m_new, l_new, acc_new
    return state
"""


def _case(
    name: str,
    queries: int,
    keys: int,
    d: int = 16,
    *,
    blocks: tuple[int, int] = (16, 16),
    is_causal: bool = False,
    levels: tuple[float, float] | None = None,
    dtype: str = "float32",
    tolerance: float | None = None,
) -> Case:
    """Return a case of one head, in which the real kernel visits tiles of the sizes in `blocks`.

    With `levels`, the scores are near the first of them at the first key, near the second at the last one.
    """
    cut = Tilings(*[Tiling(*blocks, 1, 1)] * 3)

    def run(fn: Function, query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Any:
        tile, scale = _keeping_its_kind(interpreted(fn)), query.shape[-1] ** -0.5
        out, lse = flash_forward(query, key, value, scale, is_causal, cut, tile)
        return out, lse / LOG2_E

    return case(name, _made(queries, keys, d, is_causal, levels, dtype), run=run, tolerance=tolerance)


def _made(queries: int, keys: int, d: int, is_causal: bool, levels: tuple[float, float] | None, dtype: str) -> Make:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        shapes = ((queries, d), (keys, d), (keys, d))
        query, key, value = (normal(g, 1, 1, *shape, dtype=getattr(torch, dtype)) for shape in shapes)
        if levels:
            query[..., 0], key[..., 0] = 4.0, torch.linspace(*levels, keys)
        return query, key, value, is_causal

    return make


def _keeping_its_kind(tile: Function) -> Function:
    """Ask of a tile what the compiler asks of a loop: that what it carries keeps its type.

    Where there is no limit there are no columns either, so that an answer may ask for the one or the other.
    """

    def checked(*given: Any) -> tuple[Any, ...]:
        *state, columns, limit, scale = given
        given = *state, None if limit is None else columns, limit, scale
        made = tile(*given)
        if not isinstance(made, tuple | list) or len(made) != 3:
            raise TypeError("the function must return m, l and acc")
        for name, before, now in zip(("m", "l", "acc"), given, made, strict=False):
            if getattr(now, "type", None) != before.type:
                kind = getattr(now, "type", type(now).__name__)
                raise TypeError(f"{name} must stay {before.type} from tile to tile, got {kind}")
        return tuple(made)

    return checked


def _lacks() -> str | None:
    """Say what this machine lacks, in the course's own words."""
    if lacking() is None:
        return None
    return (
        "This exercise needs Triton, which is not installed here. On Linux the course brings it: close JupyterLab and "
        "run `make learn` again. For other systems there is no Triton; nothing else in this chapter needs it."
    )


def _outside_the_values(args: tuple[Any, ...], made: tuple[Tensor, Tensor]) -> str | None:
    """An average never leaves the range of what is averaged."""
    out, value = made[0].float(), args[2].float()
    low, high = value.amin(-2, keepdim=True), value.amax(-2, keepdim=True)
    room = 0.05 * (high - low) + 1e-6
    wrong = (~((out >= low - room) & (out <= high + room))).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return (
        f"The kernel's output at index {list(where)} is {out[where].item():.4g}; the values are "
        f"between {low[..., 0, where[-1]].item():.4g} and {high[..., 0, where[-1]].item():.4g}."
    )


_SEEN_POWERS = "(tl.where(seen, powers, 0.0) if hides else powers)"

MASKS = (
    mistake("always a limit expected", "For a tile that all its queries see whole, `columns` and `limit` are None, and "
            "the function treats one of them as a tile of numbers. The fast half of the kernel's loop has no "
            "comparison at all.", "hides = True"),
    mistake("limit ignored", "Every key of the tile counts, also those from `limit` on: the future, or the zeros that "
            "fill the tile after the last key. A score of 0 is not a weight of 0.", "hides = False",
            "scores = scaled\nif hides:\n"
            "    v = tl.where((columns < tl.max(limit, 0))[:, None], v, 0.0).to(v.dtype)\n"
            "acc_new = acc * correction[:, None] + tl.dot(powers.to(v.dtype), v)"),
    mistake("one key too many", "Each row sees one key beyond its limit. limit is the number of keys that it sees: "
            "what is the position of the last of them?", "seen = columns[None, :] <= limit[:, None]"),
    mistake("one key too few", "Each row misses the last key that it may see; under a causal mask that is its own.",
            "seen = columns[None, :] + 1 < limit[:, None]"),
    mistake("the visible keys hidden", "What may be seen is hidden, and the rest is kept. `tl.where(condition, a, b)` "
            "gives a where the condition holds.",
            "seen = columns[None, :] >= limit[:, None]", "seen = columns[None, :] > limit[:, None]"),
    mistake("the tail hidden, the future not", "One limit is used for all rows of the tile, so under a causal mask the "
            "earlier rows see their future. `limit` has a number for each row.",
            "seen = (columns < tl.max(limit, 0))[None, :]", "seen = (columns < tl.min(limit, 0))[None, :]"),
    mistake("positions counted from the tile's start", "The keys of each tile are counted from 0, and limit counts "
            "from the first key of all. What does `columns` hold?",
            "seen = tl.arange(0, columns.shape[0])[None, :] < limit[:, None]"),
    mistake("queries and keys swapped in the limit", "The condition has its axes swapped: positions of keys go down "
            "the rows, limits of queries along them. Scores are (queries, keys).",
            "seen = columns[:, None] < limit[None, :]"),
    mistake("a ragged tail of keys dropped", "A tile that reaches over a row's limit is left out as a whole, and the "
            "keys before the limit with it. Some of its keys still count.",
            "seen = (tl.max(columns, 0) < limit)[:, None] & (columns >= 0)[None, :]"),
    mistake("scores multiplied by the mask", "Hidden keys get the score 0, which is a score like any other. What score "
            "has the power 0?", "scores = tl.where(seen, scaled, 0.0) if hides else scaled",
            "scores = tl.where(seen, scaled, -1.0) if hides else scaled",
            "scores = tl.where(seen, scaled, -10.0) if hides else scaled"),
    mistake("fill that is not low enough", "Hidden keys get a low score, but a visible one may be lower still, and "
            "then they count. Which number is below all others?",
            "scores = tl.where(seen, scaled, -1e4) if hides else scaled",
            "scores = tl.where(seen, scaled, -1e3) if hides else scaled",
            "scores = (tl.where(seen, products, -1e4) if hides else products) * scale_log2"),
    mistake("hidden keys still set the maximum", "Hidden keys get no weight, but the maximum was taken over them too. "
            "If the best of all keys is hidden, the powers of the visible ones vanish. When must the limit act?",
            "scores = scaled\nbare = tl.exp2(scores - m_new[:, None])\n"
            "powers = tl.where(seen, bare, 0.0) if hides else bare"),
    mistake("the limit on one sum of the two", "Hidden keys are kept out of one of the two sums, l or acc, and counted "
            "in the other. The output is acc / l: both must run over the same keys.",
            f"scores = scaled\nacc_new = acc * correction[:, None] + tl.dot({_SEEN_POWERS}.to(v.dtype), v)",
            f"scores = scaled\nl_new = l * correction + tl.sum({_SEEN_POWERS}, 1)"),
)

_SHARES = "tl.dot((powers / tl.sum(powers, 1)[:, None]).to(v.dtype), v)"
_OWN = f"acc_new = acc + {_SHARES}"

SOFTMAXES = (
    mistake("no scale", "The weights are those of unscaled scores. Which argument is the factor for them?",
            "scaled = products", f"scaled = products * {LOG2_E}"),
    mistake("scale applied twice", "The scores are scaled twice. The query comes unscaled: once is enough.",
            "scaled = products * scale_log2 * scale_log2"),
    mistake("another scale", "The scores are multiplied by something other than scale_log2, which already is "
            "log2(e)/√d: use it as it is.", "scaled = products / scale_log2",
            "scaled = products * tl.sqrt(scale_log2)", f"scaled = products * scale_log2 * scale_log2 / {LOG2_E}"),
    mistake("powers of e where the scale is for powers of 2", "The weights are too sharp: e was raised to scores that "
            "were scaled for powers of 2. Which of the two factors, log2(e) or 1, belongs to `tl.exp`?",
            "powers = tl.exp(scores - m_new[:, None])\ncorrection = tl.exp(m - m_new)",
            "powers = tl.exp(scores - m_new[:, None])", "correction = tl.exp(m - m_new)"),
    mistake("powers of 2 where the scale is for powers of e", "The weights are too flat: 2 was raised to scores that "
            "were scaled for powers of e. The factor log2(e) is in scale_log2: was it taken out again?",
            f"scaled = products * (scale_log2 / {LOG2_E})"),
    mistake("the keys not transposed", "The tile of keys was multiplied as it is. A score is a row of q times a row of "
            "k: which of the two tiles has to be transposed?",
            "products = tl.dot(q, k)", "products = tl.dot(k, tl.trans(q))"),
    mistake("operands of two types", "The powers are in 32 bits and v is in 16, and `tl.dot` multiplies no two types. "
            "It stops where the inputs are not in 32 bits: what type should the weights have for this product?",
            "acc_new = acc * correction[:, None] + tl.dot(powers, v)"),
    mistake("in lower precision", "Digits are lost: something was rounded to 16 bits that comes in 32, or before it "
            "was multiplied. Which type do the inputs have, and which number is rounded last?",
            "acc_new = acc * correction[:, None] + tl.dot(powers.to(tl.float16), v.to(tl.float16))",
            "products = tl.dot(q.to(tl.float16), tl.trans(k).to(tl.float16))",
            "products = tl.dot((q * scale_log2).to(q.dtype), tl.trans(k))\nscaled = products"),
    mistake("m of unscaled scores", "out is right. m was kept of scores without their scale, so lse, which is made of "
            "m and l, is that of no scores at all. Of which scores must both be?",
            "scaled = products\npowers = tl.exp2((scores - m_new[:, None]) * scale_log2)\n"
            "correction = tl.exp2((m - m_new) * scale_log2)"),
    mistake("one tile used for another", "One of the three tiles is used for another. Scores come from q and k, and "
            "what is averaged is v.", "acc_new = acc * correction[:, None] + tl.dot(powers.to(k.dtype), k)",
            "products = tl.dot(q, tl.trans(q))", "products = tl.dot(k, tl.trans(k))"),
    mistake("l is not a sum", "l does not hold the sum of the weights, so acc / l is not an average. What is to be "
            "divided by at the end?", "l_new = l * correction + tl.max(powers, 1)",
            "l_new = l * correction + tl.sum(powers, 1) / 16", "l_new = l * correction + 1.0"),
    mistake("reduced over the queries", "Maximum and sum run down the columns, over the queries. Each query has its "
            "own softmax: over which axis of (queries, keys)?",
            "m_new = tl.maximum(m, tl.max(scores, 0))\nl_new = l * correction + tl.sum(powers, 0)",
            "m_new = tl.maximum(m, tl.max(scores, 0))", "l_new = l * correction + tl.sum(powers, 0)"),
    mistake("no maximum subtracted", "No maximum is taken out: powers of large scores overflow, and those of very low "
            "ones all vanish. What may be subtracted from all scores of a row?",
            "m_new = tl.zeros_like(m)\ncorrection = m_new + 1.0"),
    mistake("one maximum for all rows", "All rows of the tile share one maximum. It is right while the rows are alike; "
            "a row far below it loses all its weights. Which axis must stay?", "m_new = tl.maximum(m, tl.max(top, 0))"),
    mistake("the maximum of unscaled scores", "The maximum is that of the scores before the scale, the powers are of "
            "those after it. While scores are small nothing shows; then the powers all vanish. Whose maximum is it?",
            "m_new = tl.maximum(m, top / scale_log2)"),
    mistake("a softmax in every tile, added", "Each tile has a softmax of its own, and the results are added: with n "
            "tiles the weights of a row sum to n. What must a tile know of the others before it may divide?",
            f"m_new = top\nl_new = l * 0.0 + 1.0\n{_OWN}", f"l_new = l * 0.0 + 1.0\n{_OWN}", _OWN,
            f"l_new = l + 1.0\n{_OWN}\nstate = m, l_new, acc_new", f"l_new = l + 1.0\n{_OWN}",
            f"acc_new = acc * correction[:, None] + {_SHARES}"),
    mistake("acc normalised", "acc comes out divided by l, and the kernel divides again at its end. In between acc is "
            "a plain sum: who divides, and how often?", "state = m_new, l_new, acc_new / l_new[:, None]"),
)

_L_AFTER = "l_new = (l + tl.sum(powers, 1)) * correction"
_ACC_AFTER = "acc_new = (acc + tl.dot(powers.to(v.dtype), v)) * correction[:, None]"
_L_NEW = "l_new = l + tl.sum(powers, 1) * correction"
_ACC_NEW = "acc_new = acc + tl.dot((powers * correction[:, None]).to(v.dtype), v)"
_L_KEPT = "l_new = l + tl.sum(powers, 1)"
_ACC_KEPT = "acc_new = acc + tl.dot(powers.to(v.dtype), v)"

WALKS = (
    mistake("the old state returned", "m, l and acc go out as they came in: nothing of this tile is in them, and the "
            "kernel divides 0 by 0 at its end.", "state = m, l, acc"),
    mistake("nothing rescaled", "What was gathered under an older maximum is kept as it is. When the maximum moves, "
            "what are the old sum and the old output worth?", f"{_L_KEPT}\n{_ACC_KEPT}"),
    mistake("acc not rescaled", "l is brought to the new maximum, acc is not. Both are sums of the same powers: what "
            "holds for one holds for the other.", _ACC_KEPT),
    mistake("l not rescaled", "acc is brought to the new maximum, l is not. Both are sums of the same powers: what "
            "holds for one holds for the other.", _L_KEPT),
    mistake("the factor on the new terms", "The new tile is shrunk along with the old ones. Its powers were taken with "
            "the new maximum already: which part is still measured against the old one?",
            f"{_L_AFTER}\n{_ACC_AFTER}", _ACC_AFTER, _L_AFTER, f"{_L_NEW}\n{_ACC_NEW}", _ACC_NEW, _L_NEW),
    mistake("no number from the start", "Everything is NaN from the first tile on. m begins at -inf and l at 0: what "
            "is the factor on the old state then? It must be 0, and never above 1: which maximum is subtracted from "
            "which?", "correction = tl.exp2(m_new - m)", "m_new = tl.minimum(m, tl.min(scores, 1))",
            "m_new = tl.minimum(m, top)"),
    mistake("the factor applied twice", "The old state is shrunk twice in a tile. Once for the new maximum is enough.",
            "correction = tl.exp2(m - m_new) * tl.exp2(m - m_new)"),
    mistake("the factor along the width", "acc is shrunk column by column, with the factors of the queries. acc is "
            "(queries, d): is the factor a column or a row?",
            "acc_new = acc * correction[None, :] + tl.dot(powers.to(v.dtype), v)"),
    mistake("the maximum of the tile alone", "The new maximum is that of this tile alone, and forgets the tiles "
            "before. Where scores fall from tile to tile the factor overflows; where a row sees nothing it is -inf.",
            "m_new = top",
            "m_new = top\nshift = tl.where(top == float('-inf'), 0.0, top)\n"
            "powers = tl.exp2(scores - shift[:, None])\ncorrection = tl.exp2(m - shift)"),
    mistake("the weights under the tile's own maximum", "The old state is brought to the new maximum, the new tile's "
            "powers are measured against the maximum of the tile. All must be measured against one and the same.",
            "powers = tl.exp2(scores - top[:, None])"),
    mistake("a maximum of at least 0", "The maximum is at least 0. Where all scores of a row are far below, its powers "
            "all vanish and the row is 0 divided by 0.", "m_new = tl.maximum(tl.maximum(m, 0.0), top)"),
    mistake("m stays the old one", "l and acc are measured against the new maximum, and the old one is returned with "
            "them. What will the next tile take them to be measured against?", "state = m, l_new, acc_new"),
    mistake("the earlier tiles forgotten", "Only the last tile is left in the result. What is there already is to be "
            "kept, under the new maximum.", "l_new = tl.sum(powers, 1)\nacc_new = tl.dot(powers.to(v.dtype), v)",
            "acc_new = tl.dot(powers.to(v.dtype), v)", "l_new = tl.sum(powers, 1)"),
    mistake("m and l swapped", "Maximum and sum come back in the wrong order. The order is m, l, acc.",
            "state = l_new, m_new, acc_new"),
    mistake("weights transposed", "The weights were transposed before they met the values. They are (queries, keys), "
            "and v is (keys, d): what do two tiles need to be multiplied?",
            "acc_new = acc * correction[:, None] + tl.dot(tl.trans(powers).to(v.dtype), v)"),
)

EXERCISE = exercise(
    getattr(flash_kernels.flash_forward_tile, "fn", flash_kernels.flash_forward_tile),
    right=RIGHT,
    asks="Add one tile of keys and values to what a tile of queries has seen, in a kernel.",
    minutes=20,
    difficulty=4,
    importance=4,
    inputs=("query", "key", "value", "is_causal"),
    parts=("out = acc / l", "lse from m and l"),
    callable_apart=False,
    lacks=_lacks,
    cases=(
        _case("one tile of 16 keys, seen whole", 16, 16),
        _case("48 keys in three tiles", 16, 48),
        _case("tiles of 16 queries and 32 keys", 16, 64, 64, blocks=(16, 32)),
        _case("causal: 32 queries and keys", 32, 32, is_causal=True),
        _case("causal: tiles of 32 queries and 16 keys", 40, 40, 32, blocks=(32, 16), is_causal=True),
        _case("40 keys in tiles of 16: a ragged tail", 16, 40),
        _case("causal: more queries than keys", 30, 11, is_causal=True),
        _case("scores that rise by hundreds", 32, 48, blocks=(32, 16), levels=(0.0, 400.0), tolerance=2e-3),
        _case("scores that fall by hundreds", 32, 48, blocks=(32, 16), levels=(0.0, -400.0), tolerance=2e-3),
        _case("scores near -9000, and a ragged tail", 32, 40, blocks=(32, 16), levels=(-9000.0, -9001.0),
              tolerance=2e-2),
        _case("causal: hidden keys with by far the best scores", 32, 32, blocks=(32, 16), levels=(0.0, 3000.0),
              is_causal=True, tolerance=2e-2),
        _case("float16", 16, 40, 32, dtype="float16"),
    ),
    mistakes=(*MASKS, *SOFTMAXES, *WALKS),
    laws=(Law("the output is an average of values", _outside_the_values),),
    hints=(
        "It is `online_softmax_step` of this chapter, in other words: `tl.max(x, 1)` and "
        "`tl.sum(x, 1)` reduce the rows of a tile, `x[:, None]` makes a column of a vector.",
        "Begin with the scores: `tl.dot` multiplies two tiles, and one of them has to be transposed "
        "with `tl.trans`. The scale holds log2(e), so `tl.exp2` is the right exponential afterwards.",
        "Where there is a limit, `tl.where(condition, scores, -inf)` hides what is beyond it. "
        "The condition is a table: a row of columns against a column of limits.",
        "The new maximum is that of the old one and of the tile. What was gathered under the old "
        "maximum has to be multiplied by 2 to the power of old minus new: both l and acc.",
        "In order: scores, limit, new maximum, weights, the factor for what is there, the sum, the "
        "output (weights in v's dtype for `tl.dot`); return the three.",
    ),
)
