"""Exercise: one more logit for each head, which takes weight and hands over nothing."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import sink_attention
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided, unseeing, visible
from course_utils.checking.mistakes import Mistake, adding, mistake, only, without
from course_utils.exercises.shared.heads import AMONG, MASKS
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL, EMPTY_ROWS, MASK, if_given
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law
from torch import Tensor
from torch.nn import functional as F

# `shares` is the softmax of a table of scores with the sink beside it, without the sink's column.
RIGHT = """
def sink_attention(query, key, value, sink, attn_mask=None):
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = query @ key.mT
    scaled = products * factor
    allowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else attn_mask
    scores = scaled.masked_fill(~allowed, -torch.inf)
    extra = sink.view(-1, 1, 1)
    beside = extra.expand(*scaled.shape[:-1], 1)
    shares = lambda table: torch.cat((table, beside), -1).softmax(-1)[..., :-1]
    weights = shares(scores)
    out = weights @ value
    return out
"""
_SEEN = "seen = allowed.expand(scaled.shape)\n"
_COLUMN = "beside = extra.expand(*scaled.shape[:-1], 1)"
_PEAK = "peak = scores.amax(-1, keepdim=True)\n"
_POWERS = "powers = (scores - peak).exp()\n"
_SAFE = f"peak = scores.amax(-1, keepdim=True).clamp(min=-1e30)\n{_POWERS}"
_LSE = "lse = scores.logsumexp(-1, keepdim=True)\n"
_SAFE_LSE = "lse = scores.masked_fill(scores == -torch.inf, -1e30).logsumexp(-1, keepdim=True)\n"


def _beside_a_sink(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return the mistakes with a sink in their softmax."""

    def told(version: Any) -> Any:
        return version.replace("stable_softmax(", "shares(").replace("torch.softmax(scores, -1)", "shares(scores)")

    return tuple(replace(one, versions=tuple(dict.fromkeys(map(told, one.versions)))) for one in mistakes)


