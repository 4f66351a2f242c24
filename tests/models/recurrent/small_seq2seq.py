"""Small sequence-to-sequence models and pairs to try them on."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import dot_score
from course_utils.data import FIRST_SYMBOL, PAD, Pairs, repeat_pairs
from course_utils.models import (
    AdditiveScore,
    AttentionContext,
    Context,
    FixedContext,
    LuongDecoder,
    Seq2Seq,
)

SYMBOLS = FIRST_SYMBOL + 5
WIDTH = 12


def model(context: Context | None = None, **options: object) -> Seq2Seq:
    torch.manual_seed(0)
    return Seq2Seq(
        num_source=SYMBOLS, num_target=SYMBOLS, width=WIDTH, embedding=8,
        context=AttentionContext(dot_score) if context is None else context, **options,  # type: ignore[arg-type]
    )  # fmt: skip


def some_pairs(lengths: tuple[int, ...] = (3, 6, 1), seed: int = 0, reverse: bool = False) -> Pairs:
    generator = torch.Generator().manual_seed(seed)
    return repeat_pairs(torch.tensor(lengths), generator, num_symbols=5, reverse=reverse)


def more_padding(tokens: Tensor) -> Tensor:
    return F.pad(tokens, (0, 4), value=PAD)


ALL = {
    "fixed": lambda: model(FixedContext()),
    "dot": lambda: model(),
    "one way": lambda: model(bidirectional=False),
    "additive": lambda: model(AttentionContext(AdditiveScore(WIDTH, WIDTH, 7))),
    "luong": lambda: model(decoder=LuongDecoder),
}
