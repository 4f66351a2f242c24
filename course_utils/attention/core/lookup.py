"""A dictionary that returns an average: every value, weighted by how well its key matches.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2, https://arxiv.org/abs/1706.03762;
    the falling temperature is Graves et al. 2014, Neural Turing Machines, Eq. 5 (its β is
    1/temperature, its similarity the cosine), https://arxiv.org/abs/1410.5401
Ours / theirs: query, key = k_t, M_t(i);  temperature = 1/β_t;  weights = w_t^c
Differs: similarity is the dot product, and there is no √d: the temperature is the whole scale.
Same contract as: torch.nn.functional.scaled_dot_product_attention with scale = 1/temperature
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.softmax import stable_softmax
from course_utils.validation import check_number, check_query_key_value


def soft_lookup(
    query: Float[Tensor, "*batch L d"],
    key: Float[Tensor, "*batch S d"],
    value: Float[Tensor, "*batch S d_v"],
    temperature: float,
) -> Float[Tensor, "*batch L d_v"]:
    """Return, for each query, the average of the values, weighted by softmax(q·k / temperature).

    As the temperature falls, the value of the best key alone remains; as it rises, the plain mean.

    Args:
        query: What is looked up.
        key: What each entry is found by.
        value: What each entry holds.
        temperature: How soft the choice is.
    """
    check_query_key_value(query, key, value)
    check_number(temperature=temperature)
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature}")
    return stable_softmax(query @ key.mT / temperature) @ value
