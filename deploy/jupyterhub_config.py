"""A hub that serves the course on one machine: `make hub-demo` starts it with made-up accounts.

The class's folder, which COURSE_HUB names, holds `accounts.json` (name: password), the homes, the
instructor's course folder of nbgrader and the exchange. For accounts of your own, replace the
authenticator by one of JupyterHub's (OAuth, LTI, PAM); everything else can stay.
"""

import hmac
import json
import os
import shutil
import sys
from pathlib import Path

from jupyterhub.auth import Authenticator

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ["COURSE_HUB"])
ACCOUNTS = json.loads((FOLDER / "accounts.json").read_text(encoding="utf-8"))
INSTRUCTOR = "instructor"
DEPLOY = ROOT / "deploy"
CONFIG = [str(DEPLOY), str(ROOT / "tools" / "jupyter")]
LEARNER = str(DEPLOY / "learner")  # hides what only the instructor needs
FIRST_NUMBER = 70_000  # of the learners as users of the system, where the hub is root's


class Accounts(Authenticator):
    """Admits whoever knows the password of an account in the class's folder."""

    async def authenticate(self, handler, data):
        """Return the account's name, or None."""
        wanted = ACCOUNTS.get(data["username"], "")
        given = data["password"]
        known = bool(wanted) and hmac.compare_digest(wanted.encode(), given.encode())
        return data["username"] if known else None


def prepare(spawner):
    """Make the home of an account, and choose what is started there."""
    name = spawner.user.name
    home = Path(spawner.home_dir)
    spawner.environment["JUPYTER_RUNTIME_DIR"] = str(home / ".run")  # short: see LONGEST_FOLDER
    if name == INSTRUCTOR:
        home.mkdir(mode=0o700, exist_ok=True)
        spawner.notebook_dir = str(FOLDER / "course")
        return
    number = FIRST_NUMBER + list(ACCOUNTS).index(name)
    if not home.exists():
        new = home.with_name(f".{name}.new")  # a home is there whole or not at all
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        (new / ".tmp").mkdir()
        shutil.copytree(ROOT / "notebooks", new / "notebooks")
        if os.getuid() == 0:
            for path in [new, *new.rglob("*")]:
                os.chown(path, number, number)
        new.rename(home)
    spawner.environment["TMPDIR"] = str(home / ".tmp")
    spawner.environment["JUPYTER_CONFIG_PATH"] = os.pathsep.join([*CONFIG, LEARNER])
    if os.getuid() == 0:  # it is forked, and so are its kernels: see fork_server.py
        spawner.environment["JUPYTER_PATH"] = LEARNER
        spawner.cmd = [sys.executable, "-I", "-S", f"{DEPLOY}/forked.py", "server", str(number)]
    else:
        walls = [sys.executable, f"{DEPLOY}/walled.py", str(FOLDER), str(number)]
        spawner.cmd = [*walls, "jupyterhub-singleuser"]


# The released model, one copy for all, which the walls open for reading; and what saves memory.
HANDED_ON = ("ATTENTION_COURSE_MODEL", "OMP_NUM_THREADS", "MALLOC_")

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (given by JupyterHub)

c.JupyterHub.authenticator_class = Accounts
c.Authenticator.allowed_users = set(ACCOUNTS)
c.Authenticator.admin_users = {INSTRUCTOR}

# Only this machine is served: put a web server with a certificate before it for any other.
port, hub, proxy = (int(os.environ.get(f"COURSE_HUB_PORT{n}", 8000 + n)) for n in range(3))
c.JupyterHub.bind_url = f"http://127.0.0.1:{port}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{hub}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{proxy}"
c.ConfigurableHTTPProxy.should_start = False  # it runs by itself, and goes on without a hub
c.JupyterHub.pid_file = str(FOLDER / "hub" / "pid")
c.JupyterHub.db_url = f"sqlite:///{FOLDER / 'hub' / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(FOLDER / "hub" / "cookie_secret")

c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(FOLDER / "homes" / "{username}")
c.Spawner.pre_spawn_hook = prepare
c.Spawner.cmd = ["jupyterhub-singleuser"]
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 600  # thirty at once on two cores
c.Spawner.http_timeout = 600
c.Spawner.poll_interval = 5  # a server that was killed can be started again at once
# As many start at once as the processors carry; who comes later sees a page that asks again.
c.JupyterHub.concurrent_spawn_limit = int(
    os.environ.get("COURSE_HUB_AT_ONCE", 2 * (os.cpu_count() or 1))
)
c.JupyterHub.spawn_throttle_retry_range = (5, 10)  # seconds
c.JupyterHub.template_paths = [str(DEPLOY / "templates")]
c.Spawner.environment = {
    **{name: value for name, value in os.environ.items() if name.startswith(HANDED_ON)},
    "COURSE_HUB": str(FOLDER),
    "JUPYTER_CONFIG_PATH": os.pathsep.join(CONFIG),
    "PYTHONPATH": str(FOLDER / "python"),  # the package alone: the folder around it is closed
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}
