"""The floor of the tests: inputs to compare on, the comparison itself, and counting."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

Tensors = tuple[Tensor, ...]
LENGTHS = [(3, 5), (5, 5), (7, 3), (1, 6), (6, 1), (1, 1)]  # of the queries and of the keys
LEADING = [(), (2,), (2, 3), (2, 1, 4)]


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    g = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=g, dtype=torch.float64).to(dtype)


def draw_mask(shape: tuple[int, ...]) -> Tensor:
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) > 0.4
    if len(shape) > 1:
        mask[..., :1, :] = False  # the first query, or every one, may see nothing
    return mask


def table(num_queries: int, num_keys: int, rule: Callable[[int, int], bool]) -> Tensor:
    """Make a mask from a rule for query i and key j."""
    rows = [[rule(i, j) for j in range(num_keys)] for i in range(num_queries)]
    return torch.tensor(rows, dtype=torch.bool).reshape(num_queries, num_keys)


def qkv(
    leading: tuple[int, ...], num_queries: int, num_keys: int, d_k: int = 4, d_v: int = 6
) -> Tensors:
    sizes = ((num_queries, d_k), (num_keys, d_k), (num_keys, d_v))
    return tuple(draw(*leading, *size, seed=i) for i, size in enumerate(sizes))


def as_tuple(out: Tensor | Iterable[Tensor]) -> Tensors:
    return (out,) if isinstance(out, Tensor) else tuple(out)


def outcome(fn: Callable[..., Tensor | Tensors], given: Tensors) -> Tensors:
    """Return the outputs, and the gradients of one random loss of all of them."""
    given = tuple(x.detach().requires_grad_() for x in given)
    out = as_tuple(fn(*given))
    slopes = [draw(*one.shape, seed=9).to(one.dtype) for one in out]
    grads = torch.autograd.grad(out, given, slopes, materialize_grads=True)
    return *(one.detach() for one in out), *grads


def assert_same_function(ours: Callable, theirs: Callable, given: Tensors) -> None:
    """Compare outputs and gradients; then ours again without gradients, which may go another way.

    Gradients are off in two ways: nothing that is given asks for them, or `no_grad` forbids them.
    """
    want = outcome(theirs, given)
    torch.testing.assert_close(outcome(ours, given), want)
    plain = [x.detach() for x in given]
    free = as_tuple(ours(*plain))
    torch.testing.assert_close(free, want[: len(free)])
    with torch.no_grad():
        torch.testing.assert_close(as_tuple(ours(*plain)), want[: len(free)])


def kernel_loop(query: Tensor, key: Tensor, value: Tensor, weight, sees=lambda i, j: True):
    """Average the values of one head under any weights, one query and one key at a time."""
    rows = []
    for i in range(len(query)):
        pairs = [(weight(query[i], key[j]), value[j]) for j in range(len(key)) if sees(i, j)]
        total = sum(w for w, _ in pairs)
        rows.append(sum(w / total * v for w, v in pairs))
    return torch.stack(rows)


def growth(count: Callable[..., int], fn: Callable, make: Callable[[int], Tensors]) -> float:
    """Return the exponent between two lengths, at which no piece or chunk is the whole."""
    small, large = 2048, 4096
    counts = [count(fn, *make(size)) for size in (small, large)]
    return math.log(counts[1] / counts[0]) / math.log(large / small)
