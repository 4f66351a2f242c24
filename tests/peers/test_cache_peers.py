"""Caches beside Hugging Face's and their attention, and pages beside torch's."""

import pytest
import torch
from torch import Tensor
from torch.nn.attention.experimental._paged_attention import PagedAttention
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache, LlamaConfig, MistralConfig, StaticCache
from transformers.cache_utils import DynamicSlidingWindowLayer, StaticLayer
from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask
from transformers.models.llama.modeling_llama import LlamaAttention, eager_attention_forward

from course_utils.attention import (
    BlockPool,
    KVCache,
    PagedCache,
    QuantizedCache,
    RollingCache,
    append_kv,
    decode_step,
    paged_gather,
    quantize_kv,
    rolling_cache_positions,
)
from course_utils.measure import cache_fits, kv_cache_bytes
from course_utils.models import left_pad
from tests.peers.peer_support import BATCH, in_its_own_precision
from tests.support import draw

HEADS, KV_HEADS, D_K, LENGTH, WINDOW, PAGE = 6, 3, 4, 11, 5, 3
SPLITS = [(11,), (1,) * 11, (4, 1, 6), (7, 4)]
SHAPES = {
    "hidden_size": HEADS * D_K,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": D_K,
    "num_hidden_layers": 2,
    "attn_implementation": "eager",
}


def drawn() -> tuple[Tensor, Tensor, Tensor]:
    key, value = (draw(BATCH, KV_HEADS, LENGTH, D_K, seed=seed) for seed in (1, 2))
    return draw(BATCH, HEADS, LENGTH, D_K), key, value


def theirs(split: tuple[int, ...], config, create, given: tuple[Tensor, ...]) -> Tensor:
    """Return what their attention makes of their cache, their mask and each piece of the text."""
    cache, layer, out = DynamicCache(config=config), LlamaAttention(LlamaConfig(**SHAPES), 0), []
    for query, key, value in zip(*(x.split(split, dim=2) for x in given), strict=True):
        x = query.transpose(1, 2).flatten(-2)
        mask = create(config, x, None, cache)
        key, value = cache.update(key, value, 0)
        out.append(eager_attention_forward(layer, query, key, value, mask, D_K**-0.5)[0])
    return torch.cat(out, dim=1).transpose(1, 2)


def ours(split: tuple[int, ...], cache, given: tuple[Tensor, ...]) -> Tensor:
    out = []
    for query, key, value in zip(*(x.split(split, dim=2) for x in given), strict=True):
        cache.append(key, value)
        out.append(cache.attend(query))
    return torch.cat(out, dim=2)


def new(kind: str) -> KVCache | PagedCache:
    if kind == "slots":
        return KVCache(BATCH, KV_HEADS, 13, D_K, dtype=torch.float64)
    return PagedCache(BlockPool(9, PAGE, KV_HEADS, D_K, dtype=torch.float64), BATCH)


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("kind", ["slots", "pages"])
@pytest.mark.peer(
    "10", "`KVCache`, `PagedCache`, `BlockPool`, `decode_step`",
    "Llama's attention after transformers' cache", "float64 1e-7", "outputs",
)  # fmt: skip
def test_a_cache_answers_as_llama_s_attention_after_its_cache(kind, split, monkeypatch) -> None:
    in_its_own_precision(monkeypatch)
    want = theirs(split, LlamaConfig(**SHAPES), create_causal_mask, drawn())
    torch.testing.assert_close(ours(split, new(kind), drawn()), want)
    query, key, value = drawn()
    last = decode_step(query[:, :, -split[-1] :], key, value, LENGTH)
    torch.testing.assert_close(last, want[:, :, -split[-1] :])


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.peer(
    "10", "`RollingCache`", "Mistral's mask and attention after its sliding cache", "float64 1e-7",
    "outputs",
)  # fmt: skip
def test_a_rolling_cache_answers_as_mistral_s_attention_after_its_cache(split, monkeypatch) -> None:
    in_its_own_precision(monkeypatch)
    config = MistralConfig(**SHAPES, sliding_window=WINDOW)
    want = theirs(split, config, create_sliding_window_causal_mask, drawn())
    cache = RollingCache(BATCH, KV_HEADS, D_K, window=WINDOW, dtype=torch.float64)
    torch.testing.assert_close(ours(split, cache, drawn()), want)


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.peer("10", "`append_kv`", "transformers' static cache", "equal", "slots")
def test_slots_are_filled_as_a_static_cache_fills_them(split) -> None:
    slots, layer = torch.zeros(2, BATCH, KV_HEADS, 13, D_K, dtype=torch.float64), StaticLayer(13)
    length = 0
    for key, value in zip(*(x.split(split, dim=2) for x in drawn()[1:]), strict=True):
        length = append_kv(*slots, length, key, value)
        layer.update(key, value)
    assert length == layer.get_seq_length()
    assert torch.equal(slots, torch.stack((layer.keys, layer.values)))


