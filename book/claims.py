"""The claims of published texts that the course checks, chapter by chapter.

What was run or computed is recomputed when the page is built: its verdict and what it found come
from `course_utils.claims`, the rest from the ledger in `claims.yml`.
"""

import re
from functools import cache

from docutils.nodes import make_id

from book.blocks import block, formulas, table
from book.contents import ROOT
from course_utils.claims import check_of, ledger, recompute, works
from course_utils.claims.ledger import Claim

_found = cache(recompute)
_SECTION = re.compile(r"(?m)^## (\d+)\. (.*)$")
# What is most worth reading comes first: how a row is labelled, and how many are counted.
HOW = "How, and where"
VERDICTS = {
    "wrong": ("wrong", "are wrong"),
    "corrected": ("corrected", "hold with a correction"),
    "hardware-dependent": ("by machine", "depend on the machine"),
    "unverifiable": ("no evidence", "have no evidence"),
    "confirmed": ("holds", "hold"),
}


def recomputed(claim: Claim) -> Claim:
    """Return a claim as its check finds it now; as it stands in the ledger where nothing is run."""
    if claim["how"] not in ("run", "computed"):
        return claim
    finding, check = _found(claim["id"]), check_of(claim["id"]).__name__
    return claim | {"verdict": finding.verdict, "found": finding.measured, "check": check}


def sections(number: str) -> dict[str, tuple[int, str]]:
    """Return number and address of each section of a chapter, by its anchor on the site."""
    (source,) = (ROOT / "solutions").glob(f"{number}_*.py")
    found = _SECTION.findall(source.read_text(encoding="utf-8"))
    anchors = ((int(count), make_id(re.sub("[$`]", "", title))) for count, title in found)
    return {name: (count, f"notebooks/{source.stem}.html#{name}") for count, name in anchors}


def markdown(titles: dict[str, str]) -> str:
    """Return the page's part: for each chapter, folded, what does not simply hold and what does.

    Args:
        titles: What each chapter is called, by number; claims of other chapters are left out.
    """
    claims = [recomputed(claim) for claim in ledger() if claim["chapter"] in titles]
    counts = {v: sum(claim["verdict"] == v for claim in claims) for v in VERDICTS}
    told = ", ".join(f"{counts[v]} {many}" for v, (_, many) in VERDICTS.items() if counts[v])
    parts = [f"{len(claims)} claims: {told}."]
    for number, title in titles.items():
        own = [claim for claim in claims if claim["chapter"] == number]
        if own:
            parts += [f"## {title}", _chapter(own)]
    return "\n\n".join(parts)


def _chapter(claims: list[Claim]) -> str:
    order = list(VERDICTS)
    corrected = sorted(
        (claim for claim in claims if claim["verdict"] != "confirmed"),
        key=lambda claim: order.index(claim["verdict"]),
    )
    held = [claim for claim in claims if claim["verdict"] == "confirmed"]
    where = sections(claims[0]["chapter"])
    amiss = [(_said(c), VERDICTS[c["verdict"]][0], *_holds(c, where)) for c in corrected]
    hold = [(_said(c), *_holds(c, where)) for c in held]
    lines = []
    for says, columns, rows in (
        ("that do not simply hold", ("Verdict", "What holds"), amiss),
        ("that hold", ("To add",), hold),
    ):
        if rows:
            shown = table(("A published text says", *columns, HOW), rows, "claims")
            lines += [f"<details><summary>{len(rows)} {says}</summary>", shown, "</details>"]
    return block(*lines)


def _said(claim: Claim) -> str:
    return f'{formulas(claim["claim"])} (<a href="#texts">{", ".join(claim["text"])}</a>)'


def _holds(claim: Claim, where: dict[str, tuple[int, str]]) -> tuple[str, str]:
    plain = claim["correct"].removeprefix("As stated").lstrip(".;, ")
    if plain.startswith("(") and plain.rstrip(".").endswith(")"):
        plain = plain.rstrip(".")[1:-1] + "."
    links = [
        f'<a href="{where[name][1]}">section {where[name][0]}</a>'
        for name in claim["sections"]
        if name in where
    ]
    holds = [formulas(plain[:1].upper() + plain[1:])] if plain else []
    if "found" in claim:
        holds += [f'<span class="found">Found now: {formulas(claim["found"])}.</span>']
        by = [f"{claim['how']} (<code>{claim['check']}</code>)"]
    else:
        by = ["; ".join([claim["how"], *map(formulas, works(claim.get("cite", ())))])]
    return " ".join(holds), ", ".join([*by, *links])
