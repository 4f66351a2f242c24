"""Keep what chapter 01's two live models wrote, for the picture that opens the chapter.

Method: nothing is run. The samples are taken from the widget of section 6 in the executed notebook,
the accuracy of three seeds from the record of `chapter_01_bottleneck`:

    python -m benchmarks.chapters.ch01.chapter_01_copies
"""

from benchmarks.chapters.stored import stored
from benchmarks.recording import Script
from course_utils.measure import read_record


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    shown = stored("01", "length_explorer")
    columns = ["source", *shown["names"]]
    wanted = {"width": 64, "steps": 1000}
    runs = [
        run for run in read_record("chapter_01_bottleneck")["runs"] if wanted.items() <= run.items()
    ]
    right = {
        name: [run["token_accuracy"] for run in runs if run["context"] == name]
        for name in shown["names"]
    }
    script.record(
        what="digits and the copies that the notebook's models of width 64 wrote of them",
        settings={"trained": shown["trained"], "section": 6},
        accuracy=[
            {
                "length": int(length),
                **{name: [run[length] for run in of] for name, of in right.items()},
            }
            for length in runs[0]["token_accuracy"]
        ],
        runs=[dict(zip(columns, sample, strict=True)) for sample in shown["samples"]],
    )


if __name__ == "__main__":
    main()
