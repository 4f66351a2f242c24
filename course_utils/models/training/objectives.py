"""Objectives of a language model: hidden tokens, the next token, and smoothed targets.

Source: Devlin et al. 2019, BERT, section 3.1, https://arxiv.org/abs/1810.04805 (hidden tokens);
    Radford et al. 2018, Improving Language Understanding, Eq. 1 (next token);
    Szegedy et al. 2016, section 7, https://arxiv.org/abs/1512.00567 (smoothed targets)
Ours / theirs: smoothing = ε;  num_classes = K;  pad_id = Hugging Face's ignore_index
Same contract as: `F.cross_entropy` with `ignore_index` and `label_smoothing`, but 0 where no target
    counts, where torch gives NaN
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.validation import (
    check_at_least,
    check_float,
    check_instance,
    check_int,
    check_integers,
    check_ints,
    check_number,
    check_shape,
)

SELECTED = 0.15  # of the tokens that are not special
HIDDEN, REPLACED = 0.8, 0.1  # of the selected ones; the rest stays as it is
IGNORED = -100  # the label that PyTorch's and Hugging Face's losses leave out


def mask_tokens(
    tokens: Int[Tensor, "B L"],
    mask_id: int,
    vocab_size: int,
    special: Sequence[int],
    generator: torch.Generator,
) -> tuple[Int[Tensor, "B L"], Int[Tensor, "B L"]]:
    """Return BERT's inputs and labels: some tokens are hidden, and the model has to say which.

    Args:
        tokens: Token ids.
        mask_id: The id of [MASK].
        vocab_size: How many ids there are; a replacement is any of them.
        special: Ids that are never selected, such as [CLS] and padding.
        generator: The only source of randomness.
    """
    check_integers("B L", tokens=tokens)
    check_at_least(1, vocab_size=vocab_size)
    check_int(mask_id=mask_id)
    check_instance(torch.Generator, generator=generator)
    check_ints(special=special)
    is_special = torch.isin(tokens, torch.tensor(list(special), dtype=torch.long))
    is_selected = (torch.rand(tokens.shape, generator=generator) < SELECTED) & ~is_special
    fate = torch.rand(tokens.shape, generator=generator)
    drawn = torch.randint(vocab_size, tokens.shape, generator=generator)
    changed = torch.where(fate < HIDDEN, mask_id, drawn)
    is_changed = is_selected & (fate < HIDDEN + REPLACED)
    return torch.where(is_changed, changed, tokens), tokens.masked_fill(~is_selected, IGNORED)


def causal_lm_loss(
    logits: Float[Tensor, "B T V"], tokens: Int[Tensor, "B T"], pad_id: int
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy, in nats, of each token given those before it.

    Args:
        logits: Scores of every id; those at position t are for token t + 1.
        tokens: The token ids that the model read.
        pad_id: A target that is this id does not count.
    """
    _check_targets(logits, pad_id, tokens=tokens)
    return label_smoothed_loss(logits[:, :-1], tokens[:, 1:], 0.0, pad_id)


def label_smoothed_loss(
    logits: Float[Tensor, "B T V"], target: Int[Tensor, "B T"], smoothing: float, pad_id: int
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy against a target of which a share is spread over all classes.

    Args:
        logits: Scores of every class.
        target: The class that is right at each position.
        smoothing: The share, from 0 to 1, that is spread over all classes, the right one included.
        pad_id: A target that is this id does not count; it may be no class.
    """
    _check_targets(logits, pad_id, target=target)
    check_number(smoothing=smoothing)
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing must be from 0 to 1, got {smoothing}")
    is_padding = target == pad_id
    logs = logits.log_softmax(-1)
    right = logs.gather(-1, target.masked_fill(is_padding, 0).long().unsqueeze(-1)).squeeze(-1)
    # A share of 0 is left out: a class at -inf, which may not be chosen, would make it 0 · inf.
    losses = torch.zeros_like(right)
    for share, part in ((1 - smoothing, right), (smoothing, logs.mean(-1))):
        losses = losses - share * part if share else losses
    return losses.masked_fill(is_padding, 0.0).sum() / (~is_padding).sum().clamp(min=1)


def _check_targets(logits: Tensor, pad_id: int, /, **targets: Tensor) -> None:
    """Raise unless there is a class for each position, or `pad_id`."""
    check_float("B T V", logits=logits)
    check_integers("B T", **targets)
    check_shape(tuple(logits.shape[:2]), **targets)
    check_int(pad_id=pad_id)
    for name, target in targets.items():
        wrong = target[(target != pad_id) & ((target < 0) | (target >= logits.shape[-1]))]
        if len(wrong):
            raise ValueError(
                f"{name} must be from 0 to {logits.shape[-1] - 1}, or pad_id {pad_id}, "
                f"got {int(wrong[0])}"
            )
