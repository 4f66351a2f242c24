"""Every account's server: what is idle is shut down, and a kernel talks to its own server only."""

import os

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (given by Jupyter)

c.MappingKernelManager.cull_idle_timeout = 3600
c.MappingKernelManager.cull_interval = 300
c.MappingKernelManager.cull_connected = True  # a tab left open; the notebook is saved
c.ServerApp.shutdown_no_activity_timeout = 2 * 3600
c.MappingKernelManager.kernel_info_timeout = 600  # thirty may start at once
c.KernelManager.transport = "ipc"  # servers that start at once would choose the same ports
c.KernelManager.transport_encryption = "required"  # accounts may share one user of the system
c.LabApp.extension_manager = "readonly"
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"

off = {"jupyter_lsp": False}
if os.environ.get("JUPYTERHUB_USER") == "instructor":
    c.ServerApp.allow_root = True  # where the hub is root's; no learner's server is
else:
    if "COURSE_HUB" in os.environ and os.getuid() < 70_000:
        # Several learners are one user of the system: others could read what is typed.
        c.ServerApp.terminals_enabled = False
    # Validating would run all of a notebook in a second kernel: `check` says more at once.
    parts = ("formgrader", "course_list", "validate_assignment")
    off |= {f"nbgrader.server_extensions.{part}": False for part in parts}
c.ServerApp.jpserver_extensions = off
