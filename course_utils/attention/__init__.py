"""Reference implementations, one mechanism a file, in the order of teaching."""

from course_utils.attention.attend import attend, context_vector
from course_utils.attention.cross_attention import cross_attention
from course_utils.attention.heads import (
    ablate_heads,
    merge_heads,
    split_heads,
)
from course_utils.attention.leaks import leaks_future
from course_utils.attention.local import (
    local_monotonic_weights,
    local_predictive_weights,
    predicted_centre,
)
from course_utils.attention.lookup import soft_lookup
from course_utils.attention.masked_softmax import additive_mask, masked_softmax
from course_utils.attention.masks import causal_mask, padding_mask, window_mask
from course_utils.attention.multi_head import (
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
)
from course_utils.attention.multi_head_module import MultiHeadAttention
from course_utils.attention.projections import project_qkv, split_fused_qkv
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
from course_utils.attention.softmax import softmax_jacobian, stable_softmax
from course_utils.attention.structured_masks import combine_masks, document_mask, prefix_mask

__all__ = [
    "MultiHeadAttention",
    "ablate_heads",
    "additive_mask",
    "additive_score",
    "attend",
    "attention_backward",
    "attention_weights",
    "causal_mask",
    "combine_masks",
    "concat_score",
    "context_vector",
    "cross_attention",
    "document_mask",
    "dot_score",
    "general_score",
    "leaks_future",
    "local_monotonic_weights",
    "local_predictive_weights",
    "location_score",
    "masked_softmax",
    "merge_heads",
    "multi_head_attention",
    "multi_head_attention_fused",
    "multi_head_attention_loop",
    "padding_mask",
    "predicted_centre",
    "prefix_mask",
    "project_qkv",
    "scaled_dot_product_attention",
    "soft_lookup",
    "softmax_jacobian",
    "split_fused_qkv",
    "split_heads",
    "stable_softmax",
    "window_mask",
]
