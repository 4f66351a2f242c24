"""Calls of the models, of what trains and judges them, and of the data they learn from."""

import torch
from call_table import Call, floats, generator, tokens
from torch import Tensor

from course_utils import data, models
from course_utils.attention import dot_score
from course_utils.data import FIRST_SYMBOL
from course_utils.data.text import CharacterText

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


def pairs() -> data.Pairs:
    return data.repeat_pairs(torch.tensor([2, 3, 1]), generator(), num_symbols=3)


def text() -> CharacterText:
    return CharacterText(tokens(40, below=4), tokens(40, below=4))


def encoded() -> models.Encoded:
    mask = torch.tensor([[True, True, True], [True, False, False]])
    return models.Encoded(floats(B, 3, WIDTH) * mask[..., None], floats(B, WIDTH), mask)


def task() -> models.LengthTask:
    return models.copy_task(trained=L, longest=8, offset=1, symbols=5, sequences=2, batch=2)


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
STEPS = {"steps": 2, "seed": 1, "learning_rate": 1e-3}
RECALL = {"pairs": (1, 2), "batch": 2}
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
    Call(models.token_text, lambda: {"text": text(), "num_tokens": len(data.ALPHABET) + 1}),
    Call(models.train_gpt, lambda: {"model": gpt(), "tokens": tokens(30), "length": 4} | STEPS),
    Call(models.next_token_loss, lambda: {"model": gpt(), "tokens": tokens(30), "length": 4}),
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
    Call(models.rescaled_rope, lambda: {"name": "RoPE + PI", "trained": 4, "target": 8}),
    Call(models.text_task, lambda: {"text": text(), "trained": 4, "longest": 8, "windows": 2}),
    Call(models.copy_task, lambda: {"trained": 4, "longest": 8, "sequences": 2}),
    Call(models.train_on_task, lambda: {"model": read_by(), "task": task(), "window": 2} | STEPS),
    Call(models.judge_on_task, lambda: {"model": read_by(), "task": task(), "length": 8}),
    Call(
        models.CharacterModel,
        lambda: {"num_characters": 5, "length": 4, "d_k": 3, "d_model": 8, "scale": 0.5},
    ),
    Call(models.CharacterModel.forward, lambda: {"self": character(), "tokens": tokens(B, L)}),
    Call(models.CharacterModel.weights, lambda: {"self": character(), "tokens": tokens(B, L)}),
    Call(
        models.train_character_model,
        lambda: {"model": character(), "text": text(), "batch": 2} | STEPS,
    ),
    *(
        Call(run, lambda: {"model": character(), "tokens": tokens(30), "windows": 2})
        for run in (models.next_character_loss, models.weight_on_previous)
    ),
    Call(models.recall_batch, lambda: {"num_pairs": 2, "sequences": 3, "generator": generator()}),
    Call(models.RecallModel, lambda: {"kind": "full", "num_heads": 2, "num_kv_heads": 1}),
    Call(
        models.RecallModel.forward,
        lambda: {"self": models.RecallModel("full", 2), "tokens": tokens(B, L)},
    ),
    Call(models.train_recall, lambda: {"model": models.RecallModel("full", 2)} | RECALL | STEPS),
    Call(
        models.judge_recall,
        lambda: {"model": models.RecallModel("full", 2), "num_pairs": [1, 2], "sequences": 2},
    ),
)
CALLS = (*GPTS, *TRANSFORMERS)
