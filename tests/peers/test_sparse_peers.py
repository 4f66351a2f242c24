"""Sinks, chosen keys, selected blocks, sparse weights: transformers, FlexAttention, formulas."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from torch.nn.attention import flex_attention
from transformers import DeepseekV32Config
from transformers.models.deepseek_v32.modeling_deepseek_v32 import (
    DeepseekV32Indexer,
    DeepseekV32RotaryEmbedding,
)
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

from course_utils.attention import (
    block_selected_attention,
    causal_mask,
    entmax,
    sink_attention,
    sparsemax,
)
from course_utils.positions import choose_keys, index_scores
from tests.peers.peer_support import BATCH, HEADS, draw_mask
from tests.support import assert_same_function, draw

D_K, D_V = 6, 7


def inputs(kv_heads: int, lengths: tuple[int, int]) -> tuple[Tensor, ...]:
    sizes = ((HEADS, lengths[0], D_K), (kv_heads, lengths[1], D_K), (kv_heads, lengths[1], D_V))
    return *(draw(BATCH, *size, seed=i) for i, size in enumerate(sizes)), draw(HEADS)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("lengths", [(3, 5), (5, 3), (1, 8), (1, 1)])
@pytest.mark.peer(
    "08", "`sink_attention`", "gpt-oss's `eager_attention_forward`", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_sinks_are_gpt_oss_s(kv_heads, masked, lengths) -> None:
    mask = draw_mask(BATCH, HEADS, *lengths) if masked else None
    if mask is not None:
        mask[0, 1, 0] = False
    added = (
        None if mask is None else torch.zeros(mask.shape).double().masked_fill(~mask, -torch.inf)
    )

    def theirs(query: Tensor, key: Tensor, value: Tensor, sink: Tensor) -> Tensor:
        module = SimpleNamespace(num_key_value_groups=HEADS // kv_heads, sinks=sink, training=False)
        out = eager_attention_forward(module, query, key, value, added, 1 / math.sqrt(D_K))[0]
        return out.transpose(1, 2)

    assert_same_function(lambda *x: sink_attention(*x, mask), theirs, inputs(kv_heads, lengths))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.peer(
    "08", "`sink_attention`", "`flex_attention` with its lse: out · sigmoid(lse - sink)",
    "float32 1.3e-6", "outputs",
)  # fmt: skip
def test_a_sink_is_a_sigmoid_of_what_flex_attention_divides_by(causal) -> None:
    query, key, value, sink = (x.float() for x in inputs(HEADS, (32, 32)))
    mask, pattern = None, None
    if causal:
        mask = causal_mask(32, 32)
        rule = lambda b, h, i, j: i >= j  # noqa: E731
        pattern = flex_attention.create_block_mask(rule, None, None, 32, 32, device="cpu")
    asked = flex_attention.AuxRequest(lse=True)
    out, aux = flex_attention.flex_attention(
        query, key, value, block_mask=pattern, return_aux=asked
    )
    want = out * (aux.lse - sink[:, None]).sigmoid().unsqueeze(-1)
    torch.testing.assert_close(sink_attention(query, key, value, sink, mask), want)


@pytest.mark.parametrize(("length", "block", "top_k"), [(40, 8, 1), (37, 5, 2), (33, 16, 3)])
@pytest.mark.peer(
    "08", "`block_selected_attention`", "`flex_attention` under MoBA's rule, written afresh",
    "float32 1.3e-6", "outputs",
)  # fmt: skip
def test_selected_blocks_are_what_flex_attention_reads_under_the_rule(length, block, top_k) -> None:
    query, key, value = (
        draw(BATCH, HEADS, length, d, seed=i).float() for i, d in enumerate((6, 6, 7))
    )
    count = -(-length // block)
    chosen = torch.zeros(BATCH, HEADS, length, count, dtype=torch.bool)
    for b, h, i in torch.cartesian_prod(*map(torch.arange, (BATCH, HEADS, length))).tolist():
        fits = {
            n: float(query[b, h, i] @ key[b, h, n * block : (n + 1) * block].mean(0))
            for n in range(i // block)
        }
        for n in (*sorted(fits, key=lambda n: fits[n])[-top_k:], i // block):
            chosen[b, h, i, n] = True
    pattern = flex_attention.create_block_mask(
        lambda b, h, i, j: chosen[b, h, i, j // block] & (i >= j),
        *(BATCH, HEADS, length, length),
        device="cpu",
    )
    want = flex_attention.flex_attention(query, key, value, block_mask=pattern)
    torch.testing.assert_close(block_selected_attention(query, key, value, block, top_k), want)


def threshold(kept: Tensor, alpha: float) -> Tensor:
    """Return τ where just these scores are kept.

    For 2, Martins and Astudillo 2016, Equation 4; for 1.5, Peters, Niculae and Martins 2019,
    Sparse Sequence-to-Sequence Models, Appendix C.
    """
    if alpha == 2.0:
        return (kept.sum() - 1.0) / len(kept)
    mean = kept.mean()
    return mean - ((1.0 - (kept - mean).square().sum()) / len(kept)).sqrt()


def weights(row: Tensor, alpha: float) -> Tensor:
    """Return the weights with the most scores above their own threshold."""
    descending = ((alpha - 1.0) * row).sort(descending=True).values
    for count in range(len(row), 0, -1):
        tau = threshold(descending[:count], alpha)
        if tau < descending[count - 1]:  # false where tau is NaN
            above = (alpha - 1.0) * row > tau
            root = torch.where(above, (alpha - 1.0) * row - tau, 0.0)
            return root.pow(1.0 / (alpha - 1.0))
    raise ValueError("one score is always above its own threshold")


@pytest.mark.parametrize(
    ("ours", "alpha"),
    [(sparsemax, 2.0), (lambda x: entmax(x, 2.0), 2.0), (lambda x: entmax(x, 1.5), 1.5)],
    ids=["sparsemax", "entmax 2", "entmax 1.5"],
)
@pytest.mark.parametrize("num_keys", [1, 2, 9])
@pytest.mark.peer(
    "08", "`sparsemax`, `entmax`", "the papers' thresholds in closed form, in a loop",
    "float64 1e-7", "weights, gradients",
)  # fmt: skip
def test_the_threshold_is_the_papers_closed_form(num_keys, ours, alpha) -> None:
    def theirs(scores: Tensor) -> Tensor:
        rows = scores.flatten(0, -2)
        return torch.stack([weights(row, alpha) for row in rows]).view(scores.shape)

    assert_same_function(ours, theirs, (draw(3, 4, num_keys),))


@pytest.mark.parametrize("top_k", [1, 4, 11])
@pytest.mark.peer(
    "08", "`choose_keys` by `index_scores`", "Hugging Face's `DeepseekV32Indexer`, all features "
    "rotated, with the same random weights", "equal", "choices",
)  # fmt: skip
def test_the_indexer_is_deepseek_s(top_k) -> None:
    length, heads, width = 11, 6, 8
    config = DeepseekV32Config(
        hidden_size=10, q_lora_rank=9, qk_rope_head_dim=width, index_head_dim=width,
        index_n_heads=heads, index_topk=top_k,
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = DeepseekV32Indexer(config, 0).eval()
    stream, latent = (draw(2, length, size, dtype=torch.float32) for size in (10, 9))
    at = torch.arange(length).expand(2, length)
    turns = DeepseekV32RotaryEmbedding(config)(stream, at)
    past = causal_mask(length, length).expand(2, -1, -1)
    picked = theirs(stream, latent, turns, past, at).long()
    want = torch.zeros(past.shape, dtype=torch.bool).scatter(-1, picked, True) & past
    query = theirs.wq_b(latent).unflatten(-1, (heads, width)).transpose(1, 2)
    key, weights = theirs.k_norm(theirs.wk(stream)), theirs.weights_proj(stream).mT
    assert torch.equal(choose_keys(query, key, weights, top_k), want)
    scores = index_scores(query, key, weights)
    least = scores.masked_fill(~want, torch.inf).amin(-1)
    assert bool((least >= scores.masked_fill(want | ~past, -torch.inf).amax(-1)).all())
