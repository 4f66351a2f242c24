"""The claims of published texts that the course checks, chapter by chapter, from `claims.yml`."""

from pathlib import Path

import yaml

from book.blocks import block, formulas, table

RECORD = Path(__file__).resolve().parent / "claims.yml"
Claim = dict[str, str]
# What is most worth reading comes first: how a row is labelled, and how many are counted.
VERDICTS = {
    "wrong": ("wrong", "are wrong"),
    "corrected": ("corrected", "hold with a correction"),
    "hardware-dependent": ("by machine", "depend on the machine"),
    "unverifiable": ("no evidence", "have no evidence"),
    "confirmed": ("holds", "hold"),
}


def load() -> list[Claim]:
    """Return all claims."""
    claims: list[Claim] = yaml.safe_load(RECORD.read_text(encoding="utf-8"))
    return claims


def markdown(titles: dict[str, str]) -> str:
    """Return the page's part: for each chapter what does not simply hold, then, folded, what does.

    Args:
        titles: What each chapter is called, by number; claims of other chapters are left out.
    """
    claims = [claim for claim in load() if claim["chapter"] in titles]
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
    mended = sorted(
        (claim for claim in claims if claim["verdict"] != "confirmed"),
        key=lambda claim: order.index(claim["verdict"]),
    )
    held = [claim for claim in claims if claim["verdict"] == "confirmed"]
    lines = []
    if mended:
        rows = [(formulas(c["claim"]), VERDICTS[c["verdict"]][0], *_holds(c)) for c in mended]
        lines += [table(("A published text says", "Verdict", "What holds", "How"), rows, "claims")]
    if held:
        rows = [(formulas(c["claim"]), *_holds(c)) for c in held]
        shown = table(("A published text says", "To add", "How"), rows, "claims")
        lines += [f"<details><summary>{len(held)} that hold</summary>", shown, "</details>"]
    return block(*lines)


def _holds(claim: Claim) -> tuple[str, str]:
    plain = claim["correct"].removeprefix("As stated").lstrip(".;, ")
    if plain.startswith("(") and plain.rstrip(".").endswith(")"):
        plain = plain.rstrip(".")[1:-1] + "."
    return formulas(plain[:1].upper() + plain[1:]), claim["how"]
