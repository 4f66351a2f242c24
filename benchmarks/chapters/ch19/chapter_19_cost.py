"""Time the released model against the tokens that it reads at once, and with its cache.

Method: one thread, float32, processor time, median of the rounds. `at once`: so many tokens read
behind a cache of 16. `position`: one more token behind so many, with a cache and by reading all of
them again. The roofs are those of one product of a matrix with a vector, and of two square
matrices. A token's bytes are those of all matrices but the embedding's row, which is the output's
matrix too. Three minutes on one core:

    python -m benchmarks.chapters.ch19.chapter_19_cost
"""

import statistics

import torch

from benchmarks.recording import Script
from benchmarks.timing import in_rounds
from course_utils.model_file import SHA256
from course_utils.models import released

SIZES, PLACES, ROUNDS = (1, 4, 16, 64, 256, 512), (16, 64, 128, 256, 512), 5


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    model, tokenizer = released.model()
    tokens = torch.randint(17, len(tokenizer), (1, 600), generator=torch.Generator().manual_seed(0))
    numbers = sum(one.numel() for one in model.parameters())
    matrix, vector = torch.randn(16384, 4096), torch.randn(4096)
    square = torch.randn(1024, 1024)

    def behind(before: int, new: int) -> None:
        cache = caches[before]
        model(tokens[:, before : before + new], cache)
        cache.crop(before)

    with torch.inference_mode():
        caches = {}
        for before in PLACES:
            caches[before] = model.new_cache(1, 600)
            model(tokens[:, :before], caches[before])
        calls = {
            **{f"at once {new}": (lambda n=new: behind(16, n)) for new in SIZES},
            **{f"cached {place}": (lambda n=place: behind(n, 1)) for place in PLACES},
            **{f"again {n}": (lambda n=n: model.logits(tokens[:, : n + 1])) for n in PLACES},
            "matrix and vector": lambda: matrix @ vector,
            "matrix and matrix": lambda: square @ square,
        }
        taken = in_rounds(calls, ROUNDS)
    seconds = {name: statistics.median(values) for name, values in taken.items()}

    def row(kind: str, places: tuple[int, ...]) -> dict[str, object]:
        spent = [round(1e3 * seconds[f"{kind} {n}"], 1) for n in places]
        return {"kind": kind, "tokens": list(places), "milliseconds": spent}

    script.record(
        what="milliseconds of the released model, in float32",
        settings={
            "sha256": SHA256, "rounds": ROUNDS, "parameters": numbers,
            "bytes per token": 4 * numbers, "FLOP per token": 2 * numbers,
            "GB per second": round(4e-9 * matrix.numel() / seconds["matrix and vector"], 2),
            "GFLOP per second": round(2e-9 * 1024**3 / seconds["matrix and matrix"], 1),
        },
        runs=[row("at once", SIZES), row("cached", PLACES), row("again", PLACES)],
    )  # fmt: skip


if __name__ == "__main__":
    main()
