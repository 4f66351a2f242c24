"""The models that chapters 01 and 02 show as code are the package's, to the last bit."""

import ast
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from course_utils import models
from course_utils.attention import dot_score
from course_utils.data import FIRST_SYMBOL, PAD, repeat_pairs

SOLUTIONS = Path(__file__).parents[2] / "solutions"
SIZE = FIRST_SYMBOL + 10
NAMES = {"Layers", "Seq2Seq", "Additive", "fixed_context", "attention_context"}


def shown(name: str) -> dict[str, Any]:
    """Run a chapter's imports and the definitions of its model, and nothing else of it."""
    tree = ast.parse((SOLUTIONS / name).read_text(encoding="utf-8"))
    kept: list[ast.stmt] = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) or getattr(node, "name", None) in NAMES
    ]
    space: dict[str, Any] = {"__name__": name}
    exec(compile(ast.Module(kept, []), name, "exec"), space)
    return space


def chapter_01(context: str) -> list[Callable[[], Any]]:
    """Return what makes the shown model, and what makes the package's."""
    space = shown("01_bottleneck.py")
    of: dict[str, Callable[[], Any]] = {
        "fixed": models.FixedContext,
        "attention": partial(models.AttentionContext, dot_score),
    }
    sized = partial(models.Seq2Seq, num_source=SIZE, num_target=SIZE, bidirectional=False)
    return [
        lambda: space["Seq2Seq"](space[f"{context}_context"]),
        lambda: sized(context=of[context]()),
    ]


def chapter_02() -> list[Callable[[], Any]]:
    """Return the same for the dates."""
    space = shown("02_additive_multiplicative.py")
    sized = partial(models.Seq2Seq, num_source=SIZE, num_target=SIZE)
    return [
        lambda: space["Seq2Seq"](SIZE, SIZE, space["Additive"](64)),
        lambda: sized(context=models.AttentionContext(models.AdditiveScore(64, 64, 64))),
    ]


@pytest.mark.parametrize("which", ["01 fixed", "01 attention", "02"])
def test_a_shown_model_learns_and_writes_as_the_package_does(which: str) -> None:
    makers = chapter_02() if which == "02" else chapter_01(which[3:])
    generator = torch.Generator().manual_seed(1)
    pairs = repeat_pairs(torch.randint(1, 9, (64,), generator=generator), generator)
    ends = []
    for make in makers:
        torch.manual_seed(0)
        model = make()
        losses = models.train_seq2seq(model, pairs, steps=4, seed=0, batch=16)
        ends.append((losses, [*model.parameters()], models.write_all(model, pairs).tokens))
    (ours, mine, wrote), (theirs, package, written) = ends
    assert ours == theirs
    for a, b in zip(mine, package, strict=True):
        assert torch.equal(a, b)
    real = written != PAD
    assert torch.equal(wrote[real], written[real])
