"""Exceptions from the laws, and where they ask for something else.

A new function needs none of this until a law fails and the function is right. Then it goes into:

* `ROUGH`, where rounding an input changes the output altogether (a choice, a threshold);
* `TOGETHER`, where the members of a batch have one result, or the first axis is no batch;
* `ON_CPU`, where it works on the CPU alone;
* `NOT_ZERO`, where a query that may see nothing still gives something;
* `WRITES`, where it changes an argument on purpose;
* `LENIENT`, where it takes what its annotation forbids; `INNER_NAMES`, where its message calls the
  argument as an inner function does;
* `TAKES`, where it takes a number at the edge of what others take; `SHARES`, where 1 is the most;
* `LAWLESS`, where it cannot be held to laws at all, and is called with valid and wrong arguments
  only; `UNCALLED`, where not even that: a test of its own has to do it.
"""

from course_utils import attention, distributed, interpretability, measure, models, positions
from course_utils.attention.tiled.flash.flash import flash_attention

# A rounded input may give an entirely different output.
ROUGH = {
    attention.attention_dropout, attention.block_selected_attention, attention.gated_delta_rule,
    attention.chunked_selective_scan, attention.gated_linear_attention, attention.lsh_attention,
    attention.linear_attention_step, attention.lsh_buckets, attention.memory_attention,
    attention.online_softmax_step, attention.quantize_kv, attention.route_top_k,
    attention.selective_scan, attention.tiled_attention_backward, positions.choose_keys,
    positions.llama3_frequencies,
    models.match_queries, models.min_p_filter, models.top_p_filter,
    interpretability.effective_attention, interpretability.rank_correlation,
}  # fmt: skip
# The leading axis is not a batch, or its members have one result together.
TOGETHER = {
    attention.attention_dropout, attention.paged_gather, attention.reorder_cache,
    positions.is_permutation_equivariant, models.causal_lm_loss, models.contrastive_loss,
    models.label_smoothed_loss, models.mask_tokens, models.siglip_loss,
    interpretability.attention_rollout, interpretability.gradient_attention,
    distributed.ring_work, distributed.sequence_to_heads,
}  # fmt: skip
ON_CPU = {models.mask_tokens}  # it draws where its generator is
WRITES = {"cache_key", "cache_value"}  # arguments that are there to be changed
# Like classes and methods, they are called with valid and with wrong arguments, and no more.
LAWLESS = {
    flash_attention,  # which has a file of its own
    attention.wkv_step, measure.fit_scaling_law, measure.read_record, measure.trace_torch,
    measure.trace_triton, models.adamw_step, models.beam_decode, models.from_gpt2,
    models.from_llama, models.generate, models.greedy_decode, models.speculative_decode,
    models.to_gpt2, models.to_llama,
}  # fmt: skip
# Scores of -inf, and a stream that stays as it was.
NOT_ZERO = {attention.composed_scores, attention.gated_cross_attention}
# Beginnings of "function.argument": what takes more than its annotation says, more axes mostly. A
# scheme of positions leaves alone what it does not need.
LENIENT = (
    "PositionScheme.", "GivenPositions.", "AlibiPositions.", "DebertaPositions.", "ShawPositions.",
    "T5Positions.", "PartialRotaryPositions.rotate", "RotaryPositions.rotate", "RopeTable.rotate.x",
    "rope_interleaved", "rope_split_halves.x", "relative_positions", "shaw_scores.query",
    "shaw_scores.key", "ring_attention.query", "memory_attention.key",
    "memory_attention.memory_key", "combine_masks", "add_bias.bias", "attention_dropout.weights",
    "multi_head_attention.W_o", "multi_head_attention_fused.W_o", "multi_head_attention_loop.W_o",
    "decoder_layer", "ConcatScore.forward", "GeneralScore.forward", "paged_gather.pool",
    "quantize_kv.x", "draw_tokens.generator", "token_probabilities.logits", "stream_tokens.stop",
    "flash_attention.offset", "Autocast", "DecoderLayer.forward.looks",
)  # fmt: skip
INNER_NAMES = {
    "x",
    "mask",
    "attn_mask",
    "d_k",
}  # what an inner function calls an argument of another name
# Arguments, of any function or of one, that take a number at the edge. All others refuse a whole
# number below 1, and a float that is not positive and finite.
SIGNED = {"dim", "end", "mask_id", "offset", "pad_id", "padding", "start", "stop"}
ANY_FLOAT = {
    "scale", "eps", "balance", "magnitude", "position_std", "beam_search.alpha",
    "beam_decode.alpha", "cross_covariance_attention.temperature", "PowerLaw.__call__.x",
}  # fmt: skip
ROOFLINE = {f"attainable_flops.{name}" for name in ("bandwidth", "intensity", "peak_flops")}
TAKES: dict[str, set[str]] = {
    "-1": SIGNED,
    "0": SIGNED | {
        "count", "d_rope", "half_width", "left", "right", "num_activations", "num_global",
        "num_keys", "num_queries", "num_seen", "num_sinks", "num_trainable", "prefix_length",
        "rank", "source", "target", "step", "summary", "BlockPool.own.block", "additive_flops.d_a",
        "additive_flops.d_k", "additive_flops.d_q", "Block.d_ff", "SmallTransformer.d_ff",
        "VisionTransformer.d_ff", "append_kv.length", "paged_gather.length",
        "reorder_cache.length", "ModelCache.crop.length", "max_distance",
        "training_flops.num_layers", "transformer_parameters.num_layers",
        "transformer_parameters.num_positions", "fixed_mask.num_positions",
        "strided_mask.num_positions", "stream_mask.num_target", "streaming_positions.num_tokens",
        "kv_cache_bytes.num_tokens", "generate.num_tokens", "stream_tokens.num_tokens",
        "without_key.key",
        "logit_lens.token",
        "greedy_decode.num_tokens", "speculative_decode.num_tokens", "num_draft",
        "block_selected_attention.top_k", "warmup_cosine.warmup", "rolling_cache_positions.window",
    },
    "-0.1": ANY_FLOAT,
    "0.0": ANY_FLOAT | ROOFLINE | {
        "E", "gib", "hopfield_update.beta", "p", "residual", "smoothing", "std",
        "draw_tokens.temperature", "token_probabilities.temperature", "adamw_step.rate",
        "adamw_step.weight_decay",
    },
    "inf": ANY_FLOAT | ROOFLINE | {
        "entmax.alpha", "high_freq_factor", "sigma", "soft_lookup.temperature",
    },
    "nan": ANY_FLOAT | ROOFLINE,
}  # fmt: skip
SHARES = {"p", "residual", "smoothing", "top_p", "min_p"}  # they lie between 0 and 1
UNCALLED = {
    # Only inside a group of processes, where tests/distributed calls them.
    "SentBytes", "parallel_ring_attention", "ring_all_reduce", "run_ranks",
    "tensor_parallel_attention", "ulysses_attention",
    # What the course alone calls, to train, to judge or to draw, checks nothing.
    "DeepStack", "Encoder", "GivenAttention", "GivenCache", "LuongDecoder", "accumulated_gradient",
    "all_weights", "copy_task", "field_mass", "from_folder", "judge_on_task", "judge_recall",
    "judge_writing", "next_character_loss", "next_token_loss", "recall_batch", "rescaled_rope",
    "sequence_loss",
    "source_gradients", "text_task", "token_text", "train_at_width", "train_character_model",
    "train_deep_stack", "train_gpt", "train_on_task", "train_recall", "train_seq2seq",
    "weight_on_previous", "write_all",
    # What these take comes only from other methods of theirs.
    "AdditiveScore.forward", "Autocast.forward", "AttentionContext.forward",
    "AttentionContext.remember", "Context", "Decoder", "FixedContext", "Seq2Seq.teach",
}  # fmt: skip
