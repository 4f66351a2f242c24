"""Checks of the claims of chapter 01."""

import math

import torch

from course_utils.attention import attention_weights, context_vector, scaled_dot_product_attention
from course_utils.claims._inputs import attend_causally, draw, draws, largest
from course_utils.claims.figures import Figure, arithmetic, said
from course_utils.claims.finding import Finding, recomputes, weigh


def shares(row: list[float], percent: str, place: str) -> tuple[Figure, Figure, Figure]:
    """Return what is said of a row of weights: its sum, its largest weight, and where that is."""
    top = max(row)
    return said("1.000", sum(row)), said(percent, top), said(place, row.index(top) + 1)


# fmt: off
arithmetic("01-06", "{0:,} B = {0:g KiB}", said("400 KiB", 2 * 50 * 1024 * 32 // 8))
arithmetic("01-10", "{0:.1f kB} ({0:.1f KiB})", said("10 kB", 50 * 50 * 4))
arithmetic("01-11", "{:g MB}, {:g MB} for a batch of 32, each head",
    said("4 MB", 1000 * 1000 * 4), said("128 MB", 32 * 1000 * 1000 * 4))
arithmetic("01-18", "sum {:g}, {:.0%} on word {}",
    *shares([0.05, 0.82, 0.03, 0.02, 0.03, 0.05], "82%", "2"))
arithmetic("01-19", "sum {:g}, {:.0%} on word {}",
    *shares([0.03, 0.08, 0.75, 0.04, 0.05, 0.05], "75%", "3"))
# fmt: on


@recomputes("01-01")
def attention_enables_parallel_computation() -> Finding:
    """In self-attention no position waits for another; in an RNN decoder each step does."""
    x = draw(6, 4)
    alone = [scaled_dot_product_attention(x[t : t + 1], x[: t + 1], x[: t + 1]) for t in range(6)]
    parallel = torch.allclose(attend_causally(x), torch.cat(alone))
    states, first = x, draw(1, 4, seed=1).requires_grad_()
    state = first
    for _ in range(3):
        state = torch.tanh(state + scaled_dot_product_attention(state, states, states))
    (waits,) = torch.autograd.grad(state.sum(), first)
    return weigh(
        "self-attention: each position alone gives the same; a decoder step with attention waits "
        f"for the state before it (gradient {float(waits.norm()):.2f})",
        holds=parallel and not bool(waits.any()),
        amended=parallel,
    )


@recomputes("01-04")
def fifty_words_do_not_fit_a_vector() -> Finding:
    """Bits of 512 numbers of 32 bits against those of 50 words from 30k."""
    room, needed = 512 * 32, 50 * math.log2(30_000)
    return weigh(
        f"512 numbers hold {room:,} bits, 50 words of 30k need {needed:.0f}",
        holds=needed > room,
        amended=needed > 512,  # at one bit a number: what counts is what an RNN reads back
    )


@recomputes("01-07")
def batch_runs_1600_steps_one_after_another() -> Finding:
    """The sequences of a batch advance together."""
    states, steps = torch.zeros(32, 4), 0
    for inputs in draw(50, 32, 4).float():
        states, steps = torch.tanh(states + inputs), steps + 1
    return weigh(
        f"{steps} steps for all 32 sequences; 32*50 = {32 * steps} token updates",
        holds=steps == 1600,
    )


@recomputes("01-17")
def context_is_the_weighted_sum_of_states() -> Finding:
    """c_t = sum_i alpha_{t,i} h_i against a loop; the weights of a row sum to 1."""
    query, states = draws((3, 4), (5, 4))
    weights = attention_weights(query, states)
    loop = torch.stack([sum(w * h for w, h in zip(row, states, strict=True)) for row in weights])
    off = largest(torch.stack([context_vector(w, states) for w in weights]), loop)
    total = largest(weights.sum(-1), 1.0)
    return weigh(
        f"off a loop by {off:.0e}, sums off 1 by {total:.0e}", holds=max(off, total) < 1e-12
    )
