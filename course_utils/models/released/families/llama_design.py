"""Differences between families of Llamas, as parts that the model is made of.

Source: config.json of each family at Hugging Face, see llama_families.py
Ours / theirs: eps = rms_norm_eps;  d_k = head_dim;  kinds = layer_types
Differs: theirs is one source file per family; here a family is a choice of parts
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.models.gpt.layer import GPTLayer
from course_utils.models.released.layers.gated_layer import GatedLayer
from course_utils.models.released.layers.row_norm import RowNorm
from course_utils.positions import PositionScheme, RotaryPositions

SILU_GATED = partial(GatedLayer, F.silu)
Attend = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class LayerKind:
    """Settings that differ from layer to layer.

    Attributes:
        window: How many tokens a query sees, its own among them; None is all up to its own.
        positions: Makes the layer's own scheme from d_k; None is the model's.
        attention: Makes what reads other tokens, called as `LlamaAttention`; None is that.
        feed_forward: Makes the feed-forward layer from d_model and d_ff; None is the model's.
    """

    window: int | None = None
    positions: Callable[[int], PositionScheme] | None = None
    attention: Callable[..., Any] | None = None
    feed_forward: Callable[[int, int], nn.Module] | None = None


def no_positions(d_k: int) -> PositionScheme:
    """Return the scheme that does nothing: a layer with it sees no positions, only the mask.

    Args:
        d_k: Unused; every maker of positions takes it.
    """
    return PositionScheme()


@dataclass(frozen=True)
class Design:
    """The parts of a family; by default, those of the first Llama.

    Attributes:
        d_k: Width of a head; None is d_model / num_heads.
        positions: Makes the scheme of positions from d_k.
        kinds: What each layer is; they are repeated where there are more layers.
        norm: Makes a norm from a width and eps.
        eps: What every norm adds under its root.
        head_norm: Makes the norms of queries and of keys from d_k and eps; None for no norm.
        joint_norm: Whether those norms are over all heads' features at once.
        bias: Whether the projection to queries, keys and values adds a bias.
        out_bias: Whether the attention's output projection does.
        scale: Factor on the scores; None is 1/√d_k.
        attend: Makes, from the number of heads, the attention `attend(query, key, value, mask)`;
            None is torch's.
        layer: How norms are placed around the two parts of a layer.
        feed_forward: Makes the feed-forward layer from d_model and d_ff.
        embedding: Makes the embedding from the number of tokens and d_model.
        tied: Whether the output layer uses the weights of the embedding.
        last_scores: A function applied to the tokens' scores at the end, or None.
    """

    d_k: int | None = None
    positions: Callable[[int], PositionScheme] = RotaryPositions
    kinds: tuple[LayerKind, ...] = (LayerKind(),)
    norm: Callable[[int, float], nn.Module] = RowNorm
    eps: float = 1e-6
    head_norm: Callable[[int, float], nn.Module] | None = None
    joint_norm: bool = False
    bias: bool = False
    out_bias: bool = False
    scale: float | None = None
    attend: Callable[[int], Attend] | None = None
    layer: type[GPTLayer] = GPTLayer
    feed_forward: Callable[[int, int], nn.Module] = SILU_GATED
    embedding: Callable[[int, int], nn.Embedding] = nn.Embedding
    tied: bool = False
    last_scores: Callable[[Tensor], Tensor] | None = None
