"""Chapter 03: scaled dot-product attention, one exercise a file."""

from course_utils.exercises.ch03_scaled_dot_product import (
    attention_backward,
    attention_weights,
    dot_product_variance,
    scaled_dot_product_attention,
    softmax_jacobian,
    stable_softmax,
)

EXERCISES = (
    stable_softmax.EXERCISE,
    attention_weights.EXERCISE,
    scaled_dot_product_attention.EXERCISE,
    dot_product_variance.EXERCISE,
    softmax_jacobian.EXERCISE,
    attention_backward.EXERCISE,
)
