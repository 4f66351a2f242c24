"""Laws of everything public with any input: a result, or our error."""

import copy
import math
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._pytree import tree_leaves

from tests.laws.annotated import DTYPES, Entry, Sizes, expected, kinds_of, sizes
from tests.laws.annotations import fits_alone, fits_together
from tests.laws.entries import CALLS, ENTRIES, FIXED, KNOWN, ROOMS
from tests.laws.exceptions import (
    INNER_NAMES,
    LENIENT,
    NOT_ZERO,
    ON_CPU,
    ROUGH,
    SHARES,
    TAKES,
    TOGETHER,
    UNCALLED,
    WRITES,
)
from tests.laws.refusal import WRONG, attempt, call, reshaped

few = settings(
    max_examples=4, derandomize=True, deadline=None, database=None,
    phases=[Phase.generate], suppress_health_check=list(HealthCheck),
)  # fmt: skip
small = st.integers(1, 4)
drawn_sizes = st.builds(sizes, small, small, small, small, small, small, small)
each_function = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
called = [pytest.param(entry, marks=pytest.mark.thorough) for entry in CALLS]
each_call = pytest.mark.parametrize("entry", [*ENTRIES, *called], ids=lambda entry: entry.name)


def tensors(result: Any) -> list[Tensor]:
    return [part for part in tree_leaves(result) if isinstance(part, Tensor)]


def test_every_exception_is_about_something_public() -> None:
    assert KNOWN.keys() <= {entry.name for entry in (*ENTRIES, *CALLS)}
    exported = {name for room in ROOMS for name in room.__all__}
    assert {name.partition(".")[0] for name in UNCALLED} <= exported


@each_function
@few
@given(drawn_sizes, st.sampled_from(DTYPES), st.integers(0, 99))
def test_a_result_has_the_annotated_shape_and_the_inputs_dtype(
    entry: Entry, drawn: Sizes, dtype: torch.dtype, seed: int
) -> None:
    used, kept = (entry.arguments(drawn, dtype, seed) for _ in range(2))
    floats = {x.dtype for x in tensors(used) if x.is_floating_point()}
    result = entry.function(**used)
    parts = list(result) if isinstance(result, tuple) else [result]
    for part, annotation in zip(parts, entry.results(), strict=True):
        if not isinstance(part, Tensor):
            continue
        if part.is_floating_point() and len(floats) == 1:
            assert {part.dtype} == floats
        if "*axes" not in annotation.dim_str and "..." not in annotation.dim_str:
            numbers = {name: one for name, one in kept.items() if isinstance(one, int)}
            shape = expected(annotation.dim_str, numbers | drawn | entry.sizes, 1)
            assert tuple(part.shape) == tuple(shape)
    for name, value in kept.items():
        if isinstance(value, Tensor) and name not in WRITES:
            assert torch.equal(used[name], value), f"{name} was changed"


@each_function
def test_what_it_makes_is_on_the_device_of_its_inputs(entry: Entry) -> None:
    given = entry.arguments(FIXED)
    if not tensors(given) or entry.function in ON_CPU:
        return
    try:
        with torch.device("meta"):  # what is made without a device is there
            made = tensors(entry.function(**given))
    except NotImplementedError:  # it was moved to the inputs' device, which only `meta` cannot
        return
    assert all(part.device.type == "cpu" for part in made)


@each_function
def test_without_gradients_the_result_is_the_same(entry: Entry) -> None:
    one, other = (entry.arguments(FIXED, torch.float64, 3) for _ in range(2))
    want = tensors(entry.function(**one))
    with torch.no_grad():
        got = tensors(entry.function(**other))
    torch.testing.assert_close(got, want, equal_nan=True)


@pytest.mark.thorough
@each_function
@few
@given(drawn_sizes, st.integers(0, 99))
def test_memory_layout_does_not_matter(entry: Entry, drawn: Sizes, seed: int) -> None:
    plain, spread = (entry.arguments(drawn, torch.float64, seed) for _ in range(2))
    spread = {
        name: spread_out(value) if isinstance(value, Tensor) else value
        for name, value in spread.items()
    }
    one, other = entry.function(**spread), entry.function(**plain)
    torch.testing.assert_close(tensors(one), tensors(other), equal_nan=True)
    assert bool(tensors(one)) or one == other or one != one


def spread_out(tensor: Tensor) -> Tensor:
    """Return the same values in memory where every other place is something else."""
    room = torch.stack([tensor, torch.ones_like(tensor)], dim=-1)
    return (room.mT.contiguous().mT if room.dim() > 1 else room)[..., 0]


@pytest.mark.thorough
@each_function
@few
@given(drawn_sizes, st.sampled_from(DTYPES[1:]), st.integers(0, 99))
def test_low_precision_keeps_its_dtype_and_comes_near(
    entry: Entry, drawn: Sizes, dtype: torch.dtype, seed: int
) -> None:
    given = entry.arguments(drawn, dtype, seed)
    result = entry.function(**given)
    floats = [v for v in given.values() if isinstance(v, Tensor) and v.is_floating_point()]
    if entry.function in ROUGH or any(v.dtype != dtype for v in floats) or not floats:
        return
    exact = entry.function(**{name: _widened(value) for name, value in given.items()})
    room = {torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.15}[dtype]
    for part, right in zip(tensors(result), tensors(exact), strict=True):
        if part.is_floating_point():
            assert part.dtype == dtype
            size = float(right.abs().nan_to_num(0.0, 0.0, 0.0).amax()) if right.numel() else 0.0
            torch.testing.assert_close(part.double(), right, rtol=room, atol=room * (size + 0.01))


