"""Time drafts that are looked up in the prompt against decoding token by token.

Method: one thread, greedy, processor time, the better of two runs each in turn; shortest 2, longest
3, 8 drafts a call, then the same with shortest 1 and 10 drafts. Both ways must write the same
tokens. Five minutes on one core:

    python -m benchmarks.chapters.ch19.chapter_19_lookup
"""

import time

import torch

from benchmarks.chapters.ch19.notebook import definitions
from benchmarks.recording import Row, Script, each
from course_utils.data import installed_texts
from course_utils.model_file import SHA256
from course_utils.models import chat_prompt, released

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
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
NUM_TOKENS = 60


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    made, found = released.model(), definitions("with_drafts", "token_by_token")

    def row(name: str, shortest: int, longest: int, drafts: int) -> Row:
        prompt = made.tokenizer.encode(PROMPTS[name])
        best = {"plain": torch.inf, "drafts": torch.inf}
        for _ in range(2):
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
        cases = [(name, *how) for name in PROMPTS for how in ((2, 3, 8), (1, 3, 10))]
        runs = each(row, cases)
    script.record(
        what="decoding with drafts from the prompt, compared with token by token",
        settings={"sha256": SHA256, "tokens": NUM_TOKENS},
        runs=runs,
    )


if __name__ == "__main__":
    main()
