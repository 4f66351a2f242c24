"""Calls of the models that read a source and write a target, and of the data of the course."""

import datetime

import torch
from call_table import Call, floats, generator, tokens
from model_calls import WIDTH, B, L, encoded, pairs, seq2seq
from torch import Tensor

from course_utils import data, models
from course_utils.attention import dot_score

SCORES = {"d_q": 3, "d_k": 4}
DAY = datetime.date(2021, 4, 3)


def score(kind: type) -> torch.nn.Module:
    return kind(**SCORES) if kind is models.GeneralScore else kind(**SCORES, d_a=5)


def _scored(kind: type, key: str = "key", width: int = 4) -> Call:
    return Call(
        kind.forward,
        lambda: {"self": score(kind), "query": floats(B, L, 3), key: floats(B, L, width)},
    )


def _contexts():
    """Yield the methods that each kind of context has of its own."""
    made = {
        models.FixedContext: models.FixedContext,
        models.AttentionContext: lambda: models.AttentionContext(dot_score),
        models.LocalMonotonicContext: lambda: models.LocalMonotonicContext(dot_score, 1),
        models.LocalPredictiveContext: lambda: models.LocalPredictiveContext(dot_score, WIDTH, 1),
    }
    inputs = {
        "remember": lambda self: {"encoded": encoded()},
        "forward": lambda self: {
            "state": floats(B, WIDTH),
            "memory": self.remember(encoded()),
            "step": 1,
        },
        "weigh": lambda self: {
            "scores": floats(B, 1, 3),
            "state": floats(B, WIDTH),
            "encoded": encoded(),
            "step": 1,
        },
    }
    for kind, make in made.items():
        for name in sorted(inputs.keys() & vars(kind).keys()):
            yield Call(
                vars(kind)[name],
                lambda make=make, name=name: {"self": (self := make())} | inputs[name](self),
            )


def _decoder(kind: type) -> models.Decoder:
    return kind(context=models.AttentionContext(dot_score), width=WIDTH, embedding=3)


def _decoders():
    for kind in (models.Decoder, models.LuongDecoder):
        yield Call(
            kind,
            lambda: {"context": models.FixedContext(), "width": WIDTH, "embedding": 3},
        )
        yield Call(kind.start, lambda kind=kind: {"self": _decoder(kind), "encoded": encoded()})
        made = lambda kind=kind: _stepped(_decoder(kind))  # noqa: E731
        yield Call(kind.step, made, opaque=("carried", "memory"))


def _stepped(decoder: models.Decoder) -> dict[str, object]:
    return {
        "self": decoder,
        "symbol": floats(B, 3),
        "carried": decoder.start(encoded()),
        "memory": decoder.context.remember(encoded()),
        "number": 0,
    }


def _alone() -> Tensor:
    return torch.tensor([[4, 5, 6], [4, 0, 0]])


SEQ2SEQ = (
    Call(models.GeneralScore, lambda: SCORES),
    Call(models.ConcatScore, lambda: SCORES | {"d_a": 5}),
    Call(models.AdditiveScore, lambda: SCORES | {"d_a": 5}),
    _scored(models.GeneralScore),
    _scored(models.ConcatScore),
    _scored(models.AdditiveScore, "projected", 5),
    Call(
        models.AdditiveScore.project,
        lambda: {"self": score(models.AdditiveScore), "key": floats(B, L, 4)},
    ),
    Call(models.AttentionContext, lambda: {"score": dot_score}),
    Call(models.LocalMonotonicContext, lambda: {"score": dot_score, "half_width": 1}),
    Call(models.LocalPredictiveContext, lambda: {"score": dot_score, "width": 3, "half_width": 1}),
    *_contexts(),
    Call(models.Encoder, lambda: {"num_symbols": 7, "width": WIDTH, "embedding": 3}),
    Call(models.Encoder.forward, lambda: {"self": seq2seq().encoder, "source": _alone()}),
    Call(
        models.Encoder.read,
        lambda: {"self": seq2seq().encoder, "embedded": floats(B, 3, 3), "mask": _alone() > 0},
    ),
    *_decoders(),
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
        models.Seq2Seq.teach,
        lambda: {"self": seq2seq(), "encoded": encoded(), "target": tokens(B, L, below=7)},
    ),
    Call(
        models.Seq2Seq.write,
        lambda: {"self": seq2seq(), "source": _alone(), "max_length": 3},
    ),
    Call(
        models.sequence_loss,
        lambda: {"logits": floats(B, L - 1, 5), "target": tokens(B, L)},
    ),
    Call(
        models.train_seq2seq,
        lambda: {"model": seq2seq(), "pairs": pairs(), "steps": 2, "seed": 1, "batch": 2},
    ),
    Call(models.write_all, lambda: {"model": seq2seq(), "pairs": pairs(), "batch": 2}),
    Call(models.source_gradients, lambda: {"model": seq2seq(), "pairs": pairs()}),
    Call(
        models.field_mass,
        lambda: {"weights": floats(B, L, 3).softmax(-1), "mask": floats(B, 2, 3) > 0},
    ),
)


def _dates() -> list[data.WrittenDate]:
    return [data.write_date(DAY, "en_GB", "long"), data.write_date(DAY, "fr_FR", "ordinal")]


def _learnt() -> data.BytePairs:
    return data.BytePairs([("a", "b")])


def _tokenizer() -> data.CharacterTokenizer:
    return data.CharacterTokenizer("ab")


DATA = (
    Call(data.BytePairs, lambda: {"merges": [("a", "b")]}),
    Call(data.BytePairs.learn, lambda: {"text": "ab abc", "num_tokens": len(data.ALPHABET) + 2}),
    Call(data.BytePairs.encode, lambda: {"self": _learnt(), "text": "ab ba"}),
    Call(data.BytePairs.decode, lambda: {"self": _learnt(), "tokens": [0, 95, 1]}),
    Call(data.CharacterTokenizer, lambda: {"alphabet": "ab"}),
    Call(data.CharacterTokenizer.of, lambda: {"texts": ["ab", "ba"]}),
    Call(data.CharacterTokenizer.encode, lambda: {"self": _tokenizer(), "text": "abc"}),
    Call(data.CharacterTokenizer.decode, lambda: {"self": _tokenizer(), "tokens": [1, 4, 5, 3]}),
    Call(data.DateTokens.of, lambda: {"written": _dates()}),
    Call(
        data.DateTokens.pairs,
        lambda: {"self": data.DateTokens.of(_dates()), "written": _dates()},
    ),
    Call(data.Pairs.__getitem__, lambda: {"self": pairs(), "index": slice(2)}),
    Call(data.character_text, dict),
    Call(data.date_styles, lambda: {"locale": "en_GB"}),
    Call(data.decode, lambda: {"tokens": [0, 1, 2]}),
    Call(data.encode, lambda: {"text": "abc"}),
    Call(data.field_mask, lambda: {"written": _dates(), "num_keys": 20}),
    Call(data.is_held_out, lambda: {"date": DAY}),
    Call(
        data.random_windows,
        lambda: {"tokens": tokens(30), "length": 4, "count": 2, "generator": generator()},
    ),
    Call(
        data.repeat_pairs,
        lambda: {"lengths": torch.tensor([2, 3]), "generator": generator(), "num_symbols": 3},
    ),
    Call(data.sample_dates, lambda: {"count": 2, "generator": generator(), "locales": ["en_GB"]}),
    Call(data.write_date, lambda: {"date": DAY, "locale": "en_GB", "style": "long"}),
)
CALLS = (*SEQ2SEQ, *DATA)
