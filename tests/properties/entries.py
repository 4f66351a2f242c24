"""The table of public functions: what their annotations do not tell of how to call them."""

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch
from annotated import Entry, Sizes
from test_call_refusals import CALLS
from torch import Tensor

from course_utils import attention, distributed, measure, models, positions, reading


def _lengths(least: int) -> Any:
    return lambda s, g: torch.randint(min(least, s["S"]), s["S"] + 1, (s["B"],), generator=g)


def _table(s: Sizes, g: torch.Generator) -> Tensor:
    return torch.randint(0, 3, (2,), generator=g)


def _written(s: Sizes, g: torch.Generator) -> Tensor:
    return torch.randint(0, 5, (s["B"], s["T"] - 1), generator=g)


def _written_before(s: Sizes, g: torch.Generator) -> Tensor:
    return torch.randint(0, 5, (s["B"], 3), generator=g)


def _drafted(s: Sizes, g: torch.Generator) -> Tensor:
    return torch.randint(0, 5, (3,), generator=g)


def _identity(x: Tensor) -> Tensor:
    return x


def _positions(name: str) -> Any:
    return lambda s, g: torch.arange(s[name])


def _layers(*leading: str) -> Any:
    return lambda s, g: [
        torch.rand(*(s[name] for name in leading), s["L"], s["L"], generator=g) for _ in range(2)
    ]


def _shards(s: Sizes, g: torch.Generator) -> list[Tensor]:
    return [torch.rand(s["B"], 4, n, 3, generator=g) for n in (2, 1)]


