"""Arguments that `claim_ledger` accepts and refuses."""

import pytest

from course_utils.claims import ledger, timeline
from course_utils.widgets import claim_ledger


def test_it_opens_on_all_claims_with_what_was_found() -> None:
    widget = claim_ledger(ledger(), timeline(), found={"01-06": "409,600 B"})
    (found,) = (claim for claim in widget.claims if "found" in claim)
    assert (found["id"], found["found"]) == ("01-06", "409,600 B")
    assert [claim["id"] for claim in widget.claims] == [claim["id"] for claim in ledger()]
    assert repr(widget) == (
        f"ClaimLedger({len(ledger())} claims, {len(timeline())} entries of a timeline)"
    )


def test_no_claims_are_said() -> None:
    with pytest.raises(ValueError, match="claims must be at least one, got none"):
        claim_ledger([])
