"""The non-local block: every pixel of an image reads every other, inside a convolutional network.

Source: Wang et al. 2018, Non-local Neural Networks, Eq. 3 and 6 and figure 2 (embedded Gaussian),
    https://arxiv.org/abs/1711.07971
Ours / theirs: W_theta, W_phi, W_g, W_out = W_θ, W_φ, W_g, W_z, the kernels of 1×1 convolutions;
    places = positions i, j
Differs: matrices multiply from the right, x @ W, and have no bias; no batch norm, no subsampling
Same contract as: x + conv(W_out) of SDPA with scale=1 over the flattened places
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.validation import check_float, check_matrix, check_same_dtype


def non_local_block(
    x: Float[Tensor, "B C h w"],
    W_theta: Float[Tensor, "C d"],
    W_phi: Float[Tensor, "C d"],
    W_g: Float[Tensor, "C d_g"],
    W_out: Float[Tensor, "d_g C"],
) -> Float[Tensor, "B C h w"]:
    """Return the image plus what each place reads from all places, its own among them.

    The weights are the softmax over all h·w places j of θ(x_i)·φ(x_j), without a scale.

    Args:
        x: One vector of C channels at each of h × w places.
        W_theta: Makes the queries.
        W_phi: Makes the keys.
        W_g: Makes the values.
        W_out: Projects back to C channels; with zeros the block changes nothing.
    """
    check_float("B C h w", x=x)
    channels = x.shape[1]
    check_matrix("W_theta", W_theta, rows=channels, of="x")
    check_matrix("W_phi", W_phi, rows=channels, columns=W_theta.shape[1], of="x")
    check_matrix("W_g", W_g, rows=channels, of="x")
    check_matrix("W_out", W_out, rows=W_g.shape[1], columns=channels, of="what is read")
    check_same_dtype(x=x, W_theta=W_theta, W_phi=W_phi, W_g=W_g, W_out=W_out)
    places = x.flatten(2).mT
    query, key, value = places @ W_theta, places @ W_phi, places @ W_g
    read = scaled_dot_product_attention(query, key, value, scale=1.0)
    return x + (read @ W_out).mT.reshape(x.shape)
