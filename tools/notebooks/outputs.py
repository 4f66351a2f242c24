"""The outputs of a solutions notebook: made once, kept as long as the code is the same."""

import hashlib
import json
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

VARYING = "nbval-ignore-output"
STATE = "application/vnd.jupyter.widget-state+json"
# How long a bar of tqdm took, as in " [00:03<00:00, 85.93it/s]".
BAR_TIMING = re.compile(r" \[(\d+:)?\d\d:\d\d<[^\]\n]*\]")
_OVERWRITTEN = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)
_OURS = re.compile(r"course_utils\.widgets\.(\w+)\.")
_TEMPORARY = re.compile(r"(/[\w.~-]+)*/tmp[a-z0-9_]{8}(?=/)")  # a folder that `tempfile` named
_MACHINE_PATH = re.compile(rf"ipykernel_\d+|site-packages/|{_TEMPORARY.pattern}")


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def describe(notebook: NotebookNode, index: int) -> str:
    """Return how a message names a cell: its number, counted from 1, and its first line."""
    lines = str(notebook.cells[index].source).strip().splitlines() or ["(empty)"]
    return f"cell {index + 1} (`{lines[0][:60]}`)"


def carry_outputs(stored: NotebookNode, fresh: NotebookNode) -> bool:
    """Copy the stored outputs into a freshly made notebook if its code is the one that made them.

    Returns:
        Whether the code is the same, and so the outputs were copied.
    """
    old, new = code_cells(stored), code_cells(fresh)
    if [cell.source for cell in old] != [cell.source for cell in new]:
        return False
    for before, after in zip(old, new, strict=True):
        after.outputs = before.get("outputs", [])
        after.execution_count = before.get("execution_count")
    if "widgets" in stored.metadata:
        fresh.metadata["widgets"] = stored.metadata["widgets"]
    return True


def keep_varying(stored: NotebookNode, fresh: NotebookNode) -> None:
    """Give cells tagged as varying their stored outputs back where only numbers are new.

    So the difference between two versions of a notebook shows what was changed, and not how fast
    the machine was on that day.

    Args:
        stored: The notebook as it was.
        fresh: The notebook just executed, changed in place.
    """
    before = {cell.source: cell.get("outputs", []) for cell in code_cells(stored)}
    for cell in code_cells(fresh):
        old = before.get(cell.source, [])
        if VARYING in cell.metadata.get("tags", []) and _form(old) == _form(cell.outputs):
            cell.outputs = old


def _form(outputs: list[NotebookNode]) -> str:
    """Return the outputs as text without numbers and pictures."""
    text = re.sub(r'"(image/[^"]*)": "[^"]*"', r'"\1"', json.dumps(outputs, sort_keys=True))
    return re.sub(r"-?\d[\d.,]*", "#", text)


def output_faults(notebook: NotebookNode, root: Path) -> Iterator[str]:
    """Yield what is wrong with the outputs of a solutions notebook, cell by cell."""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        where = describe(notebook, index)
        if cell.get("execution_count") is None:
            yield f"{where} was never executed"
        graded = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        verdict = str([output.get("data", {}).get("text/plain") for output in cell.outputs])
        if graded.startswith("check-") and ": Passed" not in verdict:
            yield f"{where} does not say that the solution passed: {verdict}"
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield f"{where} holds an error: {output.ename}: {output.evalue}"
            text = str(output.get("text", output.get("data", {}).get("text/plain", "")))
            for line in text.splitlines():
                if str(root) in line or _MACHINE_PATH.search(line):
                    yield f"{where} prints a path of the machine that ran it: {line.strip()}"
    yield from _widget_faults(notebook, root)


def _widget_faults(notebook: NotebookNode, root: Path) -> Iterator[str]:
    """Yield each of the course's widgets whose stored code is not today's."""
    assets = root / "course_utils" / "widgets" / "assets.py"
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {}).values()
    for state in [model.get("state", {}) for model in models]:
        ours = _OURS.match(str(state.get("_anywidget_id")))
        stored = (state.get("_esm"), state.get("_css"))
        if ours and assets.is_file() and stored != _code(assets, ours[1]):
            yield f"the code stored of the widget {ours[1]} is not that of course_utils/widgets"


@cache
def _code(assets: Path, name: str) -> tuple[str, str]:
    now = runpy.run_path(str(assets))  # importing the package would import torch
    return now["module"](f"{name}/{name}.js"), now["style"](f"{name}/{name}.css")


def normalise(notebook: NotebookNode, seed: str) -> None:
    """Take out of a notebook just executed all that differs from one run to the next.

    Args:
        notebook: Changed in place.
        seed: What the widgets' names are made from; different for every notebook.
    """
    widgets = notebook.metadata.get("widgets", {}).get(STATE, {})
    state = widgets.get("state", {})
    # Models are numbered as the cells made them: a dict keeps the order of insertion.
    names = {
        old: hashlib.sha256(f"{seed} widget {number}".encode()).hexdigest()[:32]
        for number, old in enumerate(state)
    }
    for count, cell in enumerate(code_cells(notebook), start=1):
        cell.execution_count = count
        cell.metadata.pop("execution", None)
        cell.outputs = _renamed(_joined(cell.outputs), names)
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
    if not state:
        notebook.metadata.pop("widgets", None)
        return
    widgets["state"] = {names[old]: _renamed(model, names) for old, model in state.items()}
    for model in widgets["state"].values():
        if "msg_id" in model.get("state", {}):
            model["state"]["msg_id"] = ""


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return the outputs with each stream in one piece, as it looks once all is written."""
    kept: list[NotebookNode] = []
    streams: dict[str, NotebookNode] = {}
    for output in outputs:
        if output.output_type != "stream":
            kept.append(output)
        elif output.name in streams:
            streams[output.name].text += output.text
        else:
            streams[output.name] = output
            kept.append(output)
    for stream in streams.values():
        stream.text = BAR_TIMING.sub("", _OVERWRITTEN.sub("", stream.text))
    return kept


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Return a value with every widget's name and temporary folder replaced, wherever it is."""
    if isinstance(value, dict):
        items = ((key, _renamed(item, names)) for key, item in value.items())
        return type(value)(items)
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, str):
        prefix, name = ("IPY_MODEL_", value[10:]) if value.startswith("IPY_MODEL_") else ("", value)
        return prefix + names.get(name, _TEMPORARY.sub("…", name))
    return value
