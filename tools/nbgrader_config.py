"""The configuration that a course folder of nbgrader needs; copy it there as nbgrader_config.py."""

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (given by nbgrader)

# Answers are judged one by one, in processes of their own; no submitted notebook is run.
c.Autograde.autograde_preprocessors = [
    "course_utils.grading.nbgrader_judge.JudgeAnswers",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
# A notebook that was changed by hand is repaired, and no reason to stop for everybody.
c.Autograde.sanitize_preprocessors = [
    "course_utils.grading.nbgrader_judge.MendCells",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.OverwriteCells.add_missing_cells = True
c.ClearSolutions.code_stub = {"python": "# Your code here\nraise NotImplementedError"}
