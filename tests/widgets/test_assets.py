"""A widget's module is one text that imports nothing and that the page and Python agree on."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from anywidget import AnyWidget
from ipywidgets import DOMWidget

from course_utils.widgets import (
    AlignmentExplorer,
    BudgetExplorer,
    ClaimLedger,
    DecodeStepper,
    ExplanationGraph,
    ExtrapolationExplorer,
    HeadGrid,
    Heatmap,
    HopfieldLandscape,
    LengthExplorer,
    LookStepper,
    MaskPlayground,
    PatchExplorer,
    ProjectionToy,
    RingStepper,
    RopeClock,
    ScaleExplorer,
    SpeculationExplorer,
    StateExplorer,
    TileStepper,
    VariantExplorer,
    WiringExplorer,
    heatmap,
    scale_explorer,
)
from course_utils.widgets._assets import module

WIDGETS = [
    (Heatmap, "heatmap"),
    (ScaleExplorer, "scale_explorer"),
    (LengthExplorer, "length_explorer"),
    (AlignmentExplorer, "alignment_explorer"),
    (HeadGrid, "head_grid"),
    (ProjectionToy, "projection_toy"),
    (MaskPlayground, "mask_playground"),
    (RopeClock, "rope_clock"),
    (ExtrapolationExplorer, "extrapolation_explorer"),
    (VariantExplorer, "variant_explorer"),
    (BudgetExplorer, "budget_explorer"),
    (DecodeStepper, "decode_stepper"),
    (TileStepper, "tile_stepper"),
    (LookStepper, "look_stepper"),
    (WiringExplorer, "wiring_explorer"),
    (ExplanationGraph, "explanation_graph"),
    (HopfieldLandscape, "hopfield_landscape"),
    (PatchExplorer, "patch_explorer"),
    (StateExplorer, "state_explorer"),
    (ClaimLedger, "claim_ledger"),
    (RingStepper, "ring_stepper"),
    (SpeculationExplorer, "speculation_explorer"),
]


@pytest.mark.parametrize("widget", [widget for widget, _ in WIDGETS])
def test_no_trait_has_the_name_of_one_that_every_widget_has(widget: type[AnyWidget]) -> None:
    own = set(vars(widget)) & set(widget.class_trait_names())
    assert own & set(DOMWidget.class_trait_names()) == set()  # "layout" is the size on the page


@pytest.mark.parametrize(("kind", "name"), WIDGETS)
def test_the_module_stands_alone_and_stays_small(kind: type, name: str) -> None:
    text = module(f"{name}.js")
    assert kind._esm == text
    assert not re.search(r"^import ", text, re.MULTILINE)
    assert not re.search(r"export (async )?function render\b|export \{", text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert len(text.encode()) < 35_000


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_module_holds_all_that_its_files_export(tmp_path: Path) -> None:
    """Putting files together and leaving comments out changes nothing."""
    here = Path(module.__code__.co_filename).parent
    parts = {}
    for _, name in WIDGETS:
        whole = tmp_path / f"{name}.mjs"
        whole.write_text(module(f"{name}.js"), encoding="utf-8")
        parts[str(whole)] = [*map(str, (here / "shared.js", *sorted(here.glob(f"{name}_*.js"))))]
    program = """
        for (const [path, files] of Object.entries(JSON.parse(process.argv[1]))) {
            const [whole, ...parts] = await Promise.all([path, ...files].map((p) => import(p)));
            const names = parts.flatMap((part) => Object.keys(part));
            const lost = names.filter((name) => typeof whole[name] === "undefined");
            const twice = names.length - new Set(names).size;
            if (lost.length || twice) console.log(path, lost, twice);
        }
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program, json.dumps(parts)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == ""


@pytest.mark.parametrize("widget", [heatmap([[1.0]]), scale_explorer()], ids=repr)
def test_every_trait_that_the_page_reads_is_sent(widget: Heatmap | ScaleExplorer) -> None:
    read = set(re.findall(r'\bget\("(\w+)"\)', widget._esm))
    assert read
    assert read <= set(widget.get_state())
