"""The weights of Hugging Face's GPT-2 under our names, and ours under theirs.

Source: modeling_gpt2.py of https://github.com/huggingface/transformers
Ours / theirs: in_proj = c_attn;  out_proj = c_proj;  last_norm = ln_f
Differs: theirs keeps the matrices of its layers transposed, and by default one matrix as embedding
    and output layer
"""

from collections.abc import Mapping

from torch import Tensor

from course_utils.models.released._weight_names import renamed, turned_round
from course_utils.validation import (
    check_instance,
)

AROUND = {
    "token": "transformer.wte",
    "positions.table": "transformer.wpe",
    "last_norm": "transformer.ln_f",
    "out": "lm_head",
}
IN_LAYER = {
    "attention_norm": "ln_1",
    "attention.in_proj": "attn.c_attn",
    "attention.out_proj": "attn.c_proj",
    "feed_forward_norm": "ln_2",
    "feed_forward.0": "mlp.c_fc",
    "feed_forward.2": "mlp.c_proj",
}


def from_gpt2(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what `GPT(...).load_state_dict` takes.

    Args:
        theirs: The state_dict of a GPT2LMHeadModel.

    Raises:
        ValueError: A weight is not one of such a model.
    """
    check_instance(Mapping, theirs=theirs)
    layers = ("transformer.h", "layers")
    return _turned(renamed(theirs, turned_round(AROUND), layers, turned_round(IN_LAYER)), "layers")


def to_gpt2(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what `GPT2LMHeadModel(config).load_state_dict` takes.

    Args:
        ours: The state_dict of a GPT with learned positions. Where its output layer is not its
            embedding, theirs needs `GPT2Config(tie_word_embeddings=False)`.

    Raises:
        ValueError: A weight is not one of such a model.
    """
    check_instance(Mapping, ours=ours)
    layers = ("layers", "transformer.h")
    return _turned(renamed(ours, AROUND, layers, IN_LAYER), "transformer.h")


def _turned(weights: dict[str, Tensor], layers: str) -> dict[str, Tensor]:
    """Transpose the matrices of the layers; a vector stays what it is."""
    return {
        name: weight.mT if name.startswith(layers) and weight.dim() == 2 else weight
        for name, weight in weights.items()
    }
