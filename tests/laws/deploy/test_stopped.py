"""Nobody is lost when a server, a kernel or the proxy stops, or when a hub has much to start.

Jupyter closes a connection that was silent for 90 seconds, and loses what a kernel sends meanwhile.
Here it would do so after 0.6 seconds, and a short stop is too long; `make repeat` makes long ones.
"""

import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from nbformat import v4
from playwright.sync_api import BrowserContext, Page, expect

from tests.laws.deploy.classroom import NEEDS, Class, opened, process_numbers, until
from tools.hub_client import Account

pytestmark = [pytest.mark.thorough, *NEEDS]
PINGS = "from jupyter_server.base import websocket\nwebsocket.WS_PING_INTERVAL = 200\n"
HOLD = "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.1)\n"
NUMBERS = [*range(8)]
COUNT = """\
import pathlib, time
for i in range(8):
    print(i, flush=True)
    pathlib.Path("begun").touch()
    time.sleep(0.25)
"""
STOPS = [("learner01", 3.0), pytest.param("learner02", 150.0, marks=pytest.mark.exhaustive)]
PAGE = "stopped.ipynb"


@pytest.fixture(scope="module")
def hub() -> Iterator[Class]:
    with opened("05_multi_head", learners=4, COURSE_HUB_AT_ONCE="1") as running:
        settle(running, "learner01", PINGS)
        settle(running, "learner03", HOLD)
        yield running


def settle(hub: Class, name: str, settings: str) -> None:
    """Make the home of an account, with settings of its own for its server."""
    home = hub.folder / "homes" / name
    (home / ".tmp").mkdir(parents=True)
    (home / ".jupyter").mkdir()
    own = home / ".jupyter" / "jupyter_server_config.py"
    own.write_text(settings, encoding="utf-8")
    if os.getuid() == 0:
        number = 70_000 + [*hub.passwords].index(name)
        for path in (home, *home.rglob("*")):
            os.chown(path, number, number)


def ready(hub: Class, name: str) -> Account:
    """Return an account with its server, and its notebook of one cell as on the first day."""
    one = hub.account(name)
    one.patience = 240
    one.save(PAGE, v4.new_notebook(cells=[v4.new_code_cell(COUNT)]))
    begun(hub, name).unlink(missing_ok=True)
    return one


def begun(hub: Class, name: str) -> Path:
    return hub.folder / "homes" / name / "begun"


def proxy(hub: Class) -> int:
    (found,) = (
        one.pid
        for one in psutil.Process(hub.process.pid).children()
        if "configurable-http-proxy" in " ".join(one.cmdline())
    )
    return found


def stop(pid: int, seconds: float) -> None:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(pid, signal.SIGCONT)


def said(hub: Class) -> str:
    return (hub.folder / "hub" / "log").read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("who", ["server", "kernel", "proxy"])
@pytest.mark.parametrize(("name", "seconds"), STOPS)
def test_a_cell_goes_on_when_what_was_stopped_goes_on(
    hub: Class, name: str, seconds: float, who: str
) -> None:
    one = ready(hub, name)
    with one.kernel(PAGE) as kernel, ThreadPoolExecutor(1) as pool:
        pids = dict(zip(("kernel", "server"), process_numbers(kernel), strict=True))
        ran = pool.submit(kernel.run, COUNT)
        until(begun(hub, name).exists)
        stop({**pids, "proxy": proxy(hub)}[who], seconds)
        assert [int(line) for line in ran.result().text.split()] == NUMBERS
        assert kernel.run("print(i)").text == f"{NUMBERS[-1]}\n"
    assert one.read(PAGE)["cells"][0]["source"] == COUNT
    assert "WebSocket ping timeout" not in said(hub)
    assert "cannot be longer than the websocket_ping_interval" not in said(hub)


def test_a_request_reaches_a_proxy_that_stood_still(hub: Class) -> None:
    """Node keeps an idle connection for five seconds; what came as they ended was lost."""
    one = hub.account("learner02")
    own = f"/hub/api/users/{one.name}"
    one.asked("GET", own)
    time.sleep(4.5)
    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(stop, proxy(hub), 2.5)
        time.sleep(0.3)
        assert one.asked("GET", own)["name"] == one.name
        stopped.result()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    one = context.new_page()
    yield one
    one.close()


def log_in(hub: Class, page: Page, name: str, place: str = "") -> None:
    """Log in by the form, and come to a place of the account's server."""
    page.context.clear_cookies()
    page.goto(f"{hub.address}/hub/login" + (f"?next=/hub/user/{name}/{place}" if place else ""))
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(hub.passwords[name])
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.browser
@pytest.mark.parametrize("who", ["server", "proxy"])
@pytest.mark.parametrize(("name", "seconds"), STOPS)
def test_jupyterlab_shows_the_whole_output_and_keeps_the_notebook(
    hub: Class, page: Page, name: str, seconds: float, who: str
) -> None:
    one = ready(hub, name)
    for session in one.asked("GET", "api/sessions"):
        one.server("DELETE", f"api/sessions/{session['id']}")
    with one.kernel(PAGE) as kernel:
        _, server = process_numbers(kernel)
    log_in(hub, page, name, f"lab/tree/{PAGE}")
    cell = page.locator(".jp-CodeCell")
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible()
    cell.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    until(begun(hub, name).exists)
    stop({"server": server, "proxy": proxy(hub)}[who], seconds)
    expect(cell.first.locator(".jp-OutputArea-output")).to_have_text(
        re.compile(r"\s*".join(map(str, NUMBERS)))
    )
    expect(cell.first.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"))
    page.keyboard.press("Control+S")
    until(lambda: bool(one.read(PAGE)["cells"][0]["outputs"]))
    kept = one.read(PAGE)["cells"][0]
    assert kept["source"] == COUNT
    assert kept["outputs"][0]["text"].split() == [*map(str, NUMBERS)]


@pytest.mark.browser
def test_a_learner_whose_server_must_wait_sees_a_page_that_asks_again(
    hub: Class, page: Page
) -> None:
    holds, waits = "learner03", "learner04"
    first = Account(hub.address, holds, hub.passwords[holds])
    first.log_in()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(first.server, "POST", f"/hub/api/users/{holds}/server")
        try:
            until(lambda: holds in str(first.asked("GET", f"/hub/api/users/{holds}")["servers"]))
            log_in(hub, page, waits)
            expect(page.get_by_role("heading", name="Your server is waiting")).to_be_visible()
        finally:
            (hub.folder / "homes" / holds / "go").touch()
    expect(page).to_have_url(re.compile(f"/user/{waits}/lab"))
