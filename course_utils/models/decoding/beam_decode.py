"""Beam search through a cache: every beam reads one more token, after its own past.

Source: as in beam.py; caches that are reordered from step to step are Hugging Face's,
    https://github.com/huggingface/transformers (`reorder_cache`)
Differs: a slot that a finished text holds is not refilled, as in beam.py.
Same contract as: `beam_search` with a model that rereads each text; Hugging Face's generate with
    num_beams, where no token ends a text
"""

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.models.decoding.beam import beam_search
from course_utils.models.gpt.gpt import GPT
from course_utils.models.tokens import check_one_prompt
from course_utils.validation import check_at_least, check_instance, check_int

NO_TOKEN = -1


class _Beams:
    """The step of a beam search: log-probabilities after each text, from a cache of all of them."""

    def __init__(self, model: GPT, prompt: Tensor, num_tokens: int) -> None:
        self._model = model
        self._cache = model.new_cache(1, prompt.shape[1] + num_tokens - 1)
        self._texts: dict[tuple[int, ...], int] = {(): 0}
        if prompt.shape[1] > 1:
            model(prompt[:, :-1], self._cache)

    def __call__(self, texts: Tensor) -> Tensor:
        """Return (n, V): each text is one of the last call plus one token."""
        read = [tuple(text) for text in texts.tolist()]
        came_from = torch.tensor([self._texts[text[:-1]] for text in read])
        if self._cache.length:
            self._cache.select(came_from)
        self._texts = {text: row for row, text in enumerate(read)}
        scores: Tensor = self._model(texts[:, -1:], self._cache)[0][:, -1]
        return scores.log_softmax(dim=-1)


def beam_decode(
    model: GPT,
    prompt: Int[Tensor, "1 P"],
    num_tokens: int,
    *,
    width: int,
    end: int | None = None,
    alpha: float = 0.0,
) -> tuple[Int[Tensor, "1 num_written"], float]:
    """Return the best continuation that a beam finds, and its score.

    Args:
        model: What scores the tokens.
        prompt: What the tokens follow.
        num_tokens: How many to write at most.
        width: How many hypotheses there is room for.
        end: A token that finishes a text, or None.
        alpha: The score is the sum of log-probabilities / length^alpha.

    Raises:
        ValueError: The prompt is not one sequence of at least one token.
    """
    check_instance(GPT, model=model)
    check_one_prompt(prompt)
    check_at_least(1, num_tokens=num_tokens)
    end = NO_TOKEN if end is None else end
    check_int(end=end)
    with torch.inference_mode():
        step = _Beams(model, prompt, num_tokens)
        start = int(prompt[0, -1])
        tokens, score = beam_search(step, start, end, width, num_tokens, alpha)
    return torch.tensor([tokens], device=prompt.device), score
