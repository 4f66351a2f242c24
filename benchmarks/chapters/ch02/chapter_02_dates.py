"""Train chapter 02's date model with each context, three seeds, and record what came out.

Two records: how right, how large and how costly each model is, and the alignments of the first
seed's models on a fixed set of held-out dates. The notebook trains one live and shows it beside
these. It takes about a quarter of an hour on one core:

    python -m benchmarks.chapters.ch02.chapter_02_dates
"""

from collections.abc import Callable
from itertools import product

import babel
import torch
from tqdm import tqdm

from benchmarks.recording import Row, Script
from benchmarks.timing import training
from course_utils.attention import dot_score
from course_utils.data import (
    HELD_OUT_LOCALES,
    LOCALES,
    PAD,
    DateTokens,
    Pairs,
    WrittenDate,
    field_mask,
    sample_dates,
)
from course_utils.measure import count_flops, exact_match
from course_utils.models import (
    AdditiveScore,
    AttentionContext,
    ConcatScore,
    Context,
    FixedContext,
    GeneralScore,
    LocalMonotonicContext,
    LocalPredictiveContext,
    LuongDecoder,
    Seq2Seq,
    field_mass,
    token_accuracy,
    train_seq2seq,
    write_all,
)

WIDTH, PAIRS, TESTED = 64, 20_000, 2000
SETTINGS = {"steps": 1300, "batch": 64, "learning_rate": 6e-3}
CONTEXTS: dict[str, Callable[[int], Context]] = {
    "fixed": lambda width: FixedContext(),
    "dot": lambda width: AttentionContext(dot_score),
    "general": lambda width: AttentionContext(GeneralScore(width, width)),
    "concat": lambda width: AttentionContext(ConcatScore(width, width, width)),
    "additive": lambda width: AttentionContext(AdditiveScore(width, width, width)),
    "local-m": lambda width: LocalMonotonicContext(GeneralScore(width, width), half_width=10),
    "local-p": lambda width: LocalPredictiveContext(GeneralScore(width, width), width, 10),
    "general, Luong's step": lambda width: AttentionContext(GeneralScore(width, width)),
}
SHOWN = ("dot", "general", "concat", "additive", "local-m", "local-p")


class Task:
    """The training pairs and the held-out ones, the same for every model."""

    def __init__(self, pairs: int, tested: int) -> None:
        learnt = sample_dates(pairs, torch.Generator().manual_seed(0))
        self.tokens = DateTokens.of(learnt)
        self.training = self.tokens.pairs(learnt)
        self.tested = sample_dates(tested, torch.Generator().manual_seed(1), held_out=True)
        self.test = self.tokens.pairs(self.tested)


def new_model(kind: str, task: Task, seed: int, width: int = WIDTH) -> Seq2Seq:
    """Return an untrained model."""
    torch.manual_seed(seed)
    options = {"decoder": LuongDecoder} if "Luong" in kind else {}
    return Seq2Seq(
        num_source=len(task.tokens.source),
        num_target=len(task.tokens.target),
        width=width,
        context=CONTEXTS[kind](width),
        **options,
    )


def judge(model: Seq2Seq, tested: list[WrittenDate], test: Pairs) -> dict[str, float]:
    """Write the dates and say how many are right, and how well each field was looked up."""
    written = write_all(model, test)
    scores = {
        "exact_match": exact_match(written.tokens, test.target[:, 1:], PAD),
        "token_accuracy": token_accuracy(written.tokens, test.target),
    }
    if written.weights is not None:
        mask = field_mask(tested, test.source.shape[1])
        scores["field_mass"] = field_mass(written.weights, mask)
    return {name: round(score, 4) for name, score in scores.items()}


def flops(model: Seq2Seq, test: Pairs) -> dict[str, int]:
    """Count the matrix products of a teacher-forced pass over 64 dates: all, and the context's."""
    some = test[:64]
    encoded, context = model.encoder(some.source), model.decoder.context

    def look() -> None:
        memory = context.remember(encoded)
        for number in range(some.target.shape[1] - 1):
            context(encoded.summary, memory, number)

    whole = count_flops(model, some.source, some.target)
    return {"flops_forward": whole, "flops_context": count_flops(look)}


def run(kind: str, seed: int, task: Task, width: int = WIDTH) -> tuple[Row, Seq2Seq]:
    """Train one model and judge it."""
    model = new_model(kind, task, seed, width)
    trained = training(train_seq2seq, model, task.training, seed=seed, **SETTINGS)
    scores = {**judge(model, task.tested, task.test), **trained, **flops(model, task.test)}
    return {"context": kind, "width": width, "seed": seed, **scores}, model


def by_locale(model: Seq2Seq, task: Task) -> list[Row]:
    """Judge one model on held-out days of each locale, trained or not."""
    rows = []
    for locale in (*LOCALES, *HELD_OUT_LOCALES):
        generator = torch.Generator().manual_seed(2)
        tested = sample_dates(200, generator, held_out=True, locales=[locale])
        scores = judge(model, tested, task.tokens.pairs(tested))
        rows.append({"locale": locale, "trained": locale in LOCALES, **scores})
    return rows


def shown_dates() -> list[WrittenDate]:
    """Return the dates whose alignments are recorded: one or two of each locale."""
    generator = torch.Generator().manual_seed(3)
    locales = [*LOCALES, *LOCALES[:20], *HELD_OUT_LOCALES]
    return [sample_dates(1, generator, held_out=True, locales=[name])[0] for name in locales]


def alignments(kind: str, model: Seq2Seq, task: Task, shown: list[WrittenDate]) -> Row:
    """Return what a model wrote for each shown date and its weights, in percent."""
    written = write_all(model, task.tokens.pairs(shown))
    rows = []
    for index, (date, tokens) in enumerate(zip(shown, written.tokens, strict=True)):
        text = task.tokens.target.decode(tokens)
        row: Row = {"text": text}
        if written.weights is not None:
            weights = written.weights[index, : len(text), : len(date.text)]
            row["percent"] = (100 * weights).round().int().tolist()
        rows.append(row)
    return {"context": kind, "seed": 0, "written": rows}


def main() -> None:
    """Run every combination and write the two records."""
    script = Script(__file__, __doc__, seeds=3)
    task, shown = Task(PAIRS, TESTED), shown_dates()
    runs, pictures, locales = [], [], []
    seeds = range(script.options.seeds)
    sizes = [*product(CONTEXTS, seeds, [WIDTH]), *product(["fixed"], seeds, (16, 32, 128))]
    for kind, seed, width in tqdm(sizes, ncols=80):
        result, model = run(kind, seed, task, width)
        runs.append(result)
        if (seed, width) == (0, WIDTH) and kind in ("fixed", *SHOWN):
            pictures.append(alignments(kind, model, task, shown))
        if (kind, seed, width) == ("additive", 0, WIDTH):
            locales = by_locale(model, task)
    common = {
        "settings": {**SETTINGS, "pairs": PAIRS, "tested": TESTED, "width": WIDTH},
        "versions": {"babel": babel.__version__},
    }
    what = "dates as people write them to YYYY-MM-DD, by what the decoder sees of the source"
    script.record(what=what, runs=runs, by_locale=locales, **common)
    what = "weights in percent on held-out days: a row a written, a column a source character"
    script.path = script.path.with_stem("chapter_02_alignments")
    names = ("text", "iso", "locale", "style", "spans")
    sources = [{name: getattr(date, name) for name in names} for date in shown]
    script.record(what=what, runs=pictures, sources=sources, **common)


if __name__ == "__main__":
    main()
