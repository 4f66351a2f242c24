"""Attention by several processes is that of one, and each sends what the formula says."""

import pytest
import torch
from torch import Tensor

from course_utils.distributed import communication_bytes, run_ranks
from course_utils.distributed.head_jobs import attend_by_heads
from course_utils.distributed.jobs import (
    LAYOUTS,
    Attended,
    attend_on_ranks,
    decoding_job,
    learner_job,
    single_process,
)
from tests.distributed.rank_jobs import reduced, refusals, turned

EXACT = {"rtol": 0, "atol": 1e-14}
B, H, N, D = 2, 4, 24, 6


def text(heads: int = H, kv_heads: int = H, n: int = N, d_k: int = D, d_v: int = D):
    generator = torch.Generator().manual_seed(heads + kv_heads)
    shapes = [(heads, d_k), (kv_heads, d_k), (kv_heads, d_v), (heads, d_v)]
    return [torch.randn(B, h, n, d, generator=generator, dtype=torch.float64) for h, d in shapes]


def compared(given: list[Tensor], made: Attended, is_causal: bool, **room: float) -> None:
    out, grads = single_process(*given, is_causal)
    torch.testing.assert_close(made.out, out, **(room or EXACT))
    torch.testing.assert_close(made.grads, grads, **(room or EXACT))


