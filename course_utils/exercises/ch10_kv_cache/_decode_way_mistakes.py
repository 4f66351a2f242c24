"""What goes wrong when new queries meet a cache: inside attention, and in what comes out."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import scaled_dot_product_attention, stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import one_hot, over_columns
from course_utils.exercises.ch10_kv_cache._decode_wrong import build, inside


def _scaled_by_slots(query: Tensor, cache_key: Tensor, cache_value: Tensor, length: int) -> Any:
    return inside(factor=lambda q, k, v: cache_key.shape[2] ** -0.5)(
        query, cache_key, cache_value, length
    )


def _in_single(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    out = scaled_dot_product_attention(query.float(), key.float(), value.float(), mask)
    return out.to(query.dtype)


def _linear(scores: Tensor) -> Tensor:
    kept = scores.masked_fill(scores == -torch.inf, 0.0)
    return kept / kept.sum(-1, keepdim=True)


def _no_running_sum(scores: Tensor) -> Tensor:
    return scores.exp()


def _past_and_chunk(query: Tensor, ck: Tensor, cv: Tensor, length: int, share: float = 0.5) -> Any:
    past, new = length - query.shape[2], query.shape[2]
    seen = torch.ones(new, new, dtype=torch.bool).tril()
    own = scaled_dot_product_attention(query, ck[:, :, past:length], cv[:, :, past:length], seen)
    if not past:
        return own
    before = scaled_dot_product_attention(query, ck[:, :, :past], cv[:, :, :past])
    return share * (before + own)


def _past_plus_chunk(query: Tensor, ck: Tensor, cv: Tensor, length: int) -> Any:
    return _past_and_chunk(query, ck, cv, length, 1.0)


SCALES = (
    Misconception(
        "no scale",
        inside(factor=lambda q, k, v: 1.0),
        "The scores are not scaled. A cache changes nothing about that: by what are they divided?",
    ),
    Misconception(
        "scaled by another size",
        inside(factor=lambda q, k, v: 1 / q.shape[-1]),
        "The scores are divided by something else than √d_k: by the root of another size, or by "
        "d_k itself, as when it is done twice (torch's attention does it too). What is to be "
        "undone, and how often?",
        also=(
            inside(factor=lambda q, k, v: k.shape[-2] ** -0.5),
            inside(factor=lambda q, k, v: q.shape[-2] ** -0.5),
            inside(factor=lambda q, k, v: q.shape[1] ** -0.5),
            inside(factor=lambda q, k, v: q.shape[-1] ** 0.5),
            inside(factor=lambda q, k, v: (q.shape[1] * q.shape[-1]) ** -0.5),
            inside(factor=lambda q, k, v: -(q.shape[-1] ** -0.5)),
            _scaled_by_slots,
        ),
    ),
)

WAYS = (
    Misconception(
        "softmax over another axis",
        inside(turn=over_columns(lambda scores: scores.softmax(-1))),
        "The weights of a query do not sum to 1: the softmax ran over the queries, or over the "
        "heads. Among what does a query share out its weight?",
        also=(
            inside(turn=over_columns(stable_softmax)),
            inside(turn=lambda s: s.softmax(1).nan_to_num()),
            inside(turn=lambda s: s.softmax(0).nan_to_num()),
        ),
    ),
    Misconception(
        "no softmax",
        inside(turn=lambda scores: scores.masked_fill(scores == -torch.inf, 0.0)),
        "The scores themselves stand where weights should be. What makes them positive, and sum "
        "to 1?",
        also=(inside(turn=_linear), inside(turn=_no_running_sum), inside(turn=torch.sigmoid)),
    ),
    Misconception(
        "a softmax that overflows",
        inside(turn=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True)),
        "Large scores gave NaN: e to the power of a thousand is infinite. What is taken away from "
        "a row before the exponential?",
    ),
    Misconception(
        "two softmaxes averaged",
        _past_and_chunk,
        "The past and the new tokens were attended to by themselves, and the two outputs put "
        "together. One softmax shares out 1 among all of them.",
        also=(_past_plus_chunk,),
    ),
    Misconception(
        "a mask of zeros and ones added",
        build(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m.to(q.dtype))),
        "A mask of numbers is added to the scores: a 0 hides nothing, and a 1 raises what it "
        "should leave alone. Which dtype makes torch hide?",
        also=(
            inside(hide=lambda scores, mask: scores + mask),
            inside(hide=lambda scores, mask: scores - (~mask).to(scores.dtype)),
        ),
    ),
    Misconception(
        "all weight on one key",
        inside(turn=one_hot),
        "Each query takes the value of its best key alone. Attention is an average.",
    ),
    Misconception(
        "masked scores set to zero",
        inside(hide=lambda scores, mask: scores * mask),
        "Hidden keys were given a score of 0, and so a weight above 0. Which score has none?",
        also=(
            inside(
                hide=lambda scores, mask: scores,
                after=lambda weights, mask: weights * mask,
            ),
        ),
    ),
    Misconception(
        "keys in place of values",
        build(lambda q, k, v, m: scaled_dot_product_attention(q, k, k, m)),
        "The output is made of the wrong tensor: keys say where to look, values are what is read.",
        also=(
            build(lambda q, k, v, m: scaled_dot_product_attention(q, v, k, m)),
            build(lambda q, k, v, m: scaled_dot_product_attention(q, v, v, m)),
        ),
    ),
    Misconception(
        "only the last query answered",
        build(finish=lambda out: out[:, :, -1:]),
        "Several queries came, and one output went back. Every one of them is owed a row, or a "
        "prompt cannot be read in pieces.",
        also=(
            build(finish=lambda out: out[:, :, -1]),
            build(finish=lambda out: out[:, :, :1]),
            build(finish=lambda out: out[:, :, -1:].expand_as(out)),
        ),
    ),
    Misconception(
        "output with other axes",
        build(finish=lambda out: out.transpose(1, 2).flatten(2)),
        "The values are right, but the output must have the axes (B, H, T, d) of the query. Heads "
        "are merged elsewhere, and an axis of size 1 stays.",
        also=(
            build(finish=lambda out: out.transpose(1, 2)),
            build(finish=lambda out: out.flatten(0, 1)),
            build(finish=lambda out: out.squeeze()),
            build(finish=lambda out: out.squeeze(2)),
            build(finish=lambda out: out.squeeze(0)),
        ),
    ),
    Misconception(
        "computed in lower precision",
        build(_in_single),
        "The output has the right dtype, but float32's accuracy. The cache has the dtype of the "
        "model; keep it.",
    ),
    Misconception(
        "another dtype",
        build(finish=lambda out: out.float()),
        "The output has another dtype than the query. A model's next layer expects its own.",
        also=(build(finish=lambda out: out.double()),),
    ),
    Misconception(
        "cut from the graph",
        build(finish=lambda out: out.detach()),
        "The values are right, but no gradient flows back to the query and the cache. What cuts "
        "the thread: `detach`, `no_grad`, `item`?",
        also=(torch.no_grad()(build()), build(keys=lambda c, n, new: c[:, :, :n].detach())),
    ),
    Misconception(
        "weights returned",
        build(
            lambda q, k, v, m: stable_softmax(
                ((q @ k.mT) / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf)
            )
        ),
        "These are the weights. What do they average?",
        also=(
            build(
                lambda q, k, v, m: (
                    scaled_dot_product_attention(q, k, v, m),
                    stable_softmax(((q @ k.mT) / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf)),
                )
            ),
        ),
    ),
)
