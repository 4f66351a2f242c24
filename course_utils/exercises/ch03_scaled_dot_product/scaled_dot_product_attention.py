"""Exercise: the whole of scaled dot-product attention, with a mask and a scale."""

from typing import Any

import torch
import torch.nn.functional as F
from course_utils.attention import scaled_dot_product_attention
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal, visible
from course_utils.checking.mistakes import adding, mistake
from course_utils.exercises.shared.kinds import cut_off, fixed_axes, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL, EMPTY_ROWS, MASK, SCALED_LATE, if_given
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law, operator_inside
from torch import Tensor

RIGHT = """
def scaled_dot_product_attention(query, key, value, attn_mask=None, scale=None):
    default = 1 / math.sqrt(query.shape[-1])
    factor = default if scale is None else scale
    products = query @ key.mT
    scaled = products * factor
    allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else attn_mask
    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    out = weights @ value
    return out
"""


def _mask(*shape: int) -> Any:
    return lambda g: visible(g, *shape)


def _with_empty_rows(g: torch.Generator) -> Tensor:
    """Forbid everything to one query of each sequence."""
    mask = visible(g, 2, 1, 5, 4)
    mask[1, 0, 2] = False
    mask[0, 0, 4] = False
    return mask


def _against_the_mask(g: torch.Generator) -> tuple[Tensor, ...]:
    """Make scores of about -20,000 where the mask allows and +20,000 where it forbids."""
    query, key, value = normal(g, 2, 3, 4), normal(g, 2, 6, 4), normal(g, 2, 6, 5)
    mask = torch.tensor([True, False, True, True, False, False])
    direction = torch.where(mask, -1.0, 1.0).double().unsqueeze(-1)
    return query.abs() + 1.0, key + 1e4 * direction, value, mask.expand(3, 6).clone()


def _scores(args: tuple[Any, ...]) -> Tensor:
    query, key, _, mask, scale = (*args, None, None)[:5]
    scores: Tensor = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    return some_epsilon(_scores(args), scaled_dot_product_attention(*args), got)


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, mask = (*args, None)[:4]
    if got.shape != (*query.shape[:-1], value.shape[-1]) or key.shape[-2] < 2:
        return False
    return some_scale(lambda scale: scaled_dot_product_attention(query, key, value, mask, scale), got.detach())


def _mask_turned(query: Tensor, key: Tensor, value: Tensor, *given: Any) -> Tensor:
    """Be right, but turn the mask around in place."""
    out = scaled_dot_product_attention(query, key, value, *given)
    if given and given[0] is not None:
        given[0].logical_not_()
    return out


def _averaged(args: tuple[Any, ...]) -> Tensor:
    return args[2] if len(args) < 4 or args[3] is None else F.pad(args[2], (0, 0, 0, 1))


