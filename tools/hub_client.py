"""A made-up learner, or instructor, of the hub: logs in, opens a notebook, runs its cells.

Everything goes as a browser goes: the log-in form, then the account's own server, its files, and
its kernel on the websocket, which is opened again, as JupyterLab does, where it was closed. Every
wait ends: after an account's patience, what is missing is said.
"""

import json
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import requests
import websocket

PATIENCE = 900.0  # seconds for a step; thirty servers may be starting on two cores
ATTEMPTS = 7  # JupyterLab's, to open a kernel's connection again


class HubError(Exception):
    """The hub, or one of its servers, did not answer as it should."""


class Closed(Exception):
    """The other side has closed a websocket."""


@dataclass
class Ran:
    """The output of a cell, and the time it took."""

    text: str = ""
    error: str = ""
    seconds: float = 0.0


@dataclass
class Account:
    """An account that has logged in.

    Args:
        address: The hub's.
        name: The account's.
        password: What the hub's folder says.
        patience: Seconds after which a wait for one answer, server or cell ends.
    """

    address: str
    name: str
    password: str
    patience: float = PATIENCE
    session: requests.Session = field(default_factory=requests.Session)

    def log_in(self) -> None:
        """Log in by the form, and get a token of its own for what follows.

        Raises:
            HubError: The hub does not let the account in.
        """
        self.server("GET", "/hub/login").raise_for_status()
        given = {"username": self.name, "password": self.password, "_xsrf": self._xsrf()}
        self.server("POST", "/hub/login", data=given, allow_redirects=False)
        self.server("GET", "/hub/token")
        headers = {"X-XSRFToken": self._xsrf(), "Referer": f"{self.address}/hub/token"}
        made = self.server("POST", f"/hub/api/users/{self.name}/tokens", headers=headers)
        if made.status_code != 201:
            raise HubError(f"{self.name} is not let in: {made.status_code}")
        self.session.cookies.clear()
        self.session.headers["Authorization"] = f"token {made.json()['token']}"

    def _xsrf(self) -> str:
        return self.session.cookies.get("_xsrf", path="/hub/") or ""

    def start_server(self) -> None:
        """Start the account's server, and wait until it answers.

        Where too many are starting, the hub says when to ask again.

        Raises:
            HubError: It does not answer in time.
        """
        own = f"/hub/api/users/{self.name}"
        until, said = time.monotonic() + self.patience, "nothing"
        while time.monotonic() < until:
            if self.asked("GET", own)["servers"].get("", {}).get("ready"):
                with suppress(HubError):
                    self.asked("GET", "api/status")
                    return
            started = self.server("POST", f"{own}/server")  # refused where it is starting
            said = f"{started.status_code} {started.text[:200]}"
            pause = float(started.headers.get("Retry-After", 0.5))
            time.sleep(max(0.0, min(pause, until - time.monotonic())))
        raise HubError(
            f"{self.name}: no server is ready after {self.patience:g} s; the hub said {said}"
        )

    def stop_server(self) -> None:
        """Stop the account's server."""
        self.server("DELETE", f"/hub/api/users/{self.name}/server")

    def server(self, method: str, path: str, **more: Any) -> requests.Response:
        """Ask a server, by default the account's own; a path that starts with / names any other.

        Raises:
            HubError: Nothing answers.
        """
        own = f"/user/{self.name}/{path}" if path[:1] != "/" else path
        try:
            return self.session.request(method, self.address + own, timeout=self.patience, **more)
        except requests.RequestException as error:
            raise HubError(f"{self.name}: no answer to {method} {path}: {error}") from error

    def asked(self, method: str, path: str, **more: Any) -> Any:
        """Return what a server answers.

        Raises:
            HubError: It refuses, or nothing answers.
        """
        got = self.server(method, path, **more)
        if not got.ok:
            raise HubError(f"{self.name}: {method} {path}: {got.status_code} {got.text[:500]}")
        return got.json() if got.text else None

    def assignment(self, action: str, chapter: str) -> Any:
        """Do what a button of the list of assignments does: fetch, submit, fetch_feedback.

        Raises:
            HubError: It did not work; the message is nbgrader's.
        """
        given = {"course_id": "attention", "assignment_id": chapter}
        said = self.asked("POST", f"assignments/{action}", json=given)
        if not said["success"]:
            raise HubError(str(said["value"]))
        return said["value"]

    def socket(self, path: str, patience: float | None = None) -> websocket.WebSocket:
        """Open a websocket to the account's own server, in the account's patience or a shorter one.

        Raises:
            HubError: It is refused, or nothing answers.
        """
        place = f"{self.address}/user/{self.name}/{path}".replace("http", "ws", 1)
        key = {"Authorization": self.session.headers.get("Authorization", "")}
        try:
            return websocket.create_connection(place, timeout=patience or self.patience, header=key)
        except (OSError, websocket.WebSocketException) as error:
            raise HubError(f"{self.name}: no connection to {path}: {error}") from error

    def read(self, path: str) -> Any:
        """Return one of the account's notebooks."""
        return self.asked("GET", f"api/contents/{path}")["content"]

    def save(self, path: str, notebook: Any) -> None:
        """Save a notebook, as JupyterLab does."""
        body = {"type": "notebook", "format": "json", "content": notebook}
        self.asked("PUT", f"api/contents/{path}", json=body)

    def kernel(self, path: str) -> "Kernel":
        """Open the kernel of a notebook: the one that runs, or a new one."""
        body = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
        session = self.asked("POST", "api/sessions", json=body)
        return Kernel(self, session["kernel"]["id"])


