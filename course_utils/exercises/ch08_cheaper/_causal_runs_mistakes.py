"""What goes wrong where causal linear attention goes from one run of queries to the next."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import causal_linear_attention
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch08_cheaper._linear import Linear, Map, phi

_build = Linear(torch.tril).build
_RUNS = (2, 3, 4, 5, 8, 16, 32, 64)


def _by_blocks(rule: Callable[[Tensor, Tensor], Tensor], run: int) -> Map:
    """Return a mask on the weights, from the numbers of the query's and the key's block."""

    def apply(weights: Tensor) -> Tensor:
        block = torch.arange(weights.shape[-1]) // run
        future = torch.ones_like(weights).triu(1) > 0
        return weights * rule(block.unsqueeze(-1) - block, future)

    return apply


def _own_block(run: int) -> Map:
    return _by_blocks(lambda ahead, future: (ahead == 0) & ~future, run)


def _unmasked_block(run: int) -> Map:
    return _by_blocks(lambda ahead, future: ahead >= 0, run)


def _own_block_forgotten(run: int) -> Map:
    return _by_blocks(lambda ahead, future: (ahead > 0) | ((ahead == 0) & ~future & (run < 0)), run)


def _last_block_only(run: int) -> Map:
    return _by_blocks(lambda ahead, future: (ahead <= 1) & ~future, run)


def _own_block_twice(run: int) -> Map:
    """Add the own block once by its state, all of it, and once by its weights."""
    return _by_blocks(lambda ahead, future: (ahead >= 0) + ((ahead == 0) & ~future).double(), run)


def _cut_off(run: int, top: bool = True) -> Function:
    """Hand the state on as a constant: right values, and no gradient through the past."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Any:
        q, k = phi(query), phi(key)
        block = torch.arange(query.shape[-2]) // run
        own = block.unsqueeze(-1) == block
        weights = (q @ k.mT).tril()
        tied, cut = weights * own, (q @ k.detach().mT).tril() * ~own
        above = tied @ value + (cut @ value.detach() if top else weights @ value - tied @ value)
        return above / (tied + cut).sum(-1, keepdim=True)

    return wrong


def _rest_dropped(run: int) -> Function:
    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Any:
        out = causal_linear_attention(query, key, value)
        full = query.shape[-2] // run * run
        return out * (torch.arange(query.shape[-2]) < full).to(out.dtype).unsqueeze(-1)

    return wrong


RUNS = (
    Misconception(
        "nothing carried over",
        _build(top=_own_block(4), bottom=_own_block(4)),
        "Each run of queries sees its own run alone: the past begins anew with every one. What has "
        "to be carried over?",
        also=tuple(_build(top=_own_block(n), bottom=_own_block(n)) for n in _RUNS if n != 4),
    ),
    Misconception(
        "only one of the two sums carried over",
        _build(bottom=_own_block(4)),
        "From one run to the next, only the sum above or the sum below is carried over. What do "
        "both of them need?",
        also=(
            *(_build(bottom=_own_block(n)) for n in _RUNS if n != 4),
            *(_build(top=_own_block(n)) for n in (1, *_RUNS)),
            _build(bottom=_own_block(1)),
        ),
    ),
    Misconception(
        "no order inside a run",
        _build(top=_unmasked_block(4), bottom=_unmasked_block(4)),
        "Inside a run every query sees the whole run, also what comes after it. Between runs the "
        "state keeps the order: what keeps it inside?",
        also=(
            *(_build(top=_unmasked_block(n), bottom=_unmasked_block(n)) for n in _RUNS if n != 4),
            *(_build(top=_unmasked_block(n)) for n in _RUNS),
            *(_build(bottom=_unmasked_block(n)) for n in _RUNS),
        ),
    ),
    Misconception(
        "the own run left out",
        _build(
            top=_own_block_forgotten(4),
            bottom=_own_block_forgotten(4),
            divide=lambda t, b, q, k: (t / b).nan_to_num(),
        ),
        "A query sees the runs before its own and nothing of its own. Which second part is added "
        "to what the state gives?",
        also=(
            *(
                _build(top=_own_block_forgotten(n), bottom=_own_block_forgotten(n))
                for n in (4, 8, 16, 32, 64)
            ),
            *(_build(top=_own_block_forgotten(n)) for n in _RUNS),
        ),
    ),
    Misconception(
        "only the run before carried over",
        _build(top=_last_block_only(4), bottom=_last_block_only(4)),
        "The state holds the last run alone, since it was replaced and not added to. What does it "
        "stand for?",
        also=tuple(
            _build(top=_last_block_only(n), bottom=_last_block_only(n)) for n in _RUNS if n != 4
        ),
    ),
    Misconception(
        "the own run counted twice",
        _build(top=_own_block_twice(4), bottom=_own_block_twice(4)),
        "The state held the own run already when its queries read it, the future of the run too, "
        "and the run's own weights were added besides. In which order is a run read and added?",
        also=tuple(
            _build(top=_own_block_twice(n), bottom=_own_block_twice(n)) for n in _RUNS if n != 4
        ),
    ),
    Misconception(
        "the state cut off between runs",
        _cut_off(64),
        "The values are right, but the state is handed on as a constant, so no gradient reaches "
        "the keys of earlier runs. What cuts it off?",
        also=(*(_cut_off(n) for n in _RUNS if n != 64), *(_cut_off(n, top=False) for n in _RUNS)),
    ),
    Misconception(
        "queries left over",
        _rest_dropped(4),
        "The last queries, which fill no whole run, got nothing. What becomes of L mod run rows?",
        also=tuple(_rest_dropped(n) for n in (2, 8, 16, 32, 64)),
    ),
)
