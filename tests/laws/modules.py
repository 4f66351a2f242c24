"""The table of modules: how each is made, and what it is fed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from course_utils import attention, models, positions
from course_utils.attention import dot_score, stable_softmax

SYMBOLS = 9
WIDTHS = {"d_model": 12, "num_heads": 2, "num_layers": 2}


@dataclass(frozen=True)
class Module:
    """A module, and what it is fed.

    Attributes:
        make: Makes it.
        width: Width of the streams that it reads; 0 for one that reads tokens.
        run: Feeds it one stream, or two where it has two.
        streams: How many sequences it reads.
    """

    name: str
    make: Callable[[], nn.Module]
    width: int = 0
    run: Callable[..., Any] = lambda module, *given: module(*given)
    streams: int = 1

    def build(self, dtype: torch.dtype = torch.float64, seed: int = 0) -> nn.Module:
        torch.manual_seed(seed)
        return self.make().to(dtype)

    def inputs(self, batch: int, *each: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        lengths = each[: self.streams]
        g = torch.Generator().manual_seed(sum(lengths))
        if self.width:
            wide = [(batch, length, self.width) for length in lengths]
            return [torch.randn(size, generator=g, dtype=torch.float64).to(dtype) for size in wide]
        return [torch.randint(4, SYMBOLS, (batch, length), generator=g) for length in lengths]


def _logits(model: models.GPT, tokens: Tensor) -> Tensor:
    return model.logits(tokens)


def _scored(scheme: positions.PositionScheme, x: Tensor) -> Tensor:
    """Attend under a scheme: every place where it can act is asked."""
    places = torch.arange(x.shape[1])
    query = scheme.embed(x, places).view(*x.shape[:2], 2, x.shape[-1] // 2).transpose(1, 2)
    turned, key = scheme.rotate(query, query, places, places)
    scores = turned @ key.mT
    bias = scheme.bias(turned, key, places, places)
    weights = stable_softmax(scores if bias is None else scores + bias)
    extra = scheme.value_term(weights, places, places)
    return weights @ query if extra is None else weights @ query + extra


def _seq2seq(context: Callable[[], models.Context], **options: Any) -> Callable[[], nn.Module]:
    sizes = {"num_source": SYMBOLS, "num_target": SYMBOLS, "width": 8, "embedding": 3}
    return lambda: models.Seq2Seq(context=context(), **sizes, **options)


def _small(**more: int) -> Callable[[], nn.Module]:
    return lambda: models.SmallTransformer(SYMBOLS, max_length=6, **WIDTHS, **more)


def _whole() -> models.Transformer:
    return models.Transformer(SYMBOLS, SYMBOLS, d_model=12, num_heads=2, max_length=6)


def _one(kind: Any) -> Callable[[], nn.Module]:
    return lambda: models.OneStream(SYMBOLS, SYMBOLS, kind, max_length=6, **WIDTHS)


SCHEMES = {
    "no positions": positions.PositionScheme,
    "ALiBi": lambda: positions.AlibiPositions(2),
    "DeBERTa": lambda: positions.DebertaPositions(2, 6, 3),
    "learned": lambda: positions.LearnedPositions(6, 12),
    "RoPE on a part": lambda: positions.PartialRotaryPositions(4),
    "RoPE": lambda: positions.RotaryPositions(6),
    "Shaw": lambda: positions.ShawPositions(6, 2),
    "sinusoidal": positions.SinusoidalPositions,
    "T5": lambda: positions.T5Positions(2, num_buckets=8, max_distance=16),
    "given": lambda: models.GivenPositions(rotate=positions.rope_split_halves),
}
MODULES = (
    Module("MultiHeadAttention", lambda: attention.MultiHeadAttention(12, 2), 12),
    Module("of two streams", lambda: attention.MultiHeadAttention(12, 2), 12, streams=2),
    Module("LatentAttention", lambda: attention.LatentAttention(12, 2, d_latent=5, d_rope=2), 12),
    Module(
        "CompressedLatentAttention",
        lambda: attention.CompressedLatentAttention(12, 2, d_latent=5, d_query=7, d_rope=2),
        12,
    ),
    Module("Block", lambda: models.Block(12, 2, 5), 12),
    Module("Block, split by", lambda: models.Block(12, 2, 5, split=attention.split_heads), 12),
    *(Module(name, make, 12, _scored) for name, make in SCHEMES.items()),
    Module("GeneralScore", lambda: models.GeneralScore(12, 12), 12, streams=2),
    Module("ConcatScore", lambda: models.ConcatScore(12, 12, 5), 12, streams=2),
    Module(
        "AdditiveScore",
        lambda: models.AdditiveScore(12, 12, 5),
        12,
        lambda score, query, key: score(query, score.project(key)),
        streams=2,
    ),
    Module("GPT", lambda: models.GPT(SYMBOLS, max_length=6, **WIDTHS), run=_logits),
    Module(
        "GPT, RoPE and a window",
        lambda: models.GPT(SYMBOLS, max_length=6, positions="rope", window=2, **WIDTHS),
        run=_logits,
    ),
    Module(
        "Llama",
        lambda: models.Llama(SYMBOLS, max_length=6, num_kv_heads=1, **WIDTHS),
        run=_logits,
    ),
    Module("SmallTransformer", _small()),
    Module("attention only", _small(d_ff=0)),
    Module("PositionedTransformer", lambda: models.PositionedTransformer(SYMBOLS, **WIDTHS)),
    Module(
        "CharacterModel",
        lambda: models.CharacterModel(num_characters=SYMBOLS, length=6, d_k=3, d_model=8),
    ),
    *(
        Module(f"RecallModel, {kind}", lambda kind=kind: models.RecallModel(kind, 2))
        for kind in ("full", "window", "linear")
    ),
    Module("RecallModel, latent", lambda: models.RecallModel("latent", 2, d_latent=4)),
    Module("EncoderLayer", lambda: models.EncoderLayer(12, 2, 5), 12),
    Module("EncoderLayer, post", lambda: models.EncoderLayer(12, 2, 5, pre_norm=False), 12),
    Module("DecoderLayer", lambda: models.DecoderLayer(12, 2, 5), 12, streams=2),
    Module(
        "DeepStack",
        lambda: models.DeepStack(SYMBOLS, pre_norm=True, length=6, **WIDTHS),
    ),
    Module("Transformer", _whole, streams=2),
    *(Module(f"OneStream, {kind}", _one(kind), streams=2) for kind in ("bert", "gpt", "prefix")),
    Module("Encoder", lambda: models.Encoder(num_symbols=SYMBOLS, width=8, embedding=3)),
    Module("Seq2Seq", _seq2seq(lambda: models.AttentionContext(dot_score)), streams=2),
    Module("Seq2Seq, fixed", _seq2seq(models.FixedContext), streams=2),
    Module(
        "Seq2Seq, local",
        _seq2seq(
            lambda: models.LocalPredictiveContext(dot_score, 8, 2), decoder=models.LuongDecoder
        ),
        streams=2,
    ),
    Module(
        "Seq2Seq, monotonic",
        _seq2seq(lambda: models.LocalMonotonicContext(dot_score, 9)),
        streams=2,
    ),
)
