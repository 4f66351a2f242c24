"""An encoder with exchangeable parts: a mistake exchanges one of them."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch01_bottleneck._rnn_wrong import build as step_with
from course_utils.models.recurrent import rnn_step

__all__ = [
    "at_lengths",
    "batch_first_lost",
    "build",
    "carried_over",
    "cut_to_the_longest",
    "detached",
    "from_ones",
    "frozen",
    "mean_of_real",
    "over_the_batch",
    "plus_first",
    "random_start",
    "reversed_time",
    "sorted_by_length",
    "step_with",
    "without_memory",
    "zeroed",
]


def _zeros(x: Tensor, b: Tensor) -> Tensor:
    return x.new_zeros(x.shape[0], b.shape[0])


def from_ones(x: Tensor, b: Tensor) -> Tensor:
    """Start from ones."""
    return x.new_ones(x.shape[0], b.shape[0])


def random_start(x: Tensor, b: Tensor) -> Tensor:
    """Start from random numbers."""
    return torch.randn(x.shape[0], b.shape[0]).to(x.dtype)


def at_lengths(states: Tensor, steps: Tensor) -> Tensor:
    """Pick one step from each sequence."""
    return states[torch.arange(states.shape[0]), steps]


def plus_first(states: Tensor) -> Tensor:
    """Put the first state, of zeros, before the others."""
    return torch.cat([torch.zeros_like(states[:, :1]), states], dim=1)


def _real(x: Tensor, lengths: Tensor) -> Tensor:
    return (torch.arange(x.shape[1]) < lengths.unsqueeze(-1)).unsqueeze(-1)


def zeroed(x: Tensor, lengths: Tensor) -> Tensor:
    """Put zeros past each length."""
    return x * _real(x, lengths)


def frozen(states: Tensor, lengths: Tensor) -> Tensor:
    """Repeat the state at each length past it."""
    last = at_lengths(states, lengths - 1).unsqueeze(1)
    return torch.where(_real(states, lengths), states, last)


def mean_of_real(states: Tensor, lengths: Tensor) -> Tensor:
    """Average the states of real tokens."""
    return zeroed(states, lengths).sum(1) / lengths.unsqueeze(-1).to(states.dtype)


def build(
    start: Any = _zeros,
    before: Any = lambda x, lengths: x,
    step: Any = rnn_step,
    collect: str = "after",
    pick_from: str | None = None,
    after: Any = lambda states, lengths: states,
    pick: Any = lambda states, lengths: at_lengths(states, lengths - 1),
    finish: Any = lambda states, context: (states, context),
) -> Function:
    """Return an encoder with some of its parts exchanged.

    Args:
        start: The first state, from x and b.
        before: What happens to the inputs.
        step: One step.
        collect: Whether the states "before" or "after" each step are returned.
        pick_from: Whether the context is picked from the states "before" or "after" each step.
        after: What happens to the states.
        pick: The context from the states.
        finish: What is returned of both.
    """

    def wrong(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
        inputs, h = before(x, lengths), start(x, b)
        seen: dict[str, list[Tensor]] = {"before": [], "after": []}
        for t in range(inputs.shape[1]):
            seen["before"].append(h)
            h = step(inputs[:, t], h, W_xh, W_hh, b)
            seen["after"].append(h)
        states = after(torch.stack(seen[collect], dim=1), lengths)
        source = states if pick_from is None else torch.stack(seen[pick_from], dim=1)
        return finish(states, pick(source, lengths))

    return wrong


def without_memory(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
    """Start every step from zeros."""
    h = _zeros(x, b)
    states = torch.stack([rnn_step(step, h, W_xh, W_hh, b) for step in x.unbind(1)], dim=1)
    return states, at_lengths(states, lengths - 1)


def detached(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
    """Let no gradient through from step to step."""
    step = build(step=lambda x, h, W, U, b: rnn_step(x, h.detach(), W, U, b))
    return step(x, lengths, W_xh, W_hh, b)


def reversed_time(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
    """Read from the end, and give the states in the order of the text."""
    backwards: Function = build(before=lambda x, n: x.flip(1), after=lambda s, n: s.flip(1))
    return backwards(x, lengths, W_xh, W_hh, b)


def over_the_batch(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
    """Loop over the first axis."""
    h = x.new_zeros(x.shape[1], b.shape[0])
    states = []
    for sequence in x:
        h = rnn_step(sequence, h, W_xh, W_hh, b)
        states.append(h)
    table = torch.stack(states)
    return table, at_lengths(table, lengths - 1)


def carried_over(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
    """Read one sequence after the other, and never put the state back to zeros."""
    h = x.new_zeros(1, b.shape[0])
    rows = []
    for sequence in x:
        row = []
        for token in sequence:
            h = rnn_step(token.unsqueeze(0), h, W_xh, W_hh, b)
            row.append(h[0])
        rows.append(torch.stack(row))
    states = torch.stack(rows)
    return states, at_lengths(states, lengths - 1)


def cut_to_the_longest(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
    """Run as many steps as the longest sequence has."""
    return build()(x[:, : int(lengths.max())], lengths, W_xh, W_hh, b)


def sorted_by_length(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
    """Sort the batch, the longest first, and leave it so."""
    order = lengths.argsort(descending=True, stable=True)
    return build()(x[order], lengths[order], W_xh, W_hh, b)


def batch_first_lost(x: Tensor, lengths: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Any:
    """Stack the steps in front, and pick the context from that."""
    table, _ = build()(x, lengths, W_xh, W_hh, b)
    steps_first = table.transpose(0, 1)
    return steps_first, steps_first[torch.arange(x.shape[0]), lengths - 1]
