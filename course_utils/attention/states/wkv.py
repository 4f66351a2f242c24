"""WKV of RWKV-4: a decaying softmax over the past, one number per channel, as a recurrence.

Source: Peng et al. 2023, RWKV: Reinventing RNNs for the Transformer Era, Eq. 16 and appendix D,
    https://arxiv.org/abs/2305.13048
Ours / theirs: decay = w ≥ 0;  bonus = u, for the token itself;  numerator, denominator = a, b;
    top = the running maximum p of appendix D
Differs: the state starts with -inf as its top, where their code takes -1e38
Same contract as: the weighted average of the values, with weights exp(k_i - (t - 1 - i) decay)
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_same_dtype, check_shape

State = tuple[Float[Tensor, "B d"], Float[Tensor, "B d"], Float[Tensor, "B d"]]


def wkv_step(
    key: Float[Tensor, "B d"],
    value: Float[Tensor, "B d"],
    decay: Float[Tensor, " d"],
    bonus: Float[Tensor, " d"],
    state: State,
) -> tuple[Float[Tensor, "B d"], State]:
    """Return what one token reads, and the state that includes the token.

    Args:
        key: How much the token's value weighs, as a logarithm, in each channel.
        value: What it hands over.
        decay: How much a weight's logarithm sinks with each token; at least 0.
        bonus: What is added to the token's own key when it reads; it is not kept.
        state: Numerator, denominator and top: the sums with and without the values, both divided
            by exp(top); (0, 0, -inf) at the start.
    """
    if not isinstance(state, tuple | list) or len(state) != 3:
        raise TypeError("state must be a tuple of numerator, denominator and top")
    numerator, denominator, top = state
    check_same_dtype("B d", key=key, value=value)
    check_same_dtype(
        key=key, decay=decay, bonus=bonus, numerator=numerator, denominator=denominator, top=top
    )
    shape = tuple(key.shape)
    check_shape(shape, value=value, numerator=numerator, denominator=denominator, top=top)
    check_shape(shape[1:], decay=decay, bonus=bonus)
    own = bonus + key
    past, now, _ = _weights(top, own)
    out = (past * numerator + now * value) / (past * denominator + now)
    past, now, top = _weights(top - decay, key)
    return out, (past * numerator + now * value, past * denominator + now, top)


def wkv(
    key: Float[Tensor, "B L d"],
    value: Float[Tensor, "B L d"],
    decay: Float[Tensor, " d"],
    bonus: Float[Tensor, " d"],
) -> Float[Tensor, "B L d"]:
    """Return what every token of a sequence reads, token by token, from an empty state.

    Arguments and errors are as in `wkv_step`, with an axis for the tokens, at least one.
    """
    check_same_dtype("B L d", key=key, value=value)
    check_shape(tuple(key.shape), value=value)
    if not key.shape[1]:
        raise ValueError("there must be at least one token, got none")
    nothing = key.new_zeros(key.shape[0], key.shape[-1])
    state, out = (nothing, nothing, nothing - torch.inf), []
    for k, v in zip(key.unbind(1), value.unbind(1), strict=True):
        read, state = wkv_step(k, v, decay, bonus, state)
        out.append(read)
    return torch.stack(out, 1)


def _weights(past: Tensor, now: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return exp of both logarithms, divided by the larger one, and that one's logarithm."""
    top = torch.maximum(past, now)
    return (past - top).exp(), (now - top).exp(), top
