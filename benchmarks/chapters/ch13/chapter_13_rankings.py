"""Hold explanations of trained classifiers against leave-one-out, and look for other weights.

Method: one thread. Polish or Czech? Documents of 8 to 15 words, see
`course_utils/data/two_languages.py`. `runs` are the two-layer classifiers of chapter 13: the mean
rank correlation over 150 documents of each ranking with leave-one-out, by value and by the size of
both (the flow over 40). `pooled` are models of one attention layer over words or LSTM states:
correlations of their weights with |gradient × input| and with the size of leave-one-out, what
shuffled weights move (total variation, mean of 20), and how far weights sought out by Adam get with
the output within 0.01. That distance is a median Jensen-Shannon divergence, and so are `from_even`,
the distance of a model's weights from even ones, and `between_seeds`, from those of the other seeds
(the mean over them). `right_even` is a model trained with even weights, all else being equal.
`cues` are models where one shared word stands in nine of ten Polish training documents and in one
of ten Czech ones. It takes three minutes.

    python -m benchmarks.chapters.ch13.chapter_13_rankings
"""

from typing import Any

import torch
from torch import Tensor

from benchmarks.recording import Row, Script
from benchmarks.timing import clocked
from course_utils.data.two_languages import Documents, draw_documents, plant_cue, vocabulary
from course_utils.interpretability import effective_attention, leave_one_out
from course_utils.models.tasks.head_values import head_values
from course_utils.models.tasks.other_weights import (
    adversarial_weights,
    divergence,
    even_weights,
    shuffled_weights,
    total_variation,
)
from course_utils.models.tasks.pooled_classifier import PooledClassifier
from course_utils.models.tasks.rankings import mean_agreement, token_rankings
from course_utils.models.tasks.text_classifier import TextClassifier, train_classifier

STEPS, POOLED_STEPS = 500, 300
JUDGED, EXPLAINED, FLOWS, SHUFFLES = 1000, 150, 40, 20
ENCODERS = ("words", "lstm")
OFTEN = 0.9  # how much of Polish has the planted cue in training


def right(model: Any, documents: Documents, skip: int = 0) -> float:
    """Return the share of documents whose language is told."""
    with torch.no_grad():
        scores = model(documents.tokens[:, skip:], documents.mask[:, skip:])
    return round((scores.argmax(dim=-1) == documents.labels).float().mean().item(), 3)


def classifier(seed: int) -> Row:
    """Train a classifier, and hold every ranking against leave-one-out."""
    torch.manual_seed(seed)
    model = TextClassifier()
    _, seconds = clocked(
        train_classifier, model, lambda *read: model.explain(*read)[0], steps=STEPS, seed=seed
    )
    judged = draw_documents(JUDGED, torch.Generator().manual_seed(1_000))
    documents = draw_documents(EXPLAINED, torch.Generator().manual_seed(1_001))
    said = token_rankings(model, documents, flows=FLOWS)
    left = said.pop("leave-one-out")
    values = head_values(model, documents.tokens, documents.mask[:, None, None])
    layers = model.explain(documents.tokens, documents.mask)[1]
    kept = [
        effective_attention(weights.detach(), value * documents.mask[:, None, :, None])
        for weights, value in zip(layers, values, strict=True)
    ]
    return {
        "seed": seed, "cpu_seconds": seconds,
        "right": right(model.predict, judged),
        "rankings": {
            name: [round(mean_agreement(a, b, documents.mask), 3)
                   for a, b in ((one, left), (one.abs(), left.abs()))]
            for name, one in said.items()
        },
        "effective_share": [
            round((part[:, :, 0].norm(dim=-1) / whole[:, :, 0].norm(dim=-1)).mean().item(), 3)
            for part, whole in zip(kept, layers, strict=True)
        ],
    }  # fmt: skip


def trained_evenly(encoder: str, seed: int) -> float:
    """Return how often a model is right that was trained, and is judged, with even weights."""
    torch.manual_seed(seed)
    model = PooledClassifier(encoder)

    def score(tokens: Tensor, mask: Tensor) -> Tensor:
        words, real = tokens[:, 1:], mask[:, 1:]
        return model.classify(even_weights(real), model.encode(model.embed(words), real))

    train_classifier(model, score, steps=POOLED_STEPS, seed=seed)
    judged = draw_documents(JUDGED, torch.Generator().manual_seed(1_000))
    with torch.no_grad():
        guess = score(judged.tokens, judged.mask).argmax(dim=-1)
    return round((guess == judged.labels).float().mean().item(), 3)


