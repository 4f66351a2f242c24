"""Public functions and modules, and what their annotations do not say about calling them.

A new function is found by its room's `__all__`, and most need no line here: `annotated.py` draws
what annotations tell. Numbers have the value that `annotated.NUMBERS` has under their name, or 0.7.
A function that needs more says so in the first of these that can:

* a number of a new name: `annotated.NUMBERS`;
* an argument that is neither a number nor a tensor of floats (a list, a callable of two arguments,
  integers that mean something): `VALUES`, by its name, for all functions that ask for it;
* sizes that depend on each other, or a value for this function alone: `TOLD`.

What a law does not hold for is in `exceptions.py`.
"""

import dataclasses
import functools
import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from course_utils import attention, distributed, interpretability, measure, models, positions
from course_utils.attention.tiled.flash.flash import flash_attention
from tests.laws.annotated import Entry, is_asked, sizes, tells_all
from tests.laws.exceptions import LAWLESS, UNCALLED

ROOMS = (attention, positions, measure, interpretability, distributed, models)
FIXED = sizes(2, 2, 2, 3, 4, 3, 5)  # those of the objects whose methods are called


def always(value: Any) -> Any:
    """Return a maker: what can be called itself is not taken for one."""
    return lambda s, g: value


def _lengths(least: int) -> Any:
    return lambda s, g: torch.randint(min(least, s["S"]), s["S"] + 1, (s["B"],), generator=g)


def _positions(name: str) -> Any:
    return lambda s, g: torch.arange(s[name])


def _layers(*leading: str) -> Any:
    return lambda s, g: [
        torch.rand(*(s[name] for name in leading), s["L"], s["L"], generator=g) for _ in range(2)
    ]


def _same(x: Tensor) -> Tensor:
    return x


def _product() -> Tensor:
    return torch.ones(3, 3) @ torch.ones(3, 3)


def _flash() -> Tensor:
    x = torch.ones(1, 1, 2, 8)
    return flash_attention(x, x, x)


def _first_token_decides(tokens: Tensor, mask: Tensor) -> Tensor:
    first = (tokens * mask).sum(-1, keepdim=True).double()
    return torch.cat([first, -first], -1).softmax(-1)


@functools.wraps(models.stream_tokens)
def _streamed(*given: Any, **options: Any) -> list[Tensor]:
    return list(models.stream_tokens(*given, **options))


def _combined(mask: Bool[Tensor, "L S"], other: Bool[Tensor, "1 S"]) -> Bool[Tensor, "L S"]:
    return attention.combine_masks(mask, other)


_combined.__qualname__ = "combine_masks"


def owner(kind: type) -> Any:
    """Return an object with something in it, whose methods are called."""
    kind = {attention.MovableRows: models.ModelCache}.get(kind, kind)
    torch.manual_seed(0)
    made = kind(**entry(kind).arguments(FIXED))
    if isinstance(made, attention.BlockPool):
        made.take(2)
    elif hasattr(made, "append"):
        new = torch.randn(FIXED["B"], FIXED["H_kv"], 3, FIXED["d_k"])
        made.append(new, -new)
    return made


def _weights(kind: type) -> dict[str, Tensor]:
    return owner(kind).state_dict()


def an(kind: type) -> Any:
    return lambda s, g: owner(kind)


def _beam_step(prefixes: Tensor) -> Tensor:
    return torch.arange(5.0).log_softmax(dim=-1).expand(len(prefixes), -1)


def _reads(fed: Tensor, past: object) -> tuple[Tensor, object]:
    return torch.nn.functional.one_hot(fed, 9).float(), past


def _reads_tokens(tokens: Tensor) -> Tensor:
    return _reads(tokens, None)[0]


def _patched(
    tokens: Tensor, layer: int = -1, position: int = -1, state: Tensor | None = None
) -> tuple[float, Tensor]:
    states = torch.nn.functional.one_hot(tokens, 9).float().expand(3, -1, -1).clone()
    if state is not None:
        states[layer:, position] = state
    ramp = torch.arange(9.0, device=tokens.device)
    return float(states[-1].sum(dim=0) @ ramp), states


