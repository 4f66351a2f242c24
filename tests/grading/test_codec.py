"""Values travel between judge and answer unchanged, and bytes from a stranger run nothing."""

import json
import math
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils.grading.codec import Foreign, Handle, decode, encode

SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text() | st.floats()
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(TREES)
def test_plain_values_come_back_as_they_were(value: object) -> None:
    assert repr(decode(encode(value))) == repr(value)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.bool]
)
def test_tensors_keep_values_dtype_and_layout(dtype: torch.dtype) -> None:
    whole = (torch.arange(24).reshape(4, 6) % 5).to(dtype)
    for tensor in (whole, whole.mT, whole[1:, ::2], whole[:1].expand(3, 6), whole[:0], whole[0, 0]):
        back = decode(encode(tensor))
        assert torch.equal(back, tensor)
        assert (back.dtype, back.stride()) == (dtype, tensor.stride())


def test_tensors_that_share_memory_still_share_it() -> None:
    whole = torch.zeros(5)
    one, other = decode(encode((whole, whole[2:])))
    one[3] = 7.0
    assert other[1] == 7.0


def test_a_generator_goes_on_where_it_was_and_a_wish_for_gradients_is_kept() -> None:
    generator = torch.Generator().manual_seed(3)
    torch.rand(5, generator=generator)
    back, tensor = decode(encode((generator, torch.ones(2, requires_grad=True))))
    assert torch.equal(torch.rand(3, generator=back), torch.rand(3, generator=generator))
    assert tensor.requires_grad


def test_functions_stay_at_home_and_what_cannot_travel_is_named() -> None:
    kept = []

    def keep(function: object) -> int:
        kept.append(function)
        return len(kept)

    assert decode(encode([math.sqrt], keep)) == [Handle(1)]
    assert kept == [math.sqrt]
    assert decode(encode(math.sqrt)) == Foreign("builtins.builtin_function_or_method")
    assert decode(encode(torch.ones(2, 2).to_sparse())) == Foreign("torch.Tensor")
    assert decode(encode(object())) == Foreign("builtins.object")


def test_what_stays_at_home_is_found_again_when_its_handle_comes_back() -> None:
    kept: list[object] = []

    def keep(value: object) -> int:
        kept.append(value)
        return len(kept) - 1

    cache = object()
    there = decode(encode({"cache": cache}, keep))
    assert there == {"cache": Handle(0)}
    assert decode(encode(there), kept=kept.__getitem__)["cache"] is cache
    with pytest.raises(ValueError, match="a message must be"):
        decode(encode(Handle(7)), kept=kept.__getitem__)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x00" * 8,
        pickle.dumps([1, 2]),
        b"\x00" * 7 + b"\x02{}",
        encode(torch.ones(4))[:-3],
        encode(torch.ones(4)).replace(b"[4]", b"[9]"),
        encode(torch.ones(4)).replace(b"float32", b"float99"),
    ],
)
def test_bytes_that_are_no_message_are_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="a message must be one that `encode` wrote"):
        decode(message)


def test_a_message_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course_utils.grading.codec.LIMIT", 100)
    with pytest.raises(ValueError, match="at most 100 bytes"):
        encode(torch.ones(100))


def test_the_head_is_json() -> None:
    message = encode({"a": (1, 2.5)})
    assert json.loads(message[8:])["value"] == {"dict": {"a": {"tuple": [{"is": 1}, "2.5"]}}}
