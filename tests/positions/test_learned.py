import pytest
import torch

from course_utils.positions import LearnedPositions


def test_adds_the_vector_of_each_position() -> None:
    scheme = LearnedPositions(9, 6)
    x = torch.randn(2, 5, 6)
    rows = scheme.table.weight
    torch.testing.assert_close(scheme.embed(x, torch.arange(4, 9)), x + rows[4:])
    each = torch.tensor([[0, 1, 2, 3, 4], [8, 7, 6, 5, 4]])
    torch.testing.assert_close(scheme.embed(x, each), x + rows[each])


def test_the_vectors_are_drawn_as_widely_as_asked() -> None:
    torch.manual_seed(0)
    assert LearnedPositions(200, 64, std=0.3).table.weight.std().item() == pytest.approx(0.3, 0.05)
    assert LearnedPositions(200, 64).table.weight.std().item() == pytest.approx(0.02, 0.05)


def test_no_position_is_an_empty_sequence() -> None:
    empty = torch.zeros(2, 0, 6)
    assert LearnedPositions(9, 6).embed(empty, torch.arange(0)).shape == (2, 0, 6)


@pytest.mark.parametrize(
    ("positions", "error", "says"),
    [
        (torch.tensor([0, 9]), ValueError, "positions must lie between 0 and 8, got 0 to 9"),
        (torch.tensor([-1, 2]), ValueError, "positions must lie between 0 and 8, got -1 to 2"),
    ],
)
def test_a_position_without_a_vector_is_refused(positions, error, says) -> None:
    with pytest.raises(error, match=says):
        LearnedPositions(9, 6).embed(torch.zeros(1, 2, 6), positions)