EXERCISE = exercise(
    scaled_dot_product_attention,
    right=RIGHT,
    asks="Average the values with the attention weights, over the keys that the mask allows.",
    minutes=15,
    difficulty=3,
    importance=5,
    cases=(
        case("3 queries, 3 keys, all widths 4", L=3, S=3, d_k=4, d_v=4),
        case("2 queries, 3 keys, no mask", L=2, S=3, d_k=4, d_v=5, gradient="equal"),
        case("a batch of shape (2, 3): 5 queries, 7 keys, no mask", batch=(2, 3), L=5, S=7, d_k=6, d_v=4,
             gradient="equal"),
        case("scale=0.3", batch=(2, 3), L=4, S=7, d_k=5, d_v=6, scale=0.3),
        case("scale=0.0: a plain mean", batch=(2, 3), L=4, S=7, d_k=5, d_v=6, scale=0.0),
        case("scale=2.5", batch=(2, 3), L=4, S=7, d_k=5, d_v=6, scale=2.5),
        case("scale=-0.6", batch=(2, 3), L=4, S=7, d_k=5, d_v=6, scale=-0.6),
        case("scale=2, a whole number", batch=(2, 3), L=4, S=7, d_k=5, d_v=6, scale=2),
        case("more queries than keys", batch=(2,), L=8, S=3, d_k=5, d_v=6),
        case("scores of thousands", batch=(2,), L=3, S=6, d_k=9, d_v=4, size=60.0),
        case("a mask of shape (5, 7) for all", batch=(2, 3), L=5, S=7, d_k=6, d_v=4, attn_mask=_mask(5, 7),
             gradient="equal"),
        case("a mask of shape (2, 1, 1, 7), one for each sequence", batch=(2, 3), L=5, S=7, d_k=6, d_v=4,
             attn_mask=_mask(2, 1, 1, 7)),
        case("a mask of shape (3, 4, 6), one for each head", batch=(2, 3), L=4, S=6, d_k=5, d_v=2,
             attn_mask=_mask(3, 4, 6)),
        case("a mask of shape (4, 4), and every size is 4: a transpose keeps the shape", batch=(4,), L=4, S=4, d_k=4,
             d_v=4, attn_mask=_mask(4, 4)),
        case("hidden keys with by far the best scores", _against_the_mask),
        case("a query that may see nothing", batch=(2, 3), L=5, S=4, d_k=6, d_v=7, attn_mask=_with_empty_rows,
             gradient="equal"),
        case("a mask and scale=0.7", batch=(2, 3), L=4, S=7, d_k=5, d_v=6, attn_mask=_mask(4, 7), scale=0.7),
        case("a mask and scale=0.0", batch=(2, 3), L=4, S=7, d_k=5, d_v=6, attn_mask=_mask(4, 7), scale=0.0),
        case("a mask and scale=-0.6", batch=(2, 3), L=4, S=7, d_k=5, d_v=6, attn_mask=_mask(4, 7), scale=-0.6),
        case("one query, one key, values of width 1", batch=(1,), L=1, S=1, d_k=3, d_v=1),
        case("non-contiguous inputs", batch=(2,), L=3, S=6, d_k=8, d_v=5, strided=True),
        case("float32", batch=(2,), L=3, S=5, d_k=16, d_v=7, dtype="float32"),
        case("bfloat16 with a mask", batch=(2,), L=3, S=5, d_k=4, d_v=6, dtype="bfloat16", attn_mask=_mask(3, 5)),
    ),
    mistakes=(
        operator_inside("return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask, scale=scale)"),
        RANDOM,
        *DEFAULT,
        *GIVEN,
        *epsilon(_epsilon, 1e-7, 1e-8),
        *another_scale(_another_scale),
        *SOFTMAX,
        *if_given(MASK),
        *adding((SCALED_LATE,), {"mask before the scale": (
            "scaled = products\nscores = scaled.masked_fill(~allowed, -torch.inf) * factor",)}),
        ALWAYS_CAUSAL,
        *adding(EMPTY_ROWS, {"NaN repaired too late": (
            "weights = torch.softmax(scores, -1)\nout = (weights @ value).nan_to_num()",)}),
        mistake("a tensor asked whether it is true", "`if attn_mask` asks a whole table of values whether it is true, "
                "and that has no answer. What does `None` have to be told apart with?",
                "allowed = attn_mask if attn_mask else torch.ones(1, 1, dtype=torch.bool)"),
        mistake("an axis added to the mask", "The mask got another axis, and no longer broadcasts to (..., L, S). "
                "Which axes does it have as it "
                "comes?", "allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else "
                "attn_mask.unsqueeze(1)", "allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else "
                "attn_mask[:, None, None, :]"),
        *VALUES,
        *COMPARED,
        mistake("values transposed", "Features were averaged where values should be. Which axis of the values has one "
                "entry for each weight of a row?", "out = weights @ value.mT"),
        mistake("axes swapped that are not the last two", "It works for some numbers of axes and fails for others: "
                "`.T`, "
                "`transpose(0, 1)` and `transpose(1, 2)` count from the front. Which two axes should swap, counted "
                "from the end?", "products = query @ key.permute(*reversed(range(key.dim())))",
                "products = query @ key.transpose(0, 1)", "products = query @ key.transpose(1, 2)",
                "products = query @ key.T"),
        fixed_axes("products = torch.bmm(query, key.transpose(1, 2))", "products = torch.bmm(query, key.mT)",
                   "out = torch.bmm(weights, value)", 'products = torch.einsum("bld,bsd->bls", query, key)',
                   'products = torch.einsum("bhld,bhsd->bhls", query, key)'),
        cut_off("weights = stable_softmax(scores).detach()", "products = query.detach() @ key.mT",
                "products = query @ key.mT.detach()", "out = weights @ value.detach()", "return out.detach()"),
        overwritten(*writing(scaled_dot_product_attention, 0, 1, 2), _mask_turned),
        squeezed("return out{}"),
        *other_kinds("out", "weights"),
    ),
    laws=(average_law(_averaged),),
    hints=(
        "You have the weights already. What is the matrix product of weights (L, S) and values (S, d_v)?",
        "The mask has to act before the softmax, on the scores. What score makes a weight exactly 0, and leaves the "
        "others as if the key were not there?",
        "`masked_fill` writes where its mask is True; `attn_mask` is True where the query MAY attend. How do you turn "
        "one into the other?",
        "A row without any visible key is -inf everywhere. A softmax that gives zeros there needs no further care; "
        "with another one, set such rows to 0 before the NaN arises.",
        "In order: scores, scale, `masked_fill(~attn_mask, -inf)` if there is a mask, your stable softmax, times the "
        "values.",
    ),
)
