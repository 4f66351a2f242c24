"""Exercise: the whole of multi-head attention."""

import contextlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import merge_heads, multi_head_attention, scaled_dot_product_attention, split_heads
from course_utils.checking.compare import equal
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided, visible
from course_utils.checking.laws import is_other
from course_utils.checking.mistakes import mistake, only, without
from course_utils.exercises.shared.heads import AMONG, MASKS, MERGE, MIX, SPLIT, SPLIT_SHAPES, joined
from course_utils.exercises.shared.kinds import other_kinds
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL, EMPTY_ROWS, MASK, ZEROED
from course_utils.exercises.shared.projections import projections
from course_utils.exercises.shared.scale import DEFAULT, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX
from course_utils.exercises.shared.values import COMPARED, VALUES
from torch import Tensor

RIGHT = """
def multi_head_attention(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    query = query @ W_q
    key = key @ W_k
    value = value @ W_v
    parts = []
    for at, x in enumerate((query, key, value)):
        cut = x.reshape(*x.shape[:2], num_heads, -1)
        heads = cut.transpose(1, 2)
        parts.append(heads)
    query, key, value = parts
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = query @ key.mT
    scaled = products * factor
    scores, allowed = scaled, torch.ones(1, 1, dtype=torch.bool)
    if attn_mask is not None:
        allowed = attn_mask
        scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    out = weights @ value
    turned = out.transpose(1, 2)
    merged = turned.flatten(-2)
    mixed = merged @ W_o
    return mixed
"""

_INSIDE = """
def multi_head_attention(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    layer = torch.nn.MultiheadAttention(len(W_q), num_heads, bias=False, batch_first=True, dtype=query.dtype)
    layer.in_proj_weight.data, layer.out_proj.weight.data = torch.cat([W_q, W_k, W_v], 1).mT, W_o.mT
    if attn_mask is not None:
        attn_mask = ~attn_mask.expand(len(query), num_heads, query.shape[1], key.shape[1]).flatten(0, 1)
    return layer(query, key, value, attn_mask=attn_mask, need_weights=False)[0]
"""
_WHOLE = {"multi_head_attention_forward", "_native_multi_head_attention"}
# Making an `nn.Linear` draws numbers too, which need not reach the output.
_LAYERS = {"kaiming_uniform_", "xavier_uniform_", "uniform_"}

_THREE = ("query", "key", "value")
_SOME = [some for n in (1, 2, 3) for some in itertools.combinations(_THREE, n)]
_LAST_RESHAPED = "\nmixed = merged @ W_o.reshape(num_heads, len(W_o), -1).mT.reshape(W_o.shape)"


def _made_by(line: str, some: Iterable[str] = _THREE) -> str:
    """Write a line for each of some streams, with {0} for its name and {1} for that of its matrix."""
    return "\n".join(line.format(name, f"W_{name[0]}") for name in some)


def _own_blocks(some: Iterable[str]) -> str:
    """Project some streams by the blocks on the diagonal of their matrices alone."""
    head = "head = torch.arange(len(W_o)) * num_heads // len(W_o)\n"
    return head + _made_by("{0} = {0} @ ({1} * (head == head.unsqueeze(-1)))", some)


def _reshaped(some: Iterable[str]) -> str:
    return _made_by("{0} = {0} @ torch.cat((*{1}.reshape(num_heads, len({1}), -1),), 1)", some)


def _any_of(lines: Iterable[str]) -> Callable[[tuple[Any, ...], Tensor], bool]:
    """Return whether one of these versions turns the arguments into a result."""
    versions = tuple(lines)

    def explains(args: tuple[Any, ...], got: Tensor) -> bool:
        for version in versions:
            with contextlib.suppress(RuntimeError):  # sizes that do not fit
                if equal(got, EXERCISE.recipe.function(version)(*args)):
                    return True
        return False

    return explains


def _cut_so(heads: str, *also: str) -> Callable[[tuple[Any, ...], Tensor], bool]:
    """Return whether some of the three streams were cut into `heads`, and the rest as they should be."""
    some = [at for n in (1, 2) for at in itertools.combinations(range(3), n)]
    return _any_of((*(f"heads = {heads} if at in {at} else cut.transpose(1, 2)" for at in some), *also))


