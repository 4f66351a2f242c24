"""The client of a hub waits no longer than it says, and says what is missing; it comes again."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketHandler

from tools.hub_client import Account, HubError, terminal

SHORT = 0.5  # seconds of patience, where nothing will come
LONG = 60.0  # where it will


class Script:
    """The steps of a fake server for each connection, and its answers to questions."""

    def __init__(self) -> None:
        self.connections: list[list[str]] = []
        self.answers: list[tuple[int, dict[str, str], object]] = []
        self.sessions: list[str] = []
        self.asked: list[str] = []  # the cell of each request


class Channels(WebSocketHandler):
    """Plays the steps of a script: messages to the one request, pings, and a close."""

    def initialize(self, script: Script) -> None:
        self.script = script

    async def open(self, *_: str) -> None:
        self.script.sessions.append(self.get_argument("session_id", ""))
        self.steps = self.script.connections.pop(0)
        if self.script.asked:  # it comes again: what was left is sent at once
            await self.play()

    async def on_message(self, given: str | bytes) -> None:
        message = json.loads(given)
        if isinstance(message, dict):
            self.script.asked.append(message["header"]["msg_id"])
        self.playing = asyncio.ensure_future(self.play())  # what comes is read meanwhile

    async def play(self) -> None:
        while self.steps:
            step = self.steps.pop(0)
            if step == "close":
                self.close()
            elif step == "pings":
                for _ in range(10_000):
                    if self.ws_connection is None:
                        return
                    self.ping(b"")
                    await asyncio.sleep(0.01)
            elif step == "numbers":
                await self.write_message(b"\0" * 8, binary=True)
            else:
                await self.write_message(json.dumps(self.message(step)))

    def message(self, step: str) -> dict[str, Any]:
        if step == "execute_reply":
            kind, content = step, {}
        elif step in ("busy", "idle", "restarting"):
            kind, content = "status", {"execution_state": step}
        else:
            kind, content = "stream", {"text": step}
        own = {"msg_id": self.script.asked[-1]} if step != "restarting" else {}
        return {"msg_type": kind, "parent_header": own, "content": content}


class Rest(RequestHandler):
    """Answers every question by the next of the script's answers; the last one stays."""

    def initialize(self, script: Script) -> None:
        self.script = script

    def get(self, *_: str) -> None:
        answers = self.script.answers
        status, headers, body = answers.pop(0) if len(answers) > 1 else answers[0]
        self.set_status(status)
        for name, value in headers.items():
            self.set_header(name, value)
        self.write(json.dumps(body))

    post = get

    def check_xsrf_cookie(self) -> None:
        pass


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def ada(script: Script) -> Iterator[Account]:
    sockets, port = bind_unused_port()
    loop, ready = asyncio.new_event_loop(), threading.Event()

    async def serve() -> None:
        given = {"script": script}
        channels = r"/user/ada/(?:api/kernels/k/channels|terminals/websocket/1)"
        server = HTTPServer(Application([(channels, Channels, given), (r".*", Rest, given)]))
        server.add_socket(sockets)
        over.append(asyncio.Event())
        ready.set()
        await over[0].wait()
        server.stop()
        await server.close_all_connections()

    over: list[asyncio.Event] = []
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    ready.wait()
    one = Account(f"http://127.0.0.1:{port}", "ada", "", patience=LONG)
    yield one
    one.session.close()
    loop.call_soon_threadsafe(over[0].set)
    thread.join()
    loop.close()


WHOLE = ["busy", "1\n", "execute_reply", "idle"]


def run(ada: Account, script: Script, *connections: list[str], code: str = "print(1)") -> str:
    script.connections, script.asked = [list(steps) for steps in connections], []
    script.answers = [(200, {}, {"kernel": {"id": "k"}})]
    with ada.kernel("any.ipynb") as kernel:
        return kernel.run(code).text


