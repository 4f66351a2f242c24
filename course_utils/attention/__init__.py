"""Reference implementations, one mechanism a file, in the order of teaching."""

from course_utils.attention.scaled_dot_product import (
    attention_backward,
    attention_weights,
    scaled_dot_product_attention,
)
from course_utils.attention.softmax import softmax_jacobian, stable_softmax

__all__ = [
    "attention_backward",
    "attention_weights",
    "scaled_dot_product_attention",
    "softmax_jacobian",
    "stable_softmax",
]
