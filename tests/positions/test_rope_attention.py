import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.positions import rope_interleaved_attention
from tests.support import draw


def given(num_queries: int, num_keys: int) -> tuple[Tensor, Tensor, Tensor]:
    return (
        draw(2, 3, num_queries, 6),
        draw(2, 3, num_keys, 6, seed=1),
        draw(2, 3, num_keys, 5, seed=2),
    )


def test_moving_all_tokens_alike_changes_nothing() -> None:
    q, k, v = given(4, 7)
    at, of = torch.arange(3, 7), torch.arange(7)
    torch.testing.assert_close(
        rope_interleaved_attention(q, k, v, at + 500, of + 500),
        rope_interleaved_attention(q, k, v, at, of),
    )


def test_at_one_place_it_is_plain_attention() -> None:
    q, k, v = given(4, 7)
    here = torch.full((7,), 12)
    torch.testing.assert_close(
        rope_interleaved_attention(q, k, v, here[:4], here), scaled_dot_product_attention(q, k, v)
    )


def test_a_step_after_a_cache_gives_the_last_row() -> None:
    q, k, v = given(7, 7)
    places = torch.arange(7)
    step = rope_interleaved_attention(q[:, :, 6:], k, v, places[6:], places, 50.0)
    torch.testing.assert_close(
        step, rope_interleaved_attention(q, k, v, places, places, 50.0)[:, :, 6:]
    )
