#!/bin/sh
# Find the Python that the course is to use, and let it make or check .venv (tools/setup_env.py).
# $PYTHON if it is set, else the newest on PATH that the pinned PyTorch has a build for.
# Each candidate is run, not only looked up: a version manager's stand-in may exist and yet not start.
fits='import sys; from course_utils.environment import FITS; sys.exit(not FITS)'
name='import platform; print(platform.python_version())'

others="python3.13 python3.12 python3.11 python3 python"
[ -z "${PYTHON:-}" ] || others=
for candidate in "${PYTHON:-python3.14}" $others; do
    "$candidate" -c "$fits" >/dev/null 2>&1 && exec "$candidate" -m tools.setup_env "$@"
    seen=$("$candidate" -c "$name" 2>/dev/null) && other="${other:-$candidate is Python $seen}"
done
echo "${PYTHON:+PYTHON=$PYTHON cannot be used. }No suitable Python was found${other:+ ($other)}." >&2
echo "The course needs Python 3.11 to 3.14. Install one of them, or name it:" >&2
echo "    make learn PYTHON=/path/to/python3.12" >&2
exit 1
