"""Exercise: write the test that finds out whether an attention reads the future.

Some cases hand in one attention; others many, each with one small leak, and look at all verdicts.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from course_utils.attention import causal_mask, leaks_future, masked_softmax, prefix_mask, window_mask
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from torch import Tensor

Attention = Callable[[Tensor], Tensor]

RIGHT = """
def leaks_future(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(0))
    noise = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(1))
    out = attention(x)
    place = torch.arange(num_positions).unsqueeze(-1)
    starts = range(1, num_positions)
    found = []
    for start in starts:
        later = place >= start
        changed = x + later * noise
        seen = slice(start)
        before = out[:, seen]
        after = attention(changed)[:, seen]
        room = 1e-6 * out.abs().max()
        moved = bool(((before - after).abs() > room).any())
        found.append(moved)
        enough = moved
        if enough:
            break
    return any(found)
"""


class Layer:
    """One head of attention over (1, n, d), made of steps that can be exchanged."""

    def __init__(self, n: int, d: int, d_v: int, g: torch.Generator) -> None:
        self.n, self.d, self.d_v = n, d, d_v
        self.W_qk = torch.randn(d, d, generator=g, dtype=torch.float32) / d
        self.W_v = torch.randn(d, d_v, generator=g, dtype=torch.float32) / math.sqrt(d)

    def causal(self, ahead: int = 0) -> Tensor:
        """Return the mask that sees the given positions ahead."""
        return causal_mask(self.n, self.n, ahead)

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores (1, n, n)."""
        return x @ self.W_qk @ x.mT

    def attend(self, x: Tensor, mask: Tensor) -> Tensor:
        """Attend under a mask without empty rows."""
        return self.scores(x).masked_fill(~mask, -torch.inf).softmax(-1) @ (x @ self.W_v)

    def choose(self, x: Tensor, mask: Tensor) -> Tensor:
        """Take the value of the best visible key alone: there is no useful gradient."""
        best = self.scores(x).masked_fill(~mask, -torch.inf).argmax(-1)
        return (x.detach() @ self.W_v)[:, best[0]]

    def mean(self, x: Tensor) -> Tensor:
        """Return the mean of the values so far, without any softmax."""
        return (x @ self.W_v).cumsum(1) / torch.arange(1, self.n + 1).unsqueeze(-1)

    def next(self, x: Tensor, size: float = 1.0) -> Tensor:
        """Return each position's next one, and 0 for the last."""
        return size * torch.eye(self.n, dtype=torch.float32).roll(1, 1).triu() @ x

    def strict(self, attend: Attention) -> Attention:
        """Return an attention that takes nothing but what the exercise promises."""

        def attention(x: Tensor) -> Tensor:
            if not isinstance(x, Tensor) or x.dtype != torch.float32:
                problem = "another dtype"
            elif x.dim() != 3:
                problem = "another number of axes"
            elif len(x) != 1:
                problem = "another number of sequences"
            elif x.shape[1:] != (self.n, self.d):
                problem = "another length or width"
            else:
                return attend(x)
            raise TypeError(
                "attention takes float32 of the shape (1, num_positions, d_model), and this input has " + problem
            )

        return attention


def _normalised(layer: Layer, x: Tensor) -> Tensor:
    """Normalise as batch norm does while training: by the mean and spread over all positions."""
    out = layer.attend(x, layer.causal())
    return (out - out.mean((0, 1))) / (out.std((0, 1), correction=0) + 1e-3)


def _mixed(x: Tensor) -> Tensor:
    """Return one number per position (1, n, 1) to which every feature adds its own share."""
    return x @ (1.0 / torch.arange(1, x.shape[-1] + 1, dtype=torch.float32)).unsqueeze(-1)


def _pair(n: int, query: int, key: int, size: float = 1.0) -> Tensor:
    """Return the table (n, n) that is 0 but for one pair of a query and a key."""
    table = torch.zeros(n, n, dtype=torch.float32)
    table[query, key] = size
    return table


