"""Attention on several processes beside torch's and Hugging Face's; memories beside a search."""

from functools import partial

import pytest
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor
from torch.distributed.tensor.experimental._context_parallel._attention import _SDPAMerger
from torch.distributed.tensor.experimental._context_parallel._load_balancer import (
    _HeadTailLoadBalancer,
)
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaAttention

from course_utils.attention import memory_attention
from course_utils.distributed import (
    contiguous_split,
    ring_attention,
    ring_attention_step,
    ring_schedule,
    run_ranks,
    sequence_to_heads,
    striped_split,
    zigzag_split,
)
from course_utils.distributed.jobs import learner_job
from tests.peers.long_context_jobs import (
    ON_CPU,
    llama_with_some_heads,
    our_heads,
    our_ring,
    our_ulysses,
    their_exchange,
    their_ring,
)
from tests.peers.peer_support import in_its_own_precision, sdpa, seeded
from tests.support import draw

in_ranks = partial(run_ranks, timeout=120.0)  # of processes that may share a busy machine
EXACT = {"rtol": 0, "atol": 1e-14}
B, H, N, D = 2, 4, 32, 6
CONFIG = {
    "vocab_size": 37, "hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 2,
    "num_hidden_layers": 2, "intermediate_size": 40, "max_position_embeddings": 31,
    "attn_implementation": "eager",
}  # fmt: skip


def given(kv_heads: int = H) -> tuple[Tensor, ...]:
    """Return query, key, value and the gradient of the output."""
    heads = (H, kv_heads, kv_heads, H)
    return tuple(draw(B, h, N, D, seed=seed) for seed, h in enumerate(heads))


def mathematics(given: tuple[Tensor, ...], is_causal: bool) -> list[Tensor]:
    """Return output and gradients of SDPA's plain backend in this one process."""
    inputs = [x.detach().requires_grad_() for x in given[:3]]
    out = sdpa(*inputs, is_causal=is_causal, enable_gqa=inputs[1].shape[1] != H)
    return [out.detach(), *torch.autograd.grad(out, inputs, given[3])]


def joined(reports: list[list[Tensor]], positions: Tensor) -> list[Tensor]:
    """Return each result of all ranks, in the order of the text."""
    order = positions.flatten().argsort()
    return [torch.cat(part, 2)[:, :, order] for part in zip(*reports, strict=True)]


@pytest.mark.parametrize("is_causal", [True, False], ids=["causal", "whole"])
@pytest.mark.parametrize("split", [contiguous_split, striped_split, zigzag_split])
@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.peer(
    "16", "`parallel_ring_attention`, `contiguous_split`, `striped_split`, `zigzag_split`",
    "SDPA (MATH) in one process", "float64 1e-14", "outputs, gradients",
)  # fmt: skip
def test_the_ring_is_sdpa_of_one_process(world_size, split, is_causal) -> None:
    positions, shared = split(N, world_size), given(kv_heads=2)
    made = joined(in_ranks(our_ring, world_size, shared, positions, is_causal), positions)
    torch.testing.assert_close(made, mathematics(shared, is_causal), **EXACT)


@pytest.mark.parametrize("is_causal", [True, False], ids=["causal", "whole"])
@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.peer(
    "16", "`ulysses_attention`", "SDPA (MATH) in one process", "float64 1e-14", "outputs, gradients"
)
def test_ulysses_is_sdpa_of_one_process(world_size, is_causal) -> None:
    made = joined(in_ranks(our_ulysses, world_size, given(), is_causal), torch.arange(N))
    torch.testing.assert_close(made, mathematics(given(), is_causal), **EXACT)


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("split", [zigzag_split, contiguous_split])
@pytest.mark.peer(
    "16", "`parallel_ring_attention`, `zigzag_split`",
    "torch's own ring, `_templated_ring_attention`, with and without its load balance",
    "float64 1e-14", "outputs, gradients",
)  # fmt: skip
def test_the_ring_is_torch_s_own(split, world_size) -> None:
    positions = split(N, world_size)
    jobs = ((our_ring, True), (their_ring, split is zigzag_split))
    ours, theirs = (
        joined(in_ranks(job, world_size, given(), positions, how), positions) for job, how in jobs
    )
    torch.testing.assert_close(ours, theirs, **EXACT)
    torch.testing.assert_close(theirs, mathematics(given(), True), **EXACT)


@pytest.mark.parametrize("world_size", [1, 2, 4, 8])
@pytest.mark.peer("16", "`zigzag_split`", "torch's `_HeadTailLoadBalancer`", "equal", "positions")
def test_zigzag_is_torch_s_load_balance(world_size) -> None:
    (theirs,) = _HeadTailLoadBalancer(N, world_size, "cpu")._generate_indices()
    torch.testing.assert_close(zigzag_split(N, world_size).flatten(), theirs.long(), rtol=0, atol=0)


