"""Calls of the whole Transformer, of its layers, and of beam search."""

import torch
from call_table import Call, floats, tokens
from torch import Tensor

from course_utils import models

B, L, S, WIDTH = 2, 4, 3, 8
LAYER = {"d_model": WIDTH, "num_heads": 2, "d_ff": 5, "pre_norm": True, "activation": "relu"}
MODEL = {"num_source": 7, "num_target": 6, "d_model": WIDTH, "num_heads": 2, "max_length": 8}
STREAM = MODEL | {"kind": "prefix", "num_layers": 1}


def _same(x: Tensor) -> Tensor:
    return x


def _pair() -> dict[str, Tensor]:
    return {"source": tokens(B, S), "target": tokens(B, L)}


def _mask(length: int) -> Tensor:
    return torch.ones(L, length, dtype=torch.bool).tril()


def _step(prefixes: Tensor) -> Tensor:
    return floats(1, 5).log_softmax(dim=-1).expand(len(prefixes), -1)


def _model() -> models.Transformer:
    return models.Transformer(**MODEL)


def _stream() -> models.OneStream:
    return models.OneStream(**STREAM)


PARTS = {"attend": _same, "feed_forward": _same, "norm_1": _same, "norm_2": _same}
CALLS = (
    Call(models.encoder_layer, lambda: {"x": floats(B, L, WIDTH), "pre_norm": True} | PARTS),
    Call(
        models.decoder_layer,
        lambda: {
            "x": floats(B, L, WIDTH),
            "memory": floats(B, S, WIDTH),
            "self_attend": _same,
            "cross_attend": lambda x, memory: x,
            "feed_forward": _same,
            "norms": (_same, _same, _same),
            "pre_norm": True,
        },
    ),
    Call(
        models.beam_search,
        lambda: {"step": _step, "start": 1, "end": 2, "width": 2, "max_length": 3, "alpha": 1.0},
    ),
    Call(
        models.EncoderLayer.forward,
        lambda: {
            "self": models.EncoderLayer(**LAYER),
            "x": floats(B, L, WIDTH),
            "attn_mask": _mask(L),
        },
    ),
    Call(models.DecoderLayer, lambda: LAYER),
    Call(
        models.DecoderLayer.forward,
        lambda: {
            "self": models.DecoderLayer(**LAYER),
            "x": floats(B, L, WIDTH),
            "memory": floats(B, S, WIDTH),
            "self_mask": _mask(L),
            "cross_mask": _mask(S),
            "looks": [],
        },
    ),
    Call(models.Transformer, lambda: MODEL | {"num_layers": (1, 1)}),
    Call(models.Transformer.forward, lambda: {"self": _model()} | _pair()),
    Call(models.Transformer.weights, lambda: {"self": _model()} | _pair()),
    Call(models.Transformer.step, lambda: {"self": _model(), "source": tokens(1, S)}),
    Call(
        models.Transformer.write,
        lambda: {"self": _model(), "source": tokens(B, S), "max_length": 2},
    ),
    Call(models.OneStream, lambda: STREAM),
    Call(models.OneStream.forward, lambda: {"self": _stream()} | _pair()),
    Call(
        models.OneStream.write,
        lambda: {"self": _stream(), "source": tokens(B, S), "max_length": 2},
    ),
)