class Kernel:
    """A kernel on the websocket; use it in a `with`, which closes the connection alone."""

    def __init__(self, account: Account, name: str) -> None:
        self.name = name
        self._account = account
        # By its session the server knows who comes again, and sends what came meanwhile.
        self._path = f"api/kernels/{name}/channels?session_id={uuid.uuid4().hex}"
        self._socket = account.socket(self._path)

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *exc: object) -> None:
        _close(self._socket)

    def run(self, code: str) -> Ran:
        """Run a cell, and return what it put out when it is done.

        Raises:
            HubError: It is not done in the account's patience, its kernel has died, or the
                connection cannot be opened again; the message names account, cell and what is
                missing.
        """
        ident, start, ran = uuid.uuid4().hex, time.monotonic(), Ran()
        until, missing = start + self._account.patience, ["busy", "its reply", "idle"]

        def lost(why: object) -> HubError:
            cell = (code.strip().splitlines() or [""])[0]
            return HubError(f"{self._account.name}, cell {cell!r}: {why}; missing: {missing}")

        self._again(lambda: self._socket.send(json.dumps(_request(ident, code))), until, lost)
        while "its reply" in missing or "idle" in missing:
            message = self._again(lambda: _receive(self._socket, until), until, lost)
            kind, content = message.get("msg_type"), message.get("content", {})
            state = content.get("execution_state")
            if state in ("restarting", "dead"):
                raise lost(f"its kernel has died ({state})")
            if message.get("parent_header", {}).get("msg_id") != ident:
                continue
            data = content.get("data", {})
            ran.text += str(content.get("text", "") or data.get("text/plain", ""))
            if kind == "error":
                ran.error = f"{content['ename']}: {content['evalue']}"
            came = "its reply" if kind == "execute_reply" else state
            missing = [one for one in missing if one != came]
        ran.seconds = time.monotonic() - start
        return ran

    def _again(
        self, act: Callable[[], Any], until: float, lost: Callable[[object], HubError]
    ) -> Any:
        """Act on the connection; where it was closed, open it again and act once more."""
        for attempt in range(ATTEMPTS):
            try:
                return act()
            except TimeoutError as error:
                raise lost(error) from error
            except (Closed, OSError, websocket.WebSocketException):
                _close(self._socket)
            time.sleep(max(0.0, min(2**attempt - 1, until - time.monotonic())))
            if (left := until - time.monotonic()) <= 0:
                break
            with suppress(HubError):
                self._socket = self._account.socket(self._path, left)
        raise lost("its connection was closed and could not be opened again")


def _close(socket: websocket.WebSocket) -> None:
    with suppress(OSError, websocket.WebSocketException):
        socket.close()
    # close() leaves it open where the other side was the first.
    socket.shutdown()  # type: ignore[no-untyped-call]


def _receive(socket: websocket.WebSocket, until: float) -> Any:
    """Return the next message; a widget's numbers, which are no JSON, as an empty one.

    Pings alone do not prolong the wait.

    Raises:
        Closed: The other side has closed the connection.
        TimeoutError: None came in time.
    """
    while (left := until - time.monotonic()) > 0:
        socket.settimeout(left)
        try:
            kind, frame = socket.recv_data_frame(control_frame=True)
        except websocket.WebSocketTimeoutException:
            break
        if kind == websocket.ABNF.OPCODE_CLOSE:
            raise Closed
        if kind == websocket.ABNF.OPCODE_TEXT:
            return json.loads(frame.data)
        if kind == websocket.ABNF.OPCODE_BINARY:
            return {}
    raise TimeoutError("its time is over")


def _request(ident: str, code: str) -> dict[str, Any]:
    header = {"msg_id": ident, "msg_type": "execute_request", "username": "", "session": ident,
              "version": "5.3", "date": ""}  # fmt: skip
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
               "allow_stdin": False, "stop_on_error": False}  # fmt: skip
    return {"channel": "shell", "header": header, "parent_header": {}, "metadata": {},
            "content": content, "buffers": []}  # fmt: skip


def terminal(account: Account, lines: Sequence[str], end: str = "all-done") -> str:
    """Type lines into an account's terminal, and return all that it shows.

    Raises:
        HubError: It does not come to the end of the lines.
    """
    name = account.asked("POST", "api/terminals")["name"]
    shown, until = "", time.monotonic() + account.patience
    socket = account.socket(f"terminals/websocket/{name}")
    try:
        for line in [*lines, f"echo {end[:3]}''{end[3:]}"]:
            socket.send(json.dumps(["stdin", line + "\r"]))
        while end not in shown:
            kind, *what = _receive(socket, until)
            shown += what[0] if kind == "stdout" else ""
    except (Closed, OSError, websocket.WebSocketException) as error:
        raise HubError(
            f"{account.name}, terminal: {error!r}; missing: {end!r}; shown: {shown[-500:]}"
        ) from error
    finally:
        _close(socket)
    return shown