def test_a_cell_is_done_when_its_reply_and_idle_have_come(ada: Account, script: Script) -> None:
    assert run(ada, script, ["numbers", *WHOLE]) == "1\n"
    assert run(ada, script, ["busy", "idle", "late\n", "execute_reply"]) == "late\n"


@pytest.mark.parametrize("came", [[], ["busy"], ["busy", "execute_reply"], ["busy", "idle"]])
@pytest.mark.parametrize("after", [[], ["pings"]])
def test_a_wait_for_a_cell_ends_and_names_account_cell_and_what_is_missing(
    ada: Account, script: Script, came: list[str], after: list[str]
) -> None:
    ada.patience = SHORT
    parts = {"busy": "busy", "its reply": "execute_reply", "idle": "idle"}
    missing = [part for part, message in parts.items() if message not in came]
    with pytest.raises(HubError) as caught:
        run(ada, script, [*came, *after], code="first = 1\nsecond = 2")
    said = f"ada, cell 'first = 1': its time is over; missing: {missing}"
    assert str(caught.value) == said


@pytest.mark.parametrize("place", range(1, len(WHOLE)))
def test_a_closed_connection_is_opened_again_by_the_same_session(
    ada: Account, script: Script, place: int
) -> None:
    assert run(ada, script, [*WHOLE[:place], "close"], WHOLE[place:]) == "1\n"
    first, again = script.sessions
    assert first == again != ""
    assert len(script.asked) == 1  # no cell is run twice


def test_a_connection_that_stays_closed_is_said(ada: Account, script: Script) -> None:
    ada.patience = SHORT
    with pytest.raises(HubError, match=r"ada, cell 'print\(1\)': its connection was closed and "):
        run(ada, script, *[["busy", "close"], *[["close"]] * 20])


def test_a_kernel_that_has_died_is_said_at_once(ada: Account, script: Script) -> None:
    with pytest.raises(HubError, match=r"its kernel has died \(restarting\); missing: .*'idle'"):
        run(ada, script, ["busy", "restarting", "pings"])


def test_a_server_that_starts_is_waited_for_as_long_as_the_hub_says(
    ada: Account, script: Script
) -> None:
    none, ready = {"servers": {}}, {"servers": {"": {"ready": True}}}
    busy = (429, {"Retry-After": "0"}, {"message": "Too many users"})
    script.answers = [(200, {}, none), busy, (200, {}, none), busy, (200, {}, ready)]
    ada.start_server()
    assert script.answers == [(200, {}, ready)]


def test_a_server_that_never_starts_is_said(ada: Account, script: Script) -> None:
    ada.patience = SHORT
    script.answers = [(200, {"Retry-After": "0"}, {"servers": {}})]
    with pytest.raises(HubError, match=r"ada: no server is ready after 0.5 s; the hub said 200 "):
        ada.start_server()
    script.answers = [(403, {}, "no")]
    with pytest.raises(HubError, match=r'ada: GET /hub/api/users/ada: 403 "no"'):
        ada.start_server()


def test_no_answer_names_account_and_question(script: Script) -> None:
    nobody, port = bind_unused_port()
    nobody.close()
    bob = Account(f"http://127.0.0.1:{port}", "bob", "", patience=SHORT)
    with pytest.raises(HubError, match="bob: no answer to GET api/status: "):
        bob.asked("GET", "api/status")
    with pytest.raises(HubError, match="bob: no connection to terminals/websocket/1: "):
        bob.socket("terminals/websocket/1")


@pytest.mark.parametrize("after", [[], ["pings"], ["close"]])
def test_a_terminal_that_stops_is_said(ada: Account, script: Script, after: list[str]) -> None:
    ada.patience = SHORT
    script.answers, script.connections = [(200, {}, {"name": "1"})], [after]
    with pytest.raises(HubError, match=r"ada, terminal: .*; missing: 'all-done'; shown: $"):
        terminal(ada, ["ls"])
