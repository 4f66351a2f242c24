"""A GRU that reads, a GRU that writes, and between them whatever context is plugged in.

Source: Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and
    Translate, appendix A, https://arxiv.org/abs/1409.0473; Luong et al. 2015, section 3,
    https://arxiv.org/abs/1508.04025, for the other order of the decoder's step.
Ours / theirs: state = s_t (Bahdanau), h_t (Luong);  context = c_t;  attentional = h̃_t
Differs: the output reads [s_t; c_t] through one matrix, no maxout; the first state comes from the
    encoder's summary, of both directions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils.data import END, PAD, START
from course_utils.models.recurrent.contexts import Context, Encoded
from course_utils.models.recurrent.encoder import Encoder
from course_utils.models.tokens import embedded
from course_utils.validation import (
    check_at_least,
    check_callable,
    check_instance,
    check_integers,
    check_shape,
)


class Decoder(nn.Module):
    """Bahdanau's step: look with the previous state, then move on with what was seen.

    Args:
        context: What is seen of the source.
        width: Width of the state and of the context.
        embedding: Width of a symbol.
    """

    def __init__(self, *, context: Context, width: int, embedding: int = 32) -> None:
        super().__init__()
        self.context = context
        self.first = nn.Linear(width, width)
        self.cell = nn.GRUCell(embedding + width, width)
        self.num_features = 2 * width

    def start(self, encoded: Encoded) -> Any:
        """Return the state carried into the first step."""
        return torch.tanh(self.first(encoded.summary))

    def step(
        self, symbol: Float[Tensor, "B embedding"], carried: Any, memory: Any, number: int
    ) -> tuple[Float[Tensor, "B features"], Any, Tensor | None]:
        """Return the features to predict from, what to carry on, and the weights."""
        context, weights = self.context(carried, memory, number)
        state = self.cell(torch.cat([symbol, context], dim=-1), carried)
        return torch.cat([state, context], dim=-1), state, weights


class LuongDecoder(Decoder):
    """Luong's step: move on first, then look with the new state; with input feeding.

    The attentional vector tanh([c_t; h_t] W_c) is predicted from, and fed into the next step.
    """

    def __init__(self, *, context: Context, width: int, embedding: int = 32) -> None:
        super().__init__(context=context, width=width, embedding=embedding)
        self.attentional = nn.Linear(2 * width, width, bias=False)
        self.num_features = width

    def start(self, encoded: Encoded) -> Any:
        """Return the first state and an attentional vector of zeros."""
        state = torch.tanh(self.first(encoded.summary))
        return state, torch.zeros_like(state)

    def step(
        self, symbol: Float[Tensor, "B embedding"], carried: Any, memory: Any, number: int
    ) -> tuple[Float[Tensor, "B features"], Any, Tensor | None]:
        """Return the features to predict from, what to carry on, and the weights."""
        state, attentional = carried
        state = self.cell(torch.cat([symbol, attentional], dim=-1), state)
        context, weights = self.context(state, memory, number)
        attentional = torch.tanh(self.attentional(torch.cat([context, state], dim=-1)))
        return attentional, (state, attentional), weights


class Written(NamedTuple):
    """A text that a model wrote.

    Attributes:
        tokens: Each row ends with END, then PAD; without START.
        weights: Each token's attention to each source symbol; None for a fixed context.
    """

    tokens: Int[Tensor, "B L"]
    weights: Float[Tensor, "B L S"] | None


class Seq2Seq(nn.Module):
    """An encoder and a decoder.

    Args:
        num_source: Size of the source's alphabet, marks included.
        num_target: Size of the target's.
        context: What the decoder sees of the source at each step.
        width: Width of all states.
        embedding: Width of a symbol.
        bidirectional: Whether the encoder reads both ways.
        decoder: `Decoder` (Bahdanau's step) or `LuongDecoder`.
    """

    def __init__(
        self,
        *,
        num_source: int,
        num_target: int,
        context: Context,
        width: int = 64,
        embedding: int = 32,
        bidirectional: bool = True,
        decoder: Callable[..., Decoder] = Decoder,
    ) -> None:
        super().__init__()
        check_at_least(1, num_source=num_source, num_target=num_target, embedding=embedding)
        check_at_least(2, width=width)
        check_instance(Context, context=context)
        check_instance(bool, bidirectional=bidirectional)
        check_callable(decoder=decoder)
        self.encoder = Encoder(
            num_symbols=num_source, width=width, embedding=embedding, bidirectional=bidirectional
        )
        self.embed = nn.Embedding(num_target, embedding)
        self.decoder = decoder(context=context, width=width, embedding=embedding)
        self.predict = nn.Linear(self.decoder.num_features, num_target)

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B L num_target"]:
        """Return the logits of target[:, 1:], each step fed the right symbol before (L = T - 1)."""
        return self.teach(self.encoder(source), target)

    def teach(self, encoded: Encoded, target: Int[Tensor, "B T"]) -> Float[Tensor, "B L n"]:
        """Return the same for a source that has already been read."""
        check_integers("B T", target=target)
        check_shape((len(encoded.mask), target.shape[1]), target=target)
        if target.shape[1] < 2:
            raise ValueError(f"target must hold START and a symbol, got {tuple(target.shape)}")
        carried, memory = self.decoder.start(encoded), self.decoder.context.remember(encoded)
        symbols = embedded(self.embed, target[:, :-1], "target")
        features = []
        for number, symbol in enumerate(symbols.unbind(dim=1)):
            seen, carried, _ = self.decoder.step(symbol, carried, memory, number)
            features.append(seen)
        return self.predict(torch.stack(features, dim=1))

    @torch.no_grad()
    def write(self, source: Int[Tensor, "B S"], max_length: int) -> Written:
        """Write greedily, each step fed the model's own last symbol, until END or max_length."""
        check_at_least(1, max_length=max_length)
        encoded = self.encoder(source)
        carried, memory = self.decoder.start(encoded), self.decoder.context.remember(encoded)
        token = torch.full((len(source),), START, device=source.device)
        ended = torch.zeros_like(token, dtype=torch.bool)
        tokens, rows = [], []
        for number in range(max_length):
            seen, carried, weights = self.decoder.step(self.embed(token), carried, memory, number)
            token = self.predict(seen).argmax(dim=-1).masked_fill(ended, PAD)
            ended |= token == END
            tokens.append(token)
            rows.append(weights)
            if ended.all():
                break
        looked = (
            None if rows[0] is None else torch.stack([row for row in rows if row is not None], 1)
        )
        return Written(torch.stack(tokens, dim=1), looked)
