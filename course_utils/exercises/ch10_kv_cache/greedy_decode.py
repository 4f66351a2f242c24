"""Exercise: write a text token by token, and let the model read each token once."""

from dataclasses import dataclass
from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import mistake, saying
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING, squeezed
from course_utils.models import greedy_decode
from torch import Tensor, nn

RIGHT = """
def greedy_decode(model, prompt, num_tokens):
    count = num_tokens
    first = prompt
    fed, cache = first, None
    written = [prompt[:, :0]]
    for _ in range(count):
        logits, made = model(fed, cache)
        row = logits[:, -1:]
        chosen = row.argmax(-1)
        written.append(chosen)
        fed = chosen
        cache = made
    out = torch.cat(written, 1)
    return out
"""
_STATES = 997


@dataclass
class Memory:
    """What the toy keeps of a text: a number for each sequence, and how many tokens it read."""

    state: Tensor
    length: int


class Toy(nn.Module):
    """Logits looked up by a number in which every token and every position left its trace: it writes what it read.

    Attributes:
        fed: How many tokens were read so far, in all calls and sequences.
        calls: How many calls there were.
    """

    def __init__(self, generator: torch.Generator, num_words: int, keeps_one: bool) -> None:
        """Draw the logits of every state.

        Args:
            generator: For the logits.
            num_words: How many words there are.
            keeps_one: Whether a cache is written in place, as memory that was taken once, or a
                new one comes back at every call.
        """
        super().__init__()
        table = torch.randn(_STATES, num_words, generator=generator, dtype=torch.float64)
        self.table = nn.Parameter(table, requires_grad=False)
        self.keeps_one = keeps_one
        self.fed = self.calls = 0

    def forward(self, tokens: Tensor, cache: Memory | None = None) -> tuple[Tensor, Memory]:
        """Read tokens (B, T) behind what the cache knows; return logits (B, T, V) and a cache."""
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.is_floating_point():
            raise TypeError("the model reads tokens with the axes (B, T), as integers")
        if cache is not None and not isinstance(cache, Memory):
            raise TypeError("the model takes a cache that it returned, or None")
        self.fed += tokens.numel()
        self.calls += 1
        before = cache or Memory(torch.full_like(tokens[:, 0], 5), 0)
        if len(before.state) != len(tokens):
            size = len(before.state)
            raise ValueError(f"the cache is of {size} sequences, and the tokens are {tokens.tolist()}")
        states, length = [before.state], before.length
        for token in tokens.unbind(1):
            length += 1
            states.append((states[-1] * 31 + (token + 3) * (7 * length + 4)) % _STATES)
        after = Memory(states[-1], length)
        if self.keeps_one and cache is not None:
            cache.state, cache.length = after.state, after.length
            after = cache
        return self.table[torch.stack(states[1:], dim=1)], after


def _made(batch: int, prompt: int, new: int, words: int = 11, keeps_one: bool = False) -> Make:
    """Make a toy, a prompt (batch, prompt) and the number of new tokens."""
    return lambda g: (Toy(g, words, keeps_one), torch.randint(words, (batch, prompt), generator=g), new)


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
    "The model does not read each token exactly once. Count what you feed: the prompt, then each new token by itself."
)
_ALL_TEXT = "fed = torch.cat([prompt, *written], 1)"
_FILLED = "model(first, None)[1]"
_BEFORE_LAST = "model(prompt[:, :-1], None)[1] if prompt.shape[1] > 1 else None"
_SCORES = "kept = []\nwritten = [prompt[:, :0]]\nkept.append({})\nchosen = row.argmax(-1)\nreturn torch.cat(kept, 1)"
_ALONE = """
def greedy_decode(model, prompt, num_tokens):
    texts, cache = [], None
    for fed in prompt.split(1):
        written = [fed[:, :0]]
        for _ in range(num_tokens):
            logits, cache = model(fed, cache)
            fed = logits[:, -1:].argmax(-1)
            written.append(fed)
        texts.append(torch.cat(written, 1))
    return torch.cat(texts)
"""

