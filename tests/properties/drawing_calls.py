"""Calls of what draws: static figures and the interactive pictures."""

import numpy as np
from call_table import Call
from matplotlib import pyplot as plt

from course_utils import matrix_plotting, plotting, widgets

WEIGHTS = np.array([[1.0, 0.0], [0.25, 0.75]])
RUNS = {4: [0.5, 0.75], 8: [0.25]}


def axes() -> plt.Axes:
    plt.close("all")
    return plt.figure(layout="none").add_subplot()


FIGURES = (
    Call(plotting.use_style, dict),
    Call(plotting.headline, lambda: {"figure": axes().figure, "title": "One"}),
    Call(plotting.new_panels, lambda: {"title": "One", "x_label": "x", "y_labels": ["y", "z"]}),
    Call(plotting.new_figure, lambda: {"title": "One", "x_label": "x", "y_label": "y"}),
    Call(plotting.power_axis, lambda: {"axes": axes(), "values": [1, 2, 4]}),
    Call(
        plotting.line,
        lambda: (
            {"axes": axes(), "x": [1, 2], "y": [3, 4], "name": "n", "colour": "blue"}
            | {"at": (1.0, 2.0)}
        ),
    ),
    Call(
        plotting.band,
        lambda: (
            {"axes": axes(), "x": [1, 2], "samples": [[3.0, 4.0], [5.0, 6.0]], "name": "n"}
            | {"colour": "blue", "at": (1.0, 2.0)}
        ),
    ),
    Call(
        matrix_plotting.weight_map,
        lambda: {"axes": axes(), "matrix": WEIGHTS, "rows": ["a", "b"], "columns": ["c", "d"]},
    ),
    Call(
        matrix_plotting.matrix_flow,
        lambda: {"rows": [[("Q", WEIGHTS), ("K", WEIGHTS)]], "joins": [["@"]]},
    ),
)


def _record() -> dict[str, object]:
    source = {"text": "ab", "iso": "2", "locale": "en_GB", "spans": {"year": [0, 1]}}
    written = [{"text": "2", "percent": [[60, 40]]}]
    return {"sources": [source], "runs": [{"context": "additive", "written": written}]}


PICTURES = (
    Call(widgets.alignment_explorer, lambda: {"record": _record(), "locales": ["en_GB"]}),
    Call(widgets.decode_stepper, lambda: {"tokens": ["a", "b", "c"], "prompt": 1, "window": 8}),
    Call(
        widgets.extrapolation_explorer,
        lambda: {"tasks": {"copy": ("loss", {"RoPE": RUNS})}, "groups": {"turn": ["RoPE"]}},
    ),
    Call(widgets.head_grid, lambda: {"weights": WEIGHTS, "contributions": WEIGHTS}),
    Call(widgets.heatmap, lambda: {"weights": WEIGHTS, "other": WEIGHTS}),
    Call(widgets.heatmap_figure, lambda: {"weights": WEIGHTS, "other": WEIGHTS}),
    Call(
        widgets.length_explorer,
        lambda: {
            "samples": [("ab", {"one": "ab", "two": "aa"})],
            "curves": {"one": RUNS, "two": RUNS},
        },
    ),
    Call(widgets.mask_playground, lambda: {"tokens": ["a", "b", "c"]}),
    Call(widgets.projection_toy, lambda: {"points": {"a": (1.0, 0.0), "b": (0.0, 1.0)}}),
    Call(widgets.rope_clock, lambda: {"query": [1.0, 0.0], "key": [0.0, 1.0]}),
    Call(widgets.scale_explorer, dict),
    Call(widgets.tile_stepper, lambda: {"query": WEIGHTS, "key": WEIGHTS, "value": WEIGHTS}),
    Call(
        widgets.variant_explorer,
        lambda: {"runs": [{"what": "full", "length": 128, "milliseconds": 1.0}]},
    ),
)
CALLS = (*FIGURES, *PICTURES)
