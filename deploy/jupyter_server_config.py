"""Every account's server: what is idle ends, and a kernel speaks with its own server only."""

import os

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (given by Jupyter)

c.MappingKernelManager.cull_idle_timeout = 3600
c.MappingKernelManager.cull_interval = 300
c.MappingKernelManager.cull_connected = True  # a tab left open; the notebook is saved
c.ServerApp.shutdown_no_activity_timeout = 2 * 3600
c.KernelManager.transport_encryption = "required"  # or any account could listen on its ports
c.ServerApp.jpserver_extensions = {
    "jupyter_lsp": False,
    **(
        {
            "nbgrader.server_extensions.formgrader": False,
            "nbgrader.server_extensions.course_list": False,
        }
        if os.environ.get("JUPYTERHUB_USER") != "instructor"
        else {}
    ),
}
c.LabApp.extension_manager = "readonly"
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
c.ServerApp.terminals_enabled = os.getuid() >= 70_000 or os.environ.get("JUPYTERHUB_ADMIN") == "1"