def _widened(value: Any) -> Any:
    is_float = isinstance(value, Tensor) and value.is_floating_point()
    return value.double() if is_float else value


@each_function
def test_a_query_that_may_see_nothing_gives_zeros_and_takes_no_gradient(entry: Entry) -> None:
    if "attn_mask" not in entry.parameters or entry.function in NOT_ZERO:
        return
    given = entry.arguments(FIXED, torch.float64, 3)
    given["attn_mask"][...] = True
    given["attn_mask"][..., 0, :] = False
    floats = {n: x for n, x in given.items() if isinstance(x, Tensor) and x.is_floating_point()}
    for x in floats.values():
        x.requires_grad_()
    out = entry.function(**given)
    assert not out[..., 0, :].any()
    grads = torch.autograd.grad(out.square().sum(), list(floats.values()))
    for name, grad in zip(floats, grads, strict=True):
        assert grad.isfinite().all()
        assert name not in ("query", "scores") or not grad[..., 0, :].any()


@each_function
@pytest.mark.parametrize("queries", [0, 1])
@pytest.mark.parametrize("keys", [0, 1])
def test_lengths_of_none_and_one_are_served_or_refused(
    entry: Entry, queries: int, keys: int
) -> None:
    drawn = sizes(2, 1, 2, queries, keys, 2, 3)
    for leading in (0, 1, 2):
        for batch in (0, 2):
            given = entry.arguments(drawn | {"B": batch, "batch": batch}, torch.float64, 1, leading)
            assert not any(
                bool(part.isnan().any()) for part in tensors(call(entry.function, given))
            )


@pytest.mark.thorough
@each_function
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_what_is_no_number_stays_where_it_is(entry: Entry, bad: float) -> None:
    drawn = sizes(3, 1, 2, 4, 5, 2, 3)
    clean = call(entry.function, entry.arguments(drawn, torch.float64, 1))
    for name, value in entry.arguments(drawn, torch.float64, 1).items():
        if not isinstance(value, Tensor) or not value.is_floating_point():
            continue
        given = entry.arguments(drawn, torch.float64, 1)
        given[name][(0,) * value.dim()] = bad
        spoilt = call(entry.function, given)
        if spoilt is None or entry.function in TOGETHER or not entry.leads(name):
            continue
        for one, other in zip(tensors(spoilt), tensors(clean), strict=True):
            torch.testing.assert_close(one[1:], other[1:], equal_nan=True)


@pytest.mark.thorough
@each_function
@few
@given(drawn_sizes, st.integers(0, 99))
def test_each_member_of_a_batch_has_the_result_it_has_alone(
    entry: Entry, drawn: Sizes, seed: int
) -> None:
    given = entry.arguments(drawn, torch.float64, seed)
    led = [name for name in given if entry.leads(name)]
    if not led or entry.function in TOGETHER:
        return
    alone = {name: value[:1] if name in led else value for name, value in given.items()}
    if "lengths" in given:
        alone["lengths"] = given["lengths"][:1]
    together = entry.function(**given)
    for one, other in zip(tensors(entry.function(**alone)), tensors(together), strict=True):
        torch.testing.assert_close(one, other[:1], equal_nan=True)


@each_call
def test_valid_arguments_are_served(entry: Entry) -> None:
    entry.function(**entry.arguments(FIXED))


@each_call
def test_what_the_annotations_forbid_is_refused_by_name(entry: Entry) -> None:
    for name in entry.names:
        for wrong in (*WRONG, *reshaped(entry.arguments(FIXED).get(name))):
            given = entry.arguments(FIXED) | {name: copy.copy(wrong)}
            _, said = attempt(entry.function, given)
            if not said and not f"{entry.name}.{name}".startswith(LENIENT):
                assert fits_together(entry, given), f"{name} = {wrong!r:.70} was served"
            if said and not fits_alone(entry, name, wrong):
                first = said.split()[0]
                assert name in said or first in name or first in INNER_NAMES, said


@each_call
def test_a_number_out_of_range_is_refused_by_name(entry: Entry) -> None:
    for name, parameter in entry.parameters.items():
        kinds = kinds_of(parameter.annotation)
        numbers = (-1, 0) if int in kinds else (-0.1, 0.0, math.inf, math.nan)
        for number in (*numbers, *[1.1] * (name in SHARES)) if {int, float} & set(kinds) else ():
            _, said = attempt(entry.function, entry.arguments(FIXED) | {name: number})
            if not TAKES.get(str(number), set()) & {name, f"{entry.name}.{name}"}:
                assert name in said or str(number) in said, f"{name} = {number}: {said or 'served'}"