def _streams(order: Iterable[int]) -> str:
    """Project other streams than query, key and value, given by their numbers."""
    names = [_THREE[i] for i in order]
    return f"value, key, query = {', '.join(names[::-1])}\nquery = query @ W_q"


def _made(
    batch: int = 2,
    num_heads: int = 3,
    queries: int = 5,
    keys: int = 7,
    d_k: int = 4,
    size: float = 1.0,
    dtype: str = "float64",
    mask: tuple[int, ...] = (),
) -> Make:
    """Return a maker of three streams, four matrices and a number of heads, and of a mask if it has a shape.

    The matrices keep the size of what they are applied to, so that the softmax does not saturate: a saturated one would
    hide a missing scale.
    """

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind, d_model = getattr(torch, dtype), num_heads * d_k
        query = normal(g, batch, queries, d_model, size=size, dtype=kind)
        key = normal(g, batch, keys, d_model, size=size, dtype=kind)
        value = normal(g, batch, keys, d_model, dtype=kind)
        weights = [normal(g, d_model, d_model, size=d_model**-0.5, dtype=kind) for _ in range(4)]
        return query, key, value, *weights, num_heads, *([visible(g, *mask)] if mask else [])

    return make


def _self_attention(g: torch.Generator) -> tuple[Any, ...]:
    query, _, _, *rest = _made(queries=6)(g)
    return query, query, query, *rest


def _pushed(visible: float, hidden: float) -> Make:
    """Return a maker of scores of about 20,000 times these numbers where the mask allows and forbids."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key, value, *weights, num_heads = _made(queries=3, keys=6)(g)
        mask = torch.tensor([True, False, True, True, False, False])
        query, key = query.abs() + 1.0, key + 1e4 * torch.where(mask, visible, hidden).double().unsqueeze(-1)
        eye = torch.eye(query.shape[-1], dtype=query.dtype)
        return query, key, value, eye, eye.clone(), *weights[2:], num_heads, mask.expand(3, 6).clone()

    return make


def _emptied(keys: int, mask: tuple[int, ...], *rows: Any) -> Make:
    """Return a maker whose mask has only False at these places."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        allowed = visible(g, *mask)
        for row in rows:
            allowed[row] = False
        return *_made(keys=keys)(g), allowed

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    *tensors, num_heads = _made()(g)
    return *(strided(tensor) for tensor in tensors), num_heads


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    if args[1].shape[1] < 2 or not is_other(got, multi_head_attention(*args)):
        return False
    parts = [split_heads(x @ W, args[7]) for x, W in zip(args[:3], args[3:6], strict=True)]
    mask = args[8] if len(args) > 8 else None

    def result(scale: float) -> Tensor:
        query, key, value = parts
        return merge_heads(scaled_dot_product_attention(query, key, value, mask, scale)) @ args[6]

    return some_scale(result, got.detach())


def _empty_but_not_zero(args: tuple[Any, ...], out: Tensor) -> str | None:
    """Where no head may see a key there is nothing to hand over."""
    if len(args) < 9:
        return None
    mask = args[8].expand(len(args[0]), args[7], args[0].shape[1], args[1].shape[1])
    wrong = (~mask.any(-1).any(1) & (out != 0).any(-1)).nonzero()
    if not len(wrong):
        return None
    return f"At {wrong[0].tolist()} no head may see a key, but the output is not zero there."


