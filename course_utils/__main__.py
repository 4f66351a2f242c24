"""`python -m course_utils COMMAND`: `doctor` or `model`.

doctor: what the course needs, what is there, how to get the rest.
model:  fetch the released model SmolLM2-135M-Instruct (93 MB, once); with --convert, write its
        weights in float32 beside it, for many processes that share them (538 MB).
"""

import sys


def main(given: list[str]) -> int | str | None:
    """Run a command; what it returns is the exit status."""
    if given == ["doctor"]:
        from course_utils.doctor import main as report

        return report()
    if given in (["model"], ["model", "--convert"]):
        from course_utils.model_file import main as fetch

        return fetch(convert=len(given) > 1)
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
