"""Reference implementations, one mechanism a file, in the order of teaching."""

from course_utils.attention.attend import attend, context_vector
from course_utils.attention.local import (
    local_monotonic_weights,
    local_predictive_weights,
    predicted_centre,
)
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

__all__ = [
    "additive_score",
    "attend",
    "attention_backward",
    "attention_weights",
    "concat_score",
    "context_vector",
    "dot_score",
    "general_score",
    "local_monotonic_weights",
    "local_predictive_weights",
    "location_score",
    "predicted_centre",
    "scaled_dot_product_attention",
    "softmax_jacobian",
    "stable_softmax",
]
