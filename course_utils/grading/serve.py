"""Judge one notebook after another for a program, which sends each as a line of JSON.

After each come the verdicts, one per line, and an empty line.
"""

import json
import sys
from dataclasses import asdict

from course_utils.grading.grade import grade
from course_utils.grading.notebook import code_cells


def main() -> None:
    """Judge until the program hangs up."""
    for line in sys.stdin:
        asked = json.loads(line)
        cells = code_cells(json.dumps(asked["notebook"]))
        for name in asked["exercises"]:
            print(json.dumps(asdict(grade(name, cells))), flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
