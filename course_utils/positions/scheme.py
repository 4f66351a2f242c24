"""One interface for every way to tell a model where its tokens are.

A scheme can act at four places, and each scheme acts at one or two of them:

    embed       adds something to the stream, before the first layer      (sinusoidal, learned)
    rotate      rotates queries and keys                                  (RoPE)
    bias        adds something to the scaled scores                       (Shaw, T5, ALiBi, DeBERTa)
    value_term  adds something to the average of the values               (Shaw)

The base class does nothing at all four: it is the model without positions.
"""

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from course_utils.validation import check_real


class PositionScheme(nn.Module):
    """No positions at all; a scheme overrides the places where it acts.

    Positions are (L,), the same for all sequences, or (B, L), and may start anywhere, so a
    model that continues from a cache passes the true ones.
    """

    def embed(
        self, x: Float[Tensor, "B L d_model"], positions: Shaped[Tensor, "*B L"]
    ) -> Float[Tensor, "B L d_model"]:
        """Return the stream with what is added to it."""
        return x

    def rotate(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> tuple[Float[Tensor, "B H L d_k"], Float[Tensor, "B H S d_k"]]:
        """Return queries and keys, each rotated by its position."""
        return query, key

    def bias(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> Float[Tensor, "#B #H L S"] | None:
        """Return what is added to the scaled scores, or None."""
        return None

    def value_term(
        self,
        weights: Float[Tensor, "B H L S"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> Float[Tensor, "B H L d_v"] | None:
        """Return what is added to the average of the values, or None."""
        return None


def relative_positions(
    query_positions: Shaped[Tensor, "*B L"], key_positions: Shaped[Tensor, "*B S"]
) -> Shaped[Tensor, "*B_1 L S"]:
    """Return key minus query for each pair: (L, S), or (B, 1, L, S) where sequences differ.

    Args:
        query_positions: Each query's position.
        key_positions: Each key's position.
    """
    for name, given in (("query_positions", query_positions), ("key_positions", key_positions)):
        check_real(**{name: given})
        if given.dim() not in (1, 2):
            raise ValueError(
                f"{name} must have the axes (length) or (batch, length), got {tuple(given.shape)}"
            )
    steps = key_positions.unsqueeze(-2) - query_positions.unsqueeze(-1)
    return steps.unsqueeze(1) if steps.dim() == 3 else steps
