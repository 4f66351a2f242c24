"""Small models built from the course's own parts."""

from course_utils.models.chat import chat_prompt, stream_text
from course_utils.models.decoding.beam import beam_search
from course_utils.models.decoding.beam_decode import beam_decode
from course_utils.models.decoding.generate import generate, left_pad, stream_tokens
from course_utils.models.decoding.greedy import greedy_decode
from course_utils.models.decoding.min_p import min_p_filter
from course_utils.models.decoding.prompt_lookup import prompt_lookup
from course_utils.models.decoding.repetition import penalise_repetition
from course_utils.models.decoding.sampling import draw_tokens, token_probabilities
from course_utils.models.decoding.speculation import speculative_accept
from course_utils.models.decoding.speculation_loop import Speculated, speculative_decode
from course_utils.models.decoding.top_p import top_p_filter
from course_utils.models.gpt.bigrams import bigram_scores
from course_utils.models.gpt.gpt import GPT
from course_utils.models.gpt.named_schemes import rescaled_rope
from course_utils.models.gpt.positioned_transformer import PositionedTransformer
from course_utils.models.gpt.small_transformer import Block, SmallTransformer
from course_utils.models.model_cache import ModelCache
from course_utils.models.recurrent.contexts import (
    AttentionContext,
    Context,
    Encoded,
    FixedContext,
    LocalMonotonicContext,
    LocalPredictiveContext,
)
from course_utils.models.recurrent.encoder import Encoder
from course_utils.models.recurrent.rnn import encode, rnn_step
from course_utils.models.recurrent.score_modules import AdditiveScore, ConcatScore, GeneralScore
from course_utils.models.recurrent.seq2seq import Decoder, LuongDecoder, Seq2Seq, Written
from course_utils.models.recurrent.seq2seq_training import (
    field_mass,
    sequence_loss,
    source_gradients,
    token_accuracy,
    train_seq2seq,
    write_all,
)
from course_utils.models.released.all_weights import all_weights
from course_utils.models.released.gguf.blocks import (
    dequantize_q4_1,
    dequantize_q8_0,
    quantize_blocks,
)
from course_utils.models.released.gpt2_weights import from_gpt2, to_gpt2
from course_utils.models.released.llama import Llama, from_llama, to_llama
from course_utils.models.released.local_weights import from_folder
from course_utils.models.replaceable import GivenAttention, GivenCache, GivenPositions
from course_utils.models.tasks.character_model import (
    CharacterModel,
    next_character_loss,
    train_character_model,
    weight_on_previous,
)
from course_utils.models.tasks.deep_stack import DeepStack, train_deep_stack
from course_utils.models.tasks.gpt_text import TokenText, next_token_loss, token_text, train_gpt
from course_utils.models.tasks.judged import Judged, judge_writing
from course_utils.models.tasks.length_task import (
    LengthTask,
    copy_task,
    judge_on_task,
    text_task,
    train_on_task,
)
from course_utils.models.tasks.recall import RecallModel, judge_recall, recall_batch, train_recall
from course_utils.models.tasks.width_sweep import SweepPoint, train_at_width
from course_utils.models.training.accumulation import accumulated_gradient
from course_utils.models.training.adamw import adamw_step
from course_utils.models.training.autocast import Autocast
from course_utils.models.training.objectives import causal_lm_loss, label_smoothed_loss, mask_tokens
from course_utils.models.training.schedules import warmup_cosine, warmup_inverse_sqrt
from course_utils.models.transformer.feed_forward import feed_forward, gated_feed_forward
from course_utils.models.transformer.layer_modules import DecoderLayer, EncoderLayer
from course_utils.models.transformer.layers import decoder_layer, encoder_layer
from course_utils.models.transformer.norms import layer_norm, rms_norm
from course_utils.models.transformer.single_stream import OneStream, stream_mask
from course_utils.models.transformer.transformer import Transformer, transformer_masks
from course_utils.models.vision.contrastive import contrastive_loss
from course_utils.models.vision.matching import match_queries
from course_utils.models.vision.siglip import siglip_loss
from course_utils.models.vision.vit import VisionTransformer, patchify, vit_tokens

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]
