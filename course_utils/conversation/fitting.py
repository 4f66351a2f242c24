"""The learner's functions that the released model can run on: each is tried first.

A function is used if it gives what the course's gives on inputs of the model's sizes, and if a
reply would not take minutes with it.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from course_utils.answers.chosen import Chosen
from course_utils.answers.sameness import difference

Function = Callable[..., Any]
WIDTH, D_FF, HEADS, KV_HEADS, D_K, VOCABULARY = 576, 1536, 9, 3, 64, 49_152
LAYERS, BASE, EPS = 30, 1e5, 1e-5
SLOTS, HELD = 64, 40  # of a cache: how many there are, and how many are filled
STEP, PROMPT = 1, 32  # tokens read at once
LONGEST = {STEP: 0.6, PROMPT: 15.0}  # seconds for that: 100 tokens should take at most a minute
TOLERANCE = 1e-3


class Trial(NamedTuple):
    """The inputs that a function is tried on.

    Attributes:
        calls: How often the model calls it for one step.
        inputs: Makes its arguments for so many tokens, from a generator.
        sizes: Numbers of tokens that it is tried on.
    """

    calls: int
    inputs: Callable[[int, torch.Generator], tuple[Any, ...]]
    sizes: tuple[int, ...] = (STEP, PROMPT)


@dataclass(frozen=True)
class Fitting:
    """The functions that can be used, and why others cannot.

    Attributes:
        chosen: The course's functions, and the learner's that are used.
        refused: For each function of the learner's that is not used, a sentence.
    """

    chosen: Chosen
    refused: dict[str, str]

    def lines(self) -> Iterator[str]:
        """Yield whose each part is, then what was refused."""
        yield f"{self.chosen.count()}."
        yield from self.chosen.lines()
        yield from self.refused.values()


def fit(chosen: Chosen) -> Fitting:
    """Try each of the learner's functions against the course's."""
    own, refused = dict(chosen.own), {}
    for name in chosen.own:
        if why := _fault(TRIALS[name], chosen.references[name], own[name]):
            refused[name] = f"Your `{name}` {why}; the course's is used."
            del own[name]
    used = dict(chosen.references)
    if "grouped_query_attention" in own:  # it is called in its place
        del used["scaled_dot_product_attention"]
        own.pop("scaled_dot_product_attention", None)
    return Fitting(Chosen(used, own, chosen.broken), refused)


def _fault(trial: Trial, course: Function, own: Function) -> str:
    """Return why a function cannot be used, as the end of a sentence; empty where it can."""
    for size in trial.sizes:
        with torch.inference_mode():
            expected, _ = _called(course, trial, size)
            try:
                got, seconds = _called(own, trial, size)
            except Exception as error:  # a learner's own lines may raise anything
                first = f"{type(error).__name__}: {error}".strip().splitlines()[0]
                return f"stops with {first}"
        for where in expected:
            if differs := difference(expected[where], got[where], TOLERANCE, where):
                return f"is wrong here ({differs.removesuffix('.')})"
        if (wait := trial.calls * seconds) > LONGEST[size]:
            what = "each token" if size == STEP else f"reading {PROMPT} tokens"
            return f"is right, but {what} would take {wait:.0f} seconds with it"
    return ""


def _called(function: Function, trial: Trial, size: int) -> tuple[dict[str, Any], float]:
    """Return the result and what the arguments then hold, by name, and the time."""
    arguments = trial.inputs(size, torch.Generator().manual_seed(0))
    start = time.perf_counter()
    result = function(*arguments)
    seconds = time.perf_counter() - start
    left = {f"argument {place}": one for place, one in enumerate(arguments, 1)}
    return {"result": result, **left}, seconds


def _rows(n: int, g: torch.Generator) -> tuple[Any, ...]:
    return torch.randn(1, n, WIDTH, generator=g), torch.rand(WIDTH, generator=g), EPS


def _gated(n: int, g: torch.Generator) -> tuple[Any, ...]:
    shapes = ((WIDTH, D_FF), (WIDTH, D_FF), (D_FF, WIDTH))
    return torch.randn(1, n, WIDTH, generator=g), *(
        0.05 * torch.randn(shape, generator=g) for shape in shapes
    )


def _rotated(n: int, g: torch.Generator) -> tuple[Any, ...]:
    return _heads(HEADS, n, g), torch.arange(HELD - n, HELD), BASE


def _heads(heads: int, n: int, g: torch.Generator) -> torch.Tensor:
    return torch.randn(1, heads, n, D_K, generator=g)


def _appended(n: int, g: torch.Generator) -> tuple[Any, ...]:
    key, value = _heads(KV_HEADS, SLOTS, g), _heads(KV_HEADS, SLOTS, g)
    return key, value, SLOTS - n, _heads(KV_HEADS, n, g), _heads(KV_HEADS, n, g)


def _decoded(n: int, g: torch.Generator) -> tuple[Any, ...]:
    key, value = _heads(KV_HEADS, SLOTS, g), _heads(KV_HEADS, SLOTS, g)
    return _heads(HEADS, n, g), key, value, HELD


def _attended(kv_heads: int) -> Callable[[int, torch.Generator], tuple[Any, ...]]:
    def inputs(n: int, g: torch.Generator) -> tuple[Any, ...]:
        seen = torch.arange(HELD) <= torch.arange(HELD - n, HELD).unsqueeze(-1)
        key, value = _heads(kv_heads, HELD, g), _heads(kv_heads, HELD, g)
        return _heads(HEADS, n, g), key, value, seen if n > 1 else None

    return inputs


def _merged(n: int, g: torch.Generator) -> tuple[Any, ...]:
    signs = [chr(0x400 + number) for number in range(200)]
    pairs = [("t", "h"), ("i", "n"), ("in", "g"), ("th", "in"), ("k", "ing"), ("thin", "king")]
    pairs += [(one, other) for one in signs for other in signs]  # as many as a released one has
    return "Ġthinkingly", {pair: rank for rank, pair in enumerate(pairs)}


def _conversation(n: int, g: torch.Generator) -> tuple[Any, ...]:
    said = ("user", "Hi"), ("assistant", "Hello!"), ("user", "Who\nare you?")
    return [{"role": role, "content": content} for role, content in said], "Be brief.", True


def _pieces(n: int, g: torch.Generator) -> tuple[Any, ...]:
    sign = "é日👩".encode()
    return ([sign[place : place + 1] for place in range(len(sign))] + [b"", b" ok", b""],)


def _logits(n: int, g: torch.Generator) -> tuple[Any, ...]:
    return 3 * torch.randn(1, VOCABULARY, generator=g), 0.9


TRIALS = {
    "rms_norm": Trial(2 * LAYERS + 1, _rows),
    "gated_feed_forward": Trial(LAYERS, _gated),
    "rope_split_halves": Trial(2 * LAYERS, _rotated),
    "append_kv": Trial(LAYERS, _appended),
    "decode_step": Trial(LAYERS, _decoded),
    "causal_mask": Trial(LAYERS, lambda n, g: (n, HELD, HELD - n), (PROMPT,)),
    "grouped_query_attention": Trial(LAYERS, _attended(KV_HEADS), (PROMPT,)),
    "scaled_dot_product_attention": Trial(LAYERS, _attended(HEADS), (PROMPT,)),
    "merge_by_rank": Trial(PROMPT, _merged, (PROMPT,)),
    "chat_prompt": Trial(1, _conversation, (PROMPT,)),
    "top_p_filter": Trial(1, _logits, (STEP,)),
    "stream_text": Trial(1, _pieces, (STEP,)),
}
"""The parts of the model and of the conversation that can be the learner's, by exercise."""
