"""A conversation with the released model: its settings, its cache, and replies token by token."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor

from course_utils.models.chat import END
from course_utils.models.released.gguf.gguf_model import Released
from course_utils.validation import check_at_least, check_instance, check_number

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


@dataclass
class Settings:
    """Settings of the replies; seed and context count from the next beginning.

    Attributes:
        system: What the system says at the beginning: by default, what the file's template holds.
        temperature: Divides the logits; 0 always takes the likeliest token.
        top_p: The share of the likeliest tokens from which one is drawn.
        seed: Of the draws.
        max_tokens: After how many tokens a reply is cut off.
        context: How many tokens a whole conversation has room for.
    """

    system: str = SYSTEM
    temperature: float = 0.2
    top_p: float = 0.9
    seed: int = 0
    max_tokens: int = 256
    context: int = 2048

    def __post_init__(self) -> None:
        check_instance(str, system=self.system)
        check_number(temperature=self.temperature, top_p=self.top_p)
        check_at_least(1, max_tokens=self.max_tokens, context=self.context)
        check_at_least(0, seed=self.seed)
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be at least 0 and finite, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p}")


class Dialogue:
    """The messages of a conversation, and the cache of them.

    Args:
        released: The model and its tokenizer.
        functions: chat_prompt, stream_text and top_p_filter, as attributes.
        settings: What replies are written with; they may be replaced at any time.
    """

    def __init__(self, released: Released, functions: Any, settings: Settings) -> None:
        (self.model, self.tokenizer), self._functions = released, functions
        self.settings = settings
        (self._end,) = self.tokenizer.encode(END).tolist()
        self.begin()

    def begin(self) -> None:
        """Forget all that was said."""
        self.messages: list[dict[str, str]] = []
        self._room, self._held = self.settings.context, list[int]()
        self._cache = self.model.new_cache(1, self._room)
        self._generator = torch.Generator().manual_seed(self.settings.seed)

    def template(self) -> str:
        """Return the conversation as the model reads it."""
        text: str = self._functions.chat_prompt(self.messages, self.settings.system, True)
        return text

    def reply(self, said: str, stopped: Callable[[], bool] = lambda: False) -> Iterator[str]:
        """Yield the reply as it is written; what was written stays if it is stopped.

        Args:
            said: What the user says.
            stopped: Is asked before each token whether to end here.

        Raises:
            ValueError: The conversation has no room for it, and stays as it was.
        """
        self.messages.append({"role": "user", "content": said})
        read = self.tokenizer.encode(self.template()).tolist()
        room = self._room - len(read)
        if room < 1:
            self.messages.pop()
            raise ValueError(
                f"the conversation must fit in {self._room} tokens, got {len(read)} "
                "without a reply: begin a new one"
            )
        pieces, written = [], ""
        try:
            for token in self._tokens(read, min(room, self.settings.max_tokens)):
                if token == self._end or stopped():
                    return
                pieces.append(self.tokenizer.bytes_of(token))
                new = self._functions.stream_text([*pieces, b""])[len(pieces) - 1]
                written += new
                yield new
            limit = "context" if room <= self.settings.max_tokens else "max_tokens"
            yield f" … [cut off by {limit}]"
        finally:
            self.messages.append({"role": "assistant", "content": written})

    def _tokens(self, read: Sequence[int], count: int) -> Iterator[int]:
        """Yield the tokens that follow; only those that the cache does not hold are read."""
        same = takewhile(lambda pair: pair[0] == pair[1], zip(read, self._held, strict=False))
        keep = min(sum(1 for _ in same), len(read) - 1)
        self._cache.crop(keep)  # after an interrupt, its layers may hold more or less than this
        self._held, fed = list(read[:keep]), list(read[keep:])
        for _ in range(count):
            with torch.inference_mode():
                logits, _ = self.model(torch.tensor([fed]), self._cache, only_last=True)
            self._held += fed
            fed = [self._drawn(logits[:, -1])]
            yield fed[0]

    def _drawn(self, logits: Tensor) -> int:
        temperature, top_p = self.settings.temperature, self.settings.top_p
        if temperature == 0:
            return int(logits.argmax())
        below = (logits - logits.amax()) / temperature  # the largest stays 0, and finite
        kept = self._functions.top_p_filter(below, top_p)
        return int(torch.multinomial(kept.softmax(-1), 1, generator=self._generator))
