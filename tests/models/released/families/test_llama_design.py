"""The parts of Llama's descendants: what fits together, what each changes, and what is refused."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_utils.attention import KVCache, PagedCache, QuantizedCache, RollingCache
from course_utils.attention.caches.block_pool import BlockPool
from course_utils.models import Llama, ModelCache, generate, left_pad
from course_utils.models.released.families.llama_config import read_design
from course_utils.models.released.families.llama_design import Design, LayerKind
from course_utils.models.released.families.llama_families import FAMILIES
from course_utils.models.released.families.llama_rope import configured_rope
from course_utils.models.released.layers.clamped_experts import ClampedExperts
from course_utils.models.released.layers.composed_heads import SinkAttention, capped_attention
from course_utils.models.released.layers.gemma_parts import CentredNorm, ScaledEmbedding

SIZES = {"d_model": 24, "num_heads": 6, "num_kv_heads": 3, "num_layers": 4, "max_length": 40}
TOKENS = torch.randint(37, (2, 15), generator=torch.Generator().manual_seed(0))
SMALL = {
    name: replace(
        design, d_k=8, kinds=tuple(replace(k, window=k.window and 5) for k in design.kinds),
        feed_forward=Design().feed_forward,
    )
    for name, design in FAMILIES.items()
}  # fmt: skip


def made(name: str) -> Llama:
    torch.manual_seed(0)
    return Llama(37, design=SMALL[name], **SIZES).double().eval()


@pytest.mark.parametrize("name", SMALL)
def test_every_family_reads_pieces_as_it_reads_the_whole(name) -> None:
    model, cache, found = made(name), None, []
    for part in TOKENS.split((6, 1, 1, 7), dim=1):
        logits, cache = model(part, cache)
        found.append(logits)
    torch.testing.assert_close(torch.cat(found, 1), model.logits(TOKENS))
    kinds = [type(one) for one in cache.layers]
    windows = [layer.attention.window for layer in model.layers]
    assert kinds == [RollingCache if window else KVCache for window in windows]


@pytest.mark.parametrize("name", ["gemma2", "gpt_oss"])
def test_capped_and_sink_attention_decode_over_any_cache(name) -> None:
    model = Llama(37, design=replace(SMALL[name], kinds=(LayerKind(),)), **SIZES).double()
    wanted = model.logits(TOKENS)
    pool = BlockPool(40, 4, 3, 8, dtype=torch.float64)
    for cache, room in (
        ([PagedCache(pool, 2) for _ in range(4)], 1e-7),
        ([QuantizedCache(2, 3, 40, 8, dtype=torch.float64) for _ in range(4)], 0.3),
        ([RollingCache(2, 3, 8, window=40, dtype=torch.float64) for _ in range(4)], 1e-7),
    ):
        held, found = ModelCache(cache), []
        for part in TOKENS.split((4, 1, 10), dim=1):
            found.append(model(part, held)[0])
        torch.testing.assert_close(torch.cat(found, 1), wanted, rtol=room, atol=room)


@pytest.mark.parametrize("name", ["gemma2", "gpt_oss", "qwen3"])
def test_padded_prompts_are_continued_like_each_alone(name) -> None:
    model = Llama(37, design=replace(SMALL[name], kinds=(LayerKind(),)), **SIZES).double()
    prompts = [TOKENS[0, :7].tolist(), TOKENS[1, :3].tolist()]
    tokens, first = left_pad(prompts)
    got = generate(model, tokens, 8, temperature=0.0, first=first)
    for row, prompt in enumerate(prompts):
        alone = generate(model, torch.tensor([prompt]), 8, temperature=0.0)
        assert torch.equal(got[row], alone[0])


def test_a_plain_design_is_the_llama_of_old() -> None:
    names = {name for name, _ in Llama(37, **SIZES).named_parameters()}
    own = {"attention.in_proj", "attention.out_proj", "attention_norm", "feed_forward_norm"}
    own |= {f"feed_forward.{part}" for part in ("gate", "up", "down")}
    wanted = {f"layers.{i}.{part}.weight" for i in range(4) for part in own}
    assert names == wanted | {"token.weight", "last_norm.weight", "out.weight"}


def test_tied_weights_are_one() -> None:
    model = made("gemma2")
    assert model.out.weight is model.token.weight
    assert "out.weight" in model.state_dict()


def test_the_parts_of_gemma() -> None:
    x = torch.randn(3, 5, dtype=torch.float64)
    norm = CentredNorm(5, 1e-3).double()
    nn.init.normal_(norm.weight)
    torch.testing.assert_close(norm(x), F.rms_norm(x, (5,), 1 + norm.weight, 1e-3))
    table = ScaledEmbedding(7, 9)
    torch.testing.assert_close(table(torch.arange(7)), 3 * table.weight)


def test_a_low_sink_and_a_high_cap_change_nothing() -> None:
    query = torch.randn(2, 6, 3, 4, dtype=torch.float64)
    key, value = torch.randn(2, 2, 3, 5, 4, dtype=torch.float64)
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2)
    plain = F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
    sinks = SinkAttention(6).double()
    nn.init.constant_(sinks.sinks, -1e4)
    torch.testing.assert_close(sinks(query, key, value, mask), plain)
    capped = capped_attention(6, cap=1e5)
    torch.testing.assert_close(capped(query, key, value, mask), plain)


def test_experts_are_a_loop_over_tokens() -> None:
    torch.manual_seed(0)
    part = ClampedExperts(4, 3, num_experts=5, per_token=2, gain=1.5, bound=0.8).double()
    for parameter in part.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    own, wanted = part.experts, torch.zeros_like(x)
    for place in range(6):
        row = x.view(6, 4)[place]
        best = part.router(row).topk(2)
        for share, expert in zip(best.values.softmax(0), best.indices.tolist(), strict=True):
            both = row @ own["gate_up_proj"][expert] + own["gate_up_proj_bias"][expert]
            gate, up = both[0::2].clamp(max=0.8), both[1::2].clamp(-0.8, 0.8)
            hidden = gate * torch.sigmoid(1.5 * gate) * (up + 1)
            out = hidden @ own["down_proj"][expert] + own["down_proj_bias"][expert]
            wanted.view(6, 4)[place] += share * out
    torch.testing.assert_close(part(x), wanted)


def test_wrong_designs_are_refused() -> None:
    with pytest.raises(TypeError, match="design must be a Design, got str"):
        Llama(37, design="qwen3", **SIZES)
    with pytest.raises(ValueError, match="window must be None where the design has its own, got 3"):
        Llama(37, design=FAMILIES["gemma2"], window=3, **SIZES)
    with pytest.raises(ValueError, match="attend must be None where the design has its own"):
        Llama(37, design=FAMILIES["gemma2"], attend=F.scaled_dot_product_attention, **SIZES)
    with pytest.raises(ValueError, match="d_k must be at least 1, got -2"):
        Llama(37, design=Design(d_k=-2, positions=lambda d_k: nn.Identity()), **SIZES)


def test_a_cache_that_cannot_be_read_is_refused() -> None:
    class Deaf:
        length, num_bytes, batch = 0, 0, 2

        def append(self, key, value) -> None:
            self.length += key.shape[2]

        def attend(self, query, first=None) -> torch.Tensor:
            return query

        def crop(self, length) -> None:
            pass

        def select(self, rows) -> None:
            pass

    model = made("gpt_oss")
    with pytest.raises(TypeError, match="cache must be a ReadableCache, got Deaf"):
        model(TOKENS, ModelCache([Deaf() for _ in range(4)]))


def test_a_type_of_rope_that_is_missing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rope_type must be one of .* got 'dynamic'"):
        configured_rope({"rope_type": "dynamic"})


def test_older_files_of_phi3_mean_the_same() -> None:
    config = {
        "model_type": "phi3", "num_hidden_layers": 4, "max_position_embeddings": 512,
        "original_max_position_embeddings": 64, "rope_theta": 100.0,
        "rope_scaling": {"type": "su", "short_factor": [1.0, 2.0], "long_factor": [3.0, 4.0]},
    }  # fmt: skip
    scheme = read_design(config).positions(4)
    assert scheme.trained_length == 64
    assert scheme.short.table.frequencies.tolist() == pytest.approx([1.0, 0.05])
    assert scheme.long.table.frequencies.tolist() == pytest.approx([1 / 3, 0.025])
    assert scheme.long.table.magnitude == scheme.short.table.magnitude == pytest.approx(1.5**0.5)


def test_files_without_layer_types_mean_the_same() -> None:
    sizes = {"hidden_size": 24, "num_attention_heads": 6, "num_hidden_layers": 4,
             "sliding_window": 5}  # fmt: skip
    for family, more, windows in (
        ("mistral", {}, [5] * 4),
        ("qwen2", {}, [None] * 4),
        ("qwen3", {"use_sliding_window": True, "max_window_layers": 3}, [None] * 3 + [5]),
        ("gemma2", {}, [5, None] * 2),
        ("olmo2", {"sliding_window": None}, [None] * 4),
        ("olmo3", {}, [5, 5, 5, None]),
        ("smollm3", {}, [None] * 4),
        ("smollm3", {"use_sliding_window": True}, [None] * 3 + [5]),
        ("gemma3_text", {"sliding_window_pattern": 3}, [5, 5, None, 5]),
    ):
        design = read_design({"model_type": family, **sizes, **more})
        assert [kind.window for kind in design.kinds] == windows
    near, far = design.kinds[0].positions(4).table, design.positions(4).table
    assert near.frequencies[1].item() == pytest.approx(1e-2)
    assert far.frequencies[1].item() == pytest.approx(1e-3)


def test_only_the_layers_of_smollm3_that_its_file_names_rotate() -> None:
    config = {"model_type": "smollm3", "num_hidden_layers": 4}
    query, places = torch.randn(1, 1, 3, 4, dtype=torch.float64), torch.arange(3)
    for more, rotated in (({}, [1, 1, 1, 0]), ({"no_rope_layers": [0, 1, 1, 0, 1]}, [0, 1, 1, 0])):
        design = read_design(config | more)
        for kind, turns in zip(design.kinds, rotated, strict=True):
            scheme = (kind.positions or design.positions)(4)
            same = scheme.rotate(query, query, places, places)[0].equal(query)
            assert same == (not turns)


def test_only_the_layers_of_olmo3_that_see_everything_are_stretched() -> None:
    """Older files have one setting for all layers."""
    design = read_design(
        {"model_type": "olmo3", "num_hidden_layers": 4, "sliding_window": 5, "rope_theta": 100.0,
         "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    )  # fmt: skip
    near, far = design.kinds[0].positions(4).table, design.positions(4).table
    assert near.frequencies[1].item() == pytest.approx(0.1)
    assert far.frequencies[1].item() == pytest.approx(0.1 / 8)
    assert design.kinds[3].positions is None


@pytest.mark.parametrize(
    ("family", "d_k"),
    [("llama", None), ("qwen3", 128), ("gemma2", 256), ("gemma3_text", 256), ("gpt_oss", 64)],
)
def test_a_width_of_heads_that_is_left_out_is_the_family_s_own(family, d_k) -> None:
    """Released files of Gemma 3 leave it out, and it is not d_model / H there."""
    config = {
        "model_type": family, "hidden_size": 2560, "num_attention_heads": 8, "num_hidden_layers": 1,
        "hidden_activation": "gelu_pytorch_tanh",
    }  # fmt: skip
    assert read_design(config).d_k == d_k
