"""The released model's file and the texts of chapter 19's records, and what the model writes."""

import torch
from torch import Tensor

from course_utils import model_file
from course_utils.data import installed_texts
from course_utils.models import generate
from course_utils.models.chat import END
from course_utils.models.released.gguf import gguf_model
from course_utils.models.released.gguf.gguf_file import GGUFFile, read_gguf
from course_utils.models.released.gguf.gguf_model import Released

NUM_TOKENS = 300


def opened() -> tuple[GGUFFile, dict[str, Tensor]]:
    """Return the model's file, and its weights in float32 with the tied matrix under both names."""
    file = read_gguf(model_file.required_model())
    weights = {name: tensor.weights() for name, tensor in file.tensors.items()}
    return file, weights | {"output.weight": weights["token_embd.weight"]}


def text_tokens(file: GGUFFile, num_tokens: int = NUM_TOKENS) -> dict[str, Tensor]:
    """Return the first tokens of the three texts by name."""
    encode = gguf_model.tokenizer(file).encode
    texts = installed_texts().items()
    return {name: torch.as_tensor(encode(text))[:num_tokens] for name, text in texts}


def continued(made: Released, text: str, num_tokens: int) -> tuple[str, float, int]:
    """Return what the model writes greedily up to its end token, and how safe each choice was.

    Returns:
        The text; the least difference between the two likeliest scores at any of its tokens, read
        again without a cache; how many tokens were written.
    """
    prompt, end = made.tokenizer.encode(text)[None], int(made.tokenizer.encode(END)[0])
    written = generate(made.model, prompt, num_tokens, temperature=0.0, stop=end)[0]
    ends = (written == end).nonzero()
    written = written[: int(ends[0]) + 1] if len(ends) else written
    scores = made.model.logits(torch.cat([prompt[0], written])[None])[0, -len(written) - 1 : -1]
    best, second = scores.topk(2).values.T
    shown = made.tokenizer.decode([one for one in written.tolist() if one != end])
    return shown, (best - second).min().item(), len(written)
