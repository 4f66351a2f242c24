import copy

import pytest
import torch
from torch import nn

from course_utils.attention import KVCache, QuantizedCache, causal_mask
from course_utils.measure import count_flops, read_record
from course_utils.models import GPT, Llama, SmallTransformer
from tests.models.small_gpt import KINDS, LAYERS, LENGTH, SPLITS, TOKENS, B, draw, read, small


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_in_any_pieces_gets_the_logits_of_the_whole(kind, split) -> None:
    model, tokens = small(**KINDS[kind]), draw(B, LENGTH)
    torch.testing.assert_close(read(model, tokens, split, None), model.logits(tokens))


def test_it_is_the_small_transformer_of_chapter_5_with_the_same_weights() -> None:
    model = small()
    theirs = SmallTransformer(
        TOKENS, d_model=24, num_heads=4, num_layers=LAYERS, max_length=LENGTH
    ).double()
    theirs.token, theirs.position = model.token, model.positions.table
    theirs.norm = model.last_norm
    theirs.out.weight = model.out.weight
    nn.init.zeros_(theirs.out.bias)
    for block, layer in zip(theirs.blocks, model.layers, strict=True):
        block.attention_norm = layer.attention_norm
        block.attention.in_proj_weight = layer.attention.in_proj.weight
        block.attention.in_proj_bias = layer.attention.in_proj.bias
        block.attention.out_proj = layer.attention.out_proj
        block.feed_forward = nn.Sequential(layer.feed_forward_norm, *layer.feed_forward)
    tokens = draw(B, LENGTH)
    torch.testing.assert_close(model.logits(tokens), theirs(tokens, causal_mask(LENGTH, LENGTH)))


def test_a_window_hides_what_lies_before_it() -> None:
    model = small(window=3, num_layers=1, positions="rope")
    tokens = draw(1, LENGTH)
    changed = tokens.clone()
    changed[0, 4] = (tokens[0, 4] + 1) % TOKENS
    differs = (model.logits(tokens) != model.logits(changed)).any(dim=-1)[0]
    assert differs.nonzero().flatten().tolist() == [4, 5, 6]


def test_a_cache_that_the_model_started_costs_no_gradient() -> None:
    model, tokens = small(num_kv_heads=2), draw(B, LENGTH)
    slope = draw(B, LENGTH, TOKENS).double()
    gradients = [
        torch.autograd.grad((logits * slope).sum(), list(model.parameters()))
        for logits in (model.logits(tokens), model(tokens)[0])
    ]
    torch.testing.assert_close(*gradients)
    cache = model.new_cache(B)
    assert not model(tokens, cache)[0].requires_grad
    assert not any(layer.key.requires_grad for layer in cache.layers)


def test_with_rope_and_a_window_there_is_no_longest_text() -> None:
    model, tokens = small(window=4, positions="rope"), draw(1, 3 * LENGTH)
    assert model.longest is None
    assert small().longest == LENGTH
    torch.testing.assert_close(
        read(model, tokens, (1,) * tokens.shape[1], None), model.logits(tokens)
    )


@pytest.mark.parametrize("make", [small, lambda: Llama(TOKENS, d_model=8, num_heads=2,
                                                       num_layers=1, max_length=5)])  # fmt: skip
def test_matrices_lie_in_memory_the_way_one_row_reads_them(make) -> None:
    model = copy.deepcopy(make()).float()
    model.load_state_dict({name: w.contiguous() for name, w in model.state_dict().items()})
    layers = [part for part in model.modules() if isinstance(part, nn.Linear)]
    assert len(layers) > 4
    narrowing = [layer for layer in layers if layer.out_features < layer.in_features]
    assert len(narrowing) >= 1
    assert all(layer.weight.is_contiguous() for layer in narrowing)
    assert all(layer.weight.T.is_contiguous() for layer in layers if layer not in narrowing)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_kv_heads": 3}, "num_kv_heads must divide num_heads 4, got 3"),
        ({"positions": "alibi"}, r"positions must be one of \('learned', 'rope'\), got 'alibi'"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        small(**changes)


@pytest.mark.parametrize("name", ["target", "GPT"])
def test_the_models_of_recorded_speculation_have_the_parameters_of_today(name) -> None:
    settings = read_record("chapter_10_speculation")["settings"]
    sizes = {size: settings[name][size] for size in ("d_model", "num_heads", "num_layers")}
    model = GPT(settings["vocabulary"], positions="rope", max_length=256, **sizes)
    assert settings[name]["parameters"] == sum(one.numel() for one in model.parameters())


def test_the_recorded_training_has_the_parameters_and_the_caches_of_today() -> None:
    record = read_record("chapter_10_training")
    settings = record["settings"]
    sizes = {name: settings[name] for name in ("d_model", "num_heads", "num_layers", "max_length")}
    model = GPT(settings["vocabulary"], positions=settings["positions"], **sizes)
    shape = 1, sizes["num_heads"], settings["length"], sizes["d_model"] // sizes["num_heads"]
    kinds = {"float32": KVCache, "int8": QuantizedCache}
    num_bytes = {name: sizes["num_layers"] * kind(*shape).num_bytes for name, kind in kinds.items()}
    for run in record["runs"]:
        assert run["parameters"] == sum(one.numel() for one in model.parameters())
        assert run["bytes"] == num_bytes


def test_a_recorded_step_of_decoding_costs_the_flops_of_today() -> None:
    record = read_record("chapter_10_decode")
    settings = record["settings"]
    sizes = {name: settings[name] for name in ("d_model", "num_heads", "num_layers")}
    tokens = torch.zeros(1, 128, dtype=torch.long)
    with torch.no_grad():
        for way, kv_heads in settings["num_kv_heads"].items():
            model = GPT(settings["vocabulary"], **sizes, num_kv_heads=kv_heads, max_length=128)
            cache = model.new_cache(1)
            model(tokens[:, :-1], cache)
            (run,) = (r for r in record["runs"] if (r["way"], r["position"]) == (way, 128))
            assert run["flops"] == count_flops(model, tokens[:, -1:], cache)
