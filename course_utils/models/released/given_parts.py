"""A Llama made of given functions: a learner's answers instead of the course's own.

Whatever keeps the contract of the function it replaces fits; each is named as in the course.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import causal_mask
from course_utils.attention.caches.plain import decode_step
from course_utils.models.released.families.llama_design import Design
from course_utils.models.released.layers.gated_layer import GatedLayer
from course_utils.models.released.layers.row_norm import RowNorm
from course_utils.models.replaceable import GivenCache, GivenPositions
from course_utils.positions import PositionScheme

Functions = Mapping[str, Callable[..., Any]]


class GivenGatedLayer(GatedLayer):
    """The gated layer, computed by a function.

    Args:
        function: As `gated_feed_forward`.
        d_model: Width of the stream.
        d_ff: Width of the gate.
    """

    def __init__(self, function: Callable[..., Tensor], d_model: int, d_ff: int) -> None:
        super().__init__(F.silu, d_model, d_ff)
        self._function = function

    def forward(self, x: Float[Tensor, "B T d_model"]) -> Float[Tensor, "B T d_model"]:
        """Return what is added to the stream."""
        return self._function(x, *(one.weight.T for one in (self.gate, self.up, self.down)))


def given_design(
    functions: Functions, positions: Callable[[int], PositionScheme], *, eps: float, base: float
) -> dict[str, Any]:
    """Return the arguments of `Llama` that put these functions into it; it does the rest itself.

    Args:
        functions: Any of rms_norm, gated_feed_forward, rope_split_halves, append_kv, decode_step,
            causal_mask, grouped_query_attention, scaled_dot_product_attention, by name.
        positions: Makes the scheme of positions where rope_split_halves is not given.
        eps: What every norm adds under its root.
        base: Of RoPE's frequencies.
    """
    parts: dict[str, Any] = {"positions": positions}
    if "rms_norm" in functions:
        parts["norm"] = partial(RowNorm, norm=functions["rms_norm"])
    if "gated_feed_forward" in functions:
        parts["feed_forward"] = partial(GivenGatedLayer, functions["gated_feed_forward"])
    if "rope_split_halves" in functions:
        rotate = partial(functions["rope_split_halves"], base=base)
        parts["positions"] = lambda d_k: GivenPositions(rotate=rotate)
    given: dict[str, Any] = {"design": Design(eps=eps, **parts)}
    reads = {"causal_mask", "grouped_query_attention", "scaled_dot_product_attention"}
    changes = {"append": functions["append_kv"]} if "append_kv" in functions else {}
    if (reads | {"decode_step"}) & functions.keys():
        changes["decode"] = _decode(functions)
    return given | ({"cache": partial(GivenCache, **changes)} if changes else {})


def _decode(functions: Functions) -> Callable[..., Tensor]:
    """Return what reads a cache: `decode_step` for a single token, attention for several."""
    mask_of = functions.get("causal_mask", causal_mask)
    attend = functions.get("grouped_query_attention")
    in_each_head = functions.get("scaled_dot_product_attention")
    if attend is None and in_each_head is not None:
        attend = partial(_repeated, in_each_head)
    one = functions.get("decode_step")

    def decode(query: Tensor, cache_key: Tensor, cache_value: Tensor, length: int) -> Tensor:
        new = query.shape[2]
        if new == 1 and (one is not None or attend is None):
            return (one or decode_step)(query, cache_key, cache_value, length)
        key, value = cache_key[:, :, :length], cache_value[:, :, :length]
        mask = None if new == 1 else mask_of(new, length, length - new)
        return (attend or _attention)(query, key, value, mask)

    return decode


def _repeated(
    attend: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> Tensor:
    """Return attention in which each query head is given its key and value head."""
    key, value = (one.repeat_interleave(query.shape[1] // one.shape[1], 1) for one in (key, value))
    return attend(query, key, value, mask)


def _attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
