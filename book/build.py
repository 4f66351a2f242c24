"""Build the course's site: `python -m book.build [--edition learner|instructor] [--clean]`.

The pages that `book.yml` names are laid out below `_build/book`, then Sphinx makes the site.
Any warning is an error. The learner's edition shows `notebooks/` as they look after a run and goes
to `_build/html`; the instructor's shows `solutions/` and goes to `_build/html-instructor`. No
notebook is run here: the outputs are those stored in `solutions/`, which the tests reproduce.
Where nothing changed since the last good build, nothing is done.
"""

import argparse
import hashlib
import os
import shutil
import sys
import warnings
from importlib.metadata import distributions
from pathlib import Path

import yaml
from sphinx.cmd.build import main as sphinx_build

from book import contents, handouts
from book.contents import ROOT, SITES

# It looks at every object there is, torch's old names too.
warnings.filterwarnings("ignore", category=FutureWarning, module="sphinx_external_toc")
MADE = "_made"  # scripts and styles that are made of the widgets'
READ = ("book", "notebooks", "solutions", "course_utils", "tools")


def stamp(out: Path) -> str:
    """Return a digest of all that a build reads, its programs too, and of which files it wrote."""
    digest = hashlib.sha256(sys.version.encode())
    digest.update(repr(sorted((d.name, d.version) for d in distributions())).encode())
    paths = [ROOT / "book.yml", ROOT / "pyproject.toml"]
    paths += [path for folder in READ for path in sorted((ROOT / folder).rglob("*"))]
    for path in paths:
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    for path in sorted(out.rglob("*")):
        found = path.stat()
        digest.update(f"{path} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def lay_out(edition: str, folder: Path) -> None:
    """Make `folder` hold the edition's pages and its table of contents, writing only what changed.

    Raises:
        FileNotFoundError: `book.yml` names pages that are not there.
    """
    toc = contents.of_edition(contents.project(ROOT)["toc"], edition)
    absent = [file for file in contents.files(toc) if not (ROOT / file).is_file()]
    if absent:
        raise FileNotFoundError(f"book.yml names files that are not there: {', '.join(absent)}")
    from book import guesses  # with torch, which a site that is up to date does not need
    from book.pages import all_pages

    made = all_pages(edition)
    wanted = {folder / contents.page(file): content for file, content in made.items()}
    for picture in (ROOT / "book" / "images").glob("*.png"):
        wanted[folder / "images" / picture.name] = picture.read_bytes()
    wanted |= {folder / MADE / name: text.encode() for name, text in guesses.made().items()}
    wanted[folder / "_toc.yml"] = yaml.safe_dump(
        contents.external_toc(toc), sort_keys=False
    ).encode()
    for old in folder.rglob("*"):
        if old.is_file() and old not in wanted:
            old.unlink()
    for path, content in wanted.items():
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


# Run by a kernel before its first cell: what one page keeps, no other finds.
OWN_PROGRESS = """\
import os, tempfile
_own_progress = tempfile.TemporaryDirectory()
os.environ["ATTENTION_COURSE_PROGRESS"] = os.path.join(_own_progress.name, "progress.jsonl")
"""


def prepare_kernels(work: Path) -> None:
    """Let the notebooks' kernels use one thread, say little, and keep off the user's own files."""
    profile = work / "ipython" / "profile_default"
    (profile / "startup").mkdir(parents=True, exist_ok=True)
    (profile / "startup" / "own_progress.py").write_text(OWN_PROGRESS, encoding="utf-8")
    quiet = 'get_config().IPKernelApp.log_level = "ERROR"\n'
    (profile / "ipython_kernel_config.py").write_text(quiet, encoding="utf-8")
    os.environ |= {"IPYTHONDIR": str(work / "ipython"), "OMP_NUM_THREADS": "1"}


def build(edition: str) -> int:
    """Build one edition into `_build` and return Sphinx's exit status."""
    work = ROOT / "_build" / "book"
    out = ROOT / "_build" / SITES[edition]
    folder, kept = work / edition / "pages", work / edition / "stamp"
    if kept.is_file() and kept.read_text(encoding="utf-8") == stamp(out):
        return 0
    kept.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    lay_out(edition, folder)
    prepare_kernels(work)
    pages_read = work / edition / "doctrees"
    status = sphinx_build(
        [
            *("-b", "html", "--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"),
            *("-c", str(ROOT / "book"), "-d", str(pages_read), "-t", edition),
            *(str(folder), str(out)),
        ]
    )
    if status == 0:
        from book import front  # with the course, as above

        handouts.put(ROOT, out, edition)
        front.settle(out)
        kept.write_text(stamp(out), encoding="utf-8")
    else:
        # Sphinx warns of a page only when it reads it: the next build must read all, or it passes.
        shutil.rmtree(pages_read, ignore_errors=True)
    return status


def main() -> int:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Build the course's site into _build.")
    parser.add_argument("--edition", choices=SITES, default="learner")
    parser.add_argument("--clean", action="store_true", help="forget earlier builds")
    arguments = parser.parse_args()
    if arguments.clean:
        for stale in (ROOT / "_build" / "book", ROOT / "_build" / SITES[arguments.edition]):
            shutil.rmtree(stale, ignore_errors=True)
    try:
        status = build(arguments.edition)
    except (FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if status == 0:
        print(f"site: {ROOT / '_build' / SITES[arguments.edition] / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
