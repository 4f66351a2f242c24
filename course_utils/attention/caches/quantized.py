"""A cache of one byte per number: keys and values rounded to 255 steps, each row on its own scale.

Source: Dettmers et al. 2022, LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale,
    section 2.1 (absmax quantisation), https://arxiv.org/abs/2208.07339
Ours / theirs: scale = max|x| / 127, their 1 / s;  q = their int8 matrix
Differs: it is keys and values that are rounded, not the operands of a product, and each token has
    a scale in each head, so that a token is rounded the same whatever comes after it.
Same contract as: KVCache over x̂ = q · scale instead of x, and |x̂ - x| <= scale / 2, to which in
    16 bits the rounding of x̂ itself is added: at most another half of a step in bfloat16
"""

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from course_utils.attention.caches.counted import Counted
from course_utils.attention.caches.last_queries import attend_last
from course_utils.validation import (
    check_at_least,
    check_float,
    check_new,
    check_query,
    check_room,
    check_storage,
)

STEPS = 127  # on each side of zero: -128 is left out, so that the range is symmetric


def quantize_kv(
    x: Float[Tensor, "B H S d"],
) -> tuple[Int8[Tensor, "B H S d"], Float[Tensor, "B H S 1"]]:
    """Return x in whole steps from -127 to 127, and the size of a step for each token and head.

    Args:
        x: Keys or values; none of them infinite.
    """
    check_float(x=x)
    scale = x.abs().amax(dim=-1, keepdim=True) / STEPS
    scale = torch.where(scale == 0, 1.0, scale)
    # In 16 bits, the quotient itself would be rounded: in one case of ten to another whole number.
    wide = torch.promote_types(x.dtype, torch.float32)
    q = (x.detach().to(wide) / scale.detach()).round().clamp(-STEPS, STEPS)
    return q.to(torch.int8), scale


class QuantizedCache(Counted):
    """Keys and values of one layer as int8, in memory that is allocated once.

    Attributes:
        key: The steps of the keys, int8 (B, H_kv, max_length, d_k).
        key_scale: The size of a step, (B, H_kv, max_length, 1).
        value: The steps of the values.
        value_scale: The size of a step of the values.
    """

    def __init__(
        self,
        batch: int,
        num_kv_heads: int,
        max_length: int,
        d_k: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        """Allocate memory for `max_length` tokens; `dtype` is that of the inputs and outputs.

        Errors are those of `KVCache`.
        """
        check_at_least(1, batch=batch, num_kv_heads=num_kv_heads, max_length=max_length, d_k=d_k)
        check_storage(dtype, device)
        shape = (batch, num_kv_heads, max_length)
        self.key = torch.zeros((*shape, d_k), dtype=torch.int8, device=device)
        self.value = torch.zeros_like(self.key)
        self.key_scale = torch.ones((*shape, 1), dtype=dtype, device=device)
        self.value_scale = torch.ones_like(self.key_scale)

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return len(self.key)

    @property
    def num_bytes(self) -> int:
        """The bytes that the slots take, filled or not, scales included."""
        parts = (self.key, self.value, self.key_scale, self.value_scale)
        return sum(part.nbytes for part in parts)

    def append(self, key: Float[Tensor, "B H_kv T d"], value: Float[Tensor, "B H_kv T d"]) -> None:
        """Keep the keys and values of T new tokens, rounded; errors as in `append_kv`."""
        check_new(self._like, key, value)
        check_room(self.length, key.shape[2], self.key.shape[2])
        new = slice(self.length, self.length + key.shape[2])
        self.key[:, :, new], self.key_scale[:, :, new] = quantize_kv(key.detach())
        self.value[:, :, new], self.value_scale[:, :, new] = quantize_kv(value.detach())
        self._length += key.shape[2]

    def attend(self, query: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T d"]:
        """Return causal attention of the queries of the last T tokens to the rounded tokens so far.

        The steps are dequantised for the call: memory is saved, not work.
        Arguments and errors are as in `KVCache.attend`.
        """
        check_query(query, self._like, self.length)
        return attend_last(query, *self._held())

    def _select(self, rows: Tensor) -> None:
        rows = rows.long()
        self.key, self.key_scale = self.key[rows], self.key_scale[rows]
        self.value, self.value_scale = self.value[rows], self.value_scale[rows]

    @property
    def _like(self) -> Tensor:
        """A tensor without memory of its own, with the shape and dtype of the inputs."""
        return self.key_scale.expand(self.key.shape)

    def read(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the keys and values held, as numbers again, and their positions."""
        return *self._held(), torch.arange(self.length, device=self.key.device)

    def _held(self) -> tuple[Tensor, Tensor]:
        filled = slice(0, self.length)
        key = self.key[:, :, filled] * self.key_scale[:, :, filled]
        return key, self.value[:, :, filled] * self.value_scale[:, :, filled]
