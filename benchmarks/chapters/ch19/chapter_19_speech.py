"""Ask the released model what it knows, bare, under its template and without the system's line.

Method: one thread, greedy, at most 16 tokens (sums: 4). An answer is right if it names the capital
or begins with the sum; where there is nothing to be right about, it is null. Three minutes on one
core:

    python -m benchmarks.chapters.ch19.chapter_19_speech
"""

import random

from benchmarks.chapters.ch19.model_texts import continued
from benchmarks.recording import Row, Script, each
from course_utils.conversation.dialogue import SYSTEM
from course_utils.model_file import SHA256
from course_utils.models import chat_prompt, released

CAPITALS = {
    "France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Germany": "Berlin", "Japan": "Tokyo",
    "Egypt": "Cairo", "Norway": "Oslo", "Poland": "Warsaw", "Greece": "Athens", "Peru": "Lima",
}  # fmt: skip
BARE = (
    "What is the capital of France?", "Why is the sky blue?", "Tell me a joke.",
    "Who wrote Hamlet?", "What is attention?", "How are you?", "Name three fruits.",
)  # fmt: skip
ASKED = (
    "How many letters r are in strawberry?", "Who won the football World Cup in 2026?",
    "What is 17 + 25?", "Name three fruits.",
)  # fmt: skip
FORMS = {
    "completion": "The capital of {} is",
    "template": "What is the capital of {}?",
    "without the system": "What is the capital of {}?",
}


def said(form: str, text: str, opened: bool = True) -> str:
    """Return a question as the model is given it."""
    if form == "completion":
        return text
    asked = chat_prompt([{"role": "user", "content": text}], SYSTEM, opened)
    return asked.partition("<|im_end|>\n")[2] if form == "without the system" else asked


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    made, draw = released.model(), random.Random(0)

    def ask(kind: str, form: str, text: str, right: str, num_tokens: int) -> Row:
        shown, gap, written = continued(made, said(form, text), num_tokens)
        begun = shown.strip() if kind == "capital" else shown.strip()[: len(right)]
        return {
            "kind": kind, "form": form, "asked": text, "said": shown, "tokens": written,
            "right": right in begun if right else None,
            "gap": round(gap, 3),
        }  # fmt: skip

    cases = [
        ("capital", form, text.format(country), city, 16)
        for form, text in FORMS.items()
        for country, city in CAPITALS.items()
    ]
    for most in (9, 99):
        pairs = [(draw.randint(1, most), draw.randint(1, most)) for _ in range(12)]
        cases += [(f"sum to {most}", "completion", f"{a} + {b} =", str(a + b), 4) for a, b in pairs]
    cases += [("bare", "completion", text, "", 8) for text in BARE]
    cases += [("other", "template", text, "", 40) for text in ASKED]
    runs = each(ask, cases)
    closed, gap, written = continued(made, said("template", "Name three fruits.", False), 24)
    runs.append(
        {"kind": "reply not opened", "said": closed, "gap": round(gap, 3), "tokens": written}
    )
    script.record(
        what="answers of the released model, greedy",
        settings={"sha256": SHA256},
        runs=runs,
    )


if __name__ == "__main__":
    main()
