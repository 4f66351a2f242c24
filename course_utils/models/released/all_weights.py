"""The weights of every head of a model on one text: ours, one from a folder, or Hugging Face's.

Source: output_attentions of https://github.com/huggingface/transformers
Same contract as: the attentions of a model made with attn_implementation="eager"
"""

from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.models.gpt.gpt import GPT
from course_utils.models.gpt.layer import GPTLayer
from course_utils.models.released.whole_pass import whole_pass
from course_utils.validation import check_integers


@torch.no_grad()
def all_weights(model: Any, tokens: Int[Tensor, " L"]) -> Float[Tensor, "layers H L L"]:
    """Return what each head of each layer attends to in one text, ready for `head_grid`.

    Args:
        model: One of the course's, such as `from_folder` returns; or one of transformers, made with
            attn_implementation="eager".
        tokens: The text, at least one token.

    Raises:
        ValueError: The model's attention is its own, or a model of transformers keeps no weights.
    """
    check_integers("L", tokens=tokens)
    if isinstance(model, GPT):
        if any(cast(GPTLayer, layer).attention.attend is not None for layer in model.layers):
            raise ValueError(
                "model must attend by softmax alone, got one with attention of its own"
            )
        return whole_pass(model, tokens).weights
    kept = model(tokens.unsqueeze(0), output_attentions=True).attentions
    if not kept or kept[0] is None:
        raise ValueError(f'model must be made with attn_implementation="eager", got {kept!r:.40}')
    return torch.cat(list(kept))
