"""Reference implementations, one mechanism per file, in the order they are taught."""

from course_utils.attention.add_bias import add_bias
from course_utils.attention.attend import attend, context_vector
from course_utils.attention.band_masks import band_mask, chunk_mask
from course_utils.attention.batch_masks import query_lengths_mask, same_document_mask
from course_utils.attention.block_pool import BlockPool
from course_utils.attention.block_selected import block_selected_attention
from course_utils.attention.block_selection import select_blocks
from course_utils.attention.cache_rows import reorder_cache
from course_utils.attention.composed import composed_attention, composed_scores
from course_utils.attention.cross_attention import cross_attention
from course_utils.attention.cross_covariance import cross_covariance_attention
from course_utils.attention.delta_rule import gated_delta_rule, gated_delta_step
from course_utils.attention.differential import differential_attention
from course_utils.attention.dropout import attention_dropout
from course_utils.attention.experts import load_balance_loss, mix_experts, route_top_k
from course_utils.attention.gated_cross_attention import gated_cross_attention, last_image_mask
from course_utils.attention.gated_linear import gated_linear_attention, gated_linear_step
from course_utils.attention.gated_output import gated_attention
from course_utils.attention.grouped_query import grouped_query_attention
from course_utils.attention.heads import ablate_heads, merge_heads, split_heads
from course_utils.attention.hopfield import hopfield_energy, hopfield_update
from course_utils.attention.induction import induction_prediction
from course_utils.attention.kernel_smoothing import nadaraya_watson
from course_utils.attention.kv_cache import KVCache, append_kv, decode_step
from course_utils.attention.latent import absorbed_latent_attention, latent_attention
from course_utils.attention.latent_compressed import CompressedLatentAttention
from course_utils.attention.latent_module import LatentAttention
from course_utils.attention.leaks import leaks_future
from course_utils.attention.linear import (
    causal_linear_attention,
    linear_attention,
    recurrent_linear_attention,
)
from course_utils.attention.linear_step import linear_attention_step
from course_utils.attention.linformer import linformer_attention
from course_utils.attention.local import (
    local_monotonic_weights,
    local_predictive_weights,
    predicted_centre,
)
from course_utils.attention.lookup import soft_lookup
from course_utils.attention.lsh import lsh_attention, lsh_buckets
from course_utils.attention.masked_softmax import additive_mask, masked_softmax
from course_utils.attention.masks import causal_mask, padding_mask, window_mask
from course_utils.attention.memory import memory_attention
from course_utils.attention.movable_rows import MovableRows
from course_utils.attention.multi_head import (
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
)
from course_utils.attention.multi_head_module import MultiHeadAttention
from course_utils.attention.non_local import non_local_block
from course_utils.attention.object_queries import object_query_attention
from course_utils.attention.online_softmax import merge_partials, online_softmax_step
from course_utils.attention.packed import cumulative_lengths, packed_attention, packed_ids
from course_utils.attention.paged_cache import PagedCache, paged_gather
from course_utils.attention.performer import causal_performer_attention, performer_attention
from course_utils.attention.projections import project_qkv, split_fused_qkv
from course_utils.attention.quantized_cache import QuantizedCache, quantize_kv
from course_utils.attention.random_features import orthogonal_projection, positive_random_features
from course_utils.attention.residual import residual_attention_backward
from course_utils.attention.retention import (
    retention_chunk,
    retention_parallel,
    retention_recurrent,
)
from course_utils.attention.rolling_cache import RollingCache
from course_utils.attention.rolling_window import rolling_cache_positions
from course_utils.attention.scaled_dot_product import (
    attention_backward,
    attention_weights,
    scaled_dot_product_attention,
)
from course_utils.attention.scoring import (
    additive_score,
    concat_score,
    dot_score,
    general_score,
    location_score,
)
from course_utils.attention.selective_scan import chunked_selective_scan, selective_scan
from course_utils.attention.sink import sink_attention
from course_utils.attention.sliding_window import (
    blocked_window_attention,
    global_window_attention,
    sliding_window_attention,
)
from course_utils.attention.soft_cap import soft_cap
from course_utils.attention.softmax import softmax_jacobian, stable_softmax
from course_utils.attention.sparse import block_sparse_attention, fixed_mask, strided_mask
from course_utils.attention.sparse_softmax import entmax, sparsemax
from course_utils.attention.streaming import streaming_positions
from course_utils.attention.structured_masks import combine_masks, document_mask, prefix_mask
from course_utils.attention.tiled import tiled_attention, tiled_attention_backward
from course_utils.attention.tiled_autograd import recomputed_attention
from course_utils.attention.wkv import wkv, wkv_step

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]
