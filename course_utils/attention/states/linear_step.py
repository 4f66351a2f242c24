"""One step of linear attention, as the recurrent network that it is.

Source: Katharopoulos et al. 2020, Transformers are RNNs: Fast Autoregressive Transformers with
    Linear Attention, Eq. 16 to 20, https://arxiv.org/abs/2006.16236
Ours / theirs: state = S, normaliser = Z, feature map = φ(x) = elu(x) + 1
Same contract as: from zeros and token by token, `causal_linear_attention`
"""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.validation import check_axes, check_same_dtype, check_shape


def linear_attention_step(
    state: Float[Tensor, "*batch d_k d_v"],
    normaliser: Float[Tensor, "*batch d_k"],
    query: Float[Tensor, "*batch d_k"],
    key: Float[Tensor, "*batch d_k"],
    value: Float[Tensor, "*batch d_v"],
) -> tuple[
    Float[Tensor, "*batch d_k d_v"], Float[Tensor, "*batch d_k"], Float[Tensor, "*batch d_v"]
]:
    """Return the state and normaliser with one more token in them, and what its query reads.

    Args:
        state: The sum of φ(k) vᵀ over the tokens so far; zeros at the start.
        normaliser: The sum of φ(k) over them.
        query: What the new token asks for.
        key: What it offers.
        value: What it hands over.
    """
    check_same_dtype(state=state, normaliser=normaliser, query=query, key=key, value=value)
    check_axes("... d_k d_v", state=state)
    *leading, d_k, d_v = state.shape
    check_shape((*leading, d_k), normaliser=normaliser, query=query, key=key)
    check_shape((*leading, d_v), value=value)
    asked, offered = F.elu(query) + 1.0, F.elu(key) + 1.0
    state = state + offered.unsqueeze(-1) * value.unsqueeze(-2)
    normaliser = normaliser + offered
    above = (asked.unsqueeze(-2) @ state).squeeze(-2)
    return state, normaliser, above / (asked * normaliser).sum(-1, keepdim=True)
