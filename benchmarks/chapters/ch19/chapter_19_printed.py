"""Keep what chapter 19's cells printed, for readers who do not have the model's file.

Method: nothing is run. The outputs of the cells with `@with_model` are taken from the executed
notebook, under the names of their functions:

    python -m benchmarks.chapters.ch19.chapter_19_printed
"""

from benchmarks.chapters.printed import keep
from benchmarks.recording import Script


def main() -> None:
    """Run from the command line."""
    keep(Script(__file__, __doc__), "19")


if __name__ == "__main__":
    main()
