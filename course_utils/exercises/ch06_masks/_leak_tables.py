"""Many small leaks at once: a table of verdicts shows what a leak test looks at."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Case, Function
from course_utils.exercises.ch06_masks._attentions import (
    Attention,
    Layer,
    mixed,
    pair,
    step_ahead,
)

# What a comparison must find; a factor of 2e-5 changes an output near 0.5 by 300 roundings.
SIZES = (0.1, 1e-2, 1e-3, 1e-4, 2e-5)


def _verdict(test: Function, layer: Layer, attend: Attention) -> bool:
    return bool(test(layer.strict(attend), layer.n, layer.d))


def one_pair_each(test: Function, layer: Layer, n: int, d: int) -> Tensor:
    """Return (n, n) verdicts: row i, column j where output i was given position j to read."""

    def reads(query: int, key: int) -> Attention:
        # One column, and another sign from pair to pair: a difference has to lose its sign.
        table = pair(n, query, key, (-1.0) ** (query + key))
        return lambda x: layer.mean(x)[..., :1] + table @ mixed(x)

    rows = [[_verdict(test, layer, reads(i, j)) for j in range(n)] for i in range(n)]
    return torch.tensor(rows)


def one_column_each(test: Function, layer: Layer, n: int, d: int) -> Tensor:
    """Return a verdict for each column of the output: the leak is in that one alone."""

    def leaks_in(column: int) -> Attention:
        table, here = step_ahead(n, 1.0), torch.eye(layer.d_v, dtype=torch.float32)[column]
        return lambda x: layer.mean(x) + table @ mixed(x) * here

    return torch.tensor([_verdict(test, layer, leaks_in(c)) for c in range(layer.d_v)])


def one_feature_each(test: Function, layer: Layer, n: int, d: int) -> Tensor:
    """Return a verdict for each feature of the input: the leak is of that one alone."""

    def leaks_of(feature: int) -> Attention:
        table = step_ahead(n, 1.0)
        return lambda x: layer.mean(x) + table @ x[..., feature : feature + 1]

    return torch.tensor([_verdict(test, layer, leaks_of(f)) for f in range(d)])


def smaller_and_smaller(test: Function, layer: Layer, n: int, d: int) -> Tensor:
    """Return a verdict for each size of a leak of one step; the outputs lie near 0.5."""

    def leaks_by(size: float) -> Attention:
        table = step_ahead(n, size)
        return lambda x: 0.5 + 0.1 * layer.mean(x).tanh() + table @ x[..., : layer.d_v]

    return torch.tensor([_verdict(test, layer, leaks_by(size)) for size in SIZES])


def inputs_tried(test: Function, layer: Layer, n: int, d: int) -> Tensor:
    """Return (n + 1, n) facts about the inputs on which a test calls a causal attention.

    Row i, column j > i: two inputs were the same up to i and different at j. In the last row:
    whether the attention was called at all, and with different inputs.
    """
    seen: list[Tensor] = []

    def attend(x: Tensor) -> Tensor:
        seen.append(x.detach().clone())
        return layer.mean(x)

    _verdict(test, layer, attend)
    facts = torch.zeros(n + 1, n, dtype=torch.bool)
    if not seen:
        return facts
    different = torch.cat(seen).unique(dim=0)[:1000]
    same = (different.unsqueeze(0) == different.unsqueeze(1)).all(-1).flatten(0, 1)
    alike = same.cumprod(-1).double()
    facts[:n] = ((alike.mT @ (~same).double()) > 0).triu(1)
    facts[n, 0] = True
    facts[n, 1] = len(different) > 1
    return facts


def _table(name: str, n: int, d: int, run: Callable[..., Tensor], says: str) -> Case:
    return Case(name, lambda g: (Layer(n, d, 3, g), n, d), run=run, says=says)


TABLES = (
    _table(
        "one query reads one position, for each pair of 4",
        4,
        3,
        one_pair_each,
        "In each of 16 attentions one output was given one position more to read than its own "
        "past. The test is wrong for some of them. Is every later position changed, and is every "
        "earlier output looked at, also for neighbours and for the two ends?",
    ),
    _table(
        "a leak into one column of the output",
        5,
        4,
        one_column_each,
        "A leak into some columns of the output is found, into others it is not. Which entries of "
        "an output are compared?",
    ),
    _table(
        "a leak of one feature of the input",
        5,
        4,
        one_feature_each,
        "A leak of some features of the next position is found, of others it is not. Which numbers "
        "of a later position are changed?",
    ),
    _table(
        "smaller and smaller leaks",
        6,
        4,
        smaller_and_smaller,
        "A leak was made smaller and smaller, down to 2e-5 times the next position, where float32 "
        "still holds it to three digits. The test misses some. How large is the change that you "
        "make, and how large must an effect be to count? For the same past, the outputs of a "
        "causal attention are the same to the last digit.",
    ),
    _table(
        "the inputs that the test tries",
        4,
        3,
        inputs_tried,
        "This looked at the inputs only. For each position i there must be two inputs that are the "
        "same up to i and differ later, at each later position at least once. Yours leave a gap.",
    ),
)
