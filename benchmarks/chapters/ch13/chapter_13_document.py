"""Keep one classified document of chapter 13, for the picture that opens the chapter.

Method: nothing is run. Words, weights, slopes and leave-one-out are taken from the widget of
section 8 in the executed notebook, rounded to four decimals:

    python -m benchmarks.chapters.ch13.chapter_13_document
"""

import torch

from benchmarks.chapters.stored import stored
from benchmarks.recording import Script


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    shown = stored("13", "explanation_graph")
    layers, heads, length = shown["shape"]
    weights, gradients = (
        torch.frombuffer(bytearray(shown[name]), dtype=torch.float32)
        .view(layers, heads, length, length)
        .double()
        .round(decimals=4)
        .tolist()
        for name in ("weights", "gradients")
    )
    script.record(
        what="one document: weights, slopes of the predicted class's score, and leave-one-out",
        settings={"predicted": shown["title"].removeprefix("Predicted: "), "section": 8},
        layers=[
            {"weights": weights[layer], "gradients": gradients[layer]} for layer in range(layers)
        ],
        runs=[
            {"word": word, "left_out": round(moved, 4)}
            for word, moved in zip(shown["tokens"], shown["importance"], strict=True)
        ],
    )


if __name__ == "__main__":
    main()
