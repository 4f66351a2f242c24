"""Hugging Face's layers and models, written again with the course's functions and their weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import masked_softmax, merge_heads, split_heads
from course_utils.models import (
    decoder_layer,
    encoder_layer,
    feed_forward,
    gated_feed_forward,
    layer_norm,
    rms_norm,
    transformer_masks,
)
from course_utils.positions import relative_positions, t5_bucket

Call = Callable[..., Tensor]


@dataclass(frozen=True)
class Weights:
    """A model's weights, looked at from one of its parts.

    Attributes:
        named: All of them, by their names.
        prefix: Names that part.
    """

    named: Mapping[str, Tensor]
    prefix: str = ""

    def at(self, name: str) -> "Weights":
        return Weights(self.named, f"{self.prefix}{name}.")

    def __getitem__(self, name: str) -> Tensor:
        return self.named[self.prefix + name]

    def linear(self, name: str) -> Call:
        bias = self.named.get(f"{self.prefix}{name}.bias")
        return lambda x: F.linear(x, self[f"{name}.weight"], bias)

    def norm(self, name: str, eps: float) -> Call:
        return lambda x: layer_norm(x, self[f"{name}.weight"], self[f"{name}.bias"], eps)

    def rms(self, name: str, eps: float) -> Call:
        return lambda x: rms_norm(x, self[f"{name}.weight"], eps)


@dataclass(frozen=True)
class Attention:
    """Multi-head attention of four linear maps.

    Attributes:
        maps: Those of query, key, value and output.
        heads: How many heads there are.
        mask: True = may attend.
        scale: A factor of the scores; None is 1/√d_k.
        bias: Is added to them.
    """

    maps: tuple[Call, ...]
    heads: int
    mask: Tensor
    scale: float | None = None
    bias: Tensor | float = 0.0
    turn: Callable[[Tensor], Tensor] = field(default=lambda x: x)

    def __call__(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        asked = x if memory is None else memory
        streams = zip(self.maps, (x, asked, asked), strict=False)
        query, key, value = (split_heads(project(one), self.heads) for project, one in streams)
        scale = query.shape[-1] ** -0.5 if self.scale is None else self.scale
        scores = self.turn(query) @ self.turn(key).mT * scale + self.bias
        return self.maps[3](merge_heads(masked_softmax(scores, self.mask) @ value))


def bert_layer(x: Tensor, mask: Tensor, weights: Weights, heads: int, eps: float) -> Tensor:
    """Return what a BertLayer gives: post-norm, exact GELU."""
    roles = [weights.at("attention.self").linear(role) for role in ("query", "key", "value")]
    attend = Attention((*roles, weights.linear("attention.output.dense")), heads, mask)
    one, two = (f"{part}.dense" for part in ("intermediate", "output"))

    def hidden(y: Tensor) -> Tensor:
        parts = [weights[f"{part}.{kind}"] for part in (one, two) for kind in ("weight", "bias")]
        return feed_forward(y, parts[0].mT, parts[1], parts[2].mT, parts[3], "gelu")

    norms = (weights.norm(f"{at}.LayerNorm", eps) for at in ("attention.output", "output"))
    return encoder_layer(x, attend, hidden, *norms, False)


def bert(tokens: Tensor, mask: Tensor, weights: Weights, layers: int, **how) -> Tensor:
    """Return what a BertModel gives: the last hidden states."""
    words = weights.at("embeddings")
    x = words["word_embeddings.weight"][tokens]
    x = (
        x
        + words["position_embeddings.weight"][: x.shape[1]]
        + words["token_type_embeddings.weight"][0]
    )
    x = words.norm("LayerNorm", how["eps"])(x)
    for number in range(layers):
        x = bert_layer(x, mask, weights.at(f"encoder.layer.{number}"), **how)
    return x


def gpt2_block(x: Tensor, mask: Tensor, weights: Weights, heads: int, eps: float) -> Tensor:
    """Return what a GPT2Block gives: pre-norm, GELU by tanh; its matrices are transposed."""
    W, b = weights["attn.c_attn.weight"].chunk(3, 1), weights["attn.c_attn.bias"].chunk(3)
    out = weights["attn.c_proj.weight"], weights["attn.c_proj.bias"]
    maps = [lambda y, W=W, b=b: y @ W + b for W, b in (*zip(W, b, strict=True), out)]
    hidden = [
        weights[f"mlp.{part}.{kind}"] for part in ("c_fc", "c_proj") for kind in ("weight", "bias")
    ]
    norms = (weights.norm(name, eps) for name in ("ln_1", "ln_2"))
    attend = Attention(tuple(maps), heads, mask)
    return encoder_layer(x, attend, lambda y: feed_forward(y, *hidden, "gelu_tanh"), *norms, True)


def llama_layer(x: Tensor, mask: Tensor, weights: Weights, heads: int, eps: float, turn) -> Tensor:
    """Return what a LlamaDecoderLayer gives: pre-norm, RMSNorm, SwiGLU, RoPE, no biases."""
    maps = tuple(weights.linear(f"self_attn.{role}_proj") for role in "qkvo")
    matrices = [weights[f"mlp.{part}_proj.weight"].mT for part in ("gate", "up", "down")]
    norms = (weights.rms(f"{at}_layernorm", eps) for at in ("input", "post_attention"))
    attend = Attention(maps, heads, mask, turn=turn)
    return encoder_layer(x, attend, lambda y: gated_feed_forward(y, *matrices), *norms, True)


@dataclass(frozen=True)
class T5:
    """T5 with the gates of its version 1.1 or without: scale 1, relative bias, RMSNorm, no biases.

    Attributes:
        weights: Those of a T5ForConditionalGeneration.
        config: Its configuration.
    """

    weights: Weights
    config: object

    def logits(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the scores after each token of the target, which begins with padding."""
        # T5 starts with the number of padding, so nothing of the target is hidden as padding.
        encoder, _, cross = transformer_masks(source, target, self.config.pad_token_id)
        _, past, _ = transformer_masks(source, target, -1)
        memory = self._stack("encoder", source, encoder)
        x = self._stack("decoder", target, past, memory, cross)
        return self.weights.linear("lm_head")(x * self._out())

    def _out(self) -> float:
        return self.config.d_model**-0.5 if self.config.scale_decoder_outputs else 1.0

    def _stack(self, name: str, tokens: Tensor, mask: Tensor, *memory: Tensor) -> Tensor:
        own, eps = self.weights.at(name), self.config.layer_norm_epsilon
        x, bias = (
            self.weights["shared.weight"][tokens],
            self._bias(own, tokens.shape[1], not memory),
        )
        for number in range(self.config.num_layers):
            layer = own.at(f"block.{number}")
            x = self._layer(x, layer, mask, bias, eps, *memory)
        return own.rms("final_layer_norm", eps)(x)

    def _layer(self, x, layer: Weights, mask, bias, eps: float, *memory: Tensor) -> Tensor:
        parts = [layer.at(f"layer.{number}") for number in range(3 if memory else 2)]
        norms = [part.rms("layer_norm", eps) for part in parts]
        attend = Attention(
            _maps(parts[0].at("SelfAttention")), self.config.num_heads, mask, 1.0, bias
        )

        def hidden(y: Tensor) -> Tensor:
            return self._hidden(y, parts[-1].at("DenseReluDense"))

        if not memory:
            return encoder_layer(x, attend, hidden, *norms, True)
        maps = _maps(parts[1].at("EncDecAttention"))
        cross = Attention(maps, self.config.num_heads, memory[1], 1.0)
        return decoder_layer(x, memory[0], attend, cross, hidden, norms, True)

    def _hidden(self, y: Tensor, part: Weights) -> Tensor:
        into, back = part["wi.weight"].mT, part["wo.weight"].mT
        return feed_forward(y, into, y.new_zeros(into.shape[1]), back, y.new_zeros(back.shape[1]))

    def _bias(self, own: Weights, length: int, both_ways: bool) -> Tensor:
        places = torch.arange(length)
        buckets = t5_bucket(
            relative_positions(places, places), self.config.relative_attention_num_buckets,
            self.config.relative_attention_max_distance, both_ways,
        )  # fmt: skip
        table = own["block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        return table[buckets].permute(2, 0, 1)


def _maps(part: Weights) -> tuple[Call, ...]:
    return tuple(part.linear(role) for role in "qkvo")
