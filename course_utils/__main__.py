"""`python -m course_utils doctor`: what the course needs, what is there, how to get the rest."""

import sys

from course_utils.doctor import main

if __name__ == "__main__":
    sys.exit(main() if sys.argv[1:] == ["doctor"] else __doc__)
