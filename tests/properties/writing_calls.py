"""Calls of the models that read a source and write a target."""

import torch
from call_table import Call, tokens
from model_calls import WIDTH, B, L, seq2seq
from torch import Tensor

from course_utils import models
from course_utils.attention import dot_score

SCORES = {"d_q": 3, "d_k": 4}


def _alone() -> Tensor:
    return torch.tensor([[4, 5, 6], [4, 0, 0]])


CALLS = (
    Call(models.GeneralScore, lambda: SCORES),
    Call(models.ConcatScore, lambda: SCORES | {"d_a": 5}),
    Call(models.AdditiveScore, lambda: SCORES | {"d_a": 5}),
    Call(models.AttentionContext, lambda: {"score": dot_score}),
    Call(models.LocalMonotonicContext, lambda: {"score": dot_score, "half_width": 1}),
    Call(models.LocalPredictiveContext, lambda: {"score": dot_score, "width": 3, "half_width": 1}),
    Call(
        models.Seq2Seq,
        lambda: {
            "num_source": 7,
            "num_target": 7,
            "context": models.FixedContext(),
            "width": WIDTH,
            "embedding": 3,
        },
    ),
    Call(
        models.Seq2Seq.forward,
        lambda: {"self": seq2seq(), "source": _alone(), "target": tokens(B, L, below=7)},
    ),
    Call(
        models.Seq2Seq.write,
        lambda: {"self": seq2seq(), "source": _alone(), "max_length": 3},
    ),
)
