"""BERT, GPT and the prefix model: source and target in one stream, distinguished by the mask alone.

Source: Devlin et al. 2019, BERT, section 3, https://arxiv.org/abs/1810.04805; Radford et al. 2018,
    Improving Language Understanding by Generative Pre-Training, section 3.1; Raffel et al. 2020,
    T5, section 3.2 and Figure 4 (the prefix mask), https://arxiv.org/abs/1910.10683
Ours / theirs: START in every slot = BERT's [MASK];  source = the prefix
Differs: two tables of embeddings, as in `Transformer`, so that the models can be compared
Same contract as: `Transformer`, without its cross-attention
"""

from typing import Any, Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_utils.data import END, PAD, START
from course_utils.models.recurrent.seq2seq import Written
from course_utils.models.tokens import read_by_decoder
from course_utils.models.transformer.layer_modules import EncoderLayer, Norm
from course_utils.models.transformer.two_tables import TwoTables
from course_utils.validation import check_at_least, check_instance, check_int, check_integers

Kind = Literal["bert", "gpt", "prefix"]


def stream_mask(
    source: Int[Tensor, "B S"], num_target: int, kind: Kind, pad_id: int
) -> Bool[Tensor, "B 1 L L"]:
    """Return which positions see which, where the target's follow the source's (L = S + T).

    Args:
        source: What is read; no position sees its padding.
        num_target: How many positions follow, T.
        kind: "bert" hides nothing else, "gpt" whatever comes later, "prefix" only what comes later
            in the target: the source is seen by all.
        pad_id: The number of padding.
    """
    check_integers("B S", source=source)
    check_at_least(0, num_target=num_target)
    check_int(pad_id=pad_id)
    _check_kind(kind)
    size, length = source.shape[1], source.shape[1] + num_target
    seen = torch.ones(length, length, dtype=torch.bool, device=source.device)
    if kind != "bert":
        seen = seen.tril()
    if kind == "prefix":
        seen[:, :size] = True
    real = torch.cat((source != pad_id, seen.new_ones(len(source), num_target)), dim=1)
    return real[:, None, None, :] & seen


class OneStream(TwoTables):
    """Encoder layers over a source and its target in one stream.

    Args:
        num_source: Size of the source's alphabet, marks included.
        num_target: Size of the target's.
        kind: As `stream_mask` takes it; "bert" writes all tokens at once.
        d_model: Width of the stream.
        num_heads: Heads of each attention.
        d_ff: Width of the feed-forward layers; None is 4·d_model.
        num_layers: Number of layers.
        max_length: The longest source and the longest target.
        pre_norm: Whether each part reads the normed stream; else each sum is normed.
        **options: As EncoderLayer takes them: activation, layer_norm, feed_forward, ...
    """

    def __init__(
        self,
        num_source: int,
        num_target: int,
        kind: Kind,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int | None = None,
        num_layers: int = 2,
        max_length: int = 64,
        pre_norm: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(num_source, num_target, d_model, max_length)
        check_at_least(1, num_layers=num_layers)
        _check_kind(kind)
        self.kind = kind
        sizes = d_model, num_heads, 4 * d_model if d_ff is None else d_ff
        options |= {"pre_norm": pre_norm}
        self.layers = nn.ModuleList(EncoderLayer(*sizes, **options) for _ in range(num_layers))
        self.norm = Norm(d_model, options.get("layer_norm")) if pre_norm else nn.Identity()
        self.out = nn.Linear(d_model, num_target)

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B L num_target"]:
        """Return the logits of target[:, 1:]; "bert" is given only their number."""
        read = read_by_decoder(source, target)
        if self.kind == "bert":
            self._target(read)  # nothing of it is used, but it must fit
            read = torch.full_like(read, START)
        return self._read(source, read)

    @torch.no_grad()
    def write(self, source: Int[Tensor, "B S"], max_length: int) -> Written:
        """Write greedily until END or max_length, "bert" in one call; there are no weights."""
        check_integers("B S", source=source)
        check_at_least(1, max_length=max_length)
        if self.kind == "bert":
            slots = torch.full((len(source), max_length), START, device=source.device)
            tokens = self._read(source, slots).argmax(dim=-1)
            after = (tokens == END).cumsum(dim=1) - (tokens == END).long() > 0
            return Written(tokens.masked_fill(after, PAD), None)
        tokens = torch.full((len(source), 1), START, device=source.device)
        ended = torch.zeros(len(source), dtype=torch.bool, device=source.device)
        while tokens.shape[1] <= max_length and not ended.all():
            new = self._read(source, tokens)[:, -1].argmax(dim=-1).masked_fill(ended, PAD)
            ended |= new == END
            tokens = torch.cat((tokens, new.unsqueeze(-1)), dim=1)
        return Written(tokens[:, 1:], None)

    def _read(self, source: Tensor, target: Tensor) -> Tensor:
        x = torch.cat((self._source(source), self._target(target)), dim=1)
        mask = stream_mask(source, target.shape[1], self.kind, PAD)
        for layer in self.layers:
            x = layer(x, mask)
        return self.out(self.norm(x[:, source.shape[1] :]))


def _check_kind(kind: object) -> None:
    check_instance(str, kind=kind)
    if kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {get_args(Kind)}, got {kind!r:.60}")
