import math
from itertools import product

import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    causal_mask,
    composed_attention,
    composed_scores,
    grouped_query_attention,
    scaled_dot_product_attention,
    soft_cap,
    stable_softmax,
)
from course_utils.measure import count_flops
from tests.support import assert_same_function, draw, draw_mask

B, H, L, S, D_K, D_V = 2, 6, 3, 5, 4, 7
KV_HEADS = [1, 2, 3, 6]
MASKS = [None, (S,), (L, S), (H, L, S), (B, 1, 1, S), (B, H, L, S)]
BIAS = draw(H, L, S, seed=7)


def inputs(kv_heads: int, num_queries: int = L, num_keys: int = S) -> tuple[Tensor, ...]:
    sizes = ((H, num_queries, D_K), (kv_heads, num_keys, D_K), (kv_heads, num_keys, D_V))
    return tuple(draw(B, *size, seed=i) for i, size in enumerate(sizes))


def capped_with_bias(scores: Tensor) -> Tensor:
    return soft_cap(scores + BIAS, 1.5)


def one_pair_at_a_time(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float):
    kv_heads, out = key.shape[1], torch.zeros(B, H, L, D_V, dtype=torch.float64)
    for b, h, i in product(range(B), range(H), range(L)):
        shared, powers = h // (H // kv_heads), {}
        for j in range(S):
            if mask[b, h, i, j]:
                score = scale * float(query[b, h, i] @ key[b, shared, j]) + float(BIAS[h, i, j])
                powers[j] = math.exp(1.5 * math.tanh(score / 1.5))
        for j, power in powers.items():
            out[b, h, i] += power / sum(powers.values()) * value[b, shared, j]
    return out


@pytest.mark.parametrize("kv_heads", KV_HEADS)
@pytest.mark.parametrize("shape", MASKS, ids=str)
@pytest.mark.parametrize("scale", [None, 0.3, 0.0])
def test_agrees_with_a_loop_over_heads_queries_and_keys(kv_heads, shape, scale) -> None:
    mask = None if shape is None else draw_mask(shape)
    given = inputs(kv_heads)
    got = composed_attention(*given, capped_with_bias, mask, scale=scale)
    seen = (torch.tensor(True) if mask is None else mask).broadcast_to(B, H, L, S)
    factor = 1 / math.sqrt(D_K) if scale is None else scale
    torch.testing.assert_close(got, one_pair_at_a_time(*given, seen, factor))


@pytest.mark.parametrize("kv_heads", KV_HEADS)
@pytest.mark.parametrize("lengths", [(L, S), (S, L), (1, 4), (4, 1), (1, 1), (0, 3), (3, 0)])
def test_without_a_function_it_is_grouped_attention(kv_heads, lengths) -> None:
    mask = causal_mask(*lengths, offset=lengths[1] - lengths[0])
    assert_same_function(
        lambda *x: composed_attention(*x, attn_mask=mask),
        lambda *x: grouped_query_attention(*x, mask),
        inputs(kv_heads, *lengths),
    )


def test_the_function_meets_scaled_scores_of_all_heads_before_the_mask() -> None:
    query, key, value = inputs(2)
    met = []

    def look(scores: Tensor) -> Tensor:
        met.append(scores)
        return scores

    composed_attention(query, key, value, look, causal_mask(L, S))
    want = query @ key.repeat_interleave(3, dim=1).mT / math.sqrt(D_K)
    torch.testing.assert_close(met[0], want)


def test_a_function_that_hides_keys_is_a_mask() -> None:
    mask = draw_mask((H, L, S))
    assert_same_function(
        lambda *x: composed_attention(*x, lambda scores: scores.masked_fill(~mask, -torch.inf)),
        lambda *x: composed_attention(*x, attn_mask=mask),
        inputs(3),
    )


def test_scores_are_masked_and_any_weighting_may_follow() -> None:
    query, key, value = inputs(H)
    mask = causal_mask(L, S, 2)
    scores = composed_scores(query, key, attn_mask=mask)
    assert torch.equal(scores == -torch.inf, ~mask.expand_as(scores))
    torch.testing.assert_close(
        stable_softmax(scores) @ value, scaled_dot_product_attention(query, key, value, mask)
    )


def test_shared_heads_are_not_repeated_and_cost_what_plain_ones_cost() -> None:
    query, key, value = inputs(2)
    repeated = (x.repeat_interleave(3, dim=1) for x in (key, value))
    assert count_flops(composed_attention, query, key, value) == count_flops(
        scaled_dot_product_attention, query, *repeated
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_keeps_its_dtype(dtype) -> None:
    given = inputs(3)
    got = composed_attention(*(x.to(dtype) for x in given), lambda s: soft_cap(s, 5.0))
    assert got.dtype == dtype
    want = composed_attention(*given, lambda s: soft_cap(s, 5.0))
    assert (got.double() - want).abs().max() < 8 * torch.finfo(dtype).eps


Q, K, V = torch.zeros(2, 6, 3, 4), torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 5, 7)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((Q, K, V, lambda s: s.sum(-1)), ValueError, r"\(2, 6, 3, 5\), got \(2, 6, 3\)"),
        ((Q, K, V, lambda s: s > 0), TypeError, "what score_mod returns must have a floating"),
        ((Q, K, V, lambda s: None), TypeError, "what score_mod returns must be a torch.Tensor"),
    ],
)
def test_bad_input_is_named(given, kind, message) -> None:
    with pytest.raises(kind, match=message):
        composed_attention(*given)
