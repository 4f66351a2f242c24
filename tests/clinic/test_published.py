"""The published faults: each is refused by its exercise, and for the reason it was published."""

import pytest

from course_utils.checking.judge import judge
from course_utils.clinic.published import CORRECTED, FAULTS, PublishedFault
from course_utils.exercises import find

NAMES = {
    "softmax over the other index": "softmax over the queries",
    "weights returned after dropout": "random numbers inside",
    "Q = K = V = XW": "one matrix for several",
    "keys cut by the query's length": "keys cut with the number of queries",
    "heads cut by view alone": "cut without a transpose",
    "-1e9, and an empty row": "uniform on an empty row",
    "RoPE that always counts from 0": "positions ignored",
    "a window as a mask": "window masked but dense",
    "three faults of a flash sketch": "no scale",
    "only the last new token cached": "only one of several new tokens kept",
    "cross-attention that reads itself": "the memory unused",
    "every chosen token masked": "everything hidden",
    "the size of the gradient": "size of the gradient",
    "not normalised": "lengths kept",
    "patterns in columns, read as rows": "patterns taken for columns",
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.says)
def test_a_published_fault_is_refused_by_name(fault: PublishedFault) -> None:
    report = judge(find(fault.exercise), fault.wrong)
    assert not report.passed
    assert report.misconceptions == (NAMES[fault.says],)


def test_every_chapter_from_02_to_15_has_one() -> None:
    assert {fault.chapter for fault in FAULTS} == set(range(2, 16))


@pytest.mark.parametrize(
    ("left", "name"),
    [
        ("no scale left", "no scale"),
        ("keys counted by queries left", "the loop over keys runs to L"),
        ("a softmax in each block left", "a softmax in every tile, added"),
        ("none left", "more than a tile at once"),
    ],
)
def test_the_sketch_is_named_fault_by_fault(left: str, name: str) -> None:
    assert judge(find("tiled_attention"), CORRECTED[left]).misconceptions == (name,)
