"""Recompute a claim, or all of a chapter."""

from course_utils.claims.finding import Check, Finding, checks
from course_utils.claims.ledger import ledger
from course_utils.validation import check_instance


def check_of(claim: str) -> Check:
    """Return the function that recomputes a claim.

    Raises:
        ValueError: Nothing is run for the claim: there is none of that id, or it was looked up,
            read or remembered.
    """
    check_instance(str, claim=claim)
    found = checks(claim[:2]).get(claim)
    if found is None:
        (how,) = [entry["how"] for entry in ledger() if entry["id"] == claim] or [
            "not in the ledger"
        ]
        raise ValueError(f"claim must be one that is run or computed, got {claim!r}: {how}")
    return found


def recompute(claim: str) -> Finding:
    """Return what the check of a claim finds now.

    Args:
        claim: The claim's id in the ledger, such as "03-07".

    Raises:
        ValueError: Nothing is run for the claim: there is none of that id, or it was looked up,
            read or remembered.
    """
    return check_of(claim)()


def recompute_all(chapter: str | None = None) -> list[tuple[str, Finding]]:
    """Return the id of each claim that is run or computed with its finding, in the ledger's order.

    Args:
        chapter: A chapter's number in two digits; without it, all are recomputed.

    Raises:
        ValueError: The chapter has no such claim.
    """
    own = [
        claim["id"]
        for claim in ledger()
        if claim["how"] in ("run", "computed") and chapter in (None, claim["chapter"])
    ]
    if not own:
        raise ValueError(f"chapter must have claims that are run or computed, got {chapter!r}")
    return [(claim, recompute(claim)) for claim in own]
