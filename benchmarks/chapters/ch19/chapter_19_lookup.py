"""Time drafts that are looked up in the prompt against decoding token by token.

Method: one thread, greedy, processor time, the best of the rounds, in turns; at most 8 drafts per
call, looked up for two or three tokens; the hasty way looks for one too, and drafts 10. Two minutes
on one core:

    python -m benchmarks.chapters.ch19.chapter_19_lookup
"""

import time

import torch

from benchmarks.chapters.definitions import definitions
from benchmarks.recording import Row, Script, each
from course_utils.conversation.dialogue import SYSTEM
from course_utils.data import installed_texts
from course_utils.model_file import SHA256
from course_utils.models import chat_prompt, released

CODE = "def area(width, height):\n    return width * height\n\ndef volume(width, height, depth):\n"
PROSE = installed_texts()["sklearn"]
BEGUN = "class Account:\n    def __init__(self, owner):\n        self.owner = owner\n\n    def"


def asked(text: str) -> str:
    """Return a question under the chat's template."""
    return chat_prompt([{"role": "user", "content": text}], SYSTEM)


PROMPTS = {
    "copy prose": f"{PROSE[300:900]}\n\nThe same text again:\n\n{PROSE[300:420]}",
    "copy code": (CODE + "    return area(width, height) * depth\n\n") * 2 + CODE,
    "a class to continue": BEGUN,
    "why is the sky blue": asked("Why is the sky blue?"),
    "tell a story": asked("Tell me a story."),
}
HASTY = ("copy prose", "why is the sky blue")
NUM_TOKENS = 40


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__, rounds=1)
    made, found = released.model(), definitions("19", "with_drafts", "token_by_token")

    def row(name: str, shortest: int, longest: int, drafts: int) -> Row:
        prompt = made.tokenizer.encode(PROMPTS[name])
        best = {"plain": torch.inf, "drafts": torch.inf}
        for _ in range(script.options.rounds):
            start = time.process_time()
            plain = found["token_by_token"](made.model, prompt, NUM_TOKENS)
            between = time.process_time()
            out, calls = found["with_drafts"](
                made.model, prompt, NUM_TOKENS, shortest, longest, drafts
            )
            end = time.process_time()
            best["plain"] = min(best["plain"], between - start)
            best["drafts"] = min(best["drafts"], end - between)
        return {
            "prompt": name, "shortest": shortest, "drafts": drafts, "same text": out == plain,
            "tokens per call": round(NUM_TOKENS / calls, 2),
            "times as fast": round(best["plain"] / best["drafts"], 2),
        }  # fmt: skip

    with torch.inference_mode():
        cases = [(name, 2, 3, 8) for name in PROMPTS]
        cases += [(name, 1, 3, 10) for name in HASTY]
        runs = each(row, cases)
    script.record(
        what="decoding with drafts from the prompt, compared with token by token",
        settings={"sha256": SHA256, "tokens": NUM_TOKENS},
        runs=runs,
    )


if __name__ == "__main__":
    main()
