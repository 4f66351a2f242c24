"""Exercise: read whole sequences, and keep what is known after each one's last real token."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake
from course_utils.exercises.shared.kinds import cut_off, other_parts, overwritten, writing
from course_utils.exercises.shared.recurrent import parameters
from course_utils.models.recurrent.rnn import encode

RIGHT = """
def encode(x, lengths, W_xh, W_hh, b):
    rows = torch.arange(x.shape[0])
    last = lengths - 1
    inputs = x
    first = x.new_zeros(x.shape[0], b.shape[0])
    h, after = first, []
    for t in range(inputs.shape[1]):
        new = inputs[:, t] @ W_xh
        old = h @ W_hh
        h = torch.tanh(new + old + b)
        after.append(h)
    table = torch.stack(after, dim=1)
    states = table
    context = states[rows, last]
    return states, context
"""
_REAL = "real = (torch.arange(x.shape[1]) < lengths.unsqueeze(-1)).unsqueeze(-1)\n"
_BEFORE = "torch.cat([first.unsqueeze(1), table], dim=1)"


def _sequences(
    *lengths: int,
    steps: int,
    d_in: int,
    d_h: int,
    size: float = 1.0,
    dtype: str = "float64",
    zeros: bool = False,
    columns: bool = False,
) -> Make:
    """Return a maker of the arguments; the padding holds numbers like the rest, or zeros."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = normal(g, len(lengths), steps, d_in, size=size, dtype=getattr(torch, dtype))
        kept = torch.tensor(lengths)
        if zeros:
            x = x * (torch.arange(steps) < kept.unsqueeze(-1)).unsqueeze(-1)
        made = x, kept, *parameters(g, d_in, d_h, dtype)
        return tuple(strided(t) if columns and t.dim() > 1 else t for t in made)

    return make


