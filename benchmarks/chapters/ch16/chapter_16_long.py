"""Read further than a model was trained: RoPE stretched and trained on, and a cache of fixed size.

Method: one thread. (1) Chapter 07's RoPE models, learnt on texts of 64 characters, with each way of
stretching: judged at once, and after 30 further steps on 256 characters at learning rate 1e-3,
stretched to 256 at every length. (2) The same models read 1024 characters through a cache of 64
keys: a window, or a window and four sinks, turned by place in the cache or by position in the text.
(3) The same caches for a model of two layers and four heads that learnt segments of random symbols
said again and again behind a start token. It reads segments of 16 symbols, each said twice, and
is judged on the first and the second copies. It takes about ten minutes on one core:

    python -m benchmarks.chapters.ch16.chapter_16_long
"""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from benchmarks.recording import Row, Script, rounded
from course_utils.attention import causal_mask
from course_utils.data import character_text, random_windows
from course_utils.data.repeated import SYMBOLS, repeated_segments
from course_utils.models import (
    LengthTask,
    PositionedTransformer,
    judge_on_task,
    text_task,
    train_on_task,
)
from course_utils.models.gpt.named_schemes import D_MODEL, NUM_HEADS, RESCALED, rescaled_rope
from course_utils.models.gpt.streaming_model import stream_text
from course_utils.positions import RotaryPositions

TRAINED, LONGER, LAYERS, COPIED = 64, 256, 2, 16
STEPS, FURTHER, READ_AT, STREAMED = 600, 30, (64, 128, 256, 512), 1024
CACHES = {
    "everything, by position": {"window": STREAMED, "by_place": False},
    "window of 64": {"window": 64},
    "window of 60, 4 sinks, by position": {"window": 60, "num_sinks": 4, "by_place": False},
    "window of 60, 4 sinks, by place": {"window": 60, "num_sinks": 4},
}


def trained(
    task: LengthTask, seed: int, learning_rate: float = 5e-3, steps: int | None = None
) -> PositionedTransformer:
    """Return a model of two layers with RoPE after its training."""
    torch.manual_seed(seed)
    model = PositionedTransformer(
        task.num_tokens, d_model=D_MODEL, num_heads=NUM_HEADS, num_layers=LAYERS,
        positions=rope("RoPE", TRAINED),
    )  # fmt: skip
    steps = STEPS if steps is None else steps
    train_on_task(model, task, steps=steps, seed=seed, learning_rate=learning_rate)
    return model


def rope(scheme: str, length: int) -> RotaryPositions:
    """Return RoPE as it was trained, or stretched to a length."""
    if scheme == "RoPE":
        return RotaryPositions(D_MODEL // NUM_HEADS)
    return rescaled_rope(scheme, TRAINED, length)


def stretched(model: PositionedTransformer, task: LengthTask, seed: int) -> list[Row]:
    """Judge each way of stretching, at once and after further steps at the longer length."""
    text = character_text()
    longer = replace(
        task, trained=LONGER, draw=lambda draw: random_windows(text.train, LONGER, 16, draw)
    )
    start = {name: weight.clone() for name, weight in model.state_dict().items()}

    def judged(scheme: str, fixed: int | None = None) -> dict[int, float]:
        found = {}
        for length in READ_AT:
            model.positions = rope(scheme, fixed or length)
            found[length] = round(judge_on_task(model, task, length)[0], 4)
        return found

    rows = []
    for scheme in ("RoPE", *RESCALED):
        model.load_state_dict(start)
        row = {"scheme": scheme, "seed": seed, "at once": judged(scheme)}
        row["at 256"] = judged(scheme, LONGER)
        model.positions = rope(scheme, LONGER)
        train_on_task(model, longer, steps=FURTHER, seed=seed, learning_rate=1e-3)
        rows.append({**row, "further": judged(scheme, LONGER)})
    model.load_state_dict(start)
    model.positions = rope("RoPE", TRAINED)
    return rows


def segments_task() -> LengthTask:
    """Predict segments that repeat; the long test has a fresh segment every other time."""

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        period = int(torch.randint(8, 25, (), generator=generator))
        tokens = repeated_segments(period, TRAINED, 32, generator)
        return tokens[:, :-1], tokens[:, 1:]

    generator = torch.Generator().manual_seed(1000)
    many = torch.rand(16, STREAMED // (2 * COPIED), SYMBOLS, generator=generator).argsort(dim=-1)
    said = many[..., :COPIED].repeat(1, 1, 2).flatten(1)
    tokens = torch.cat([torch.full((16, 1), SYMBOLS), said], dim=1)
    return LengthTask(SYMBOLS + 1, TRAINED, TRAINED // 2, draw, (tokens[:, :-1], tokens[:, 1:]))


def streamed(model: PositionedTransformer, task: LengthTask, kinds: dict[str, Tensor]) -> list[Row]:
    """Return the loss by position for each cache; which positions are judged says each kind."""
    tokens, targets = task.test
    ends, rows = [end for end in (64, 128, 256, 512, 1024) if end <= STREAMED], []
    for name, options in CACHES.items():
        scores = stream_text(model, tokens, **options)
        each = F.cross_entropy(scores.mT, targets, reduction="none").mean(dim=0)
        loss = {
            kind: {
                end: round(each[first:end][judged[first:end]].mean().item(), 4)
                for first, end in zip([0, *ends], ends, strict=False)
            }
            for kind, judged in kinds.items()
        }
        rows.append({"cache": name, "loss": loss})
    return rows


def rest(model: PositionedTransformer, task: LengthTask) -> dict[str, list[float]]:
    """Return the last layer's weight on the start token, by head, in first and second copies."""
    weights = model.weights(task.test[0][:, :TRAINED], causal_mask(TRAINED, TRAINED))[-1]
    on_start = weights[..., 0].mean(dim=0)
    parts = {
        "first copy": on_start[:, 2:COPIED],
        "second copy": on_start[:, COPIED + 1 : 2 * COPIED],
    }
    return {name: rounded(part.mean(-1)) for name, part in parts.items()}


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    torch.set_flush_denormal(True)
    text, segments = text_task(character_text()), segments_task()
    long_text = text_task(character_text(), longest=STREAMED, windows=24)
    runs, streams, sinks = [], [], []
    everywhere = {"all": torch.ones(STREAMED, dtype=torch.bool)}
    place = torch.arange(STREAMED) % (2 * COPIED)
    copies = {
        "first copy": (place >= 1) & (place < COPIED),
        "second copy": (place > COPIED) & (place < 2 * COPIED - 1),
    }
    for seed in tqdm(range(script.options.seeds), ncols=80):
        model = trained(text, seed)
        runs += stretched(model, text, seed)
        of_text = streamed(model, long_text, everywhere)
        streams += [{"model": "text", "seed": seed, **row} for row in of_text]
        model = trained(segments, seed, 3e-3)
        sinks.append({"seed": seed, **rest(model, segments)})
        of_segments = streamed(model, segments, copies)
        streams += [{"model": "segments", "seed": seed, **row} for row in of_segments]
    script.record(
        what="loss (nats) beyond the trained length: RoPE stretched, and caches of fixed size",
        settings={"steps": STEPS, "further_steps": FURTHER, "trained": TRAINED, "longer": LONGER,
                  "d_model": D_MODEL, "heads": NUM_HEADS, "layers": LAYERS},
        streams=streams,
        sinks=sinks,
        runs=runs,
    )  # fmt: skip


if __name__ == "__main__":
    main()
