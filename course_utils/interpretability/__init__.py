"""Interpreting attention: what its weights can be made to say, and what to compare that with."""

from course_utils.interpretability.ablation import mean_ablate
from course_utils.interpretability.attribution import direct_attribution
from course_utils.interpretability.circuits import composition_score, copying_score
from course_utils.interpretability.effective import effective_attention
from course_utils.interpretability.entropy import attention_entropy
from course_utils.interpretability.flow import attention_flow
from course_utils.interpretability.gradient_attention import gradient_attention
from course_utils.interpretability.head_scores import (
    attention_distance,
    induction_score,
    previous_token_score,
)
from course_utils.interpretability.hidden_key import without_key
from course_utils.interpretability.leave_one_out import leave_one_out
from course_utils.interpretability.lens import logit_lens
from course_utils.interpretability.patching import patch_grid
from course_utils.interpretability.ranks import rank_correlation
from course_utils.interpretability.roles import role_share
from course_utils.interpretability.rollout import attention_rollout

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]