@pytest.mark.peer(
    "16", "`ring_attention_step`, `ring_schedule`",
    "torch's CPU kernel and `_SDPAMerger`, which torch's own ring joins blocks with",
    "float64 1e-14", "outputs, logsumexps",
)  # fmt: skip
def test_blocks_are_joined_as_torch_s_ring_joins_them() -> None:
    query, key, value, _ = (x.chunk(4, 2) for x in given())
    places = torch.arange(N).chunk(4)
    for rank in range(4):
        ours = (
            torch.zeros(B, H, N // 4, D).double(),
            torch.full((B, H, N // 4), -torch.inf).double(),
        )
        theirs = _SDPAMerger(convert_to_f32=False, seq_dim=2)
        for source in ring_schedule(4, rank):
            block = key[source], value[source]
            ours = ring_attention_step(*ours, query[rank], *block, places[rank], places[source])
            if source <= rank:
                part = ON_CPU(query[rank], *block, 0.0, source == rank)
                theirs.step(*part, partial=False)
        torch.testing.assert_close(ours, theirs.results(), **EXACT)


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.peer(
    "16", "`sequence_to_heads`",
    "torch's `DTensor`, shared out anew from `Shard(2)` to `Shard(1)` on gloo", "equal", "values",
)  # fmt: skip
def test_tokens_become_heads_as_a_dtensor_s_do(world_size) -> None:
    shards = list(draw(B, 8, N, D).chunk(world_size, 2))
    theirs = in_ranks(their_exchange, world_size, shards)
    torch.testing.assert_close(sequence_to_heads(shards), theirs, rtol=0, atol=0)


@pytest.mark.peer(
    "16", "`ring_attention`", "SDPA (MATH) in one process", "float64 1e-14", "outputs"
)
def test_the_rule_of_one_rank_is_sdpa_of_one_process() -> None:
    rows = in_ranks(learner_job, 4, ring_attention, given()[:3])
    whole = sdpa(*given()[:3], is_causal=True)
    torch.testing.assert_close(torch.cat(rows, 2), whole, **EXACT)


@pytest.mark.peer(
    "16", "`ring_all_reduce`", "Hugging Face's Llama, its heads split over 2 ranks", "float64 1e-7",
    "logits",
)  # fmt: skip
def test_llama_with_its_heads_split_is_llama() -> None:
    torch.manual_seed(0)
    whole = LlamaForCausalLM(LlamaConfig(**CONFIG)).double().eval()
    tokens = torch.randint(37, (2, 13), generator=torch.Generator().manual_seed(1))
    weights = {name: weight.detach() for name, weight in whole.state_dict().items()}
    with torch.no_grad():
        want = whole(tokens).logits
    for logits in in_ranks(llama_with_some_heads, 2, CONFIG, weights, tokens):
        torch.testing.assert_close(logits, want)


@pytest.mark.parametrize("world_size", [1, 2])
@pytest.mark.peer(
    "16", "`tensor_parallel_attention`", "Hugging Face's `LlamaAttention`, turned by no angle",
    "float64 1e-12", "outputs, gradients",
)  # fmt: skip
def test_tensor_parallel_heads_are_llama_s_attention(world_size, monkeypatch) -> None:
    in_its_own_precision(monkeypatch)
    layer = seeded(LlamaAttention(LlamaConfig(**CONFIG), 0)).eval()
    x, slope = draw(2, 11, 24).requires_grad_(), draw(2, 11, 24, seed=1)
    unturned = torch.ones(1, 11, 4).double(), torch.zeros(1, 11, 4).double()
    later = torch.full((11, 11), -torch.inf).double().triu(1)
    out, _ = layer(x, unturned, later[None, None])
    theirs = [out.detach(), *torch.autograd.grad(out, x, slope)]
    weights = [getattr(layer, f"{role}_proj").weight.detach() for role in "qkvo"]
    for ours in in_ranks(our_heads, world_size, x.detach(), weights, slope, 6, 2):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("top_k", [1, 3, 9])
@pytest.mark.peer(
    "16", "`memory_attention`", "scikit-learn's `NearestNeighbors`, and SDPA over what it finds",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_memories_are_those_that_a_search_finds(top_k) -> None:
    """Keys of one length: then the nearest are those that score highest."""
    memory_key = F.normalize(draw(B, H, 9, D, seed=4), dim=-1)
    memory_value, gate = draw(B, H, 9, 5, seed=5), draw(H, seed=6).requires_grad_()
    query, key, value = (draw(B, H, 7, d, seed=d).requires_grad_() for d in (D, D, 5))
    far = []
    for b in range(B):
        for h in range(H):
            search = NearestNeighbors(n_neighbors=top_k, algorithm="brute")
            search.fit(memory_key[b, h].numpy())
            asked = query[b, h].detach().numpy()
            found = torch.from_numpy(search.kneighbors(asked, return_distance=False))
            read = F.scaled_dot_product_attention(
                query[b, h].unsqueeze(1), memory_key[b, h][found], memory_value[b, h][found]
            )
            far.append(read.squeeze(1))
    near = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    theirs = torch.lerp(near, torch.stack(far).view(B, H, 7, 5), gate.sigmoid().view(-1, 1, 1))
    ours = memory_attention(query, key, value, memory_key, memory_value, top_k, gate)
    wanted, slope = (query, key, value, gate), draw(B, H, 7, 5, seed=8)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours, wanted, slope), torch.autograd.grad(theirs, wanted, slope)
    )
