"""Right answers in other styles than the reference: every one of them must pass."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

CHAPTERS = sorted(path.stem for path in Path(__file__).parent.glob("right_ways_ch*.py"))
RIGHT_WAYS: dict[str, tuple[Callable[..., object], ...]] = {}
for chapter in CHAPTERS:
    RIGHT_WAYS |= vars(import_module(f"tests.exercises.{chapter}"))[chapter.upper()]
