"""Optima of laws of loss, as Python finds them and the explorer must compute them."""

from typing import Any

from course_utils.measure import compute_optimal
from course_utils.widgets.budget_explorer.budget_explorer import LAWS


def cases() -> list[dict[str, Any]]:
    return [
        {"law": law, "flops": flops, "best": compute_optimal(flops, *law)}
        for law in LAWS.values()
        for flops in (1e15, 3.14e23, 5.76e23)
    ]
