"""Reference implementations, one mechanism per file, in families."""

from course_utils.attention.caches.block_pool import BlockPool
from course_utils.attention.caches.movable_rows import MovableRows
from course_utils.attention.caches.paged import PagedCache, paged_gather
from course_utils.attention.caches.plain import KVCache, append_kv, decode_step
from course_utils.attention.caches.quantized import QuantizedCache, quantize_kv
from course_utils.attention.caches.rolling import RollingCache
from course_utils.attention.caches.rolling_window import rolling_cache_positions
from course_utils.attention.caches.rows import reorder_cache
from course_utils.attention.cheaper.block_selected import block_selected_attention
from course_utils.attention.cheaper.block_selection import select_blocks
from course_utils.attention.cheaper.differential import differential_attention
from course_utils.attention.cheaper.gated_output import gated_attention
from course_utils.attention.cheaper.grouped_query import grouped_query_attention
from course_utils.attention.cheaper.linformer import linformer_attention
from course_utils.attention.cheaper.lsh import lsh_attention, lsh_buckets
from course_utils.attention.cheaper.performer import causal_performer_attention, performer_attention
from course_utils.attention.cheaper.random_features import (
    orthogonal_projection,
    positive_random_features,
)
from course_utils.attention.cheaper.sink import sink_attention
from course_utils.attention.cheaper.sliding_window import (
    blocked_window_attention,
    global_window_attention,
    sliding_window_attention,
)
from course_utils.attention.cheaper.sparse import block_sparse_attention, fixed_mask, strided_mask
from course_utils.attention.cheaper.sparse_softmax import entmax, sparsemax
from course_utils.attention.cheaper.streaming_positions import streaming_positions
from course_utils.attention.core.add_bias import add_bias
from course_utils.attention.core.attend import attend, context_vector
from course_utils.attention.core.composed import composed_attention, composed_scores
from course_utils.attention.core.cross_attention import cross_attention
from course_utils.attention.core.dropout import attention_dropout
from course_utils.attention.core.hopfield import hopfield_energy, hopfield_update
from course_utils.attention.core.kernel_smoothing import nadaraya_watson
from course_utils.attention.core.local import (
    local_monotonic_weights,
    local_predictive_weights,
    predicted_centre,
)
from course_utils.attention.core.lookup import soft_lookup
from course_utils.attention.core.masked_softmax import additive_mask, masked_softmax
from course_utils.attention.core.multi_head import (
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
)
from course_utils.attention.core.multi_head_module import MultiHeadAttention
from course_utils.attention.core.projections import project_qkv, split_fused_qkv
from course_utils.attention.core.residual import residual_attention_backward
from course_utils.attention.core.scaled_dot_product import (
    attention_backward,
    attention_weights,
    scaled_dot_product_attention,
)
from course_utils.attention.core.scoring import (
    additive_score,
    concat_score,
    dot_score,
    general_score,
    location_score,
)
from course_utils.attention.core.soft_cap import soft_cap
from course_utils.attention.core.softmax import softmax_jacobian, stable_softmax
from course_utils.attention.core.split_heads import ablate_heads, merge_heads, split_heads
from course_utils.attention.experts import load_balance_loss, mix_experts, route_top_k
from course_utils.attention.induction import induction_prediction
from course_utils.attention.latent.compressed import CompressedLatentAttention
from course_utils.attention.latent.latent import absorbed_latent_attention, latent_attention
from course_utils.attention.latent.module import LatentAttention
from course_utils.attention.masks.band import band_mask, chunk_mask
from course_utils.attention.masks.batch import query_lengths_mask, same_document_mask
from course_utils.attention.masks.causal import causal_mask, padding_mask, window_mask
from course_utils.attention.masks.leaks import leaks_future
from course_utils.attention.masks.packed import cumulative_lengths, packed_attention, packed_ids
from course_utils.attention.masks.structured import combine_masks, document_mask, prefix_mask
from course_utils.attention.states.delta_rule import gated_delta_rule, gated_delta_step
from course_utils.attention.states.gated_linear import gated_linear_attention, gated_linear_step
from course_utils.attention.states.linear import (
    causal_linear_attention,
    linear_attention,
    recurrent_linear_attention,
)
from course_utils.attention.states.linear_step import linear_attention_step
from course_utils.attention.states.retention import (
    retention_chunk,
    retention_parallel,
    retention_recurrent,
)
from course_utils.attention.states.selective_scan import chunked_selective_scan, selective_scan
from course_utils.attention.states.wkv import wkv, wkv_step
from course_utils.attention.stored_vectors import memory_attention
from course_utils.attention.tiled.autograd import recomputed_attention
from course_utils.attention.tiled.online_softmax import merge_partials, online_softmax_step
from course_utils.attention.tiled.tiled import tiled_attention, tiled_attention_backward
from course_utils.attention.vision.cross_covariance import cross_covariance_attention
from course_utils.attention.vision.gated_cross_attention import (
    gated_cross_attention,
    last_image_mask,
)
from course_utils.attention.vision.non_local import non_local_block
from course_utils.attention.vision.object_queries import object_query_attention

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]