EXERCISE = exercise(
    encode,
    right=RIGHT,
    asks="Run the step over all positions; give all states, and the one at each last real token.",
    minutes=12,
    difficulty=2,
    importance=4,
    parts=("states", "context"),
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        case("3 sequences of 3 steps, all widths 3, lengths 2, 1, 2", _sequences(2, 1, 2, steps=3, d_in=3, d_h=3),
             gradient="equal"),
        case("4 sequences of 6 steps, lengths 6, 1, 4, 3", _sequences(6, 1, 4, 3, steps=6, d_in=2, d_h=5),
             gradient="equal"),
        case("no padding at all", _sequences(5, 5, steps=5, d_in=3, d_h=4)),
        case("nothing but padding after the first step", _sequences(1, 1, 1, steps=4, d_in=2, d_h=5)),
        case("padding of zeros", _sequences(3, 5, 2, 7, steps=7, d_in=4, d_h=3, zeros=True)),
        case("padding in every sequence", _sequences(3, 5, 2, steps=8, d_in=4, d_h=6)),
        case("one sequence", _sequences(3, steps=5, d_in=4, d_h=2)),
        case("one step", _sequences(1, 1, steps=1, d_in=3, d_h=4)),
        case("input and state of width 1", _sequences(4, 2, steps=4, d_in=1, d_h=1)),
        case("large inputs", _sequences(4, 2, 3, steps=4, d_in=5, d_h=2, size=40.0)),
        case("non-contiguous inputs", _sequences(2, 5, steps=5, d_in=4, d_h=3, columns=True)),
        case("float32", _sequences(5, 3, 4, steps=5, d_in=6, d_h=4, dtype="float32")),
        case("bfloat16", _sequences(2, 4, 1, steps=4, d_in=3, d_h=2, dtype="bfloat16")),
    ),
    mistakes=(
        mistake("state at the last padded step", "The context was read after the padding, so it depends on tokens that "
                "are not there. After which step has sequence b been read to its end?", "context = states[:, -1]",
                "context = states[:, -1:]", "context = states[-1]", "context = states[:, -1].unsqueeze(0)"),
        mistake("one step too far", "The context is the state one step after the last real token. Steps count from 0: "
                "at which index does a sequence of length 1 end?",
                "last = lengths", "last = lengths.clamp(max=x.shape[1] - 1)"),
        mistake("one step too early", "The context is the state before the last real token was read. At which index "
                "does a sequence of length 2 end?",
                "last = lengths - 2", "last = (lengths - 2).clamp(min=0)", f"context = {_BEFORE}[rows, last]"),
        mistake("length counted from the end", "The length was used as an index from the end. Where is the padding, "
                "before the tokens or after them?", "last = -lengths", "last = x.shape[1] - lengths",
                "last = x.shape[1] - lengths - 1", "last = lengths // 2"),
        mistake("one length for the whole batch", "All sequences were read at the same step. Each has its own length: "
                "how do you pick a different step for each row?", "last = lengths.max() - 1",
                "last = lengths[0] - 1", "last = lengths.min() - 1", "last = lengths[-1] - 1", "last = 0"),
        mistake("every length for every sequence", "`states[:, lengths - 1]` takes all of the steps from all of the "
                "sequences. What must take the place of the colon, so that rows and steps are paired?",
                "context = states[:, last]", "context = states[:, last].mean(1)", "context = states[:, last].sum(1)",
                "context = states[:, last].diagonal(dim1=0, dim2=1)"),
        mistake("the lengths pick sequences", "The lengths were used as indices of the first axis, that of the "
                "sequences. Which axis holds the steps?",
                "context = states[last]", "context = states[last, -1]", "context = states[last, 0]"),
        mistake("the contexts of the batch mixed", "The contexts of all sequences were averaged or summed, or taken "
                "from one sequence. How many sequences are there, and how many contexts?", "context = states[0, last]",
                "return states, context.mean(0)", "return states, context.sum(0)",
                "return states, context.mean(0).expand_as(context)", "return states, context[-1]"),
        mistake("one feature instead of a state", "Only one number of each state came back. `gather` takes as many as "
                "its index has entries: along which axis must the index have been expanded?",
                "context = states.gather(1, last[:, None, None]).squeeze(1)",
                "context = states.gather(1, last[:, None, None])"),
        mistake("one result alone", "One tensor came back. Attention needs all states, the fixed context only one of "
                "them: both are asked for.", "return states", "return context"),
        mistake("mean of the states", "The context is an average or a sum over steps. It should be one state, the last "
                "that belongs to the sequence.", "context = states.mean(1)",
                _REAL + "context = (states * real).sum(1) / lengths.unsqueeze(-1).to(x.dtype)",
                "context = states.sum(1)", "context = states.amax(1)", "context = states.max(1)",
                "context = (states[:, 0] + states[:, -1]) / 2", "context = states[:, 0] + states[:, -1]",
                "context = (states[:, 0] + states[rows, last]) / 2", "context = states.softmax(1).mul(states).sum(1)",
                _REAL + "context = (states * real).sum(1)", _REAL + "context = (states * real).mean(1)",
                _REAL + "context = (states * real).amax(1)"),
        mistake("context first", "The two results come back in the other order. Which is asked for first?",
                "return context, states"),
        mistake("the axis of the step left in", "The context still has an axis for the step, of size 1. How many axes "
                "does one vector per sequence need?",
                "return states, context.unsqueeze(1)", "return states, context.unsqueeze(0)"),
        mistake("random numbers inside", "Something is drawn at random inside: the first state, or the weights of a "
                "layer that is made there. With what does the recurrence start, and whose weights does it use?",
                "first = torch.randn(x.shape[0], b.shape[0]).to(x.dtype)",
                detects=lambda trace: trace.used_global_random, even_if_right=False),
        mistake("states zeroed in the padding", "The states past each length are zeros. That hides the padding, as "
                "packed sequences do; here the recurrence simply goes on. Which result alone knows of the lengths?",
                _REAL + "states = table * real"),
        mistake("states frozen in the padding", "The state does not change past each length. Here the recurrence runs "
                "over the padding too. Which result alone knows of the lengths?",
                _REAL + "states = torch.where(real, table, table[rows, last].unsqueeze(1))"),
        mistake("padding inputs zeroed", "The inputs past each length were replaced by zeros, so the states there "
                "differ. Take the padding as it comes: which of the two results depends on the lengths?",
                _REAL + "inputs = x * real"),
        mistake("the first state is not zero", "The recurrence starts from something other than zeros. What does the "
                "network remember before it has read anything?", "first = x.new_ones(x.shape[0], b.shape[0])",
                "first = b.expand(x.shape[0], -1)", "first = b.tanh().expand(x.shape[0], -1)", "first = x[:, 0]"),
        mistake("the state before each step", "The list holds the state that went into each step, the first of them "
                "zero. Does the state at step t know the token at step t?", f"states = {_BEFORE}[:, :-1]",
                f"states = {_BEFORE}[:, :-1]\ncontext = table[rows, last]", f"return {_BEFORE}, context"),
        mistake("the state is not carried on", "Every step starts from the same state, so each knows its own token "
                "alone. What must the loop do with the state that a step gives?", "old = first @ W_hh"),
        mistake("the same input at every step", "Every step reads the same token. Which index of `x` changes from step "
                "to step?", "inputs = x[:, :1].expand_as(x)", "inputs = x.mean(1, keepdim=True).expand_as(x)",
                "inputs = x[:, -1:].expand_as(x)"),
        mistake("the inputs shifted by a step", "Each step reads the token of the step before it, or of the one after. "
                "Which token comes in at step t?", "inputs = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)",
                "inputs = x.roll(1, 1)", "inputs = x.roll(-1, 1)",
                "inputs = torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1)"),
        mistake("read backwards", "The sequences were read from the end to the beginning. Which token comes first?",
                "inputs = x.flip(1)\nstates = table.flip(1)", "inputs = x.flip(1)", "return states.flip(1), context"),
        mistake("the state wanders from sequence to sequence", "A sequence starts with what the one before it left "
                "behind. What does the state start from, for each of them?",
                "inputs = x.flatten(0, 1).unsqueeze(0)\nfirst = x.new_zeros(1, b.shape[0])\n"
                "states = table.view(*x.shape[:2], -1)"),
        mistake("stopped at the longest sequence", "There are fewer states than steps: the loop ended early. All S "
                "steps are run, padding included.",
                "return states[:, :-1], context", "inputs = x[:, : int(lengths.max())]"),
        mistake("sequences in another order", "The sequences came back in the order of their lengths, as for packing. "
                "In which order were they given?",
                "order = lengths.argsort(descending=True, stable=True)\nlast = lengths[order] - 1\ninputs = x[order]"),
        mistake("loop over the batch instead of the steps", "The state wandered from one sequence to the next: the "
                "loop runs over the first axis. Which axis of `x` holds the steps?",
                "inputs = x.transpose(0, 1)\nfirst = x.new_zeros(x.shape[1], b.shape[0])\ntable = torch.stack(after)"),
        mistake("steps before the batch", "The states have the steps first and the sequences second. Along which axis "
                "should the list of states be stacked?",
                "table = torch.stack(after)", "return states.transpose(0, 1), context", "return states.mT, context"),
        mistake("reshaped instead of stacked", "The numbers of different sequences are mixed: `view` and `reshape` cut "
                "memory anew. Which axis should the new one of `torch.stack` be?",
                "return states.transpose(0, 1).reshape(states.shape), context",
                "states = table.transpose(0, 1).reshape(table.shape)"),
        mistake("a wrong step inside", "The loop may be right, but one step is not: compare it with `rnn_step`. Are "
                "tanh, the bias and both matrices in their places?",
                "h = new + old + b", "h = torch.tanh(new + old)", "h = torch.tanh(new + old + 2 * b)",
                "new = inputs[:, t] @ W_xh.mT\nold = h @ W_hh.mT", "new = inputs[:, t] @ W_xh.mT", "old = h @ W_hh.mT",
                "new = inputs[:, t] @ W_hh\nold = h @ W_xh", "h = torch.tanh(new + old) + b", "h = torch.tanh(old + b)",
                "h = torch.sigmoid(new + old + b)", "h = torch.relu(new + old + b)",
                "h = torch.tanh(new + old + b) + h", "h = (torch.tanh(new + old + b) + h) / 2",
                "h = torch.tanh(new * old + b)", "h = torch.tanh(new + old - b)", "old = h"),
        mistake("each step cut off from the one before", "The values are right, but the gradient stops after one step: "
                "nothing could be learned about earlier tokens. What cuts the link between two states?",
                "old = h.detach() @ W_hh"),
        cut_off("return states.detach(), context.detach()", "return states.detach(), context",
                "return states, context.detach()", "inputs = x.detach()", "h = torch.tanh(new + old + b.detach())",
                "new = inputs[:, t] @ W_xh.detach()\nold = h @ W_hh.detach()", "old = h @ W_hh.detach()",
                "W_xh, W_hh, b = (one.detach() for one in (W_xh, W_hh, b))\n"
                "first = x.new_zeros(x.shape[0], b.shape[0])"),
        overwritten(*writing(encode, 0, 1)),
        *adding(other_parts("states", "context"), {"another dtype": (
            "first = torch.zeros(x.shape[0], b.shape[0])", "first = torch.zeros(x.shape[0], b.shape[0]).double()")}),
    ),
    hints=(
        "You have the step already. Start from a state of zeros, and let each step's result be the next one's state. "
        "The inputs may be float64: from what does a new tensor take its dtype?",
        "Keep every state in a list. Which axis of (B, S, d_h) does the list become when you `torch.stack` it?",
        "A sequence of length 3 ends at which index, if the first is 0? Each sequence has its own.",
        "An index tensor for each of two axes picks one entry for each pair: the rows are `torch.arange(B)`. What are "
        "the steps?",
    ),
)
