import pytest
import torch
from torch import Tensor

from course_utils.interpretability import effective_attention


def inputs(*shape: int, rank: int | None = None) -> tuple[Tensor, Tensor]:
    *batch, queries, keys, d_v = shape
    generator = torch.Generator().manual_seed(sum(shape))
    weights = torch.randn(*batch, queries, keys, generator=generator, dtype=torch.float64)
    rank = d_v if rank is None else rank
    tall, flat = (
        torch.randn(*batch, *sizes, generator=generator, dtype=torch.float64)
        for sizes in ((keys, rank), (rank, d_v))
    )
    return weights.softmax(-1), tall @ flat


SIZES = [((2, 3, 4, 7, 3), None), ((4, 6, 4), 2), ((2, 3, 2, 5), None), ((3, 5, 2), 0)]


@pytest.mark.parametrize(("shape", "rank"), SIZES)
def test_the_output_stays_and_the_rest_is_perpendicular_to_every_feature(shape, rank) -> None:
    weights, value = inputs(*shape, rank=rank)
    effective = effective_attention(weights, value)
    torch.testing.assert_close(effective @ value, weights @ value)
    # It is the shortest row with that output: what is left of it has no part in the other one.
    lost = weights - effective
    inner = (effective * lost).sum(-1)
    torch.testing.assert_close(inner, torch.zeros_like(inner), rtol=0, atol=1e-12)
    torch.testing.assert_close(effective_attention(effective, value), effective)


def test_with_fewer_keys_than_features_nothing_is_lost() -> None:
    weights, value = inputs(2, 3, 4, 9)
    torch.testing.assert_close(effective_attention(weights, value), weights)


def test_values_of_0_let_nothing_through() -> None:
    weights, value = inputs(2, 3, 4, 2)
    assert not effective_attention(weights, 0 * value).any()


def test_what_does_not_fit_is_refused() -> None:
    weights, value = inputs(2, 3, 5, 2)
    with pytest.raises(ValueError, match="the same leading axes and the same number of keys, got"):
        effective_attention(weights, value[:, :4])
    with pytest.raises(ValueError, match="value must hold finite numbers, got NaN or inf"):
        effective_attention(weights, value.log())
    with pytest.raises(TypeError, match="all must have the same dtype"):
        effective_attention(weights.float(), value)
