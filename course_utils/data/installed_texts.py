"""Three texts that every installation has: what a language model is tried on without a download.

Of the first two, a model released in 2024 may have seen copies; the third was written after it.
"""

import pydoc_data.topics
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

HERE = Path(__file__).resolve().parent


@cache
def installed_texts() -> dict[str, str]:
    """Return the texts by name.

    Returns:
        "sklearn", the descriptions of two data sets in scikit-learn (BSD-3-Clause); "help",
        Python's own help on classes and assertions (PSF licence); "course", prose of this course,
        kept as it stood in November 2026.
    """
    # Found without an import, which takes its time.
    described = Path(str(distribution("scikit-learn").locate_file("sklearn/datasets/descr")))
    topics = pydoc_data.topics.topics
    return {
        "sklearn": "".join(
            (described / f"{name}.rst").read_text(encoding="utf-8")
            for name in ("california_housing", "kddcup99")
        ),
        "help": topics["class"] + topics["assert"],
        "course": (HERE / "course_prose.txt").read_text(encoding="utf-8"),
    }