def _scrambled(layer: Layer, x: Tensor) -> Tensor:
    """Split two heads by `view` alone: a head then mixes rows, and its causal mask does not help."""
    heads = x.contiguous().view(1, 2, layer.n, layer.d // 2)
    return (masked_softmax(heads @ heads.mT, layer.causal()) @ heads).reshape(1, layer.n, layer.d)


def _sharpened(layer: Layer, x: Tensor) -> Tensor:
    """Sharpen the scores by a mean over all positions: the future moves the weights only."""
    sharpness = 1.0 + _mixed(x).mean(1, keepdim=True)
    return masked_softmax(sharpness * layer.scores(x), layer.causal()) @ (x @ layer.W_v)


def _rounded(layer: Layer, x: Tensor) -> Tensor:
    """Attend causally, multiply by a number that all positions make, and divide by it: rounding is left of it."""
    factor = 1.0 + x.square().mean()
    return layer.attend(x, layer.causal()) * factor / factor


def _half_masked(layer: Layer, x: Tensor) -> Tensor:
    open_ = layer.attend(x, layer.causal(layer.n))
    return torch.cat([layer.attend(x, layer.causal()), open_[..., -1:]], -1)


def _cancelling(layer: Layer, x: Tensor) -> Tensor:
    leak = layer.next(x[..., :1])
    return layer.mean(x) + torch.cat([leak, -leak], -1)


_Rows = tuple[tuple[str, tuple[int, int, int], Callable[[Layer, Tensor], Tensor], str], ...]
# Each row: a name, the sizes n, d and d_v, what the attention does, and why the verdict is wrong.
_CAUSAL: _Rows = (
    ("causal attention", (6, 4, 5), lambda layer, x: layer.attend(x, layer.causal()),
     "Which inputs did you change, and which outputs did you look at?"),
    ("each output a mean of the positions before it", (6, 5, 4),
     lambda layer, x: F.pad(layer.mean(x), (0, 0, 1, 0))[:, :-1],
     "No output depends on its own position, and the first one on nothing."),
    ("a causal window of 2", (8, 3, 4), lambda layer, x: layer.attend(x, window_mask(layer.n, layer.n, 2)),
     "Each query sees itself and the position before."),
    ("each position on its own", (5, 4, 3), lambda layer, x: x[..., :3],
     "Each output is made of its own position alone."),
    ("the mean of the past", (6, 3, 5), lambda layer, x: layer.mean(x),
     "It is a running mean and knows no softmax."),
    ("the mean of the past, by numpy", (5, 3, 4), lambda layer, x: torch.from_numpy(layer.mean(x.detach()).numpy()),
     "It computes outside torch, so no gradient can be taken."),
    ("the best visible key alone", (6, 4, 3), lambda layer, x: layer.choose(x, layer.causal()),
     "It chooses one key of the past and has no useful gradient."),
    ("outputs that move by rounding", (6, 4, 5), _rounded,
     "It is multiplied by a number and divided by it again, so its outputs move in their last digit, and no more."),
    ("outputs in the millions", (6, 4, 5), lambda layer, x: 1e6 * _rounded(layer, x),
     "Its outputs are large, and their last digit moves by rounding: less than a millionth of their size."),
    ("one position has no future", (1, 4, 3), lambda layer, x: layer.attend(x, layer.causal(1)),
     "There is one position, and nothing later."),
    ("two positions, causal", (2, 4, 3), lambda layer, x: layer.attend(x, layer.causal()),
     "There are two positions, and the first output depends on the first alone."),
)  # fmt: skip
_LEAKY: _Rows = (
    ("attention without a mask", (5, 4, 3), lambda layer, x: layer.attend(x, layer.causal(layer.n)),
     "Every output of this attention depends on every position."),
    ("each query sees one position ahead", (7, 3, 4), lambda layer, x: layer.attend(x, layer.causal(1)),
     "Every query sees the position after its own."),
    ("statistics over the whole batch", (6, 4, 3), _normalised,
     "The attention is causal, but its output is normalised by mean and spread over all positions of the batch, later "
     "ones included."),
    ("only the last two positions leak", (8, 5, 4),
     lambda layer, x: layer.attend(x, layer.causal() | _pair(layer.n, -2, -1).bool()),
     "The last query but one sees the last position; all others are causal."),
    ("a prefix of 3 that sees itself", (7, 4, 5), lambda layer, x: layer.attend(x, prefix_mask(layer.n, 3)),
     "The first three queries see each other, the rest is causal."),
    ("the first query sees the last position", (7, 4, 3),
     lambda layer, x: layer.mean(x) + _pair(layer.n, 0, -1) @ (x @ layer.W_v),
     "The first output depends on the last position, and no other output on its future."),
    ("a leak that has no gradient", (6, 4, 3),
     lambda layer, x: layer.mean(x) + layer.next(x.detach() @ layer.W_v, 0.5),
     "Each query reads the next position through a detached copy."),
    ("the best of all keys alone", (12, 4, 3), lambda layer, x: layer.choose(x, layer.causal(layer.n)),
     "Each query takes the value of the best key of all, in the future too."),
    ("mask after the softmax", (6, 4, 5), lambda layer, x: layer.scores(x).softmax(-1).tril() @ (x @ layer.W_v),
     "The weights of the future were set to 0 after the softmax, so its scores still count in the denominator."),
    ("the future moves the weights", (6, 4, 5), _sharpened,
     "Only positions of the past are averaged, but the weights depend on the mean over all positions."),
    ("heads split by `view` alone", (5, 6, 6), _scrambled,
     "Two heads were cut out of memory without `transpose`, so rows got mixed up before the causal mask came."),
    ("one head of several is not masked", (6, 4, 3), _half_masked,
     "Only the last column of the output depends on the future."),
    ("a leak whose columns cancel", (6, 3, 2), _cancelling,
     "What one column of the output gains by the next position, another loses, so their sum stays."),
    ("two positions, the first sees the second", (2, 3, 4), lambda layer, x: layer.attend(x, layer.causal(1)),
     "There are two positions, and the first output depends on the second."),
)  # fmt: skip


def _planted(name: str, sizes: tuple[int, int, int], attend: Callable[[Layer, Tensor], Tensor], says: str) -> Case:
    """Return the case that gives a test one attention."""

    def make(g: torch.Generator) -> tuple[Attention, int, int]:
        layer = Layer(*sizes, g)
        return layer.strict(partial(attend, layer)), layer.n, layer.d

    return case(name, make, says=says)


_FALSE_ALARM = "No output of this attention depends on a later position, and the test says True. "
_cleared = [_planted(name, sizes, attend, _FALSE_ALARM + why) for name, sizes, attend, why in _CAUSAL]
_found = [_planted(name, sizes, attend, f"{why} The test says False.") for name, sizes, attend, why in _LEAKY]

# What a comparison must find; a factor of 2e-5 changes an output near 0.5 by 300 roundings.
SIZES = (0.1, 1e-2, 1e-3, 1e-4, 2e-5)


def _verdict(test: Function, layer: Layer, attend: Attention) -> bool:
    return bool(test(layer.strict(attend), layer.n, layer.d))


def _pairs(test: Function, layer: Layer, n: int, d: int) -> Tensor:
    """Return (2, n, n) verdicts: row i, column j where position j was added to output i, or taken from it."""

    def reads(size: float, i: int, j: int) -> Attention:
        return lambda x: layer.mean(x)[..., :1] + _pair(n, i, j, size) @ _mixed(x)

    found = [_verdict(test, layer, reads(*one)) for one in product((1.0, -1.0), range(n), range(n))]
    return torch.tensor(found).view(2, n, n)


def _one_of_two_signs_found(args: tuple[Any, ...], found: Any) -> bool:
    """Return whether exactly one of two opposite leaks was found wherever only one change could find it."""
    if not isinstance(found, Tensor) or found.dim() != 3:
        return False
    return bool((found.sum(0).diagonal(1) == 1).all())


def _each(count: int, leak: Callable[[Layer, int, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return what makes a verdict on each of several leaks."""
    return lambda test, layer, n, d: torch.tensor(
        [_verdict(test, layer, partial(leak, layer, k)) for k in range(count)]
    )


def _inputs(test: Function, layer: Layer, n: int, d: int) -> Tensor:
    """Return (n + 1, n) facts about the inputs on which a test calls an attention that gives zeros.

    Row i, column j > i: two inputs were the same up to i and different at j. In the last row:
    whether the attention was called at all, and with different inputs.
    """
    seen: list[Tensor] = []

    def attend(x: Tensor) -> Tensor:
        seen.append(x.detach().clone())
        return torch.zeros(1, n, layer.d_v)

    _verdict(test, layer, attend)
    facts = torch.zeros(n + 1, n, dtype=torch.bool)
    if seen:
        different = torch.cat(seen).unique(dim=0)[:1000]
        same = (different.unsqueeze(0) == different.unsqueeze(1)).all(-1).flatten(0, 1)
        facts[:n] = ((same.cumprod(-1).double().mT @ (~same).double()) > 0).triu(1)
        facts[n, 0], facts[n, 1] = True, len(different) > 1
    return facts


def _table(name: str, n: int, d: int, run: Callable[..., Tensor], says: str) -> Case:
    return case(name, lambda g: (Layer(n, d, 3, g), n, d), run=run, says=says)


_PAIRS = _table(
    "one query reads one position, for each pair of 4", 4, 3, _pairs,
    "In each of 32 attentions one output also reads one position outside its own past, which was added to it or "
    "subtracted from it. The test is wrong for some of them. Is every later position changed, and is every earlier "
    "output looked at, for neighbours and for the two ends too?",
)  # fmt: skip
_SMALLER = _table(
    "smaller and smaller leaks", 6, 4,
    _each(len(SIZES), lambda layer, k, x: 0.5 + 0.1 * layer.mean(x).tanh() + layer.next(x[..., :3], SIZES[k])),
    "A leak was made smaller and smaller, down to 2e-5 times the next position, where float32 still holds it to three "
    "digits. The test misses some. How large is the change that you make, and how large must an effect be to count? "
    "For the same past, the outputs of a causal attention are the same up to rounding.",
)  # fmt: skip
_LAST = (
    _table(
        "a leak into one column of the output", 5, 4,
        _each(3, lambda layer, k, x: layer.mean(x) + layer.next(_mixed(x)) * (torch.arange(3) == k)),
        "A leak into some columns of the output is found, into others it is not. Which entries of an output are "
        "compared?",
    ),
    _table(
        "a leak of one feature of the input", 5, 4,
        _each(4, lambda layer, k, x: layer.mean(x) + layer.next(x[..., k : k + 1])),
        "A leak of some features of the next position is found, of others it is not. Which numbers of a later position "
        "are changed?",
    ),
    _table(
        "the inputs that the test tries", 4, 3, _inputs,
        "This looked at the inputs only. For each position i there must be two inputs that are the same up to i and "
        "differ later, at each later position at least once. Yours leave a gap.",
    ),
)  # fmt: skip


def _only_large_leaks_found(args: tuple[Any, ...], found: Any) -> bool:
    """Return whether a table of leaks, smaller and smaller, was found down to some size only."""
    if not isinstance(found, Tensor) or found.shape != (len(SIZES),):
        return False
    flags = [bool(flag) for flag in found]
    return not flags[-1] and flags == sorted(flags, reverse=True)


# Lines that several mistakes share: one position changed and no other; one start; a comparison.
_ONE = "later = place == start\nnoise = torch.ones(1, num_positions, d_model)\n"
_STARTS = "starts = range(min({0}, num_positions - 1), min({0}, num_positions - 1) + 1)\n"
_LAST_START = _STARTS.format("num_positions - 1")
_PLACES = ("num_positions // 2", 1, 2, 3)


def _beyond(size: float) -> str:
    return f"moved = bool(((before - after).abs() > {size}).any())"


EXERCISE = exercise(
    leaks_future,
    right=RIGHT,
    asks="Write the test that says whether any output of an attention depends on a later position.",
    minutes=15,
    difficulty=4,
    importance=5,
    cases=(_cleared[0], *_found[:2], _PAIRS, _SMALLER, *_cleared[1:], *_found[2:], *_LAST),
    mistakes=(
        mistake("the global random state used", "The test draws from the global random state, so calling it changes "
                "every random number that the program draws afterwards. A test should leave no trace: where else can "
                "its numbers come from?",
                "x = torch.randn(1, num_positions, d_model)", detects=lambda trace: trace.used_global_random),
        mistake("the changed position itself is looked at", "The output at the changed position was compared too. A "
                "causal output may depend on its own position: up to where do outputs have no excuse?",
                "seen = slice(start + 1)", f"starts = range(num_positions)\n{_ONE}seen = slice(start + 1)"),
        mistake("all outputs are looked at", "The whole output was compared, with the positions that may change. Which "
                "part of it has to stay the same?",
                "seen = slice(None)", f"starts = range(num_positions)\n{_ONE}seen = slice(None)"),
        mistake("the past is changed", "Outputs were compared whose own past was changed, and they moved, as they "
                "should. Up to where must two inputs be the same for an output to have no excuse?",
                "later = place < start\nseen = slice(start, None)", "later = place < start",
                _ONE + "seen = slice(start + 1, None)"),
        mistake("nothing is changed", "The attention was called more than once, but always with the same numbers, so "
                "every leak stays hidden. Is the change zero, or is it written into a tensor that both names share?",
                "changed = x.clone()", "out = x\nx.add_(later)\nchanged = x\nbefore = attention(x)[:, seen]"),
        mistake("changes pile up", "When a position is changed, those before it still carry their earlier changes, and "
                "outputs of the past move for that reason. What must every round start from?",
                "copy = x.clone()\nfound = []\ncopy[:, start] += 1.0\nchanged = copy",
                "fresh = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(start))\n"
                "x[:, start:] = fresh[:, start:]\nchanged = x"),
        mistake("only the last position and the first output", "One pair was tried: the last position was changed and "
                "the first output looked at. A leak between any other two is not found. Which pairs of a later "
                "position and an earlier output are there?",
                f"{_LAST_START}{_ONE}seen = slice(1)\nmoved = not torch.allclose(before, after, atol=1e-3)"),
        mistake("only the last position is changed", "The last position was changed and no other. A leak from any "
                "earlier one is not found. Which positions are later than some other?", _LAST_START + _ONE),
        mistake("only one position is changed", "One position was changed and no other, so a leak from elsewhere is "
                "not found. Which positions are later than some other?",
                *(_STARTS.format(place) + _ONE for place in _PLACES)),
        mistake("only one cut is tried", "Everything after one cut was changed, and the outputs before it compared. A "
                "leak that stays on one side of the cut is not found. How many cuts are there?",
                *(_STARTS.format(place) for place in _PLACES)),
        mistake("a position is left out", "One end of the range is missing: a leak from the last position, or into the "
                "first output, is not found. Which numbers does your `range` give?",
                f"starts = range(1, num_positions - 1)\n{_ONE}", "starts = range(1, num_positions - 1)",
                "starts = range(2, num_positions)", f"starts = range(2, num_positions - 1)\n{_ONE}",
                "starts = range(2, num_positions - 1)"),
        mistake("the future is shuffled, not changed", "The later positions changed places only. What adds up over "
                "them stays, such as a mean, and a last position alone cannot be shuffled. What change leaves nothing "
                "as it was?", "changed = torch.cat([x[:, :start], x[:, start:].flip(1)], 1)",
                f"changed = torch.cat([x[:, :start], x[:, start:].flip(1)], 1)\n{_beyond(1e-6)}"),
        mistake("one feature of the input is changed", "One feature of the later positions was changed, so a leak of "
                "any other is not found. Which numbers of a position can an attention read?",
                "noise = (torch.arange(d_model) == 0).float()",
                "noise = (torch.arange(d_model) == d_model - 1).float()"),
        mistake("the future is poisoned with NaN or inf", "NaN was put into the future. A causal attention gives it "
                "the weight 0, and 0 times NaN is NaN: it looks like a leak where there is none. Which change stays "
                "within numbers?", "changed = x.masked_fill(later, torch.nan)\nmoved = bool(after.isnan().any())"),
        mistake("the input is zero to start with", "With zeros, every value of the past is 0, whatever weight it gets, "
                "so a leak into the weights stays hidden. What should the unchanged input look like?",
                "x = torch.zeros(1, num_positions, d_model)"),
        mistake("all positions are the same to start with", "When all positions of the past are equal, their average "
                "is the same under any weights, so a leak into the weights stays hidden. What should the unchanged "
                "input look like?", "x = torch.ones(1, num_positions, d_model)",
                "x = torch.ones(1, num_positions, d_model)\nchanged = x.masked_fill(later, 0.0)"),
        mistake("features instead of positions", "The last axis was cut, the one of the features. Which of the three "
                "axes are the positions?",
                "starts = range(1, d_model)\nlater = torch.arange(d_model) >= start\nbefore = out[..., seen]\n"
                "after = attention(changed)[..., seen]"),
        mistake("attention called with another shape", "The attention was given something else than float32 (1, "
                "num_positions, d_model). One with a fixed mask or learned positions takes no other length, and "
                "sequences in one batch may influence each other. How can the future change without another shape?",
                "changed = x[:, :start]", "changed = torch.cat([x, x + later * noise])", "changed = x[0]",
                "changed = x.double()"),
        mistake("the gradient is asked", "The gradient says what an output depends on where there is one. An attention "
                "that chooses, rounds or leaves torch has none, and may leak all the same. What can be tried with any "
                "function at all?",
                "def leaks_future(attention, num_positions, d_model):\n"
                "    generator = torch.Generator().manual_seed(0)\n"
                "    x = torch.randn(1, num_positions, d_model, generator=generator).requires_grad_()\n"
                "    for i in range(num_positions - 1):\n"
                "        (grad,) = torch.autograd.grad(attention(x)[:, i].sum(), x)\n"
                "        if grad[:, i + 1 :].any():\n            return True\n    return False",
                "jacobian = torch.autograd.functional.jacobian(attention, x)[0, :, :, 0]\n"
                "return bool(jacobian.abs().sum((1, 3)).triu(1).any())", detects=lambda trace: trace.used_autograd,
                even_if_right=False),
        mistake("inputs compared instead of outputs", "The attention was called, but the answer does not depend on "
                "what it returned. Which two tensors have to be compared?",
                "before = x[:, seen]\nafter = (attention(changed), changed)[1][:, seen]"),
        mistake("always False", "The answer is always False: the attention is not called, or what it returns plays no "
                "part. How can you tell from outside what a function does?",
                "def leaks_future(attention, num_positions, d_model):\n    return False"),
        mistake("always True", "The answer is always True: the attention is not called, or what it returns plays no "
                "part. How can you tell from outside what a function does?",
                "def leaks_future(attention, num_positions, d_model):\n    return True"),
        mistake("only the first output is looked at", "Only the output at position 0 was compared, so a leak that "
                "starts later is not found. Which outputs come before the changed position?", "seen = slice(1)"),
        mistake("only the neighbour is looked at", "Only the output just before the changed position was compared. A "
                "leak may reach further back. Which outputs come before the changed position?",
                f"{_ONE}seen = start - 1"),
        mistake("the neighbour is left out", "The output just before the changed position was not compared, and that "
                "is where a mask that is off by one leaks. Where does the slice end?",
                f"{_ONE}seen = slice(start - 1)", "seen = slice(max(start - 1, 1))"),
        mistake("one column of the output", "One feature of the output was compared, so a leak into another is not "
                "found. Which entries of an output may not move?",
                "before = out[:, seen, 0]\nafter = attention(changed)[:, seen, 0]",
                "before = out[:, seen, -1]\nafter = attention(changed)[:, seen, -1]"),
        mistake("sums compared instead of entries", "What is added to one entry and taken from another leaves the sum "
                "as it was. What has to be compared?", "moved = abs(float(before.sum() - after.sum())) > 1e-6"),
        mistake("sign of the difference kept", "Only outputs that moved in one direction were noticed. What makes a "
                "size of a difference?", "moved = bool((before - after).max() > 1e-6)",
                "moved = bool((after - before).max() > 1e-6)", f"{_ONE}moved = bool((before - after).max() > 1e-6)",
                f"{_ONE}moved = bool((after - before).max() > 1e-6)", matches=_one_of_two_signs_found),
        mistake("rounding taken for a leak", "A causal attention was said to leak: its outputs moved in their last "
                "digit. A number that is computed in another way, or next to other numbers, need not be the same to "
                "the last bit. How near must two numbers be to count as one?",
                "moved = not torch.equal(before, after)", f"{_ONE}moved = not torch.equal(before, after)",
                _beyond(1e-8), _ONE + _beyond(1e-8)),
        mistake("a limit without a size", "An attention whose outputs are in the millions was said to leak: they moved "
                "by less than a millionth of their size. Numbers of float32 have about seven digits, however large "
                "they are: what should your limit be measured by?",
                *(one + _beyond(size) for size in (1e-5, 1e-6) for one in ("", _ONE))),
        mistake("small leaks forgiven", "A small leak is missed: what you change is small, or what you ignore is "
                "large. A causal attention gives the same outputs for the same past, up to rounding. How small an "
                "effect has to count?",
                _beyond(1e-3), _beyond(0.1), _ONE + _beyond(0.1), matches=_only_large_leaks_found),
        mistake("a leak only where everything moves", "A leak was reported only where every comparison found one. How "
                "many outputs have to move before an attention leaks?", "enough = not moved\nreturn all(found)",
                f"{_ONE}enough = not moved\nreturn all(found)", "moved = bool((before != after).all())",
                "moved = bool((before > after).all())", f"{_ONE}moved = bool((before != after).all())"),
        mistake("nothing returned", "Nothing was returned for an attention that does not leak. What does the function "
                "say when its loop comes to an end?", "return True if any(found) else None"),
        mistake("a tensor", "The answer came as a tensor. Python's True or False is asked for: what makes one of it?",
                "return torch.tensor(any(found))"),
        mistake("only the last comparison counts", "Each round overwrites the verdict of the round before, so a leak "
                "found early is forgotten. What should happen as soon as one leak is found?",
                "enough = False\nreturn [False, *found][-1]"),
        mistake("answer inverted", "A causal attention was said to leak, and a leaking one not to. What does True mean "
                "in `leaks_future`?", "return not any(found)",
                *(f"{one}moved = torch.equal(before, after)" for one in ("", _ONE)),
                *(f"{one}moved = torch.equal(before, after)\nenough = False" for one in ("", _ONE))),
    ),
    hints=(
        "Two texts that begin alike: what must a causal attention say about the part that they share?",
        "Make one random input and a changed copy of it. If the change starts at position t, which outputs may differ, "
        "and which may not?",
        "One place to start the change is not enough: a leak may sit at either end or reach one step only. Go through "
        "all of them, from an unchanged input each time.",
        "Leaks can be small. For the same past, a causal attention gives the same numbers up to rounding: how little "
        "may a comparison forgive? And is your change as large as it can be?",
    ),
)
