"""Exercise: query heads that share heads of keys and values, which are never copied."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from course_utils.attention import grouped_query_attention
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal, strided, unseeing, visible
from course_utils.checking.mistakes import adding, mistake, only, without
from course_utils.exercises.shared.heads import AMONG
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten, viewed
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL, EMPTY_ROWS, MASK, if_given
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law
from course_utils.measure import largest_tensor
from torch import Tensor
from torch.overrides import TorchFunctionMode

# Expanded, keys and values have the axes (B, H_kv, group, S, d) and are not copied.
RIGHT = """
def grouped_query_attention(query, key, value, attn_mask=None):
    num_heads, shared = query.shape[1], key.shape[1]
    group = num_heads // shared
    if attn_mask is not None:
        masks = attn_mask.expand(*query.shape[:3], key.shape[2])
        rows = masks.unflatten(1, (shared, group))
    allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else rows
    query = query.unflatten(1, (shared, group))
    key = key.unsqueeze(2).expand(-1, -1, group, -1, -1)
    value = value.unsqueeze(2).expand(-1, -1, group, -1, -1)
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = torch.einsum("bkgld,bksd->bkgls", query, key[:, :, 0])
    scaled = products * factor
    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    out = torch.einsum("bkgls,bksv->bkglv", weights, value[:, :, 0])
    return out.flatten(1, 2)
"""
_COPIED = "products = query @ key.mT\nout = weights @ value"
_SWAPPED = "query, value = value, query\ndefault = 1 / math.sqrt(query.shape[-1])"
_MASKS = "masks = attn_mask.expand(*query.shape[:3], key.shape[2])"


def _reads(keys: str, values: str | None = None) -> str:
    """Return the lines by which query head h reads these heads of keys and values, kept in range."""
    turned = "[:, ({}).clamp(0, shared - 1)].unflatten(1, (shared, group))"
    key, value = turned.format(keys), turned.format(values or keys)
    return f"h = torch.arange(num_heads)\nkey = key{key}\nvalue = value{value}\n{_COPIED}"


def _made(
    heads: tuple[int, int],
    sizes: tuple[int, int, int, int, int] = (2, 4, 5, 7, 3),
    mask: tuple[int, ...] = (),
    size: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> Make:
    """Make (H, H_kv) heads of the sizes (B, L, S, d_k, d_v), and a mask of a shape if asked for."""
    batch, length, num_keys, d_k, d_v = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, batch, heads[0], length, d_k, size=size, dtype=dtype)
        key = normal(g, batch, heads[1], num_keys, d_k, size=size, dtype=dtype)
        value = normal(g, batch, heads[1], num_keys, d_v, dtype=dtype)
        return (query, key, value, visible(g, *mask)) if mask else (query, key, value)

    return make


def _against_the_mask(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value = _made((4, 2), (2, 3, 6, 4, 5))(g)
    mask = torch.tensor([True, False, True, True, False, False])
    key = key + torch.where(mask, -1e4, 1e4).double().unsqueeze(-1)
    return query.abs() + 1.0, key, value, mask.expand(3, 6).clone()


def _strided(g: torch.Generator) -> tuple[Tensor, ...]:
    query, key, value = _made((6, 3), (3, 5, 4, 6, 2))(g)
    return query.transpose(1, 2).contiguous().transpose(1, 2), strided(key), strided(value)


class _Flag(TorchFunctionMode):
    """Notes whether torch's attention was asked to share heads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> object:
        self.seen = self.seen or bool((kwargs or {}).get("enable_gqa"))
        return func(*args, **(kwargs or {}))


def _flag_used(fn: Callable[..., Any], *args: Any) -> bool:
    with _Flag() as mode:
        fn(*args)
        fn(*args[:3])
    return bool(mode.seen)


