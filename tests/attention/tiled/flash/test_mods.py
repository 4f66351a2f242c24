"""Options of the kernels, each compared with a loop over the queries, in float64."""

import math
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from course_utils.attention.tiled.flash.flash import flash_attention
from course_utils.attention.tiled.flash.spans import count_tiles, visible_spans
from course_utils.measure import trace_triton
from tests.attention.tiled.flash.test_flash import ROOM, made, through

pytest.importorskip("triton", reason="the kernels need triton, which exists for Linux")

SLOPES = torch.tensor([0.1, 0.4])
PACKED = torch.tensor([0, 3, 66, 0, 1])
UNEQUAL = torch.tensor([3, 1, 60, 6, 0]), torch.tensor([1, 3, 80, 0, 6])
# Queries, keys, width of a value, options. Tiles have 64 rows.
CASES: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "scale": (5, 70, 16, {"scale": 0.1}),
    "wide value": (66, 70, 40, {"is_causal": True}),
    "narrow value": (66, 70, 5, {}),
    "wide": (3, 20, 200, {}),
    "value of two kernels": (3, 20, 264, {}),
    "cap": (66, 70, 16, {"cap": 2.0}),
    "cap, causal": (66, 70, 16, {"cap": 2.0, "is_causal": True}),
    "slopes": (70, 66, 16, {"slopes": SLOPES, "is_causal": True}),
    "cap and slopes": (66, 70, 16, {"slopes": SLOPES, "cap": 2.0}),
    "bottom right": (66, 140, 16, {"is_causal": True, "offset": 74}),
    "bottom right, more queries": (140, 66, 16, {"is_causal": True, "offset": -74}),
    "window": (140, 140, 16, {"is_causal": True, "window": (9, None)}),
    "window to both sides": (70, 140, 16, {"window": (9, 3), "offset": 70}),
    "window to the right": (130, 66, 16, {"window": (None, 2)}),
    "window of two keys": (66, 66, 16, {"window": (0, 1)}),
    "documents": (70, 70, 16, {"lengths": PACKED}),
    "documents, causal": (70, 70, 16, {"lengths": PACKED, "is_causal": True}),
    "documents that end together": (
        70, 90, 16, {"lengths": UNEQUAL, "offset": UNEQUAL[1] - UNEQUAL[0], "is_causal": True}
    ),
    "all": (70, 70, 24, {"lengths": PACKED, "window": (20, 3), "slopes": SLOPES, "cap": 2.0}),
}  # fmt: skip


def visible(i: int, num_keys: int, options: dict[str, Any]) -> tuple[int, list[int]]:
    """Return the key at which query i stands, and those that it sees."""
    offset, start, end, own = options.get("offset", 0), 0, num_keys, i
    if "lengths" in options:
        both = options["lengths"]
        both = both if isinstance(both, tuple) else (both, both)
        queries, keys = (x.tolist() for x in both)
        document = next(n for n in range(len(queries)) if i < sum(queries[: n + 1]))
        start, end = sum(keys[:document]), sum(keys[: document + 1])
        own = i - sum(queries[:document]) + start
        offset = int(offset[document]) if isinstance(offset, Tensor) else offset
    own += offset
    before, after = options.get("window", (None, None))
    seen = [j for j in range(start, end) if before is None or j >= own - before]
    seen = [j for j in seen if after is None or j <= own + after]
    return own, [j for j in seen if j <= own or not options.get("is_causal")]


