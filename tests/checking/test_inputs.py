"""Arguments drawn from the shapes in a function's annotations."""

import pytest
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_utils.checking.inputs import drawn


def attend(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*#batch S d_k"],
    both: Float[Tensor, " 2*d_k"],
    mask: Bool[Tensor, "L S"] | None = None,
    scale: float | None = None,
) -> None: ...


def gather(table: Float[Tensor, "n d"], index: Int[Tensor, " k"], count: int) -> None: ...


SIZES = {"L": 2, "S": 3, "d_k": 4}


def draw(function=attend, seed=0, **wanted):
    return drawn(function, "a case", wanted)(torch.Generator().manual_seed(seed))


def test_shapes_come_from_the_annotations_and_batch_from_the_case() -> None:
    query, key, both = draw(**SIZES, batch=(5, 1))
    assert (query.shape, key.shape, both.shape) == ((5, 1, 2, 4), (5, 1, 3, 4), (8,))
    assert query.dtype == torch.float64
    assert all(torch.equal(a, b) for a, b in zip(draw(**SIZES), draw(**SIZES), strict=True))


def test_dtype_size_and_layout_can_be_chosen() -> None:
    query, *_ = draw(**SIZES | {"L": 2000}, dtype="bfloat16", size=50.0, strided=True)
    assert query.dtype == torch.bfloat16
    assert 40 < float(query.float().std()) < 60
    assert not query.is_contiguous()


def test_a_value_is_given_or_made_and_what_lies_before_it_gets_its_default() -> None:
    *_, mask, scale = draw(**SIZES, scale=0.3)
    assert (mask, scale) == (None, 0.3)
    *_, mask = draw(**SIZES, mask=lambda g: torch.rand(2, 3, generator=g) < 0.5)
    assert mask.shape == (2, 3)
    table, index, count = draw(gather, n=3, d=2, index=torch.tensor([0]), count=1)
    assert (table.shape, index.tolist(), count) == ((3, 2), [0], 1)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"n": 3, "index": torch.tensor([0]), "count": 1}, "'a case' must say the size d"),
        ({"n": 3, "d": 2, "count": 1}, "'a case' must say what index is"),
        ({"n": 3, "d": 2, "index": torch.tensor([0])}, "'a case' must say what count is"),
    ],
)
def test_what_a_case_does_not_say_is_named(wanted, says) -> None:
    with pytest.raises(ValueError, match=says):
        draw(gather, **wanted)