def pooled(encoder: str, seed: int) -> tuple[Row, Tensor]:
    """Train one attention layer, look for other weights, and return its own too."""
    torch.manual_seed(seed)
    model = PooledClassifier(encoder)
    _, seconds = clocked(
        train_classifier, model, lambda t, m: model(t[:, 1:], m[:, 1:]), steps=POOLED_STEPS,
        seed=seed,
    )  # fmt: skip
    judged = draw_documents(JUDGED, torch.Generator().manual_seed(1_000))
    documents = draw_documents(EXPLAINED, torch.Generator().manual_seed(1_001))
    tokens, mask = documents.tokens[:, 1:], documents.mask[:, 1:]
    words = model.embed(tokens).detach().requires_grad_()
    vectors = model.encode(words, mask)
    weights = model.weights(vectors, mask)
    output = model.classify(weights, vectors).softmax(dim=-1)
    (slope,) = torch.autograd.grad(output.amax(dim=-1).sum(), words)
    with_input = (slope * words).sum(dim=-1).detach().abs()
    weights, vectors, output = weights.detach(), vectors.detach(), output.detach()
    left = leave_one_out(lambda *read: model(*read).softmax(dim=-1), tokens, mask).abs()
    generator = torch.Generator().manual_seed(2)

    def moved(other: Tensor) -> float:
        out = model.classify(other, vectors).softmax(dim=-1)
        return total_variation(out, output).mean().item()

    shuffled = [moved(shuffled_weights(weights, mask, generator)) for _ in range(SHUFFLES)]
    far = divergence(adversarial_weights(model, vectors, weights, mask), weights)
    row = {
        "encoder": encoder, "seed": seed, "cpu_seconds": seconds,
        "right": right(model, judged, skip=1),
        "right_even": trained_evenly(encoder, seed),
        "with_gradient": round(_over_words(weights, with_input, mask), 3),
        "with_deletion": round(_over_words(weights, left, mask), 3),
        "shuffled": round(sum(shuffled) / len(shuffled), 3),
        "adversarial": round(far.median().item(), 3),
        "from_even": round(divergence(weights, even_weights(mask)).median().item(), 3),
    }  # fmt: skip
    return row, weights


def all_pooled(encoder: str, seeds: range) -> list[Row]:
    """Return a row for each seed, with how far its weights are from those of the others."""
    rows, weights = zip(*(pooled(encoder, seed) for seed in seeds), strict=True)
    for number, row in enumerate(rows):
        others = [divergence(weights[number], weights[n]).median() for n in seeds if n != number]
        row["between_seeds"] = round(torch.stack(others).mean().item(), 3) if others else None
    return list(rows)


def _over_words(one: Tensor, other: Tensor, mask: Tensor) -> float:
    """Return the mean agreement where there is no class token."""
    ahead = [torch.cat([part[:, :1], part], dim=-1) for part in (one, other, mask)]
    return mean_agreement(*ahead)


def cue(encoder: str, seed: int) -> Row:
    """Train on documents with a planted cue, and ask what the weights do with it."""
    torch.manual_seed(seed)
    model = PooledClassifier(encoder)
    train_classifier(
        model, lambda t, m: model(t[:, 1:], m[:, 1:]), steps=POOLED_STEPS, seed=seed,
        draw=lambda n, generator: plant_cue(draw_documents(n, generator), generator, OFTEN)[0],
    )  # fmt: skip
    drawn = draw_documents(JUDGED, torch.Generator().manual_seed(1_000))
    found: Row = {"encoder": encoder, "seed": seed}
    for name, often in (("cue tells the truth", 1.0), ("cue misleads", 0.0)):
        # Of each language the documents in which the cue stands, or would.
        documents, planted = plant_cue(drawn, torch.Generator().manual_seed(3), often)
        tokens, mask = documents.tokens[:, 1:], documents.mask[:, 1:]
        with torch.no_grad():
            weights = model.weights(model.encode(model.embed(tokens), mask), mask)
            guess = model(tokens, mask).argmax(dim=-1)
        on_cue = weights[planted, 0] * mask[planted].sum(dim=-1)
        found[name] = {
            "right": round((guess == documents.labels)[planted].float().mean().item(), 3),
            "weight_over_even": round(on_cue.mean().item(), 2),
        }
    return found


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    seeds = range(script.options.seeds)
    script.record(
        what="explanations of trained classifiers beside leave-one-out",
        settings={"words": vocabulary()[1], "steps": STEPS, "pooled_steps": POOLED_STEPS,
                  "judged": JUDGED, "explained": EXPLAINED, "flows": FLOWS},
        pooled=[row for encoder in ENCODERS for row in all_pooled(encoder, seeds)],
        cues=[cue(encoder, seed) for encoder in ENCODERS for seed in seeds],
        runs=[classifier(seed) for seed in seeds],
    )  # fmt: skip


if __name__ == "__main__":
    main()
