"""The whole Transformer: an encoder that reads, a decoder that writes, and their three masks.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3 and Figure 1,
    https://arxiv.org/abs/1706.03762
Ours / theirs: memory = z;  out = the linear transformation before the softmax
Differs: learned positions; the embeddings are neither scaled nor tied; no dropout; a last norm
    where the norms come first, as in Xiong et al. 2020, https://arxiv.org/abs/2002.04745
Same contract as: torch.nn.Transformer between tables of embeddings and `out`; `Seq2Seq` for
    training, writing and drawing
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_utils.attention import causal_mask
from course_utils.data import END, PAD, START
from course_utils.models.recurrent.seq2seq import Written
from course_utils.models.tokens import read_by_decoder
from course_utils.models.transformer.layer_modules import DecoderLayer, EncoderLayer, Norm
from course_utils.models.transformer.two_tables import TwoTables
from course_utils.validation import (
    check_at_least,
    check_callable,
    check_instance,
    check_int,
    check_integers,
    check_shape,
)

Masks = tuple[Tensor, Tensor, Tensor]


def transformer_masks(
    source: Int[Tensor, "B S"], target: Int[Tensor, "B T"], pad_id: int
) -> tuple[Bool[Tensor, "B 1 1 S"], Bool[Tensor, "B 1 T T"], Bool[Tensor, "B 1 1 S"]]:
    """Return the masks of the encoder, of the decoder, and from the decoder to the encoder.

    A key is seen where it is not padding, in the decoder also only up to the query.

    Args:
        source: What the encoder reads.
        target: What the decoder reads.
        pad_id: The id of padding, wherever it is.
    """
    check_integers("B S", source=source)
    check_integers("B T", target=target)
    check_shape((len(source), target.shape[1]), target=target)
    check_int(pad_id=pad_id)
    real = (source != pad_id)[:, None, None, :]
    past = causal_mask(target.shape[1], target.shape[1]).to(target.device)
    return real, (target != pad_id)[:, None, None, :] & past, real


class Transformer(TwoTables):
    """An encoder and a decoder.

    Args:
        num_source: Size of the source's alphabet, marks included.
        num_target: Size of the target's.
        d_model: Width of both streams.
        num_heads: Heads of each attention.
        d_ff: Width of the feed-forward layers; None is 4·d_model.
        num_layers: Layers of the encoder and of the decoder.
        max_length: The longest source and the longest target.
        pre_norm: Whether each part reads the normed stream; else each sum is normed.
        masks: Replaces `transformer_masks`.
        **options: As EncoderLayer takes them: activation, layer_norm, feed_forward, ...
    """

    def __init__(
        self,
        num_source: int,
        num_target: int,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int | None = None,
        num_layers: tuple[int, int] = (1, 1),
        max_length: int = 64,
        pre_norm: bool = True,
        masks: Callable[[Tensor, Tensor, int], Masks] = transformer_masks,
        **options: Any,
    ) -> None:
        super().__init__(num_source, num_target, d_model, max_length)
        check_instance(tuple, num_layers=num_layers)
        if len(num_layers) != 2:
            raise ValueError(f"num_layers must be two numbers, got {num_layers}")
        readers, writers = num_layers
        check_at_least(0, encoder_layers=readers, decoder_layers=writers)
        check_callable(masks=masks)
        check_instance(bool, pre_norm=pre_norm)
        self._masks = masks
        sizes = d_model, num_heads, 4 * d_model if d_ff is None else d_ff
        options |= {"pre_norm": pre_norm}

        def stack(layer: Callable[..., nn.Module], number: int) -> nn.ModuleDict:
            layers = nn.ModuleList(layer(*sizes, **options) for _ in range(number))
            norm = Norm(d_model, options.get("layer_norm")) if pre_norm else nn.Identity()
            return nn.ModuleDict({"layers": layers, "norm": norm})

        self.encoder, self.decoder = stack(EncoderLayer, readers), stack(DecoderLayer, writers)
        self.out = nn.Linear(d_model, num_target)

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B L num_target"]:
        """Return the logits of target[:, 1:], each position fed the right tokens before."""
        read = read_by_decoder(source, target)
        masks = self._masks(source, read, PAD)
        return self.out(self._decode(read, self._encode(source, masks), masks))

    @torch.no_grad()
    def weights(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> list[Float[Tensor, "B H L S"]]:
        """Return each decoder layer's cross-attention while target[:, 1:] is predicted."""
        read, looks = read_by_decoder(source, target), list[Tensor]()
        masks = self._masks(source, read, PAD)
        self._decode(read, self._encode(source, masks), masks, looks)
        return looks

    def step(self, source: Int[Tensor, "1 S"]) -> Callable[[Tensor], Tensor]:
        """Return the `step` that `beam_search` takes: log-probabilities of the next token.

        Args:
            source: One source, which is read once.
        """
        check_integers("1 S", source=source)
        check_shape((1, source.shape[1]), source=source)
        nothing = source.new_empty(1, 0)
        with torch.no_grad():
            memory = self._encode(source, self._masks(source, nothing, PAD))

        @torch.no_grad()
        def step(prefixes: Int[Tensor, "n t"]) -> Float[Tensor, "n num_target"]:
            check_integers("n t", prefixes=prefixes)
            count = len(prefixes)
            masks = self._masks(source.expand(count, -1), prefixes, PAD)
            x = self._decode(prefixes, memory.expand(count, -1, -1), masks)
            return self.out(x[:, -1]).log_softmax(dim=-1)

        return step

    @torch.no_grad()
    def write(self, source: Int[Tensor, "B S"], max_length: int) -> Written:
        """Write greedily until END or max_length; the weights are the last layer's, all heads."""
        check_integers("B S", source=source)
        check_at_least(1, max_length=max_length)
        tokens = torch.full((len(source), 1), START, device=source.device)
        ended = torch.zeros(len(source), dtype=torch.bool, device=source.device)
        memory, looks = None, list[Tensor]()
        while tokens.shape[1] <= max_length and not ended.all():
            masks = self._masks(source, tokens, PAD)
            memory = self._encode(source, masks) if memory is None else memory
            looks.clear()
            x = self._decode(tokens, memory, masks, looks)
            new = self.out(x[:, -1]).argmax(dim=-1).masked_fill(ended, PAD)
            ended |= new == END
            tokens = torch.cat((tokens, new.unsqueeze(-1)), dim=1)
        return Written(tokens[:, 1:], looks[-1].mean(dim=1) if looks else None)

    def _encode(self, source: Tensor, masks: Masks) -> Tensor:
        x = self._source(source)
        for layer in self.encoder["layers"]:  # type: ignore[attr-defined]
            x = layer(x, masks[0])
        return self.encoder["norm"](x)

    def _decode(
        self, target: Tensor, memory: Tensor, masks: Masks, looks: list[Tensor] | None = None
    ) -> Tensor:
        x = self._target(target)
        for layer in self.decoder["layers"]:  # type: ignore[attr-defined]
            x = layer(x, memory, masks[1], masks[2], looks)
        return self.decoder["norm"](x)
