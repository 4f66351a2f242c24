import math

import pytest
import torch

from course_utils.positions import T5Positions, t5_bucket


def by_hand(step: int, num_buckets: int, max_distance: int, both: bool) -> int:
    first = 0
    if both:
        num_buckets //= 2
        first = num_buckets if step > 0 else 0
        step = -abs(step)
    distance, exact = max(-step, 0), num_buckets // 2
    if distance < exact:
        return first + distance
    # The k-th wide bucket begins at exact · (max/exact)^(k/wide), to rounding.
    wide = num_buckets - exact
    begins = [exact * (max_distance / exact) ** (k / wide) for k in range(wide)]
    return first + exact + sum(distance >= start * (1 - 1e-9) for start in begins) - 1


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("buckets", "far"), [(32, 128), (8, 20), (10, 50), (64, 1000), (4, 3)])
def test_agrees_with_where_each_bucket_begins_for_512_to_both_sides(both, buckets, far) -> None:
    steps = torch.arange(-512, 513)
    wanted = [by_hand(int(step), buckets, far, both) for step in steps]
    assert t5_bucket(steps, buckets, far, both).tolist() == wanted


def test_near_distances_have_buckets_of_their_own() -> None:
    assert t5_bucket(torch.arange(0, -8, -1), 32, 128, True).tolist() == list(range(8))
    assert t5_bucket(torch.arange(1, 8), 32, 128, True).tolist() == list(range(17, 24))
    assert t5_bucket(torch.tensor([-15, -16, -127, -128, -(10**9)]), 32, 128, False).tolist() == [
        *(15, 16, 31, 31, 31)
    ]


def test_one_way_all_later_keys_share_bucket_0() -> None:
    assert not t5_bucket(torch.arange(0, 500), 32, 128, False).any()


@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (2, 1, 5)])
def test_any_shape_and_whole_dtype_gives_long(shape) -> None:
    for dtype in (torch.int64, torch.int32, torch.int16):
        got = t5_bucket(torch.full(shape, -3, dtype=dtype), 32, 128, True)
        assert got.dtype == torch.int64
        assert got.shape == shape


def test_the_scheme_adds_a_number_for_each_head_and_bucket() -> None:
    scheme = T5Positions(3, num_buckets=8, max_distance=20, bidirectional=True)
    q, at, of = torch.zeros(2, 3, 4, 5), torch.arange(6, 10), torch.arange(10)
    bias = scheme.bias(q, q, at, of)
    for head in range(3):
        for i in range(4):
            for j in range(10):
                bucket = by_hand(j - (i + 6), 8, 20, True)
                assert bias[head, i, j] == scheme.table.weight[bucket, head]
    each = scheme.bias(q, q, torch.stack((at, at + 2)), of.expand(2, 10))
    assert each.shape == (2, 3, 4, 10)
    torch.testing.assert_close(each[0], bias)
    torch.testing.assert_close(each[1], scheme.bias(q, q, at + 2, of))


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="above the 8 exact distances, got 8"):
        t5_bucket(torch.arange(3), 32, 8, True)


def test_wrong_sizes_of_the_scheme_are_refused_when_it_is_made() -> None:
    with pytest.raises(ValueError, match="num_heads must be at least 1, got 0"):
        T5Positions(0)
    with pytest.raises(ValueError, match="above the 16 exact distances, got 16"):
        T5Positions(2, max_distance=16)


def test_the_default_sizes_are_t5_s_own() -> None:
    assert T5Positions(2).sizes == (32, 128, False)
    assert math.isclose(sum(p.numel() for p in T5Positions(2).parameters()), 64)
