"""For every server of the course, a hub's too: a page that is slow to answer stays connected.

Jupyter pings each page every 30 seconds. One that has not answered for 90 it disconnects, and what
the kernel sends while the connection closes is lost: a cell waits for ever for its last message. A
machine with too much to do, or a laptop that was closed, is silent for as long. It has ten minutes.
"""

from tornado.websocket import WebSocketProtocol13

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (given by Jupyter)

c.ServerApp.tornado_settings = {"ws_ping_timeout": 600_000}  # milliseconds
# Tornado would take the same numbers for seconds of its own pings, and warn.
WebSocketProtocol13.start_pinging = lambda self: None  # type: ignore[method-assign]
