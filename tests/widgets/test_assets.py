"""A widget's module is one text that imports nothing and that the page and Python agree on."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from anywidget import AnyWidget
from ipywidgets import DOMWidget
from matplotlib.colors import to_hex

from course_utils import widgets
from course_utils.plotting import MASK_COLOURS
from course_utils.widgets.assets import module, style
from tests.widgets.widget_drives import DRIVES

KINDS = [
    kind
    for kind in vars(widgets).values()
    if isinstance(kind, type) and issubclass(kind, AnyWidget)
]


def stem(kind: type[AnyWidget]) -> str:
    """Return the name of a widget's files."""
    return kind.__module__.rpartition(".")[2]


def test_every_widget_has_a_drive() -> None:
    driven = {name for name in DRIVES if not name.startswith("Guess of ")}  # one card, four kinds
    assert driven == {kind.__name__ for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_no_trait_has_the_name_of_one_that_every_widget_has(kind: type[AnyWidget]) -> None:
    own = set(vars(kind)) & set(kind.class_trait_names())
    assert own & set(DOMWidget.class_trait_names()) == set()  # "layout" is the size on the page


@pytest.mark.parametrize("kind", KINDS)
def test_the_module_stands_alone_and_stays_small(kind: type[AnyWidget]) -> None:
    text = module(f"{stem(kind)}/{stem(kind)}.js")
    assert kind._esm == text
    assert not re.search(r"^import ", text, re.MULTILINE)
    assert not re.search(r"export (async )?function render\b|export \{", text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert len(text.encode()) < 36_000


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_widget_has_a_small_task(kind: type[AnyWidget]) -> None:
    assert "acw-task" in str(kind._esm)


def test_masks_have_the_colours_of_the_figures() -> None:
    found = dict(re.findall(r"--(may-look|hidden): light-dark\((#\w+),", style("shared.css")))
    ends = [to_hex(MASK_COLOURS(end)) for end in (0.0, 1.0)]
    assert [found["hidden"], found["may-look"]] == ends


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_module_holds_all_that_its_files_export(tmp_path: Path) -> None:
    """Putting files together and leaving comments out changes nothing."""
    here = Path(module.__code__.co_filename).parent
    parts = {}
    for name in map(stem, KINDS):
        whole = tmp_path / f"{name}.mjs"
        whole.write_text(module(f"{name}/{name}.js"), encoding="utf-8")
        parts[str(whole)] = [
            *map(str, (here / "shared.js", *sorted((here / name).glob(f"{name}_*.js"))))
        ]
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
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == ""


@pytest.mark.parametrize("name", DRIVES)
def test_every_trait_that_the_page_reads_is_sent(name: str) -> None:
    widget = DRIVES[name].make()
    lists = " ".join(re.findall(r"\bTRAITS = \[(.*?)\]", widget._esm))
    read = {*re.findall(r'\bget\("(\w+)"\)', widget._esm), *re.findall(r"\w+", lists)}
    assert read
    assert read <= set(widget.get_state())