def _empty() -> attention.RollingCache:
    return attention.RollingCache(**entry(attention.RollingCache).arguments(FIXED))


# Values of arguments of this name, wherever they are asked for and are neither numbers nor floats.
VALUES: dict[str, Any] = {
    "beams": lambda s, g: torch.arange(s["N"]).flip(0),
    "block_table": torch.tensor([2, 0]),
    "blocks": [0, 1],
    "context": always(models.FixedContext()),
    "cross_attend": always(lambda x, memory: x),
    "experts": [torch.tanh] * 4,
    "first": torch.tensor([0, 1]),
    "fn": always(_product),
    "key_positions": _positions("S"),
    "lengths": _lengths(1),
    "messages": [{"role": "user", "content": "Hi"}],
    "model": an(models.GPT),
    "norms": [_same] * 3,
    "pieces": [b"a", b"b"],
    "pool": an(attention.BlockPool),
    "predict": always(_first_token_decides),
    "query_positions": _positions("L"),
    "rows": torch.tensor([1]),
    "score": always(attention.dot_score),
    "source": lambda s, g: torch.randint(3, 7, (s["B"], s["S"]), generator=g),
    "special": [0],
}
SQUARE, DOCUMENTS = {"S": 4, "L": 4}, {"lengths": torch.tensor([2, 0, 3])}
IMAGE = {"C": 2, "w": 6, "N": 6, "N_plus_1": 7}
LATENT = {"d_rope": 2}
TOLD = (
    Entry(attention.CompressedLatentAttention, LATENT, LATENT),
    Entry(attention.LatentAttention, LATENT, LATENT),
    Entry(attention.MultiHeadAttention, {"d_key": 5, "d_value": 7}, {"d_key": 5, "d_value": 7}),
    Entry(attention.BlockPool.own, {"block": 1}),
    Entry(attention.RollingCache.attend, {"first": None}),
    Entry(attention.RollingCache.begin, {"self": lambda s, g: _empty()}),
    Entry(attention.append_kv, sizes={"length": 0}),
    Entry(attention.block_selected_attention, {"top_k": 1}),
    Entry(attention.block_sparse_attention, sizes=SQUARE),
    Entry(_combined),
    Entry(attention.cross_attention, sizes={"d": 3}),
    Entry(attention.cumulative_lengths, DOCUMENTS, {"n_plus_1": 4}),
    Entry(attention.decode_step, {"length": lambda s, g: s["S_max"]}),
    Entry(attention.entmax, {"alpha": 1.5}),
    Entry(attention.gated_cross_attention, sizes={"d": 3}),
    Entry(attention.last_image_mask, sizes={"num_images": 40, "tokens_per_image": 2}),
    Entry(
        attention.online_softmax_step,
        {"l": lambda s, g: torch.rand(s["B"], s["L"], generator=g)},
    ),
    Entry(attention.orthogonal_projection, sizes={"num_features": 3, "m": 3}),
    Entry(attention.packed_attention, {"lengths": lambda s, g: torch.tensor([0, s["T"]])}),
    Entry(attention.packed_ids, DOCUMENTS, {"T": 5}),
    Entry(attention.padding_mask, {"lengths": _lengths(0)}),
    Entry(attention.paged_gather, sizes={"num_blocks": 3, "length": 3}),
    Entry(
        attention.query_lengths_mask,
        {"lengths": lambda s, g: torch.randint(0, s["S"] + 1, (s["B"], s["L"]), generator=g)},
    ),
    Entry(attention.reorder_cache, {"length": lambda s, g: s["S_max"]}),
    Entry(attention.residual_attention_backward, sizes={"d": 3}),
    Entry(attention.streaming_positions, sizes={"L": 6, "num_tokens": 6}),
    Entry(
        attention.wkv_step,
        {
            "decay": lambda s, g: torch.rand(s["d"], generator=g),
            "state": lambda s, g: torch.rand(3, s["B"], s["d"], generator=g).unbind(),
        },
    ),
    Entry(
        flash_attention,
        {
            **{"is_causal": True, "scale": 0.5, "offset": 1, "window": (1, 0), "cap": 2.0},
            **{"lengths": torch.tensor([1, 2]), "slopes": torch.tensor([0.5, 0.1])},
        },
        {"B": 1, "H": 2, "H_kv": 2, "S": 3},
    ),
    Entry(
        positions.is_permutation_equivariant,
        {"permutation": lambda s, g: torch.randperm(s["L"], generator=g)},
    ),
    Entry(positions.ntk_base, sizes={"d_k": 6}),
    Entry(positions.longrope_frequencies, sizes={"d_k": 6, "half_width": 3}),
    Entry(positions.t5_bucket, sizes={"max_distance": 16}),
    Entry(positions.to_interleaved, {"features": lambda s, g: torch.arange(2.0 * s["half"])}),
    Entry(positions.to_split_halves, {"features": lambda s, g: torch.arange(2.0 * s["half"])}),
    Entry(
        measure.fit_scaling_law,
        {
            "num_parameters": [1.0, 2.0, 4.0, 1.0, 4.0],
            "num_tokens": [1.0, 2.0, 4.0, 4.0, 1.0],
            "losses": [9.0, 5.0, 3.0, 6.0, 7.0],
        },
    ),
    Entry(
        measure.cache_plan,
        {
            "config": {
                **{"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 3},
                **{"hidden_size": 12},
            }
        },
    ),
    Entry(measure.read_record, {"name": "bench"}),
    Entry(measure.trace_triton, {"fn": always(_flash)}),
    Entry(measure.training_memory_bytes, {"optimizer": "adam"}),
    Entry(measure.PowerLaw.__call__, {"self": always(measure.PowerLaw(1.0, 0.0, 2.0)), "x": 3.0}),
    Entry(models.Llama, {"num_layers": 2, "max_length": 8}),
    Entry(models.chat_prompt, {"default_system": "Be brief."}),
    Entry(models.dequantize_q4_1, {"blocks": torch.full((3, 20), 17, dtype=torch.uint8)}),
    Entry(models.dequantize_q8_0, {"blocks": torch.full((3, 34), 17, dtype=torch.uint8)}),
    Entry(models.quantize_blocks, sizes={"d": 6, "bits": 3, "blocks": 3}),
    Entry(models.prompt_lookup, {"tokens": torch.tensor([1, 2, 1])}, {"shortest": 1, "longest": 2}),
    Entry(
        models.adamw_step,
        {"v": lambda s, g: torch.rand(s["B"], generator=g), "betas": (0.9, 0.99)},
    ),
    Entry(models.draw_tokens, {"temperature": 0.0}, {"num_tokens": 5}),
    Entry(models.feed_forward, {"activation": "gelu"}),
    Entry(models.bigram_scores, sizes={"num_tokens": 4}),
    Entry(models.from_gpt2, {"theirs": lambda s, g: models.to_gpt2(_weights(models.GPT))}),
    Entry(models.to_gpt2, {"ours": lambda s, g: _weights(models.GPT)}),
    Entry(
        models.from_llama,
        {"theirs": lambda s, g: models.to_llama(_weights(models.Llama))},
    ),
    Entry(models.to_llama, {"ours": lambda s, g: _weights(models.Llama)}),
    Entry(models.beam_search, {"step": always(_beam_step)}),
    Entry(models.generate, {"temperature": 1.0, "top_k": 2, "top_p": 0.9}),
    Entry(_streamed, {"temperature": 1.0, "top_k": 2, "top_p": 0.9, "stop": 1}),
    Entry(models.greedy_decode, {"model": always(_reads)}),
    Entry(
        measure.windowed_loss,
        {"model": always(_reads_tokens), "tokens": torch.tensor([1, 2, 3, 1])},
        {"window": 3, "stride": 1},
    ),
    Entry(models.left_pad, {"prompts": [[1, 2], [3]]}, {"B": 2, "longest": 2}),
    Entry(models.mask_tokens, {"mask_id": 3, "vocab_size": 4}),
    Entry(models.match_queries, sizes={"T": 3}),
    Entry(
        models.ModelCache,
        {"layers": lambda s, g: owner(models.GPT).new_cache(s["B"]).layers},
    ),
    Entry(models.ModelCache.crop, sizes={"length": 0}),
    Entry(attention.MovableRows.reorder, sizes={"N": 2}),
    Entry(models.patchify, sizes=IMAGE),
    Entry(models.RecallModel, {"kind": "full"}),
    Entry(
        models.speculative_decode,
        {"target": an(models.GPT), "draft": an(models.GPT), "generator": lambda s, g: g},
    ),
    Entry(models.stream_mask, sizes={"L": 7, "S": 4, "num_target": 3, "pad_id": 4}),
    Entry(models.token_accuracy, sizes={"T": 4, "L": 3}),
    Entry(models.Transformer.step, sizes={"B": 1}),
    Entry(models.transformer_masks, sizes={"pad_id": 4}),
    Entry(models.vit_tokens, sizes=IMAGE),
    Entry(interpretability.attention_flow, {"layers": _layers()}, {"source": 0, "target": 0}),
    Entry(interpretability.attention_rollout, {"layers": _layers("B", "H")}),
    Entry(
        interpretability.gradient_attention,
        {"layers": _layers("B", "H"), "gradients": _layers("B", "H")},
    ),
    Entry(interpretability.mean_ablate, {"heads": [0, 0]}),
    Entry(interpretability.logit_lens, sizes={"token": 1}),
    Entry(interpretability.patch_grid, {"run": always(_patched)}),
    Entry(interpretability.rank_correlation, sizes={"n": 5}),
    Entry(interpretability.without_key, sizes={"key": 0}),
    Entry(
        distributed.communication_bytes,
        {"scheme": "ulysses"},
        {"num_tokens": 12, "num_heads": 6, "num_kv_heads": 3},
    ),
    *(
        Entry(split, sizes={"num_tokens": 12, "P": 3, "n_per_rank": 4})
        for split in (
            distributed.contiguous_split, distributed.striped_split, distributed.zigzag_split
        )
    ),
    Entry(distributed.ring_attention, {"begin": always(lambda key, value: lambda: (key, value))}),
    Entry(
        distributed.ring_work,
        {"positions": lambda s, g: torch.arange(12).reshape(4, 3).T.contiguous()},
        {"P": 3},
    ),
    Entry(
        distributed.sequence_to_heads,
        {"shards": lambda s, g: [torch.rand(s["B"], 4, n, 3, generator=g) for n in (2, 1)]},
    ),
)  # fmt: skip
KNOWN = {told.name: told for told in TOLD}


def _callables(thing: Any) -> Iterator[Any]:
    """Yield what can be called of a public thing: itself, and the methods that it adds."""
    if inspect.isfunction(thing):
        yield thing
    if not inspect.isclass(thing):
        return
    record = dataclasses.is_dataclass(thing) or issubclass(thing, tuple)  # keeps what it is given
    if "__init__" in vars(thing) and not record:
        yield thing
    for name, method in vars(thing).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            yield method


def entry(function: Any, kind: type | None = None) -> Entry:
    """Return how to call a function, a class, or a method of a class."""
    told = KNOWN.get(function.__qualname__, Entry(function))
    of_kind = entry(kind).sizes if kind else {}
    given = {"self": an(kind)} if kind else {}
    for name, parameter in told.parameters.items():
        if name in VALUES and is_asked(parameter) and not tells_all(parameter.annotation):
            given[name] = VALUES[name]
    return Entry(told.function, given | told.given, of_kind | told.sizes)


def _public() -> Iterator[Entry]:
    for room in ROOMS:
        for name in room.__all__:
            thing = getattr(room, name)
            for function in _callables(thing):
                if not UNCALLED & {name, function.__qualname__}:
                    is_method = inspect.isclass(thing) and function is not thing
                    yield entry(function, thing if is_method else None)


def _is_lawful(told: Entry) -> bool:
    is_function = inspect.isfunction(told.function) and "." not in told.name
    return is_function and told.function not in {*LAWLESS, _streamed}


PUBLIC = [*_public(), entry(flash_attention), entry(measure.PowerLaw.__call__)]
ENTRIES = [told for told in PUBLIC if _is_lawful(told)]
CALLS = [replace(told, dtype=torch.float32) for told in PUBLIC if not _is_lawful(told)]
