"""One pass through a GPT that keeps what it computes on the way: weights, streams, scores.

Source: what is kept is what output_attentions and output_hidden_states of
    https://github.com/huggingface/transformers keep
Ours / theirs: weights, states = attentions, hidden_states
Differs: the last state is the stream before the last norm; theirs is behind it
Same contract as: LlamaForCausalLM with attn_implementation "eager"
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.models.gpt.gpt import GPT
from course_utils.models.gpt.layer import GPTLayer

Edit = Callable[[int, Tensor], Tensor]
"""Takes a layer's number and its heads' outputs (1, H, L, d_k); returns those to go on with."""


class Pass(NamedTuple):
    """All of one pass over one text.

    Attributes:
        weights: Of each layer and head, (layers, H, L, L).
        states: The stream of the embedding, then after each layer, (layers + 1, L, d_model).
        logits: Scores for the token after each, (L, V).
    """

    weights: Tensor
    states: Tensor
    logits: Tensor


@torch.no_grad()
def whole_pass(model: GPT, tokens: Int[Tensor, " L"], edit: Edit | None = None) -> Pass:
    """Return the weights, streams and scores of one text.

    Args:
        model: Its design has no attention of its own.
        tokens: At least one.
        edit: Changes the heads' outputs of each layer before they are projected; None keeps them.
    """
    weights: list[Tensor] = []
    states: list[Tensor] = []
    first = cast(GPTLayer, model.layers[0])
    hooks = [first.register_forward_pre_hook(lambda _, given: states.append(given[0][0]))]
    for layer in model.layers:
        hooks.append(layer.register_forward_hook(lambda _, given, out: states.append(out[0])))
    try:
        with _attending(model, weights, edit):
            logits = model.logits(tokens.unsqueeze(0))[0]
    finally:
        for hook in hooks:
            hook.remove()
    return Pass(torch.stack(weights), torch.stack(states), logits)


def lens_scores(model: GPT, state: Float[Tensor, "L d_model"]) -> Float[Tensor, "L V"]:
    """Return the scores that the model's last norm and output layer give a stream of any layer."""
    scores: Tensor = model.out(model.last_norm(state))
    return scores


@contextmanager
def _attending(model: GPT, kept: list[Tensor], edit: Edit | None) -> Iterator[None]:
    """Let each layer's attention keep its weights; afterwards it is as it was."""
    parts = [cast(GPTLayer, layer).attention for layer in model.layers]
    before = [part.attend for part in parts]
    try:
        for number, part in enumerate(parts):
            part.attend = partial(_attend, number, kept, edit)
        yield
    finally:
        for part, attend in zip(parts, before, strict=True):
            part.attend = attend


def _attend(
    number: int,
    kept: list[Tensor],
    edit: Edit | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
) -> Tensor:
    shared = query.shape[1] // key.shape[1]
    key, value = (one.repeat_interleave(shared, dim=1) for one in (key, value))
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = stable_softmax(scores.masked_fill(~mask, -torch.inf))
    kept.append(weights[0])
    found = weights @ value
    return found if edit is None else edit(number, found)