def _decoding(heads: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made((heads, 2), (2, 2, 32, 64, 64), mask=(2, 32), dtype=torch.float32)(g)


def _largest(fn: Callable[..., Any], *args: Any) -> int:
    """Count the largest tensor with the mask and without; one copy of keys and values side by side is free."""
    return max(largest_tensor(fn, *args), largest_tensor(fn, *args[:3]), 2 * int(args[1].numel()))


def _repeated(x: Tensor, query: Tensor) -> Tensor:
    return x.repeat_interleave(query.shape[1] // x.shape[1], 1)


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, _, mask = (*args, None)[:4]
    scores = query @ _repeated(key, query).mT / query.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return some_epsilon(scores, grouped_query_attention(*args), got)


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, value = args[0], args[2]
    if got.shape != (*query.shape[:-1], value.shape[-1]) or value.shape[-2] < 2:
        return False
    wide = query * query.shape[-1] ** 0.5
    right = query.shape[-1] ** -0.5
    return some_scale(lambda scale: grouped_query_attention(scale * wide, *args[1:]), got.detach(), right)


_ASKS = {one.name: one.says for one in AMONG}
_FLAG_SAYS = (
    "The values are right, but `enable_gqa` did what the exercise is about: it decides which head reads which, and "
    "may copy keys and values to do so. How can a group's queries meet their keys without it?"
)
_REPEATED_SAYS = (
    "The values are right, but keys or values were copied for every query head, by `repeat_interleave`, by indexing, "
    "or by a product that broadcasts: the memory that sharing saves is spent again. Which tensor is small enough to "
    "be rearranged instead?"
)

EXERCISE = exercise(
    grouped_query_attention,
    right=RIGHT,
    asks="Attend with H query heads to H_kv heads of keys and values, without copying the latter.",
    minutes=20,
    difficulty=4,
    importance=5,
    cases=(
        case("every size is 4: a transpose keeps the shape", _made((4, 2), (4, 4, 4, 4, 4))),
        # Read as h // 3, every head is still in range here.
        case("6 query heads, 3 of keys and values", _made((6, 3), (3, 5, 2, 4, 6))),
        case("6 query heads, 2 of keys and values", _made((6, 2)), gradient="equal"),
        case("8 query heads, 2 of keys and values", _made((8, 2), (2, 3, 6, 5, 4))),
        case("one head of keys and values: multi-query", _made((4, 1), (2, 3, 5, 6, 7))),
        case("as many heads of keys and values as of queries", _made((3, 3), (2, 5, 4, 6, 7))),
        case("scores of thousands", _made((4, 2), (2, 3, 6, 9, 4), size=60.0)),
        case("one query, as in decoding", _made((6, 2), (3, 1, 7, 4, 5))),
        case("a mask of shape (4, 4), and every size is 4", _made((4, 2), (4, 4, 4, 4, 4), mask=(4, 4))),
        case("a mask of shape (4, 5) for all", _made((6, 2), mask=(4, 5)), gradient="equal"),
        case("a mask of shape (2, 1, 1, 5), one for each sequence", _made((6, 2), mask=(2, 1, 1, 5))),
        case("a mask of shape (6, 4, 5), one for each head", _made((6, 2), mask=(6, 4, 5))),
        case("a mask of shape (2, 6, 4, 5)", _made((6, 3), mask=(2, 6, 4, 5)), gradient="equal"),
        case("hidden keys with by far the best scores", _against_the_mask),
        case("queries that may see nothing",
             unseeing(_made((6, 2), mask=(2, 6, 4, 5)), (1, 4, 2), (0, 1, 3)), gradient="equal"),
        case("one of everything", _made((1, 1), (1, 1, 1, 3, 2))),
        case("non-contiguous inputs", _strided),
        case("float32", _made((6, 2), dtype=torch.float32), tolerance=1e-4),
        case("bfloat16, with a mask", _made((6, 2), mask=(4, 5), dtype=torch.bfloat16)),
        case("whether `enable_gqa` was used", _made((6, 2), mask=(6, 4, 5)), run=_flag_used, says=_FLAG_SAYS),
    ),
    mistakes=(
        RANDOM,
        *adding(DEFAULT, {
            "the root of the wrong size": ("default = 1 / math.sqrt(num_heads)",
                "default = 1 / math.sqrt(num_heads * query.shape[-1])",
                "default = 1 / math.sqrt(group * query.shape[-1])"),
        }),
        *without(only(GIVEN, "scale rounded"), "factor = default if scale is None else int(scale)"),
        *epsilon(_epsilon, 1e-7, 1e-8),
        *another_scale(_another_scale),
        *adding(without(SOFTMAX, "softmax over an axis counted from the front"), {
            "softmax over the queries": (
                "weights = torch.softmax(scores.flatten(2, 3), 2).unflatten(2, (group, -1))",),
        }),
        mistake("heads grouped by modulo, as `repeat` does", "Query head h reads the key head h mod H_kv, as `repeat` "
                "puts copies one after another: 0, 1, 0, 1. Heads of a group are neighbours: 0, 0, 1, 1. Which "
                "arithmetic gives that?", _reads("h % shared")),
        mistake("values grouped differently from keys", "A query head compares itself with one key head and takes the "
                "values of another. Which two belong together?", _reads("h // group", "h % shared"),
                _reads("h % shared", "h // group"), _reads("h // group", "0 * h"), _reads("0 * h", "h // group")),
        mistake("one head for all", "Every query head reads the same head of keys and values: that is multi-query "
                "attention. Here there are H_kv of them: which one does head h read?",
                _reads("0 * h"), _reads("0 * h + shared - 1")),
        mistake(
            "shared heads averaged",
            "The heads of keys and values were averaged into one. Each group keeps a head of its own: what does head "
            "h read?",
            *(
                f"key = key.{how}(1, keepdim=True).unsqueeze(2)\n"
                f"value = value.{how}(1, keepdim=True).unsqueeze(2)\n{_COPIED}"
                for how in ("mean", "sum")
            ),
        ),
        mistake("divided by the number of shared heads", "Query head h reads head h // H_kv. H_kv is the number of "
                "groups: how many heads are in one of them?", _reads("h // shared"), _reads("h // shared % shared")),
        mistake("groups counted from the last head", "The first query heads read the last head of keys and values. "
                "Which group is head 0 in?", _reads("shared - 1 - h // group")),
        mistake("groups moved by one head", "The groups begin one head too early or too late. For H = 6 and H_kv = 2, "
                "which heads are in the first group?", _reads("(h + 1) // group"),
                _reads("(h - 1).clamp(min=0) // group"), _reads("(h + 1) // group % shared")),
        mistake("only the first heads grouped", "The first query heads read a head each, and all others the last one. "
                "The heads are shared evenly: how many query heads does each one serve?", _reads("h")),
        mistake("queries of a group averaged", "All query heads of a group give the same. They share keys and values, "
                "but each asks its own question: what was averaged?",
                "query = query.unflatten(1, (shared, group)).mean(2, keepdim=True).expand(-1, -1, group, -1, -1)",
                "query = query.unflatten(1, (shared, group)).mean(2, keepdim=True)\n"
                "allowed = torch.ones(1, 1, dtype=torch.bool)",
                "query = query.unflatten(1, (shared, group)).sum(2, keepdim=True).expand(-1, -1, group, -1, -1)"),
        mistake("one softmax for a group", "The weights of all query heads of a group sum to 1 together. They became "
                "rows of one table, but each row is still a query of its own. Over what must it sum to 1?",
                "weights = stable_softmax(scores.transpose(2, 3).flatten(3)).unflatten(-1, (group, -1)).transpose(2, "
                "3)"),
        mistake("heads and positions mixed", "Queries of other heads and positions appear where these should: axes "
                "were cut anew instead of in their order. Which two axes are neighbours when a group's rows are "
                "joined?", "query = query.transpose(1, 2).reshape(query.shape[0], shared, group, -1, query.shape[-1])"),
        mistake("output heads in another order", "The right heads come out at the wrong places: group and place in the "
                "group are swapped. Which of them changes faster as h counts up?",
                "return out.transpose(1, 2).flatten(1, 2)", "return out.flatten(1, 2).flip(1)"),
        mistake("output with another shape", "The values are right, but the output must have the axes (B, H, L, d_v). "
                "Which axes are still to be joined, or were joined by "
                "mistake?", "return out", "return out.flatten(2, 3)",
                "return out.flatten(1, 2).transpose(1, 2)", "return out.flatten(1, 2).transpose(1, 2).flatten(2)"),
        mistake("the mask of one head for its group", "All query heads of a group use the mask of the first of them. "
                "Keys are shared, masks are not: the mask has an axis for H heads.",
                f"{_MASKS}[:, ::group].repeat_interleave(group, 1)"),
        mistake("the first head's mask for all",
                "All heads use the mask of the first one. A mask (H, L, S) has one for "
                "each.", f"{_MASKS}[:, :1].expand(-1, num_heads, -1, -1)"),
        mistake("a mask of some shapes only", "A mask with other axes than expected stops it: it may have two axes, "
                "three or four, some of size 1. Which call brings all of them to (B, H, L, S)?",
                "masks = attn_mask.repeat(group, 1)[: query.shape[2]].expand(*query.shape[:3], key.shape[2])"),
        mistake("masks in another order than heads", "A query head got another head's mask: the heads of the mask were "
                "grouped by modulo. How is the mask of head h found, if the heads are?",
                f"{_MASKS}.unflatten(1, (-1, shared)).transpose(1, 2).flatten(1, 2)",
                f"{_MASKS}[:, :shared].repeat_interleave(group, 1)"),
        mistake("rows in another order than heads", "Inside a group, rows were joined with positions before heads, or "
                "by modulo, and taken apart in another order. Which of the two changes faster from row to row, at the "
                "beginning and at the end?",
                "turned = query.unflatten(1, (shared, group)).transpose(2, 3)\n"
                "query = turned.reshape(query.shape[0], shared, group, -1, query.shape[-1])",
                "query = query.unflatten(1, (-1, shared)).transpose(1, 2)",
                "heads = out.flatten(1, 2)\nreturn heads.transpose(1, 2).reshape(heads.shape)"),
        mistake("key reshaped instead of transposed", "The keys were cut anew to (d_k, S), which mixes the numbers of "
                "different keys. How are two axes swapped, so that each key stays whole?",
                "products = query @ key.reshape(*key.shape[:3], key.shape[4], key.shape[3])"),
        mistake("the mask one axis off", "The scores have an axis more than the mask, the group, and broadcasting "
                "counts from the end: another axis of the mask met the heads. Which axes does it have, and where is "
                "the group's?", "rows = attn_mask"),
        mistake("mask rows in another order than the queries'", "A row of the mask is repeated for neighbouring rows, "
                "as if the heads of a group changed faster than the positions. In which order do the queries' rows "
                "come?",
                f"full = {_MASKS[8:]}\nmasks = full[:, ::group].repeat_interleave(group, 2).reshape(full.shape)"),
        mistake("softmax over the heads", _ASKS["softmax over the heads"],
                "weights = torch.softmax(scores.flatten(1, 2), 1).unflatten(1, (shared, group))",
                "weights = torch.softmax(scores, 1)", "weights = torch.softmax(scores, 2)"),
        mistake("softmax over the sequences", _ASKS["softmax over the sequences"],
                "weights = torch.softmax(scores, 0)"),
        mistake("one weight table for all heads", _ASKS["one weight table for all heads"],
                "out = weights.mean((1, 2), keepdim=True) @ value",
                "weights = stable_softmax(scores)[:, :1, :1].expand(scores.shape)",
                "weights = stable_softmax(scores.mean((1, 2), keepdim=True)).expand(scores.shape)",
                "weights = stable_softmax(scores.sum((1, 2), keepdim=True)).expand(scores.shape)"),
        *adding(if_given(MASK), {"one mask for all batches": (
            f"{_MASKS}[:1].expand(query.shape[0], -1, -1, -1)",)}),
        ALWAYS_CAUSAL,
        *EMPTY_ROWS,
        *VALUES,
        *adding(without(COMPARED, _SWAPPED), {"the wrong two compared": (f"{_SWAPPED}\n{_COPIED}",)}),
        batch_mixed("key = key[:1].unsqueeze(2).expand(query.shape[0], -1, group, -1, -1)\n"
                    f"value = value[:1].unsqueeze(2).expand(query.shape[0], -1, group, -1, -1)\n{_COPIED}",
                    "out = (weights @ value)[:1].expand(query.shape[0], -1, -1, -1, -1)"),
        cut_off("return out.detach().flatten(1, 2)", "products = torch.einsum('bkgld,bksd->bkgls', query, key[:, :, 0]."
                "detach())", "out = torch.einsum('bkgls,bksv->bkglv', weights, value[:, :, 0].detach())",
                "products = torch.einsum('bkgld,bksd->bkgls', query.detach(), key[:, :, 0])",
                "weights = stable_softmax(scores).detach()",
                "products = torch.einsum('bkgld,bksd->bkgls', query, key[:, :, 0].detach())\n"
                "out = torch.einsum('bkgls,bksv->bkglv', weights, value[:, :, 0].detach())"),
        overwritten("default = 1 / math.sqrt(query.shape[-1])\nproducts = query.mul_(default) @ key.mT\nfactor = 1.0",
                    "products = query.div_(math.sqrt(query.shape[-1])) @ key.mT\nfactor = 1.0"),
        viewed("query = query.view(query.shape[0], shared, -1, query.shape[-1]).unflatten(2, (group, -1))"),
        *other_kinds("out.flatten(1, 2)", "weights", "weights.flatten(1, 2)"),
        lower_precision(grouped_query_attention, "out = (weights.float() @ value.float()).to(value.dtype)"),
        mistake("torch's `enable_gqa` inside", _FLAG_SAYS,
                "def grouped_query_attention(query, key, value, attn_mask=None):\n"
                "    return F.scaled_dot_product_attention(query, key, value, attn_mask, enable_gqa=True)"),
        mistake("keys and values repeated", _REPEATED_SAYS, _reads("h // group"), _COPIED),
    ),
    laws=(average_law(lambda args: F.pad(_repeated(args[2], args[0]), (0, 0, 0, 1))),),
    costs=(Cost("the largest tensor", _largest, (4, 32), _decoding, 0.3, _REPEATED_SAYS, "keys and values repeated"),),
    hints=(
        "For H = 6 and H_kv = 2, write down which head of keys each of the six query heads reads. Those that read the "
        "same one are neighbours.",
        "A copy of the keys for every query head gives the right values and saves nothing. The queries are the small "
        "ones: what if they are rearranged to fit the keys?",
        "`unflatten(1, (H_kv, H // H_kv))` splits the heads of the query into groups. The queries of a group, all "
        "their positions too, can be rows of one longer table.",
        "A product that broadcasts copies what it broadcasts. With queries (B, H_kv, rows, d_k) and keys "
        "(B, H_kv, S, d_k) there is nothing left to broadcast.",
        "The mask belongs to the H query heads: broadcast it to (B, H, L, S) and group it as the queries. At the end, "
        "ungroup the output.",
    ),
)