def _same_block(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return key, value


def _first_token_decides(tokens: Tensor, mask: Tensor) -> Tensor:
    first = (tokens * mask).sum(-1, keepdim=True).double()
    return torch.cat([first, -first], -1).softmax(-1)


SQUARE = {"S": 4, "L": 4}
IMAGE = {"C": 2, "h": 4, "w": 6, "patch": 2, "N": 6, "N_plus_1": 7}
ATTENTION = (
    Entry(attention.additive_mask, {"dtype": torch.float32}),
    Entry(
        attention.append_kv,
        {"length": lambda s, g: s["S_max"] - s["T"]},
        writes=("cache_key", "cache_value"),
    ),
    Entry(attention.block_selected_attention, {"block": 2, "top_k": 1}, smooth=False),
    Entry(attention.block_sparse_attention, {"block": 2}, SQUARE),
    Entry(attention.blocked_window_attention, {"window": 2}),
    Entry(attention.cross_attention, {}, {"d": 3}),
    Entry(attention.cross_covariance_attention, {"temperature": 0.7}),
    Entry(attention.chunked_selective_scan, sizes={"n": 3}, smooth=False),
    Entry(attention.decode_step, {"length": lambda s, g: s["S_max"]}),
    Entry(attention.differential_attention, {"balance": 0.7}),
    Entry(attention.entmax, {"alpha": 1.5}),
    Entry(attention.fixed_mask, {"block": 2, "summary": 1}),
    Entry(attention.gated_cross_attention, {"gate": torch.tensor(0.7)}, {"d": 3}),
    Entry(attention.gated_delta_rule, smooth=False),  # gates drawn here are not between 0 and 1
    Entry(attention.gated_linear_attention, smooth=False),
    Entry(attention.global_window_attention, {"half_width": 1, "num_global": 1}),
    Entry(attention.hopfield_energy, sizes={"N": 5}),
    Entry(attention.hopfield_update, sizes={"N": 5}),
    Entry(attention.induction_prediction, sizes={"num_symbols": 3}),
    Entry(attention.last_image_mask, sizes={"num_images": 40, "tokens_per_image": 2}),
    Entry(attention.leaks_future, {"attention": lambda s, g: _identity}),
    Entry(attention.linear_attention_step, smooth=False),
    Entry(attention.load_balance_loss, sizes={"N": 5, "E": 4, "k": 2}),
    Entry(attention.local_monotonic_weights, {"half_width": 1}),
    Entry(attention.local_predictive_weights, {"sigma": 1.0}),
    Entry(attention.location_score, {}, {"positions": 9}),
    Entry(attention.lsh_attention, {"reach": 2}, smooth=False),
    Entry(attention.lsh_buckets, smooth=False),
    Entry(attention.memory_attention, {"top_k": 2}, {"M": 3}, smooth=False),
    Entry(attention.non_local_block, sizes={"C": 3, "h": 2, "w": 4, "d_g": 5}),
    Entry(attention.object_query_attention, sizes={"Q": 3}),
    Entry(
        attention.online_softmax_step,
        {"l": lambda s, g: torch.rand(s["B"], s["L"], generator=g)},
        smooth=False,
    ),
    Entry(attention.orthogonal_projection, {"num_features": 3}, {"m": 3}),
    Entry(attention.padding_mask, {"lengths": _lengths(0)}),
    Entry(
        attention.paged_gather,
        {"block_table": _table, "length": 3},
        {"num_blocks": 3, "block_size": 2, "length": 3},
        apart=False,
    ),
    Entry(attention.predicted_centre, {"lengths": _lengths(1)}),
    Entry(attention.prefix_mask, {"prefix_length": 1}),
    Entry(attention.quantize_kv, smooth=False),
    Entry(attention.residual_attention_backward, {}, {"d": 3}),
    Entry(
        attention.reorder_cache,
        {"length": lambda s, g: s["S_max"], "beams": lambda s, g: torch.arange(s["N"]).flip(0)},
        {"N": 3},
        writes=("cache_key", "cache_value"),
        apart=False,
    ),
    Entry(attention.rolling_cache_positions, {"num_seen": 9, "window": 4, "num_sinks": 1}),
    Entry(attention.route_top_k, sizes={"N": 5, "E": 4, "k": 2}, smooth=False),
    Entry(attention.select_blocks, {"block": 2, "num_selected": 2}),
    Entry(attention.selective_scan, sizes={"n": 3}, smooth=False),
    Entry(attention.sliding_window_attention, {"window": 2}),
    Entry(attention.soft_lookup, {"temperature": 0.7}),
    Entry(attention.streaming_positions, {"window": 2, "num_sinks": 1}, {"L": 6, "num_tokens": 6}),
    Entry(attention.strided_mask, {"stride": 2}),
    Entry(attention.tiled_attention, {"block_q": 2, "block_k": 3}),
    Entry(attention.tiled_attention_backward, {"block_q": 2, "block_k": 3}, smooth=False),
    Entry(attention.window_mask, {"window": 2}),
    Entry(attention.attention_dropout, smooth=False, apart=False),
    Entry(attention.band_mask, {"left": 2, "right": 1}),
    Entry(attention.chunk_mask, {"chunk": 2}),
    Entry(
        attention.cumulative_lengths,
        {"lengths": lambda s, g: torch.tensor([2, 0, 3])},
        {"n_plus_1": 4},
    ),
    Entry(attention.packed_attention, {"lengths": lambda s, g: torch.tensor([0, s["T"]])}),
    Entry(attention.packed_ids, {"lengths": lambda s, g: torch.tensor([2, 0, 3])}, {"T": 5}),
    Entry(
        attention.query_lengths_mask,
        {"lengths": lambda s, g: torch.randint(0, s["S"] + 1, (s["B"], s["L"]), generator=g)},
    ),
)
POSITIONS = (
    Entry(positions.disentangled_scores, {"max_distance": 2}, {"two_max_distance": 4}),
    Entry(positions.interpolate_positions, {"trained_length": 4, "target_length": 8}),
    Entry(
        positions.is_permutation_equivariant,
        {
            "layer": lambda s, g: _identity,
            "permutation": lambda s, g: torch.randperm(s["L"], generator=g),
        },
        apart=False,
    ),
    Entry(
        positions.llama3_frequencies,
        {"factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "trained_length": 40},
        smooth=False,
    ),
    Entry(
        positions.longrope_frequencies,
        {"d_k": 6, "slowed_by": [1.0, 1.5, 2.0]},
        sizes={"half_width": 3},
    ),
    Entry(positions.longrope_magnitude, {"factor": 2.0, "trained_length": 64}),
    Entry(positions.ntk_base, {"base": 10000.0, "factor": 2.0}, {"d_k": 6}),
    Entry(
        positions.relative_positions,
        {"query_positions": _positions("L"), "key_positions": _positions("S")},
    ),
    Entry(positions.rope_interleaved, {"positions": _positions("L")}),
    Entry(
        positions.rope_interleaved_attention,
        {"query_positions": _positions("L"), "key_positions": _positions("S")},
    ),
    Entry(positions.rope_split_halves, {"positions": _positions("L")}),
    Entry(positions.shaw_scores, {"max_distance": 2}, {"two_max_distance_plus_1": 5}),
    Entry(positions.shaw_values, {"max_distance": 2}, {"two_max_distance_plus_1": 5}),
    Entry(positions.shift_matrix, {"offset": 3}),
    Entry(
        positions.t5_bucket,
        {
            "relative_position": lambda s, g: torch.arange(-s["L"], s["S"]),
            "num_buckets": 8,
            "max_distance": 16,
        },
    ),
    Entry(positions.to_interleaved, {"features": lambda s, g: torch.arange(2.0 * s["half"])}),
    Entry(positions.to_split_halves, {"features": lambda s, g: torch.arange(2.0 * s["half"])}),
    Entry(positions.yarn_frequencies, {"factor": 2.0, "trained_length": 64}),
    Entry(positions.yarn_magnitude, {"factor": 2.0}),
)
MEASURE = (
    Entry(measure.additive_flops, {"precompute": True}),
    Entry(measure.attainable_flops, {"intensity": 2.0, "peak_flops": 9.0, "bandwidth": 3.0}),
    Entry(measure.attention_flops, {"batch": 2}),
    Entry(measure.cache_fits, {"gib": 2.0, "num_layers": 2, "bytes_per_element": 2, "batch": 1}),
    Entry(
        measure.compute_optimal,
        {"flops": 1e9, "A": 3.0, "B": 5.0, "alpha": 0.3, "beta": 0.4, "E": 0.5},
    ),
    Entry(measure.exact_match, {"pad_id": 0}),
    Entry(measure.fit_exponent, {"x": [1.0, 2.0, 4.0], "y": [1.0, 4.0, 16.0]}),
    Entry(measure.fit_power_law, {"x": [1.0, 2.0, 4.0], "y": [1.0, 4.0, 16.0]}),
    Entry(
        measure.fit_scaling_law,
        {
            "num_parameters": [1.0, 2.0, 4.0, 1.0, 4.0],
            "num_tokens": [1.0, 2.0, 4.0, 4.0, 1.0],
            "losses": [9.0, 5.0, 3.0, 6.0, 7.0],
        },
    ),
    Entry(measure.hbm_traffic, {"sram_elements": 1024}),
    Entry(
        measure.kv_cache_bytes,
        {"num_layers": 2, "batch": 1, "bytes_per_element": 2},
    ),
    Entry(measure.matmul_bytes, {"bytes_per_element": 2, "count_output": True}),
    Entry(measure.matmul_intensity, {"bytes_per_element": 2, "count_output": True}),
    Entry(measure.training_flops, {"batch": 2, "num_layers": 2, "d_ff": 5, "vocab_size": 7}),
    Entry(
        measure.training_memory_bytes,
        {"num_parameters": 9, "num_trainable": 4, "num_activations": 3, "optimizer": "adam"},
    ),
    Entry(measure.transformer_parameters, {"vocab_size": 7, "num_layers": 2, "d_ff": 5}),
)
MODELS = (
    Entry(models.causal_lm_loss, {"pad_id": 0}, {"V": 5}, apart=False),
    Entry(models.contrastive_loss, {"temperature": 0.7}, apart=False),
    Entry(models.draw_tokens, {"temperature": 0.0}, {"num_tokens": 5}),
    Entry(models.encode, {"lengths": _lengths(1)}),
    Entry(models.feed_forward, {"activation": "gelu"}, {"d_ff": 5}),
    Entry(models.gated_feed_forward, sizes={"d_ff": 5}),
    Entry(models.label_smoothed_loss, {"smoothing": 0.1, "pad_id": 0}, {"V": 5}, apart=False),
    Entry(models.layer_norm),
    Entry(models.left_pad, {"prompts": [[1, 2], [3]]}, {"B": 2, "longest": 2}),
    Entry(
        models.bigram_scores,
        {"tokens": lambda s, g: torch.tensor([1, 3, 1, 0]), "num_tokens": 4},
        {"num_tokens": 4},
    ),
    Entry(models.mask_tokens, {"mask_id": 3, "vocab_size": 4, "special": [0]}, apart=False),
    Entry(models.match_queries, sizes={"Q": 4, "T": 3}, smooth=False),
    Entry(models.min_p_filter, {"min_p": 0.4}, {"V": 5}, smooth=False),
    Entry(models.patchify, {"patch": 2}, IMAGE),
    Entry(models.penalise_repetition, {"tokens": _written_before, "penalty": 1.3}, {"V": 5}),
    Entry(models.rms_norm),
    Entry(models.rnn_step),
    Entry(models.speculative_accept, {"draft_tokens": _drafted}, {"V": 5, "K": 3, "K_plus_1": 4}),
    Entry(models.stream_mask, {"num_target": 3, "kind": "prefix", "pad_id": 0}, {"L": 7, "S": 4}),
    Entry(models.token_accuracy, {"predicted": _written}, {"T": 4}),
    Entry(models.token_probabilities, sizes={"num_tokens": 5}),
    Entry(models.top_p_filter, {"top_p": 0.6}, {"V": 5}, smooth=False),
    Entry(models.transformer_masks, {"pad_id": 0}),
    Entry(models.vit_tokens, {"patch": 2}, IMAGE),
)
READING = (  # the first axis of a list of layers is not the batch: apart=False
    Entry(reading.attention_flow, {"layers": _layers(), "source": 0, "target": 0}),
    Entry(reading.attention_rollout, {"layers": _layers("B", "H")}, apart=False),
    Entry(reading.effective_attention, smooth=False),
    Entry(
        reading.gradient_attention,
        {"layers": _layers("B", "H"), "gradients": _layers("B", "H")},
        apart=False,
    ),
    Entry(reading.induction_score, {"period": 2}),
    Entry(reading.leave_one_out, {"predict": lambda s, g: _first_token_decides}),
    Entry(reading.rank_correlation, sizes={"n": 5}, smooth=False),
)
SHARED = {"num_tokens": 12, "world_size": 3}
DISTRIBUTED = (
    Entry(
        distributed.communication_bytes,
        SHARED | {"scheme": "ulysses", "num_heads": 6, "num_kv_heads": 3, "bytes_per_element": 2},
    ),
    Entry(distributed.contiguous_split, SHARED, {"P": 3, "n_per_rank": 4}),
    Entry(
        distributed.ring_attention,
        {"rotate": lambda s, g: _same_block, "rank": 1, "world_size": 3},
    ),
    Entry(
        distributed.ring_attention_step,
        {"query_positions": _positions("L"), "key_positions": _positions("S")},
    ),
    Entry(distributed.ring_schedule, {"world_size": 3, "rank": 1}),
    Entry(
        distributed.ring_work,
        {"positions": lambda s, g: torch.arange(12).reshape(4, 3).T.contiguous()},
        {"P": 3},
        apart=False,
    ),
    Entry(distributed.sequence_to_heads, {"shards": _shards}, apart=False),
    Entry(distributed.striped_split, SHARED, {"P": 3, "n_per_rank": 4}),
    Entry(distributed.zigzag_split, SHARED, {"P": 3, "n_per_rank": 4}),
)
TOLD = (*ATTENTION, *POSITIONS, *MEASURE, *MODELS, *READING, *DISTRIBUTED)
# They take a module, a cache or a function, and are tested beside those.
ELSEWHERE = {
    "combine_masks", "count_flops", "largest_tensor", "mix_experts", "peak_memory", "read_record",
    "trace_torch", "trace_triton", "wkv_step",
}  # fmt: skip


ROOMS = (attention, positions, measure, reading)  # what they export is in a table


def _whose_annotations_tell_all(package: ModuleType) -> Iterator[Entry]:
    known = {entry.name for entry in TOLD} | ELSEWHERE | {call.name for call in CALLS}
    for name in package.__all__:
        if inspect.isfunction(vars(package)[name]) and name not in known:
            yield Entry(vars(package)[name])


ENTRIES = (
    *TOLD,
    *(e for room in ROOMS for e in _whose_annotations_tell_all(room)),
)
