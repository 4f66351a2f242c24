"""Checks of the claims of chapter 01."""

import math

import torch

from course_utils.attention import attention_weights, context_vector, scaled_dot_product_attention
from course_utils.claims._inputs import attend_causally, draw, draws, largest
from course_utils.claims.finding import Finding, recomputes, weigh


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
        amended=True,  # the limit is what a trained RNN can write and read back
    )


@recomputes("01-06")
def states_take_400_kilobytes() -> Finding:
    """50 states each of encoder and decoder, of width 1024 in 32 bits: 400 KB."""
    num_bytes = 2 * 50 * 1024 * 32 // 8
    return weigh(f"{num_bytes:,} B = {num_bytes / 1024:g} KiB", holds=num_bytes == 400 * 1024)


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


@recomputes("01-10")
def weights_of_50_by_50_take_10_kilobytes() -> Finding:
    """4 bytes for each of 50 queries and 50 keys."""
    num_bytes = 50 * 50 * 4
    return weigh(
        f"{num_bytes / 1000:.1f} kB ({num_bytes / 1024:.1f} KiB)", holds=num_bytes == 10 * 1000
    )


@recomputes("01-11")
def weights_of_1000_by_1000_take_4_megabytes() -> Finding:
    """4 bytes for each of 1000 queries and keys, a batch of 32: 4 and 128 MB."""
    one = 1000 * 1000 * 4
    return weigh(
        f"{one / 1e6:g} MB, {32 * one / 1e6:g} MB for a batch of 32, each head",
        holds=(one, 32 * one) == (4 * 10**6, 128 * 10**6),
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


@recomputes("01-18")
def first_row_is_a_distribution() -> Finding:
    """[0.05, 0.82, 0.03, 0.02, 0.03, 0.05]: 82% on the second."""
    return _is_a_distribution([0.05, 0.82, 0.03, 0.02, 0.03, 0.05], place=2, percent=82)


@recomputes("01-19")
def second_row_is_a_distribution() -> Finding:
    """[0.03, 0.08, 0.75, 0.04, 0.05, 0.05]: 75% on the third."""
    return _is_a_distribution([0.03, 0.08, 0.75, 0.04, 0.05, 0.05], place=3, percent=75)


def _is_a_distribution(row: list[float], place: int, percent: int) -> Finding:
    total, top = math.fsum(row), max(row)
    right = math.isclose(total, 1) and row.index(top) + 1 == place
    return weigh(
        f"sum {total:g}, {top:.0%} on word {row.index(top) + 1}",
        holds=right and round(100 * top) == percent,
    )
