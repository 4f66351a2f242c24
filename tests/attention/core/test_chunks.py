import pytest
import torch

from course_utils.attention.core.chunks import joined, pieces, windows
from course_utils.measure import largest_tensor
from tests.support import draw


@pytest.mark.parametrize("rows", [1, 2, 5, 9])
@pytest.mark.parametrize("length", [0, 1, 5, 7])
def test_pieces_put_together_are_the_sequence(length, rows) -> None:
    x, y = draw(2, length, 3), draw(2, length, 1)
    for given in ((x, y), (x.clone().requires_grad_(), y)):
        parts = (torch.cat(pair, dim=-1) for pair in pieces(rows, *given))
        assert torch.equal(joined(parts, length, *given), torch.cat((x, y), dim=-1))


def test_windows_are_views_that_overlap() -> None:
    x = draw(2, 11, 3)
    found = windows(x, 5, 3)
    assert all(torch.equal(one, x[:, i * 3 : i * 3 + 5]) for i, one in enumerate(found))
    assert len(found) == 3
    assert largest_tensor(windows, x, 5, 3) == 0
