"""The loss of a text that is longer than a model reads at once: windows that overlap.

Source: Press et al. 2022, Train Short, Test Long, section 3.1 and appendix B (sliding window
    evaluation), https://arxiv.org/abs/2108.12409
Ours / theirs: stride = S
Differs: the last window may be shorter than the others
"""

from collections.abc import Callable

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_utils.validation import check_at_least, check_callable, check_integers


def windowed_loss(
    model: Callable[[Int[Tensor, "1 T"]], Float[Tensor, "1 T V"]],
    tokens: Int[Tensor, " N"],
    window: int,
    stride: int,
) -> float:
    """Return the mean loss of all tokens but the first, each judged in the first window it is in.

    Args:
        model: Scores the token after each of those that it is given, from the ones up to it.
        tokens: The text.
        window: How many tokens the model reads at once.
        stride: How far each window begins behind the one before.

    Raises:
        TypeError: The tokens are not integers, or a number is not an int.
        ValueError: There are fewer than two tokens, or stride is not between 1 and window - 1.
    """
    check_callable(model=model)
    check_integers("N", tokens=tokens)
    check_at_least(1, stride=stride)
    check_at_least(stride + 1, window=window)
    if len(tokens) < 2:
        raise ValueError(f"tokens must hold two tokens at least, got {len(tokens)}")
    total, judged = 0.0, 1
    for start in range(0, len(tokens), stride):
        part = tokens[start : start + window]
        new = start + len(part) - judged
        logits = model(part.unsqueeze(0))[0, -1 - new : -1]
        total += cross_entropy(logits.double(), part[-new:], reduction="sum").item()
        judged = start + len(part)
        if judged == len(tokens):
            break
    return total / (len(tokens) - 1)
