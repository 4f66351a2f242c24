"""Laws of every cheaper attention: contract, cost, and who sees the future."""

from functools import partial

import pytest
import torch

from course_utils.attention import (
    block_sparse_attention,
    blocked_window_attention,
    causal_linear_attention,
    causal_performer_attention,
    cross_covariance_attention,
    fixed_mask,
    global_window_attention,
    grouped_query_attention,
    linear_attention,
    linformer_attention,
    lsh_attention,
    performer_attention,
    recurrent_linear_attention,
    sliding_window_attention,
)
from course_utils.measure.cost import count_flops, elements_made, largest_tensor
from tests.support import draw, growth, outcome, qkv

D = 4


def performer(attend, q, k, v):
    return attend(q, k, v, draw(8, D, seed=7).to(q.dtype))


def linformer(q, k, v):
    E, F = (draw(k.shape[-2], 5, seed=seed).to(k.dtype) / k.shape[-2] for seed in (7, 8))
    return linformer_attention(q, k, v, E, F)


def lsh(q, k, v):
    return lsh_attention(q + k, v, draw(2, D, 3, seed=7).to(q.dtype), 16)


def fixed(q, k, v):
    return block_sparse_attention(q, k, v, fixed_mask(q.shape[-2], 16, 3), 16)


# Each takes queries, keys and values of (2, 3, L, D) here; the last number of each is the exponent
# that its FLOPs may reach. A fixed pattern of blocks sees L / block summaries: quadratic, if small.
LINEAR = {
    "sliding window": partial(sliding_window_attention, window=20),
    "blocked window": partial(blocked_window_attention, window=20),
    "global window": partial(global_window_attention, half_width=10, num_global=3),
    "linear": linear_attention,
    "causal linear": causal_linear_attention,
    "performer": partial(performer, performer_attention),
    "causal performer": partial(performer, causal_performer_attention),
    "linformer": linformer,
    "lsh": lsh,
    "cross-covariance": partial(cross_covariance_attention, temperature=1.5),
}
OTHER = {
    "grouped": grouped_query_attention,
    "block-sparse": fixed,
    "recurrent linear": recurrent_linear_attention,
}
CAUSAL = ("sliding window", "blocked window", "causal linear", "causal performer", "lsh")
CAUSAL = (*CAUSAL, "block-sparse", "recurrent linear")
EVERY = {**LINEAR, **OTHER}
each = pytest.mark.parametrize("attend", EVERY.values(), ids=EVERY)
each_linear = pytest.mark.parametrize("attend", LINEAR.values(), ids=LINEAR)


def heads(length: int, dtype: torch.dtype = torch.float64):
    return tuple(x.to(dtype) for x in qkv((2, 3), length, length, D, D))


def one_head(length: int):
    return tuple(x.float() for x in qkv((1, 1), length, length, D, D))


@each
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_keeps_dtype_and_inputs_and_carries_gradients(attend, dtype) -> None:
    given = heads(70, dtype)
    before = [x.clone() for x in given]
    made = outcome(attend, given)
    assert all(x.dtype == dtype and x.isfinite().all() for x in made)
    assert all(x.any() for x in made)
    assert all(torch.equal(*pair) for pair in zip(given, before, strict=True))


# Not "lsh": where rounding moves a vector to another bucket, the answer is another.
@pytest.mark.parametrize("name", [name for name in EVERY if name != "lsh"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_errs_by_its_own_rounding(name, dtype) -> None:
    given = heads(200, dtype)
    exact = EVERY[name](*(x.double() for x in given))
    error = (EVERY[name](*given).double() - exact).abs().max()
    assert error <= 8 * torch.finfo(dtype).eps * exact.abs().max()


@each
def test_memory_layout_does_not_matter(attend) -> None:
    given = heads(70)
    turned = (x.mT.contiguous().mT for x in given)
    torch.testing.assert_close(attend(*turned), attend(*given))


@each
@pytest.mark.parametrize("length", [1, 2, 64, 65])
def test_an_axis_of_size_one_stays_and_every_length_works(attend, length) -> None:
    given = heads(length)
    assert attend(*given).shape == (2, 3, length, D)
    assert attend(*(x[:1, :1] for x in given)).shape == (1, 1, length, D)


@each
def test_sequences_and_heads_do_not_mix(attend) -> None:
    given = heads(70)
    alone = attend(*(x[1:, 2:] for x in given))
    torch.testing.assert_close(attend(*given)[1:, 2:], alone)


@pytest.mark.parametrize("name", CAUSAL)
def test_a_prefix_gets_what_it_got_before_the_text_went_on(name) -> None:
    given = heads(150)
    whole = EVERY[name](*given)
    for length in (1, 63, 100):
        prefix = EVERY[name](*(x[..., :length, :] for x in given))
        torch.testing.assert_close(whole[..., :length, :], prefix)


@pytest.mark.parametrize("name", [name for name in EVERY if name not in CAUSAL])
def test_the_others_read_the_future(name) -> None:
    given = heads(150)
    prefix = EVERY[name](*(x[..., :100, :] for x in given))
    assert (EVERY[name](*given)[..., :100, :] - prefix).abs().max() > 1e-3


@pytest.mark.thorough
@each_linear
@pytest.mark.parametrize("count", [count_flops, largest_tensor, elements_made])
def test_counts_grow_no_faster_than_the_sequence(attend, count) -> None:
    assert growth(count, attend, one_head) < 1.03


@pytest.mark.thorough
@each_linear
def test_the_backward_pass_grows_no_faster_either(attend) -> None:
    def both(*given):
        q, k, v = (x.requires_grad_() for x in given)
        attend(q, k, v).sum().backward()

    for count in (count_flops, largest_tensor, elements_made):
        assert growth(count, both, one_head) < 1.03
