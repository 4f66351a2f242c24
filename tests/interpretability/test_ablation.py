import pytest
import torch

from course_utils.interpretability import mean_ablate
from tests.support import draw


@pytest.mark.parametrize("heads", [[], [2], [3, 0], [1, 1, 3], [0, 1, 2, 3]])
def test_a_loop_sets_each_listed_head_to_its_mean(heads: list[int]) -> None:
    outputs, reference = draw(2, 4, 3, 5), draw(6, 4, 7, 5)
    wanted = outputs.clone()
    for head in range(4):
        if head in heads:
            rows = [reference[n, head, m] for n in range(6) for m in range(7)]
            wanted[:, head] = sum(rows) / 42
    torch.testing.assert_close(mean_ablate(outputs, heads, reference), wanted)


def test_ablated_by_itself_a_head_keeps_its_mean_and_loses_the_rest() -> None:
    outputs = draw(3, 4, 5, 2)
    ablated = mean_ablate(outputs, [1], outputs)
    torch.testing.assert_close(ablated.mean((0, 2)), outputs.mean((0, 2)))
    assert ablated[:, 1].std((0, 1)).max() < 1e-12
    torch.testing.assert_close(mean_ablate(ablated, [1], outputs), ablated)


def test_the_result_is_new_and_the_inputs_stay() -> None:
    outputs, reference = draw(2, 3, 4, 5), draw(6, 3, 2, 5)
    kept = outputs.clone(), reference.clone()
    for heads in ([], [1], (0, 1, 2)):
        mean_ablate(outputs, heads, reference).fill_(7.0)
    torch.testing.assert_close((outputs, reference), kept, rtol=0, atol=0)


def test_the_gradient_is_1_for_the_others_and_0_for_the_listed() -> None:
    outputs = draw(2, 4, 3, 5).requires_grad_()
    mean_ablate(outputs, [1, 3], draw(6, 4, 7, 5)).sum().backward()
    assert outputs.grad is not None
    assert outputs.grad.mean((0, 2, 3)).tolist() == [1.0, 0.0, 1.0, 0.0]


def test_what_does_not_fit_is_refused() -> None:
    outputs = draw(2, 3, 4, 5)
    for head in (-1, 3):
        with pytest.raises(ValueError, match=rf"heads must be in 0 … 2, got {head}"):
            mean_ablate(outputs, [0, head], outputs)
    for shape in ((2, 4, 4, 5), (2, 3, 4, 6)):
        with pytest.raises(ValueError, match="reference must have 3 heads of width 5, got shape"):
            mean_ablate(outputs, [0], draw(*shape))
    for shape in ((0, 3, 4, 5), (2, 3, 0, 5)):
        with pytest.raises(ValueError, match="reference must hold a token, got shape"):
            mean_ablate(outputs, [0], draw(*shape))
    with pytest.raises(TypeError, match="heads must be a sequence of ints"):
        mean_ablate(outputs, [0.0], outputs)  # type: ignore[list-item]
