"""Looking tokens up in an embedding, with an error that says which numbers it has rows for."""

from torch import Tensor, nn


def check_some(tokens: Tensor) -> None:
    """Raise ValueError unless there is at least one token."""
    if not tokens.numel():
        raise ValueError(f"tokens must hold at least one, got the shape {tuple(tokens.shape)}")


def embedded(table: nn.Embedding, tokens: Tensor, name: str = "tokens") -> Tensor:
    """Return a row of the table for each token.

    Raises:
        ValueError: The table has no row for a token.
    """
    try:
        rows: Tensor = table(tokens.long())
    except IndexError:  # asked afterwards: while decoding, a look at every token would cost more
        raise ValueError(
            f"{name} must lie between 0 and {table.num_embeddings - 1}, "
            f"got {int(tokens.min())} to {int(tokens.max())}"
        ) from None
    return rows
