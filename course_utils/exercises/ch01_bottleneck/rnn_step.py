"""Exercise: one step of a plain recurrent network."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.laws import is_other, monotone
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import (
    cut_off,
    left_in,
    other_kinds,
    overwritten,
    random_inside,
    squeezed,
    through_numpy,
    writing,
)
from course_utils.exercises.shared.recurrent import parameters
from course_utils.models.recurrent.rnn import rnn_step
from torch import Tensor

RIGHT = """
def rnn_step(x, h, W_xh, W_hh, b):
    new = x @ W_xh
    old = h @ W_hh
    both = new + old
    total = both + b
    out = torch.tanh(total)
    return out
"""


def _step(batch: int, d_in: int, d_h: int, size: float = 1.0, dtype: str = "float64") -> Make:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        x = normal(g, batch, d_in, size=size, dtype=kind)
        h = normal(g, batch, d_h, size=size, dtype=kind).tanh()
        return x, h, *parameters(g, d_in, d_h, dtype)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(t) if t.dim() > 1 else t for t in _step(3, 5, 4)(g))


def _outside(args: tuple[Any, ...], out: Tensor) -> str | None:
    """Say which entry no tanh can have given, if there is one."""
    far = (out.detach().abs() > 1.0).nonzero()
    if not len(far):
        return None
    where = tuple(int(i) for i in far[0])
    return f"The state at index {list(where)} is {out[where].item():.4g}."


def _rises_with_the_sum(args: tuple[Any, ...], got: Tensor) -> bool:
    x, h, W_xh, W_hh, b = args
    total = x @ W_xh + h @ W_hh + b
    another = bool(((got - total.tanh()).abs() > 1e-6).all())
    return another and is_other(got, total.tanh()) and monotone(total, got)


EXERCISE = exercise(
    rnn_step,
    right=RIGHT,
    asks="Make the next state from an input and the state so far, for a whole batch.",
    minutes=6,
    difficulty=1,
    importance=3,
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        case("3 sequences, input and state of width 3", _step(3, 3, 3), gradient="equal"),
        case("4 sequences, input of width 2, state of width 5", _step(4, 2, 5), gradient="equal"),
        case("one sequence", _step(1, 6, 4), gradient="equal"),
        case("input wider than the state", _step(2, 7, 3)),
        case("input and state of width 1", _step(3, 1, 1)),
        case("large inputs: every entry saturates", _step(2, 4, 3, size=2000.0)),
        case("non-contiguous inputs", _strided),
        case("float32", _step(4, 6, 5, dtype="float32")),
        case("bfloat16", _step(2, 3, 4, dtype="bfloat16")),
    ),
    mistakes=(
        mistake("no tanh", "The state is a plain sum, and grows from step to step. What keeps every entry between -1 "
                "and 1?", "out = total"),
        mistake("bias per sequence", "Each sequence of the batch got a number of its own from `b`. Does `b` have one "
                "number for each sequence, or for each feature?", "total = both + b.unsqueeze(1)"),
        mistake("one bias for all features", "All features got the same number. What is the shape of `b`, and what "
                "does broadcasting do with it if nothing is summed?",
                "total = both + b.sum()", "total = both + b.mean()", "total = both + b[0]"),
        mistake("bias forgotten", "With an input and a state of zero the next state is zero here. What is `b` for?",
                "total = both"),
        mistake("bias after tanh", "`b` is added to what tanh gave, so the state leaves the range from -1 to 1. What "
                "does tanh enclose?", "out = torch.tanh(both) + b", "out = torch.tanh(both) - b",
                "out = torch.tanh(both) + torch.tanh(b)", "out = torch.tanh(both) * b"),
        mistake("bias added twice", "The bias came in twice, once with each product. `torch.nn.RNN` has two biases; "
                "how many are there here?", "total = both + 2 * b"),
        mistake("bias with the wrong sign", "The bias was subtracted. Which sign does it have in the formula?",
                "total = both - b"),
        mistake("bias as a factor", "The bias multiplies. Does it shift the sum, or stretch it?", "total = both * b"),
        mistake("another function than tanh", "The state was squashed, but not by tanh. Which values does tanh give "
                "for large negative numbers, and for zero?",
                "out = torch.sigmoid(total)", "out = torch.softmax(total, -1)", "out = torch.sin(total)",
                "out = torch.tan(total)", "out = total.sigmoid() * total.tanh()", "out = F.gelu(total)",
                "out = F.silu(total)", matches=_rises_with_the_sum),
        mistake("tanh by exponentials that overflow", "Large sums give NaN: the exponentials that tanh was put "
                "together from overflow, and infinity / infinity is not a number. What else gives a tanh?",
                "out = (total.exp() - (-total).exp()) / (total.exp() + (-total).exp())",
                "out = ((2 * total).exp() - 1) / ((2 * total).exp() + 1)",
                "out = (1 - (-2 * total).exp()) / (1 + (-2 * total).exp())", "out = total.sinh() / total.cosh()"),
        mistake("tanh of each part", "tanh was applied to the parts, or more than once. There is one sum and one tanh: "
                "which comes first?", "out = new.tanh() + old.tanh() + b", "both = new.tanh() + old.tanh()",
                "out = torch.tanh(new + b) + torch.tanh(old)", "out = torch.tanh(new) + torch.tanh(old + b)",
                "out = torch.tanh(new) + torch.tanh(old) + torch.tanh(b)", "out = torch.tanh(new) + old + b",
                "out = torch.tanh(new + b) + old", "out = new + torch.tanh(old + b)", "out = new + torch.tanh(old) + b",
                "both = new + torch.tanh(old)", "out = torch.tanh(torch.tanh(new + b) + old)",
                "old = torch.tanh(h) @ W_hh", "out = torch.tanh(new + b) + torch.tanh(old + b)",
                "out = total.tanh().tanh()"),
        mistake("weight matrix transposed", "A matrix is used with its rows and columns swapped, as `F.linear` would "
                "have it. `W_xh` has a row for each feature of the input: which product of a row and a matrix runs "
                "over those rows?", "new = x @ W_xh.mT\nold = h @ W_hh.mT", "new = x @ W_xh.mT", "old = h @ W_hh.mT"),
        mistake("matrix on the left of a batch", "With the matrix on the left, the product runs over the sequences of "
                "the batch and mixes them. Where do the features of `x` stand, in its rows or in its columns?",
                "new = W_xh @ x\nold = W_hh @ h", "new = W_xh @ x", "old = W_hh @ h",
                "new = (W_xh @ x).mT\nold = (W_hh @ h).mT"),
        mistake("the two matrices swapped", "Each matrix meets the wrong vector. Read their names: `W_xh` leads from x "
                "to h. From where does the other lead?", "new = x @ W_hh\nold = h @ W_xh"),
        mistake("one vector for both matrices", "The same vector met both matrices. Which of the two is each of them "
                "for?", "old = x @ W_hh", "new = h @ W_xh", "old = h @ W_xh", "new = x @ W_hh"),
        mistake("added before the matrices", "Input and state were added first. They need not even have the same "
                "width: what does each meet before it is added?",
                "both = (x + h) @ (W_xh + W_hh)", "both = (x + h) @ W_xh", "both = (x + h) @ W_hh"),
        mistake("one matrix after the other", "What came in went through both matrices. There are two ways into the "
                "sum, each with one matrix.", "both = (new + h) @ W_hh", "both = new @ W_hh", "both = (old + x) @ W_xh",
                "total = (new + b + h) @ W_hh", "total = (new + b + h) @ W_hh + b",
                "total = torch.tanh(new + b) @ W_hh", "total = torch.tanh(new + b) @ W_hh + h"),
        mistake("product entry by entry", "`*` multiplies entries that stand in the same place. Which operator sums "
                "over the features, as a matrix product does?",
                "new = x * W_xh\nold = h * W_hh", "new = x * W_xh", "old = h * W_hh", "old = h * W_hh.diagonal()",
                "new = x * W_xh.diagonal()", "new = x * W_xh.diagonal()\nold = h * W_hh.diagonal()"),
        mistake("the old state forgotten", "The next state depends on the input alone: the network forgets everything "
                "at once. Where does `h` enter?", "both = new"),
        mistake("the input forgotten", "The next state depends on the old one alone, whatever is read. Where does `x` "
                "enter?", "both = old"),
        mistake("the old state without its matrix", "The old state is passed on as it is. What stands between h and "
                "the sum?", "old = h"),
        mistake("the input without its matrix", "The input is added as it is. It need not even have the width of the "
                "state: what brings it there?", "new = x"),
        mistake("the parts multiplied", "What comes in and what is remembered were multiplied. The formula adds them: "
                "what would a state of zero do to a product?", "both = new * old"),
        mistake("the parts averaged", "The sum was divided by something. A recurrent step takes its sum as it is: what "
                "does your code divide by?", "both = (new + old) / 2", "both = (new + old) / b.shape[0] ** 0.5",
                "both = (new + old) / b.shape[0]", "total = (both + b) / b.shape[0] ** 0.5"),
        mistake("the old state with the wrong sign", "One of the two parts was subtracted. Which signs does the "
                "formula have?", "both = new - old", "both = old - new"),
        mistake("the old state added again", "The old state is mixed in once more after tanh, as in a residual or a "
                "gated network. What does a plain step give back?",
                "out = torch.tanh(total) + h", "out = (torch.tanh(total) + h) / 2", "out = torch.tanh(total) * h",
                "both = new\nout = torch.tanh(total) + h",
                "gate = torch.sigmoid(total)\nout = gate * h + (1 - gate) * torch.tanh(total)",
                "gate = torch.sigmoid(total)\nout = (1 - gate) * h + gate * torch.tanh(total)"),
        mistake("normalised at the end", "The new state was normalised. tanh keeps it small enough: what does a plain "
                "step give back?", "return out / out.norm(dim=-1, keepdim=True)",
                "return F.layer_norm(out, out.shape[-1:])", "return out.softmax(-1)"),
        mistake("two results", "Two tensors came back, as from `torch.nn.RNN`. One step gives one state.",
                "return out, out", "return h, out", "return out, h"),
        mistake("one sequence for all", "One sequence of the batch was used for all. Each has its own input and its "
                "own state.", "return out[:1].expand_as(out)", "return out[0]", "return out[-1]", "old = h[:1] @ W_hh",
                "new = x[:1] @ W_xh", "old = h.mean(0, keepdim=True) @ W_hh"),
        mistake("features before the batch", "The result has its two axes swapped. Which comes first, the sequence or "
                "the feature?", "return out.mT"),
        mistake("multiplied once more at the end", "The new state has met a matrix already. The next step will "
                "multiply it again: what does this one give back?", "return out @ W_hh", "return out @ W_hh.mT"),
        mistake("averaged over the batch", "The sequences of the batch were averaged or summed. Which of them knows of "
                "the others?", "return out.mean(0)", "return out.sum(0)", "return out.mean(0).expand_as(out)",
                "both = (new + old).sum(0, keepdim=True).expand_as(new)",
                "both = (new + old).mean(0, keepdim=True).expand_as(new)"),
        mistake("the state wanders from sequence to sequence", "A sequence starts with what the one before it left "
                "behind. Which row of `h` belongs to it?",
                "def rnn_step(x, h, W_xh, W_hh, b):\n    rows, state = [], h[0]\n    for row in x:\n"
                "        state = torch.tanh(row @ W_xh + state @ W_hh + b)\n        rows.append(state)\n"
                "    return torch.stack(rows)",
                "def rnn_step(x, h, W_xh, W_hh, b):\n    rows, state = [], torch.zeros_like(h[0])\n    for row in x:\n"
                "        state = torch.tanh(row @ W_xh + state @ W_hh + b)\n        rows.append(state)\n"
                "    return torch.stack(rows)"),
        mistake("some sequences left out", "Some sequences have a state, the others are still zeros. Does the loop "
                "come to its end before something is returned, and does it reach every sequence?",
                "return torch.cat([out[:1], 0 * out[1:]])", "return torch.cat([out[:-1], 0 * out[-1:]])",
                "return torch.cat([0 * out[:1], out[1:]])"),
        left_in("return out{}"),
        squeezed("return out{}"),
        mistake("the state cut off from its past", "The values are right, but no gradient reaches `h`: training would "
                "never learn what an earlier step should remember. What cuts it off?", "old = h.detach() @ W_hh"),
        cut_off("new = x.detach() @ W_xh", "new = x @ W_xh.detach()\nold = h @ W_hh.detach()",
                "old = h @ W_hh.detach()",
                "total = both + b.detach()", "return out.detach()"),
        overwritten(*writing(rnn_step, 0, 1, 4)),
        through_numpy("return torch.from_numpy(out.detach().numpy())"),
        random_inside("new = torch.dropout(x, 0.5, True) @ W_xh"),
        *other_kinds("out"),
    ),
    laws=(Law("a tanh lies between -1 and 1", _outside),),
    hints=(
        "Two things decide the next state: what comes in now, and what is remembered. Each has its own matrix.",
        "A row of `x` is one sequence. For a row of width d_in and a matrix (d_in, d_h), on which side of the product "
        "is the row?",
        "Both products have the shape (B, d_h), and `b` is added to every row of their sum. Where does tanh come, "
        "before or after the sum?",
    ),
)
