"""Sphinx settings of the site. What `book.yml` can say is read from there."""

import re
from hashlib import sha256
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from book import contents, handouts, twins, words
from book.contents import ROOT

settings = contents.project(ROOT)
instructor = tags.has("instructor")  # type: ignore[name-defined]  # noqa: F821

project = settings["title"]
author = ", ".join(person["name"] for person in settings["authors"])
copyright = settings["copyright"]
html_title = settings["title"] + (" (instructor's edition)" if instructor else "")

extensions = ["myst_nb", "sphinx_external_toc", "sphinx_copybutton", "sphinxcontrib.bibtex"]
external_toc_exclude_missing = True
myst_enable_extensions = [
    *("amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"),
]
myst_heading_anchors = 3
bibtex_bibfiles = [str(ROOT / name) for name in settings["bibliography"]]
bibtex_reference_style = "author_year"

# The notebooks come with their outputs; the front page's few cells are run.
# A cell that fails is a warning, so an error in the end.
nb_execution_mode = "force"
nb_execution_excludepatterns = ["notebooks/*"]
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_kernel_rgx_aliases = {".*": "python3"}
nb_merge_streams = True
nb_output_stderr = "remove"  # progress bars
nb_ipywidgets_js = {"anywidget-host.js": {"defer": "defer"}}

# One file draws all mathematics. The menu would fetch further parts of MathJax, which are not here.
mathjax_path = "vendor/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}

html_theme = "sphinx_book_theme"
html_static_path = [str(ROOT / "book" / "_static")]
html_extra_path = [str(ROOT / "book" / "404.html")]
html_css_files = ["fonts.css", "course.css"]
kept = ("kept.js", {"priority": 100})  # before a page's own scripts, which call it
html_js_files = [kept, "course.js", "further.js", "words.js", "place.js"]
html_favicon = f"{html_static_path[0]}/favicon.svg"
html_context = {"default_mode": "auto"}
html_show_sphinx = False
html_use_index = False

launch = settings.get("options", {}).get("launch", {})
html_theme_options: dict[str, Any] = {
    "logo": {"text": "Attention course"},
    "navbar_persistent": [],
    "show_toc_level": 2,
    "footer_content_items": ["copyright.html", "extra-footer.html"],
    "extra_footer": "Text: CC BY 4.0. Code: MIT.",
}
if "github" in settings:
    html_theme_options |= {
        "repository_url": settings["github"],
        "repository_branch": handouts.branch(settings),
        "use_repository_button": True,
        "use_issues_button": True,
        "launch_buttons": {"notebook_interface": "jupyterlab", **launch},
    }


def _jupyter_book(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let Sphinx read what Jupyter Book 2 writes otherwise.

    In its glossaries a definition begins with a colon; its bibliography lists all works unasked.
    """
    text = re.sub(
        r"(?ms)^(:{3,})\{glossary\}.*?^\1\s*$",
        lambda block: re.sub(r"(?m)^: +", "  ", block[0]),
        source[0],
    )
    source[0] = text.replace("```{bibliography}\n", "```{bibliography}\n:all:\n")


def _bibliography(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Show references as a plain list: the role that Sphinx gives each is deprecated."""
    entries = list(doctree.findall(nodes.citation))
    if entries:
        shown = nodes.bullet_list(classes=["references"])
        entries[0].parent.replace_self(shown)
        for entry in entries:
            shown += nodes.list_item("", *entry.children[1:], ids=entry["ids"])


def _buttons(app: Sphinx, page: str, template: str, context: dict[str, Any], _: object) -> None:
    """Offer to launch notebooks only, to open Colab's own notebook, and to edit the true source."""
    groups = {group.get("label"): group for group in context.get("header_buttons", [])}
    launched = groups.get("launch-buttons")
    if launched and not page.startswith("notebooks/"):
        context["header_buttons"].remove(launched)  # the front page has code too, but is none
    elif launched:
        for button in launched["buttons"]:
            if button["text"] == "Colab":
                button["url"] = handouts.colab_address(settings, page)
    edit = "github" in settings and handouts.edit_address(settings, page)
    if edit and "source-buttons" in groups:
        groups["source-buttons"]["buttons"].insert(
            1,
            {
                "type": "link",
                "url": edit,
                "text": "Suggest edit",
                "tooltip": "Suggest edit",
                "icon": "fas fa-pencil-alt",
                "label": "source-edit-button",
            },
        )


def _onwards(app: Sphinx, page: str, _: str, context: dict[str, Any], tree: Any) -> None:
    """Give a chapter's toolbar a button to the next page: on a phone the link is screens below."""
    following = context.get("next")
    if page.startswith("notebooks/") and following:
        says = f"Next: {re.sub('<[^>]*>', '', following['title'])}"
        context["header_buttons"].append(
            {
                "type": "link",
                "url": following["link"],
                "tooltip": says,
                "icon": "fas fa-arrow-right",
                "label": "next-page-button",
            }
        )


def _description(app: Sphinx, page: str, _: str, context: dict[str, Any], tree: Any) -> None:
    """Say in the page's head what it is about: its first sentences, for searches and previews."""
    texts = (part.astext() for part in tree.findall(nodes.paragraph)) if tree else ()
    first = next((" ".join(text.split()) for text in texts if len(text) > 80), "")
    says = escape(first if len(first) <= 200 else first[:200].rpartition(" ")[0] + " …")
    title = escape(f"{context.get('title', project)} · {project}")
    context["metatags"] = context.get("metatags", "") + (
        f'<meta property="og:title" content="{title}"><meta property="og:type" content="article">'
        f'<meta name="description" property="og:description" content="{says}">'
    )


def _own(app: Sphinx, page: str, template: str, context: dict[str, Any], _: object) -> None:
    """Give a page that has its own style and script both, and the chapters those of guesses."""
    own = {"index": ["front"], "placement": ["placement"]}
    for name in own.get(page, ["guess-card", "guess"] * page.startswith("notebooks/")):
        app.add_css_file(f"{name}.css")
        app.add_js_file(f"{name}.js")


def setup(app: Sphinx) -> None:
    """Join the build."""
    app.config.html_static_path.append(f"{app.srcdir}/_made")
    made_by = words.digest(words.__file__, twins.__file__)
    app.add_config_value("pages_digest", made_by, "env")  # a new one: read all pages again
    # What every page shows beside its own text: after a change all pages are written again.
    around = (ROOT / name for name in ("book.yml", "book/conf.py"))
    frame = sha256(b"".join(path.read_bytes() for path in around)).hexdigest()
    app.add_config_value("frame_digest", frame, "html")
    app.add_transform(twins.Twins)
    # The cells of these two show the package of today.
    app.connect("env-get-outdated", lambda *_: ["index", "measured"])
    app.connect("source-read", _jupyter_book)
    app.connect("doctree-read", words.link)
    app.connect("doctree-resolved", _bibliography)
    app.connect("html-page-context", _own)
    app.connect("html-page-context", _buttons, priority=900)  # after the theme
    app.connect("html-page-context", _onwards, priority=910)
    app.connect("html-page-context", _description)
