"""Checks shared by everything that reads tokens, with informative errors."""

from torch import Tensor, nn

from course_utils.validation import check_integers, check_shape


def check_some(tokens: Tensor) -> None:
    """Raise unless there is at least one token."""
    check_integers("B L", tokens=tokens)
    if not tokens.numel():
        raise ValueError(f"tokens must hold at least one, got the shape {tuple(tokens.shape)}")


def check_one_prompt(prompt: Tensor) -> None:
    """Raise unless this is one sequence of at least one token."""
    check_integers("1 P", prompt=prompt)
    if len(prompt) != 1 or not prompt.shape[1]:
        raise ValueError(f"prompt must have the axes (1, P) with P > 0, got {tuple(prompt.shape)}")


def read_by_decoder(source: Tensor, target: Tensor) -> Tensor:
    """Return the target without its last token: what is read while target[:, 1:] is predicted.

    Raises:
        ValueError: A target holds less than START and a symbol.
    """
    check_integers("B S", source=source)
    check_integers("B T", target=target)
    check_shape((len(source), target.shape[1]), target=target)
    if target.shape[1] < 2:
        raise ValueError(f"target must hold START and a symbol, got {tuple(target.shape)}")
    return target[:, :-1]


def embedded(table: nn.Embedding, tokens: Tensor, name: str = "tokens") -> Tensor:
    """Return a row of the table for each token.

    Raises:
        ValueError: The table has no row for an id.
    """
    check_integers("B L", **{name: tokens})
    try:
        rows: Tensor = table(tokens.long())
    except IndexError:  # checked afterwards: while decoding, checking every token would cost more
        raise ValueError(
            f"{name} must lie between 0 and {table.num_embeddings - 1}, "
            f"got {int(tokens.min())} to {int(tokens.max())}"
        ) from None
    return rows


def check_known(num_tokens: int, /, **given: Tensor) -> None:
    """Raise ValueError unless all tokens are between 0 and num_tokens - 1."""
    for name, tokens in given.items():
        outside = tokens[(tokens < 0) | (tokens >= num_tokens)]
        if len(outside):
            raise ValueError(
                f"{name} must lie between 0 and {num_tokens - 1}, got {outside[0].item()}"
            )
