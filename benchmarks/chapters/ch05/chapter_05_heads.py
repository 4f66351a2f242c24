"""Keep what four trained heads of chapter 05 read and say, for the picture that opens it.

Method: nothing is run. Weights and contributions are taken from the widget of section 9 in the
executed notebook, rounded to three decimals:

    python -m benchmarks.chapters.ch05.chapter_05_heads
"""

import torch

from benchmarks.chapters.stored import stored
from benchmarks.recording import Script, rounded


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    shown = stored("05", "head_grid")
    _, heads, length, _ = shown["shape"]
    weights, parts = (
        torch.frombuffer(bytearray(shown[name]), dtype=torch.float32).view(heads, length, -1)
        for name in ("data", "parts")
    )
    script.record(
        what="weights of four trained heads on one sequence, and what each adds to the output",
        settings={"letters": shown["query_tokens"], "section": 9},
        runs=[
            {"head": name, "weights": rounded(weights[head]), "contribution": rounded(parts[head])}
            for head, name in enumerate(shown["head_names"])
        ],
    )


if __name__ == "__main__":
    main()
