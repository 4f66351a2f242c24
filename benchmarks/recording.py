"""What every record of this folder says: how, when and with what it was measured."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).resolve().parents[1] / "course_utils" / "records"


def write_record(
    path: Path,
    *,
    what: str,
    command: str,
    settings: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    versions: Mapping[str, str] | None = None,
    machine: str = f"{platform.machine()}, 1 thread",
    **more: Any,
) -> None:
    """Write one JSON file with one run a line, so that two records can be compared by eye."""
    own = {"python": platform.python_version(), "torch": torch.__version__}
    head = {
        "what": what,
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {**own, **(versions or {})},
        "machine": machine,
        "settings": settings,
    }
    lines = [f" {json.dumps(name)}: {_compact(value)}" for name, value in head.items()]
    for name, rows in {**more, "runs": runs}.items():
        body = ",\n  ".join(_compact(row) for row in rows)
        lines.append(f" {json.dumps(name)}: [\n  {body}\n ]")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
