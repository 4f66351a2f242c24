"""Run the JavaScript tests under Node.js, with the packages that package-lock.json pins.

Where Node.js is missing the tests are skipped and that is said; under CI (the variable CI is set)
it is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from course_utils.environment import NODE, ROOT

# All files in one process: `node --test` starts one for each, and each loads the document again.
RUN = """import { resolve } from "node:path";
for (const file of process.argv.slice(1)) await import(resolve(file));"""


def lacking() -> str | None:
    """Return why the tests cannot run here, None where they can."""
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if missing:
        return f"{' and '.join(missing)} not found"
    said = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    major = said.removeprefix("v").partition(".")[0]
    return None if major.isdecimal() and int(major) >= NODE else f"node is {said or 'broken'}"


def up_to_date(root: Path) -> bool:
    """Return whether node_modules holds what package-lock.json pins (npm leaves its own copy)."""
    lock, installed = root / "package-lock.json", root / "node_modules" / ".package-lock.json"
    return installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime


def test_files(root: Path) -> list[str]:
    """Return the JavaScript tests, in order."""
    return sorted(str(path.relative_to(root)) for path in (root / "tests").rglob("*.test.*js"))


def main() -> int:
    """Install the packages where they are missing, run the tests, return the exit status."""
    reason = lacking()
    if reason:
        print(f"SKIPPED the JavaScript tests: {reason}; they need Node.js {NODE} or newer.")
        return 1 if os.environ.get("CI") else 0
    npm, node = shutil.which("npm") or "npm", shutil.which("node") or "node"
    if not up_to_date(ROOT):
        if subprocess.run([npm, "ci", "--silent"], cwd=ROOT).returncode:
            print("npm could not install the packages of package-lock.json; see above.")
            return 1
        (ROOT / "node_modules" / ".package-lock.json").touch()
    files = test_files(ROOT)
    command = [node, "--test-reporter=spec", "--input-type=module", "-e", RUN, *files]
    return subprocess.run(command, cwd=ROOT).returncode if files else 0


if __name__ == "__main__":
    sys.exit(main())
