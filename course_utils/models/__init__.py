"""Small models made of the course's own parts."""

from course_utils.models.character_model import (
    CharacterModel,
    next_character_loss,
    train_character_model,
    weight_on_previous,
)
from course_utils.models.contexts import (
    AttentionContext,
    Context,
    Encoded,
    FixedContext,
    LocalMonotonicContext,
    LocalPredictiveContext,
)
from course_utils.models.length_task import (
    LengthTask,
    copy_task,
    judge_on_task,
    text_task,
    train_on_task,
)
from course_utils.models.named_schemes import rescaled_rope
from course_utils.models.positioned_transformer import PositionedTransformer
from course_utils.models.recall import RecallModel, judge_recall, recall_batch, train_recall
from course_utils.models.recurrent import encode, rnn_step
from course_utils.models.scores import AdditiveScore, ConcatScore, GeneralScore
from course_utils.models.seq2seq import Decoder, Encoder, LuongDecoder, Seq2Seq, Written
from course_utils.models.seq2seq_training import (
    field_mass,
    sequence_loss,
    source_gradients,
    token_accuracy,
    train_seq2seq,
    write_all,
)
from course_utils.models.small_transformer import Block, SmallTransformer

__all__ = [
    "AdditiveScore",
    "AttentionContext",
    "Block",
    "CharacterModel",
    "ConcatScore",
    "Context",
    "Decoder",
    "Encoded",
    "Encoder",
    "FixedContext",
    "GeneralScore",
    "LengthTask",
    "LocalMonotonicContext",
    "LocalPredictiveContext",
    "LuongDecoder",
    "PositionedTransformer",
    "RecallModel",
    "Seq2Seq",
    "SmallTransformer",
    "Written",
    "copy_task",
    "encode",
    "field_mass",
    "judge_on_task",
    "judge_recall",
    "next_character_loss",
    "recall_batch",
    "rescaled_rope",
    "rnn_step",
    "sequence_loss",
    "source_gradients",
    "text_task",
    "token_accuracy",
    "train_character_model",
    "train_on_task",
    "train_recall",
    "train_seq2seq",
    "weight_on_previous",
    "write_all",
]