def loop(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    rows = []
    for i in range(query.shape[2]):
        own, seen = visible(i, key.shape[2], options)
        scale = options.get("scale", 1 / math.sqrt(query.shape[-1]))
        scores = query[:, :, i, None] @ key[:, :, seen].mT * scale
        if "cap" in options:
            scores = options["cap"] * torch.tanh(scores / options["cap"])
        if "slopes" in options:
            steps = (torch.tensor(seen) - own).abs()
            scores = scores - options["slopes"].double()[:, None, None] * steps
        rows.append(scores.softmax(-1) @ value[:, :, seen])
    return torch.cat(rows, 2)


def given(name: str, dtype: torch.dtype, device: str = "cpu") -> tuple[list[Tensor], Tensor]:
    num_queries, num_keys, width, _ = CASES[name]
    query, key, _ = made(num_queries, num_keys, min(width, 200), dtype, size=1.5)
    value = made(num_keys, num_keys, width, dtype)[2]
    grad_out = made(num_queries, 1, width, dtype)[0]
    return [x.to(device) for x in (query, key, value)], grad_out.to(device)


def errors(name: str, dtype: torch.dtype, device: str = "cpu") -> list[float]:
    """Return how far output and gradients are from the loop, relative to their largest entries."""
    options = CASES[name][-1]
    tensors, grad_out = given(name, dtype, device)
    on = {k: x.to(device) if isinstance(x, Tensor) else x for k, x in options.items()}
    got = through(lambda *qkv: flash_attention(*qkv, **on), tensors, grad_out)
    exact = [x.cpu().double() for x in tensors]
    want = through(lambda *qkv: loop(*qkv, **options), exact, grad_out.cpu().double())
    return [
        ((a.cpu().double() - b).abs().max() / b.abs().max().clamp(min=0.1)).item()
        for a, b in zip(got, want, strict=True)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_output_and_gradients_are_those_of_a_loop(name: str) -> None:
    out, *gradients = errors(name, torch.float32)
    assert out <= 2e-6  # the cap's tanh is made of a power, and so a little less exact
    assert max(gradients) <= 1e-5


@pytest.mark.parametrize("name", ["all", "bottom right, more queries"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rounds_and_no_more(name: str, dtype: torch.dtype) -> None:
    room = max(ROOM[torch.float16]) if dtype == torch.float16 else 0.02
    assert max(errors(name, dtype)) <= room


def test_a_query_that_sees_nothing_gives_zeros_and_takes_no_gradient() -> None:
    tensors, grad_out = given("bottom right, more queries", torch.float32)
    options = CASES["bottom right, more queries"][-1]
    out, dq, *_ = through(lambda *qkv: flash_attention(*qkv, **options), tensors, grad_out)
    for x in (out, dq):
        assert not x[:, :, :74].any()
    assert out[:, :, 74:].any(-1).all()


def test_scores_far_above_the_cap_stay_finite() -> None:
    tensors = made(20, 30, 16, torch.float32, size=100.0)
    got = through(lambda *qkv: flash_attention(*qkv, cap=5.0), tensors, torch.ones(1, 2, 20, 16))
    want = through(lambda *qkv: loop(*qkv, cap=5.0), [x.double() for x in tensors],
                   torch.ones(1, 2, 20, 16).double())  # fmt: skip
    torch.testing.assert_close([x.double() for x in got], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lengths", [(0, 5), (5, 0)])
def test_without_queries_or_keys_there_is_nothing_to_hide(lengths: tuple[int, int]) -> None:
    tensors = made(*lengths, 16, torch.float32)
    out = flash_attention(*tensors, True, window=(1, 1), cap=1.0, slopes=SLOPES)
    assert torch.equal(out, torch.zeros_like(tensors[0]))


@pytest.mark.parametrize("options", [{"is_causal": True, "window": (9, 0)}, {"window": (None, 0)}])
def test_the_kernel_loads_the_tiles_that_are_counted_and_no_others(options: dict) -> None:
    tensors = made(70, 70, 16, torch.float32, kv_heads=2)
    loaded, visited = [], []
    for asked in (options, {"window": (None, None)}):  # spans that hide nothing
        loaded.append(trace_triton(partial(flash_attention, **asked), *tensors).bytes_loaded)
        visited.append(count_tiles(visible_spans(70, 70, **asked), 64, 64)[0])
    assert visited == [3, 4]
    # Left out: 6 rows, ragged, of keys and of values, in each of two heads.
    assert loaded[1] - loaded[0] == 6 * 2 * 2 * 16 * 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the compiled kernels need a GPU")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_compiled_kernels_are_the_loop_too(dtype: torch.dtype, name: str) -> None:
    room = {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}[dtype]
    assert max(errors(name, dtype, "cuda")) <= room