@pytest.mark.parametrize("is_causal", [True, False], ids=["causal", "whole"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_the_ring_is_one_process_forward_and_backward(world_size, layout, is_causal) -> None:
    given = text()
    made = attend_on_ranks(*given, world_size, layout, is_causal)
    compared(given, made, is_causal)
    sizes = ("ring", world_size, B, N, H, H, D, 8)
    sent = (communication_bytes(*sizes), communication_bytes(*sizes, backward=True))
    assert made.sent == world_size * [sent]


@pytest.mark.parametrize("world_size", [2, 3])
def test_key_heads_that_are_shared_travel_once(world_size) -> None:
    given = text(heads=6, kv_heads=2)
    made = attend_on_ranks(*given, world_size, "zigzag")
    compared(given, made, True)
    sizes = ("ring", world_size, B, N, 6, 2, D, 8)
    sent = (communication_bytes(*sizes), communication_bytes(*sizes, backward=True))
    assert made.sent == world_size * [sent]


@pytest.mark.parametrize("is_causal", [True, False], ids=["causal", "whole"])
def test_values_of_another_width_take_the_plain_way(is_causal) -> None:
    given = text(d_v=5)
    compared(given, attend_on_ranks(*given, 2, "zigzag", is_causal), is_causal)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision_is_kept_and_comes_near(dtype) -> None:
    given = [x.to(dtype) for x in text()]
    made = attend_on_ranks(*given, 2, "zigzag")
    assert {x.dtype for x in (made.out, *made.grads)} == {dtype}
    exact = [x.double() for x in given]
    out, grads = single_process(*exact)
    room = {torch.float32: 1e-5, torch.bfloat16: 0.06}[dtype]
    torch.testing.assert_close([x.double() for x in (made.out, *made.grads)], [out, *grads],
                               rtol=room, atol=room)  # fmt: skip


@pytest.mark.parametrize(
    ("world_size", "kv_heads", "is_causal"),
    [(1, 4, True), (2, 4, True), (4, 4, False), (2, 2, True)],
)
def test_ulysses_is_one_process_to_the_last_bit(world_size, kv_heads, is_causal) -> None:
    given = text(kv_heads=kv_heads)
    made = attend_on_ranks(*given, world_size, "contiguous", is_causal, scheme="ulysses")
    if kv_heads == H:  # the same kernel on whole heads
        compared(given, made, is_causal, rtol=0, atol=0)
    compared(given, made, is_causal)
    sizes = ("ulysses", world_size, B, N, H, kv_heads, D, 8)
    sent = (communication_bytes(*sizes), communication_bytes(*sizes, backward=True))
    assert made.sent == world_size * [sent]


@pytest.mark.parametrize(("world_size", "kv_heads"), [(1, 4), (2, 4), (4, 4), (2, 2)])
def test_tensor_parallel_heads_are_one_process(world_size, kv_heads) -> None:
    generator = torch.Generator().manual_seed(1)
    shapes = [(B, N, 9), (9, H * D), (9, kv_heads * D), (9, kv_heads * D), (H * D, 9), (B, N, 9)]
    x, *weights, grad_out = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes
    )
    made = attend_by_heads(x, tuple(weights), grad_out, H, kv_heads, world_size)
    x.requires_grad_()
    parts = [(x @ w).unflatten(-1, (-1, D)).transpose(1, 2) for w in weights[:3]]
    read = torch.nn.functional.scaled_dot_product_attention(
        *parts, is_causal=True, enable_gqa=kv_heads != H
    )
    out = read.transpose(1, 2).flatten(-2) @ weights[3]
    (grad,) = torch.autograd.grad(out, x, grad_out)
    scale = float(grad.abs().max())  # of sums of hundreds of products
    torch.testing.assert_close(made.out, out.detach(), rtol=0, atol=1e-14 * scale)
    torch.testing.assert_close(made.grad, grad, rtol=0, atol=1e-14 * scale)
    assert made.apart < 1e-14
    # Of the width of the stream, which is not H · d_k here.
    each = 2 * (world_size - 1) * _padded(B * N * 9, world_size) // world_size * 8
    assert made.sent == world_size * [(each, each)]


def _padded(numbers: int, parts: int) -> int:
    return -(-numbers // parts) * parts


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_the_formula_of_tensor_heads_is_an_all_reduce_of_the_stream(world_size) -> None:
    """The stream as wide as the heads: then both passes are the formula's."""
    generator = torch.Generator().manual_seed(2)
    width = H * D
    shapes = [(B, N, width), *4 * [(width, width)], (B, N, width)]
    x, *weights, grad_out = (torch.randn(*s, generator=generator).double() for s in shapes)
    made = attend_by_heads(x, tuple(weights), grad_out, H, H, world_size)
    sizes = ("tensor", world_size, B, N, H, H, D, 8)
    sent = (communication_bytes(*sizes), communication_bytes(*sizes, backward=True))
    assert made.sent == world_size * [sent]


@pytest.mark.parametrize("length", [1, 6, 7])
def test_a_sum_over_the_ring_is_the_backend_s_own(length) -> None:
    parts = torch.randn(3, 2, length, dtype=torch.float64)
    reports = run_ranks(reduced, 3, parts)
    for ours, theirs, sent in reports:
        torch.testing.assert_close(ours, theirs, **EXACT)
        torch.testing.assert_close(ours, parts.sum(0), **EXACT)
        assert sent == 4 * _padded(2 * length, 3) // 3 * 8


def test_a_rotation_hands_on_any_tensor() -> None:
    blocks = torch.arange(24.0).reshape(3, 2, 4)
    for rank, (once, twice, numbers) in enumerate(run_ranks(turned, 3, blocks)):
        assert torch.equal(once, blocks[rank - 1])
        assert torch.equal(twice, blocks[rank - 2].mT)
        assert numbers.tolist() == [(rank - 1) % 3]


def test_a_learner_s_own_ring_is_sent_to_real_processes() -> None:
    given = text()

    def ring_attention(query, key, value, begin, rank, world_size):
        """Joined by a softmax over the logsumexps of the blocks."""
        parts, logs = [], []
        for step in range(world_size):
            if step:
                key, value = begin(key, value)()
            if step > rank:
                continue
            scores = query @ key.mT / query.shape[-1] ** 0.5
            if not step:
                later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
                scores = scores.masked_fill(later, -torch.inf)
            parts.append(scores.softmax(-1) @ value)
            logs.append(scores.logsumexp(-1, keepdim=True))
        return (torch.stack(logs).softmax(0) * torch.stack(parts)).sum(0)

    rows = run_ranks(learner_job, 4, ring_attention, tuple(given[:3]))
    out, _ = single_process(*given)
    torch.testing.assert_close(torch.cat(rows, 2), out, **EXACT)


def test_a_query_is_answered_from_a_cache_in_uneven_parts() -> None:
    query, key, value, _ = text()
    query = query[:, :, -1:]

    def ask(query, key, value, begin, rank, world_size):
        """The parts of all ranks, handed round and joined in their order."""
        scores = query @ key.mT / query.shape[-1] ** 0.5
        parts = {rank: (scores.softmax(-1) @ value, scores.logsumexp(-1))}
        for step in range(1, world_size):
            parts[(rank - step) % world_size] = begin(*parts[(rank - step + 1) % world_size])()
        ranks = range(world_size)
        outs, lses = (torch.stack([parts[r][i] for r in ranks]) for i in (0, 1))
        return (lses.softmax(0)[..., None] * outs).sum(0)

    shares = [5, 1, N - 6]
    made = run_ranks(decoding_job, 3, ask, query, key.split(shares, 2), value.split(shares, 2))
    right = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    for out, sent in made:
        torch.testing.assert_close(out, right, **EXACT)
        assert torch.equal(out, made[0][0])
        assert sent == 2 * B * H * (D + 1) * 8


def test_sizes_that_do_not_fit_are_refused_before_any_process_starts(monkeypatch) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr("course_utils.distributed.jobs.run_ranks", started)
    monkeypatch.setattr("course_utils.distributed.head_jobs.run_ranks", started)
    given = text()
    with pytest.raises(ValueError, match="must be a multiple of 10 here, got 24"):
        attend_on_ranks(*given, 5)
    with pytest.raises(ValueError, match=r"Ulysses takes contiguous tokens .* got zigzag and 4"):
        attend_on_ranks(*given, 2, "zigzag", scheme="ulysses")
    with pytest.raises(ValueError, match="heads that 3 ranks divide, got contiguous and 4"):
        attend_on_ranks(*given, 3, "contiguous", scheme="ulysses")
    x, square = torch.zeros(1, 3, 8), torch.zeros(8, 8)
    with pytest.raises(ValueError, match="3 ranks must divide the key/value heads, got 4"):
        attend_by_heads(x, 4 * (square,), x, 4, 4, 3)


def test_ranks_refuse_what_does_not_fit() -> None:
    for said in run_ranks(refusals, 2):
        assert said == [
            "ValueError: positions must have the shape (2, 3), got (1, 3)",
            "TypeError: positions must hold integers, got dtype torch.float64",
            "ValueError: positions of one rank must have the shape (2,), got (3,)",
            "ValueError: 2 ranks must divide the key/value heads, got 3",
            "ValueError: only sends and all-to-alls can be counted, got allreduce_",
        ]
