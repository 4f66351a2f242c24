"""Firefox and WebKit behind one function that sends a command of W3C WebDriver.

Firefox speaks Marionette: the same commands, each a list of JSON behind its length on a socket.
"""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from course_utils.environment import find_firefox, find_webkit, free_port

Send = Callable[..., Any]
PATIENCE = 60  # seconds: conditions are exact; how busy the machine is, is not
WANTED = {"timeouts": {"script": 3 * PATIENCE * 1000}}
SCHEME = "layout.css.prefers-color-scheme.content-override"
ADDRESSES = {
    "Navigate": "url",
    "ExecuteAsyncScript": "execute/async",
    "PerformActions": "actions",
    "SetWindowRect": "window/rect",
    "GetComputedLabel": "element/{id}/computedlabel",
    "ElementClick": "element/{id}/click",
}


STALE = "stale element reference"


class CommandFailed(Exception):
    """An engine's refusal: its kind, as WebDriver names it, and its words."""


@contextmanager
def _running(*command: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


def soon(find: Callable[[], Any], what: str) -> Any:
    """Return what is found as soon as there is something, perhaps on the page that comes next."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if found := find():
                return found
        except CommandFailed as failed:
            if failed.args[0] != STALE:
                raise
        time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE} seconds: {what}")


@contextmanager
def firefox(profile: Path, dark: bool) -> Iterator[tuple[str, Send]]:
    """Start Firefox without a window; give its version and what sends it commands."""
    chosen = {"marionette.port": 0, SCHEME: 0 if dark else 1}
    lines = [f'user_pref("{name}", {value});\n' for name, value in chosen.items()]
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")
    said = profile / "MarionetteActivePort"
    command = (find_firefox() or "", "--marionette", "--headless", "--profile", str(profile))
    with _running(*command, stdout=subprocess.DEVNULL):
        port = int(soon(lambda: said.exists() and said.read_text(), "Firefox listens"))
        with socket.create_connection(("127.0.0.1", port)) as line, line.makefile("rb") as heard:

            def receive() -> Any:
                length = b""
                while (digit := heard.read(1)) != b":":
                    length += digit
                return json.loads(heard.read(int(length)))

            def send(command: str, **given: Any) -> Any:
                message = json.dumps([0, 0, f"WebDriver:{command}", given]).encode()
                line.sendall(b"%d:%s" % (len(message), message))
                _, _, error, result = receive()
                if error:
                    raise CommandFailed(error["error"], error["message"])
                return result["value"] if set(result) == {"value"} else result

            receive()  # its greeting
            session = send("NewSession", capabilities={"alwaysMatch": WANTED})
            yield session["capabilities"]["browserVersion"], send


@contextmanager
def webkit(_: Path, dark: bool) -> Iterator[tuple[str, Send]]:
    """Start WebKitGTK's small browser on a display of its own; as `firefox`."""
    display = [shutil.which("Xvfb") or "", "-displayfd", "1", "-screen", "0", "1600x2100x24"]
    with _running(*display, stdout=subprocess.PIPE) as shown:
        assert shown.stdout is not None
        desktop = {
            "DISPLAY": f":{int(shown.stdout.readline())}",
            "GTK_THEME": f"Adwaita:{'dark' if dark else 'light'}",
        }
        port = free_port()
        command = (find_webkit() or "", f"--port={port}")
        with _running(*command, env=os.environ | desktop, stdout=subprocess.DEVNULL):
            base = f"http://127.0.0.1:{port}/session"
            soon(lambda: not _refuses(port), "WebKitWebDriver listens")

            def ask(method: str, url: str, given: dict[str, Any] | None = None) -> Any:
                data = None if given is None else json.dumps(given).encode()
                request = urllib.request.Request(url, data, method=method)
                try:
                    with urllib.request.urlopen(request, timeout=4 * PATIENCE) as answer:
                        return json.load(answer)["value"]
                except urllib.error.HTTPError as refused:
                    said = json.load(refused)["value"]
                    raise CommandFailed(said["error"], said["message"]) from None

            def send(command: str, **given: Any) -> Any:
                url = f"{base}/{session['sessionId']}/{ADDRESSES[command].format(**given)}"
                return ask("GET", url) if command.startswith("Get") else ask("POST", url, given)

            session = ask("POST", base, {"capabilities": {"alwaysMatch": WANTED}})
            try:
                yield session["capabilities"]["browserVersion"], send
            finally:
                ask("DELETE", f"{base}/{session['sessionId']}")


def _refuses(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) != 0
