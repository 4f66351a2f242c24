"""Interpreting attention: what its weights can be made to say, and what to compare that with."""

from course_utils.reading.effective import effective_attention
from course_utils.reading.entropy import attention_entropy
from course_utils.reading.flow import attention_flow
from course_utils.reading.gradient import gradient_attention
from course_utils.reading.heads import attention_distance, induction_score, previous_token_score
from course_utils.reading.leave_one_out import leave_one_out
from course_utils.reading.ranks import rank_correlation
from course_utils.reading.rollout import attention_rollout

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]
