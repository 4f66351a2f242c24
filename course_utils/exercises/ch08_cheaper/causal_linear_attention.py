"""Exercise: linear attention with a causal order, in little memory."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from course_utils.attention import causal_linear_attention
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import batch_mixed, fixed_axes
from course_utils.exercises.shared.linear import (
    BRANCH,
    FEATURES,
    OTHER_KINDS,
    PLACES,
    TOGETHER,
    TOTAL,
    epsilon_below,
    softmax_kept,
)
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.values import average_law
from course_utils.measure import largest_tensor
from torch import Tensor

RIGHT = """
def causal_linear_attention(query, key, value):
    feature = lambda x: F.elu(x) + 1
    near = feature(query)
    far = feature(key)
    mixed = value
    below = far
    sums = below.cumsum(-2)
    top = running(near, far, mixed)
    bottom = (near * sums).sum(-1, keepdim=True)
    out = top / bottom
    return out
"""
_RUNS = (4, 2, 3, 5, 8, 16, 32, 64)


def running(near: Tensor, far: Tensor, mixed: Tensor, run: int = 64) -> Tensor:
    """Return what every query sums up over its past and itself, run by run."""
    state, parts = near.new_zeros(near.shape[-1], mixed.shape[-1]), []
    for q, k, v in zip(*(x.split(run, -2) for x in (near, far, mixed)), strict=True):
        parts.append((q @ k.mT).tril() @ v + q @ state)
        state = state + k.mT @ v
    return torch.cat(parts, -2)


def in_whole_runs(x: Tensor, run: int) -> Tensor:
    """Return the same numbers, after they were cut into runs, none of which may be short."""
    return x.unflatten(-2, (-1, run)).flatten(-3, -2)


def ahead(weights: Tensor, run: int) -> Tensor:
    """Return by how many runs each query is ahead of each key."""
    place = torch.arange(weights.shape[-1]) // run
    return place.unsqueeze(-1) - place


def _table(above: str = "", below: str = "") -> str:
    """Return the lines that sum these parts of the table of weights above and below; "" is the right way."""
    top = f"weights = near @ far.mT\ntop = ({above}) @ mixed" if above else ""
    bottom = f"weights = near @ far.mT\nbottom = ({below}).sum(-1, keepdim=True)" if below else ""
    return f"{top}\n{bottom}"


def _both(part: str) -> str:
    return _table(part, part)


def _in_runs(lines: str, runs: tuple[int, ...] = _RUNS) -> Iterator[str]:
    return (lines.replace("run", str(run)) for run in runs)


def _shifted(shift: float) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        return normal(g, 2, 5, 4) + shift, normal(g, 2, 5, 4) + shift, normal(g, 2, 5, 6)

    return make


def _inputs(width: int) -> Callable[[int, torch.Generator], tuple[Any, ...]]:
    return lambda length, g: tuple(normal(g, 1, 1, length, width, dtype=torch.float32) for _ in range(3))


def _largest_above(floor: int) -> Callable[..., int]:
    return lambda fn, *args: max(largest_tensor(fn, *args), floor)


_OWN = "weights.tril() * (ahead(weights, run) == 0)"
_UNMASKED = "weights * (ahead(weights, run) >= 0)"
_EARLIER = "weights * (ahead(weights, run) > 0)"
_LAST = "weights.tril() * (ahead(weights, run) <= 1)"
_TWICE = f"{_UNMASKED} + {_OWN}"
_CUT = (
    "mine = ahead(near @ far.mT, run) == 0\nlost = (near @ far.detach().mT).tril() * ~mine\n"
    "tied = (near @ far.mT).tril() * mine\n"
)
_CUT_BELOW = "bottom = (tied + lost).sum(-1, keepdim=True)"
_ALL_WEIGHTS_SAYS = (
    "The values are right, but a table of more than 64 × 64 weights is held for a batch and head: all queries against "
    "all keys, or too long a run of them. What can carry over from one run of queries to the next, so that short runs "
    "are enough?"
)
_EVERY_STATE_SAYS = (
    "The values are right, but the running sums of all positions are held at once: a state of d_k × d_v numbers for "
    "each of them, as `cumsum` gives them. How many of them does the next query need?"
)

EXERCISE = exercise(
    causal_linear_attention,
    right=RIGHT,
    asks="Do the same over each query's past and itself, without holding a state for each position.",
    minutes=25,
    difficulty=5,
    importance=5,
    cases=(
        case("every size is 4: a transpose keeps the shape", batch=(4, 4), L=4, d_k=4, d_v=4),
        case("length 3", L=3, d_k=4, d_v=5, gradient="equal"),
        case("small features: inputs about -14", _shifted(-14.0)),
        case("a batch of length 7", batch=(3,), L=7, d_k=4, d_v=2),
        case("leading axes (2, 3)", batch=(2, 3), L=5, d_k=6, d_v=7, gradient="equal"),
        case("length 1: its own value", batch=(2, 3), L=1, d_k=4, d_v=5),
        case("length 67", batch=(2,), L=67, d_k=3, d_v=4),
        case("length 131", batch=(1, 2), L=131, d_k=3, d_v=2, gradient="equal"),
        case("length 128", batch=(2,), L=128, d_k=2, d_v=3),
        case("large features: inputs about 1000", _shifted(1000.0), gradient="equal"),
        case("non-contiguous inputs", batch=(2,), L=6, d_k=4, d_v=3, strided=True),
        case("float32", batch=(2,), L=7, d_k=16, d_v=4, dtype="float32", tolerance=1e-4),
        case("bfloat16", batch=(2,), L=5, d_k=4, d_v=6, dtype="bfloat16"),
    ),
    mistakes=(
        mistake("numerator causal but denominator not", "The values come from the past alone, but the sum below takes "
                "all keys, also those to come. Over which keys do the weights of query i sum to 1?",
                "sums = below.sum(-2, keepdim=True)"),
        mistake("denominator causal but numerator not", "The sum below takes the past alone, but the values of all "
                "keys are in the sum above. Which keys does query i see?", _table("weights")),
        mistake("not causal", "Every query sees all keys, the future too. What must the sums for query i leave out?",
                _both("weights")),
        mistake("own key hidden", "A query sees only what came before it, and the first one nothing, which is 0/0. Is "
                "the state read before or after its own key is added?",
                _both("weights.tril(-1)"), _both("weights.tril(-1)") + "\nout = (top / bottom).nan_to_num()"),
        mistake("own key in one of the two sums only",
                "A query's own key is in one of the two sums, above or below, and "
                "not in the other. Are both read before it is added, or both afterwards?",
                _table("weights.tril(-1)"), _table("", "weights.tril(-1)"),
                _table("", "weights.tril(-1)") + "\nout = (top / bottom).nan_to_num(posinf=0.0, neginf=0.0)"),
        mistake("one key of the future seen", "Each query sees the next key, the one to be predicted. Where does its "
                "past end?", _both("weights.tril(1)"), _table("weights.tril(1)"), _table("", "weights.tril(1)")),
        mistake("the future instead of the past", "Each query sees itself and what comes after it. From which end is "
                "the sum built up?", _both("weights.triu()"), _table("weights.triu()"), _table("", "weights.triu()"),
                _both("weights.triu(1)"), _both("weights.triu(1)") + "\nout = (top / bottom).nan_to_num()"),
        softmax_kept(".masked_fill(torch.ones(scores.shape[-2:]).triu(1) > 0, -torch.inf)"),
        BRANCH,
        *FEATURES,
        *TOTAL,
        epsilon_below(torch.tril, causal_linear_attention),
        mistake("nothing carried over", "Each run of queries sees its own run alone: the past begins anew with every "
                "one. What has to be carried over?", *_in_runs(_both(_OWN))),
        mistake("only one of the two sums carried over", "From one run to the next, only the sum above or the sum "
                "below is carried over. What do both of them need?", *_in_runs(_table("", _OWN)),
                *_in_runs(_table(_OWN), (1, *_RUNS)), *_in_runs(_table("", _OWN), (1,))),
        mistake("no order inside a run", "Inside a run every query sees the whole run, also what comes after it. "
                "Between runs the state keeps the order: what keeps it inside?", *_in_runs(_both(_UNMASKED)),
                *_in_runs(_table(_UNMASKED)), *_in_runs(_table("", _UNMASKED))),
        mistake("its own run left out", "A query sees the runs before its own and nothing of its own. Which second "
                "part is added to what the state gives?",
                *_in_runs(_both(_EARLIER) + "\nout = (top / bottom).nan_to_num()"), *_in_runs(_both(_EARLIER)),
                *_in_runs(_table(_EARLIER))),
        mistake("only the run before carried over", "The state holds the last run alone, since it was replaced and not "
                "added to. What does it hold?", *_in_runs(_both(_LAST))),
        mistake("its own run counted twice", "The state already held the run when its own queries read it, its future "
                "included, and the weights inside the run were added as well. In which order is a run read and added?",
                *_in_runs(_both(_TWICE))),
        mistake("the state cut off between runs", "The values are right, but the state is passed on as a constant, so "
                "no gradient reaches the keys of earlier runs. What cuts it off?",
                *_in_runs(f"{_CUT}top = tied @ mixed + lost @ mixed.detach()\n{_CUT_BELOW}", (64, 1, *_RUNS[:-1])),
                *_in_runs(f"{_CUT}{_CUT_BELOW}"),
                *_in_runs(f"{_CUT}top = tied @ mixed + lost @ mixed.detach()", (64, 1)),
                *_in_runs(f"{_CUT}top = (tied + lost) @ mixed\n{_CUT_BELOW}", (64, 1))),
        mistake(
            "queries left over",
            "The last queries, which do not fill a run, got nothing. What becomes of the L mod r queries that are left "
            "over after runs of r?",
            *_in_runs(
                "places = torch.arange(out.shape[-2])\n"
                "return out * (places < len(places) // run * run).to(out.dtype).unsqueeze(-1)"
            ),
            *_in_runs("return out[..., : out.shape[-2] // run * run, :]"),
            "return torch.cat([out[..., s : s + 64, :] for s in range(0, out.shape[-2] - 63, 64)], -2)",
        ),
        mistake("only whole runs",
                "It works where the length is a multiple of a run, and stops elsewhere. What becomes "
                "of the rest, or of a sequence that is shorter than a run?",
                *(f"far = in_whole_runs(feature(key), {run})" for run in (64, 32, 16, 8)),
                *(f"far = feature(key)\nmixed = value.reshape(*value.shape[:-2], value.shape[-2] // {run}, {run}, -1)"
                  ".flatten(-3, -2)" for run in (64, 32, 16, 8))),
        mistake("a state of float32",
                "The state was made inside, and what is made inside is float32, torch's default: it "
                "meets inputs of another dtype. Which dtype should it have, and how does it get that?",
                "state = torch.zeros(far.shape[-1], mixed.shape[-1]) + far.mT @ mixed\n"
                "top = running(near, far, mixed) + 0 * (near @ state)",
                "total = torch.zeros(far.shape[-1], 1) + far.mT.sum(-1, keepdim=True)\n"
                "top = running(near, far, mixed) + 0 * (near @ total)",
                "state = torch.zeros(far.shape[-1], mixed.shape[-1]) + far.mT @ mixed\n"
                "top = running(near, far, mixed) + 0 * torch.einsum('...ld,...de->...le', near, state)"),
        mistake("the first query left out",
                "The first query got zeros. It has no past, but it sees itself: what is the "
                "average of a single value?",
                "out = top / bottom * (torch.arange(top.shape[-2]) > 0).to(top).unsqueeze(-1)"),
        mistake("state transposed",
                "The state was used with rows and columns swapped. It has a row for each feature of a "
                "key and a column for each number of a value.",
                "top = running(near, far, mixed) if far.shape != mixed.shape else running(near, mixed, far)",
                "top = running(near, mixed, far)"),
        mistake("the past fades",
                "Earlier keys count less and less: the state was shrunk at every step, as in gated or "
                "retentive attention. Here all keys up to the query's own count in full.",
                *(_both(f"(weights * {rate} ** ahead(weights, 1).clamp(min=0).to(weights)).tril()")
                  for rate in (0.9, 0.99, 0.5, 0.95))),
        batch_mixed(*TOGETHER, "states = (far.unsqueeze(-1) * mixed.unsqueeze(-2)).cumsum(-3)\n"
                    "every = tuple(range(far.dim() - 2))\nstates = states.sum(every) if every else states\n"
                    "below_all = below.sum(every) if every else below\nsums = below_all.cumsum(-2)\n"
                    "top = (near.unsqueeze(-2) @ states).squeeze(-2)"),
        *OTHER_KINDS,
        fixed_axes("near = torch.einsum('bhld->bhld', feature(query))",
                   "near = torch.einsum('bld->bld', feature(query))",
                   "near = torch.einsum('ld->ld', feature(query))", "batch, heads, length, width = query.shape\n"
                   "near = feature(query)", "batch, length, width = query.shape\nnear = feature(query)",
                   "length, width = query.shape\nnear = feature(query)"),
        lower_precision(causal_linear_attention,
                        "top = running(near.float(), far.float(), mixed.float()).to(far.dtype)"),
        *PLACES,
        mistake("summed over features instead of positions", "A running sum went along the features. It should go "
                "along the positions: which axis is that, counted from the end?",
                "sums = below.cumsum(-1)", "sums = below.cumsum(0)"),
        mistake("a table of too many weights", _ALL_WEIGHTS_SAYS, _both("weights.tril()"),
                "top = running(near, far, mixed, 96)", "top = running(near, far, mixed, -(-near.shape[-2] // 8))"),
        mistake("every state kept", _EVERY_STATE_SAYS,
                "states = (far.unsqueeze(-1) * mixed.unsqueeze(-2)).cumsum(-3)\n"
                "top = (near.unsqueeze(-2) @ states).squeeze(-2)"),
    ),
    laws=(average_law(lambda args: args[2]),),
    # Allowed are 64 × 64 weights or 64 states and a quarter more: values may carry a column of ones along. Narrow
    # heads show too many weights, at a length of which an eighth is too long a run already; wide ones show states.
    costs=(
        Cost("the largest tensor", _largest_above(80 * 64), (64, 608), _inputs(1), 0.01, _ALL_WEIGHTS_SAYS,
             "a table of too many weights"),
        Cost("the largest tensor", _largest_above(80 * 16 * 16), (64, 128), _inputs(16), 0.01, _EVERY_STATE_SAYS,
             "every state kept"),
    ),
    hints=(
        "The sums for query i are those for query i - 1 plus one more term. What has to be kept from one query to the "
        "next, and how large is it?",
        "One token at a time is right, and slow in Python. A run of r tokens at a time adds all its keys to the state "
        "at once: what do queries then still miss?",
        "Inside a run, use the table of weights, r × r, with everything above its diagonal set to 0; what came before "
        "the run comes from the state, the same for all its queries.",
        "Both sums have these two parts: the one with the values above, and the one without them below. The state is "
        "updated after the run has been read, and never replaced.",
    ),
)
