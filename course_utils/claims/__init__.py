"""The ledger of published claims, and a function that recomputes each that can be recomputed.

`chNN.py` holds the checks of a chapter's claims: rows of `arithmetic`, whose figures are judged as
chapter 18 judges a stated size, and small functions, seeded, without a network, that return what
they found. A check never reads the ledger: its verdict comes from what it computes, and a test
compares the two.
"""

from course_utils.claims.finding import Finding
from course_utils.claims.ledger import book_file, ledger, timeline, works
from course_utils.claims.registry import check_of, recompute, recompute_all

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]
