"""The cache of latent rows: it holds what was appended, in order, as far as it has room."""

import pytest
import torch

from course_utils.attention.latent.cache import LatentCache
from tests.support import draw


def test_it_holds_what_was_appended() -> None:
    cache, rows = LatentCache(2, 9, 5, dtype=torch.float64), draw(2, 7, 5)
    for part in rows.split((3, 1, 3), dim=1):
        cache.append(part)
    assert torch.equal(cache.read(), rows)
    assert (cache.length, cache.batch, cache.num_bytes) == (7, 2, 2 * 9 * 5 * 8)
    cache.crop(4)
    assert torch.equal(cache.read(), rows[:, :4])
    cache.select(torch.tensor([1, 1, 0]))
    assert torch.equal(cache.read(), rows[[1, 1, 0], :4])


def test_no_gradient_is_kept() -> None:
    cache = LatentCache(1, 3, 2, dtype=torch.float64)
    cache.append(draw(1, 2, 2).requires_grad_())
    assert not cache.read().requires_grad


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (draw(2, 4, 5), "room for 3 tokens, got 4 more"),
        (draw(2, 1, 4), "rows must"),
        (draw(3, 1, 5), "rows must"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows, says) -> None:
    cache = LatentCache(2, 3, 5, dtype=torch.float64)
    with pytest.raises(ValueError, match=says):
        cache.append(rows)
    assert cache.length == 0
