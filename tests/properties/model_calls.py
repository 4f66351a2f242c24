"""Calls of the models, and of what writes with them."""

import torch
from call_table import Call, floats, generator, tokens
from torch import Tensor

from course_utils import models
from course_utils.attention import dot_score
from course_utils.data import FIRST_SYMBOL

B, L, WIDTH, SYMBOLS = 2, 4, 8, FIRST_SYMBOL + 3
SMALL = {"d_model": WIDTH, "num_heads": 2, "num_layers": 1, "max_length": 8}


def gpt(kind: type = models.GPT) -> models.GPT:
    return kind(5, **SMALL)


def character() -> models.CharacterModel:
    return models.CharacterModel(num_characters=5, length=L, d_k=4, d_model=WIDTH)


def seq2seq(context: models.Context | None = None) -> models.Seq2Seq:
    return models.Seq2Seq(
        num_source=SYMBOLS,
        num_target=SYMBOLS,
        context=context or models.AttentionContext(dot_score),
        width=WIDTH,
        embedding=3,
    )


def read_by() -> models.PositionedTransformer:
    return models.PositionedTransformer(5, d_model=WIDTH, num_heads=2, num_layers=1)


def small() -> models.SmallTransformer:
    return models.SmallTransformer(5, **SMALL)


def block() -> models.Block:
    return models.Block(WIDTH, 2, 4)


def cache() -> models.ModelCache:
    return gpt().new_cache(B)


def mask() -> Tensor:
    return torch.ones(L, L, dtype=torch.bool).tril()


def _read(fed: Tensor, past: object) -> tuple[Tensor, object]:
    return torch.nn.functional.one_hot(fed, 9).float(), past


def _written() -> dict[str, object]:
    return {
        "model": gpt(), "prompt": tokens(B, 2), "num_tokens": 2, "stop": 1, "cache": None,
        "first": torch.tensor([0, 1]), "generator": generator(), "progress": iter,
    }  # fmt: skip


CHOICE, STREAM = {"temperature": 1.0, "top_k": 2, "top_p": 0.9}, "stream_tokens"
KEEP = torch.tensor([True, False])
GPTS = (
    Call(models.GPT, lambda: {"num_tokens": 5} | SMALL),
    Call(
        models.GPT.forward,
        lambda: {"self": gpt(), "tokens": tokens(B, L), "cache": cache()},
    ),
    Call(
        models.GPT.logits,
        lambda: {"self": gpt(), "tokens": tokens(B, L), "first": torch.tensor([0, 1])},
    ),
    Call(models.GPT.new_cache, lambda: {"self": gpt(), "batch": B}),
    Call(models.Llama, lambda: {"num_tokens": 5} | SMALL),
    Call(models.ModelCache, lambda: {"layers": cache().layers, "first": torch.tensor([0, 1])}),
    Call(models.from_gpt2, lambda: {"theirs": models.to_gpt2(gpt().state_dict())}),
    Call(models.to_gpt2, lambda: {"ours": gpt().state_dict()}),
    Call(
        models.from_llama,
        lambda: {"theirs": models.to_llama(gpt(models.Llama).state_dict())},
    ),
    Call(models.to_llama, lambda: {"ours": gpt(models.Llama).state_dict()}),
    Call(models.generate, lambda: _written() | CHOICE),
    Call(lambda **given: list(models.stream_tokens(**given)), lambda: _written() | CHOICE, STREAM),
    Call(models.greedy_decode, lambda: {"model": _read, "prompt": tokens(B, 2), "num_tokens": 2}),
    Call(
        models.speculative_decode,
        lambda: {
            "target": gpt(),
            "draft": gpt(),
            "prompt": tokens(1, 2),
            "num_tokens": 3,
            "gamma": 2,
            "generator": generator(),
        },
    ),
    Call(
        models.beam_decode,
        lambda: {
            "model": gpt(),
            "prompt": tokens(1, 2),
            "num_tokens": 2,
            "width": 2,
            "end": 1,
            "alpha": 0.5,
        },
    ),
    Call(models.ModelCache.crop, lambda: {"self": cache(), "length": 0}),
    Call(models.ModelCache.reorder, lambda: {"self": cache(), "beams": torch.tensor([1, 0])}),
    Call(models.ModelCache.select, lambda: {"self": cache(), "rows": torch.tensor([1])}),
    Call(models.ModelCache.repeat, lambda: {"self": cache(), "times": 2}),
)
TRANSFORMERS = (
    Call(models.Block, lambda: {"d_model": WIDTH, "num_heads": 2, "d_ff": 3}),
    Call(
        models.Block.forward,
        lambda: {"self": block(), "x": floats(B, L, WIDTH), "attn_mask": mask(), "keep": KEEP},
    ),
    Call(
        models.Block.weights,
        lambda: {"self": block(), "x": floats(B, L, WIDTH), "attn_mask": mask()},
    ),
    Call(models.SmallTransformer, lambda: {"num_tokens": 5} | SMALL),
    Call(
        models.SmallTransformer.forward,
        lambda: {"self": small(), "tokens": tokens(B, L), "attn_mask": mask(), "keep": KEEP[None]},
    ),
    Call(
        models.SmallTransformer.weights,
        lambda: {"self": small(), "tokens": tokens(B, L), "attn_mask": mask()},
    ),
    Call(
        models.PositionedTransformer,
        lambda: {"num_tokens": 5, "d_model": WIDTH, "num_heads": 2, "num_layers": 1},
    ),
    *(
        Call(
            run,
            lambda: (
                {"self": read_by(), "tokens": tokens(B, L), "attn_mask": mask()}
                | {"positions": torch.arange(L)}
            ),
        )
        for run in (models.PositionedTransformer.forward, models.PositionedTransformer.weights)
    ),
    Call(
        models.CharacterModel,
        lambda: {"num_characters": 5, "length": 4, "d_k": 3, "d_model": 8, "scale": 0.5},
    ),
    Call(models.CharacterModel.forward, lambda: {"self": character(), "tokens": tokens(B, L)}),
    Call(models.CharacterModel.weights, lambda: {"self": character(), "tokens": tokens(B, L)}),
    Call(models.RecallModel, lambda: {"kind": "full", "num_heads": 2, "num_kv_heads": 1}),
    Call(
        models.RecallModel.forward,
        lambda: {"self": models.RecallModel("full", 2), "tokens": tokens(B, L)},
    ),
)
CALLS = (*GPTS, *TRANSFORMERS)
