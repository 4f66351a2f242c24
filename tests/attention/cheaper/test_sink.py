import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import grouped_query_attention, sink_attention
from course_utils.measure import largest_tensor
from tests.support import assert_same_function, draw, draw_mask

B, H, L, S, D_K, D_V = 2, 6, 3, 5, 4, 7
MASKS = [None, (S,), (L, S), (1, S), (H, L, S), (H, 1, S), (B, 1, L, S), (B, 1, 1, S), (B, H, L, S)]
LENGTHS = [(L, S), (S, L), (1, 4), (4, 1), (1, 1), (0, 3), (3, 0)]


def inputs(kv_heads: int = H, num_queries: int = L, num_keys: int = S) -> tuple[Tensor, ...]:
    sizes = ((H, num_queries, D_K), (kv_heads, num_keys, D_K), (kv_heads, num_keys, D_V))
    return *(draw(B, *size, seed=i) for i, size in enumerate(sizes)), draw(H)


@pytest.mark.parametrize("kv_heads", [2, 6])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_is_plain_attention_with_a_sigmoid_of_what_the_softmax_divides_by(
    kv_heads, masked, lengths
) -> None:
    mask = draw_mask(lengths) if masked else None

    def gated(q: Tensor, k: Tensor, v: Tensor, sink: Tensor) -> Tensor:
        repeated = k.repeat_interleave(H // kv_heads, dim=1)
        scores = q @ repeated.mT / math.sqrt(D_K)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        # A finite floor below every score keeps the slope of an empty row finite.
        floor = torch.full_like(scores[..., :1], -1e3)
        lse = torch.cat((scores, floor), -1).logsumexp(-1, keepdim=True)
        return grouped_query_attention(q, k, v, mask) * (lse - sink[:, None, None]).sigmoid()

    assert_same_function(lambda *x: sink_attention(*x, mask), gated, inputs(kv_heads, *lengths))


def test_a_low_sink_is_plain_attention_and_a_high_one_gives_zeros() -> None:
    query, key, value, sink = inputs()
    low = sink_attention(query, key, value, torch.full_like(sink, -1e4))
    torch.testing.assert_close(low, grouped_query_attention(query, key, value))
    assert not sink_attention(query, key, value, torch.full_like(sink, 1e4)).any()


@pytest.mark.parametrize("size", [-1e4, 1e4])
def test_scores_and_sinks_of_any_size_are_read(size) -> None:
    query, key, value, sink = (x.float() for x in inputs())
    scores = torch.full_like(query[..., :1], size), torch.ones_like(key[..., :1])
    out = sink_attention(*scores, value, torch.full_like(sink, size))
    torch.testing.assert_close(out, value.sum(2, keepdim=True).expand_as(out) / (S + 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_is_exact_to_its_rounding(dtype) -> None:
    given = [x.to(dtype) for x in inputs(2)]
    out, exact = sink_attention(*given), sink_attention(*(x.double() for x in given))
    assert out.dtype == dtype
    assert (out.double() - exact).abs().max() < 8 * torch.finfo(dtype).eps


def test_shared_keys_are_not_repeated() -> None:
    query, key, sink = torch.ones(1, 8, 1, 16), torch.ones(1, 2, 1500, 16), torch.ones(8)
    assert largest_tensor(sink_attention, query, key, key, sink) <= 8 * 1501