def _if_there_is_one(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return the mistakes of `allowed` as they are made where there is a mask."""
    mask = "m = torch.ones(1, 1, dtype=torch.bool) if attn_mask is None else attn_mask\n"
    return tuple(
        replace(one, versions=tuple(mask + v.replace("attn_mask", "m") for v in one.versions if isinstance(v, str)))
        for one in mistakes
    )


def _made(
    *sizes: int,
    mask: tuple[int, ...] = (),
    sinks: tuple[float, ...] | None = None,
    size: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> Make:
    """Make inputs of the sizes (B, H, L, S, d_k, d_v), sinks drawn or given, and a mask of a shape if asked for."""
    batch, heads, length, num_keys, d_k, d_v = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, batch, heads, length, d_k, size=size, dtype=dtype)
        key = normal(g, batch, heads, num_keys, d_k, size=size, dtype=dtype)
        value = normal(g, batch, heads, num_keys, d_v, dtype=dtype)
        sink = normal(g, heads, dtype=dtype, size=1.5) if sinks is None else torch.tensor(sinks, dtype=dtype)
        given = query, key, value, sink
        return (*given, visible(g, *mask)) if mask else given

    return make


def _against_the_mask(g: torch.Generator) -> tuple[Any, ...]:
    """Make visible scores and sinks of about -9997, where a fill of -1e4 is still heard."""
    mask = torch.tensor([True, False, True, True, False, False])
    query, key, value, sink = _made(2, 3, 4, 6, 5, 7)(g)
    key = torch.where(mask, -9997.0, 5000.0).double().unsqueeze(-1) / 5**0.5 + key
    return 1 + 1e-4 * query, key, value, sink - 9997, mask.expand(4, 6).clone()


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, sink = _made(3, 4, 5, 2, 6, 7)(g)
    every_other = torch.stack((sink, -sink), -1)[:, 0]
    return query.transpose(1, 2).contiguous().transpose(1, 2), strided(key), strided(value), every_other


def _with_the_sink(args: tuple[Any, ...]) -> Tensor:
    query, key, _, sink, mask = (*args, None)[:5]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return torch.cat((scores, sink[:, None, None].expand(*scores.shape[:-1], 1)), -1)


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    return some_epsilon(_with_the_sink(args), sink_attention(*args), got)


def instead_of_a_key(scores: Tensor, extra: Tensor, place: int) -> Tensor:
    """Return the scores with the sinks in place of one key's."""
    scores = scores.clone()
    scores[..., place] = extra[..., 0].to(scores.dtype)
    return scores


def _another_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, value = args[0], args[2]
    if got.shape != (*query.shape[:-1], value.shape[-1]) or value.shape[-2] < 2:
        return False
    wide = query * query.shape[-1] ** 0.5
    return some_scale(lambda scale: sink_attention(scale * wide, *args[1:]), got.detach(), args[0].shape[-1] ** -0.5)


_FORGOTTEN = (
    "weights = stable_softmax(scores)",
    "scores = scaled.masked_fill(~allowed, -torch.inf)\nweights = torch.softmax(scores, -1)",
    "weights = stable_softmax(scores + extra)",
)
# Maxima of the keys alone, on an empty row too, as constants or not.
_PEAKS = (
    "peak = scores.amax(-1, keepdim=True).clamp(min=-1e30)\n",
    *(f"peak = scores.amax(-1, keepdim=True){cut}\npeak = torch.where(peak == -torch.inf, 0.0, peak)\n"
      for cut in ("", ".detach()")),
    "peak = scores.amax(-1, keepdim=True).detach().clamp(min=-1e30)\n",
    "peak = scores.amax(-1, keepdim=True)\npeak = peak.masked_fill(peak == -torch.inf, 0.0)\n",
)
_SUMMED = "weights = {0} / ({0}.sum(-1, keepdim=True) + {1})"
_WITH_EPSILON = tuple(
    "joined = torch.cat((scores, beside), -1)\npowers = (joined - joined.amax(-1, keepdim=True)).exp()\n"
    f"weights = (powers / (powers.sum(-1, keepdim=True) + {size}))[..., :-1]"
    for size in (1e-6, 1e-7, 1e-8)
)

EXERCISE = exercise(
    sink_attention,
    right=RIGHT,
    asks="Attend with one more logit for each head, which joins the softmax and has no value.",
    minutes=10,
    difficulty=2,
    importance=4,
    cases=(
        case("every size is 4: a transpose keeps the shape", _made(4, 4, 4, 4, 4, 4)),
        case("2 sequences, 3 heads, 4 queries, 5 keys", _made(2, 3, 4, 5, 6, 7), gradient="equal"),
        case("sinks far apart", _made(2, 3, 5, 4, 7, 6, sinks=(-4.0, 0.5, 5.0))),
        case("one query, as in decoding", _made(3, 2, 1, 7, 4, 5)),
        case("one key", _made(2, 3, 4, 1, 5, 6)),
        case("scores of thousands", _made(2, 3, 5, 6, 9, 4, size=40.0)),
        case("a mask of shape (4, 4), and every size is 4", _made(4, 4, 4, 4, 4, 4, mask=(4, 4))),
        case("a mask of shape (4, 5) for all", _made(2, 3, 4, 5, 6, 7, mask=(4, 5)), gradient="equal"),
        case("a mask of shape (2, 1, 1, 5), one for each sequence", _made(2, 3, 4, 5, 7, 6, mask=(2, 1, 1, 5))),
        case("a mask of shape (3, 4, 5), one for each head", _made(3, 3, 4, 5, 6, 8, mask=(3, 4, 5))),
        case("a mask of shape (3, 3, 4, 5), 3 sequences and heads", _made(3, 3, 4, 5, 6, 7, mask=(3, 1, 4, 5))),
        case("a mask of shape (2, 3, 4, 5)", _made(2, 3, 4, 5, 6, 7, mask=(2, 3, 4, 5))),
        case("queries that may see nothing",
             unseeing(_made(2, 3, 4, 5, 7, 6, mask=(2, 3, 4, 5)), (1, 2, 2), (0, 1, 3)), gradient="equal"),
        case("hidden keys with by far the best scores, low sinks", _against_the_mask),
        case("sinks of -10000: plain attention", _made(2, 3, 4, 5, 6, 7, sinks=(-1e4,) * 3), gradient="finite"),
        case("sinks of 10000: zeros", _made(2, 3, 4, 5, 6, 7, sinks=(1e4,) * 3), gradient="finite"),
        case("scores and sinks of thousands", _made(2, 3, 4, 5, 9, 7, sinks=(-2e3, 3e3, 9e3), size=50.0),
             gradient="finite"),
        case("one of everything", _made(1, 1, 1, 1, 3, 2)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, 3, 4, 5, 6, 7, dtype=torch.float32), tolerance=1e-4),
        case("float32, scores and sinks of thousands",
             _made(2, 3, 4, 5, 6, 7, sinks=(-1e4, 5e3, 1e4), size=50.0, dtype=torch.float32), tolerance=1e-3),
    ),
    mistakes=(
        RANDOM,
        mistake("sink without effect", "The weights of the keys sum to 1, as if there were no sink. A number added to "
                "all scores alike cancels in a softmax. What does the sink join as a logit of its own?", *_FORGOTTEN),
        mistake("maximum without the sink", "The values are right, but a sink far above all scores overflows: its "
                "exponential is infinite, and the gradient NaN. The maximum of what should be subtracted?",
                *(peak + _POWERS + _SUMMED.format("powers", "(extra - peak).exp()") for peak in _PEAKS)),
        mistake("normalised away", "The sink took its share, and then the rest was divided by its sum again. What "
                "should the weights of a row sum to, if some of it goes to the sink?",
                "weights = shares(scores) / shares(scores).sum(-1, keepdim=True)",
                "weights = shares(scores) / shares(scores).sum(-1, keepdim=True).clamp(min=1e-9)",
                "weights = (shares(scores) / shares(scores).sum(-1, keepdim=True)).nan_to_num()",
                "weights = stable_softmax(shares(scores))"),
        mistake("the first key always seen",
                "The first key is never hidden, whatever the mask says: StreamingLLM keeps it "
                "in the cache as a sink. Here the sink is no key: it is a number beside the scores.",
                "first = torch.arange(key.shape[-2]) == 0\nallowed = torch.ones(1, 1, dtype=torch.bool) if attn_mask "
                "is "
                "None else attn_mask | first"),
        mistake("every sink taken for 0", "The denominator has the same term whatever the sink is, such as a 1: that "
                "is a sink of 0, since exp(0) = 1. Where is the argument used?", "extra = 0 * sink.view(-1, 1, 1)",
                "extra = 0 * sink.view(-1, 1, 1) + 1",
                _SAFE + _SUMMED.format("powers", "(-peak).exp()"),
                "powers = scores.exp()\n" + _SUMMED.format("powers", "1")),
        mistake("a 1 added after the shift", "A 1 was added to exponentials from which the maximum had been taken: "
                "that is a sink as high as the best key of the row. How is the sink's own exponential shifted?",
                _SAFE + _SUMMED.format("powers", "1")),
        mistake("sink scaled", "The sink was scaled as the scores are. It is a logit already: what is 1/√d_k there "
                "for?", "extra = sink.view(-1, 1, 1) * factor", "extra = sink.view(-1, 1, 1) / query.shape[-1]"),
        mistake("sink masked", "Where a mask hides keys, the sink is hidden too. It is never masked: what does a query "
                "get that may see nothing else?",
                *(
                    f"{_SEEN}{_COLUMN}.masked_fill(~seen{part}, -torch.inf){end}"
                    for part in ("[..., :1]", "[..., -1:]", ".all(-1, keepdim=True)")
                    for end in ("", "\nshares = lambda table: stable_softmax(torch.cat((table, beside), -1))[..., :-1]")
                ),
                f"{_COLUMN} if attn_mask is None else extra.expand(*scaled.shape[:-1], 1) - torch.inf",
                f"{_COLUMN} if attn_mask is None else extra.expand(*scaled.shape[:-1], 1) - torch.inf\n"
                "shares = lambda table: stable_softmax(torch.cat((table, beside), -1))[..., :-1]"),
        mistake("sink given a value", "The sink's share was returned after all: something was added for it. A sink has "
                "no value. What is its weight times nothing?",
                *(
                    f"out = weights @ value + (1 - weights.sum(-1, keepdim=True)) * {given}"
                    for given in ("1", "value.mean(-2, keepdim=True)", "value[..., -1:, :]", "value[..., :1, :]",
                                  "sink.view(-1, 1, 1)", "value.sum(-2, keepdim=True)")
                )),
        mistake("one sink for all heads", "All heads use the same sink. There is a number for each: which axis of the "
                "scores does it belong to?", "extra = sink[0]", "extra = sink[-1]", "extra = sink.mean()",
                "extra = sink.sum()", "extra = sink.amax()"),
        mistake("all sinks in every head", "Each head has the sinks of all heads beside its scores. How many does a "
                "head have of its own?",
                "beside = sink.expand(*scaled.shape[:-1], -1)\n"
                "shares = lambda table: torch.cat((table, beside), -1).softmax(-1)[..., : table.shape[-1]]"),
        mistake("sinks along another axis", "The sinks were laid along the queries, the keys or the sequences. Shapes "
                "line up from the right: how many axes follow that of the heads?",
                "beside = sink.view(-1, 1).expand(*scaled.shape[:-1], 1)",
                "beside = sink.view(-1, 1, 1, 1).expand(*scaled.shape[:-1], 1)",
                _SAFE + _SUMMED.format("powers", "(sink - peak).exp()"),
                "lse = scores.logsumexp(-1)\nweights = stable_softmax(scores) * (lse - sink).sigmoid().unsqueeze(-1)"),
        mistake("sink with the wrong sign", "A higher sink should take more from the keys, and here it takes less. "
                "Which sign does it have beside the scores?", "extra = -sink.view(-1, 1, 1)",
                _SAFE_LSE + "weights = stable_softmax(scores) * (lse + extra).sigmoid()"),
        mistake("the sink's share in place of the keys'", "What is left to the keys and what the sink takes were "
                "exchanged: a higher sink makes the output larger. Which of the two is sigmoid(lse - sink)?",
                _LSE + "weights = stable_softmax(scores) * (extra - lse).sigmoid()",
                _SAFE_LSE + "weights = stable_softmax(scores) * (extra - lse).sigmoid()",
                "weights = stable_softmax(scores) * (1 - shares(scores).sum(-1, keepdim=True))"),
        mistake("a gate that does not see the scores", "The output was multiplied by something computed from the sink "
                "alone. How much the sink takes depends on how high the scores of that query are: on which sum?",
                *(f"weights = stable_softmax(scores) * {gate}"
                  for gate in ("(-extra).sigmoid()", "extra.sigmoid()", "extra", "extra.exp()", "(-extra).exp()",
                               "(1 - extra)", "1 / (1 + extra)", "extra.tanh()"))),
        mistake("the best score for all of them", "The sink is compared with the best key alone. The other keys of "
                "the row are in the denominator "
                "too.", _PEAK + "weights = stable_softmax(scores) * (peak - extra).sigmoid()",
                "weights = stable_softmax(scores) * (scores.mean(-1, keepdim=True) - extra).sigmoid()"),
        mistake("sink not exponentiated", "The sink was added to the sum as it is. It is a logit: what happens to all "
                "logits before they are summed?", "powers = scores.exp()\n" + _SUMMED.format("powers", "extra"),
                _SAFE + _SUMMED.format("powers", "extra"), _SAFE + _SUMMED.format("powers", "extra * (-peak).exp()")),
        mistake("sink not shifted", "The maximum was taken from the scores but not from the sink: the two are no "
                "longer compared at the same height. From what else must it be subtracted?",
                _PEAK + _POWERS + _SUMMED.format("powers", "extra.exp()"),
                _SAFE + _SUMMED.format("powers", "extra.exp()"),
                "shift = torch.maximum(scores.amax(-1, keepdim=True), extra)\npowers = (scores - shift).exp()\n"
                + _SUMMED.format("powers", "extra.exp()")),
        mistake("shifted by the sink alone",
                "The sink was subtracted from the scores, and nothing else: a score far above "
                "it overflows. The largest of what should be subtracted?",
                "powers = (scores - extra).exp()\n" + _SUMMED.format("powers", "1")),
        mistake("a key's place taken", "The sink is where the score of a key should be, the first or the last, and "
                "that key is lost. How many columns must the table have?",
                "shares = lambda table: instead_of_a_key(table, extra, 0).softmax(-1)",
                "shares = lambda table: instead_of_a_key(table, extra, -1).softmax(-1)",
                "weights = torch.softmax(instead_of_a_key(scores, extra, 0), -1)\n"
                "out = weights @ value - weights[..., :1] * value[..., :1, :]",
                "weights = torch.softmax(instead_of_a_key(scores, extra, -1), -1)\n"
                "out = weights @ value - weights[..., -1:] * value[..., -1:, :]"),
        mistake("the wrong column dropped", "A key was dropped and the sink kept, so weights and values no longer "
                "match. At which end is the sink's column?",
                "shares = lambda table: torch.cat((beside, table), -1).softmax(-1)[..., :-1]",
                "shares = lambda table: torch.cat((table, beside), -1).softmax(-1)[..., 1:]"),
        mistake("sink counted more than once",
                "The sink is in the sum twice, or as many times as there are keys. How many "
                "logits should it add to a row?", "beside = extra.expand(*scaled.shape[:-1], 1) + math.log(2)",
                "shares = lambda table: torch.cat((table, beside, beside), -1).softmax(-1)[..., :-2]",
                "beside = extra.expand(*scaled.shape[:-1], 1) + "
                "math.log(key.shape[-2])", "powers = scores.exp()\nweights = powers / (powers + extra.exp()).sum(-1, "
                "keepdim=True)"),
        mistake("scores held against the sink one by one", "Each score was compared with the sink on its own, and not "
                "with the other keys. Over what does one softmax run?", "weights = (scores - extra).sigmoid()",
                "weights = stable_softmax(torch.maximum(scores, extra.to(scores.dtype)))",
                "weights = stable_softmax(scores) - extra.sigmoid()",
                "weights = stable_softmax(scores - extra.exp())",
                "weights = stable_softmax(scores) * (scores - extra).sigmoid()"),
        mistake("no shift before exp", "Scores or sinks in the thousands give NaN or lose everything: their "
                "exponentials overflow. What does a stable softmax subtract first?",
                "powers = scores.exp()\n" + _SUMMED.format("powers", "extra.exp()"),
                "powers = scores.clamp(-80, 80).exp() * (scores > -torch.inf)\n"
                + _SUMMED.format("powers", "extra.clamp(-80, 80).exp()"),
                "lse = scores.exp().sum(-1, keepdim=True).log()\nweights = stable_softmax(scores) * (lse - "
                "extra).sigmoid()",
                "lse = scores.exp().sum(-1, keepdim=True).log()\nweights = torch.softmax(scores, -1).nan_to_num() * "
                "(lse - extra).sigmoid()",
                "total = scores.exp().sum(-1, keepdim=True) + extra.exp()\nweights = (scores - total.log()).exp()"),
        *adding(DEFAULT, {"the root of the wrong size": ("default = 1 / math.sqrt(query.shape[-1] + 1)",)}),
        *without(only(GIVEN, "scale rounded"), "factor = default if scale is None else int(scale)"),
        *_beside_a_sink(AMONG),
        *_beside_a_sink(without(SOFTMAX, "softmax over an axis counted from the front", "one softmax over all pairs",
                                "weights = stable_softmax(scores.mT).mT", "no shift before exp",
                                "not divided by the row's sum", "no exponential")),
        mistake("not divided by the row's sum", "The exponentials are used as weights. What is each of them divided "
                "by, and what does the sink add to that?", "weights = scores.exp()",
                _SAFE + "weights = powers"),
        *_beside_a_sink(if_given(without(MASK, "mask after the softmax, then divided again"))),
        *_if_there_is_one(only(MASKS, "a head's mask read as a sequence's", "a sequence's mask read as a head's",
                               "the first head's mask for all", "the heads' masks merged")),
        *_beside_a_sink((ALWAYS_CAUSAL,)),
        mistake("NaN on an empty row", "A query that may see nothing got NaN: a softmax over its scores alone has "
                "nothing to divide. With the sink among them, there is always something. Where was it left out?",
                _LSE + "weights = torch.softmax(scores, -1) * (lse - extra).sigmoid()",
                _PEAK + _POWERS + _SUMMED.format("powers", "(extra - peak).exp()")),
        mistake("NaN repaired too late", "The values are right, but the gradient of a query that may see nothing is "
                "NaN: it was made on the way and replaced only afterwards. Can it be avoided instead?",
                "bias = torch.zeros_like(scaled).masked_fill(~allowed, -torch.inf)\nscores = scaled + bias\n"
                + _LSE + "weights = torch.softmax(scores, -1).nan_to_num() * (lse - extra).sigmoid()",
                _LSE + "out = (torch.softmax(scores, -1) @ value).nan_to_num() * (lse - extra).sigmoid()"),
        *_beside_a_sink(without(EMPTY_ROWS, "NaN on an empty row", "NaN repaired too late", "uniform on an empty row",
                                "a large number added")),
        *without(VALUES, "something added to the average"),
        mistake("something added to the average", "The output is more than the weighted average of the values: another "
                "input was added to it.", "out = weights @ value + value", "out = weights @ value + query"),
        *without(COMPARED, "another kind of attention", "cosine similarity",
                 "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value"),
        mistake("output with another shape", "The values are right, but the output must have the axes (B, H, L, d_v). "
                "Which of them were exchanged, or joined?", "return out.transpose(1, 2)", "return out.flatten(1, 2)",
                "return out.transpose(1, 2).flatten(2)"),
        batch_mixed("products = query @ key[:1].mT\nout = weights @ value[:1]", "products = query @ key[:1].mT",
                    "out = weights @ value[:1]", "out = (weights @ value)[:1].expand(len(value), -1, -1, -1)"),
        overwritten("default = 1 / math.sqrt(query.shape[-1])\nproducts = query.mul_(default) @ key.mT\nfactor = 1.0",
                    "products = query.div_(math.sqrt(query.shape[-1])) @ key.mT\nfactor = 1.0"),
        *other_kinds("out", "weights"),
        lower_precision(sink_attention, "out = (weights.float() @ value.float()).to(value.dtype)"),
        cut_off("extra = sink.detach().view(-1, 1, 1)", "extra = torch.tensor(sink.tolist()).view(-1, 1, 1).to(sink)",
                "weights = shares(scores).detach()", "out = weights @ value.detach()",
                "scaled = (products * factor).detach()", "return out.detach()"),
        *(replace(one, versions=_WITH_EPSILON) for one in epsilon(_epsilon)),
        *another_scale(_another_scale),
    ),
    laws=(average_law(lambda args: F.pad(args[2], (0, 0, 0, 1))),),
    hints=(
        "Write the denominator down: a sum over the keys that a query sees, and one more term. Which numbers enter "
        "that term, and which do not?",
        "If one more column stands beside the table of scores, an ordinary softmax does the rest, and stays stable. "
        "How does a number for each head become such a column?",
        "`expand` gives every sequence and query the head's number, at the shape (B, H, L, 1). It joins after the "
        "scale and after the mask.",
        "After the softmax the column has done its work: only the columns of the keys meet the values.",
    ),
)