@pytest.mark.parametrize("window", [2, 4, 20])
@pytest.mark.peer(
    "10", "`rolling_cache_positions`", "what transformers' sliding cache holds", "equal",
    "positions",
)  # fmt: skip
def test_the_held_positions_are_those_of_a_sliding_layer(window) -> None:
    """Theirs holds one less: the key of the next query is not there yet."""
    layer = DynamicSlidingWindowLayer(window)
    for seen in range(1, 9):
        new = torch.full((1, 1, 1, 1), float(seen - 1))
        layer.update(new, new)
        assert rolling_cache_positions(seen, window - 1, 0) == layer.keys.flatten().tolist()


@pytest.mark.peer("10", "`paged_gather`", "torch's `PagedAttention`", "equal", "keys, values")
def test_pages_are_read_as_torch_s_paged_attention_writes_them() -> None:
    pages, lengths = PagedAttention(9, PAGE, BATCH, "cpu"), torch.tensor([7, 11])
    _, key, value = drawn()
    stored = torch.zeros(2, 1, KV_HEADS, 9 * PAGE, D_K, dtype=torch.float64)
    for start in (0, 5):  # the sequences take their pages in turns
        for row in range(BATCH):
            new = torch.arange(start, min(start + 6, int(lengths[row])))
            row = torch.tensor([row])
            pages.reserve(row, new[-1] + 1)
            pages.assign(row, new[None], key[row][:, :, new], value[row][:, :, new], *stored)
    pools = stored.squeeze(1).unflatten(2, (9, PAGE)).permute(0, 2, 3, 1, 4)
    for pool, kept in zip(pools, (key, value), strict=True):
        for row, length in enumerate(lengths.tolist()):
            got = paged_gather(pool, pages.page_table[row], length)
            assert torch.equal(got, kept[row, :, :length].transpose(0, 1))


@pytest.mark.peer(
    "10", "`quantize_kv`, `QuantizedCache`", "`torch.fake_quantize_per_channel_affine`",
    "float32 1.3e-6", "rounded keys, values",
)  # fmt: skip
def test_rounding_to_a_byte_is_torch_s_fake_quantisation() -> None:
    key, value = (x.float() for x in drawn()[1:])
    cache = QuantizedCache(BATCH, KV_HEADS, LENGTH, D_K)
    cache.append(key, value)
    for x, kept, size in ((key, cache.key, cache.key_scale), (value, cache.value, None)):
        steps, scale = quantize_kv(x)
        rows = scale.numel()
        want = torch.fake_quantize_per_channel_affine(
            x.reshape(rows, D_K), x.abs().amax(-1).flatten() / 127,
            torch.zeros(rows, dtype=torch.int32), 0, -127, 127,
        )  # fmt: skip
        torch.testing.assert_close((steps * scale).view(rows, D_K), want)
        assert torch.equal(kept, steps)
        assert size is None or torch.equal(size, scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("kv_heads", [1, 3])
@pytest.mark.peer(
    "08", "`kv_cache_bytes`, `cache_fits`", "the memory of transformers' static cache", "equal",
    "bytes",
)  # fmt: skip
def test_the_bytes_are_those_that_a_static_cache_takes(kv_heads, dtype) -> None:
    cache = StaticCache(LlamaConfig(**{**SHAPES, "num_key_value_heads": kv_heads}), 13)
    cache.early_initialization(BATCH, kv_heads, D_K, dtype, torch.device("cpu"))
    taken = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert kv_cache_bytes(2, kv_heads, D_K, 13, BATCH, dtype.itemsize) == taken
    assert cache_fits(taken / 2**30, 2, kv_heads, D_K, dtype.itemsize, BATCH) == 13


@pytest.mark.peer("10", "`left_pad`", "`torch.nn.utils.rnn.pad_sequence`", "equal", "tokens")
def test_padding_on_the_left_is_torch_s() -> None:
    prompts = [[3, 1, 4, 1, 5], [9], [2, 6, 5]]
    tokens, first = left_pad(prompts, padding=7)
    rows = [torch.tensor(prompt) for prompt in prompts]
    want = pad_sequence(rows, batch_first=True, padding_value=7, padding_side="left")
    assert torch.equal(tokens, want)
    assert first.tolist() == [0, 4, 2]
