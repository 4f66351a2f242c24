"""Make the parts of the front page that are made of data.

Three wrong answers are handed to the checker as the page is built, the map is made of the chapters
and their times, and the numbers are counted.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

import yaml

from book import claims, contents, mistakes
from book.blocks import block, formulas
from book.contents import ROOT
from book.facts import Facts

PARTS = ("begin", "wrong", "examples", "verdict", "path", "numbers")
ASKED = "scaled_dot_product_attention"
START = """\
from torch import inf, ones, softmax

def scaled_dot_product_attention(query, key, value, attn_mask=None, scale=None):
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    hidden = ~ones(1, 1).bool() if attn_mask is None else ~attn_mask
"""
ANSWERS = (
    """\
s = query @ key.mT * factor
s = s.masked_fill(hidden, -inf)
return softmax(s, -2) @ value
""",
    """\
s = query @ key.mT
s = s.masked_fill(hidden, -inf)
return softmax(s, -1) @ value
""",
    """\
s = query @ key.mT * factor
s = s - 100 * hidden
return softmax(s, -1) @ value
""",
)
_REQUESTS = re.compile(r'(<strong data-count="requests">)[^<]*')
_LOADS = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*?\bsrc=["']?(?:https?:)?//|"""
    r"""<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|modulepreload|icon|preconnect))"""
    r"""[^>]*?\bhref=["']?(?:https?:)?//""",
    re.IGNORECASE,
)


def begin(about: dict[str, Facts], edition: str) -> str:
    """Return the button that begins, with its minutes, and where to look for another start.

    In the instructor's edition the way to teach comes first.
    """
    teach = '<a class="front-go" href="instructor/teach.html">Teach with it</a>'
    learn = "" if edition == "instructor" else ' class="front-go"'
    return block(
        '<p class="front-begin">',
        teach if edition == "instructor" else "",
        f'<a{learn} href="notebooks/00_start_here.html">Begin: {about["00"].read} minutes</a>',
        '<a href="placement.html">Where should I start?</a>',
        "</p>",
    )


def verdict(lines: str) -> Any:
    """Return the checker's report on the lines of an answer, below the shared beginning."""
    from course_utils.checking.judge import judge
    from course_utils.exercises import find

    names: dict[str, Any] = {}
    exec(START + "".join(f"    {line}\n" for line in lines.splitlines()), names)
    return judge(find(ASKED), names[ASKED])


def wrong(count: int = len(ANSWERS)) -> str:
    """Return wrong answers, each with the card of its verdict; front.js shows one at a time.

    Raises:
        ValueError: The checker names no mistake in one of them.
    """
    shown = []
    for number, lines in enumerate(ANSWERS[:count]):
        report = verdict(lines)
        if report.misconception is None:
            raise ValueError(f"answer {number} of the front page must have a mistake, got {report}")
        shown += [
            '<div class="front-answer">',
            f'<pre tabindex="0" aria-label="Answer {"ABC"[number]}">{escape(lines.strip())}</pre>',
            f'<div class="front-card">{report._repr_html_()}</div>',
            "</div>",
        ]
    start = f'<pre class="front-start" tabindex="0">{escape(START.strip())}</pre>'
    return block(start, '<div class="front-answers">', *shown, "</div>")


def path(about: dict[str, Facts], toc: list[contents.Entry]) -> str:
    """Return the chapters as steps of a path, each with its question and the minutes of its core.

    Raises:
        ValueError: A chapter has no question.
    """
    questions = yaml.safe_load((ROOT / "book" / "questions.yml").read_text(encoding="utf-8"))
    steps = []
    for file, title in contents.titles(toc):
        number = Path(file).name[:2]
        if not contents.is_notebook(file) or not about[number].exercises or number == "00":
            continue
        if number not in questions:
            raise ValueError(f"book/questions.yml must hold a question of chapter {number}")
        steps.append(
            f'<li><a href="{contents.docname(file)}.html">{escape(title or number)}</a>'
            f"<q>{formulas(questions[number])}</q>"
            f"<small>core path {about[number].core} min</small></li>"
        )
    return block('<ol class="front-path">', *steps, "</ol>")


def numbers(titles: dict[str, str]) -> str:
    """Return three numbers for a sceptic; `settle` counts the last when the site stands."""
    from course_utils.claims import ledger
    from course_utils.exercises import all_exercises

    judged = [claims.recomputed(claim) for claim in ledger() if claim["chapter"] in titles]
    wrong = sum(claim["verdict"] == "wrong" for claim in judged)
    names, versions = mistakes.counts(all_exercises())
    told = {
        "claims": f"published claims judged, run again where they can be: {wrong} are wrong",
        "mistakes": f"mistakes known by name, in {versions:,} wrong answers, each recognised",
        "requests": "files that a page loads from other addresses: it works from a folder",
    }
    counted = {"claims": f"{len(judged):,}", "mistakes": f"{names:,}", "requests": "?"}
    pages = {"claims": "measured", "mistakes": "mistakes", "requests": "tested"}
    items = (
        f'<li><strong data-count="{name}">{count}</strong> '
        f'<a href="{pages[name]}.html">{told[name]}</a></li>'
        for name, count in counted.items()
    )
    return block('<ul class="front-numbers">', *items, "</ul>")


def loads(html: str) -> int:
    """Return how many scripts, styles, pictures and frames a page has from another address."""
    return len(_LOADS.findall(html))


def settle(site: Path) -> None:
    """Write onto a built site's front page how many files its pages load from other addresses."""
    front = site / "index.html"
    text = front.read_text(encoding="utf-8")
    if _REQUESTS.search(text):
        pages = (page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
        count = sum(map(loads, pages))
        front.write_text(_REQUESTS.sub(rf"\g<1>{count}", text), encoding="utf-8")
