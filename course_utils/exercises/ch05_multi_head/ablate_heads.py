"""Exercise: what multi-head attention says without some of its heads."""

from collections.abc import Callable

import torch
from course_utils.attention import ablate_heads
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import adding, mistake, without
from course_utils.exercises.shared.heads import MERGE, MIX, joined
from course_utils.exercises.shared.kinds import other_kinds, overwritten
from torch import Tensor

RIGHT = """
def ablate_heads(head_outputs, W_o, keep):
    loud = keep
    out = head_outputs.masked_fill(~loud[:, None, None], 0.0)
    turned = out.transpose(1, 2)
    merged = turned.flatten(-2)
    mixed = merged @ W_o
    return mixed
"""


def _keep(marks: str) -> Callable[[torch.Generator], Tensor]:
    """Return a maker of `keep`, with a 1 for each head that is kept."""
    return lambda g: torch.tensor([mark == "1" for mark in marks])


def _split(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Store the heads in memory as a split leaves them: position by position."""
    heads, W_o = normal(g, 2, 3, 5, 4), normal(g, 12, 12)
    return heads.transpose(1, 2).contiguous().transpose(1, 2), W_o, _keep("101")(g)


def _large(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    return normal(g, 2, 3, 4, 5, size=1e6), normal(g, 15, 15), _keep("101")(g)


_SILENT = "(~keep).nonzero().flatten().tolist()"

EXERCISE = exercise(
    ablate_heads,
    right=RIGHT,
    asks="Give the output of multi-head attention in which only the kept heads speak.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("4 heads, all kept", B=2, H=4, L=3, d_k=5, d_model=20, keep=_keep("1111"), gradient="equal"),
        case("5 heads, two kept", B=3, H=5, L=4, d_k=2, d_model=10, keep=_keep("01010"), gradient="equal"),
        case("4 heads, one left out", B=2, H=4, L=3, d_k=5, d_model=20, keep=_keep("1011")),
        case("the last of 3 heads kept", B=2, H=3, L=4, d_k=5, d_model=15, keep=_keep("001")),
        case("as many sequences and positions as heads", B=3, H=3, L=3, d_k=4, d_model=12, keep=_keep("011")),
        case("as many features per head as heads", B=2, H=4, L=5, d_k=4, d_model=16, keep=_keep("0110")),
        case("no head kept", B=2, H=3, L=5, d_k=4, d_model=12, keep=_keep("000")),
        case("one head, kept", B=2, H=1, L=3, d_k=4, d_model=4, keep=_keep("1")),
        case("one head, left out", B=2, H=1, L=3, d_k=4, d_model=4, keep=_keep("0")),
        case("heads of width 1", B=2, H=4, L=3, d_k=1, d_model=4, keep=_keep("1001")),
        case("a W_o that is not square", B=2, H=3, L=5, d_k=4, d_model=7, keep=_keep("101")),
        case("one sequence, one position", B=1, H=3, L=1, d_k=4, d_model=12, keep=_keep("110")),
        case("large numbers", _large),
        case("heads as a split leaves them in memory", _split),
        case("non-contiguous inputs", B=3, H=2, L=5, d_k=4, d_model=8, keep=_keep("01"), strided=True,
             gradient="equal"),
        case("float32", B=2, H=3, L=5, d_k=4, d_model=12, keep=_keep("011"), dtype="float32"),
        case("bfloat16", B=2, H=3, L=5, d_k=4, d_model=12, keep=_keep("110"), dtype="bfloat16", tolerance=0.2),
    ),
    mistakes=(
        mistake("keep ignored", "All heads speak, whatever `keep` says. Where is it used?", "out = head_outputs"),
        mistake("keep inverted", "The heads that should speak are silent, and the others speak. What does True mean in "
                "`keep`, and what does True mean to `masked_fill`?", "loud = ~keep"),
        mistake("keep read as places", "`keep` was used as indices, so 0 and 1 picked heads 0 and 1. It holds one yes "
                "or no per head: what kind of index is that?",
                "out = head_outputs[:, keep.long()]", "loud = torch.isin(torch.arange(len(keep)), keep.long())"),
        mistake("only one head kept or left out", "One head alone was kept, or one alone left out. `keep` may say so "
                "of several.", "loud = keep & (keep.cumsum(0) == 1)", "loud = keep | ((~keep).cumsum(0) != 1)",
                "loud = keep.any().expand(len(keep))", "loud = keep.all().expand(len(keep))"),
        mistake("the first heads kept", "As many heads speak as should, but they are the first ones, or the last. "
                "`keep` says more than how many: which heads does it name?",
                "loud = torch.arange(len(keep)) < keep.sum()", "loud = torch.arange(len(keep)) >= (~keep).sum()"),
        mistake("all heads kept if none is", "With no head kept, all of them speak. None is a choice like any other: "
                "what should then be left?",
                "loud = keep if keep.any() else ~keep", "loud = keep | (~keep.any() & (torch.arange(len(keep)) == 0))"),
        mistake(
            "a wrong axis left out",
            "`keep` acted on another axis than the heads: sequences, positions or features became silent. Which axis "
            "of (B, H, L, d_k) does it belong to, and which axes does it need after it?",
            *(
                f"wide = torch.ones(head_outputs.shape[{axis}], dtype=torch.bool)\n"
                f"wide[: len(keep)] = keep[: len(wide)]\nout = head_outputs * wide.view({shape})"
                for axis, shape in ((2, "-1, 1"), (0, "-1, 1, 1, 1"), (3, "-1"))
            ),
            "out = head_outputs * keep",
            "out = head_outputs * keep[:, None]",
            "out = head_outputs * keep[:, None, None, None]",
            "out = head_outputs.masked_fill(~keep[:, None], 0.0)",
        ),
        mistake("output channels silenced", "Whole channels of the output are zero, and every head still speaks into "
                "the others: columns of W_o were cleared, or the output itself. W_o mixes all heads into all "
                "channels; where are the heads still apart, and which rows of W_o does one of them feed?",
                "out = head_outputs\nmixed = merged @ (W_o * keep.repeat_interleave(out.shape[-1]))",
                "mixed = merged @ W_o * keep.repeat(out.shape[-1])",
                "wide = torch.ones(W_o.shape[1], dtype=torch.bool)\nwide[: len(keep)] = keep\nout = head_outputs\n"
                "mixed = merged @ (W_o * wide)", "mixed = merged @ W_o * keep.repeat_interleave(out.shape[-1])"),
        mistake(
            "the wrong rows of W_o",
            "Some rows of W_o, or the channels that meet them, were set to zero, but not those of the silent heads. "
            "Which of them are head h's, if the heads are side by side?",
            "out = head_outputs\nmixed = merged @ (W_o * keep.repeat(out.shape[-1])[:, None])",
            *(
                f"out = head_outputs\nd_k, rows = out.shape[-1], W_o.clone()\n"
                f"for h in {_SILENT}: rows[{first} : {last}] = 0.0\nmixed = merged @ rows"
                for first, last in (("h", "h + 1"), ("h", "h + d_k"), ("(h + 1) * d_k", "(h + 2) * d_k"))
            ),
        ),
        mistake("heads taken away instead of silenced", "The silent heads were cut out, and those after them moved "
                "up: they now feed rows of W_o that are not theirs. What keeps each head in its place?",
                "out = head_outputs[:, keep]\nmixed = merged @ W_o[: merged.shape[-1]]", "out = head_outputs[:, keep]",
                "out = head_outputs[:, keep]\nmixed = F.pad(merged, (0, len(W_o) - merged.shape[-1])) @ W_o"),
        *without(joined(MIX, MERGE), "merged = turned.flatten(-2) / out.shape[1]"),
        mistake("divided by the heads that are kept", "The output was divided by the number of kept heads. Heads are "
                "mixed by W_o, not averaged.",
                "mixed = merged @ W_o / keep.sum()", "mixed = merged @ W_o / keep.sum().clamp(min=1)",
                "mixed = merged @ W_o / len(keep)", "mixed = merged @ W_o * keep.double().mean().to(W_o.dtype)"),
        mistake("the rest made larger", "The kept heads were made louder to make up for the silent ones, as dropout "
                "does. Leaving a head out shows what is missing without it: should the others change?",
                "mixed = merged @ W_o * len(keep) / keep.sum()",
                "mixed = merged @ W_o * (len(keep) / keep.sum().clamp(min=1))",
                "mixed = merged @ W_o / keep.double().mean().sqrt().to(W_o.dtype)"),
        mistake(
            "something else in place of zero",
            "A silent head still says something: an average, what was found elsewhere, or its own output turned round "
            "is in its place. Zeros are asked for.",
            *(
                f"out = torch.where(keep[:, None, None], head_outputs, head_outputs{other})"
                for other in (
                    *(f".mean({axis}, keepdim=True)" for axis in (1, (0, 2), 2, 0)),
                    *(".roll(1, 0)", ".roll(1, 1)", "[:, :1]", " * -1.0", " * 0.5"),
                )
            ),
        ),
        mistake(
            "filled with another number",
            "The silent heads were filled with a number that is not zero. A score can be hidden by -inf; what is "
            "silence in an output?",
            *(
                f"out = head_outputs.masked_fill(~keep[:, None, None], {number})"
                for number in ("-1e9", "-torch.inf", "1.0", "1e-9", "torch.nan")
            ),
            "out = head_outputs - (~keep[:, None, None]).to(W_o.dtype)",
        ),
        mistake("the change instead of the output", "This is how the output changes. The output of the heads that are "
                "kept is asked for.", "mixed = merged @ W_o - head_outputs.transpose(1, 2).flatten(-2) @ W_o"),
        mistake("silent in the first sequence only", "The heads are silent in one sequence of the batch, and the "
                "others still hear them. Which axis comes before that of the heads?",
                "copy = head_outputs.clone()\ncopy[0, ~keep] = 0.0\nout = copy",
                "copy = head_outputs.clone()\ncopy[-1, ~keep] = 0.0\nout = copy"),
        mistake("nothing to add up", "It is right as long as a head is left. With no head kept there is nothing to add "
                "up or to join: `sum` gives the number 0 then, and `stack` and `cat` refuse. What could the adding "
                "start from?",
                *(f"d_k = out.shape[-1]\n"
                  f"each = [out[:, h] @ W_o[h * d_k : (h + 1) * d_k] for h in range(len(keep)) if keep[h]]\n"
                  f"mixed = {add}"
                  for add in ("sum(each)", "torch.stack(each).sum(0)", "torch.stack(each).sum(dim=0)")),
                "each = [out[:, h] for h in range(len(keep)) if keep[h]]\n"
                "mixed = torch.cat(each, -1) @ W_o[keep.repeat_interleave(out.shape[-1])]"),
        overwritten(
            "with torch.no_grad(): head_outputs[:, ~keep] = 0.0\nout = head_outputs",
            "with torch.no_grad(): W_o[~keep.repeat_interleave(head_outputs.shape[-1])] = 0.0\nout = head_outputs"),
        mistake("a slope where a head is silent", "The values are right, but silent heads get a gradient: they were "
                "silenced behind autograd's back, by `.data` or under `no_grad`. What does the output owe to a head "
                "that does not speak?", "copy = head_outputs.clone()\ncopy.data[:, ~keep] = 0.0\nout = copy"),
        *adding(other_kinds("mixed"), {"another dtype": (
            "out = head_outputs * keep.float()[:, None, None]", "out = head_outputs * keep.double()[:, None, None]",
        )}),
    ),
    hints=(
        "Silence the heads while they are still apart: after W_o every output channel holds something of all of them.",
        "`keep` has the shape (H,), the heads (B, H, L, d_k). Broadcasting lines shapes up from the right: how many "
        "axes of size 1 does `keep` need after it?",
        "Either multiply or use `masked_fill`; it fills where its mask is True, so it wants the heads that do NOT "
        "speak.",
        "In order: silence, merge as in the exercise before, times W_o. Removing heads instead would move the others "
        "to rows of W_o that are not theirs.",
    ),
)
