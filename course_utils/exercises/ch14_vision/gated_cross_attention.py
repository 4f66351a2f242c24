"""Exercise: text reads an image through a gate."""

from typing import Any

import torch
from course_utils.attention import gated_cross_attention, scaled_dot_product_attention
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided, visible
from course_utils.checking.laws import is_other
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.masking import EMPTY_ROWS, MASK, if_given
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.projections import projections
from course_utils.exercises.shared.roles import ROLES
from course_utils.exercises.shared.scale import DEFAULT, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES
from torch import Tensor

RIGHT = """
def gated_cross_attention(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None):
    query = x @ W_q
    key = context @ W_k
    value = context @ W_v
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = query @ key.mT
    scaled = products * factor
    allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else attn_mask
    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    out = weights @ value
    read = out @ W_o
    opening = gate.tanh()
    added = opening * read
    result = x + added
    return result
"""


def _made(
    batch: int,
    length: int,
    keys: int,
    *widths: int,
    gate: float = 0.8,
    size: float = 1.0,
    dtype: str = "float64",
    mask: tuple[int, ...] = (),
    empty: tuple[Any, ...] = (),
    spread: bool = False,
) -> Make:
    """Return a maker of the arguments; the widths are d, d_c, d_k and d_v."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        d, d_c, d_k, d_v = widths
        x, context = normal(g, batch, length, d, dtype=kind), normal(g, batch, keys, d_c, size=size, dtype=kind)
        # Of such sizes that scores are about 1: saturated weights hide a wrong scale.
        sizes = ((d, d_k), (d_c, d_k), (d_c, d_v), (d_v, d))
        tensors = [x, context, *(normal(g, *one, size=one[0] ** -0.5, dtype=kind) for one in sizes)]
        tensors = [strided(one) for one in tensors] if spread else tensors
        allowed = [visible(g, *mask)] if mask else []
        for row in empty:
            allowed[0][row] = False
        return (*tensors, torch.tensor(gate, dtype=kind), *allowed)

    return make


def _pushed(g: torch.Generator) -> tuple[Any, ...]:
    """Make hidden keys that have by far the best scores."""
    x, context, *matrices, gate = _made(2, 3, 6, 4, 4, 4, 5)(g)
    mask = torch.tensor([True, False, True, True, False, False])
    eye = torch.eye(4, dtype=x.dtype)
    context = context + 1e4 * torch.where(mask, -1.0, 1.0).double().unsqueeze(-1)
    return x.abs() + 1, context, eye, eye.clone(), *matrices[2:], gate, mask.expand(3, 6).clone()


def _scores(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    return (x @ W_q) @ (context @ W_k).mT


def _mask(args: tuple[Any, ...]) -> Tensor | None:
    return args[7] if len(args) > 7 else None


def _read(args: tuple[Any, ...], out: Tensor) -> Tensor:
    """Return what was added to x, before the gate."""
    return (out.detach() - args[0]) / args[6].tanh()


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    x, context, W_q, W_k, W_v, W_o, gate = args[:7]
    if context.shape[1] < 2 or not gate or not is_other(got - x, gated_cross_attention(*args) - x):
        return False
    query, key, value = x @ W_q, context @ W_k, context @ W_v @ W_o
    return some_scale(
        lambda s: scaled_dot_product_attention(query, key, value, _mask(args), s), _read(args, got)
    )


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    scores = _scores(*args[:4]) / args[2].shape[1] ** 0.5
    mask = _mask(args)
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return bool(args[6] != 0) and some_epsilon(scores, _read(args, gated_cross_attention(*args)), _read(args, got))


EXERCISE = exercise(
    gated_cross_attention,
    right=RIGHT,
    asks="Let x read the context, and add what it reads through a gate: x + tanh(gate) · (attention @ W_o).",
    minutes=10,
    difficulty=3,
    importance=4,
    cases=(
        case("3 sequences of length 3, all widths 3", _made(3, 3, 3, 3, 3, 3, 3), gradient="equal"),
        case("gate 0: x itself", _made(2, 4, 5, 3, 6, 7, 8, gate=0.0), gradient="equal"),
        case("4 positions read 5, all widths different", _made(2, 4, 5, 3, 6, 7, 8), gradient="equal"),
        case("gate 2: nearly open", _made(2, 3, 6, 4, 5, 2, 3, gate=2.0)),
        case("gate -0.5", _made(2, 3, 6, 4, 5, 2, 3, gate=-0.5)),
        case("gate 8: open", _made(2, 5, 3, 4, 2, 3, 6, gate=8.0)),
        case("equal lengths", _made(2, 4, 4, 3, 3, 3, 3)),
        case("d_k far below the width of x", _made(2, 3, 5, 16, 9, 2, 4)),
        case("x longer than the context", _made(3, 6, 2, 5, 4, 3, 7)),
        case("a mask of shape (4, 5) for all 4 texts", _made(4, 4, 5, 3, 6, 7, 8, mask=(4, 5)), gradient="equal"),
        case("a mask of shape (2, 4, 5), one for each sequence", _made(2, 4, 5, 3, 6, 7, 8, mask=(2, 4, 5))),
        case("a mask of shape (2, 1, 5)", _made(2, 4, 5, 6, 3, 2, 8, mask=(2, 1, 5))),
        case("every size is 4", _made(4, 4, 4, 4, 4, 4, 4, mask=(4, 4, 4))),
        case("hidden keys with by far the best scores", _pushed),
        case("positions that may read nothing",
             _made(2, 4, 5, 3, 6, 7, 8, mask=(2, 4, 5), empty=((0, 0), (0, 2), (1, 3))), gradient="equal"),
        case("nobody may read anything", _made(1, 3, 4, 5, 2, 3, 6, mask=(3, 4), empty=(slice(None),)),
             gradient="equal"),
        case("one position, one key", _made(2, 1, 1, 3, 4, 2, 5)),
        case("every width 1", _made(2, 3, 4, 1, 1, 1, 1)),
        case("one sequence", _made(1, 3, 5, 4, 2, 5, 6)),
        case("scores of thousands", _made(2, 3, 5, 4, 6, 7, 8, size=5e3), gradient="finite"),
        case("non-contiguous tensors", _made(2, 3, 5, 4, 6, 8, 7, spread=True)),
        case("float32", _made(2, 3, 5, 8, 6, 16, 4, dtype="float32")),
        case("bfloat16", _made(2, 3, 4, 3, 5, 4, 6, dtype="bfloat16", mask=(3, 4)), tolerance=0.2),
    ),
    mistakes=(
        mistake("no residual", "What is read replaced x. What should come out while the gate is shut?",
                "result = added"),
        mistake("no tanh", "The gate multiplies as it is: a gate of 8 makes what is read eight times as large. Which "
                "function keeps it between -1 and 1?", "opening = gate", "opening = gate.clamp(-1, 1)",
                "opening = gate.clamp(0, 1)"),
        mistake("sigmoid", "The gate went through a sigmoid. What does a sigmoid make of a gate of 0, and what of a "
                "model that has learned without images?", "opening = gate.sigmoid()",
                "opening = 2 * gate.sigmoid()", "opening = (2 * gate).sigmoid()"),
        mistake("another function of the gate", "The gate is bent by another function than the tanh, or by its tanh "
                "more than once.", "opening = gate.tanh().abs()", "opening = gate.tanh().square()",
                "opening = gate.tanh().tanh()", "opening = gate.sin()", "opening = 1 - gate.tanh()",
                "opening = gate.tanh().relu()", "opening = 1 + gate.tanh()", "opening = gate.atan()",
                "opening = -gate.tanh()", "opening = gate.exp()", "opening = F.softsign(gate)",
                "opening = (gate / 2).tanh()", "opening = gate.relu()", "opening = F.gelu(gate)",
                "opening = F.softplus(gate)", "opening = F.silu(gate)"),
        mistake("gate ignored", "Whatever the gate is, what is read is added in full, or not at all.",
                "opening = 1.0", "opening = 0.0", "result = x + 0.0 * added"),
        mistake("blend instead of a sum", "x fades as the gate opens: the two are blended. A residual stays whole: "
                "which of the two terms does the gate belong to?", "result = (1 - opening) * x + added",
                "result = (1 - gate) * x + gate * read", "result = (1 - gate.sigmoid()) * x + gate.sigmoid() * read"),
        mistake("gate on x", "The gate multiplies x, or both terms. Which of the two has to vanish at gate 0?",
                "result = opening * x + read", "result = opening * (x + read)"),
        mistake("gate inside the softmax", "The gate multiplies the scores. There it makes the choice sharper or "
                "softer; it cannot shut the door: what do the weights of a row sum to at gate 0?",
                "scaled = products * factor * gate.tanh()\nopening = 1.0", "scaled = products * factor * gate\n"
                "opening = 1.0", "scaled = products * factor * gate.tanh()"),
        mistake("gate inside the tanh with what is read", "The tanh was taken of the numbers that were read. It bends "
                "the gate, one number, and nothing else.", "added = (gate * read).tanh()",
                "added = gate * read.tanh()", "added = opening * read.tanh()", "read = out.tanh() @ W_o",
                "added = read.tanh()"),
        mistake("the stream added twice", "More than x was added to what is read. How often does x go round "
                "the gate?", "result = 2 * x + added",
                "result = x + (x + read) * opening"),
        mistake("W_o forgotten", "What is read was added as it is. Which matrix brings it back to the width of x?",
                "read = out if out.shape[-1] == x.shape[-1] else out.mean(-1, keepdim=True).expand_as(x)"),
        mistake("W_o transposed", "The last matrix was transposed or read in another order. Its rows belong to what "
                "is read already.", "read = out @ (W_o.mT if W_o.shape[0] == W_o.shape[1] else "
                "W_o.mT.reshape(W_o.shape))"),
        mistake("an empty row gives zeros", "A position that may read nothing came out as zeros. It reads nothing, so "
                "nothing is added: what is left?", "seen = allowed.expand(scaled.shape).any(-1, keepdim=True)\n"
                "result = (x + added) * seen"),
        # x stays where it was: the images ask in the attention alone.
        *adding(ROLES, {"query from context": ("query = context @ W_q\nkey = x @ W_k\nvalue = x @ W_v",)}),
        *without(projections("x", "context", "context"), "value = context @ W_k", "normalised"),
        *without(DEFAULT, "default = 1 / math.sqrt(query.shape[1])"),
        mistake("scaled by the width of x", "The scale comes from a width before the projections. Which two vectors "
                "make a score, and how wide are they?", "default = 1 / math.sqrt(x.shape[-1])",
                "default = 1 / math.sqrt(context.shape[-1])"),
        *epsilon(_epsilon),
        *another_scale(_some_scale),
        *without(COMPARED, "products = query @ value.mT",
                 "key, value = value, key\ndefault = 1 / math.sqrt(query.shape[-1])",
                 "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value"),
        *saying(adding(without(SOFTMAX, "weights = torch.softmax(scores, 1)", "weights = torch.softmax(scores, 2)"), {
            "no shift before exp": ("powers = scaled.exp() * allowed\n"
                                    "weights = powers / (powers.sum(-1, keepdim=True) + 1e-9)",
                                    "powers = scaled.exp() * allowed\ntotal = powers.sum(-1, keepdim=True)\n"
                                    "weights = powers / total.masked_fill(total == 0, 1.0)")}), {
            "softmax over an axis counted from the front": "The weights sum to 1 over the sequences of the batch. "
                "Which axis holds the keys, counted from the end?",
        }),
        *if_given(MASK),
        mistake("attn_mask=None not handled", "Without a mask the function stops with an error: `attn_mask` is None "
                "then, and no tensor. What may every query read where nobody says otherwise?", "allowed = attn_mask",
                "scores = scaled.masked_fill(attn_mask == 0, -torch.inf)", "scores = scaled.masked_fill("
                "attn_mask.logical_not(), -torch.inf)"),
        mistake("a mask of two axes read as one row for each text", "A mask of two axes was given an axis for the "
                "positions, as if it were (B, S). What broadcasts to (B, L, S) by itself: which axis is missing?",
                "allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else (\n    "
                "attn_mask.unsqueeze(1) if attn_mask.dim() == 2 and len(attn_mask) == len(x) else attn_mask)"),
        *EMPTY_ROWS,
        *VALUES,
        RANDOM,
        *saying((batch_mixed("key = context.roll(1, 0) @ W_k\nvalue = context.roll(1, 0) @ W_v",
                             "key = context[:1] @ W_k\nvalue = context[:1] @ W_v",
                             "key = context.flip(0) @ W_k\nvalue = context.flip(0) @ W_v"),), {
            "the sequences of a batch mixed": "A text reads the images of another, or one context serves all. "
            "Sequence i of the batch reads context i alone."}),
        mistake("normalised before the projections", "x or the context was normalised before it met its matrices, as "
                "Flamingo's whole layer does. The formula has the matrices alone.",
                "query = F.layer_norm(x, x.shape[-1:]) @ W_q",
                "key = F.layer_norm(context, context.shape[-1:]) @ W_k\n"
                "value = F.layer_norm(context, context.shape[-1:]) @ W_v",
                "query = F.layer_norm(x, x.shape[-1:]) @ W_q\n"
                "key = F.layer_norm(context, context.shape[-1:]) @ W_k\n"
                "value = F.layer_norm(context, context.shape[-1:]) @ W_v"),
        mistake("normalised or bent at the end", "Something more was done to the result: a norm or an activation. The "
                "block ends with the sum.", "result = F.layer_norm(x + added, x.shape[-1:])",
                "result = x + F.layer_norm(added, x.shape[-1:])", "result = x + added.relu()",
                "result = (x + added).tanh()"),
        mistake("the weights returned too", "Output and weights came back together. Only the output is asked for here.",
                "return result, weights"),
        squeezed("return result{}"),
        cut_off("opening = gate.detach().tanh()", "opening = math.tanh(gate)", "result = x.detach() + added",
                "read = out.detach() @ W_o", "key = context.detach() @ W_k", "result = x + added.detach()",
                "weights = stable_softmax(scores).detach()",
                "result = x if gate == 0 else x + added"),
        overwritten(*writing(gated_cross_attention, 0, 1, 2, 3, 4, 5, 6)),
        *without(other_kinds("result", "weights"), "return result, weights"),
        lower_precision(gated_cross_attention, "read = (out.float() @ W_o.float()).to(x.dtype)"),
    ),
    hints=(
        "It is chapter 04's cross-attention, then one matrix, then the gate. Whose positions does the result have?",
        "Query from x, key and value from the context; a query that may read nothing gets zeros from the attention. "
        "What does that make of the sum?",
        "The gate is one number. Its tanh multiplies what came out of `W_o`, before x is added.",
        "Do not shut the door with an `if`: at gate 0 the product is zero already, and the gradient of the gate is "
        "what opens it.",
    ),
)
