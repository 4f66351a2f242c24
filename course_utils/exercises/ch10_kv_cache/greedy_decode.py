"""Exercise: write a text token by token, and let the model read each token once."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Case, Exercise, Function
from course_utils.exercises.ch10_kv_cache._greedy_choice_mistakes import CHOICES
from course_utils.exercises.ch10_kv_cache._greedy_mistakes import WRITING
from course_utils.exercises.ch10_kv_cache._greedy_result_mistakes import RESULTS
from course_utils.exercises.ch10_kv_cache._toy import make
from course_utils.models import greedy_decode


def _two_texts(fn: Function, model: Any, prompt: Tensor, num_tokens: int) -> Any:
    """Write two texts after each other with one model, the second for fewer sequences."""
    fn(model, prompt.flip(0), num_tokens)
    return fn(model, prompt[:2], num_tokens)


def _two_texts_of_one_size(fn: Function, model: Any, prompt: Tensor, num_tokens: int) -> Any:
    fn(model, (prompt + 1) % 5, num_tokens)
    return fn(model, prompt, num_tokens)


def _reads(fn: Function, model: Any, prompt: Tensor, num_tokens: int) -> int:
    """Return how many tokens were read beyond once each; the last new ones may be read too."""
    fn(model, prompt, num_tokens)
    once = prompt.numel() + len(prompt) * num_tokens
    return 0 if once - len(prompt) <= model.fed <= once else int(model.fed - once)


_TOO_OFTEN = (
    "The model does not read each token exactly once. Count what you feed: the prompt, then each "
    "new token by itself."
)

EXERCISE = Exercise(
    name="greedy_decode",
    chapter=10,
    signature="greedy_decode(model, prompt, num_tokens)",
    asks="Let a model with a cache write `num_tokens` tokens, always the likeliest.",
    reference=greedy_decode,
    minutes=20,
    difficulty=3,
    importance=5,
    cases=(
        Case("3 sequences, a prompt of 4, 6 new tokens", make(3, 4, 6)),
        Case("a cache that is written in place", make(2, 5, 7, keeps_one=True)),
        Case("one sequence", make(1, 3, 5)),
        Case("a prompt of one token", make(2, 1, 6)),
        Case("one new token", make(3, 5, 1)),
        Case("4 sequences, 4 words, a prompt of 4, 4 new tokens", make(4, 4, 4, 4)),
        Case("a prompt longer than the text", make(2, 9, 3, 7)),
        Case("many words", make(3, 2, 8, 300)),
        Case("one of everything", make(1, 1, 1, 2)),
        Case("no new token", make(3, 4, 0)),
        Case("two texts with one model", make(3, 4, 6), run=_two_texts_of_one_size),
        Case("two texts with one model, 3 sequences, then 2", make(3, 4, 6), run=_two_texts),
        Case(
            "how many tokens the model reads too often",
            make(3, 5, 9),
            run=_reads,
            says=_TOO_OFTEN,
        ),
        Case(
            "how many tokens it reads too often, with a cache in place",
            make(2, 6, 11, keeps_one=True),
            run=_reads,
            says=_TOO_OFTEN,
        ),
    ),
    misconceptions=(*WRITING, *CHOICES, *RESULTS),
    hints=(
        "Write down what the model reads in the first call and in the second, and what it gives "
        "back each time. Who holds what it read before?",
        "The first call brings the whole prompt and no cache. Every later call brings one token a "
        "sequence, and the cache that the call before returned.",
        "Only the last row of the logits has seen everything. Keep its axis while choosing, and "
        "the result has the axes (B, 1) that the next call needs.",
        "Begin the list of what was written with an empty (B, 0) slice of the prompt: then joining "
        "it works for no token as well.",
    ),
)
