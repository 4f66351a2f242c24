from itertools import chain, combinations

import pytest
import torch
from torch import Tensor

from course_utils.interpretability import attention_flow


def layers(number: int, length: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(number)
    drawn = torch.randn(number, length, length, generator=generator, dtype=torch.float64)
    return list((2 * drawn).softmax(-1))


def smallest_cut(given: list[Tensor], source: int, target: int) -> float:
    """Return the least capacity that leaves a set of nodes with the source: every set is tried."""
    length, levels = len(given[0]), len(given) + 1
    nodes = [(level, j) for level in range(levels) for j in range(length)]
    ends = {(0, source), (levels - 1, target)}
    free = [node for node in nodes if node not in ends]
    found = []
    for kept in chain.from_iterable(combinations(free, n) for n in range(len(free) + 1)):
        near = {(0, source), *kept}
        found.append(
            sum(
                0.5 * float(given[level][i, j]) + 0.5 * (i == j)
                for level, j in near
                if level < levels - 1
                for i in range(length)
                if (level + 1, i) not in near
            )
        )
    return min(found)


@pytest.mark.parametrize(("number", "length"), [(1, 3), (2, 3), (3, 3), (2, 4)])
def test_the_largest_flow_is_the_smallest_cut(number: int, length: int) -> None:
    given = layers(number, length)
    for source, target in ((0, length - 1), (1, 1)):
        wanted = smallest_cut(given, source, target)
        assert attention_flow(given, source, target) == pytest.approx(wanted)


def test_what_is_hidden_by_a_causal_mask_gets_nothing() -> None:
    given = [one.tril() for one in layers(3, 5)]
    assert attention_flow(given, 4, 1) == 0.0
    assert attention_flow(given, 1, 4) > 0.0


def test_one_layer_lets_through_what_its_entry_says() -> None:
    (given,) = layers(1, 4)
    assert attention_flow([given], 2, 0) == pytest.approx(0.5 * given[0, 2].item())
    assert attention_flow([given], 2, 2) == pytest.approx(0.5 * given[2, 2].item() + 0.5)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="source and target must be below the length 4, got 1 and"):
        attention_flow(layers(2, 4), 1, 4)
    with pytest.raises(ValueError, match="source must be at least 0, got -1"):
        attention_flow(layers(2, 4), -1, 2)
    with pytest.raises(ValueError, match=r"layers\[0\] must have the axes \(L, L\), got"):
        attention_flow([torch.ones(2, 4, 4)], 0, 1)
