import pytest
import torch
from torch import Tensor

from course_utils.attention import grouped_query_attention, scaled_dot_product_attention
from course_utils.measure import count_flops, largest_tensor
from tests.support import assert_same_function, draw, draw_mask

B, H, L, S, D_K, D_V = 2, 6, 3, 5, 4, 7
KV_HEADS = [1, 2, 3, 6]
MASKS = [None, (S,), (L, S), (1, S), (H, L, S), (H, 1, S), (B, 1, L, S), (B, 1, 1, S), (B, H, L, S)]


def inputs(kv_heads: int, num_queries: int = L, num_keys: int = S) -> tuple[Tensor, ...]:
    sizes = ((H, num_queries, D_K), (kv_heads, num_keys, D_K), (kv_heads, num_keys, D_V))
    return tuple(draw(B, *size, seed=i) for i, size in enumerate(sizes))


@pytest.mark.parametrize("kv_heads", KV_HEADS)
@pytest.mark.parametrize("shape", MASKS, ids=str)
@pytest.mark.parametrize("lengths", [(L, S), (S, L), (1, 4), (4, 1), (1, 1), (0, 3), (3, 0)])
def test_is_attention_with_every_shared_head_repeated(kv_heads, shape, lengths) -> None:
    mask = None
    if shape is not None:
        wanted = dict(zip((L, S), lengths, strict=True))
        mask = draw_mask((*shape[:-2], *(wanted.get(size, size) for size in shape[-2:])))

    def repeated(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (x.repeat_interleave(H // kv_heads, dim=1) for x in (k, v))
        return scaled_dot_product_attention(q, k, v, mask)

    given = inputs(kv_heads, *lengths)
    assert_same_function(lambda *x: grouped_query_attention(*x, mask), repeated, given)


@pytest.mark.parametrize("shape", [None, (1, 1500), (8, 1, 1500)], ids=str)
@pytest.mark.parametrize("d_v", [16, 24])
def test_makes_nothing_as_large_as_repeated_keys(shape, d_v) -> None:
    query, key, value = (
        torch.ones(1, 8, 1, 16),
        torch.ones(1, 2, 1500, 16),
        torch.ones(1, 2, 1500, d_v),
    )
    mask = None if shape is None else torch.ones(shape, dtype=torch.bool)
    made = largest_tensor(grouped_query_attention, query, key, value, mask)
    assert made <= key.numel() < 8 * 1500 * 16 / 2
    repeated = (x.repeat_interleave(4, dim=1) for x in (key, value))
    assert count_flops(grouped_query_attention, query, key, value, mask) == count_flops(
        scaled_dot_product_attention, query, *repeated
    )


def test_a_mask_for_all_heads_is_not_copied_for_each() -> None:
    query, key, mask = torch.ones(1, 8, 50, 4), torch.ones(1, 4, 60, 4), torch.ones(50, 60) > 0
    assert largest_tensor(grouped_query_attention, query, key, key, mask) == 2 * 50 * 60
