"""A hub of real accounts: work goes out and comes back, nobody sees another's, nothing is lost."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_utils.environment import ROOT
from course_utils.model_file import ELSEWHERE
from tests.laws.deploy.classroom import NEEDS, Class, opened, process_numbers, until
from tools.grade_demo import MISTAKES, answers_of
from tools.hub_client import Account, HubError, Kernel, terminal
from tools.hub_demo import LONGEST_FOLDER, main

pytestmark = [pytest.mark.thorough, *NEEDS]
CHAPTER = "05_multi_head"
NOTEBOOK = f"{CHAPTER}/{CHAPTER}.ipynb"


@pytest.fixture(scope="module")
def hub() -> Iterator[Class]:
    with opened(CHAPTER) as running:
        yield running


@pytest.fixture(scope="module")
def ada(hub: Class) -> Account:
    """A learner who has fetched the assignment."""
    one = hub.account("learner01")
    one.assignment("fetch", CHAPTER)
    return one


@pytest.fixture(scope="module")
def kernel(ada: Account) -> Iterator[Kernel]:
    with ada.kernel(NOTEBOOK) as one:
        yield one


def forbidden(hub: Class) -> list[Path]:
    """One file or folder of each kind that is nobody's but its owner's."""
    other = hub.folder / "homes" / "learner02"
    return [
        ROOT / "solutions" / f"{CHAPTER}.py",
        ROOT / "solutions",
        ROOT / ".git",
        ROOT / "tests",
        hub.folder / "accounts.json",
        hub.folder / "hub" / "jupyterhub.sqlite",
        hub.folder / "hub" / "cookie_secret",
        hub.folder / "course" / "gradebook.db",
        hub.folder / "course" / "source" / CHAPTER,
        hub.folder / "exchange" / "attention" / "inbound",
        hub.folder / "exchange" / "attention" / "feedback",
        other / "notebooks" / f"{CHAPTER}.ipynb",
        other,
        Path(f"/proc/{hub.process.pid}/environ"),
        Path(f"/proc/{(hub.folder / 'hub' / 'pid').read_text()}/environ"),
    ]


def test_a_notebook_reaches_no_file_that_is_not_its_own(hub: Class, kernel: Kernel) -> None:
    hub.account("learner02")
    paths = [*map(str, forbidden(hub))]
    assert [path for path in paths if not Path(path).exists()] == []
    tried = kernel.run(
        "import os\nread = []\n"
        f"for path in {paths}:\n"
        "    for way in (os.listdir, lambda p: open(p, 'rb').read(1)):\n"
        "        try:\n            read.append((path, way(path)))\n"
        "        except OSError:\n            pass\n"
        "print(read)"
    )
    assert tried.text == "[]\n"
    inbound = hub.folder / "exchange" / "attention" / "inbound"
    links = kernel.run(
        f"os.symlink({paths[0]!r}, 'link')\n"
        f"try:\n    os.rename('link', {str(inbound / 'link')!r})\n"
        "except OSError as error:\n    print(type(error).__name__)\n"
        "os.remove('link')"
    )
    assert links.text.endswith("Error\n")
    signals = kernel.run(f"os.kill({(hub.folder / 'hub' / 'pid').read_text()}, 0)")
    assert signals.error.startswith("PermissionError")


def test_all_read_one_copy_of_the_released_model_and_nobody_writes_it(
    hub: Class, kernel: Kernel
) -> None:
    tried = kernel.run(
        "import os, pathlib\n"
        f"path = pathlib.Path(os.environ[{ELSEWHERE!r}])\n"
        "for one in (path, path.with_suffix('.float32.safetensors')):\n"
        "    print(one.read_bytes())\n"
        "    try:\n        one.open('ab')\n"
        "    except OSError as error:\n        print(type(error).__name__)"
    )
    assert tried.text == "b'weights'\nPermissionError\n" * 2


@pytest.mark.skipif(os.getuid() != 0, reason="without root, learners have no terminals")
def test_a_terminal_reaches_no_file_that_is_not_its_own(hub: Class, ada: Account) -> None:
    hub.account("learner02")
    paths = forbidden(hub)
    lines = [f"head -c 1 '{path}' ; ls '{path}/' && echo se''en" for path in paths]
    shown = terminal(ada, lines, "well-done")
    assert "seen" not in shown
    assert shown.count("ermission denied") >= len(paths)
    assert "seen" in terminal(ada, ["ls ~/notebooks && echo se''en"])


def test_an_account_opens_no_other_s_server(hub: Class, ada: Account) -> None:
    hub.account("learner02")
    path = f"/user/learner02/api/contents/notebooks/{CHAPTER}.ipynb"
    assert ada.server("GET", path).status_code in (403, 404)
    assert ada.server("GET", "/hub/api/users").status_code == 403
    with pytest.raises(HubError, match="not let in"):
        Account(hub.address, "learner02", hub.passwords["learner01"]).log_in()
    listening = ada.server("GET", "formgrader/api/assignments")
    assert listening.status_code == 404


def test_it_listens_on_this_machine_only(hub: Class) -> None:
    mine = {str(pid) for pid in hub.left()}
    sockets = {
        str(fd.readlink())
        for pid in mine
        for fd in Path(f"/proc/{pid}/fd").glob("*")
        if fd.is_symlink()
    }
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    open_ones = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]
    assert len(open_ones) >= 4
    assert {address.partition(":")[0] for address in open_ones} == {"0100007F"}


def test_work_goes_out_and_comes_back_with_points_and_words(hub: Class, ada: Account) -> None:
    answers = answers_of(CHAPTER) | {"split_heads": MISTAKES["split_heads"]}
    notebook = ada.read(NOTEBOOK)
    for cell in notebook["cells"]:
        cell["source"] = answers.get(cell["metadata"].get("exercise"), cell["source"])
    ada.save(NOTEBOOK, notebook)
    listed = ada.assignment("submit", CHAPTER)
    assert [one["status"] for one in listed] == ["fetched", "submitted"]
    teacher = hub.account("instructor")
    api = f"formgrader/api/assignment/{CHAPTER}"
    assert teacher.asked("POST", f"{api}/collect")["success"]
    graded = teacher.asked("POST", f"formgrader/api/submission/{CHAPTER}/learner01/autograde")
    assert graded["success"], graded
    for step in ("generate_feedback", "release_feedback"):
        assert teacher.asked("POST", f"{api}/{step}")["success"]
    one = teacher.asked("GET", f"formgrader/api/submission/{CHAPTER}/learner01")
    assert (one["score"], one["max_score"]) == (8, 10)
    ada.assignment("fetch_feedback", CHAPTER)
    home = hub.folder / "homes" / "learner01" / CHAPTER
    (page,) = home.glob("feedback/*/*.html")
    assert "split_heads" in page.read_text(encoding="utf-8")


def test_a_kernel_listens_on_no_port(hub: Class, ada: Account, kernel: Kernel) -> None:
    # Thirty servers that choose ports at once choose the same one, and a kernel never starts.
    sockets = (hub.folder / "homes" / "learner01" / ".run").glob(f"kernel-{kernel.name}-ipc-*")
    assert len(list(sockets)) == 5


def test_a_folder_too_long_for_sockets_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ("x" * LONGEST_FOLDER)
    with pytest.raises(SystemExit, match="2"):
        main(["--folder", str(folder)])
    said = capsys.readouterr().err
    assert f"at most {LONGEST_FOLDER} bytes, got {folder}" in said
    assert not folder.exists()


def test_a_second_tab_has_the_same_kernel(ada: Account, kernel: Kernel) -> None:
    kernel.run("shared = 7")
    with ada.kernel(NOTEBOOK) as again:
        assert again.run("print(shared)").text == "7\n"


def test_nothing_is_lost_when_kernel_server_and_hub_are_killed(hub: Class) -> None:
    ben = hub.account("learner02")
    path = f"notebooks/{CHAPTER}.ipynb"
    notebook = ben.read(path)
    notebook["cells"][0]["source"] = "# mine"
    ben.save(path, notebook)
    answer = answers_of(CHAPTER)["merge_heads"]
    with ben.kernel(path) as one:
        said = one.run(f"import torch\n{answer}\nfrom course_utils import check\n"
                       "print(check('merge_heads', merge_heads).passed)")  # fmt: skip
        assert said.text == "True\n", said
        kernel, server = process_numbers(one)
        pid = hub.folder / "hub" / "pid"
        first = pid.read_text()
        os.kill(int(first), signal.SIGKILL)
        assert one.run("print(merge_heads.__name__)").text == "merge_heads\n"  # it goes on
        until(lambda: pid.read_text() not in ("", first))  # empty while it is written
        until(lambda: ben.read(path)["cells"][0]["source"] == "# mine")
    os.kill(kernel, signal.SIGKILL)
    until(lambda: passed(ben, path))
    os.kill(server, signal.SIGKILL)
    until(lambda: not ben.server("GET", "api/status").ok)
    ben = hub.account("learner02")
    assert ben.read(path)["cells"][0]["source"] == "# mine"
    assert passed(ben, path)


def passed(account: Account, path: str) -> bool:
    """Return whether a new cell finds the progress and the kept answer."""
    with account.kernel(path) as one:
        said = one.run(
            "from course_utils.checking.progress import Journal\n"
            "from course_utils import mine\n"
            "print(Journal().states(), 'def merge_heads' in str(mine('merge_heads')))"
        )
    return said.text == "{'merge_heads': 'passed'} True\n"
