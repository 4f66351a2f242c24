"""A small GPT: it reads tokens, scores the next one, and keeps what it read in a cache.

Source: Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3;
    key/value heads and window as in chapter 08, positions as in chapter 07
Ours / theirs: num_tokens, d_model, num_heads, num_layers, max_length = n_vocab, n_embd, n_head,
    n_layer, n_ctx
Differs: the output layer has weights of its own, where GPT-2 uses those of the embedding; no
    dropout
Same contract as: Hugging Face's GPT2LMHeadModel, see gpt2_weights.py
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils.attention.caches.plain import KVCache
from course_utils.models.gpt.layer import (
    CausalAttention,
    GPTLayer,
    Positions,
    Sizes,
    linear,
    named_positions,
)
from course_utils.models.model_cache import KeptLayer, LayerCache, ModelCache
from course_utils.models.tokens import check_some, embedded
from course_utils.positions import LearnedPositions, PositionScheme
from course_utils.validation import (
    check_at_least,
    check_callable,
    check_instance,
    check_integers,
    check_shape,
)


class GPT(nn.Module):
    """Tokens in; scores for the token after each of them, and a cache, out.

    Args:
        num_tokens: Size of the vocabulary.
        d_model: Width of the stream.
        num_heads: Query heads of each layer.
        num_layers: Number of layers.
        max_length: How many learned positions there are, and how many tokens a cache has room for.
        num_kv_heads: Heads of keys and values; None is one for each query head.
        positions: "learned" adds a vector to each token, "rope" rotates queries and keys; or any
            position scheme.
        window: How many tokens a query sees, its own among them; None is all up to its own. The
            cache holds no more either.
        d_ff: Width of the feed-forward layers; None is 4·d_model.
        attend: `attend(query, key, value, mask)` for tokens that are read without a past, instead
            of torch's attention.
        mask: `mask(length)` for such tokens, instead of the causal or window mask.
        cache: Makes the cache of a layer, called as `KVCache` is; see `GivenCache`.
    """

    bias, layer = True, GPTLayer

    def __init__(
        self,
        num_tokens: int,
        *,
        d_model: int,
        num_heads: int,
        num_layers: int,
        max_length: int,
        num_kv_heads: int | None = None,
        positions: Positions | PositionScheme = "learned",
        window: int | None = None,
        d_ff: int | None = None,
        attend: Callable[..., Tensor] | None = None,
        mask: Callable[[int], Tensor] | None = None,
        cache: Callable[..., LayerCache] | None = None,
    ) -> None:
        super().__init__()
        check_at_least(1, num_tokens=num_tokens, num_layers=num_layers, max_length=max_length)
        check_at_least(1, d_model=d_model, d_ff=1 if d_ff is None else d_ff)
        check_callable(cache=KVCache if cache is None else cache)
        self.max_length, self.window, self._layer_cache = max_length, window, cache
        sizes = (d_model, num_heads, num_heads if num_kv_heads is None else num_kv_heads)
        d_ff = 4 * d_model if d_ff is None else d_ff

        def layer(number: int) -> GPTLayer:
            attention = self._attention(number, sizes, attend=attend, mask=mask)
            return self.layer(attention, self._feed_forward(number, d_model, d_ff), norm)

        norm = partial(self._norm, d_model)
        self.token = nn.Embedding(num_tokens, d_model)
        self.layers = nn.ModuleList(map(layer, range(num_layers)))
        self.last_norm = norm()
        self.out = linear(d_model, num_tokens, bias=False)
        self.positions = named_positions(positions, max_length, d_model, d_model // num_heads)

    @property
    def longest(self) -> int | None:
        """The longest sequence that the positions allow; None is no limit."""
        return self.max_length if isinstance(self.positions, LearnedPositions) else None

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        cache: ModelCache | None = None,
        *,
        only_last: bool = False,
    ) -> tuple[Float[Tensor, "B scored num_tokens"], ModelCache]:
        """Return the scores for the token after each of these, and the cache that now holds them.

        Args:
            tokens: The new tokens; with a cache they come after those that it holds.
            cache: Comes from an earlier call or from `new_cache`, and is extended in place; no
                gradient passes through it. None starts one.
            only_last: Whether only the token after the last of them is scored.

        Raises:
            ValueError: There are no tokens, or more than the cache or the learned positions have
                room for; the cache is as it was.
        """
        check_some(tokens)
        check_instance(bool, only_last=only_last)
        if cache is None:
            cache = self.new_cache(len(tokens))
            return self._read(tokens, None, cache, only_last=only_last), cache
        check_instance(ModelCache, cache=cache)
        with torch.no_grad():
            scores = self._read(tokens, cache.first, cache, fresh=False, only_last=only_last)
            return scores, cache

    def logits(
        self, tokens: Int[Tensor, "B T"], first: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B T num_tokens"]:
        """Return the scores alone and keep nothing: for training.

        Args:
            tokens: The sequences.
            first: How many tokens at the left of each are padding; None means none.

        Raises:
            ValueError: There are more tokens than learned positions.
        """
        check_some(tokens)
        if first is not None:
            check_integers("B", first=first)
            check_shape(tokens.shape[:1], first=first)
        return self._read(tokens, first)

    def new_cache(
        self, batch: int, max_length: int | None = None, first: Int[Tensor, " B"] | None = None
    ) -> ModelCache:
        """Return an empty cache: preallocated, or a rolling one where the model has a window.

        Args:
            batch: How many sequences there are.
            max_length: How many tokens there is room for; None is the model's own.
            first: How many tokens at the left of each sequence are padding; None means none.
        """
        room = self.max_length if max_length is None else max_length
        dtype, device = self.token.weight.dtype, self.token.weight.device

        def layer(part: CausalAttention) -> KeptLayer:
            return part.new_cache(batch, room, self._layer_cache, dtype=dtype, device=device)

        return ModelCache([layer(cast(GPTLayer, one).attention) for one in self.layers], first)

    def _read(
        self,
        tokens: Tensor,
        first: Tensor | None,
        cache: ModelCache | None = None,
        fresh: bool = True,
        only_last: bool = False,
    ) -> Tensor:
        if cache is not None and len(cache.layers) != len(self.layers):
            raise ValueError(f"cache must hold {len(self.layers)} layers, got {len(cache.layers)}")
        start = 0 if cache is None else cache.length
        positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        if first is not None:
            positions = (positions - first.unsqueeze(-1)).clamp_min(0)
        x = self.positions.embed(embedded(self.token, tokens), positions)
        for number, layer in enumerate(self.layers):
            own = None if cache is None else cache.layers[number]
            x = layer(x, self.positions, positions, first, own, fresh)
        return self.out(self.last_norm(x[:, -1:] if only_last else x))

    def _attention(self, number: int, sizes: Sizes, **given: Any) -> CausalAttention:
        return CausalAttention(*sizes, self.window, bias=self.bias, **given)

    def _norm(self, d_model: int) -> nn.Module:
        return nn.LayerNorm(d_model)

    def _feed_forward(self, number: int, d_model: int, d_ff: int) -> nn.Module:
        # GPT-2's GELU is the tanh approximation.
        return nn.Sequential(
            linear(d_model, d_ff), nn.GELU(approximate="tanh"), linear(d_ff, d_model)
        )
