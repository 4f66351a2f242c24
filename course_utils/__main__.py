"""`python -m course_utils COMMAND`: `doctor`, `model` or `chat`.

doctor: what the course needs, what is there, how to get the rest.
model:  fetch the released model SmolLM2-135M-Instruct (93 MB, once); with --convert, write its
        weights in float32 beside it, for many processes that share them (538 MB); with --set-up,
        as `make learn` calls it, be silent where a file of its size is there.
chat:   talk to it; it runs on the functions that you have passed.
"""

import sys


def main(given: list[str]) -> int | str | None:
    """Run a command; what it returns is the exit status."""
    if given == ["doctor"]:
        from course_utils.doctor import main as report

        return report()
    if given == ["chat"]:
        from course_utils import chat

        chat()
        return 0
    if given[:1] == ["model"] and given[1:] in ([], ["--convert"], ["--set-up"]):
        from course_utils.model_file import main as fetch

        return fetch(convert="--convert" in given, set_up="--set-up" in given)
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
