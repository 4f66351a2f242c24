"""Exercise: attention to a few mixtures of the keys."""

from typing import Any

import torch
from course_utils.attention import linformer_attention
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, only, saying, without
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, fixed_axes, other_kinds, overwritten
from course_utils.exercises.shared.linear import work
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law
from course_utils.measure import largest_tensor
from torch import Tensor

# F is torch.nn.functional in the lines, as elsewhere: the matrix is F_.
RIGHT = """
def linformer_attention(query, key, value, E, F_):
    key = E.mT @ key
    value = F_.mT @ value
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = query @ key.mT
    scaled = products * factor
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value
    return out
"""

# Without a mask it is the softmax over the queries.
_TURNED = "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value"


def _both(mix: str) -> str:
    """Return the lines that mix keys and values in the same other way, M for the matrix and X for what is mixed."""
    return "\n".join(
        f"{x} = {mix.replace('M', matrix).replace('X', x)}" for x, matrix in (("key", "E"), ("value", "F_"))
    )


def _made(*leading: int, sizes: tuple[int, int, int, int, int], size: float = 1.0, dtype: str = "float64") -> Make:
    """Make query, key, value, E and F of the sizes (L, S, r, d_k, d_v)."""
    length, num_keys, mixtures, d_k, d_v = sizes
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, *leading, length, d_k, size=size, dtype=kind)
        key = normal(g, *leading, num_keys, d_k, size=size, dtype=kind)
        value = normal(g, *leading, num_keys, d_v, dtype=kind)
        return query, key, value, *(normal(g, num_keys, mixtures, size=0.7, dtype=kind) for _ in range(2))

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(x) for x in _made(2, sizes=(5, 6, 3, 4, 7))(g))


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(1, sizes=(length, length, 4, 8, 8), dtype="float32")(g)


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, _, E, _ = args
    return some_epsilon(query @ (E.mT @ key).mT / query.shape[-1] ** 0.5, linformer_attention(*args), got)


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, value, E = args[0], args[2], args[3]
    if got.shape != (*query.shape[:-1], value.shape[-1]) or E.shape[1] < 2:
        return False
    wide = query * query.shape[-1] ** 0.5
    return some_scale(lambda scale: linformer_attention(scale * wide, *args[1:]), got.detach(), query.shape[-1] ** -0.5)


_LONG_SAYS = (
    "The values are right, but a table of L × S is made and mixed afterwards, or each query meets all S positions "
    "again. Products can be taken in another order: which one makes the keys few before any query meets them?"
)

