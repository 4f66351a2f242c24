import pytest
import torch

from course_utils.measure import exact_match


def test_padding_in_the_prediction_is_a_mistake() -> None:
    target = torch.tensor([[1, 2, 9]])
    assert exact_match(torch.tensor([[1, 9, 9]]), target, 9) == 0.0
    assert exact_match(torch.tensor([[1, 2, 5]]), target, 9) == 1.0


def test_a_target_of_padding_alone_counts_as_right() -> None:
    assert exact_match(torch.tensor([[3, 4], [3, 4]]), torch.tensor([[0, 0], [4, 3]]), 0) == 0.5


@pytest.mark.parametrize(
    ("predicted", "target", "kind", "message"),
    [
        (torch.zeros(2, 3), torch.zeros(2, 3).long(), TypeError, "predicted must hold integers"),
        (torch.zeros(2, 3).long(), torch.zeros(2, 3) > 0, TypeError, "target must hold integers"),
        (
            torch.zeros(2, 3).long(),
            torch.zeros(2, 4).long(),
            ValueError,
            r"the same two axes \(batch, T\), got \(2, 3\) and \(2, 4\)",
        ),
        (torch.zeros(3).long(), torch.zeros(3).long(), ValueError, "the same two axes"),
        (torch.zeros(0, 3).long(), torch.zeros(0, 3).long(), ValueError, "at least one sequence"),
    ],
)
def test_bad_input_is_named(predicted, target, kind, message) -> None:
    with pytest.raises(kind, match=message):
        exact_match(predicted, target, 0)
