import pytest
import torch

from course_utils.positions import PositionScheme, relative_positions


def test_the_base_scheme_does_nothing_anywhere() -> None:
    scheme, places = PositionScheme(), torch.arange(4)
    x, q, k = torch.randn(2, 4, 6), torch.randn(2, 3, 4, 2), torch.randn(2, 3, 4, 2)
    assert scheme.embed(x, places) is x
    turned = scheme.rotate(q, k, places, places)
    assert turned[0] is q
    assert turned[1] is k
    assert scheme.bias(q, k, places, places) is None
    assert scheme.value_term(q @ k.mT, places, places) is None


def test_relative_positions_are_key_minus_query() -> None:
    steps = relative_positions(torch.tensor([5, 6]), torch.tensor([4, 5, 9]))
    assert steps.tolist() == [[-1, 0, 4], [-2, -1, 3]]


def test_positions_of_each_sequence_get_an_axis_for_the_heads() -> None:
    each = relative_positions(torch.tensor([[0, 1], [5, 6]]), torch.tensor([4, 5, 9]))
    assert each.shape == (2, 1, 2, 3)
    assert each[1, 0].tolist() == [[-1, 0, 4], [-2, -1, 3]]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (torch.zeros(2, 1, 3), ValueError, r"\(batch, length\), got \(2, 1, 3\)"),
        (torch.tensor(3), ValueError, r"key_positions must have the axes .* got \(\)"),
    ],
)
def test_other_axes_are_refused(given, error, says) -> None:
    with pytest.raises(error, match=says):
        relative_positions(torch.arange(3), given)