# The rest of families of which the list of mistakes holds some.
_FAMILIES = {
    "cut without a transpose": _cut_so("x.reshape(x.shape[0], num_heads, x.shape[1], -1)"),
    "heads interleaved": _cut_so(
        "x.reshape(*x.shape[:2], -1, num_heads).permute(0, 3, 1, 2)",
        "cut = x.reshape(*x.shape[:2], -1, num_heads).mT\nturned = out.permute(0, 2, 3, 1)",
    ),
    "a projection left out": _any_of(_made_by("{0} = {0}", some) + "\nmixed = merged" for some in _SOME),
    "matrices transposed": _any_of(
        _made_by("{0} = {0} @ {1}.mT", some) + "\nmixed = merged @ W_o.mT" for some in _SOME
    ),
}
# A version that comes early is tried early, where two mistakes are looked for.
_EARLY = (mistake("matrices transposed", "", _made_by("{0} = {0} @ {1}.mT") + "\nmixed = merged @ W_o.mT"),)
_MORE = (
    mistake("heads averaged", "", "mixed = merged @ W_o / num_heads"),
    mistake("cut off from the gradient", "The values are right, but a gradient does not flow back to every input. What "
            "cuts the thread: `.detach()`, `.data`, numpy, `torch.no_grad()`, or a fresh tensor made of numbers?",
            "mixed = (merged @ W_o).detach()", "out = weights.detach() @ value", "out = weights @ value.detach()",
            "query, key, value = (part.detach() for part in parts)", "mixed = merged @ W_o.detach()",
            "mixed = merged.detach() @ W_o"),
)
_ALSO = {
    "matrices exchanged": tuple(f"{name} = {name} @ W_o\nmixed = merged @ W_{name[0]}" for name in _THREE),
    "normalised": (
        _made_by("{0} = F.layer_norm({0} @ {1}, {0}.shape[-1:])"),
        "query, key, value = (*(F.layer_norm(x, x.shape[-1:]) for x in parts[:2]), parts[2])",
        "stream = query\nquery = query @ W_q\nmixed = F.layer_norm(merged @ W_o + stream, W_o.shape[1:])",
        "mixed = F.layer_norm(merged @ W_o, W_o.shape[1:])",
    ),
}

