"""Wiring of the parts of a Transformer's layer, with the norm after or before each of them.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.1 (after),
    https://arxiv.org/abs/1706.03762; Xiong et al. 2020, On Layer Normalization in the Transformer
    Architecture, Table 1 (both), https://arxiv.org/abs/2002.04745
Ours / theirs: x, memory = decoder's input, encoder's output;  pre_norm = Pre-LN, else Post-LN
Differs: the parts are passed in, so that one wiring serves every attention, norm and feed-forward
Same contract as: torch.nn.TransformerEncoderLayer and TransformerDecoderLayer, whose norm_first is
    pre_norm, without dropout
"""

from collections.abc import Callable, Sequence

from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_callable, check_float, check_instance

Part = Callable[[Tensor], Tensor]
Cross = Callable[[Tensor, Tensor], Tensor]


def encoder_layer(
    x: Float[Tensor, "B L d_model"],
    attend: Part,
    feed_forward: Part,
    norm_1: Part,
    norm_2: Part,
    pre_norm: bool,
) -> Float[Tensor, "B L d_model"]:
    """Return the stream after attention and feed-forward, each added to it and normalised.

    Args:
        x: The stream.
        attend: Self-attention, with its mask inside.
        feed_forward: The feed-forward layer.
        norm_1: The norm that belongs to the attention.
        norm_2: The norm that belongs to the feed-forward layer.
        pre_norm: Whether a part reads the normalised stream; else its sum is normalised.
    """
    check_float("B L d_model", x=x)
    check_callable(attend=attend, feed_forward=feed_forward, norm_1=norm_1, norm_2=norm_2)
    check_instance(bool, pre_norm=pre_norm)
    x = _add(x, attend, norm_1, pre_norm)
    return _add(x, feed_forward, norm_2, pre_norm)


def decoder_layer(
    x: Float[Tensor, "B L d_model"],
    memory: Float[Tensor, "B S d_model"],
    self_attend: Part,
    cross_attend: Cross,
    feed_forward: Part,
    norms: Sequence[Part],
    pre_norm: bool,
) -> Float[Tensor, "B L d_model"]:
    """Return the stream after self-attention, attention to the memory, and the feed-forward layer.

    Args:
        x: The stream.
        memory: The encoder's output, which is not normalised here.
        self_attend: Self-attention, causal already.
        cross_attend: `cross_attend(x, memory)`, with queries made of x.
        feed_forward: The feed-forward layer.
        norms: The norms of the three, in this order.
        pre_norm: As in `encoder_layer`.
    """
    check_float("B L d_model", x=x)
    check_float("B S d_model", memory=memory)
    check_callable(self_attend=self_attend, cross_attend=cross_attend, feed_forward=feed_forward)
    check_instance(Sequence, norms=norms)
    if len(norms) != 3:
        raise ValueError(f"norms must be three, got {len(norms)}")
    for number, norm in enumerate(norms):
        check_callable(**{f"norms[{number}]": norm})
    check_instance(bool, pre_norm=pre_norm)
    x = _add(x, self_attend, norms[0], pre_norm)
    x = _add(x, lambda asks: cross_attend(asks, memory), norms[1], pre_norm)
    return _add(x, feed_forward, norms[2], pre_norm)


def _add(x: Tensor, part: Part, norm: Part, pre_norm: bool) -> Tensor:
    return x + part(norm(x)) if pre_norm else norm(x + part(x))
