"""Speculative decoding with the course's own pairs: a GPT of four layers, and two drafts for it.

Method: one thread. Target and draft are trained on the topics of Python's help in byte pairs; the
bigrams are counted from the same text. Four prompts from the topics held out are continued, by
plain decoding and by each draft and γ, in rounds: every round does all of them in a new order, so
that a busy machine disturbs all alike. `milliseconds` is processor time per token, the median over
the rounds, and `times_faster` the median of the ratios within a round. `acceptance` is the share of
the guesses judged that stayed, `tokens_per_call` the tokens written per call of the target, and
`formula` (1 - α^(γ+1)) / (1 - α) with that α. `calls` times one call of the target with 64 tokens
kept, by the number of tokens fed, in the same rounds, and `ceiling` is what a draft that costs
nothing would reach: `tokens_per_call` times a plain token's time, divided by that of a call with
γ + 1 tokens (the median of the ratios within a round). `law` draws one token 20 000 times by a
round of one guess from two random distributions over eight tokens: the total variation to p, and
the same where a refused guess is replaced by a draw from p. It takes six minutes on one core.

    python -m benchmarks.chapters.ch10.chapter_10_speculation
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.recording import Row, Script, bar
from benchmarks.timing import clocked, in_rounds, milliseconds, ratio
from course_utils.data import character_text
from course_utils.models import (
    GPT,
    TokenText,
    bigram_scores,
    generate,
    next_token_loss,
    speculative_accept,
    speculative_decode,
    token_text,
    train_gpt,
)

LONGEST, PROMPT, WRITTEN, PROMPTS = 256, 32, 120, 4
TARGET = {"d_model": 128, "num_heads": 4, "num_layers": 4}
DRAFT = {"d_model": 32, "num_heads": 2, "num_layers": 1}
GAMMAS = (1, 2, 4, 8)
FED = (1, 2, 3, 5, 9, 17)
DRAWS, SYMBOLS = 20_000, 8


def trained(text: TokenText, sizes: dict[str, int], steps: int) -> tuple[GPT, Row]:
    """Train a model and say what it cost and what it lost."""
    torch.manual_seed(0)
    model = GPT(len(text.tokenizer), positions="rope", max_length=LONGEST, **sizes)
    progress = bar(f"{sizes['num_layers']} layers")
    _, seconds = clocked(train_gpt, model, text.train, steps=steps, seed=0, progress=progress)
    return model, {
        **sizes, "parameters": sum(one.numel() for one in model.parameters()), "steps": steps,
        "cpu_seconds": seconds,
        "loss": round(next_token_loss(model, text.validation), 4),
    }  # fmt: skip


def formula(acceptance: float, gamma: int) -> float:
    """Return how many tokens a call brings if each guess stays with this chance."""
    return gamma + 1 if acceptance == 1 else (1 - acceptance ** (gamma + 1)) / (1 - acceptance)


def one_way(target: GPT, draft: Any, gamma: int, greedy: bool, prompts: list[Tensor]) -> Any:
    """Write behind each prompt, plainly where there is no draft."""
    write = partial(generate, temperature=0.0 if greedy else 1.0)
    if draft is not None:
        write = partial(speculative_decode, draft=draft, gamma=gamma, greedy=greedy)
    return [
        write(target, prompt=prompt, num_tokens=WRITTEN, generator=torch.Generator().manual_seed(n))
        for n, prompt in enumerate(prompts)
    ]


def summed_up(name: Any, wrote: Any, seconds: dict[Any, list[float]], plain: Any) -> Any:
    """Return one line of the record."""
    draft, gamma, greedy = name
    count = PROMPTS * WRITTEN
    base = seconds["none", 0, greedy]
    row = {
        "draft": draft, "gamma": gamma, "greedy": greedy,
        "milliseconds": round(milliseconds(seconds[name]) / count, 3),
        "times_faster": ratio(base, seconds[name]),
    }  # fmt: skip
    if draft == "none":
        return row
    accepted, refused, calls = (
        sum(getattr(one, part) for one in wrote)
        for part in ("num_accepted", "num_refused", "num_calls")
    )
    alpha = accepted / (accepted + refused)
    row |= {
        "acceptance": round(alpha, 4), "tokens_per_call": round(count / calls, 3),
        "formula": round(formula(alpha, gamma), 3),
        "ceiling": round(ratio(base, seconds["call", gamma + 1]) / calls, 3),
    }  # fmt: skip
    if greedy:
        row["same_tokens"] = all(
            torch.equal(one.tokens, other) for one, other in zip(wrote, plain, strict=True)
        )
    return row


def calls_of(target: GPT) -> dict[Any, Any]:
    """Return one call of the target by the number of tokens fed, behind 64 that are kept."""
    cache = target.new_cache(1, LONGEST)
    kept = torch.zeros(1, 64, dtype=torch.long)
    with torch.inference_mode():
        target(kept, cache)

    def call(fed: int) -> None:
        with torch.inference_mode():
            target(kept[:, :fed], cache)
        cache.crop(64)

    return {("call", fed): partial(call, fed) for fed in FED}


def law(seed: int = 0) -> dict[str, float]:
    """Return how far the drawn tokens are from p, by the rule and by drawing from p again."""
    generator = torch.Generator().manual_seed(seed)
    q, p, after = torch.randn(3, SYMBOLS, generator=generator).mul(1.5).softmax(-1)
    counts = {"residual": torch.zeros(SYMBOLS), "target": torch.zeros(SYMBOLS)}
    guesses = torch.multinomial(q, DRAWS, replacement=True, generator=generator)
    uniforms = torch.rand(DRAWS, 2, generator=generator)
    again = torch.multinomial(p, DRAWS, replacement=True, generator=generator)
    rows = torch.stack([p, after])
    for guess, u, other in zip(guesses, uniforms, again.tolist(), strict=True):
        stayed, token = speculative_accept(guess[None], q[None], rows, u)
        counts["residual"][int(guess) if stayed else token] += 1
        counts["target"][int(guess) if stayed else other] += 1
    return {
        name: round(0.5 * (count / DRAWS - p).abs().sum().item(), 4)
        for name, count in counts.items()
    } | {"accepted_in_theory": round(torch.minimum(p, q).sum().item(), 4)}


def main() -> None:
    """Train, decode and write one JSON file."""
    script = Script(__file__, __doc__, steps=350, rounds=11)
    text = token_text(character_text())
    target, about_target = trained(text, TARGET, script.options.steps)
    small, about_draft = trained(text, DRAFT, 2 * script.options.steps)
    table = bigram_scores(text.train, len(text.tokenizer))
    drafts = {"GPT": small, "bigrams": lambda tokens: table[tokens[:, -1]]}
    starts = [number * (len(text.validation) // PROMPTS) for number in range(PROMPTS)]
    prompts = [text.validation[None, start : start + PROMPT] for start in starts]
    ways: dict[Any, Any] = {}
    for greedy in (True, False):
        ways["none", 0, greedy] = partial(one_way, target, None, 0, greedy, prompts)
        for name, draft in drafts.items():
            for gamma in GAMMAS:
                way = partial(one_way, target, draft, gamma, greedy, prompts)
                ways[name, gamma, greedy] = way
    wrote = {name: way() for name, way in ways.items()}
    seconds = in_rounds(ways | calls_of(target), script.options.rounds, 0.2)
    script.record(
        what="speculative decoding: acceptance, tokens per call and time, of two drafts",
        settings={
            "target": about_target, "GPT": about_draft, "vocabulary": len(text.tokenizer),
            "prompts": PROMPTS, "prompt": PROMPT, "written": WRITTEN, "draws": DRAWS,
            "calls": {str(fed): milliseconds(seconds["call", fed]) for fed in FED},
            "law": law(),
        },
        runs=[
            summed_up(name, wrote[name], seconds, wrote["none", 0, name[2]]) for name in ways
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
