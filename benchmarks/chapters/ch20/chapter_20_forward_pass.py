"""Record a forward pass of the released model on six prompts: weights, lens and next words.

Method: one thread, float32, one causal pass over each prompt, no token before it. Of each head the
weights of every query, rounded to 1/255; of the embedding and of the stream after each layer, under
the last norm and the output layer, the three likeliest words, their probabilities and the entropy;
of every position the ten likeliest next words. They are packed as `forward_pass_data.py` of the
widget says at its top. It needs the model's file, and takes half a minute of processor time.

    python -m benchmarks.chapters.ch20.chapter_20_forward_pass
"""

import random

import torch

from benchmarks.recording import Script
from course_utils.model_file import NAME, SHA256
from course_utils.models import released
from course_utils.models.chat import BEGIN, END
from course_utils.models.released.gguf import gguf_model
from course_utils.models.released.whole_pass import whole_pass
from course_utils.widgets.forward_pass.forward_pass_data import (
    BEST,
    CHANCE,
    ENTROPY,
    LENS,
    NEXT,
    WEIGHT,
    prompt_data,
)

WORDS = ["river", "paper", "seven", "glass", "north", "table", "green", "window", "song", "stone"]
SEED, REPEATED = 0, 5


def prompts() -> dict[str, str]:
    """Return the prompts by name; the repeated words are drawn."""
    drawn = "".join(f" {word}" for word in random.Random(SEED).sample(WORDS, REPEATED))
    return {
        "two names": "When Mary and John went to the store, John gave a drink to",
        "a capital": "The capital of France is",
        "five words, twice": drawn + drawn,
        "counting": "one two three four five six seven eight",
        "code": "def add(a, b):\n    return a +",
        "a chat turn": f"{BEGIN}user\nWho wrote the play Hamlet?{END}\n{BEGIN}assistant\n",
    }


def resting(found: gguf_model.Released) -> list[int]:
    """Return how many heads of each layer put more than half of their weight on the first token.

    The weight is the mean over the queries of all prompts, but for each prompt's own first.
    """
    passes = [whole_pass(found.model, found.tokenizer.encode(text)) for text in prompts().values()]
    rests = torch.cat([seen.weights[:, :, 1:, 0] for seen in passes], dim=-1).mean(-1)
    return (rests > 0.5).sum(-1).tolist()


def main() -> None:
    """Read the prompts and write one JSON file."""
    script = Script(__file__, __doc__)
    found = released.model()
    model = found.model
    script.record(
        what="a forward pass of a released model on six prompts",
        settings={
            "model": NAME, "sha256": SHA256, "layers": len(model.layers),
            "heads": model.layers[0].attention.num_heads, "best": BEST, "next": NEXT,
            "lens": LENS, "entropy": ENTROPY, "chance": CHANCE, "weight": WEIGHT, "seed": SEED,
            "resting": resting(found),
        },
        runs=[prompt_data(found, name, text) for name, text in prompts().items()],
    )  # fmt: skip


if __name__ == "__main__":
    main()
