"""Attentions with a cache for `accepts_cache`: several right ones, and some with one fault each."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.clinic.contract import Contract

Step = tuple[Tensor, Any]
Attend = Callable[[Tensor, Tensor, Tensor, Any], Step]
ROOM = 64


def _causal(num_queries: int, num_keys: int, offset: int) -> Tensor:
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(offset)


def _attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float | None = None
) -> Tensor:
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.mT * factor).masked_fill(~mask, -torch.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ value


def _broken(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> dict[str, bool]:
    given = (query, key, value)
    return {
        "dtype": any(x.dtype != torch.float64 for x in given),
        "number of axes": any(x.dim() != 4 for x in given),
        "number of tokens": query.shape[-2] < 1,
    }


_CONTRACT = Contract(_broken)
_strict, _always = _CONTRACT.strict, _CONTRACT.always


def _joined(cache: Any, *new: Tensor) -> tuple[Tensor, ...]:
    if cache is None:
        return new
    return tuple(torch.cat(pair, dim=-2) for pair in zip(cache, new, strict=True))


def _tuple(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    keys, values = _joined(cache, key, value)
    T, S = query.shape[-2], keys.shape[-2]
    return _attend(query, keys, values, _causal(T, S, S - T)), (keys, values)


def _lists(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    """Keep single tokens in a list, and read one token after another."""
    kept = [] if cache is None else cache
    outs = []
    for t in range(query.shape[-2]):
        kept.append((key[..., t, :], value[..., t, :]))
        keys, values = (torch.stack(list(part), dim=-2) for part in zip(*kept, strict=True))
        outs.append(F.scaled_dot_product_attention(query[..., t : t + 1, :], keys, values))
    return torch.cat(outs, dim=-2), kept


class _Room:
    """A buffer for a whole text, filled in place."""

    def __init__(self, key: Tensor, value: Tensor) -> None:
        self.keys = key.new_zeros(*key.shape[:2], ROOM, key.shape[-1])
        self.values = value.new_zeros(*value.shape[:2], ROOM, value.shape[-1])
        self.length = 0


def _in_place(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    room = _Room(key, value) if cache is None else cache
    end = room.length + key.shape[-2]
    room.keys[:, :, room.length : end] = key
    room.values[:, :, room.length : end] = value
    mask = _causal(query.shape[-2], end, room.length)
    room.length = end
    return _attend(query, room.keys[:, :, :end], room.values[:, :, :end], mask), room


def _again(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    """Keep the queries as well and recompute the whole text."""
    whole = _joined(cache and cache["text"], query, key, value)
    queries, keys, values = whole
    out = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    return out[..., whole[0].shape[-2] - query.shape[-2] :, :], {"text": whole}


def _numbered() -> Attend:
    """Keep all caches internally and return the number of one."""
    store: list[Any] = []

    def attend(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
        out, kept = _tuple(query, key, value, None if cache is None else store[cache])
        store.append(kept)
        return out, len(store) - 1

    return _strict(attend, "number of tokens", "number of axes")


def _seeing(first: int, later: int, aligned: bool = True, scale: float | None = None) -> Attend:
    """Return an attention whose queries see some tokens more; at most all."""

    def attend(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
        keys, values = _joined(cache, key, value)
        T, S = query.shape[-2], keys.shape[-2]
        offset = (S - T if aligned else 0) + (first if cache is None else later)
        return _attend(query, keys, values, _causal(T, S, offset), scale), (keys, values)

    return attend


def _newest_used(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    past = 0 if cache is None else cache[0].shape[-2]
    keys, values = _joined(cache, key[..., -1:, :], value[..., -1:, :])
    mask = torch.ones(query.shape[-2], past + 1, dtype=torch.bool)
    return _attend(query, keys, values, mask), (keys, values)


def _newest_kept(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    out, _ = _tuple(query, key, value, cache)
    return out, _joined(cache, key[..., -1:, :], value[..., -1:, :])


def _kept_inside(past: Callable[[Any, Any], Any]) -> Callable[[], Attend]:
    """Return a maker of an attention that chooses its past by the cache passed in and its own."""

    def make() -> Attend:
        kept: list[Any] = [None]

        def attend(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
            out, kept[0] = _tuple(query, key, value, past(cache, kept[0]))
            return out, "kept inside"

        return _strict(attend)

    return make


def _far_below(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    """Keep all exponents far below zero, which loses two digits."""
    keys, values = _joined(cache, key, value)
    T, S = query.shape[-2], keys.shape[-2]
    scores = query @ keys.mT / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~_causal(T, S, S - T), -torch.inf)
    powers = (scores - scores.amax(-1, keepdim=True) - 300).exp()
    return powers @ values / powers.sum(-1, keepdim=True), (keys, values)


def _rounded(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    return _tuple(query, key.bfloat16().double(), value, cache)


def _refused(query: Tensor, key: Tensor, value: Tensor, cache: Any) -> Step:
    if cache is not None:
        raise ValueError("this attention takes no cache")
    return _tuple(query, key, value, None)


RIGHT: Mapping[str, Callable[[], Attend]] = {
    "a tuple of keys and values": lambda: _tuple,
    "room for a whole text, filled in place": _always(_in_place),
    "a list of single tokens": _always(_lists, "dtype"),
    "the whole text computed anew": _always(_again, "dtype"),
    "a number that stands for a cache": _numbered,
    "exponents far below zero": _always(_far_below),
}
FAULTS: Mapping[str, Callable[[], Attend]] = {
    "no causal mask in the first call": _always(_seeing(ROOM, 0)),
    "no causal mask in later calls": _always(_seeing(0, ROOM)),
    "no causal mask in any call": _always(_seeing(ROOM, ROOM)),
    "a mask aligned top-left": _always(_seeing(0, 0, aligned=False)),
    "only the newest of several tokens used": _always(_newest_used),
    "only the newest of several tokens kept": _always(_newest_kept),
    "the past forgotten": _always(lambda query, key, value, cache: _tuple(query, key, value, None)),
    "nothing kept": _always(lambda *args: (_tuple(*args)[0], None)),
    "its own key missing": _always(_seeing(-1, -1)),
    "no scale": _always(_seeing(0, 0, scale=1.0)),
    "what another text left behind is read": _kept_inside(lambda cache, own: own),
    "one cache for all texts under way": _kept_inside(lambda cache, own: cache and own),
    "a cache that is not accepted": _always(_refused),
    "keys kept in bfloat16": _always(_rounded),
}