EXERCISE = exercise(
    linformer_attention,
    right=RIGHT,
    asks="Mix the keys by E and the values by F into r rows each, and attend to those.",
    minutes=10,
    difficulty=3,
    importance=3,
    cases=(
        case("every size is 4: a transpose keeps the shape", _made(4, 4, sizes=(4, 4, 4, 4, 4))),
        case("3 queries; 4 keys, 4 mixtures, all widths 4", _made(sizes=(3, 4, 4, 4, 4))),
        case("5 queries, 7 keys, 3 mixtures", _made(sizes=(5, 7, 3, 4, 6)), gradient="equal"),
        case("leading axes (2, 3)", _made(2, 3, sizes=(4, 9, 2, 6, 5)), gradient="equal"),
        case("more queries than keys", _made(2, sizes=(8, 5, 3, 2, 4))),
        case("one mixture", _made(2, sizes=(4, 6, 1, 5, 3))),
        case("more mixtures than keys", _made(3, sizes=(4, 3, 7, 5, 2))),
        case("one query, one key", _made(2, sizes=(1, 1, 2, 3, 4))),
        case("keys of width 1", _made(2, sizes=(3, 5, 2, 1, 4))),
        case("scores of thousands", _made(2, sizes=(3, 6, 4, 9, 5), size=60.0)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, sizes=(5, 7, 3, 16, 4), dtype="float32"), tolerance=1e-4),
        case("bfloat16", _made(2, sizes=(3, 5, 2, 4, 6), dtype="bfloat16"), tolerance=0.2),
    ),
    mistakes=(
        RANDOM,
        *adding(DEFAULT, {
            "the root of the wrong size": ("default = 1 / math.sqrt(E.shape[0])",
                "default = 1 / math.sqrt(key.shape[-2] * key.shape[-1])"),
        }),
        *without(only(GIVEN, "scale rounded"), "factor = default if scale is None else int(scale)"),
        *epsilon(_epsilon, 1e-7, 1e-8),
        *another_scale(_another_scale),
        *SOFTMAX,
        *VALUES,
        *adding(without(COMPARED, _TURNED), {
            "the wrong two compared": ("mixed = F_.mT @ key\nkey = E.mT @ value\nvalue = mixed",),
        }),
        *saying((ALWAYS_CAUSAL,), {
            ALWAYS_CAUSAL.name: "Some mixtures are hidden from the first queries. Each mixture holds keys from "
                "everywhere, so hiding some of them makes nothing causal: no mask is asked for.",
        }),
        mistake("E applied to features", "E and F were multiplied from the right, so they mixed the features of each "
                "key. They have a row for each position: what is to become fewer, positions or features?",
                _both("X @ M"), _both("X @ M.mT"), "key = key @ E", "value = value @ F_"),
        mistake("E not transposed", "The rows of E and F were taken for the mixtures. They are (S, r): a column for "
                "each mixture. What has to multiply the keys from the left?",
                _both("M @ X"), "key = E @ key", "value = F_ @ value"),
        mistake("E and F swapped", "The keys were mixed by F and the values by E. Which of them comes first in the "
                "arguments, and belongs to the keys?", "key = F_.mT @ key\nvalue = E.mT @ value"),
        mistake(
            "one matrix for both",
            "Keys and values were mixed by the same matrix, and the other one is never used.",
            "value = E.mT @ value",
            "key = F_.mT @ key",
        ),
        mistake("the wrong one of the three mixed", "Keys or values are not mixed as they should be, or queries are "
                "too. Which two are long, and must become r rows?", "key = key\nvalue = value", "key = key",
                "value = value", "query = E.mT @ query\nkey = E.mT @ key", "key = F_.mT @ (E.mT @ key)"),
        mistake("mixed after the softmax", "The softmax ran over all S keys and its weights were mixed afterwards, so "
                "those of a row no longer sum to 1. Among how many mixtures does a query divide its attention?",
                "key = key\nweights = stable_softmax(scores) @ E"),
        mistake("a softmax of E", "E and F were turned into shares, or scaled, first. They are used as they are: any "
                "numbers at all.", _both("M.softmax(0).mT @ X"), _both("M.softmax(-1).mT @ X"),
                _both("M.mT @ X / M.shape[0]"), _both("M.mT @ X / M.shape[1]"),
                _both("M.mT @ X / math.sqrt(M.shape[0])"), _both("M.mT @ X / math.sqrt(M.shape[1])"),
                _both("(M / M.norm(dim=0)).mT @ X"), _both("(M / M.sum(0)).mT @ X")),
        mistake("the first keys instead of mixtures", "The first r keys were taken, or plain means of keys. E and F "
                "say how much of each key goes into each mixture: where are they used?",
                _both("X[..., : M.shape[1], :]"), _both("X[..., -M.shape[1] :, :]"),
                _both("X.mean(-2, keepdim=True).expand(*X.shape[:-2], M.shape[1], -1)")),
        mistake("a loop that leaves one out",
                "A key, a mixture or a query takes no part: the first or the last one. Which "
                "numbers does your `range` give, and where does your slice end?",
                *(_both(mix) for mix in ("M[:-1].mT @ X[..., :-1, :]", "M[1:].mT @ X[..., 1:, :]",
                                         "M[:, :-1].mT @ X", "M[:, 1:].mT @ X")),
                "key = E[:-1].mT @ key[..., :-1, :]", "value = F_[:-1].mT @ value[..., :-1, :]",
                "return out[..., :-1, :]", "return out[..., 1:, :]",
                "return out * (torch.arange(out.shape[-2]) < out.shape[-2] - 1).to(out).unsqueeze(-1)"),
        mistake("axes swapped that are not the last two", "Other axes of the keys were swapped than the last two: `.T` "
                "turns all of them round. Which two should swap, counted from the end?",
                *(f"products = query @ key.{turned}" for turned in (
                    "permute(*range(key.dim() - 1, -1, -1))", "transpose(1, 2)", "transpose(0, 1)"))),
        batch_mixed("key = (E.mT @ key)[:1] if key.dim() > 2 else E.mT @ key\n"
                    "value = (F_.mT @ value)[:1] if value.dim() > 2 else F_.mT @ value",
                    "key = (E.mT @ key)[:1] if key.dim() > 2 else E.mT @ key",
                    "value = (F_.mT @ value)[:1] if value.dim() > 2 else F_.mT @ value"),
        fixed_axes("key = torch.einsum('bhnd,nk->bhkd', key, E)", "key = torch.einsum('bnd,nk->bkd', key, E)",
                   "key = torch.einsum('nd,nk->kd', key, E)", "products = torch.bmm(query, key.transpose(1, 2))",
                   "batch, heads, length, width = query.shape\nkey = E.mT @ key",
                   "batch, length, width = query.shape\nkey = E.mT @ key",
                   "length, width = query.shape\nkey = E.mT @ key"),
        overwritten("default = 1 / math.sqrt(query.shape[-1])\nproducts = query.mul_(default) @ key.mT\nfactor = 1.0"),
        *other_kinds("out", "weights"),
        cut_off(_both("M.detach().mT @ X"), "key = E.detach().mT @ key", "value = F_.detach().mT @ value",
                "out = weights.detach() @ value", "out = (weights @ value).detach()", "key = E.mT @ key.detach()",
                "value = F_.mT @ value.detach()", "products = query.detach() @ key.mT"),
        lower_precision(linformer_attention, "out = (weights.float() @ value.float()).to(value.dtype)"),
        mistake("the long table still made", _LONG_SAYS,
                "key = key\nproducts = query @ key.mT @ E", "value = value\nout = weights @ F_.mT @ value"),
    ),
    laws=(average_law(lambda args: args[4].mT @ args[2]),),
    costs=(
        Cost("the largest tensor", largest_tensor, (64, 512), _long, 1.3, _LONG_SAYS, "the long table still made"),
        Cost("the work", work, (64, 512), _long, 1.3, _LONG_SAYS, "the long table still made"),
    ),
    hints=(
        "A mixture of keys is a sum of all keys, each with its own factor. Column c of E holds the factors of mixture "
        "c.",
        "r mixtures of S keys: which product of E and the keys has the shape (r, d_k)?",
        "Do the same with F and the values. What is left is scaled dot-product attention, with r keys and r values.",
    ),
)
