"""What attention, positions, measure and their models offer learners stands in a table."""

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

from entries import ENTRIES, ROOMS
from test_call_refusals import CALLS

from course_utils import distributed, models
from course_utils.attention import flash_triton

# They belong to a group of processes: tests/distributed calls them in one.
IN_A_GROUP = {
    "SentBytes", "parallel_ring_attention", "ring_all_reduce", "run_ranks",
    "tensor_parallel_attention", "ulysses_attention",
}  # fmt: skip


def public(*packages: Any) -> Iterator[Any]:
    """Yield every function and class that these packages export, and the kernels."""
    yield flash_triton.flash_attention
    for package in packages:
        yield from (getattr(package, name) for name in package.__all__)


def names(thing: Any) -> Iterator[str]:
    """Yield what can be called of a public thing: itself, and the methods that it adds."""
    if inspect.isfunction(thing):
        yield thing.__qualname__
    if not inspect.isclass(thing):
        return
    record = dataclasses.is_dataclass(thing) or issubclass(thing, tuple)  # keeps what it is given
    if "__init__" in vars(thing) and not record:
        yield thing.__qualname__
    for name, method in vars(thing).items():
        method = method.__func__ if isinstance(method, classmethod) else method
        if inspect.isfunction(method) and not name.startswith("_"):
            yield method.__qualname__


def test_every_name_of_the_references_is_in_a_table() -> None:
    tables = {entry.name for entry in (*ENTRIES, *CALLS)}
    references = public(*ROOMS, distributed)
    assert {name for thing in references for name in names(thing)} <= tables | IN_A_GROUP


def test_every_entry_of_a_table_is_public() -> None:
    exported = {n for thing in public(*ROOMS, models, distributed) for n in names(thing)}
    exported |= {"PowerLaw.__call__"}
    assert {entry.name for entry in (*ENTRIES, *CALLS)} <= exported