EXERCISE = exercise(
    multi_head_attention,
    right=RIGHT,
    asks="Project, attend in every head on its own, lay the heads side by side, mix them with W_o.",
    minutes=20,
    difficulty=3,
    importance=5,
    cases=(
        case("2 sequences, one head, 3 queries, 4 keys", _made(2, 1, 3, 4, 6), gradient="equal"),
        case("2 sequences, 3 heads, 5 queries, 7 keys", _made(2, 3, 5, 7, 4), gradient="equal"),
        case("as many sequences, heads, queries and keys", _made(3, 3, 3, 3, 5)),
        case("self-attention: the same tensor three times", _self_attention),
        case("as many sequences as heads", _made(4, 4, 3, 5, 2)),
        case("more queries than keys", _made(3, 2, 8, 5, 4)),
        case("as many queries and keys as features", _made(2, 2, 6, 6, 3)),
        case("heads of width 1", _made(2, 4, 3, 5, 1)),
        case("one query: a decoder's step", _made(2, 3, 1, 6, 4)),
        case("one sequence, one query, one key", _made(1, 2, 1, 1, 3)),
        case("4 heads of width 16", _made(2, 4, 5, 6, 16)),
        case("scores of thousands", _made(2, 3, 4, 6, 5, size=60.0)),
        case("a mask of shape (4, 4), as many heads as positions", _made(2, 4, 4, 4, 3, mask=(4, 4))),
        case("a mask of shape (5, 7) for all", _made(mask=(5, 7)), gradient="equal"),
        # Before the shapes that tell sequences from heads: a mask read the wrong way gives numbers
        # here, and can be named by them.
        case("a mask for each head, as many sequences as heads", _made(3, 3, 4, 6, mask=(3, 4, 6))),
        case("a mask for each sequence, as many heads as sequences", _made(3, 3, 4, 6, mask=(3, 1, 4, 6))),
        case("a mask of shape (3, 5, 7), one for each head", _made(mask=(3, 5, 7))),
        case("a mask of shape (2, 1, 5, 7), one for each sequence", _made(mask=(2, 1, 5, 7))),
        case("hidden keys with by far the best scores", _pushed(visible=-1.0, hidden=1.0)),
        case("all scores far below zero", _pushed(visible=-2.0, hidden=-3.0)),
        case("a query that may see nothing", _emptied(4, (2, 1, 5, 4), (1, 0, 2), (0, 0, 4)), gradient="equal"),
        case("a mask of shape (5, 7) with an empty row", _emptied(7, (5, 7), 3), gradient="finite"),
        case("a query that may see nothing in some heads", _emptied(6, (3, 5, 6), (1, 2), (slice(2), 4)),
             gradient="equal"),
        case("a sequence whose keys are all hidden", _emptied(7, (2, 1, 5, 7), 1)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(3, 2, 5, 7, 24, dtype="float32")),
        case("bfloat16 with a mask", _made(dtype="bfloat16", mask=(5, 7)), tolerance=0.3),
    ),
    mistakes=(
        mistake("PyTorch's own multi-head attention inside", "PyTorch's own multi-head attention did all of the work. "
                "The point is to write it: what happens between the projections and W_o?",
                _INSIDE, detects=lambda trace: bool(_WHOLE & trace.calls)),
        replace(RANDOM, detects=lambda trace: trace.used_global_random and not trace.calls & _LAYERS),
        *(
            replace(one, matches=_FAMILIES.get(one.name))
            for one in joined(MIX, _EARLY, _MORE, SPLIT, without(MERGE, "merged = turned.flatten(-2) / out.shape[1]"),
                              projections("query", "key", "value", also=_ALSO))
        ),
        mistake("scaled by the width of the model", "The scale is 1/√d_model, so the weights are too even. One head "
                "sums over d_k products: whose root is it?",
                "default = 1 / math.sqrt(len(W_q))", "default = 1 / len(W_q)"),
        *DEFAULT,
        mistake("self-attention only", "Keys and values come from the query's stream, and the other two are never "
                "read. In cross-attention they are another sequence.", _streams((0, 0, 0))),
        mistake(
            "streams swapped or used twice",
            "The right matrices meet the wrong streams: one of query, key and value was used for another. "
            "Which one is never read, or read in the wrong place?",
            *map(_streams, ((0, 1, 1), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (1, 1, 1), (2, 2, 2))),
            *map(_streams, ((0, 0, 2), (0, 1, 0), (0, 2, 2), (1, 1, 2), (2, 1, 2))),
        ),
        mistake(
            "streams split before the projections",
            "Each head reads only its own slice of the stream. A head owns columns of the matrix, and those reach all "
            "of the stream: which comes first, the product or the cut?",
            _own_blocks(_THREE),
            "d_k = len(W_o) // num_heads\n"
            + _made_by("{0} = ({0}.unflatten(-1, (-1, d_k)) @ {1}[:d_k, :d_k]).flatten(-2)"),
            "value = value\nmixed = merged @ W_v @ W_o",
            matches=_any_of(map(_own_blocks, _SOME)),
        ),
        mistake("a matrix reshaped instead of cut", "A matrix was given three axes by force, so the numbers of "
                "different heads are mixed. Head h owns columns of W_q, W_k and W_v and rows of W_o: which axis of "
                "each is cut?", _reshaped(_THREE), _LAST_RESHAPED, _reshaped(_THREE) + _LAST_RESHAPED,
                matches=_any_of(map(_reshaped, _SOME))),
        mistake("W_o twice, or too early", "W_o acted more than once, or on something else than the merged heads. "
                "Where in the order of steps does it come?", "mixed = merged @ W_o @ W_o", "value = value @ W_v @ W_o",
                _made_by("{0} = {0} @ {1} @ W_o"), "value = value @ W_v @ W_o\nmixed = merged"),
        mistake("something between the products", "A projection is a product and nothing else here: no activation. "
                "What else was put in?",
                *(_made_by(f"{{0}} = {apply}({{0}} @ {{1}})") for apply in ("torch.relu", "torch.tanh", "F.gelu")),
                _made_by("{0} = ({0} @ {1}).softmax(-1)"),
                *(f"mixed = (merged @ W_o).{apply}" for apply in ("relu()", "tanh()", "softmax(-1)")),
                "mixed = merged.relu() @ W_o"),
        mistake("a residual inside", "Something was added to the output: the query's stream, or the heads as they were "
                "before W_o. A residual connection stands around attention, not inside.",
                "stream = query\nquery = query @ W_q\nmixed = merged @ W_o + stream", "mixed = merged + merged @ W_o"),
        mistake("keys cut with the number of queries", "Keys and values were given the query's number of positions. It "
                "works for self-attention alone: whose shape says how many keys there are?",
                "cut = x.reshape(len(x), query.shape[1], num_heads, x.shape[-1] // num_heads)",
                "cut = x.reshape(len(x), query.shape[1], num_heads, -1)",
                "cut = x.reshape(-1, query.shape[1], num_heads, x.shape[-1] // num_heads)"),
        mistake("read as (L, B, d_model)", "The first axis was taken for the positions, so the sequences of the batch "
                "attend to one another. Here the batch comes first: (B, L, d_model).",
                "heads = cut.permute(1, 2, 0, 3)\nturned = out.permute(2, 0, 1, 3)"),
        mistake("num_heads ignored", "This is one head as wide as the model. Where is the width cut?",
                "cut = x.unsqueeze(2)", "cut = x.unsqueeze(2)\ndefault = 1 / math.sqrt(query.shape[-1] / num_heads)"),
        *only(SPLIT_SHAPES, "num_heads taken for the width of a head"),
        mistake("a fixed number of heads", "The number of heads is not the one that was given. Where does the number "
                "in the code come from?", "cut = x.reshape(*x.shape[:2], num_heads if x.shape[-1] % 8 else 8, -1)",
                "cut = x.reshape(*x.shape[:2], num_heads if x.shape[-1] % 8 else -1, 8)",
                matches=_any_of(f"cut = x.reshape(*x.shape[:2], {n}, -1)" for n in range(1, 65))),
        mistake("queries, keys and values of different heads", "A head's queries meet the keys or values of another "
                "head. Do all three have the same order of heads?",
                "query, key, value = parts[0], parts[1].flip(1), parts[2]",
                "query, key, value = parts[0], parts[1], parts[2].flip(1)",
                "query, key, value = parts[0][:, :1], *parts[1:]",
                "query, key, value = parts[0], parts[1][:, :1], parts[2][:, :1].expand(-1, num_heads, -1, -1)"),
        mistake("heads attending to heads", "Within a position, the heads attend to one another: the table has the "
                "axes (H, H). Which two axes must be the last when the heads are compared?",
                "heads = cut\nscores = scaled\nmerged = out.flatten(-2)"),
        *AMONG,
        mistake("key reshaped instead of transposed", "The numbers of different keys are mixed. `view` and `reshape` "
                "cut memory anew; what swaps two axes?", "products = query @ key.reshape(key.mT.shape)"),
        *without(SOFTMAX, "softmax over an axis counted from the front"),
        *without(VALUES, "the root of the width of the values"),
        *COMPARED,
        *another_scale(_some_scale),
        mistake("an empty row opened", "A query that may see nothing was shown every key, so that its softmax has "
                "something to divide, and what it found stayed in the output. What should it give?",
                "scores = scaled.masked_fill(~allowed & allowed.any(-1, keepdim=True), -torch.inf)"),
        mistake("hidden keys raised instead of lowered", "The hidden keys got the highest scores, so they share all of "
                "the weight. Which sign does the number need?",
                "scores = scaled.masked_fill(~allowed, 1e9)", "scores = scaled + (~allowed).to(scaled.dtype) * 1e9"),
        mistake(
            "hidden keys still in the softmax",
            "The hidden weights are zero in the end, but their scores were 0 in the softmax, and exp(0) is 1: what is "
            "left sums to less than 1. Which score takes no share?",
            *(
                f"scores = scaled.masked_fill(~allowed, {fill})\nweights = stable_softmax(scores) * allowed"
                for fill in (0.0, 1e-9, -1.0)
            ),
        ),
        ZEROED,
        *MASK,
        ALWAYS_CAUSAL,
        *EMPTY_ROWS,
        *without(MASKS, "allowed = attn_mask[:, :1] if attn_mask.dim() == 4 else attn_mask"),
        mistake("the weights returned too", "The output came together with the weights, as `nn.MultiheadAttention` "
                "gives them. What alone is asked for?", "return mixed, weights", "return mixed, weights.mean(1)",
                "return weights, mixed"),
        *other_kinds("mixed"),
    ),
    laws=(Law("a query that may see nothing in any head gives zeros", _empty_but_not_zero),),
    hints=(
        "You have written all parts already: a product, the split, attention, the merge, a product. In which order?",
        "Attention does not mind leading axes: to (B, H, L, d_k) a head is one more of them. So there is no loop over "
        "heads.",
        "The scores have the shape (B, H, L, S), and shapes line up from the right. Does any of the masks (L, S), "
        "(H, L, S) and (B, 1, L, S) need help?",
        "The scale is that of one head: d_k is the last axis after the split. A query that may see nothing gives zeros "
        "in its head, before the heads meet.",
        "In order: `query @ W_q`, `key @ W_k`, `value @ W_v`; split all three; your attention with the mask; merge; "
        "times `W_o`.",
    ),
)
