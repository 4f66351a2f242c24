"""Whether tokens belong to a vocabulary."""

from torch import Tensor


def check_known(num_tokens: int, /, **given: Tensor) -> None:
    """Raise ValueError unless all tokens lie between 0 and num_tokens - 1."""
    for name, tokens in given.items():
        outside = tokens[(tokens < 0) | (tokens >= num_tokens)]
        if len(outside):
            raise ValueError(
                f"{name} must lie between 0 and {num_tokens - 1}, got {outside[0].item()}"
            )
