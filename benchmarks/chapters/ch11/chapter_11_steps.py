"""Train chapter 11's models for other numbers of steps, and the decoder that leaks.

Three questions about chapter 02's dates, with two seeds each. How right is chapter 02's GRU after
as many steps as the Transformer, and how right is the Transformer after three times as many? What
do loss and dates say of a decoder whose second attention reads its own stream without a mask? And
what does the longest trained model look at? It takes ten minutes on one core:

    python -m benchmarks.chapters.ch11.chapter_11_steps
"""

from collections.abc import Callable
from itertools import product

import babel
import torch
from torch import Tensor, nn

from benchmarks.chapters.ch02 import chapter_02_dates
from benchmarks.chapters.ch02.chapter_02_dates import Task, alignments, judge, shown_dates
from benchmarks.chapters.ch11.chapter_11_dates import PAIRS, SETTINGS, SIZES, TESTED, new_model
from benchmarks.recording import Row, Script, each
from benchmarks.timing import clocked, training
from course_utils.data import PAD
from course_utils.measure import exact_match
from course_utils.models import (
    Transformer,
    decoder_layer,
    train_seq2seq,
    transformer_masks,
    write_all,
)

LONG, LEAK, FEW = 3000, 300, 500
PICTURED = ("en_US", "pl_PL", "zh_CN")


def open_masks(source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the masks of the decoder that leaks: the second attention's hides nothing."""
    encoder, own, _ = transformer_masks(source, target, pad_id)
    return encoder, own, torch.ones_like(own)


def leaking_layer(
    x: Tensor, memory: Tensor, self_attend: Callable[[Tensor], Tensor],
    cross_attend: Callable[[Tensor, Tensor], Tensor], *others: object,
) -> Tensor:  # fmt: skip
    """Wire a decoder's layer whose second attention reads what asks, and not the memory."""

    def second(asks: Tensor, memory: Tensor) -> Tensor:
        return cross_attend(asks, asks)

    return decoder_layer(x, memory, self_attend, second, *others)  # type: ignore[arg-type]


def leak(task: Task, name: str, seed: int) -> Row:
    """Train the right decoder or the one that leaks, and let it write."""
    alphabets = len(task.tokens.source), len(task.tokens.target)
    how = {"masks": open_masks, "decoder_layer": leaking_layer} if name == "leaking" else {}
    torch.manual_seed(seed)
    model = Transformer(*alphabets, **SIZES, **how)  # type: ignore[arg-type]
    for positions in (model.source_positions, model.target_positions):
        nn.init.normal_(positions.table.weight)
    settings = {**SETTINGS, "steps": LEAK}
    losses, seconds = clocked(train_seq2seq, model, task.training, seed=seed, **settings)
    some = task.test[:FEW]
    written = write_all(model, some)
    third = max(1, LEAK // 3)
    return {
        "what": "leak", "decoder": name, "seed": seed, "steps": LEAK, "cpu_seconds": seconds,
        "losses": [round(loss, 4) for loss in losses[third - 1 :: third]],
        "exact_match": exact_match(written.tokens, some.target[:, 1:], PAD),
        "writes": task.tokens.target.decode(written.tokens[0]),
    }  # fmt: skip


def longer(task: Task, name: str, steps: int, seed: int) -> tuple[Row, nn.Module]:
    """Train the GRU or the Transformer for a number of steps and judge it."""
    if name == "GRU":
        model: nn.Module = chapter_02_dates.new_model("additive", task, seed)
    else:
        model = new_model(name, (len(task.tokens.source), len(task.tokens.target)), seed)
    settings = {**SETTINGS, "steps": steps}
    learnt = training(train_seq2seq, model, task.training, seed=seed, **settings)
    scores = judge(model, task.tested, task.test)  # type: ignore[arg-type]
    return {"what": "steps", "model": name, "steps": steps, "seed": seed, **scores, **learnt}, model


def main() -> None:
    """Run every combination and write one JSON file."""
    script = Script(__file__, __doc__, seeds=2)
    task, seeds = Task(PAIRS, TESTED), range(script.options.seeds)
    runs = each(leak, product([task], ("right", "leaking"), seeds))
    found = []
    for (name, steps), seed in product((("GRU", SETTINGS["steps"]), ("1 + 1", LONG)), seeds):
        found.append(longer(task, name, int(steps), seed))
        print(found[-1][0])
    first = {date.locale: date for date in reversed(shown_dates())}
    shown = [first[locale] for locale in PICTURED]
    pictures = alignments("1 + 1", found[-len(seeds)][1], task, shown)  # type: ignore[arg-type]
    script.record(
        what="the same dates after other numbers of steps, and by a decoder that leaks",
        settings={**SETTINGS, **SIZES, "pairs": PAIRS, "tested": TESTED, "few": FEW},
        versions={"babel": babel.__version__},
        runs=[*runs, *(row for row, _ in found)],
        pictures=[
            {"locale": date.locale, "source": date.text, **row}
            for date, row in zip(shown, pictures["written"], strict=True)
        ],
    )


if __name__ == "__main__":
    main()
