"""A made-up learner, or instructor, of the hub: logs in, opens a notebook, runs its cells.

Everything goes as a browser goes: the log-in form, then the account's own server, its files, and
its kernel on the websocket.
"""

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import requests
import websocket

PATIENCE = 900  # seconds for a step; thirty servers may be starting on two cores


class HubError(Exception):
    """The hub, or one of its servers, did not answer as it should."""


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
    """

    address: str
    name: str
    password: str
    session: requests.Session = field(default_factory=requests.Session)

    def log_in(self) -> None:
        """Log in by the form, and get a token of its own for what follows.

        Raises:
            HubError: The hub does not let the account in.
        """
        hub = f"{self.address}/hub"
        self.session.get(f"{hub}/login", timeout=PATIENCE).raise_for_status()
        given = {"username": self.name, "password": self.password, "_xsrf": self._xsrf()}
        form: dict[str, Any] = {"data": given, "allow_redirects": False, "timeout": PATIENCE}
        self.session.post(f"{hub}/login", **form)
        self.session.get(f"{hub}/token", timeout=PATIENCE)
        headers = {"X-XSRFToken": self._xsrf(), "Referer": f"{hub}/token"}
        own = f"{hub}/api/users/{self.name}/tokens"
        made = self.session.post(own, headers=headers, timeout=PATIENCE)
        if made.status_code != 201:
            raise HubError(f"{self.name} is not let in: {made.status_code}")
        self.session.cookies.clear()
        self.session.headers["Authorization"] = f"token {made.json()['token']}"

    def _xsrf(self) -> str:
        return self.session.cookies.get("_xsrf", path="/hub/") or ""

    def start_server(self) -> None:
        """Start the account's server, and wait until it answers."""
        own = f"/hub/api/users/{self.name}"
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self.server("GET", own).json()["servers"].get("", {}).get("ready"):
                with suppress(requests.RequestException):
                    if self.server("GET", "api/status").ok:
                        return
            self.server("POST", f"{own}/server")  # refused where it is starting
            time.sleep(0.5)
        raise HubError(f"the server of {self.name} did not start in {PATIENCE} s")

    def stop_server(self) -> None:
        """Stop the account's server."""
        self.server("DELETE", f"/hub/api/users/{self.name}/server")

    def server(self, method: str, path: str, **more: Any) -> requests.Response:
        """Ask a server, by default the account's own; a path that starts with / names any other."""
        own = f"/user/{self.name}/{path}" if path[:1] != "/" else path
        return self.session.request(method, self.address + own, timeout=PATIENCE, **more)

    def asked(self, method: str, path: str, **more: Any) -> Any:
        """Return what a server answers.

        Raises:
            HubError: It refuses.
        """
        got = self.server(method, path, **more)
        if not got.ok:
            raise HubError(f"{method} {path}: {got.status_code} {got.text[:500]}")
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

    def socket(self, path: str) -> websocket.WebSocket:
        """Open a websocket to the account's own server."""
        place = f"{self.address}/user/{self.name}/{path}".replace("http", "ws", 1)
        key = {"Authorization": self.session.headers["Authorization"]}
        return websocket.create_connection(place, timeout=PATIENCE, header=key)

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
        self._socket = account.socket(f"api/kernels/{name}/channels")

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()

    def run(self, code: str) -> Ran:
        """Run a cell, and return what it put out when it is done."""
        ident, start, ran = uuid.uuid4().hex, time.monotonic(), Ran()
        self._socket.send(json.dumps(_request(ident, code)))
        for kind, content in self._of(ident):
            data = content.get("data", {})
            ran.text += str(content.get("text", "") or data.get("text/plain", ""))
            if kind == "error":
                ran.error = f"{content['ename']}: {content['evalue']}"
            if kind == "status" and content["execution_state"] == "idle":
                break
        ran.seconds = time.monotonic() - start
        return ran

    def _of(self, ident: str) -> Iterator[tuple[str, dict[str, Any]]]:
        while True:
            received = self._socket.recv()
            if isinstance(received, bytes):
                continue  # a widget's numbers
            message = json.loads(received)
            if message.get("parent_header", {}).get("msg_id") == ident:
                yield message["msg_type"], message["content"]


def _request(ident: str, code: str) -> dict[str, Any]:
    header = {"msg_id": ident, "msg_type": "execute_request", "username": "", "session": ident,
              "version": "5.3", "date": ""}  # fmt: skip
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
               "allow_stdin": False, "stop_on_error": False}  # fmt: skip
    return {"channel": "shell", "header": header, "parent_header": {}, "metadata": {},
            "content": content, "buffers": []}  # fmt: skip


def terminal(account: Account, lines: Sequence[str], end: str = "all-done") -> str:
    """Type lines into an account's terminal, and return all that it shows."""
    name = account.asked("POST", "api/terminals")["name"]
    shown = ""
    with closing(account.socket(f"terminals/websocket/{name}")) as socket:
        for line in [*lines, f"echo {end[:3]}''{end[3:]}"]:
            socket.send(json.dumps(["stdin", line + "\r"]))
        while end not in shown:
            kind, *what = json.loads(socket.recv())
            shown += what[0] if kind == "stdout" else ""
    return shown
