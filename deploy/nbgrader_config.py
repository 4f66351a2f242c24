"""nbgrader for every account of the hub: one course, whose exchange is in the class's folder."""

import os
from pathlib import Path

FOLDER = Path(os.environ["COURSE_HUB"])

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (given by nbgrader)
load_subconfig("../tools/nbgrader_config.py")  # type: ignore[name-defined]  # noqa: F821

c.CourseDirectory.course_id = "attention"
c.Exchange.root = str(FOLDER / "exchange")
if os.environ.get("JUPYTERHUB_USER", "instructor") == "instructor":
    c.CourseDirectory.root = str(FOLDER / "course")
else:
    c.CourseDirectory.student_id = os.environ["JUPYTERHUB_USER"]
c.ExchangeCollect.check_owner = False  # these accounts have no names in the system