EXERCISE = exercise(
    greedy_decode,
    right=RIGHT,
    asks="Let a model with a cache write `num_tokens` tokens, always the likeliest.",
    minutes=20,
    difficulty=3,
    importance=5,
    cases=(
        case("3 sequences, a prompt of 4, 6 new tokens", _made(3, 4, 6)),
        case("a cache that is written in place", _made(2, 5, 7, keeps_one=True)),
        case("one sequence", _made(1, 3, 8, 3)),
        case("a prompt of one token", _made(2, 1, 6)),
        case("one new token", _made(3, 5, 1)),
        case("4 sequences, 4 words, a prompt of 4, 4 new tokens", _made(4, 4, 4, 4)),
        case("a prompt longer than the text", _made(2, 9, 3, 7)),
        case("many words", _made(3, 2, 8, 300)),
        case("one of everything", _made(1, 1, 1, 2)),
        case("no new token", _made(3, 4, 0)),
        case("two texts with one model", _made(3, 4, 6), run=_two_texts_of_one_size),
        case("two texts with one model, 3 sequences, then 2", _made(3, 4, 6), run=_two_texts),
        case("how many tokens the model reads too often", _made(3, 5, 9), run=_reads, says=_TOO_OFTEN),
        case("how many tokens it reads too often, with a cache in place", _made(2, 6, 11, keeps_one=True), run=_reads,
             says=_TOO_OFTEN),
    ),
    mistakes=(
        mistake("the whole text read again at every step", "The tokens are right, and the cache is never used: the "
                "whole text is read again for every new token. Each token is to be read once: what is left to read, "
                "if the cache knows the rest?", f"{_ALL_TEXT}\ncache = None"),
        mistake("the prompt read twice", "The tokens are right, but the prompt was read twice. One call gives its "
                "logits and its cache together.", "model(first, None)\nfed, cache = first, None"),
        mistake("the whole text read on top of its cache", "The whole text was given to a cache that holds it already: "
                "the model sees its beginning twice. What does the cache not know yet?",
                _ALL_TEXT, f"fed, cache = first, {_FILLED}"),
        mistake("the prompt fed again at every step", "The prompt was read anew with every token, by a cache that "
                "holds it already. What does the cache not know yet?",
                "fed = prompt", "fed = torch.cat([prompt, chosen], 1)"),
        mistake("tokens read twice", "Tokens that the cache holds already were read once more. Of all tokens so far, "
                "which one is new to it?", f"fed, cache = first[:, -1:], {_FILLED}", "fed = torch.cat(written, 1)",
                "fed = torch.cat([prompt, *written], 1)[:, -2:]", "fed = chosen.repeat(1, 2)",
                "logits, made = model(fed, cache if cache is None else model(fed, cache)[1])"),
        mistake("the pair taken for logits", "A call of the model returns two things, and both together, or the wrong "
                "one, were indexed as logits. In which order do they come, and how are they taken apart?",
                "logits, made = model(fed, cache), None", "logits, made = reversed(model(fed, cache))"),
        mistake("the cache not passed on", "After the prompt the model reads each token as the first of a text: "
                "nothing it read before is known, and positions start at 0 again. What does a call return besides "
                "logits?", "cache = None"),
        mistake("the cache of the prompt at every step", "Every step begins from the cache as it was after the prompt. "
                "Each call returns a newer one: who keeps it?", "cache = made if cache is None else cache",
                f"first = prompt[:, -1:]\nfed, cache = first, {_BEFORE_LAST}\ncache = cache"),
        mistake("a cache left over from the last text", "A text depends on the one before it: the cache of the one "
                "was kept for the next. What does a new text begin with?",
                "fed, cache = first, getattr(model, 'kept', None)\nmodel.kept = cache\nreturn out", _ALONE),
        mistake("only one token of the prompt read", "The model never read all of the prompt, but a single token "
                "of it. An empty cache knows nothing: which tokens must the first call bring?",
                "first = prompt[:, -1:]", "first = prompt[:, :1]"),
        mistake("the prompt without its last token", "The last token of the prompt, or its first, was never read. "
                "Which logits predict the first new token, and what must have been read for them?",
                "first = prompt[:, :-1] if prompt.shape[1] > 1 else prompt",
                "first = prompt[:, 1:] if prompt.shape[1] > 1 else prompt"),
        mistake("always the last prompt token read", "The model is given a token of the prompt again at every step, "
                "not the one that it wrote.", "fed = prompt[:, -1:]"),
        mistake("more than one new token read at a step", "A prediction for every position of the prompt was fed back, "
                "not only the newest token. The cache has no gap to fill: how many tokens does a later call bring?",
                "fed = logits.argmax(-1)", "chosen = logits.argmax(-1)"),
        mistake("tokens without an axis for positions", "The tokens that were fed after the prompt have lost an axis, "
                "or have the two exchanged. The model reads (B, T): how many tokens does each sequence get now?",
                "fed = chosen[:, 0]", "fed = chosen.mT"),
        mistake("the prompt backwards", "The prompt was read from its end to its beginning.", "first = prompt.flip(1)"),
        mistake("logits of the first position", "The first new token comes from the logits of another position than "
                "the prompt's last. Which row has seen the whole prompt?",
                "row = logits[:, :1]", "row = logits[:, -2:][:, :1]", "row = logits.mean(1, keepdim=True)",
                "row = logits.amax(1, keepdim=True)"),
        mistake("predictions for the prompt itself", "Every row of the prompt's logits was taken for a new token. All "
                "rows but the last predict tokens that the prompt has already; the next token needs the one before it "
                "to be read.", "count = 0\nreturn model(prompt, None)[0].argmax(-1)[:, :num_tokens]",
                "count = 0\nreturn model(prompt, None)[0].argmax(-1)[:, -num_tokens:]"),
        mistake("the maximum over another axis", "The maximum was taken over positions or sequences, so what came out "
                "is not a token. Which axis of (B, T, V) holds the scores of the words?",
                "chosen = logits.argmax(1)[:, -1:]", "chosen = logits.argmax(1)[:, :1]",
                "chosen = row[:, 0].argmax(0)[:, None]", "chosen = row.argmax(0)", "chosen = row.argmax(1)"),
        mistake("the last sequence for the last position", "The row was taken along the axis of the sequences. Of "
                "(B, T, V), where are the positions?", "chosen = logits[-1].argmax(-1, keepdim=True)",
                "chosen = logits[-1:, -1].argmax(-1, keepdim=True)", "chosen = logits[-1:].argmax(-1)"),
        mistake("the least likely token", "The token with the smallest logit was taken. Which end of the row is the "
                "likeliest one?", "chosen = row.argmin(-1)"),
        mistake("not the best token", "A token other than the likeliest was taken. Greedy means the best one at each "
                "step.", "chosen = row.topk(2, -1).indices[..., 1]", "chosen = row.abs().argmax(-1)",
                "chosen = row[..., 1:].argmax(-1)", "chosen = row[..., :-1].argmax(-1)",
                "chosen = (row.argmax(-1) + 1) % row.shape[-1]"),
        mistake("one choice for all sequences", "All sequences of the batch go on with the same token. Over which axis "
                "is the best one chosen, and which axes stay?", "chosen = row[:1].argmax(-1).expand(len(row), 1)",
                "chosen = (row.argmax() % row.shape[-1]).expand(len(row), 1)",
                "chosen = row.mean(0, keepdim=True).argmax(-1).expand(len(row), 1)",
                "chosen = row.argmax().expand(len(row), 1)"),
        mistake("one sequence's token fed to all", "Each sequence writes its own token, but all of them read the same "
                "one next. Whose is it?", "fed = chosen[:1].expand_as(chosen)", "fed = chosen[-1:].expand_as(chosen)"),
        mistake("a number instead of a token for each sequence", "One number was taken out of the tokens of the whole "
                "batch: `item` and `int` need a tensor that holds a single one, and an index takes one of several. How "
                "many sequences are there?",
                "chosen = torch.tensor([[row.argmax(-1).item()]])", "chosen = row[:1].argmax(-1)",
                "fed = chosen[:1]", "chosen = (row.argmax() % row.shape[-1]).view(1, 1)",
                "chosen = row.argmax().view(1, 1)"),
        mistake("one choice for all steps", "The first new token is repeated up to the end. What must the model read "
                "after it has written a token?", "out = torch.cat([*written, *written[1:2] * num_tokens], 1)"
                "[:, num_tokens:] if count else written[0]"),
        mistake("tokens drawn at random", "The tokens were drawn at random. Greedy decoding draws nothing: it gives "
                "the same text every time.",
                "chosen = row[:, 0].softmax(-1).multinomial(1)", detects=lambda trace: trace.used_global_random),
        mistake("the prompt returned too", "The prompt, or its last token, comes before the new tokens. Only the new "
                "ones are asked for.", "return torch.cat([prompt, out], 1)",
                "return torch.cat([prompt[:, -1:], out[:, :-1]], 1)", "return torch.cat([prompt[:, -1:], out], 1)"),
        mistake("one token too many, or too few", "The number of new tokens is off by one. The prompt's logits give "
                "the first of them.",
                "count = num_tokens + 1", "count = max(num_tokens - 1, 0)", "return out[:, 1:]", "return out[:, :-1]"),
        mistake("the first new token lost", "The text begins with its second token: the one that the prompt's own "
                "logits predict was read, but not written down.", "count = num_tokens + 1\nreturn out[:, 1:]"),
        mistake("a text as long as prompt and new tokens together", "The prompt was counted among the new tokens. "
                "`num_tokens` says how many to write.", "count = max(num_tokens - prompt.shape[1], 0)",
                "count = max(num_tokens - prompt.shape[1], 0)\nreturn torch.cat([prompt, out], 1)[:, :num_tokens]"),
        mistake("an end of the text assumed", "The text stops, or is filled up, after a certain token. None is said "
                "to mean the end here: how many are asked for?",
                *(f"return out[:, (out == 0).{how}(0).cumsum(0) == 0]" for how in ("any", "all")),
                "ended = (out == 0).cumsum(1) > 0\nreturn out.masked_fill(ended, 0)",
                "ended = (out == 0).any(0).cumsum(0)\nreturn out[:, ended.cumsum(0) <= 1]"),
        mistake("no new token is a special case", "With `num_tokens` = 0 there is nothing to join, and the call fails, "
                "writes a token anyway, or returns a different kind of "
                "object. Which tensor of shape (B, 0) could the list "
                "begin with?",
                "written = []", "written = []\nout = torch.stack([token[:, 0] for token in written], 1)",
                "count = max(num_tokens, 1)",
                *(f"return out if num_tokens else {nothing}"
                  for nothing in ("None", "[]", "torch.tensor([])", "prompt", "out.float()"))),
        mistake("output with other axes", "The tokens are right, but the result must have the axes (B, num_tokens). "
                "Which axis is time, and is there one too many or too few?",
                "return out.mT", "return out.unsqueeze(-1)", "return out.flatten()", "return out[0]", "return out[:1]",
                "return out.mT.reshape(-1, 1) if num_tokens else out"),
        *saying((squeezed("return out{}"),), {
            "squeeze takes too many axes": "With one sequence or one new token, an axis is lost: `squeeze()` without "
                "a number removes every axis of size 1, and with a number an axis that is not always of size 1. Which "
                "one did you mean?",
        }),
        mistake("tokens that are not integers", "Tokens are numbers of words: a tensor of dtype long, which an "
                "embedding can look up.",
                "return out.float()", "return out.tolist()", "return out.int()", "return list(out.unbind(1))",
                "return out.mT.tolist()", "return list(out.split(1, 1))"),
        mistake("scores instead of tokens", "What came back are scores or probabilities, not the numbers of the "
                "tokens. What tells you which entry is the largest?",
                *map(_SCORES.format, ("row", "row.softmax(-1)", "row.amax(-1)"))),
        NOTHING,
        mistake("new tokens in reverse", "The tokens come back from the last to the first.", "return out.flip(1)"),
    ),
    hints=(
        "Write down what the model reads in the first call and in the second, and what it gives back each time. Who "
        "holds what it read before?",
        "The first call brings the whole prompt and no cache. Every later call brings one token per sequence, and the "
        "cache that the call before returned.",
        "Only the last row of the logits has seen everything. Keep its axis while choosing, and the result has the "
        "axes (B, 1) that the next call needs.",
        "Begin the list of what was written with an empty (B, 0) slice of the prompt: then joining it works for no "
        "token as well.",
    ),
)
